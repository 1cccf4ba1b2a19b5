// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/server.h"
#include "util/json.h"
#include "util/log.h"

/* Where callers reach a dependency: its own address, or the shared one and its prefix. False when nowhere. */
static bool append_url(struct mrg_buf *buf, const struct mrg_server *server,
                       const struct mrg_dependency_config *one)
{
    const char *own = mrg_server_address(server, MRG_DOOR_DEPENDENCY, one->name);
    const char *shared = mrg_server_address(server, MRG_DOOR_SHARED, NULL);
    if (!own && !(shared && one->prefix))
        return false;
    mrg_buf_appendf(buf, "%s%s%s", server->http->ops->scheme, own ? own : shared, own ? "" : one->prefix);
    return true;
}

static void append_ready(struct mrg_buf *buf, const struct mrg_server *server)
{
    const char *control = mrg_server_address(server, MRG_DOOR_CONTROL, NULL);
    mrg_buf_appendf(buf, "{\"pid\": %ld, \"control\": ", (long)getpid());
    if (control)
        mrg_buf_appendf(buf, "\"%s%s\"", server->http->ops->scheme, control);
    else
        mrg_buf_append_str(buf, "null");
    mrg_buf_append_str(buf, ", \"dependencies\": [");
    for (size_t i = 0; i < server->config->dependency_count; i++) {
        const struct mrg_dependency_config *one = &server->config->dependencies[i];
        mrg_buf_appendf(buf, "%s{\"name\": \"%s\", \"http\": \"", i ? ", " : "", one->name);
        append_url(buf, server, one);
        mrg_buf_append_str(buf, "\"}");
    }
    mrg_buf_append_str(buf, "]}\n");
}

static enum mrg_err write_whole(const char *path, const struct mrg_buf *buf, struct mrg_error *err)
{
    _cleanup_free_ char *temporary = mrg_asprintf("%s.%ld", path, (long)getpid());
    FILE *file = fopen(temporary, "we");
    bool good = file && fwrite(buf->data, 1, buf->len, file) == buf->len;
    if (file && fclose(file) != 0)
        good = false;
    if (good && rename(temporary, path) == 0)
        return MRG_ERR_OK;
    mrg_error_set(err, MRG_ERR_IO, "%s: %s", path, strerror(errno));
    unlink(temporary);
    return MRG_ERR_IO;
}

enum mrg_err mrg_server_write_ready(const struct mrg_server *server, const char *path, struct mrg_error *err)
{
    struct mrg_buf buf;
    mrg_buf_init(&buf, SIZE_MAX);
    append_ready(&buf, server);
    enum mrg_err code = write_whole(path, &buf, err);
    mrg_buf_done(&buf);
    return code;
}

enum mrg_err mrg_server_write_report(const struct mrg_server *server, const char *path, struct mrg_error *err)
{
    struct mrg_buf buf;
    size_t len = strlen(path);
    mrg_buf_init(&buf, SIZE_MAX);
    if (len > 4 && strcmp(path + len - 4, ".xml") == 0)
        mrg_stats_append_junit(&buf, server->stats);
    else
        mrg_stats_append_json(&buf, server->stats);
    enum mrg_err code = write_whole(path, &buf, err);
    mrg_buf_done(&buf);
    return code;
}

void mrg_server_tell_addresses(const struct mrg_server *server)
{
    const char *control = mrg_server_address(server, MRG_DOOR_CONTROL, NULL);
    for (size_t i = 0; i < server->config->dependency_count; i++) {
        const struct mrg_dependency_config *one = &server->config->dependencies[i];
        struct mrg_buf url;
        mrg_buf_init(&url, SIZE_MAX);
        append_url(&url, server, one);
        mrg_log(MRG_LOG_INFO, "Serving %s at %s", one->name, url.data ? url.data : "no address");
        mrg_buf_done(&url);
    }
    if (control)
        mrg_log(MRG_LOG_INFO, "Control verbs and metrics at %s%s", server->http->ops->scheme, control);
}

static unsigned long long read_count(const atomic_ullong *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

void mrg_server_tell_counts(const struct mrg_server *server)
{
    for (size_t i = 0; server->config && i < server->config->dependency_count; i++) {
        const struct mrg_dependency_stats *one =
            mrg_stats_dependency(server->stats, server->config->dependencies[i].name);
        mrg_log(MRG_LOG_INFO,
                "%s: %llu requests; %llu from the cassette, %llu from the model, %llu failed (%llu of them "
                "not recorded)",
                one->name, read_count(&one->requests), read_count(&one->from_cassette),
                read_count(&one->from_llm), read_count(&one->failed), read_count(&one->missed));
        if (read_count(&one->lost) > 0)
            mrg_log(MRG_LOG_WARN, "%s: %llu recorded replies could not be written and are lost", one->name,
                    read_count(&one->lost));
        if (read_count(&one->llm_calls) > 0)
            mrg_log(MRG_LOG_INFO, "%s: %llu model calls, %llu tokens in (%llu cached), %llu out, %.1f s",
                    one->name, read_count(&one->llm_calls), read_count(&one->llm_tokens_in),
                    read_count(&one->llm_tokens_cached), read_count(&one->llm_tokens_out),
                    (double)read_count(&one->llm_ms) / 1000.0);
    }
}
