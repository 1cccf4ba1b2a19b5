// SPDX-License-Identifier: Apache-2.0
/*
 * gRPC: the adapter on the gRPC C core. Any unary method of a dependency's protos comes in, becomes the normal
 * form, and its reply goes out as a message or a status; health, reflection and mirage.v1.Control are served on
 * every address.
 *
 * It knows no engine and no other wire, and has no generated code for a dependency's messages. Thread rule and
 * ownership: core/transport.h, for all adapters alike.
 */
#pragma once

#include "core/transport.h"

extern const struct mrg_transport_ops mrg_transport_grpc;
