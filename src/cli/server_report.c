// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/server.h"
#include "util/json.h"
#include "util/log.h"

/* How an address is told, by wire: as the clients of that wire want it. */
static const struct {
    const char *name;
    const char *scheme;
    bool many; /* a list */
} wires[MRG_SERVER_WIRES] = {{"http", "http://", false}, {"grpc", "", false}, {"zmq", "", true}};

/* What callers put before a path to reach a dependency by its wire: its own address, else the shared one (of HTTP
 * with its prefix). The nth; false when there are no more. */
static bool append_address(struct mrg_buf *buf, const struct mrg_server *server, size_t wire,
                           const struct mrg_dependency_config *one, size_t n)
{
    const char *name = wires[wire].name;
    bool http = wire == 0;
    const char *address =
        mrg_server_address(server, &(struct mrg_server_door){name, MRG_DOOR_DEPENDENCY, one->name, false}, n);
    bool has_own =
        mrg_server_address(server, &(struct mrg_server_door){name, MRG_DOOR_DEPENDENCY, one->name, false}, 0);
    bool told_apart = http ? one->prefix != NULL : wire == 1 ? mrg_dependency_has_protos(one) : true;
    const char *prefix = "";
    if (!has_own && told_apart) {
        address =
            mrg_server_address(server, &(struct mrg_server_door){name, MRG_DOOR_SHARED, NULL, false}, n);
        prefix = http ? one->prefix : "";
    }
    if (!address)
        return false;
    mrg_buf_appendf(buf, "%s%s%s", wires[wire].scheme, address, prefix);
    return true;
}

static void append_string(struct mrg_buf *buf, const char *before, struct mrg_buf *text)
{
    mrg_buf_append_str(buf, before);
    mrg_json_append_string(buf, mrg_buf_slice(text));
    mrg_buf_clear(text);
}

static void append_wire(struct mrg_buf *buf, const struct mrg_server *server, size_t wire,
                        const struct mrg_dependency_config *one)
{
    struct mrg_buf address;
    size_t n = 0;
    mrg_buf_init(&address, SIZE_MAX);
    for (; append_address(&address, server, wire, one, n); n++) {
        if (n == 0)
            mrg_buf_appendf(buf, ", \"%s\": %s", wires[wire].name, wires[wire].many ? "[" : "");
        append_string(buf, n ? ", " : "", &address);
        if (!wires[wire].many)
            break;
    }
    if (n > 0 && wires[wire].many)
        mrg_buf_append_char(buf, ']');
    mrg_buf_done(&address);
}

static void append_ready(struct mrg_buf *buf, const struct mrg_server *server)
{
    const struct mrg_server_door door = {"http", MRG_DOOR_CONTROL, NULL, false};
    const char *control = mrg_server_address(server, &door, 0);
    mrg_buf_appendf(buf, "{\"pid\": %ld, \"control\": ", (long)getpid());
    if (control)
        mrg_buf_appendf(buf, "\"http://%s\"", control);
    else
        mrg_buf_append_str(buf, "null");
    mrg_buf_append_str(buf, ", \"dependencies\": [");
    for (size_t i = 0; i < server->config->dependency_count; i++) {
        const struct mrg_dependency_config *one = &server->config->dependencies[i];
        const struct mrg_server_door verbs = {"zmq", MRG_DOOR_DEPENDENCY, one->name, true};
        const char *endpoint = mrg_server_address(server, &verbs, 0);
        mrg_buf_appendf(buf, "%s{\"name\": \"%s\"", i ? ", " : "", one->name);
        for (size_t wire = 0; wire < MRG_SERVER_WIRES; wire++)
            append_wire(buf, server, wire, one);
        if (endpoint)
            mrg_buf_appendf(buf, ", \"zmq_control\": \"%s\"", endpoint);
        mrg_buf_append_char(buf, '}');
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
    const struct mrg_server_door door = {"http", MRG_DOOR_CONTROL, NULL, false};
    const char *control = mrg_server_address(server, &door, 0);
    struct mrg_buf told, address;
    mrg_buf_init(&told, SIZE_MAX);
    mrg_buf_init(&address, SIZE_MAX);
    for (size_t i = 0; i < server->config->dependency_count; i++) {
        const struct mrg_dependency_config *one = &server->config->dependencies[i];
        mrg_buf_clear(&told);
        for (size_t wire = 0; wire < MRG_SERVER_WIRES; wire++) {
            mrg_buf_clear(&address);
            if (append_address(&address, server, wire, one, 0))
                mrg_buf_appendf(&told, "%s%s%s", told.len ? ", " : "", wire == 1 ? "grpc://" : "",
                                address.data);
        }
        mrg_log(MRG_LOG_INFO, "Serving %s at %s", one->name, told.len ? told.data : "no address");
    }
    mrg_buf_done(&told);
    mrg_buf_done(&address);
    if (control)
        mrg_log(MRG_LOG_INFO, "Control verbs and metrics at http://%s", control);
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
