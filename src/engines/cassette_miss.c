// SPDX-License-Identifier: Apache-2.0
#include "engines/cassette_miss.h"

#include "core/limits.h"
#include "util/utf8.h"

#define CANDIDATES 32u /* entries of the nearest targets, of which some are compared whole */
#define SHOWN      200 /* bytes of a path in a sentence */

struct candidate {
    struct mrg_cassette_entry *entry; /* a reference */
    unsigned target;                  /* how far its method and path are */
    size_t size;                      /* by how many bytes its request is longer or shorter */
};

/* The nearest entries, at one place or at all others. */
struct nearest {
    struct candidate items[CANDIDATES]; /* the nearest first */
    size_t count;
    struct mrg_cassette_entry *same; /* a reference: one of this very request, or NULL */
    unsigned times;                  /* how many there are of these */
};

struct miss {
    struct mrg_match_differ *differ;
    struct mrg_hash128 key;
    mrg_place at;
    struct nearest here;
    struct nearest elsewhere;
};

/* Entries come in the order of a table: the last test makes one order of them. */
static bool is_nearer(const struct candidate *a, const struct candidate *b)
{
    if (a->target != b->target)
        return a->target < b->target;
    if (a->size != b->size)
        return a->size < b->size;
    return a->entry->key.low < b->entry->key.low;
}

static void add_candidate(struct nearest *nearest, struct candidate candidate)
{
    size_t i = nearest->count;
    if (i == CANDIDATES) {
        if (!is_nearer(&candidate, &nearest->items[i - 1]))
            return;
        mrg_cassette_entry_unref(nearest->items[--i].entry);
    } else {
        nearest->count++;
    }
    for (; i > 0 && is_nearer(&candidate, &nearest->items[i - 1]); i--)
        nearest->items[i] = nearest->items[i - 1];
    candidate.entry = mrg_cassette_entry_ref(candidate.entry);
    nearest->items[i] = candidate;
}

static void add_same(struct nearest *nearest, struct mrg_cassette_entry *entry)
{
    nearest->times++;
    if (nearest->same && nearest->same->at <= entry->at)
        return;
    mrg_cassette_entry_unref(nearest->same);
    nearest->same = mrg_cassette_entry_ref(entry);
}

/* A mrg_cassette_visit_fn. */
static void visit(void *ctx, struct mrg_cassette_entry *entry)
{
    struct miss *miss = ctx;
    struct nearest *nearest = entry->at == miss->at ? &miss->here : &miss->elsewhere;
    if (entry->key.low == miss->key.low && entry->key.high == miss->key.high) {
        add_same(nearest, entry);
        return;
    }
    size_t size = mrg_match_differ_size(miss->differ);
    struct candidate candidate = {
        .entry = entry,
        .target = mrg_match_differ_target(miss->differ, entry->method, entry->path),
        .size = entry->req->len > size ? entry->req->len - size : size - entry->req->len,
    };
    add_candidate(nearest, candidate);
}

static void release(struct nearest *nearest)
{
    for (size_t i = 0; i < nearest->count; i++)
        mrg_cassette_entry_unref(nearest->items[i].entry);
    mrg_cassette_entry_unref(nearest->same);
}

static void append_target(struct mrg_buf *buf, struct mrg_slice method, struct mrg_slice path)
{
    mrg_buf_append_slice(buf, method);
    mrg_buf_append_char(buf, ' ');
    mrg_buf_append(buf, path.ptr, path.len > SHOWN ? mrg_utf8_cut(path, SHOWN) : path.len);
}

/* How far a candidate is, the sentence into text (cleared first); false when it cannot be read. */
static bool compare(struct miss *miss, const struct mrg_cassette_entry *entry, unsigned *ret_distance,
                    struct mrg_buf *text)
{
    struct mrg_arena *arena = mrg_arena_new(0);
    struct mrg_request recorded;
    mrg_buf_clear(text);
    bool read = mrg_request_parse(arena, mrg_text_slice(entry->req), &recorded, NULL) == MRG_ERR_OK;
    if (read)
        *ret_distance = mrg_match_differ_compare(miss->differ, &recorded, text);
    mrg_arena_free(arena);
    return read;
}

