// SPDX-License-Identifier: Apache-2.0
/*
 * Templates: paths seen become templates: /loans/17 and /loans/18 are /loans/{id}; /v1/tokens/refresh stays.
 *
 * A segment is taken for an id by its own look (numbers, UUIDs, hex, rsv_12ab34cd56ef, item-001, long
 * mixtures) or by its company at that place: values that differ in a number only, values with the prefix of
 * ids, or very many values below which all is alike. Thread: main; a mrg_templates belongs to its caller.
 */
#pragma once

#include <stdbool.h>

#include "util/buf.h"

struct mrg_templates;

struct mrg_templates *mrg_templates_new(void);
void mrg_templates_free(struct mrg_templates *templates);

/* All paths first (raw, without query), then settle once, then ask. */
void mrg_templates_add(struct mrg_templates *templates, struct mrg_slice path);
void mrg_templates_settle(struct mrg_templates *templates);
/* The template of a path that was added. The caller frees it. */
char *mrg_templates_of(const struct mrg_templates *templates, struct mrg_slice path);

/*
 * A framework's route in our form: /a/:id, /a/<int:id> and /a/{id:[0-9]+} are /a/{id}. The caller frees it;
 * NULL for a catch-all, which says nothing.
 */
char *mrg_template_from_route(const char *route);

/* Whether a segment is an id by its own look. */
bool mrg_segment_is_id(struct mrg_slice segment);
