// SPDX-License-Identifier: Apache-2.0
#include "engines/cassette_miss.h"

#include "util/utf8.h"

#define MAX_CANDIDATES 2000u /* entries compared for one sentence; some ten microseconds each */
#define SHOWN          200   /* bytes of a path in a sentence */

struct miss {
    const struct mrg_match *match;
    const struct mrg_request *request;
    struct mrg_hash128 key;
    struct mrg_cassette_entry **entries; /* candidates */
    size_t count;
    const struct mrg_cassette_entry *best; /* the nearest of them, or NULL */
    unsigned distance;                     /* of best */
    unsigned times;                        /* how often this very request is recorded among them */
};

static bool has_key(const struct miss *miss, const struct mrg_cassette_entry *entry)
{
    return entry->key.low == miss->key.low && entry->key.high == miss->key.high;
}

static void append_target(struct mrg_buf *buf, const struct mrg_request *request)
{
    mrg_buf_append_slice(buf, request->method);
    mrg_buf_append_char(buf, ' ');
    mrg_buf_append(buf, request->path.ptr,
                   request->path.len > SHOWN ? mrg_utf8_cut(request->path, SHOWN) : request->path.len);
}

/* Looks at one candidate; *diff is scratch. */
static void weigh(struct miss *miss, const struct mrg_cassette_entry *entry, struct mrg_buf *diff)
{
    struct mrg_arena *arena = mrg_arena_new(0);
    struct mrg_request recorded;
    mrg_buf_clear(diff);
    if (has_key(miss, entry)) {
        miss->times++;
        miss->best = entry;
        miss->distance = 0;
    } else if (mrg_request_parse(arena, mrg_text_slice(entry->req), &recorded, NULL) == MRG_ERR_OK) {
        unsigned distance = mrg_match_diff(miss->match, miss->request, &recorded, diff);
        /* The order of candidates changes from run to run; the sentence should not. */
        bool nearer =
            !miss->best || distance < miss->distance ||
            (distance == miss->distance && miss->distance > 0 && entry->key.low < miss->best->key.low);
        if (nearer) {
            miss->best = entry;
            miss->distance = distance;
        }
    }
    mrg_arena_free(arena);
}

static void release(struct miss *miss)
{
    for (size_t i = 0; i < miss->count; i++)
        mrg_cassette_entry_unref(miss->entries[i]);
    miss->count = 0;
}

static void find_best(struct miss *miss, struct mrg_cassette_store *store, mrg_place at, bool everywhere)
{
    struct mrg_buf diff;
    mrg_buf_init(&diff, SIZE_MAX);
    release(miss);
    miss->count = mrg_cassette_store_collect(store, at, everywhere, miss->entries, MAX_CANDIDATES);
    for (size_t i = 0; i < miss->count; i++)
        weigh(miss, miss->entries[i], &diff);
    mrg_buf_done(&diff);
}

static void append_nearest(struct mrg_buf *buf, const struct miss *miss, const char *where)
{
    struct mrg_arena *arena = mrg_arena_new(0);
    struct mrg_request recorded;
    if (mrg_request_parse(arena, mrg_text_slice(miss->best->req), &recorded, NULL) == MRG_ERR_OK) {
        mrg_buf_appendf(buf, "; the nearest recorded %s is ", where);
        append_target(buf, &recorded);
        mrg_buf_append_str(buf, ", first difference: ");
        mrg_match_diff(miss->match, miss->request, &recorded, buf);
    }
    mrg_arena_free(arena);
}

static void append_why(struct mrg_buf *buf, struct miss *miss, struct mrg_cassette_store *store, mrg_place at,
                       unsigned nth)
{
    char here[MRG_PLACE_TEXT + 1], there[MRG_PLACE_TEXT + 1];
    mrg_place_text(at, here);
    find_best(miss, store, at, false);
    if (miss->best && miss->times > 0) {
        mrg_buf_appendf(buf, " when it comes %u times at place %s; it was recorded %u time%s there", nth,
                        here, miss->times, miss->times == 1 ? "" : "s");
    } else if (miss->best) {
        mrg_buf_appendf(buf, " at place %s", here);
        append_nearest(buf, miss, "there");
    } else {
        find_best(miss, store, at, true);
        mrg_buf_appendf(buf, " at place %s", here);
        if (miss->best && miss->times > 0) {
            mrg_place_text(miss->best->at, there);
            mrg_buf_appendf(
                buf,
                ", but at place %s: other requests that change state came before it when it was recorded",
                there);
        } else if (miss->best) {
            append_nearest(buf, miss, "elsewhere");
        }
    }
}

void mrg_cassette_miss(struct mrg_buf *buf, struct mrg_cassette_store *store, const struct mrg_match *match,
                       const char *path, const struct mrg_request *request, mrg_place at,
                       struct mrg_hash128 key, unsigned nth)
{
    struct miss miss = {.match = match, .request = request, .key = key};
    miss.entries = mrg_malloc(MAX_CANDIDATES * sizeof(struct mrg_cassette_entry *));
    mrg_buf_append_str(buf, "nothing is recorded for ");
    append_target(buf, request);
    if (mrg_cassette_store_count(store) == 0)
        mrg_buf_appendf(buf, "; %s holds nothing", path);
    else
        append_why(buf, &miss, store, at, nth);
    mrg_buf_append_str(buf, "; record it with --mode auto");
    release(&miss);
    free(miss.entries);
}
