// SPDX-License-Identifier: Apache-2.0
#include "engines/cassette_store.h"

#include <pthread.h>
#include <string.h>

#include "util/json.h"

#define SHARDS        16u /* a power of 2; readers of different sessions seldom meet */
#define FIRST_BUCKETS 16u /* of a shard; a power of 2 */

/* Locks: only one shard's at a time. */
struct shard {
    pthread_rwlock_t lock;
    struct mrg_cassette_entry **buckets; /* chains; guarded by lock, as are the following */
    size_t bucket_count;                 /* a power of 2 */
    size_t count;                        /* entries */
} __attribute__((aligned(64)));

struct mrg_cassette_store {
    struct shard shards[SHARDS];
    const struct mrg_match *match;
    char *dependency;
};

static uint64_t hash_of(mrg_place at, struct mrg_hash128 key, unsigned nth)
{
    uint64_t hash = (at ^ key.low) + (uint64_t)nth * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 32;
    return hash * 0xd6e8feb86659fd93u;
}

static struct shard *shard_of(struct mrg_cassette_store *store, uint64_t hash)
{
    return &store->shards[hash >> 60];
}

static bool is_same(const struct mrg_cassette_entry *entry, mrg_place at, struct mrg_hash128 key,
                    unsigned nth)
{
    return entry->at == at && entry->nth == nth && entry->key.low == key.low && entry->key.high == key.high;
}

struct mrg_cassette_store *mrg_cassette_store_new(const struct mrg_match *match, const char *dependency)
{
    struct mrg_cassette_store *store = aligned_alloc(64, sizeof(*store));
    MRG_ASSERT(store != NULL);
    memset(store, 0, sizeof(*store));
    store->match = match;
    store->dependency = mrg_strdup(dependency);
    for (size_t i = 0; i < SHARDS; i++) {
        struct shard *shard = &store->shards[i];
        pthread_rwlock_init(&shard->lock, NULL);
        shard->bucket_count = FIRST_BUCKETS;
        shard->buckets = mrg_zalloc(FIRST_BUCKETS * sizeof(struct mrg_cassette_entry *));
    }
    return store;
}

void mrg_cassette_store_free(struct mrg_cassette_store *store)
{
    if (!store)
        return;
    for (size_t i = 0; i < SHARDS; i++) {
        struct shard *shard = &store->shards[i];
        for (size_t bucket = 0; bucket < shard->bucket_count; bucket++) {
            struct mrg_cassette_entry *next;
            for (struct mrg_cassette_entry *entry = shard->buckets[bucket]; entry; entry = next) {
                next = entry->next;
                mrg_cassette_entry_unref(entry);
            }
        }
        free(shard->buckets);
        pthread_rwlock_destroy(&shard->lock);
    }
    free(store->dependency);
    free(store);
}

void mrg_cassette_entry_unref(struct mrg_cassette_entry *entry)
{
    if (!entry || atomic_fetch_sub_explicit(&entry->refs, 1, memory_order_acq_rel) != 1)
        return;
    mrg_text_unref(entry->req);
    mrg_text_unref(entry->rep);
    free(entry);
}

/* Copies bytes and a NUL to *at and moves it on. */
static struct mrg_slice pack(char **at, struct mrg_slice bytes)
{
    struct mrg_slice copy = {*at, bytes.len};
    memcpy(*at, bytes.ptr, bytes.len);
    (*at)[bytes.len] = '\0';
    *at += bytes.len + 1;
    return copy;
}

/*
 * The body where it stands in the reply's own text, so that it is not held twice; false when its spelling is
 * another.
 */
static bool body_in_text(const struct mrg_text *rep, struct mrg_slice body, struct mrg_slice *ret_body)
{
    struct mrg_slice raw;
    if (!mrg_json_member(mrg_text_slice(rep), "body", &raw) || !mrg_slice_eq(raw, body))
        return false;
    *ret_body = raw;
    return true;
}