/*
 * The nearest of the candidates, its sentence into text; NULL when there is none. What is compared whole
 * beyond the first is bounded, since the turn is held meanwhile.
 */
static const struct mrg_cassette_entry *find_best(struct miss *miss, const struct nearest *nearest,
                                                  struct mrg_buf *text)
{
    const struct mrg_cassette_entry *best = NULL;
    unsigned least = 0, distance;
    size_t bytes = 0;
    struct mrg_buf other;
    mrg_buf_init(&other, SIZE_MAX);
    for (size_t i = 0; i < nearest->count; i++) {
        const struct candidate *one = &nearest->items[i];
        if (best && one->target > least)
            break;
        if (best && bytes + one->entry->req->len > MRG_MISS_BYTES)
            continue;
        bytes += one->entry->req->len;
        if (!compare(miss, one->entry, &distance, &other) || (best && distance >= least))
            continue;
        struct mrg_buf swap = *text;
        *text = other;
        other = swap;
        best = one->entry;
        least = distance;
    }
    mrg_buf_done(&other);
    return best;
}

/* `lead` ends before the request's method. */
static void append_nearest(struct mrg_buf *buf, struct miss *miss, const struct nearest *nearest,
                           const char *lead)
{
    struct mrg_buf text;
    mrg_buf_init(&text, SIZE_MAX);
    const struct mrg_cassette_entry *best = find_best(miss, nearest, &text);
    if (best) {
        mrg_buf_append_str(buf, lead);
        append_target(buf, best->method, best->path);
        mrg_buf_append_str(buf, ", first difference: ");
        mrg_buf_append_slice(buf, mrg_buf_slice(&text));
    }
    mrg_buf_done(&text);
}

/* 1st, 2nd, 3rd, 4th, 11th, 21st … */
static const char *ordinal_end(unsigned number)
{
    static const char *const ends[] = {"th", "st", "nd", "rd"};
    unsigned last = number % 10;
    return last > 3 || number / 10 % 10 == 1 ? ends[0] : ends[last];
}

static void append_why(struct mrg_buf *buf, struct miss *miss, unsigned nth)
{
    char here[MRG_PLACE_TEXT + 1], there[MRG_PLACE_TEXT + 1];
    mrg_place_text(miss->at, here);
    if (miss->here.same) {
        unsigned times = miss->here.times;
        mrg_buf_appendf(buf, " when it comes the %u%s time at place %s; it was recorded %u time%s there", nth,
                        ordinal_end(nth), here, times, times == 1 ? "" : "s");
        return;
    }
    mrg_buf_appendf(buf, " at place %s", here);
    if (miss->elsewhere.same) {
        mrg_place_text(miss->elsewhere.same->at, there);
        mrg_buf_appendf(buf,
                        "; this request is recorded after other requests that change state, or in another "
                        "scenario, at place %s; was the session reset before the test (POST "
                        "/__mock__/reset)?",
                        there);
        append_nearest(buf, miss, &miss->here, " The nearest recorded at the present place is ");
    } else if (miss->here.count > 0) {
        append_nearest(buf, miss, &miss->here, "; the nearest recorded there is ");
    } else {
        append_nearest(buf, miss, &miss->elsewhere, "; the nearest recorded elsewhere is ");
    }
}

void mrg_cassette_miss(struct mrg_buf *buf, struct mrg_cassette_store *store, const struct mrg_match *match,
                       const char *path, const struct mrg_request *request, mrg_place at,
                       struct mrg_hash128 key, unsigned nth)
{
    struct miss miss = {.key = key, .at = at};
    mrg_buf_append_str(buf, "nothing is recorded for ");
    append_target(buf, request->method, request->path);
    if (mrg_cassette_store_count(store) == 0) {
        mrg_buf_appendf(buf, "; %s holds nothing", path);
    } else {
        miss.differ = mrg_match_differ_new(match, request);
        mrg_cassette_store_visit(store, MRG_MISS_ENTRIES, visit, &miss);
        append_why(buf, &miss, nth);
        release(&miss.here);
        release(&miss.elsewhere);
        mrg_match_differ_free(miss.differ);
    }
    bool asked = buf->len > 0 && buf->data[buf->len - 1] == '?';
    mrg_buf_append_str(buf,
                       asked ? " If it was, record it with --mode auto" : "; record it with --mode auto");
}
