// SPDX-License-Identifier: Apache-2.0
/*
 * Control: the verbs under /__mock__/ and /metrics, the same on every wire; transports only map to these.
 *
 * No verb takes a turn. A browser page must not be able to drive them: a foreign Origin, a Host that is
 * neither loopback nor in control.hosts, or a body that is not JSON is refused. Thread: any.
 */
#pragma once

#include "core/exchange.h"
#include "core/gateway.h"

/* Whether a path is a control verb's: /__mock__ and below; /metrics on the control door. */
bool mrg_control_is(const struct mrg_exchange *exchange);

/* Sets exchange->reply. `dependency`: the one the door or ?dependency= names, or NULL for all; `session`:
 * the name the request gives, {NULL, 0} when it gives none. */
void mrg_control_answer(struct mrg_gateway *gateway, struct mrg_exchange *exchange, const char *dependency,
                        struct mrg_slice session);