static struct mrg_cassette_entry *make_entry(const struct mrg_reply *reply, struct mrg_text *req,
                                             struct mrg_text *rep, struct mrg_slice evidence)
{
    struct mrg_slice body = reply->body.bytes;
    bool in_text = body_in_text(rep, body, &body);
    size_t headers = reply->header_count * sizeof(*reply->headers);
    size_t size =
        sizeof(struct mrg_cassette_entry) + headers + evidence.len + 1 + (in_text ? 0 : body.len + 1);
    for (size_t i = 0; i < reply->header_count; i++)
        size += reply->headers[i].name.len + reply->headers[i].value.len + 2;
    struct mrg_cassette_entry *entry = mrg_zalloc(size);
    char *at = entry->bytes + headers;
    atomic_init(&entry->refs, 1);
    entry->req = req;
    entry->rep = rep;
    entry->reply = *reply;
    entry->reply.headers = reply->header_count > 0 ? (struct mrg_header *)(void *)entry->bytes : NULL;
    for (size_t i = 0; i < reply->header_count; i++) {
        entry->reply.headers[i].name = pack(&at, reply->headers[i].name);
        entry->reply.headers[i].value = pack(&at, reply->headers[i].value);
    }
    entry->evidence = pack(&at, evidence).ptr;
    entry->reply.body.bytes = in_text ? body : pack(&at, body);
    entry->reply.unsure = MRG_SLICE("");
    return entry;
}

static struct mrg_text *minified(struct mrg_slice json)
{
    struct mrg_buf buf;
    mrg_buf_init(&buf, SIZE_MAX);
    mrg_json_minify(&buf, json);
    struct mrg_text *text = mrg_text_new(buf.data, buf.len);
    mrg_buf_done(&buf);
    return text;
}

static enum mrg_err entry_of_line(struct mrg_cassette_store *store, const struct mrg_cassette_line *line,
                                  struct mrg_cassette_entry **ret_entry, struct mrg_error *err)
{
    struct mrg_request request;
    struct mrg_reply reply;
    struct mrg_arena *arena = mrg_arena_new(0);
    enum mrg_err code = MRG_ERR_OK;
    if (!mrg_slice_eq_str(line->dep, store->dependency))
        code =
            mrg_error_set(err, MRG_ERR_INVALID, "\"dep\" is \"%.*s\"; expected \"%s\"",
                          (int)(line->dep.len < 60 ? line->dep.len : 60), line->dep.ptr, store->dependency);
    else if ((code = mrg_request_parse(arena, line->req, &request, err)))
        mrg_error_wrap(err, "\"req\"");
    else if ((code = mrg_reply_parse(arena, line->rep, &reply, err)))
        mrg_error_wrap(err, "\"rep\"");
    else if (reply.unsure.len > 0)
        code = mrg_error_set(err, MRG_ERR_INVALID, "\"rep\" is unsure; expected a reply");
    if (!code) {
        struct mrg_cassette_entry *entry = make_entry(&reply, minified(line->req), minified(line->rep),
                                                      line->evidence.ptr ? line->evidence : MRG_SLICE(""));
        entry->at = line->at;
        entry->nth = line->nth;
        entry->key = mrg_match_key(store->match, &request);
        *ret_entry = entry;
    }
    mrg_arena_free(arena);
    return code;
}

static void grow(struct shard *shard)
{
    size_t count = 2 * shard->bucket_count;
    struct mrg_cassette_entry **buckets = mrg_zalloc(count * sizeof(struct mrg_cassette_entry *));
    for (size_t i = 0; i < shard->bucket_count; i++) {
        struct mrg_cassette_entry *next;
        for (struct mrg_cassette_entry *entry = shard->buckets[i]; entry; entry = next) {
            next = entry->next;
            struct mrg_cassette_entry **bucket =
                &buckets[hash_of(entry->at, entry->key, entry->nth) & (count - 1)];
            entry->next = *bucket;
            *bucket = entry;
        }
    }
    free(shard->buckets);
    shard->buckets = buckets;
    shard->bucket_count = count;
}

/* The slot that points to an equal entry, or the end of its chain. */
static struct mrg_cassette_entry **slot_of(struct shard *shard, uint64_t hash,
                                           const struct mrg_cassette_entry *like)
{
    struct mrg_cassette_entry **slot = &shard->buckets[hash & (shard->bucket_count - 1)];
    while (*slot && !is_same(*slot, like->at, like->key, like->nth))
        slot = &(*slot)->next;
    return slot;
}

