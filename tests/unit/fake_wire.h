// SPDX-License-Identifier: Apache-2.0
/*
 * Fake wire: a transport that only counts its doors. Its addresses are 127.0.0.1:1, :2 and so on. Include after rig.h.
 */
#pragma once

#include "core/transport.h"

struct fake_wire {
    struct mrg_transport base;
    struct mrg_door *open[MRG_MAX_SESSION_LISTENERS * 2]; /* a reference each */
    size_t open_count;
    unsigned opened;  /* in all */
    unsigned fail_at; /* the opening of that number fails; 0: none */
};

static enum mrg_err fake_open(struct mrg_transport *transport, const char *address, struct mrg_door *door,
                              struct mrg_error *err)
{
    struct fake_wire *wire = MRG_CONTAINER_OF(transport, struct fake_wire, base);
    assert_string_equal(address, "127.0.0.1:0");
    assert_true(wire->open_count < MRG_ARRAY_LEN(wire->open));
    if (++wire->opened == wire->fail_at)
        return mrg_error_set(err, MRG_ERR_CONFLICT, "no port is free");
    door->address = mrg_asprintf("127.0.0.1:%u", wire->opened);
    wire->open[wire->open_count++] = mrg_door_ref(door);
    return MRG_ERR_OK;
}

static void fake_close(struct mrg_transport *transport, struct mrg_door *door)
{
    struct fake_wire *wire = MRG_CONTAINER_OF(transport, struct fake_wire, base);
    for (size_t i = 0; i < wire->open_count; i++) {
        if (wire->open[i] == door) {
            mrg_door_unref(door);
            wire->open[i] = wire->open[--wire->open_count];
            return;
        }
    }
    fail_msg("%s is closed and was not open", door->address);
}

static const struct mrg_transport_ops fake_ops = {
    .name = "http", .scheme = "http://", .session = "127.0.0.1:0", .open = fake_open, .close = fake_close};

static inline void fake_wire_init(struct fake_wire *wire, struct rig *rig)
{
    memset(wire, 0, sizeof(*wire));
    wire->base.ops = &fake_ops;
    mrg_gateway_add_transport(rig->gateway, &wire->base);
}

/* As a transport's stop: forgets all doors. */
static inline void fake_wire_stop(struct fake_wire *wire)
{
    while (wire->open_count > 0)
        mrg_door_unref(wire->open[--wire->open_count]);
}

/* How many doors of that session are open. */
static inline size_t fake_wire_count(const struct fake_wire *wire, const char *session)
{
    size_t count = 0;
    for (size_t i = 0; i < wire->open_count; i++)
        count += strcmp(wire->open[i]->session, session) == 0;
    return count;
}
