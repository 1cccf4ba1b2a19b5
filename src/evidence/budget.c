// SPDX-License-Identifier: Apache-2.0
#include "evidence/budget.h"

#include <stdint.h>
#include <string.h>

#include "evidence/nearness.h"
#include "evidence/tokens.h"

#define FILE_TOKENS 12u /* for the lines that name a file, beside its name */
#define FREQUENT    10u /* endpoints that are not rare */

static size_t file_cost(const struct mrg_file *file)
{
    return (size_t)mrg_tokens((struct mrg_slice){file->data, file->len}) +
           (size_t)mrg_tokens(mrg_slice_of(file->name)) + FILE_TOKENS;
}

static size_t files_cost(const struct mrg_files *files)
{
    size_t sum = 0;
    for (size_t i = 0; i < files->count; i++) {
        if (!files->items[i].left_out)
            sum += file_cost(&files->items[i]);
    }
    return sum;
}

static size_t endpoint_cost(const struct mrg_endpoint *endpoint)
{
    struct mrg_buf line;
    mrg_buf_init(&line, SIZE_MAX);
    mrg_endpoint_append(&line, endpoint, true);
    size_t cost = (size_t)mrg_tokens(mrg_buf_slice(&line));
    mrg_buf_done(&line);
    return cost;
}

static size_t examples_cost(const struct mrg_examples *examples)
{
    struct mrg_buf text;
    mrg_buf_init(&text, SIZE_MAX);
    for (size_t i = 0; i < examples->count; i++)
        mrg_example_append(&text, &examples->items[i]);
    size_t cost = (size_t)mrg_tokens(mrg_buf_slice(&text));
    mrg_buf_done(&text);
    return cost;
}

/*
 * Leaves out endpoints from the rarest on, until it fits or only `keep` are left. Returns what they cost
 * together now.
 */
static size_t drop_endpoints(struct mrg_parts *parts, size_t keep, size_t sum, size_t budget)
{
    for (size_t i = parts->endpoints.count; i > keep && sum > budget; i--) {
        struct mrg_endpoint *endpoint = &parts->endpoints.items[i - 1];
        if (endpoint->left_out)
            continue;
        _cleanup_free_ char *what = mrg_asprintf("%s %s", endpoint->method, endpoint->path);
        endpoint->left_out = true;
        sum -= endpoint_cost(endpoint);
        mrg_drops_add(&parts->drops, "traces", what, "budget");
    }
    return sum;
}

/* The furthest file that is still there; among equals the largest, then the last. */
static struct mrg_file *furthest(const struct mrg_files *files)
{
    struct mrg_file *found = NULL;
    for (size_t i = 0; i < files->count; i++) {
        struct mrg_file *file = &files->items[i];
        if (file->left_out)
            continue;
        if (!found || file->distance > found->distance ||
            (file->distance == found->distance && file->len >= found->len))
            found = file;
    }
    return found;
}

static size_t drop_files(struct mrg_parts *parts, const char *part, struct mrg_files *files, size_t keep,
                         size_t sum, size_t budget)
{
    size_t kept = mrg_parts_kept(files);
    while (kept > keep && sum > budget) {
        struct mrg_file *file = furthest(files);
        file->left_out = true;
        sum -= file_cost(file);
        kept--;
        mrg_drops_add(&parts->drops, part, file->name, "budget");
    }
    return sum;
}

enum mrg_err mrg_budget_keep(struct mrg_parts *parts, int tokens, struct mrg_error *err)
{
    size_t budget = tokens > 0 ? (size_t)tokens : 0;
    size_t sum = files_cost(&parts->source) + files_cost(&parts->caller) + files_cost(&parts->schema) +
                 examples_cost(&parts->examples);
    for (size_t i = 0; i < parts->endpoints.count; i++)
        sum += endpoint_cost(&parts->endpoints.items[i]);
    if (sum <= budget)
        return MRG_ERR_OK;
    bool source = parts->source.count > 0;
    bool caller = !source && parts->caller.count > 0;
    bool traces = !source && !caller;
    mrg_nearness_source(&parts->source);
    mrg_nearness_caller(&parts->caller, &parts->endpoints, parts->name);
    sum = drop_endpoints(parts, FREQUENT, sum, budget);
    sum = drop_files(parts, "caller", &parts->caller, caller, sum, budget);
    sum = drop_files(parts, "source", &parts->source, source, sum, budget);
    sum = drop_endpoints(parts, traces, sum, budget);
    if (sum <= budget)
        return MRG_ERR_OK;
    return mrg_error_set(err, MRG_ERR_TOO_LARGE,
                         "evidence.budget: %d tokens do not hold what must stay (about %zu tokens); raise "
                         "it, or give less evidence",
                         tokens, sum);
}
