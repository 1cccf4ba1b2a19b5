// SPDX-License-Identifier: Apache-2.0
#include "core/config_table.h"

#include <string.h>

#include "core/config.h"
#include "core/limits.h"

#define ROOT(member)       .scope = MRG_SCOPE_ROOT, .offset = offsetof(struct mrg_config, member)
#define MODEL(member)      .scope = MRG_SCOPE_MODEL, .offset = offsetof(struct mrg_model_config, member)
#define MODEL_FLAG(member) .has_flag = true, .flag = offsetof(struct mrg_model_config, member)
#define DEP(member)        .scope = MRG_SCOPE_DEPENDENCY, .offset = offsetof(struct mrg_dependency_config, member)
#define SECTION(where, name, text)                                                                           \
    {                                                                                                        \
        .scope = where, .offset = MRG_OPTION_NOWHERE, .path = name, .type = MRG_OPTION_SECTION, .help = text \
    }
#define LATER(where, name, now)                                                                              \
    {                                                                                                        \
        .scope = where, .offset = MRG_OPTION_NOWHERE, .path = name, .type = MRG_OPTION_LATER, .help = now    \
    }
#define SECOND 1000
#define HOUR   (3600 * SECOND)

const struct mrg_option mrg_options[] = {
    SECTION(MRG_SCOPE_ROOT, "control", "Control verbs for all dependencies, and /metrics"),
    {ROOT(control_listen), .path = "control.listen", .type = MRG_OPTION_ADDRESS, .example = "127.0.0.1:8088",
     .help = "Address of the control verbs for all dependencies and of /metrics; port 0 takes a free one"},
    {ROOT(control_hosts), .path = "control.hosts", .type = MRG_OPTION_HOST, .list = true,
     .example = "[mirage.test]",
     .help = "Names that a Host header may have at control verbs, beside loopback"},
    {ROOT(control_token_env), .path = "control.token_env", .type = MRG_OPTION_ENV, .example = "CONTROL_TOKEN",
     .help = "Environment variable that holds the token of the control verbs; required off loopback"},
    SECTION(MRG_SCOPE_ROOT, "listen", "Shared addresses"),
    {ROOT(listen_http), .path = "listen.http", .type = MRG_OPTION_ADDRESS, .example = "127.0.0.1:8080",
     .help = "HTTP address shared by the dependencies that have a prefix"},
    LATER(MRG_SCOPE_ROOT, "listen.grpc", "this one serves http"),
    LATER(MRG_SCOPE_ROOT, "listen.zmq", "this one serves http"),

    {ROOT(model), .path = "model", .type = MRG_OPTION_MODEL,
     .help = "The language model; defaults for all dependencies, each may override field by field"},
    {MODEL(provider), .path = "provider", .type = MRG_OPTION_ENUM, .values = "openai|anthropic",
     .fallback = "openai", .example = "anthropic", .live = true,
     .help = "The wire format: chat completions of OpenAI, or messages of Anthropic"},
    {MODEL(base_url), .path = "base_url", .type = MRG_OPTION_URL, .example = "https://api.anthropic.com",
     .note = "https://api.openai.com/v1 or https://api.anthropic.com, by provider",
     .help = "Where the provider is; /chat/completions or /v1/messages is appended"},
    {MODEL(name), .path = "name", .type = MRG_OPTION_STRING, .example = "claude-sonnet-4-5", .live = true,
     .help = "The model's name; required where a chain of engines has llm, but for replay"},
    {MODEL(key_env), .path = "key_env", .type = MRG_OPTION_ENV, .example = "ANTHROPIC_API_KEY", .live = true,
     .note = "OPENAI_API_KEY or ANTHROPIC_API_KEY at the provider's own base_url, else none",
     .help = "Environment variable that holds the key (never the key itself); not needed to replay"},
    {MODEL(temperature), .path = "temperature", .type = MRG_OPTION_NUMBER, .min = 0, .max = 2,
     .fallback = "0.1", MODEL_FLAG(has_temperature),
     .help = "Sampling temperature, or none where a model refuses it"},
    {MODEL(max_tokens), .path = "max_tokens", .type = MRG_OPTION_INT, .min = 1, .max = MRG_MAX_TOKENS_CEILING,
     .fallback = "2048", MODEL_FLAG(completion_tokens), .help = "The most tokens of one reply"},
    {MODEL(max_tokens), .path = "max_completion_tokens", .type = MRG_OPTION_INT, .min = 1,
     .max = MRG_MAX_TOKENS_CEILING, MODEL_FLAG(completion_tokens), .flag_value = true, .example = "2048",
     .help = "The same, sent under this name as reasoning models want it; in place of max_tokens"},
    {MODEL(response_format), .path = "response_format", .type = MRG_OPTION_ENUM, .values = "none|json_object",
     .fallback = "none", .help = "JSON mode of the provider openai"},
    {MODEL(timeout_ms), .path = "timeout", .type = MRG_OPTION_DURATION, .min = 1, .max = HOUR,
     .fallback = "60s", .help = "How long one attempt may take as a whole"},
    {MODEL(retries), .path = "retries", .type = MRG_OPTION_INT, .min = 0, .max = MRG_MAX_LLM_RETRIES,
     .fallback = "4", .help = "Attempts after the first, on 429, 5xx and failed connections"},
    {MODEL(concurrency), .path = "concurrency", .type = MRG_OPTION_INT, .min = 1, .max = 10000,
     .fallback = "16", .help = "Requests in flight at one time to this endpoint and model"},
    LATER(MRG_SCOPE_ROOT, "models", "this one has a single `model`, which a dependency may override"),
    LATER(MRG_SCOPE_ROOT, "judges", "this one has a single `model`, which a dependency may override"),

    SECTION(MRG_SCOPE_ROOT, "limits", "Bounds of what callers may send and how long they may wait"),
    {ROOT(limits.body), .path = "limits.body", .type = MRG_OPTION_SIZE, .min = 1, .max = MRG_MAX_BODY_CEILING,
     .fallback = "8MiB", .help = "The most bytes of a request body; a larger one gets 413"},
    {ROOT(limits.headers), .path = "limits.headers", .type = MRG_OPTION_SIZE, .min = 1024, .max = 1 << 20,
     .fallback = "16KiB", .help = "The most bytes of request line and headers together"},
    {ROOT(limits.deadline_ms), .path = "limits.deadline", .type = MRG_OPTION_DURATION, .min = 1,
     .max = 24 * HOUR, .fallback = "2m", .help = "How long receiving and answering one request may take"},
    {ROOT(limits.drain_ms), .path = "limits.drain", .type = MRG_OPTION_DURATION, .min = 0, .max = HOUR,
     .fallback = "10s", .help = "How long requests in flight may still take at SIGTERM"},
    {ROOT(reply_headers), .path = "reply_headers", .type = MRG_OPTION_BOOL, .fallback = "true",
     .help = "Whether replies carry mirage-source, mirage-session and mirage-error"},

    {ROOT(dependencies), .path = "dependencies", .type = MRG_OPTION_DEPENDENCIES,
     .help = "What is simulated: a list, one item for each dependency"},
    {DEP(name), .path = "name", .type = MRG_OPTION_NAME, .example = "inventory", .live = true,
     .help = "Its name (letters, digits, dot, hyphen, underscore); required and unique"},
    SECTION(MRG_SCOPE_DEPENDENCY, "listen", "Addresses of its own"),
    {DEP(listen_http), .path = "listen.http", .type = MRG_OPTION_ADDRESS, .example = "127.0.0.1:8001",
     .live = true, .help = "HTTP address of its own; port 0 takes a free one"},
    LATER(MRG_SCOPE_DEPENDENCY, "listen.grpc", "this one serves http"),
    LATER(MRG_SCOPE_DEPENDENCY, "listen.zmq", "this one serves http"),
    {DEP(prefix), .path = "prefix", .type = MRG_OPTION_PREFIX, .example = "/inventory",
     .help = "Path prefix that tells it apart on the shared address"},
    SECTION(MRG_SCOPE_DEPENDENCY, "evidence",
            "What the model is told about it: files, or folders read recursively"),
    {DEP(evidence.source), .path = "evidence.source", .type = MRG_OPTION_PATH, .list = true,
     .must_exist = true, .example = "[services/inventory]", .live = true, .help = "Its source code"},
    {DEP(evidence.caller), .path = "evidence.caller", .type = MRG_OPTION_PATH, .list = true,
     .must_exist = true, .example = "[services/order]", .help = "Source code of those who call it"},
    {DEP(evidence.traces), .path = "evidence.traces", .type = MRG_OPTION_PATH, .list = true,
     .must_exist = true, .example = "[traces/inventory.jsonl]",
     .help = "Recorded spans: JSON lines or OTLP/JSON"},
    {DEP(evidence.schema), .path = "evidence.schema", .type = MRG_OPTION_PATH, .list = true,
     .must_exist = true, .example = "[api/inventory.openapi.yaml]", .help = "Its API schema"},
    {DEP(evidence.examples), .path = "evidence.examples", .type = MRG_OPTION_PATH, .list = true,
     .must_exist = true, .example = "[examples/inventory.jsonl]",
     .help = "Example bodies, one for each endpoint"},
    {DEP(evidence.use), .path = "evidence.use", .type = MRG_OPTION_ENUM, .fallback = "all",
     .values = "all|white-box|grey-box|black-box|source|caller|traces",
     .help = "Which of the evidence is used"},
    {DEP(evidence.budget), .path = "evidence.budget", .type = MRG_OPTION_INT, .min = 100, .max = 10000000,
     .fallback = "60000", .help = "Tokens that the evidence may take; whole files are left out beyond it"},
    {DEP(engines), .path = "engines", .type = MRG_OPTION_ENUM, .list = true, .values = "cassette|llm",
     .later = "stubs|replay|mined|opaque|contract|model|compiled|proxy", .fallback = "cassette, llm",
     .help = "Who answers, in the order asked"},
    SECTION(MRG_SCOPE_DEPENDENCY, "cassette", "Recorded answers"),
    {DEP(cassette.mode), .path = "cassette.mode", .type = MRG_OPTION_ENUM, .values = "auto|record|replay|off",
     .fallback = "auto",
     .help = "auto replays, else asks and records; record always asks, and replaces; replay never asks"},
    {DEP(cassette.dir), .path = "cassette.dir", .type = MRG_OPTION_PATH, .fallback = "cassettes",
     .help = "Folder of the cassettes"},
    {DEP(cassette.ignore), .path = "cassette.ignore", .type = MRG_OPTION_JPATH, .list = true,
     .example = "[header.x-request-id, body.$..created_at]",
     .help = "What does not count when requests are compared"},
    {DEP(cassette.on_stale), .path = "cassette.on_stale", .type = MRG_OPTION_ENUM,
     .values = "use|warn|refuse|refresh", .fallback = "warn",
     .help = "What becomes of an answer that was recorded with other evidence"},
    {DEP(reads), .path = "reads", .type = MRG_OPTION_ROUTE, .list = true, .example = "[POST /search]",
     .help = "Routes that change nothing although their method might"},
    {DEP(writes), .path = "writes", .type = MRG_OPTION_ROUTE, .list = true,
     .example = "[\"GET /shipments/{id}\"]",
     .help = "Routes that change something although their method should not"},
    SECTION(MRG_SCOPE_DEPENDENCY, "memory", "What the model is shown of the exchanges before"),
    {.scope = MRG_SCOPE_DEPENDENCY,
     .offset = MRG_OPTION_NOWHERE,
     .path = "memory.mode",
     .type = MRG_OPTION_ENUM,
     .values = "window",
     .later = "both|document",
     .fallback = "window",
     .help = "The form of its memory"},
    {DEP(window), .path = "memory.window", .type = MRG_OPTION_INT, .min = 1, .max = MRG_MAX_WINDOW,
     .fallback = "20",
     .help = "Exchanges that are always shown; the oldest 10 go together, so that a provider's cached prefix "
             "stays"},
    {DEP(preset), .path = "preset", .type = MRG_OPTION_ENUM, .values = "none|paper", .fallback = "none",
     .help = "paper: the limits, prompt parts and window (sliding by one) of the Mirage paper"},
    SECTION(MRG_SCOPE_DEPENDENCY, "headers", "Request headers"),
    {DEP(hide), .path = "headers.hide", .type = MRG_OPTION_HEADER, .list = true, .example = "[x-b3-*]",
     .help =
         "Headers never shown to the model, beside those of the transport; * at the end stands for any rest"},
    {DEP(redact), .path = "redact", .type = MRG_OPTION_JPATH, .list = true,
     .example = "[header.authorization, body.$..password]",
     .help = "What becomes a placeholder in prompt, cassette and log; without redact_key_env a value of few "
             "possibilities, such as a PIN, can be guessed from it"},
    {DEP(redact_key_env), .path = "redact_key_env", .type = MRG_OPTION_ENV, .example = "REDACT_KEY",
     .help = "Environment variable that holds the key placeholders are made with; the same key is needed to "
             "replay"},
    {DEP(on_gone), .path = "on_gone", .type = MRG_OPTION_ENUM, .values = "auto|finish|drop",
     .fallback = "auto",
     .help = "A model call whose caller has hung up: finish it or drop it; auto finishes what is recorded"},
    {DEP(model), .path = "model", .type = MRG_OPTION_MODEL,
     .help = "Its own language model; what is not given is as in `model` at the top"},
    LATER(MRG_SCOPE_DEPENDENCY, "protos", "this one serves http"),
    LATER(MRG_SCOPE_DEPENDENCY, "routes", "this one serves http"),
    LATER(MRG_SCOPE_DEPENDENCY, "zmq", "this one serves http"),
    LATER(MRG_SCOPE_DEPENDENCY, "state", "this one remembers by `memory.window`"),
    LATER(MRG_SCOPE_DEPENDENCY, "seed", "this one begins with an empty history"),
    LATER(MRG_SCOPE_DEPENDENCY, "shadow", "this one has the engines cassette and llm"),
    LATER(MRG_SCOPE_DEPENDENCY, "compile", "this one has the engines cassette and llm"),
    LATER(MRG_SCOPE_DEPENDENCY, "stubs", "this one has the engines cassette and llm"),
    LATER(MRG_SCOPE_DEPENDENCY, "contract", "this one has the engines cassette and llm"),
    LATER(MRG_SCOPE_DEPENDENCY, "proxy", "this one has the engines cassette and llm"),
};
const size_t mrg_option_count = MRG_ARRAY_LEN(mrg_options);

