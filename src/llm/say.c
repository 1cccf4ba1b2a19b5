// SPDX-License-Identifier: Apache-2.0
#include "llm/say.h"

#include <string.h>

#include "core/limits.h"

enum mrg_err mrg_llm_code_of_fault(enum mrg_llm_fault fault)
{
    switch (fault) {
    case MRG_LLM_FAULT_TIMEOUT:
        return MRG_ERR_TIMEOUT;
    case MRG_LLM_FAULT_SIZE:
        return MRG_ERR_TOO_LARGE;
    case MRG_LLM_FAULT_SETUP:
        return MRG_ERR_INVALID;
    default:
        return MRG_ERR_UNAVAILABLE;
    }
}

static bool is_over_context(const struct mrg_llm_trouble *trouble)
{
    return strcmp(trouble->type, "exceed_context_size_error") == 0 ||
           strcmp(trouble->code, "context_length_exceeded") == 0 ||
           strncmp(trouble->message, "prompt is too long", 18) == 0;
}

enum mrg_err mrg_llm_code_of_status(long status, const struct mrg_llm_trouble *trouble)
{
    if (status == 413 || is_over_context(trouble))
        return MRG_ERR_TOO_LARGE;
    return mrg_llm_retry_status(status, trouble) ? MRG_ERR_UNAVAILABLE : MRG_ERR_INVALID;
}

/* base_url without a user name and password. */
static void append_place(struct mrg_buf *buf, const char *base_url, const char *key)
{
    const char *rest = strstr(base_url, "://");
    rest = rest ? rest + 3 : base_url;
    size_t authority = strcspn(rest, "/?#");
    mrg_buf_append(buf, base_url, (size_t)(rest - base_url));
    for (size_t i = authority; i-- > 0;) {
        if (rest[i] == '@') {
            rest += i + 1;
            break;
        }
    }
    mrg_llm_append_masked(buf, mrg_slice_of(rest), key);
}

char *mrg_llm_say_fault(const struct mrg_model_config *model, const char *key,
                        const struct mrg_llm_attempt *attempt)
{
    static const char *const what[][2] = {
        [MRG_LLM_FAULT_NONE] = {"", ""},
        [MRG_LLM_FAULT_CONNECT] = {"the provider at ", " could not be reached"},
        [MRG_LLM_FAULT_LOST] = {"the connection to the provider at ", " was lost"},
        [MRG_LLM_FAULT_TIMEOUT] = {"the provider at ", " did not answer within "},
        [MRG_LLM_FAULT_TLS] = {"the certificate of the provider at ", " is not accepted"},
        [MRG_LLM_FAULT_SIZE] = {"the reply of the provider at ", " is larger than "},
        [MRG_LLM_FAULT_SETUP] = {"no request can be sent to ", ""},
    };
    struct mrg_buf buf;
    mrg_buf_init(&buf, SIZE_MAX);
    mrg_buf_append_str(&buf, what[attempt->fault][0]);
    append_place(&buf, model->base_url, key);
    mrg_buf_append_str(&buf, what[attempt->fault][1]);
    if (attempt->fault == MRG_LLM_FAULT_TIMEOUT) {
        mrg_buf_appendf(&buf, "%g s", (double)model->timeout_ms / 1000);
    } else if (attempt->fault == MRG_LLM_FAULT_SIZE) {
        mrg_buf_appendf(&buf, "%u bytes", MRG_MAX_LLM_REPLY);
    } else {
        _cleanup_free_ char *detail = mrg_llm_one_line(mrg_slice_of(attempt->detail), key);
        mrg_buf_appendf(&buf, "%s%s", detail[0] ? ": " : "", detail);
    }
    return mrg_buf_take(&buf, NULL);
}

/* What to look at, for the errors that a configuration brings about. */
static void append_advice(struct mrg_buf *buf, const struct mrg_model_config *model, const char *key,
                          long status)
{
    if (status == 401 || status == 403) {
        if (!model->key_env)
            mrg_buf_append_str(buf, " (no key is sent: model.key_env is not set)");
        else if (!key || key[0] == '\0')
            mrg_buf_appendf(buf, " (the variable %s is empty)", model->key_env);
        else
            mrg_buf_appendf(buf, " (check the variable %s)", model->key_env);
    } else if (status == 404 || status == 405) {
        mrg_buf_append_str(buf, " (check model.base_url and model.name)");
    } else if (status >= 300 && status <= 399) {
        mrg_buf_append_str(buf, " (redirects are not followed: check model.base_url)");
    }
}

char *mrg_llm_say_status(const struct mrg_model_config *model, const char *key, long status,
                         const struct mrg_llm_trouble *trouble)
{
    struct mrg_buf buf;
    mrg_buf_init(&buf, SIZE_MAX);
    if (trouble->prompt_tokens > 0 && trouble->context_tokens > 0)
        mrg_buf_appendf(&buf, "the prompt has %llu tokens and the model's context holds %llu: ",
                        (unsigned long long)trouble->prompt_tokens,
                        (unsigned long long)trouble->context_tokens);
    mrg_buf_appendf(&buf, "the provider answered %ld", status);
    if (trouble->message[0] != '\0')
        mrg_buf_appendf(&buf, ": %s", trouble->message);
    else
        mrg_buf_append_str(&buf, " and said no more");
    append_advice(&buf, model, key, status);
    return mrg_buf_take(&buf, NULL);
}
