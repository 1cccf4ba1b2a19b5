// SPDX-License-Identifier: Apache-2.0
#include <limits.h>

#include "util/json_int.h"

/*
 * json-c's own tokener would lose what must stay: integers beyond 64 bits saturate, keys end at \u0000. The
 * check has been made when it would begin, so the tree is built here.
 */
struct build {
    struct mrg_slice text; /* all of it */
    const char *p;         /* next byte */
    const char *end;       /* of text */
    struct mrg_buf key;    /* the key that is being added */
    const char *bad_key;   /* a key that json-c cannot hold, or NULL */
};

static struct json_object *build_value(struct build *b);

/* NULL would read as null. */
static struct json_object *must(struct json_object *made)
{
    MRG_ASSERT(made);
    return made;
}

static struct json_object *build_string(struct build *b)
{
    bool escaped;
    const char *past = mrg_json_skip_string(b->p, b->end, &escaped);
    struct mrg_slice raw = {b->p + 1, (size_t)(past - b->p) - 2};
    b->p = past;
    struct mrg_json_content content;
    mrg_json_content_init(&content, raw, escaped);
    struct json_object *string = json_object_new_string_len(content.text.ptr, (int)content.text.len);
    mrg_json_content_done(&content);
    return must(string);
}

static struct json_object *new_double(struct mrg_slice number)
{
    _cleanup_free_ char *spelled = mrg_strndup(number.ptr, number.len);
    return must(json_object_new_double_s(strtod(spelled, NULL), spelled));
}

static struct json_object *new_integer(struct mrg_slice number)
{
    bool negative = number.ptr[0] == '-';
    uint64_t value = 0;
    for (size_t i = negative; i < number.len; i++) {
        if (__builtin_mul_overflow(value, 10u, &value) ||
            __builtin_add_overflow(value, (uint64_t)(number.ptr[i] - '0'), &value))
            return new_double(number);
    }
    if (!negative)
        return must(value > INT64_MAX ? json_object_new_uint64(value)
                                      : json_object_new_int64((int64_t)value));
    if (value > (uint64_t)INT64_MAX + 1)
        return new_double(number);
    return must(json_object_new_int64((int64_t)(0 - value)));
}

static struct json_object *build_scalar(struct build *b)
{
    const char *start = b->p;
    b->p = mrg_json_skip_scalar(start, b->end);
    struct mrg_slice word = {start, (size_t)(b->p - start)};
    if (*start == 'n')
        return NULL;
    if (*start == 't' || *start == 'f')
        return must(json_object_new_boolean(*start == 't'));
    for (size_t i = 0; i < word.len; i++) {
        if (word.ptr[i] == '.' || word.ptr[i] == 'e' || word.ptr[i] == 'E')
            return new_double(word);
    }
    return new_integer(word);
}

static void add_member(struct build *b, struct json_object *object, const char *key,
                       struct json_object *value)
{
    const char *past = mrg_json_skip_string(key, b->end, NULL);
    mrg_buf_clear(&b->key);
    mrg_json_unescape(&b->key, (struct mrg_slice){key, (size_t)(past - key)});
    const char *name = mrg_buf_slice(&b->key).ptr;
    if (strlen(name) != b->key.len) {
        b->bad_key = key;
        json_object_put(value);
        return;
    }
    int failed = json_object_object_add_ex(object, name, value, JSON_C_OBJECT_ADD_KEY_IS_NEW);
    MRG_ASSERT(!failed);
}

/* One member or item, whatever stands before it passed over. False at the closing bracket. */
static bool build_member(struct build *b, struct json_object *container, bool object)
{
    b->p = mrg_json_skip_space(b->p, b->end);
    if (*b->p == ',')
        b->p = mrg_json_skip_space(b->p + 1, b->end);
    if (*b->p == '}' || *b->p == ']')
        return false;
    if (!object) {
        int failed = json_object_array_add(container, build_value(b));
        MRG_ASSERT(!failed);
        return true;
    }
    const char *key = b->p;
    b->p = mrg_json_skip_space(mrg_json_skip_string(key, b->end, NULL), b->end) + 1;
    add_member(b, container, key, build_value(b));
    return true;
}

/* Calls itself at most MRG_JSON_DEPTH deep: the text was checked. */
static struct json_object *build_value(struct build *b)
{
    b->p = mrg_json_skip_space(b->p, b->end);
    if (*b->p == '"')
        return build_string(b);
    if (*b->p != '{' && *b->p != '[')
        return build_scalar(b);
    bool object = *b->p == '{';
    struct json_object *container = must(object ? json_object_new_object() : json_object_new_array());
    b->p++;
    while (!b->bad_key && build_member(b, container, object)) {
    }
    b->p++;
    return container;
}

enum mrg_err mrg_json_parse(struct mrg_slice text, struct json_object **ret_tree, struct mrg_error *err)
{
    if (text.len > INT_MAX)
        return mrg_error_set(err, MRG_ERR_TOO_LARGE, "expected at most %d bytes of JSON", INT_MAX);
    enum mrg_err code = mrg_json_check(text, err);
    if (code)
        return code;
    struct build b = {.text = text, .p = text.ptr, .end = text.ptr + text.len};
    mrg_buf_init(&b.key, text.len);
    struct json_object *tree = build_value(&b);
    mrg_buf_done(&b.key);
    if (b.bad_key) {
        size_t line, column;
        json_object_put(tree);
        mrg_json_place(text, b.bad_key, &line, &column);
        return mrg_error_set(err, MRG_ERR_UNSUPPORTED,
                             "line %zu, column %zu: a key that holds \\u0000; expected none in it", line,
                             column);
    }
    *ret_tree = tree;
    return MRG_ERR_OK;
}
