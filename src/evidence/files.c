// SPDX-License-Identifier: Apache-2.0
#include "evidence/files.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/limits.h"
#include "evidence/leave_out.h"
#include "evidence/roots.h"
#include "util/slurp.h"
#include "util/utf8.h"

#define MAX_DEPTH 64              /* folders within each other */
#define MAX_PART  (256u << 20)    /* bytes of one part's files together, before the budget is kept */
#define ALREADY   "shown already" /* as part of something else */
#define MAX_NAMES (64u << 10)     /* entries of one folder */

struct walk {
    const char *part; /* "source" */
    enum mrg_files_kind kind;
    const struct mrg_files *shown; /* not to be taken again; or NULL */
    struct mrg_files *files;       /* found so far */
    struct mrg_drops *drops;
    size_t bytes;    /* loaded so far */
    size_t root;     /* index of the root that is walked */
    size_t root_len; /* bytes of its path */
    char *label;     /* its name in prompts */
};

struct names {
    char **items;
    size_t count;
    size_t capacity;
};

static void names_done(struct names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->items[i]);
    free(names->items);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Nobody misses these: what is compiled of files that are shown, and what holds nothing. */
static bool is_noise(const char *name, const char *why)
{
    static const char *const names[] = {"__pycache__", ".git", ".DS_Store"};
    for (size_t i = 0; i < MRG_ARRAY_LEN(names); i++) {
        if (strcmp(names[i], name) == 0)
            return true;
    }
    return strcmp(why, "empty") == 0;
}

static void drop(struct walk *walk, const char *path, bool folder, const char *why)
{
    const char *slash = strrchr(path, '/');
    if (is_noise(slash ? slash + 1 : path, why))
        return;
    const char *rel = path + walk->root_len;
    rel += *rel == '/';
    _cleanup_free_ char *name = mrg_root_name(walk->label, rel);
    _cleanup_free_ char *shown = mrg_asprintf("%s%s", name, folder ? "/" : "");
    mrg_drops_add(walk->drops, walk->part, shown, "%s", why);
}

static bool holds(const struct mrg_files *files, const char *path)
{
    for (size_t i = 0; files && i < files->count; i++) {
        if (strcmp(files->items[i].path, path) == 0)
            return true;
    }
    return false;
}

/* Wrong bytes become U+FFFD, so that a prompt is always UTF-8. Takes the bytes. */
static char *mended(char *data, size_t *len)
{
    if (mrg_utf8_valid((struct mrg_slice){data, *len}))
        return data;
    struct mrg_buf buf;
    mrg_buf_init(&buf, *len * 3);
    for (const char *p = data, *end = data + *len; p < end;) {
        size_t one = mrg_utf8_len(p, end);
        mrg_buf_append(&buf, one > 0 ? p : MRG_UTF8_REPLACEMENT, one > 0 ? one : 3);
        p += one > 0 ? one : 1;
    }
    free(data);
    return mrg_buf_take(&buf, len);
}

/* False: left out, and told. */
static bool load(struct walk *walk, const char *path, struct mrg_file *file)
{
    _cleanup_free_ char *data = NULL;
    size_t len = 0;
    struct mrg_error err;
    enum mrg_err code = mrg_slurp(path, MRG_MAX_EVIDENCE_FILE, &data, &len, &err);
    const char *base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    const char *why = err.message;
    if (code == MRG_ERR_TOO_LARGE)
        why = "larger than 4 MiB";
    else if (code == MRG_ERR_OK)
        why = mrg_leave_out_content(base, (struct mrg_slice){data, len});
    if (!why && len > MAX_PART - walk->bytes)
        why = "more than 256 MiB in all";
    if (why) {
        drop(walk, path, false, why);
        return false;
    }
    walk->bytes += len;
    mrg_sha256_hex(data, len, file->hash);
    file->data = mended(MRG_TAKE(data), &len);
    file->len = len;
    return true;
}

static void add_file(struct walk *walk, const char *path)
{
    if (walk->root > 0 && holds(walk->files, path))
        return;
    if (holds(walk->shown, path)) {
        drop(walk, path, false, ALREADY);
        return;
    }
    if (walk->files->count >= MRG_MAX_EVIDENCE_FILES) {
        drop(walk, path, false, "more than 5,000 files");
        return;
    }
    struct mrg_file file = {.root = walk->root};
    if (walk->kind != MRG_FILES_JSON && !load(walk, path, &file))
        return;
    struct mrg_files *files = walk->files;
    mrg_grow((void **)&files->items, &files->capacity, files->count, sizeof(*files->items));
    file.path = mrg_strdup(path);
    const char *below = file.path + walk->root_len;
    const char *slash = strrchr(file.path, '/');
    file.rel = *below == '/' ? below + 1 : slash ? slash + 1 : file.path;
    file.name = mrg_root_name(walk->label, *below == '/' ? below + 1 : "");
    files->items[files->count++] = file;
}