const struct mrg_option *mrg_option_find(enum mrg_option_scope scope, const char *path)
{
    for (size_t i = 0; i < mrg_option_count; i++) {
        if (mrg_options[i].scope == scope && strcmp(mrg_options[i].path, path) == 0)
            return &mrg_options[i];
    }
    return NULL;
}

const struct mrg_option *mrg_option_next(enum mrg_option_scope scope, const char *section, bool later,
                                         size_t *cursor)
{
    size_t len = strlen(section);
    while (*cursor < mrg_option_count) {
        const struct mrg_option *option = &mrg_options[(*cursor)++];
        if (option->scope != scope || (option->type == MRG_OPTION_LATER && !later))
            continue;
        const char *rest = option->path;
        if (len > 0) {
            if (strncmp(rest, section, len) != 0 || rest[len] != '.')
                continue;
            rest += len + 1;
        }
        if (!strchr(rest, '.'))
            return option;
    }
    return NULL;
}

bool mrg_option_section_is_live(enum mrg_option_scope scope, const char *section)
{
    size_t len = strlen(section);
    for (size_t i = 0; i < mrg_option_count; i++) {
        const struct mrg_option *option = &mrg_options[i];
        bool below = len == 0 || (strncmp(option->path, section, len) == 0 && option->path[len] == '.');
        if (option->scope == scope && below && option->live)
            return true;
    }
    return false;
}

