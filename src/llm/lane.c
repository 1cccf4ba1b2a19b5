// SPDX-License-Identifier: Apache-2.0
#include "llm/lane.h"

#include <string.h>

static unsigned concurrency_of(const struct mrg_llm_call *call)
{
    return call->model->concurrency > 0 ? call->model->concurrency : 1;
}

static bool fits(const struct mrg_llm_lane *lane, const struct mrg_llm_call *call)
{
    bool same_key = lane->key && call->key ? strcmp(lane->key, call->key) == 0 : lane->key == call->key;
    return same_key && lane->provider == call->model->provider &&
           strcmp(lane->model, call->model->name) == 0 && strcmp(lane->base_url, call->model->base_url) == 0;
}

struct mrg_llm_lane *mrg_llm_lane_get(struct mrg_list *lanes, const struct mrg_llm_call *call, bool *ret_new)
{
    struct mrg_llm_lane *lane;
    *ret_new = false;
    MRG_LIST_EACH (lane, lanes, node) {
        if (!fits(lane, call))
            continue;
        lane->refs++;
        if (lane->concurrency < concurrency_of(call))
            lane->concurrency = concurrency_of(call);
        return lane;
    }
    const struct mrg_model_config *model = call->model;
    lane = mrg_zalloc(sizeof(*lane));
    lane->provider = model->provider;
    lane->base_url = mrg_strdup(model->base_url);
    lane->model = mrg_strdup(model->name);
    lane->key = call->key ? mrg_strdup(call->key) : NULL;
    lane->url = mrg_asprintf("%s%s", model->base_url, mrg_llm_wire(model->provider)->path(model->base_url));
    lane->concurrency = concurrency_of(call);
    lane->refs = 1;
    mrg_list_init(&lane->queue);
    mrg_list_append(lanes, &lane->node);
    *ret_new = true;
    return lane;
}

void mrg_llm_lane_put(struct mrg_llm_lane *lane)
{
    if (!lane || --lane->refs > 0)
        return;
    MRG_ASSERT(mrg_list_empty(&lane->queue) && lane->active == 0);
    mrg_list_remove(&lane->node);
    if (lane->free_headers)
        lane->free_headers(lane->headers);
    free(lane->base_url);
    free(lane->model);
    if (lane->key)
        explicit_bzero(lane->key, strlen(lane->key));
    free(lane->key);
    free(lane->url);
    free(lane);
}

void mrg_llm_lane_push(struct mrg_llm_lane *lane, struct mrg_llm_call *call, bool front)
{
    call->state = MRG_LLM_QUEUED;
    /* Appending to a node of a circular list is inserting before it. */
    mrg_list_append(front ? lane->queue.next : &lane->queue, &call->node);
}

struct mrg_llm_call *mrg_llm_lane_pop(struct mrg_llm_lane *lane)
{
    if (mrg_list_empty(&lane->queue))
        return NULL;
    struct mrg_llm_call *call = MRG_CONTAINER_OF(lane->queue.next, struct mrg_llm_call, node);
    if (lane->active >= concurrency_of(call))
        return NULL;
    mrg_list_remove(&call->node);
    lane->active++;
    return call;
}

void mrg_llm_lane_leave(struct mrg_llm_lane *lane)
{
    MRG_ASSERT(lane->active > 0);
    lane->active--;
}
