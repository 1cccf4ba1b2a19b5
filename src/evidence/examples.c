// SPDX-License-Identifier: Apache-2.0
#include "evidence/examples.h"

#include <stdio.h>
#include <string.h>

#include "core/limits.h"
#include "evidence/example_redact.h"
#include "util/slurp.h"
#include "evidence/templates.h"
#include "util/json.h"
#include "util/uri.h"

#define MAX_BODY     (16u << 10) /* bytes of a body that is shown */
#define MAX_EXAMPLES 1000u       /* kept while reading, before one an endpoint is chosen */

/* Where in a checked line things are. */
struct parts {
    struct mrg_slice request; /* object with method and path */
    struct mrg_slice reply;   /* object with status and body */
    bool flat;                /* both are the line itself */
};

static bool first_member(struct mrg_slice object, const char *const *keys, struct mrg_slice *ret_value)
{
    for (; *keys; keys++) {
        if (mrg_json_member(object, *keys, ret_value))
            return true;
    }
    return false;
}

#define MEMBER(object, value, ...) first_member((object), (const char *const[]){__VA_ARGS__, NULL}, (value))

static struct parts parts_of(struct mrg_slice line)
{
    struct parts parts = {line, line, true};
    if (MEMBER(line, &parts.request, "req", "request") &&
        MEMBER(line, &parts.reply, "rep", "reply", "response"))
        parts.flat = false;
    else
        parts.request = parts.reply = line;
    return parts;
}

/* A string member's content; NULL when there is none. */
static char *text_member(struct mrg_slice object, const char *key)
{
    struct mrg_slice value;
    if (!mrg_json_member(object, key, &value) || value.len < 2 || value.ptr[0] != '"')
        return NULL;
    struct mrg_buf buf;
    mrg_buf_init(&buf, value.len);
    mrg_json_unescape(&buf, value);
    return mrg_buf_take(&buf, NULL);
}

/* A member as compact JSON text; NULL when there is none. */
static char *json_member(struct mrg_slice object, const char *const *keys)
{
    struct mrg_slice value;
    if (!first_member(object, keys, &value))
        return NULL;
    struct mrg_buf buf;
    mrg_buf_init(&buf, value.len);
    mrg_json_minify(&buf, value);
    return mrg_buf_take(&buf, NULL);
}

#define JSON_MEMBER(object, ...) json_member((object), (const char *const[]){__VA_ARGS__, NULL})

static void example_done(struct mrg_example *example)
{
    free(example->method);
    free(example->path);
    free(example->template);
    free(example->request);
    free(example->headers);
    free(example->body);
}

static bool is_plain(const char *text)
{
    for (; *text; text++) {
        if ((unsigned char)*text <= 0x20 || *text == 0x7f)
            return false;
    }
    return true;
}

/* Takes *example whatever it returns. NULL, or why not. */
static const char *add_example(struct mrg_examples *examples, struct mrg_example *example)
{
    const char *why = NULL;
    if (!example->method || !example->path || !is_plain(example->method) || !is_plain(example->path))
        why = "expected \"method\" and \"path\"";
    else if (example->status < 100 || example->status > 999)
        why = "\"status\" must be an integer from 100 to 999";
    else if ((example->body && strlen(example->body) > MAX_BODY) ||
             (example->request && strlen(example->request) > MAX_BODY))
        why = "a body larger than 16 KiB";
    else if (examples->count >= MAX_EXAMPLES)
        why = "more than 1,000 examples";
    if (why) {
        example_done(example);
        return why;
    }
    mrg_grow((void **)&examples->items, &examples->capacity, examples->count, sizeof(*examples->items));
    examples->items[examples->count++] = *example;
    return NULL;
}

static const char *read_example(struct mrg_examples *examples, struct mrg_slice line)
{
    struct parts parts = parts_of(line);
    struct mrg_slice status;
    struct mrg_example example = {.method = text_member(parts.request, "method"),
                                  .path = text_member(parts.request, "path")};
    example.status = 200;
    if (mrg_json_member(parts.reply, "status", &status)) {
        _cleanup_free_ char *number = mrg_strndup(status.ptr, status.len);
        example.status =
            strspn(number, "0123456789") == 3 && strlen(number) == 3 ? (int)strtol(number, NULL, 10) : 0;
    }
    example.request =
        parts.flat ? JSON_MEMBER(line, "request_body") : JSON_MEMBER(parts.request, "body", "body_text");
    example.headers = JSON_MEMBER(parts.reply, "headers");
    if (parts.flat)
        mrg_freep(&example.headers); /* of a flat line: nobody knows whose they are */
    example.body = JSON_MEMBER(parts.reply, "body", "body_text");
    return add_example(examples, &example);
}