const char *mrg_option_key(const struct mrg_option *option)
{
    const char *dot = strrchr(option->path, '.');
    return dot ? dot + 1 : option->path;
}

bool mrg_option_is_value(const struct mrg_option *option)
{
    return option->type < MRG_OPTION_SECTION;
}

int mrg_option_word(const char *words, const char *text)
{
    size_t len = strlen(text);
    int index = 0;
    for (const char *at = words; at; index++) {
        size_t word = strcspn(at, "|");
        if (word == len && strncmp(at, text, len) == 0)
            return index;
        at = at[word] ? at + word + 1 : NULL;
    }
    return -1;
}

const char *mrg_option_word_text(const struct mrg_option *option, unsigned value, char ret_word[MRG_WORD])
{
    const char *at = option->values;
    for (; value > 0; value--)
        at = strchr(at, '|') + 1;
    size_t len = strcspn(at, "|");
    MRG_ASSERT(len < MRG_WORD);
    memcpy(ret_word, at, len);
    ret_word[len] = '\0';
    return ret_word;
}

const char *mrg_option_type_name(const struct mrg_option *option)
{
    static const char *const names[][2] = {
        [MRG_OPTION_STRING] = {"text", "list of texts"},
        [MRG_OPTION_NAME] = {"name", "list of names"},
        [MRG_OPTION_ADDRESS] = {"host:port", "list of host:port"},
        [MRG_OPTION_URL] = {"URL", "list of URLs"},
        [MRG_OPTION_ENV] = {"variable name", "list of variable names"},
        [MRG_OPTION_PATH] = {"path", "list of paths"},
        [MRG_OPTION_PREFIX] = {"path prefix", "list of path prefixes"},
        [MRG_OPTION_HOST] = {"host name", "list of host names"},
        [MRG_OPTION_HEADER] = {"header name", "list of header names"},
        [MRG_OPTION_ROUTE] = {"METHOD /template", "list of METHOD /template"},
        [MRG_OPTION_JPATH] = {"request path", "list of request paths"},
        [MRG_OPTION_ENUM] = {NULL, "list of words"},
        [MRG_OPTION_INT] = {"whole number", "list of numbers"},
        [MRG_OPTION_NUMBER] = {"number or none", "list of numbers"},
        [MRG_OPTION_DURATION] = {"duration", "list of durations"},
        [MRG_OPTION_SIZE] = {"size", "list of sizes"},
        [MRG_OPTION_BOOL] = {"true|false", "list of true|false"},
        [MRG_OPTION_SECTION] = {"section", "section"},
        [MRG_OPTION_MODEL] = {"section", "section"},
        [MRG_OPTION_DEPENDENCIES] = {"list of sections", "list of sections"},
        [MRG_OPTION_LATER] = {"later version", "later version"},
    };
    if (option->type == MRG_OPTION_ENUM && !option->list)
        return option->values;
    return names[option->type][option->list];
}
