// SPDX-License-Identifier: Apache-2.0
/*
 * Config: mirage.yaml, read, checked whole against one declared table, and made into plain structs.
 *
 * All errors are gathered with file, line and column. Values come from the file, then MIRAGE_… variables,
 * then flags. A configuration is immutable and counted after loading. Paths in it are absolute (made so
 * relative to the file's folder). Thread: any for reading; loading on main.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/buf.h"
#include "util/error.h"

struct json_object; /* json-c's */

enum mrg_provider { MRG_PROVIDER_OPENAI, MRG_PROVIDER_ANTHROPIC };
enum mrg_response_format { MRG_RESPONSE_NONE, MRG_RESPONSE_JSON_OBJECT };
enum mrg_use {
    MRG_USE_ALL,
    MRG_USE_WHITE_BOX,
    MRG_USE_GREY_BOX,
    MRG_USE_BLACK_BOX,
    MRG_USE_SOURCE,
    MRG_USE_CALLER,
    MRG_USE_TRACES
};
enum mrg_cassette_mode { MRG_CASSETTE_AUTO, MRG_CASSETTE_RECORD, MRG_CASSETTE_REPLAY, MRG_CASSETTE_OFF };
enum mrg_on_stale { MRG_STALE_USE, MRG_STALE_WARN, MRG_STALE_REFUSE, MRG_STALE_REFRESH };
enum mrg_on_gone { MRG_GONE_DEFAULT, MRG_GONE_FINISH, MRG_GONE_DROP };
enum mrg_preset { MRG_PRESET_NONE, MRG_PRESET_PAPER };

/* A list of strings. */
struct mrg_strings {
    char **items;
    size_t count;
};

struct mrg_model_config {
    enum mrg_provider provider; /* wire format */
    char *base_url;             /* without a slash at its end */
    char *name;                 /* NULL: not configured */
    char *key_env;              /* name of the variable that holds the key; NULL: none is sent */
    bool has_temperature;       /* false: `none` */
    double temperature;
    int max_tokens;
    bool completion_tokens;                   /* send it as max_completion_tokens */
    enum mrg_response_format response_format; /* openai only */
    uint64_t timeout_ms;                      /* one attempt, whole */
    int retries;                              /* attempts after the first */
    unsigned concurrency;                     /* requests in flight to this endpoint and model */
};

struct mrg_evidence_config {
    struct mrg_strings source, caller, traces, schema, examples; /* files or folders */
    enum mrg_use use;
    int budget; /* tokens */
};

struct mrg_cassette_config {
    enum mrg_cassette_mode mode;
    char *dir;
    struct mrg_strings ignore;
    enum mrg_on_stale on_stale;
};

/* Where a dependency's protobuf descriptors come from. */
struct mrg_protos_config {
    struct mrg_strings roots; /* folders that imports are looked for in; absolute */
    struct mrg_strings files; /* .proto files, relative to a root as in an import */
    struct mrg_strings sets;  /* descriptor set files (FileDescriptorSet); absolute */
    char *reflect;            /* host:port of a real server to ask by reflection; NULL: none */
};

/* `routes`: the method and path that an RPC stands for, where its proto has no google.api.http annotation. */
struct mrg_route_config {
    char *rpc;  /* pkg.Service/Method */
    char *http; /* "POST /items/{item_id}/reserve" */
    char *body; /* "*", a field's name, or "" for none; NULL: "*" for POST, PUT and PATCH, else none */
    int line;   /* in the file */
};

enum mrg_zmq_format { MRG_ZMQ_ENVELOPE, MRG_ZMQ_BODY, MRG_ZMQ_MULTIPART, MRG_ZMQ_PROTOBUF };

struct mrg_zmq_config {
    enum mrg_zmq_format format;
    char *route;   /* "METHOD /path" that every message stands for: format body; NULL for the others */
    char *rpc;     /* pkg.Service/Method whose messages are sent: format protobuf */
    char *control; /* endpoint that always speaks the envelope; NULL: none */
};

struct mrg_dependency_config {
    char *name;
    char *listen_http;             /* host:port; NULL: the shared address, by prefix */
    char *listen_grpc;             /* host:port; NULL: the shared address, by service */
    struct mrg_strings listen_zmq; /* endpoints, tcp:// or ipc:// */
    struct mrg_protos_config protos;
    struct mrg_route_config *routes;
    size_t route_count;
    struct mrg_zmq_config zmq;
    char *prefix; /* /inventory; NULL: none */
    struct mrg_evidence_config evidence;
    struct mrg_strings engines; /* names, in the order asked */
    struct mrg_cassette_config cassette;
    struct mrg_strings reads, writes; /* "METHOD /template" */
    unsigned window;
    enum mrg_preset preset;
    struct mrg_strings hide;   /* header names, * at the end allowed */
    struct mrg_strings redact; /* util/jpath.h */
    char *redact_key_env;      /* variable that holds the key of placeholders; NULL: none */
    enum mrg_on_gone on_gone;
    struct mrg_model_config model; /* defaults merged in */
    int line;                      /* in the file, for later messages */
};

