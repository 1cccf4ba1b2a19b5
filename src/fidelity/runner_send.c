// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>
#include <string.h>

#include "fidelity/runner_int.h"

void mrg_job_side_init(struct mrg_job_side *side, struct mrg_run_side targets)
{
    side->targets = targets;
    side->clients = mrg_zalloc((targets.count + 1) * sizeof(*side->clients));
    side->controls = mrg_zalloc((targets.count + 1) * sizeof(*side->controls));
    side->paths = mrg_zalloc((targets.count + 1) * sizeof(*side->paths));
}

void mrg_job_side_done(struct mrg_job_side *side)
{
    for (size_t i = 0; i < side->targets.count; i++) {
        mrg_client_close(side->clients[i]);
        mrg_client_close(side->controls[i]);
    }
    free(side->clients);
    free(side->controls);
    free(side->paths);
    side->clients = side->controls = NULL;
    side->paths = NULL;
}

size_t mrg_job_side_find(const struct mrg_job_side *side, const char *name, bool http)
{
    size_t found = SIZE_MAX;
    for (size_t i = 0; i < side->targets.count; i++) {
        const struct mrg_run_target *target = &side->targets.targets[i];
        if (target->name && strcmp(target->name, name) != 0)
            continue;
        if (!http || strncmp(target->url, "http", 4) == 0)
            return i;
        if (found == SIZE_MAX)
            found = i;
    }
    return found;
}

enum mrg_err mrg_job_side_check(const struct mrg_run_side *targets, const struct mrg_scenario *scenario,
                                const char *title, struct mrg_error *err)
{
    const struct mrg_job_side side = {.targets = *targets};
    for (size_t i = 0; i < scenario->call_count; i++) {
        const char *name = scenario->calls[i].target ? scenario->calls[i].target : scenario->dependency;
        if (mrg_job_side_find(&side, name, false) == SIZE_MAX)
            return mrg_error_set(
                err, MRG_ERR_INVALID,
                "%s: call %zu goes to \"%s\", and no target of the %s side is called so; expected "
                "%s%sURL, or a URL without a name",
                scenario->file, i + 1, name, title, name, name[0] ? "=" : "");
    }
    return MRG_ERR_OK;
}

static enum mrg_err open_client(struct mrg_job *job, struct mrg_job_side *side, size_t target,
                                struct mrg_client **client, struct mrg_error *err)
{
    const char *url = side->targets.targets[target].url;
    struct mrg_client_options options = {
        .schema = client == &side->clients[target] ? job->options->schema : NULL,
        .timeout_ms = job->options->timeout_ms,
        .ca_file = job->options->ca_file,
        .dependency = side->targets.targets[target].name,
    };
    return *client ? MRG_ERR_OK : mrg_client_open(url, &options, client, &side->paths[target], err);
}

/* The URL's path before the call's, "/" being none. */
static struct mrg_slice join(struct mrg_arena *arena, const char *base, struct mrg_slice path)
{
    size_t len = strcspn(base, "?#");
    while (len > 0 && base[len - 1] == '/')
        len--;
    if (len == 0)
        return path;
    char *whole = mrg_arena_printf(arena, "%.*s%.*s", (int)len, base, (int)path.len, path.ptr);
    return mrg_slice_of(whole);
}

static enum mrg_err send(struct mrg_job *job, struct mrg_job_side *side, size_t target,
                         struct mrg_client **client, const struct mrg_request *request,
                         struct mrg_client_reply *ret_reply, struct mrg_error *err)
{
    struct mrg_request sent = *request;
    enum mrg_err code = open_client(job, side, target, client, err);
    if (code)
        return code;
    sent.path = join(job->arena, side->paths[target], request->path);
    if (side->session) {
        sent.headers = mrg_arena_zalloc(job->arena, (sent.header_count + 1) * sizeof(*sent.headers));
        if (request->header_count > 0)
            memcpy(sent.headers, request->headers, request->header_count * sizeof(*sent.headers));
        sent.headers[sent.header_count++] =
            (struct mrg_header){MRG_SLICE("mirage-session"), mrg_slice_of(side->session)};
    }
    code = mrg_client_call(*client, &sent, job->arena, ret_reply, err);
    if (!code)
        atomic_store(side->reached, true);
    return code;
}

enum mrg_err mrg_job_send(struct mrg_job *job, struct mrg_job_side *side, size_t target,
                          const struct mrg_request *request, struct mrg_client_reply *ret_reply,
                          struct mrg_error *err)
{
    return send(job, side, target, &side->clients[target], request, ret_reply, err);
}

enum mrg_err mrg_job_post(struct mrg_job *job, struct mrg_job_side *side, size_t target, const char *path,
                          struct mrg_slice json, struct mrg_error *err)
{
    struct mrg_client_reply reply;
    struct mrg_request request = {.method = MRG_SLICE("POST"), .path = mrg_slice_of(path)};
    const struct mrg_run_target *to = &side->targets.targets[target];
    if (json.len > 0)
        request.body = (struct mrg_body){.kind = MRG_BODY_JSON, .bytes = json};
    bool control = job->options->schema && strncmp(to->url, "grpc", 4) == 0;
    enum mrg_err code = send(job, side, target, control ? &side->controls[target] : &side->clients[target],
                             &request, &reply, err);
    if (!code && reply.reply.has_grpc_status && reply.reply.grpc_status != 0)
        code =
            mrg_error_set(err, MRG_ERR_INVALID, "it answered with gRPC status %d", reply.reply.grpc_status);
    else if (!code && !reply.reply.has_grpc_status && reply.reply.status >= 300)
        code = mrg_error_set(err, MRG_ERR_INVALID, "it answered %d", reply.reply.status);
    return code ? mrg_error_wrap(err, "POST %s to the %s side's %s", path, side->title,
                                 to->name ? to->name : to->url)
                : MRG_ERR_OK;
}
