// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "wire/schema_int.h"

#define SHOWN_LINES 10 /* and lines that are shown */

char *mrg_protoc_locate(const struct mrg_strings *roots, const char *name)
{
    for (size_t i = 0; i < roots->count; i++) {
        char *path = mrg_asprintf("%s/%s", roots->items[i], name);
        struct stat stat_buf;
        if (stat(path, &stat_buf) == 0 && S_ISREG(stat_buf.st_mode))
            return path;
        free(path);
    }
    return NULL;
}

static bool is_below(const char *name)
{
    if (*name == '/' || *name == '\0')
        return false;
    for (const char *p = name; p; p = strchr(p, '/')) {
        p += *p == '/';
        size_t len = strcspn(p, "/");
        if (len == 0 || (len == 1 && *p == '.') || (len == 2 && memcmp(p, "..", 2) == 0))
            return false;
    }
    return true;
}

static enum mrg_err check_job(const struct mrg_protoc_job *job, struct mrg_error *err)
{
    for (size_t i = 0; i < job->roots->count; i++) {
        struct stat stat_buf;
        const char *root = job->roots->items[i];
        if (stat(root, &stat_buf) != 0)
            return mrg_error_set(err, errno == ENOENT ? MRG_ERR_NOT_FOUND : MRG_ERR_IO,
                                 "protos.roots: %s: %s", root, strerror(errno));
        if (!S_ISDIR(stat_buf.st_mode))
            return mrg_error_set(err, MRG_ERR_INVALID, "protos.roots: %s: not a folder", root);
    }
    for (size_t i = 0; i < job->files->count; i++) {
        const char *name = job->files->items[i];
        /* protoc takes a leading - for an option and @ for a file of arguments. */
        if (!is_below(name) || *name == '-' || *name == '@')
            return mrg_error_set(
                err, MRG_ERR_INVALID,
                "protos.files: %s: expected a path below one of protos.roots, as in an import", name);
        _cleanup_free_ char *path = mrg_protoc_locate(job->roots, name);
        if (!path)
            return mrg_error_set(err, MRG_ERR_NOT_FOUND, "protos.files: %s: in none of protos.roots (%s%s)",
                                 name, job->roots->items[0], job->roots->count > 1 ? ", …" : "");
    }
    return MRG_ERR_OK;
}

/* In PATH; the caller's; NULL. */
static char *find_program(const char *name)
{
    const char *folders = getenv("PATH");
    if (!folders)
        folders = "/usr/local/bin:/usr/bin:/bin";
    while (*folders) {
        size_t len = strcspn(folders, ":");
        char *path = mrg_asprintf("%.*s/%s", (int)len, folders, name);
        struct stat stat_buf;
        /* Only whole paths: it is started in another folder. */
        if (*path == '/' && stat(path, &stat_buf) == 0 && S_ISREG(stat_buf.st_mode) &&
            access(path, X_OK) == 0)
            return path;
        free(path);
        folders += len + (folders[len] == ':');
    }
    return NULL;
}

static enum mrg_err fail_said(struct mrg_buf *output, int status, struct mrg_error *err)
{
    struct mrg_slice said = mrg_slice_trim(mrg_buf_slice(output));
    if (said.len == 0)
        return mrg_error_set(err, MRG_ERR_INVALID, "protoc ended with status %d and said nothing", status);
    size_t lines = 0;
    size_t len = 0;
    for (; len < said.len; len++) {
        lines += said.ptr[len] == '\n';
        if (lines == SHOWN_LINES)
            break;
    }
    const char *hint = "";
    if (strstr(output->data, "google/protobuf/") && strstr(output->data, "File not found"))
        hint = "\n(Debian's package libprotobuf-dev has google/protobuf/*.proto)";
    return mrg_error_set(err, MRG_ERR_INVALID, "%.*s%s", (int)len, said.ptr, hint);
}

static enum mrg_err compile(const char *protoc, const struct mrg_protoc_job *job,
                            const struct mrg_workspace *work, struct mrg_buf *set, struct mrg_error *err)
{
    /* Names as in an import, from an empty folder: protoc would take a file that is there for a path. Roots
     * are links because ':' and '=' mean something in a --proto_path. */
    _cleanup_free_ char *folder = mrg_asprintf("%s/empty", work->path);
    _cleanup_free_ char *made = mrg_asprintf("%s/set.binpb", work->path);
    size_t count = 0;
    char **argv = mrg_zalloc((job->roots->count + job->files->count + 6) * sizeof(*argv));
    argv[count++] = mrg_strdup(protoc);
    argv[count++] = mrg_strdup("--include_imports");
    argv[count++] = mrg_strdup("--descriptor_set_out=../set.binpb");
    for (size_t i = 0; i < job->roots->count; i++)
        argv[count++] = mrg_asprintf("--proto_path=../root%zu", i);
    argv[count++] = mrg_strdup("--proto_path=../own");
    for (size_t i = 0; i < job->files->count; i++)
        argv[count++] = mrg_strdup(job->files->items[i]);

    struct mrg_buf output;
    int status = 0;
    mrg_buf_init(&output, MRG_MAX_PROTOC_OUTPUT);
    enum mrg_err code = mrg_spawn(protoc, argv, folder, job->timeout_ms, &output, &status, err);
    if (code == MRG_ERR_OK && status != 0)
        code = fail_said(&output, status, err);
    if (code == MRG_ERR_OK)
        code = mrg_schema_read_file(made, MRG_MAX_DESCRIPTORS, set, err);
    mrg_buf_done(&output);
    for (size_t i = 0; i < count; i++)
        free(argv[i]);
    free(argv);
    return code;
}

static enum mrg_err compile_new(const char *protoc, const struct mrg_protoc_job *job,
                                const struct mrg_cache_key *key, struct mrg_buf *set, struct mrg_error *err)
{
    if (!protoc)
        return mrg_error_set(err, MRG_ERR_NOT_FOUND,
                             "protos.files: protoc is not installed (Debian's package protobuf-compiler)");
    struct mrg_workspace work;
    struct timespec started;
    size_t before = set->len;
    clock_gettime(CLOCK_REALTIME, &started);
    enum mrg_err code = mrg_workspace_init(&work, job->roots, err);
    if (code == MRG_ERR_OK)
        code = compile(protoc, job, &work, set, err);
    mrg_workspace_done(&work);
    if (code == MRG_ERR_OK)
        mrg_cache_write(key, job, (struct mrg_slice){set->data + before, set->len - before}, &started);
    return code;
}

enum mrg_err mrg_protoc_run(const struct mrg_protoc_job *job, struct mrg_buf *set, struct mrg_error *err)
{
    enum mrg_err code = check_job(job, err);
    if (code != MRG_ERR_OK)
        return code;
    _cleanup_free_ char *protoc = find_program("protoc");
    struct mrg_cache_key key;
    mrg_cache_key_init(&key, job, protoc);
    if (!mrg_cache_read(&key, job, set))
        code = compile_new(protoc, job, &key, set, err);
    mrg_cache_key_done(&key);
    return code;
}
