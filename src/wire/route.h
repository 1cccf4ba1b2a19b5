// SPDX-License-Identifier: Apache-2.0
/*
 * Route: the method and path that an RPC stands for, as google.api.HttpRule says (google/api/http.proto), and
 * messages split into path, query and body by it -- and back.
 *
 * Works on the normal form's JSON text of messages (wire/proto.h). Thread: any; bindings are immutable.
 */
#pragma once

#include "core/request.h"
#include "wire/schema.h"

struct mrg_binding;

/*
 * One rule: HTTP method ("*": any), path template (`/v1/{name=shelves/STAR}/books/{book.id}:move`, STAR being *),
 * body ("" none, "*" all that the path does not bind, or a field of the input), response_body ("" or a field of
 * the output); both may be NULL for "". Beyond the grammar of http.proto "/" and a slash at the end are
 * accepted. INVALID names what is wrong with the template and where, or the field that the message does not
 * have or that cannot stand in a path (repeated, map, message). The message types outlive the binding.
 */
enum mrg_err mrg_binding_new(const char *http_method, const char *path_template, const char *body,
                             const char *response_body, const struct mrg_message *input,
                             const struct mrg_message *output, struct mrg_binding **ret_binding,
                             struct mrg_error *err);
void mrg_binding_free(struct mrg_binding *binding);
/* "POST /items/{item_id}/reserve", for people. Borrowed. */
const char *mrg_binding_text(const struct mrg_binding *binding);
/* What the rule has as body and as response_body: "" none, "*", or a field's name. Borrowed. */
const char *mrg_binding_body(const struct mrg_binding *binding);
const char *mrg_binding_response_body(const struct mrg_binding *binding);

/*
 * A message into method, path, query and body of a request (its headers are not touched); bytes in the arena.
 * `message` is the normal form's JSON text of the method's input. The first binding whose path variables all
 * have values that fit (not empty), and whose query can say what remains, is taken, else POST /pkg.Service/Method:
 * two messages that differ are two requests. Path values are percent-encoded
 * (in a ** variable the slashes stay). The query has the remaining fields, names as in the proto, nested ones
 * as a.b, repeated ones repeated; those without presence that have their default are left out. A query cannot say
 * maps, lists of messages, Struct and Any. A body "*" is the object of what remains, also an empty one; a message of which the
 * path has the only field is not in it. A rule for any method makes POST with a body, GET without.
 */
void mrg_route_request(const struct mrg_method *method, struct mrg_arena *arena, struct mrg_slice message,
                       struct mrg_request *request);

/*
 * The reply's body as the output message's JSON: wrapped under response_body's field, else itself. `request`
 * is what mrg_route_request made.
 */
struct mrg_slice mrg_route_reply(const struct mrg_method *method, const struct mrg_request *request,
                                 struct mrg_arena *arena, struct mrg_slice body);

/*
 * The RPC that a request's method and path stand for, by any binding or as POST /pkg.Service/Method
 * (*ret_binding NULL then); NULL. The raw path counts: %2F is no slash, and literals are compared byte by byte.
 * Where several templates fit, one with a verb goes first, then, from the left, one with a literal before one
 * with * before one with **, then the first in the schema. Some hundred nanoseconds, whatever their number.
 */
const struct mrg_method *mrg_route_find(const struct mrg_schema *schema, const struct mrg_request *request,
                                        const struct mrg_binding **ret_binding);

/*
 * The input message's JSON text of a request that mrg_route_find found: path variables, query and body put together,
 * appended. A field of the path that the body has too is the path's. INVALID: what cannot be said in the message
 * (an unknown query key, a body that is no object), with the reason; buf may hold a part then. Whether the
 * values fit is mrg_proto_from_json's to say.
 */
enum mrg_err mrg_route_message(const struct mrg_method *method, const struct mrg_binding *binding,
                               const struct mrg_request *request, struct mrg_buf *buf, struct mrg_error *err);

/* The schema's canonical form (core/shape.h, mrg_shape_ops.canonical). */
const struct mrg_request *mrg_route_canonical(const struct mrg_schema *schema, struct mrg_arena **arena,
                                              const struct mrg_request *request);
