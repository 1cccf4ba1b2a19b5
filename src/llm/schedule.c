// SPDX-License-Identifier: Apache-2.0
#include "llm/schedule.h"

static struct mrg_llm_call *call_of(struct mrg_list *node)
{
    return MRG_CONTAINER_OF(node, struct mrg_llm_call, node);
}

void mrg_llm_schedule_init(struct mrg_llm_schedule *schedule)
{
    mrg_list_init(&schedule->heads);
    mrg_list_init(&schedule->lanes);
    mrg_list_init(&schedule->active);
    mrg_list_init(&schedule->waiting);
}

bool mrg_llm_schedule_admit(struct mrg_llm_schedule *schedule, struct mrg_llm_call *call)
{
    bool is_new = false;
    call->lane = mrg_llm_lane_get(&schedule->lanes, call, &is_new);
    call->head = mrg_llm_head_get(&schedule->heads, call->model, call->system);
    mrg_llm_lane_push(call->lane, call, false);
    return is_new;
}

void mrg_llm_schedule_release(struct mrg_llm_call *call)
{
    if (mrg_list_linked(&call->node))
        mrg_list_remove(&call->node);
    mrg_llm_lane_put(MRG_TAKE(call->lane));
    mrg_llm_head_put(MRG_TAKE(call->head));
}

/* Backwards, so that at the front of a lane the earliest comes first. */
static void wake(struct mrg_llm_schedule *schedule, uint64_t now)
{
    struct mrg_list *last = &schedule->waiting;
    while (last->next != &schedule->waiting && call_of(last->next)->due <= now)
        last = last->next;
    while (last != &schedule->waiting) {
        struct mrg_llm_call *call = call_of(last);
        last = last->prev;
        mrg_list_remove(&call->node);
        mrg_llm_lane_push(call->lane, call, true);
    }
}

struct mrg_llm_call *mrg_llm_schedule_next(struct mrg_llm_schedule *schedule, uint64_t now)
{
    struct mrg_llm_lane *lane;
    wake(schedule, now);
    MRG_LIST_EACH (lane, &schedule->lanes, node) {
        struct mrg_llm_call *call = mrg_llm_lane_pop(lane);
        if (call) {
            call->state = MRG_LLM_ACTIVE;
            mrg_list_append(&schedule->active, &call->node);
            return call;
        }
    }
    return NULL;
}

void mrg_llm_schedule_land(struct mrg_llm_call *call)
{
    MRG_ASSERT(call->state == MRG_LLM_ACTIVE);
    mrg_list_remove(&call->node);
    mrg_llm_lane_leave(call->lane);
}

void mrg_llm_schedule_again(struct mrg_llm_call *call)
{
    mrg_llm_lane_push(call->lane, call, true);
}

void mrg_llm_schedule_wait(struct mrg_llm_schedule *schedule, struct mrg_llm_call *call, uint64_t due)
{
    struct mrg_list *after = schedule->waiting.prev;
    while (after != &schedule->waiting && call_of(after)->due > due)
        after = after->prev;
    call->state = MRG_LLM_WAITING;
    call->due = due;
    mrg_list_append(after->next, &call->node);
}

int mrg_llm_schedule_idle(const struct mrg_llm_schedule *schedule, uint64_t now, int most)
{
    if (mrg_list_empty(&schedule->waiting))
        return most;
    uint64_t due = call_of(schedule->waiting.next)->due;
    if (due <= now)
        return 0;
    return due - now < (uint64_t)most ? (int)(due - now) : most;
}

unsigned mrg_llm_schedule_places(const struct mrg_llm_schedule *schedule)
{
    uint64_t places = 0;
    struct mrg_llm_lane *lane;
    MRG_LIST_EACH (lane, &schedule->lanes, node)
        places += lane->concurrency;
    return places < UINT16_MAX ? (unsigned)places : UINT16_MAX;
}

struct mrg_llm_call *mrg_llm_schedule_any(const struct mrg_llm_schedule *schedule)
{
    if (!mrg_list_empty(&schedule->active))
        return call_of(schedule->active.next);
    if (!mrg_list_empty(&schedule->waiting))
        return call_of(schedule->waiting.next);
    struct mrg_llm_lane *lane;
    MRG_LIST_EACH (lane, &schedule->lanes, node) {
        if (!mrg_list_empty(&lane->queue))
            return call_of(lane->queue.next);
    }
    return NULL;
}
