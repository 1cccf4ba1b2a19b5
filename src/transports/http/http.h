// SPDX-License-Identifier: Apache-2.0
/*
 * HTTP: the adapter and renderer on libmicrohttpd; all that the rest of Mirage sees of them.
 *
 * Each address is a daemon of the library with one or two threads of its own. Exchanges come from these
 * threads; deliver may come from any.
 */
#pragma once

#include "core/transport.h"

extern const struct mrg_transport_ops mrg_transport_http;
