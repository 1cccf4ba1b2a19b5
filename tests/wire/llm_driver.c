// SPDX-License-Identifier: Apache-2.0
/*
 * A program on the model client, for tests in other languages. It reads one JSON command a line on standard
 * input:
 *
 *     {"id": 1, "system": "…", "messages": ["user's", "assistant's", …], "model": {…}, "json": true, "schema": {…},
 *      "max_tokens": 100, "on_cut": "double" | "continue" | "report", "copies": 2000}
 *     {"cancel": 1}
 *     {"memory": true}
 *
 * and writes one JSON line for each call that ends, for each call that does not start, and for each question
 * about memory. With `copies` that many calls are made at once and one line says how they ended together. At
 * the end of standard input what is left is cancelled (on_done writes its lines), and the program ends.
 */
#include "llm/llm.h"

#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "util/clock.h"
#include "util/json.h"
#include "util/list.h"

struct model {
    struct mrg_list node;
    struct mrg_model_config config;
};

struct prompt {
    struct mrg_list node;
    struct mrg_text *text;
};

/* Calls that were made by one command. */
struct batch {
    struct mrg_list node;
    int64_t id;
    bool copies;   /* one line for all */
    unsigned left; /* not ended yet */
    unsigned good;
    unsigned retries;
    uint64_t tokens_in;
    uint64_t slowest;          /* ms */
    struct mrg_llm_call *call; /* the only one, until it ends */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* batches and standard output */
static struct mrg_list batches, models, prompts;
static struct mrg_llm_client *client;

static void write_line(struct mrg_buf *buf)
{
    mrg_buf_append_char(buf, '\n');
    fwrite(buf->data, 1, buf->len, stdout);
    fflush(stdout);
    mrg_buf_done(buf);
}

static void append_member(struct mrg_buf *buf, const char *key, const char *text)
{
    mrg_buf_appendf(buf, ",\"%s\":", key);
    mrg_json_append_string(buf, mrg_slice_of(text));
}

static void write_result(const struct batch *batch, const struct mrg_llm_result *result)
{
    struct mrg_buf buf;
    mrg_buf_init(&buf, SIZE_MAX);
    mrg_buf_appendf(&buf, "{\"id\":%lld,\"code\":%d", (long long)batch->id, (int)result->code);
    append_member(&buf, "name", mrg_err_text(result->code));
    append_member(&buf, "message", result->message ? result->message : "");
    mrg_buf_append_str(&buf, ",\"text\":");
    mrg_json_append_string(&buf, result->text);
    append_member(&buf, "reply_id", result->id);
    append_member(&buf, "model", result->model);
    append_member(&buf, "prompt_hash", result->prompt_hash);
    append_member(&buf, "text_hash", result->text_hash);
    mrg_buf_appendf(&buf,
                    ",\"cut\":%s,\"tokens\":[%llu,%llu,%llu],\"ms\":%llu,\"calls\":%u,\"retries\":%u,"
                    "\"on_time\":%llu}",
                    result->cut ? "true" : "false", (unsigned long long)result->tokens_in,
                    (unsigned long long)result->tokens_cached, (unsigned long long)result->tokens_out,
                    (unsigned long long)result->ms, result->calls, result->retries,
                    (unsigned long long)mrg_clock_ms());
    write_line(&buf);
}

static void write_failure(int64_t id, const struct mrg_error *err)
{
    struct mrg_buf buf;
    mrg_buf_init(&buf, SIZE_MAX);
    mrg_buf_appendf(&buf, "{\"id\":%lld,\"started\":false,\"code\":%d", (long long)id, (int)err->code);
    append_member(&buf, "name", mrg_err_text(err->code));
    append_member(&buf, "message", err->message);
    mrg_buf_append_char(&buf, '}');
    write_line(&buf);
}

static void on_done(void *ctx, const struct mrg_llm_result *result)
{
    struct batch *batch = ctx;
    pthread_mutex_lock(&lock);
    batch->call = NULL;
    batch->left--;
    batch->good += result->code == MRG_ERR_OK;
    batch->retries += result->retries;
    batch->tokens_in += result->tokens_in;
    if (result->ms > batch->slowest)
        batch->slowest = result->ms;
    if (!batch->copies)
        write_result(batch, result);
    if (batch->left == 0) {
        if (batch->copies) {
            struct mrg_buf buf;
            mrg_buf_init(&buf, SIZE_MAX);
            mrg_buf_appendf(&buf,
                            "{\"id\":%lld,\"good\":%u,\"retries\":%u,\"tokens_in\":%llu,\"slowest\":%llu}",
                            (long long)batch->id, batch->good, batch->retries,
                            (unsigned long long)batch->tokens_in, (unsigned long long)batch->slowest);
            write_line(&buf);
        }
        mrg_list_remove(&batch->node);
        free(batch);
    }
    pthread_mutex_unlock(&lock);
}

static char *string_of(struct json_object *object, const char *key)
{
    struct json_object *value = NULL;
    return json_object_object_get_ex(object, key, &value) && value ? mrg_strdup(json_object_get_string(value))
                                                                   : NULL;
}

static int64_t int_of(struct json_object *object, const char *key, int64_t otherwise)
{
    struct json_object *value = NULL;
    return json_object_object_get_ex(object, key, &value) && value ? json_object_get_int64(value) : otherwise;
}

static const struct mrg_model_config *read_model(struct json_object *object)
{
    struct model *model = mrg_zalloc(sizeof(*model));
    struct mrg_model_config *config = &model->config;
    struct json_object *value = NULL;
    _cleanup_free_ char *provider = string_of(object, "provider");
    config->provider =
        provider && strcmp(provider, "anthropic") == 0 ? MRG_PROVIDER_ANTHROPIC : MRG_PROVIDER_OPENAI;
    config->base_url = string_of(object, "base_url");
    config->name = string_of(object, "name");
    config->key_env = string_of(object, "key_env");
    config->has_temperature = json_object_object_get_ex(object, "temperature", &value) && value;
    config->temperature = config->has_temperature ? json_object_get_double(value) : 0;
    config->max_tokens = (int)int_of(object, "max_tokens", 2048);
    config->completion_tokens = int_of(object, "completion_tokens", 0) != 0;
    config->response_format =
        int_of(object, "response_format", 0) ? MRG_RESPONSE_JSON_OBJECT : MRG_RESPONSE_NONE;
    config->timeout_ms = (uint64_t)int_of(object, "timeout_ms", 20000);
    config->retries = (int)int_of(object, "retries", 4);
    config->concurrency = (unsigned)int_of(object, "concurrency", 16);
    mrg_list_append(&models, &model->node);
    return config;
}

/* Equal system prompts are one text, as they are in the server. */
static struct mrg_text *read_system(struct json_object *command)
{
    struct json_object *value = NULL;
    if (!json_object_object_get_ex(command, "system", &value) || !value)
        return NULL;
    struct mrg_slice text = {json_object_get_string(value), (size_t)json_object_get_string_len(value)};
    struct prompt *prompt;
    MRG_LIST_EACH (prompt, &prompts, node) {
        if (mrg_slice_eq(mrg_text_slice(prompt->text), text))
            return prompt->text;
    }
    prompt = mrg_zalloc(sizeof(*prompt));
    prompt->text = mrg_text_new(text.ptr, text.len);
    mrg_list_append(&prompts, &prompt->node);
    return prompt->text;
}

static struct mrg_llm_message *read_messages(struct json_object *command, size_t *ret_count)
{
    struct json_object *list = NULL;
    size_t count = json_object_object_get_ex(command, "messages", &list) ? json_object_array_length(list) : 0;
    struct mrg_llm_message *messages = mrg_zalloc((count + 1) * sizeof(*messages));
    for (size_t i = 0; i < count; i++) {
        struct json_object *text = json_object_array_get_idx(list, i);
        messages[i].role = i % 2 == 0 ? MRG_LLM_USER : MRG_LLM_ASSISTANT;
        messages[i].text =
            mrg_text_new(json_object_get_string(text), (size_t)json_object_get_string_len(text));
    }
    *ret_count = count;
    return messages;
}

static enum mrg_llm_on_cut read_on_cut(struct json_object *command)
{
    _cleanup_free_ char *text = string_of(command, "on_cut");
    if (text && strcmp(text, "continue") == 0)
        return MRG_LLM_CUT_CONTINUE;
    return text && strcmp(text, "report") == 0 ? MRG_LLM_CUT_REPORT : MRG_LLM_CUT_DOUBLE;
}

static void start(struct json_object *command)
{
    struct json_object *model = NULL, *json = NULL;
    json_object_object_get_ex(command, "model", &model);
    json_object_object_get_ex(command, "json", &json);
    _cleanup_free_ char *schema = string_of(command, "schema");
    struct batch *batch = mrg_zalloc(sizeof(*batch));
    batch->id = int_of(command, "id", 0);
    batch->copies = int_of(command, "copies", 0) > 0;
    struct mrg_llm_request request = {
        .model = read_model(model),
        .system = read_system(command),
        .max_tokens = (int)int_of(command, "max_tokens", 0),
        .json = json_object_get_boolean(json),
        .schema = schema,
        .on_cut = read_on_cut(command),
        .on_done = on_done,
        .ctx = batch,
    };
    unsigned count = (unsigned)int_of(command, "copies", 1);
    pthread_mutex_lock(&lock);
    batch->left = count;
    mrg_list_append(&batches, &batch->node);
    for (unsigned i = 0; i < count; i++) {
        struct mrg_error err;
        struct mrg_llm_call *call = NULL;
        _cleanup_free_ struct mrg_llm_message *messages = read_messages(command, &request.message_count);
        request.messages = messages;
        if (mrg_llm_start(client, &request, &call, &err) != MRG_ERR_OK) {
            write_failure(batch->id, &err);
            mrg_list_remove(&batch->node);
            free(batch);
            break;
        }
        batch->call = count == 1 ? call : NULL;
    }
    pthread_mutex_unlock(&lock);
}

static void cancel(int64_t id)
{
    struct batch *batch;
    pthread_mutex_lock(&lock);
    MRG_LIST_EACH (batch, &batches, node) {
        if (batch->id == id && batch->call)
            mrg_llm_cancel(client, batch->call);
    }
    pthread_mutex_unlock(&lock);
}

static void tell_memory(void)
{
    struct mallinfo2 info = mallinfo2();
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    struct mrg_buf buf;
    mrg_buf_init(&buf, SIZE_MAX);
    pthread_mutex_lock(&lock);
    mrg_buf_appendf(&buf, "{\"heap\":%zu,\"peak_kib\":%ld,\"cpu_ms\":%ld}", info.uordblks + info.hblkhd,
                    usage.ru_maxrss,
                    (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000 +
                        (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1000);
    write_line(&buf);
    pthread_mutex_unlock(&lock);
}

static void obey(struct mrg_slice line)
{
    struct json_object *command = NULL, *value = NULL;
    struct mrg_error err;
    if (mrg_json_parse(line, &command, &err) != MRG_ERR_OK) {
        fprintf(stderr, "llm_driver: %s\n", err.message);
        return;
    }
    if (json_object_object_get_ex(command, "cancel", &value))
        cancel(json_object_get_int64(value));
    else if (json_object_object_get_ex(command, "memory", &value))
        tell_memory();
    else
        start(command);
    json_object_put(command);
}

static void free_all(void)
{
    struct model *model;
    struct prompt *prompt;
    MRG_LIST_EACH (model, &models, node) {
        free(model->config.base_url);
        free(model->config.name);
        free(model->config.key_env);
        free(model);
    }
    MRG_LIST_EACH (prompt, &prompts, node) {
        mrg_text_unref(prompt->text);
        free(prompt);
    }
}

int main(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    mrg_list_init(&batches);
    mrg_list_init(&models);
    mrg_list_init(&prompts);
    struct mrg_error err;
    if (mrg_llm_client_new(&client, &err) != MRG_ERR_OK) {
        fprintf(stderr, "llm_driver: %s\n", err.message);
        return 1;
    }
    char *line = NULL;
    size_t room = 0;
    ssize_t len;
    while ((len = getline(&line, &room, stdin)) > 0)
        obey((struct mrg_slice){line, (size_t)len});
    free(line);
    mrg_llm_client_free(client);
    free_all();
    return 0;
}