static void read_line(struct mrg_file *file, struct mrg_slice line, size_t number,
                      struct mrg_examples *examples, struct mrg_drops *drops)
{
    struct mrg_error err;
    bool blank = true;
    for (size_t i = 0; i < line.len && blank; i++)
        blank = strchr(" \t\r", line.ptr[i]) && line.ptr[i] != '\0';
    if (blank)
        return;
    const char *why = mrg_json_check(line, &err) == MRG_ERR_OK ? read_example(examples, line) : err.message;
    if (why) {
        _cleanup_free_ char *what = mrg_asprintf("%s line %zu", file->name, number);
        mrg_drops_add(drops, "examples", what, "%s", why);
    }
}

/* One document that is a list, or lines. */
static void read_text(struct mrg_file *file, struct mrg_slice text, struct mrg_examples *examples,
                      struct mrg_drops *drops)
{
    bool whole = mrg_json_check(text, NULL) == MRG_ERR_OK;
    struct json_object *tree = NULL;
    if (whole && mrg_json_parse(text, &tree, NULL) == MRG_ERR_OK &&
        json_object_is_type(tree, json_type_array)) {
        for (size_t i = 0; i < json_object_array_length(tree); i++) {
            struct mrg_buf one;
            mrg_buf_init(&one, MRG_MAX_EVIDENCE_FILE);
            mrg_json_append_tree(&one, json_object_array_get_idx(tree, i));
            read_line(file, mrg_buf_slice(&one), i + 1, examples, drops);
            mrg_buf_done(&one);
        }
        json_object_put(tree);
        return;
    }
    json_object_put(tree);
    if (whole) {
        read_line(file, text, 1, examples, drops);
        return;
    }
    size_t number = 1;
    for (const char *p = text.ptr, *end = p + text.len; p < end; number++) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        const char *stop = newline ? newline : end;
        read_line(file, (struct mrg_slice){p, (size_t)(stop - p)}, number, examples, drops);
        p = stop + 1;
    }
}

static struct mrg_slice path_only(const char *path)
{
    struct mrg_slice bare, query;
    mrg_uri_split(mrg_slice_of(path), &bare, &query);
    return bare;
}

static bool is_good(const struct mrg_example *example)
{
    return example->status >= 200 && example->status < 300;
}

/* Keeps one an endpoint, at the place of its first. */
static void choose(struct mrg_examples *examples)
{
    struct mrg_templates *templates = mrg_templates_new();
    for (size_t i = 0; i < examples->count; i++)
        mrg_templates_add(templates, path_only(examples->items[i].path));
    mrg_templates_settle(templates);
    size_t kept = 0;
    for (size_t i = 0; i < examples->count; i++) {
        struct mrg_example example = examples->items[i];
        example.template = mrg_templates_of(templates, path_only(example.path));
        size_t k = 0;
        while (k < kept && (strcmp(examples->items[k].method, example.method) != 0 ||
                            strcmp(examples->items[k].template, example.template) != 0))
            k++;
        if (k == kept) {
            examples->items[kept++] = example;
        } else {
            bool better = is_good(&example) && !is_good(&examples->items[k]);
            struct mrg_example worse = better ? examples->items[k] : example;
            if (better)
                examples->items[k] = example;
            example_done(&worse);
        }
    }
    examples->count = kept;
    mrg_templates_free(templates);
}

enum mrg_err mrg_examples_read(struct mrg_files *files, const struct mrg_strings *redact,
                               struct mrg_examples *examples, struct mrg_drops *drops, struct mrg_error *err)
{
    enum mrg_err code = MRG_ERR_OK;
    for (size_t i = 0; i < files->count && code == MRG_ERR_OK; i++) {
        struct mrg_file *file = &files->items[i];
        _cleanup_free_ char *data = NULL;
        size_t len = 0;
        struct mrg_error why;
        code = mrg_slurp(file->path, MRG_MAX_EVIDENCE_FILE, &data, &len, &why);
        if (code != MRG_ERR_OK) {
            (void)mrg_error_set(err, code, "evidence.examples: %s: %s", file->path, why.message);
            continue;
        }
        mrg_sha256_hex(data, len, file->hash);
        read_text(file, (struct mrg_slice){data, len}, examples, drops);
    }
    choose(examples);
    mrg_examples_redact(examples, redact);
    return code;
}

void mrg_examples_done(struct mrg_examples *examples)
{
    for (size_t i = 0; i < examples->count; i++)
        example_done(&examples->items[i]);
    free(examples->items);
    *examples = (struct mrg_examples){0};
}

void mrg_example_append(struct mrg_buf *buf, const struct mrg_example *example)
{
    mrg_buf_appendf(buf, "%s %s\n", example->method, example->path);
    if (example->request)
        mrg_buf_appendf(buf, "request body: %s\n", example->request);
    mrg_buf_appendf(buf, "reply: %d%s%s\n", example->status, example->headers ? " headers: " : "",
                    example->headers ? example->headers : "");
    if (example->body)
        mrg_buf_appendf(buf, "reply body: %s\n", example->body);
}
