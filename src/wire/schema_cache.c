// SPDX-License-Identifier: Apache-2.0
/*
 * A set is kept beside a list of what it was made of: protoc, the set's own digest, and a digest for each
 * file, "-" where no root has it (protoc's own folder, or what is embedded). An entry is overwritten by the next one
 * of the same roots and files, so the folder does not grow with edits.
 */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "wire/schema_int.h"

#define HEADER  "mirage descriptors 1"
#define NOWHERE "-"

static char *cache_folder(void)
{
    const char *cache = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    if (cache && *cache == '/')
        return mrg_asprintf("%s/mirage/descriptors", cache);
    return home && *home == '/' ? mrg_asprintf("%s/.cache/mirage/descriptors", home) : NULL;
}

void mrg_cache_key_init(struct mrg_cache_key *key, const struct mrg_protoc_job *job, const char *protoc)
{
    struct mrg_sha256 *sha = mrg_sha256_new();
    mrg_sha256_add(sha, mrg_embedded_set, mrg_embedded_set_len);
    for (size_t i = 0; i < job->roots->count; i++)
        mrg_sha256_add(sha, job->roots->items[i], strlen(job->roots->items[i]) + 1);
    mrg_sha256_add(sha, "", 1);
    for (size_t i = 0; i < job->files->count; i++)
        mrg_sha256_add(sha, job->files->items[i], strlen(job->files->items[i]) + 1);
    mrg_sha256_finish(sha, key->hex);
    key->folder = cache_folder();
    key->protoc = NULL;
    struct stat stat_buf;
    if (protoc && stat(protoc, &stat_buf) == 0)
        key->protoc = mrg_asprintf("%s %lld %lld.%09ld", protoc, (long long)stat_buf.st_size,
                                   (long long)stat_buf.st_mtim.tv_sec, stat_buf.st_mtim.tv_nsec);
}

void mrg_cache_key_done(struct mrg_cache_key *key)
{
    free(key->folder);
    free(key->protoc);
}

/* The digest of a file as it is now below the roots, or "-". False: it cannot be read, or is newer than `since`. */
static bool digest_of(const struct mrg_protoc_job *job, const char *name, const struct timespec *since,
                      char ret_hex[MRG_SHA256_HEX + 1])
{
    _cleanup_free_ char *path = mrg_protoc_locate(job->roots, name);
    if (!path) {
        memcpy(ret_hex, NOWHERE, sizeof(NOWHERE));
        return true;
    }
    struct stat stat_buf;
    if (since && (stat(path, &stat_buf) != 0 || stat_buf.st_mtim.tv_sec > since->tv_sec ||
                  (stat_buf.st_mtim.tv_sec == since->tv_sec && stat_buf.st_mtim.tv_nsec > since->tv_nsec)))
        return false;
    struct mrg_buf content;
    mrg_buf_init(&content, MRG_MAX_DESCRIPTORS);
    bool read = mrg_schema_read_file(path, MRG_MAX_DESCRIPTORS, &content, NULL) == MRG_ERR_OK;
    if (read)
        mrg_sha256_hex(content.data ? content.data : "", content.len, ret_hex);
    mrg_buf_done(&content);
    return read;
}

static bool next_line(struct mrg_slice *text, struct mrg_slice *ret_line)
{
    const char *end = text->len > 0 ? memchr(text->ptr, '\n', text->len) : NULL;
    if (!end)
        return false;
    *ret_line = (struct mrg_slice){text->ptr, (size_t)(end - text->ptr)};
    text->len -= ret_line->len + 1;
    text->ptr = end + 1;
    return true;
}

/* What stands behind "key " in the next line. */
static bool next_value(struct mrg_slice *text, const char *key, struct mrg_slice *ret_value)
{
    struct mrg_slice line;
    size_t len = strlen(key);
    if (!next_line(text, &line) || line.len <= len || memcmp(line.ptr, key, len) != 0 || line.ptr[len] != ' ')
        return false;
    *ret_value = (struct mrg_slice){line.ptr + len + 1, line.len - len - 1};
    return true;
}

/* Whether all is as the list says. The digest of the set is given back. */
static bool is_current(const struct mrg_cache_key *key, const struct mrg_protoc_job *job,
                       struct mrg_slice list, struct mrg_slice *ret_digest)
{
    struct mrg_slice line;
    if (!next_line(&list, &line) || !mrg_slice_eq_str(line, HEADER) || !next_value(&list, "protoc", &line))
        return false;
    /* Where protoc is not installed, what it made before is better than nothing. */
    if ((key->protoc && !mrg_slice_eq_str(line, key->protoc)) || !next_value(&list, "set", ret_digest))
        return false;
    while (next_value(&list, "file", &line)) {
        const char *space = memchr(line.ptr, ' ', line.len);
        if (!space)
            return false;
        struct mrg_slice then = {line.ptr, (size_t)(space - line.ptr)};
        _cleanup_free_ char *name = mrg_strndup(space + 1, line.len - then.len - 1);
        char now[MRG_SHA256_HEX + 1];
        if (!digest_of(job, name, NULL, now) || !mrg_slice_eq_str(then, now))
            return false;
    }
    return list.len == 0;
}