struct mrg_limits_config {
    size_t body;          /* bytes of a request body */
    size_t headers;       /* bytes of request line and headers */
    uint64_t deadline_ms; /* a request, received and answered */
    uint64_t drain_ms;    /* requests in flight at SIGTERM */
};

struct mrg_config {
    atomic_uint refs;
    char *path;           /* of the file, as given */
    char *control_listen; /* host:port; NULL: none */
    struct mrg_strings control_hosts;
    char *control_token_env;       /* NULL: none */
    char *listen_http;             /* shared; NULL: none */
    char *listen_grpc;             /* shared; NULL: none */
    struct mrg_strings listen_zmq; /* shared endpoints */
    uint64_t sessions_idle_ms;     /* a session not used for so long goes */
    int sessions_max;              /* at one time */
    bool reply_headers;            /* mirage-source, mirage-session, mirage-error on replies */
    struct mrg_limits_config limits;
    struct mrg_model_config model;   /* the defaults */
    struct mrg_model_config *judges; /* of verify; defaults merged in */
    size_t judge_count;              /* 0 or 2 */
    struct mrg_dependency_config *dependencies;
    size_t dependency_count;
};

/*
 * One override: a path in the configuration (`model.base_url`, `dependencies.inventory.cassette.mode`, `*`
 * for every dependency), a value as text (a list's items apart by commas; paths relative to the file's
 * folder), and where it came from for messages ("--mode", "MIRAGE_MODEL_BASE_URL").
 */
struct mrg_override {
    char *path;
    char *value;
    char *origin;
};

/*
 * Loads, checks and completes. On failure returns INVALID (NOT_FOUND when there is no such file) and appends
 * one line an error to `errors`: `mirage.yaml:12:5: unknown key "evidense"; expected one of …; did you mean
 * "evidence"?` -- file as given, no "mirage: " before it.
 *
 * `environ_list` (NAME=value, NULL at its end; may be NULL) is where tokens are looked for, and
 * MIRAGE_MODEL_BASE_URL is model.base_url, MIRAGE_DEPENDENCIES_INVENTORY_CASSETTE_MODE that of the dependency
 * inventory, and so on. A MIRAGE_ variable that fits no option is an error (MIRAGE_CONFIG, MIRAGE_TEST_… and
 * those that the file names excepted); an empty one counts as not set. `flags` win over the environment. Main
 * thread.
 */
enum mrg_err mrg_config_load(const char *path, char *const *environ_list, const struct mrg_override *flags,
                             size_t flag_count, struct mrg_config **ret_config, struct mrg_buf *errors);

/*
 * The same with the file's text at hand; `path` is its name in messages, and its folder is what paths begin
 * at.
 */
enum mrg_err mrg_config_parse(const char *path, struct mrg_slice text, char *const *environ_list,
                              const struct mrg_override *flags, size_t flag_count,
                              struct mrg_config **ret_config, struct mrg_buf *errors);
struct mrg_config *mrg_config_ref(struct mrg_config *config);
void mrg_config_unref(struct mrg_config *config);

/* What was understood, aligned, for people: `mirage check`. Tells whether a key is set, never the key. */
void mrg_config_append_summary(struct mrg_buf *buf, const struct mrg_config *config);
/* The effective configuration as one JSON object with the file's keys; no tokens, no keys. */
void mrg_config_append_json(struct mrg_buf *buf, const struct mrg_config *config);
/* The same as a tree, for a caller that adds to it and puts it. */
struct json_object *mrg_config_json(const struct mrg_config *config);

/* From the table of options: the man page mirage.yaml(5) (roff), the example file, and a table for people. */
void mrg_config_append_man(struct mrg_buf *buf);
void mrg_config_append_example(struct mrg_buf *buf);
void mrg_config_append_markdown(struct mrg_buf *buf);

/* Whether something may be recorded: mode auto or record and a cassette in the chain. */
bool mrg_dependency_records(const struct mrg_dependency_config *config);
/* Whether protobuf descriptors are configured: protos.files, sets or reflect. */
static inline bool mrg_dependency_has_protos(const struct mrg_dependency_config *config)
{
    return config->protos.files.count > 0 || config->protos.sets.count > 0 || config->protos.reflect;
}
/* Whether an engine of that name is in the chain. */
bool mrg_dependency_has_engine(const struct mrg_dependency_config *config, const char *engine);
