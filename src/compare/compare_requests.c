// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>
#include <string.h>

#include "compare/compare_int.h"
#include "util/json.h"
#include "util/uri.h"

/* Shorter values stand in other texts by chance. */
#define LEAST_LENGTH 6u

static void pair(struct mrg_compare *compare, struct mrg_slice real, struct mrg_slice simulated)
{
    const char *other;
    if (real.len < LEAST_LENGTH || simulated.len == 0 || mrg_slice_eq(real, simulated))
        return;
    _cleanup_free_ char *a = mrg_strndup(real.ptr, real.len);
    _cleanup_free_ char *b = mrg_strndup(simulated.ptr, simulated.len);
    mrg_pairs_add(&compare->pairs, a, b, &other);
}

static struct mrg_slice next_piece(struct mrg_slice *rest, const char *separators)
{
    size_t len = 0;
    while (len < rest->len && !strchr(separators, rest->ptr[len]))
        len++;
    struct mrg_slice piece = {rest->ptr, len};
    len += len < rest->len;
    *rest = (struct mrg_slice){rest->ptr + len, rest->len - len};
    return piece;
}

static void pair_pieces(struct mrg_compare *compare, struct mrg_slice real, struct mrg_slice simulated,
                        const char *separators)
{
    while (real.len > 0 && simulated.len > 0)
        pair(compare, next_piece(&real, separators), next_piece(&simulated, separators));
}

/* By key: the order of parameters says nothing. Of repeated ones the first counts. */
static void pair_queries(struct mrg_compare *compare, struct mrg_slice real, struct mrg_slice simulated)
{
    struct mrg_slice key, value, other_key, other;
    for (size_t cursor = 0; mrg_uri_next_pair(real, &cursor, &key, &value);)
        for (size_t at = 0; mrg_uri_next_pair(simulated, &at, &other_key, &other);)
            if (mrg_slice_eq(key, other_key)) {
                pair(compare, value, other);
                break;
            }
}

static void pair_trees(struct mrg_compare *compare, struct json_object *real, struct json_object *simulated)
{
    if (json_object_get_type(real) != json_object_get_type(simulated))
        return;
    if (json_object_is_type(real, json_type_object)) {
        json_object_object_foreach (real, key, value)
            pair_trees(compare, value, json_object_object_get(simulated, key));
    } else if (json_object_is_type(real, json_type_array)) {
        size_t count = json_object_array_length(real);
        for (size_t i = 0; i < count && i < json_object_array_length(simulated); i++)
            pair_trees(compare, json_object_array_get_idx(real, i), json_object_array_get_idx(simulated, i));
    } else if (json_object_is_type(real, json_type_string)) {
        pair(compare, mrg_slice_of(json_object_get_string(real)),
             mrg_slice_of(json_object_get_string(simulated)));
    }
}

static void pair_bodies(struct mrg_compare *compare, const struct mrg_body *real,
                        const struct mrg_body *simulated)
{
    struct json_object *a = NULL, *b = NULL;
    if (real->kind == MRG_BODY_JSON && simulated->kind == MRG_BODY_JSON &&
        !mrg_json_parse(real->bytes, &a, NULL) && !mrg_json_parse(simulated->bytes, &b, NULL))
        pair_trees(compare, a, b);
    json_object_put(a);
    json_object_put(b);
}

void mrg_compare_requests(struct mrg_compare *compare, const struct mrg_request *real,
                          const struct mrg_request *simulated)
{
    pair_pieces(compare, real->path, simulated->path, "/:");
    pair_queries(compare, real->query, simulated->query);
    for (size_t i = 0; i < real->header_count && i < simulated->header_count; i++)
        if (mrg_slice_eq(real->headers[i].name, simulated->headers[i].name))
            pair_pieces(compare, real->headers[i].value, simulated->headers[i].value, " ");
    pair_bodies(compare, &real->body, &simulated->body);
}
