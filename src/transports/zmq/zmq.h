// SPDX-License-Identifier: Apache-2.0
/*
 * ZeroMQ: the adapter and renderer on libzmq; all that the rest of Mirage sees of them.
 *
 * Each address is a ROUTER socket; one thread owns them all, and a server without ZeroMQ addresses has
 * neither that thread nor the library's context. Exchanges come from this thread; deliver may come from any.
 */
#pragma once

#include "core/transport.h"

extern const struct mrg_transport_ops mrg_transport_zmq;
