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

struct mrg_cassette_store *mrg_cassette_store_new(const char *dependency)
{
    struct mrg_cassette_store *store =
        mrg_zalloc_aligned(_Alignof(struct mrg_cassette_store), sizeof(*store));
    store->dependency = mrg_strdup(dependency);
    for (size_t i = 0; i < SHARDS; i++) {
        struct shard *shard = &store->shards[i];
        pthread_rwlock_init(&shard->lock, NULL);
        shard->bucket_count = FIRST_BUCKETS;
        shard->buckets = mrg_zalloc(FIRST_BUCKETS * sizeof(struct mrg_cassette_entry *));
    }
    return store;
}

static void unref_chains(struct mrg_cassette_entry **buckets, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct mrg_cassette_entry *next;
        for (struct mrg_cassette_entry *entry = buckets[i]; entry; entry = next) {
            next = entry->next;
            mrg_cassette_entry_unref(entry);
        }
    }
    free(buckets);
}

void mrg_cassette_store_free(struct mrg_cassette_store *store)
{
    if (!store)
        return;
    for (size_t i = 0; i < SHARDS; i++) {
        unref_chains(store->shards[i].buckets, store->shards[i].bucket_count);
        pthread_rwlock_destroy(&store->shards[i].lock);
    }
    free(store->dependency);
    free(store);
}

void mrg_cassette_store_replace(struct mrg_cassette_store *store, struct mrg_cassette_store *with)
{
    for (size_t i = 0; i < SHARDS; i++) {
        struct shard *shard = &store->shards[i];
        struct shard *other = &with->shards[i];
        struct mrg_cassette_entry **buckets = other->buckets;
        size_t bucket_count = other->bucket_count;
        size_t count = other->count;
        pthread_rwlock_wrlock(&shard->lock);
        other->buckets = shard->buckets;
        other->bucket_count = shard->bucket_count;
        other->count = shard->count;
        shard->buckets = buckets;
        shard->bucket_count = bucket_count;
        shard->count = count;
        pthread_rwlock_unlock(&shard->lock);
    }
    mrg_cassette_store_free(with);
}

struct mrg_cassette_entry *mrg_cassette_entry_ref(struct mrg_cassette_entry *entry)
{
    atomic_fetch_add_explicit(&entry->refs, 1, memory_order_relaxed);
    return entry;
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
    if (bytes.len > 0)
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

static struct mrg_buf minified(struct mrg_slice json)
{
    struct mrg_buf buf;
    mrg_buf_init(&buf, SIZE_MAX);
    mrg_json_minify(&buf, json);
    return buf;
}

static size_t packed_size(const struct mrg_header *headers, size_t count)
{
    size_t size = 0;
    for (size_t i = 0; i < count; i++)
        size += headers[i].name.len + headers[i].value.len + 2;
    return size;
}

/* Copies the fields' bytes; the structs stand in room that the caller has. */
static struct mrg_header *pack_headers(char **at, struct mrg_header *room, const struct mrg_header *from,
                                       size_t count)
{
    for (size_t i = 0; i < count; i++) {
        room[i].name = pack(at, from[i].name);
        room[i].value = pack(at, from[i].value);
    }
    return count > 0 ? room : NULL;
}

/* Absent stays told apart from empty. */
static struct mrg_slice pack_present(char **at, struct mrg_slice bytes)
{
    return bytes.ptr ? pack(at, bytes) : bytes;
}

/*
 * The reply's text, and behind its NUL all that the reply points at, so that whoever has the text has the reply.
 * What the body says stands in the text already, unless it is spelled in another way.
 */
static struct mrg_text *make_rep(struct mrg_slice json, const struct mrg_reply *from,
                                 struct mrg_reply *ret_reply)
{
    struct mrg_buf buf = minified(json);
    size_t count = from->header_count + from->trailer_count;
    size_t first = (buf.len + sizeof(void *)) & ~(sizeof(void *) - 1);
    size_t size = first + count * sizeof(struct mrg_header) + from->body.bytes.len + from->grpc_message.len +
                  from->grpc_details.len + 3 + packed_size(from->headers, from->header_count) +
                  packed_size(from->trailers, from->trailer_count);
    _cleanup_free_ char *bytes = mrg_zalloc(size);
    memcpy(bytes, buf.data, buf.len);
    struct mrg_text *rep = mrg_text_new(bytes, size);
    rep->len = buf.len;
    mrg_buf_done(&buf);

