// SPDX-License-Identifier: Apache-2.0
/*
 * Protos: the `.proto` files that a dependency is configured with are a description of its interface too.
 */
#pragma once

#include "core/config.h"

/*
 * The configured evidence.schema and, behind it, each of protos.files at the first of protos.roots that has it,
 * as absolute paths. Files that no root has are left out: the schema's own loading names them. The caller
 * frees it with mrg_evidence_schema_done. Thread: main.
 */
struct mrg_strings mrg_evidence_schema(const struct mrg_dependency_config *config);
void mrg_evidence_schema_done(struct mrg_strings *paths);
