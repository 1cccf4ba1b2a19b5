// SPDX-License-Identifier: Apache-2.0
#include "llm/wire.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "util/json.h"
#include "util/utf8.h"

#define MAX_LINE     300u /* bytes of a provider's words in a message of ours: it may echo the prompt */
#define MAX_READ     (64u << 10) /* bytes of an error body that are looked at */
#define MIN_KEY      4u          /* shorter ones would mask half of every sentence */
#define MIN_KEY_PART 12u         /* so much of a key's beginning is masked as well */

void mrg_llm_append_masked(struct mrg_buf *buf, struct mrg_slice text, const char *key)
{
    size_t key_len = key ? strlen(key) : 0;
    size_t least = key_len < MIN_KEY_PART ? key_len : MIN_KEY_PART;
    for (size_t i = 0; i < text.len;) {
        size_t same = 0;
        while (key_len >= MIN_KEY && same < key_len && i + same < text.len && text.ptr[i + same] == key[same])
            same++;
        if (same > 0 && same >= least) {
            mrg_buf_append_str(buf, "[key]");
            i += same;
        } else {
            mrg_buf_append_char(buf, text.ptr[i++]);
        }
    }
}

static bool is_space(char c)
{
    return (unsigned char)c <= ' ' || c == 0x7f;
}

char *mrg_llm_one_line(struct mrg_slice text, const char *key)
{
    struct mrg_buf masked, line;
    mrg_buf_init(&masked, SIZE_MAX);
    mrg_buf_init(&line, SIZE_MAX);
    if (text.len > MAX_READ)
        text.len = MAX_READ;
    mrg_llm_append_masked(&masked, text, key);
    const char *end = masked.data + masked.len;
    for (const char *p = masked.data; p && p < end;) {
        size_t len = mrg_utf8_len(p, end);
        if (len == 1 && is_space(*p)) {
            if (line.len > 0 && line.data[line.len - 1] != ' ')
                mrg_buf_append_char(&line, ' ');
        } else if (len > 0) {
            mrg_buf_append(&line, p, len);
        }
        p += len > 0 ? len : 1;
    }
    mrg_buf_done(&masked);
    size_t len = mrg_utf8_cut(mrg_buf_slice(&line), MAX_LINE);
    bool cut = len < line.len;
    while (len > 0 && (line.data[len - 1] == ' ' || (!cut && line.data[len - 1] == '.')))
        len--;
    char *result = mrg_asprintf("%.*s%s", (int)len, line.data ? line.data : "", cut ? "…" : "");
    mrg_buf_done(&line);
    return result;
}

/* The title, else the text between the tags. */
static void append_html_text(struct mrg_buf *buf, const char *html)
{
    const char *title = strcasestr(html, "<title");
    const char *start = title ? strchr(title, '>') : NULL;
    const char *end = start ? strcasestr(start, "</title") : NULL;
    if (end && end > start + 1) {
        mrg_buf_append(buf, start + 1, (size_t)(end - start - 1));
        return;
    }
    bool tag = false;
    for (const char *p = html; *p; p++) {
        if (*p == '<')
            tag = true;
        else if (*p == '>' && tag)
            tag = false;
        else if (!tag)
            mrg_buf_append_char(buf, *p);
        if (tag && *p == '<')
            mrg_buf_append_char(buf, ' ');
    }
}

/* FastAPI's: a string, or a list of objects with `msg`. */
static const char *detail_of(struct json_object *root)
{
    struct json_object *list = mrg_llm_member(root, "detail", json_type_array);
    if (list && json_object_array_length(list) > 0)
        return mrg_llm_string(json_object_array_get_idx(list, 0), "msg");
    return mrg_llm_string(root, "detail");
}

static const char *first_of(const char *a, const char *b, const char *c)
{
    return a[0] != '\0' ? a : b[0] != '\0' ? b : c;
}

static void read_object(struct json_object *root, const char *key, struct mrg_llm_trouble *trouble)
{
    struct json_object *error = mrg_llm_member(root, "error", json_type_object);
    const char *message = first_of(mrg_llm_string(error, "message"), mrg_llm_string(root, "error"),
                                   first_of(mrg_llm_string(root, "message"), detail_of(root), ""));
    trouble->message = mrg_llm_one_line(mrg_slice_of(message), key);
    trouble->type = mrg_strdup(mrg_llm_string(error, "type"));
    trouble->code = mrg_strdup(mrg_llm_string(error, "code"));
    trouble->status = (int64_t)mrg_llm_count(error, "code");
    trouble->prompt_tokens = mrg_llm_count(error, "n_prompt_tokens");
    trouble->context_tokens = mrg_llm_count(error, "n_ctx");
}

static bool read_json(struct mrg_slice body, const char *key, struct mrg_llm_trouble *trouble)
{
    struct json_object *root = NULL;
    if (mrg_json_parse(body, &root, NULL) != MRG_ERR_OK)
        return false;
    /* Gemini's OpenAI endpoint wraps the object in a list. */
    struct json_object *object = root;
    if (json_object_is_type(root, json_type_array) && json_object_array_length(root) > 0)
        object = json_object_array_get_idx(root, 0);
    bool good = json_object_is_type(object, json_type_object);
    if (good)
        read_object(object, key, trouble);
    json_object_put(root);
    return good;
}

void mrg_llm_trouble_read(struct mrg_slice body, const char *key, struct mrg_llm_trouble *ret_trouble)
{
    *ret_trouble = (struct mrg_llm_trouble){0};
    if (read_json(body, key, ret_trouble))
        return;
    struct mrg_buf text;
    mrg_buf_init(&text, MAX_READ);
    _cleanup_free_ char *head = mrg_strndup(body.ptr, body.len < MAX_READ ? body.len : MAX_READ);
    const char *start = head + strspn(head, " \t\r\n");
    if (*start == '<')
        append_html_text(&text, start);
    else
        mrg_buf_append_str(&text, start);
    ret_trouble->message = mrg_llm_one_line(mrg_buf_slice(&text), key);
    ret_trouble->type = mrg_strdup("");
    ret_trouble->code = mrg_strdup("");
    mrg_buf_done(&text);
}

void mrg_llm_trouble_done(struct mrg_llm_trouble *trouble)
{
    free(trouble->message);
    free(trouble->type);
    free(trouble->code);
    *trouble = (struct mrg_llm_trouble){0};
}