static bool read_names(const char *path, struct names *names, char *ret_why, size_t size)
{
    DIR *dir = opendir(path);
    if (!dir) {
        char text[128];
        (void)snprintf(ret_why, size, "%s", strerror_r(errno, text, sizeof(text)));
        return false;
    }
    for (struct dirent *entry; (entry = readdir(dir)) && names->count < MAX_NAMES;) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        mrg_grow((void **)&names->items, &names->capacity, names->count, sizeof(*names->items));
        names->items[names->count++] = mrg_strdup(entry->d_name);
    }
    (void)closedir(dir);
    if (names->count >= MAX_NAMES) {
        (void)snprintf(ret_why, size, "more than %u entries", MAX_NAMES - 1);
        return false;
    }
    if (names->count > 0)
        qsort(names->items, names->count, sizeof(*names->items), by_name);
    return true;
}

static const char *why_not_json(const char *name)
{
    static const char *const endings[] = {"*.json", "*.jsonl", "*.ndjson"};
    for (size_t i = 0; i < MRG_ARRAY_LEN(endings); i++) {
        if (fnmatch(endings[i], name, 0) == 0)
            return NULL;
    }
    return "not .json, .jsonl or .ndjson";
}

static void walk_folder(struct walk *walk, const char *path, unsigned depth);

static void visit(struct walk *walk, const char *path, const char *name, const struct mrg_siblings *siblings,
                  unsigned depth)
{
    struct stat st;
    const char *why = NULL;
    bool folder = false;
    if (lstat(path, &st) < 0) {
        why = "cannot be read";
    } else if (S_ISDIR(st.st_mode)) {
        folder = true;
        why = mrg_leave_out_folder(name, depth == 0, walk->kind == MRG_FILES_CODE, siblings);
    } else if (S_ISLNK(st.st_mode)) {
        why = "a symbolic link; configure what it leads to";
    } else if (!S_ISREG(st.st_mode)) {
        why = "not a regular file";
    } else {
        why = mrg_leave_out_file(name, walk->kind == MRG_FILES_CODE);
        if (!why && walk->kind == MRG_FILES_JSON)
            why = why_not_json(name);
    }
    if (why)
        drop(walk, path, folder, why);
    else if (folder)
        walk_folder(walk, path, depth + 1);
    else
        add_file(walk, path);
}

static void walk_folder(struct walk *walk, const char *path, unsigned depth)
{
    _cleanup_(names_done) struct names names = {0};
    char why[160];
    if (depth > MAX_DEPTH) {
        drop(walk, path, true, "more than 64 folders deep");
        return;
    }
    if (!read_names(path, &names, why, sizeof(why))) {
        drop(walk, path, true, why);
        return;
    }
    struct mrg_siblings siblings = {names.items, names.count};
    for (size_t i = 0; i < names.count; i++) {
        _cleanup_free_ char *below = mrg_asprintf("%s/%s", path, names.items[i]);
        visit(walk, below, names.items[i], &siblings, depth);
    }
}

static enum mrg_err walk_root(struct walk *walk, const struct mrg_strings *roots, struct mrg_error *err)
{
    const char *given = roots->items[walk->root];
    char text[128];
    _cleanup_free_ char *path = realpath(given, NULL);
    struct stat st;
    if (!path || stat(path, &st) < 0)
        return mrg_error_set(err, errno == ENOENT ? MRG_ERR_NOT_FOUND : MRG_ERR_IO, "evidence.%s: %s: %s",
                             walk->part, given, strerror_r(errno, text, sizeof(text)));
    bool folder = S_ISDIR(st.st_mode);
    if (!folder && !S_ISREG(st.st_mode))
        return mrg_error_set(err, MRG_ERR_INVALID, "evidence.%s: %s: expected a file or a folder", walk->part,
                             given);
    if (access(path, folder ? R_OK | X_OK : R_OK) < 0)
        return mrg_error_set(err, MRG_ERR_IO, "evidence.%s: %s: %s", walk->part, given,
                             strerror_r(errno, text, sizeof(text)));
    walk->root_len = strcmp(path, "/") == 0 ? 0 : strlen(path);
    walk->label = mrg_root_label(roots, walk->root, folder);
    if (folder)
        walk_folder(walk, path, 0);
    else
        add_file(walk, path);
    free(walk->label);
    return MRG_ERR_OK;
}

enum mrg_err mrg_files_read(const char *part, const struct mrg_strings *roots, enum mrg_files_kind kind,
                            const struct mrg_files *shown, struct mrg_files *files, struct mrg_drops *drops,
                            struct mrg_error *err)
{
    struct walk walk = {.part = part, .kind = kind, .shown = shown, .files = files, .drops = drops};
    size_t dropped = drops->count;
    for (walk.root = 0; walk.root < roots->count; walk.root++) {
        enum mrg_err code = walk_root(&walk, roots, err);
        if (code != MRG_ERR_OK)
            return code;
    }
    if (files->count > 0 ||
        (drops->count > dropped && strcmp(drops->items[drops->count - 1].why, ALREADY) == 0))
        return MRG_ERR_OK;
    const char *hint = drops->count > dropped ? drops->items[dropped].why : "it is empty";
    return mrg_error_set(err, MRG_ERR_INVALID, "evidence.%s: %s: no file that can be used (%s)", part,
                         roots->items[0], hint);
}

void mrg_files_done(struct mrg_files *files)
{
    for (size_t i = 0; i < files->count; i++) {
        free(files->items[i].path);
        free(files->items[i].name);
        free(files->items[i].data);
    }
    free(files->items);
    *files = (struct mrg_files){0};
}
