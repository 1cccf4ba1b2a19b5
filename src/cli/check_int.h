// SPDX-License-Identifier: Apache-2.0
/*
 * Check, private: what check.c and check_rpcs.c share: the RPCs of a dependency's protos, for people and as JSON.
 * Main thread.
 */
#pragma once

#include "util/buf.h"

struct json_object;
struct mrg_schema;

/* A row for each method and path of each RPC, behind its name; one that is not unary says so. */
void mrg_check_append_rpcs(struct mrg_buf *buf, const struct mrg_schema *schema);
/* [{"rpc", "input", "output", "unary", "routes": [{"http", "body", "response_body"}]}], without routes where it is
 * not unary: such calls are not answered. The caller puts it. */
struct json_object *mrg_check_rpcs_json(const struct mrg_schema *schema);
