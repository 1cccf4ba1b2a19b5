// SPDX-License-Identifier: Apache-2.0
/*
 * Wire: the providers' two formats behind one ops table, and what reading them has in common.
 *
 * A body is written in two pieces: a head (model and system prompt), which is the same for many calls and
 * shared by them, and a tail. No network here, no retries. json-c trees live only inside the readers. Thread:
 * any; no state.
 */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

#include "llm/llm.h"
#include "util/buf.h"

/* What the tail of a body is made from; all borrowed. */
struct mrg_llm_body {
    const struct mrg_model_config *model;
    const struct mrg_llm_message *messages;
    size_t count;
    int max_tokens;
    bool json;          /* ask for JSON where model->response_format says so */
    const char *schema; /* its schema, or NULL */
};

/* What a reply says. */
struct mrg_llm_reply {
    struct mrg_buf text;
    char *id;           /* "" when there is none; at most 200 bytes, control characters replaced */
    char *model;        /* the same */
    bool cut;           /* ended by length */
    char *withheld;     /* NULL; or why there is no reply: content_filter, refusal … */
    uint64_t tokens_in; /* cached ones included; 0 when it does not say */
    uint64_t tokens_cached;
    uint64_t tokens_out;
};

/* What an error body says. */
struct mrg_llm_trouble {
    char *message; /* one line, without key and final full stop; "" when it says nothing */
    char *type;    /* the provider's names of the error; "" */
    char *code;
    int64_t status;         /* an HTTP status inside the body; 0: none */
    uint64_t prompt_tokens; /* of a prompt over the context; 0: not said */
    uint64_t context_tokens;
};

struct mrg_llm_wire_ops {
    const char *name;
    const char *const *headers; /* further ones, NULL at the end */
    const char *key_header;     /* what stands before the key */
    /* The URL's rest behind base_url. */
    const char *(*path)(const char *base_url);
    void (*append_head)(struct mrg_buf *buf, const char *model, const struct mrg_text *system);
    void (*append_tail)(struct mrg_buf *buf, const struct mrg_llm_body *body);
    /* `root` is the reply's tree. INTERNAL when it is not of the format; *reply is initialised and the
     * caller's. */
    enum mrg_err (*read)(struct json_object *root, struct mrg_llm_reply *reply, struct mrg_error *err);
};

extern const struct mrg_llm_wire_ops mrg_llm_openai;
extern const struct mrg_llm_wire_ops mrg_llm_anthropic;
const struct mrg_llm_wire_ops *mrg_llm_wire(enum mrg_provider provider);

/* Reads a 2xx body. On failure (INTERNAL) *ret_reply is untouched and err says what is wrong with it. */
enum mrg_err mrg_llm_reply_read(const struct mrg_llm_wire_ops *wire, struct mrg_slice body,
                                struct mrg_llm_reply *ret_reply, struct mrg_error *err);
void mrg_llm_reply_done(struct mrg_llm_reply *reply);

/* Reads an error body of any kind: either format, llama.cpp's, other JSON, HTML, text, nothing. `key` (or
 * NULL) is masked in what it says. */
void mrg_llm_trouble_read(struct mrg_slice body, const char *key, struct mrg_llm_trouble *ret_trouble);
void mrg_llm_trouble_done(struct mrg_llm_trouble *trouble);

/* One line of at most some 300 bytes made of foreign text: white space and control characters become single
 * spaces, wrong bytes go, the key is masked, and the final full stop is dropped. */
char *mrg_llm_one_line(struct mrg_slice text, const char *key);
/* Appends text with every occurrence of the key, and of long beginnings of it, as `[key]`. */
void mrg_llm_append_masked(struct mrg_buf *buf, struct mrg_slice text, const char *key);

/* For the readers: NULL, "" or 0 when there is no such member of that type. Borrowed from the tree. */
struct json_object *mrg_llm_member(struct json_object *object, const char *key, enum json_type type);
const char *mrg_llm_string(struct json_object *object, const char *key);
uint64_t mrg_llm_count(struct json_object *object, const char *key);
/* Appends a message's content: a string, or a list of parts of which the texts count; anything else is
 * empty. */
void mrg_llm_append_content(struct mrg_buf *buf, struct json_object *content);