    /* Only what is known here is taken over: a pointer that was forgotten would be the line's, which is freed. */
    struct mrg_header *fields = (struct mrg_header *)(void *)(rep->data + first);
    char *at = (char *)(fields + count);
    struct mrg_reply reply = {.status = from->status,
                              .body.kind = from->body.kind,
                              .header_count = from->header_count,
                              .trailer_count = from->trailer_count,
                              .has_grpc_status = from->has_grpc_status,
                              .grpc_status = from->grpc_status,
                              .unsure = MRG_SLICE("")};
    reply.headers = pack_headers(&at, fields, from->headers, from->header_count);
    reply.trailers = pack_headers(&at, fields + from->header_count, from->trailers, from->trailer_count);
    reply.grpc_message = pack_present(&at, from->grpc_message);
    reply.grpc_details = pack_present(&at, from->grpc_details);
    if (!body_in_text(rep, from->body.bytes, &reply.body.bytes))
        reply.body.bytes = pack(&at, from->body.bytes);
    *ret_reply = reply;
    return rep;
}

static struct mrg_cassette_entry *make_entry(const struct mrg_cassette_line *line,
                                             const struct mrg_request *request, const struct mrg_reply *reply)
{
    struct mrg_slice evidence = line->evidence.ptr ? line->evidence : MRG_SLICE("");
    struct mrg_cassette_entry *entry =
        mrg_zalloc(sizeof(*entry) + evidence.len + request->method.len + request->path.len + 3);
    char *at = entry->bytes;
    struct mrg_buf req = minified(line->req);
    atomic_init(&entry->refs, 1);
    entry->at = line->at;
    entry->nth = line->nth;
    entry->req = mrg_text_new(req.data, req.len);
    entry->rep = make_rep(line->rep, reply, &entry->reply);
    entry->evidence = pack(&at, evidence).ptr;
    entry->method = pack(&at, request->method);
    entry->path = pack(&at, request->path);
    mrg_buf_done(&req);
    return entry;
}

static enum mrg_err entry_of_line(const struct mrg_cassette_store *store, const struct mrg_match *match,
                                  const struct mrg_cassette_line *line, struct mrg_cassette_entry **ret_entry,
                                  struct mrg_error *err)
{
    struct mrg_request request = {0};
    struct mrg_reply reply = {0};
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
        struct mrg_cassette_entry *entry = make_entry(line, &request, &reply);
        entry->key = mrg_match_key(match, &request);
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

enum mrg_err mrg_cassette_store_put(struct mrg_cassette_store *store, const struct mrg_match *match,
                                    const struct mrg_cassette_line *line, bool *ret_replaced,
                                    struct mrg_error *err)
{
    struct mrg_cassette_entry *entry;
    enum mrg_err code = entry_of_line(store, match, line, &entry, err);
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
        mrg_cassette_entry_ref(entry);
    pthread_rwlock_unlock(&shard->lock);
    return entry;
}

static size_t visit_shard(struct shard *shard, size_t max, mrg_cassette_visit_fn visit, void *ctx)
{
    size_t count = 0;
    pthread_rwlock_rdlock(&shard->lock);
    for (size_t i = 0; i < shard->bucket_count && count < max; i++) {
        for (struct mrg_cassette_entry *entry = shard->buckets[i]; entry && count < max;
             entry = entry->next) {
            visit(ctx, entry);
            count++;
        }
    }
    pthread_rwlock_unlock(&shard->lock);
    return count;
}

void mrg_cassette_store_visit(struct mrg_cassette_store *store, size_t max, mrg_cassette_visit_fn visit,
                              void *ctx)
{
    size_t count = 0;
    for (size_t i = 0; i < SHARDS; i++)
        count += visit_shard(&store->shards[i], max - count, visit, ctx);
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