enum mrg_err mrg_cassette_store_put(struct mrg_cassette_store *store, const struct mrg_cassette_line *line,
                                    bool *ret_replaced, struct mrg_error *err)
{
    struct mrg_cassette_entry *entry;
    enum mrg_err code = entry_of_line(store, line, &entry, err);
    if (code)
        return code;
    uint64_t hash = hash_of(entry->at, entry->key, entry->nth);
    struct shard *shard = shard_of(store, hash);
    pthread_rwlock_wrlock(&shard->lock);
    struct mrg_cassette_entry **slot = slot_of(shard, hash, entry);
    struct mrg_cassette_entry *old = *slot;
    entry->next = old ? old->next : NULL;
    *slot = entry;
    if (!old && ++shard->count > shard->bucket_count)
        grow(shard);
    pthread_rwlock_unlock(&shard->lock);
    if (ret_replaced)
        *ret_replaced = old != NULL;
    mrg_cassette_entry_unref(old);
    return MRG_ERR_OK;
}

struct mrg_cassette_entry *mrg_cassette_store_find(struct mrg_cassette_store *store, mrg_place at,
                                                   struct mrg_hash128 key, unsigned nth)
{
    uint64_t hash = hash_of(at, key, nth);
    struct shard *shard = shard_of(store, hash);
    pthread_rwlock_rdlock(&shard->lock);
    struct mrg_cassette_entry *entry = shard->buckets[hash & (shard->bucket_count - 1)];
    while (entry && !is_same(entry, at, key, nth))
        entry = entry->next;
    if (entry)
        atomic_fetch_add_explicit(&entry->refs, 1, memory_order_relaxed);
    pthread_rwlock_unlock(&shard->lock);
    return entry;
}

static size_t collect_shard(struct shard *shard, mrg_place at, bool everywhere,
                            struct mrg_cassette_entry **entries, size_t max)
{
    size_t count = 0;
    pthread_rwlock_rdlock(&shard->lock);
    for (size_t i = 0; i < shard->bucket_count && count < max; i++) {
        for (struct mrg_cassette_entry *entry = shard->buckets[i]; entry && count < max;
             entry = entry->next) {
            if (!everywhere && entry->at != at)
                continue;
            atomic_fetch_add_explicit(&entry->refs, 1, memory_order_relaxed);
            entries[count++] = entry;
        }
    }
    pthread_rwlock_unlock(&shard->lock);
    return count;
}

size_t mrg_cassette_store_collect(struct mrg_cassette_store *store, mrg_place at, bool everywhere,
                                  struct mrg_cassette_entry **entries, size_t max)
{
    size_t count = 0;
    for (size_t i = 0; i < SHARDS; i++)
        count += collect_shard(&store->shards[i], at, everywhere, entries + count, max - count);
    return count;
}

size_t mrg_cassette_store_count(struct mrg_cassette_store *store)
{
    size_t count = 0;
    for (size_t i = 0; i < SHARDS; i++) {
        pthread_rwlock_rdlock(&store->shards[i].lock);
        count += store->shards[i].count;
        pthread_rwlock_unlock(&store->shards[i].lock);
    }
    return count;
}

static struct mrg_slice copy(struct mrg_arena *arena, struct mrg_slice bytes)
{
    return (struct mrg_slice){mrg_arena_memdup(arena, bytes.ptr, bytes.len), bytes.len};
}

void mrg_cassette_entry_reply(const struct mrg_cassette_entry *entry, struct mrg_arena *arena,
                              struct mrg_reply *ret_reply)
{
    struct mrg_reply reply = entry->reply;
    if (reply.header_count > 0)
        reply.headers = mrg_arena_alloc(arena, reply.header_count * sizeof(*reply.headers));
    for (size_t i = 0; i < reply.header_count; i++) {
        reply.headers[i].name = copy(arena, entry->reply.headers[i].name);
        reply.headers[i].value = copy(arena, entry->reply.headers[i].value);
    }
    reply.body.bytes = copy(arena, reply.body.bytes);
    *ret_reply = reply;
}