bool mrg_cache_read(const struct mrg_cache_key *key, const struct mrg_protoc_job *job, struct mrg_buf *set)
{
    if (!key->folder)
        return false;
    _cleanup_free_ char *list_path = mrg_asprintf("%s/%s.list", key->folder, key->hex);
    _cleanup_free_ char *set_path = mrg_asprintf("%s/%s.binpb", key->folder, key->hex);
    struct mrg_buf list;
    struct mrg_buf content;
    struct mrg_slice digest;
    char hex[MRG_SHA256_HEX + 1];
    mrg_buf_init(&list, MRG_MAX_PROTOC_LIST);
    mrg_buf_init(&content, MRG_MAX_DESCRIPTORS);
    bool good = mrg_schema_read_file(list_path, MRG_MAX_PROTOC_LIST, &list, NULL) == MRG_ERR_OK &&
                is_current(key, job, mrg_buf_slice(&list), &digest) &&
                mrg_schema_read_file(set_path, MRG_MAX_DESCRIPTORS, &content, NULL) == MRG_ERR_OK;
    if (good) {
        mrg_sha256_hex(content.data ? content.data : "", content.len, hex);
        good = mrg_slice_eq_str(digest, hex);
    }
    if (good)
        mrg_buf_append_slice(set, mrg_buf_slice(&content));
    mrg_buf_done(&list);
    mrg_buf_done(&content);
    return good;
}

/* The name of a serialised file; empty when it has none. */
static struct mrg_slice name_of(struct mrg_slice file)
{
    struct mrg_wire_field field;
    for (size_t cursor = 0; mrg_wire_next(file, &cursor, &field);)
        if (field.number == 1 && field.wire == 2)
            return field.bytes;
    return MRG_SLICE("");
}

static bool make_list(const struct mrg_cache_key *key, const struct mrg_protoc_job *job, struct mrg_slice set,
                      const struct timespec *started, struct mrg_buf *list)
{
    char hex[MRG_SHA256_HEX + 1];
    struct mrg_slice file;
    size_t cursor = 0;
    mrg_sha256_hex(set.ptr, set.len, hex);
    mrg_buf_appendf(list, HEADER "\nprotoc %s\nset %s\n", key->protoc, hex);
    while (mrg_set_next(set, &cursor, &file)) {
        struct mrg_slice slice = name_of(file);
        _cleanup_free_ char *name = mrg_strndup(slice.ptr, slice.len);
        if (slice.len == 0 || strlen(name) != slice.len || strchr(name, '\n') ||
            !digest_of(job, name, started, hex))
            return false;
        mrg_buf_appendf(list, "file %s %s\n", hex, name);
    }
    return cursor == set.len && !mrg_buf_failed(list);
}

static void make_folder(const char *folder)
{
    _cleanup_free_ char *path = mrg_strdup(folder);
    for (char *p = strchr(path + 1, '/'); p; p = strchr(p + 1, '/')) {
        *p = '\0';
        mkdir(path, 0700);
        *p = '/';
    }
    mkdir(path, 0700);
}

static bool replace(const char *path, struct mrg_slice content)
{
    static unsigned count; /* only main makes schemas */
    _cleanup_free_ char *part = mrg_asprintf("%s.%ld-%u", path, (long)getpid(), count++);
    if (!mrg_schema_write_file(part, content))
        return false;
    if (rename(part, path) == 0)
        return true;
    unlink(part);
    return false;
}

void mrg_cache_write(const struct mrg_cache_key *key, const struct mrg_protoc_job *job, struct mrg_slice set,
                     const struct timespec *started)
{
    if (!key->folder || !key->protoc || strchr(key->protoc, '\n'))
        return;
    _cleanup_free_ char *list_path = mrg_asprintf("%s/%s.list", key->folder, key->hex);
    _cleanup_free_ char *set_path = mrg_asprintf("%s/%s.binpb", key->folder, key->hex);
    struct mrg_buf list;
    mrg_buf_init(&list, MRG_MAX_PROTOC_LIST);
    /* Should only the first be written: the digest in the old list does not fit it. */
    if (make_list(key, job, set, started, &list)) {
        make_folder(key->folder);
        if (replace(set_path, set))
            replace(list_path, mrg_buf_slice(&list));
    }
    mrg_buf_done(&list);
}
