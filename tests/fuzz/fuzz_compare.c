// SPDX-License-Identifier: Apache-2.0
/*
 * Two replies, a line each, and a rule's pattern as third: a reply is the same as itself, also twice; what differs has a
 * finding; the other way round gives the same verdict on statuses and shapes.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "compare/compare.h"

#define MOST (32u << 10) /* bytes of an input */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct mrg_slice line(struct mrg_slice *rest)
{
    const char *end = rest->len > 0 ? memchr(rest->ptr, '\n', rest->len) : NULL;
    struct mrg_slice own = {rest->ptr, end ? (size_t)(end - rest->ptr) : rest->len};
    size_t taken = own.len + (end != NULL);
    *rest = (struct mrg_slice){rest->ptr + taken, rest->len - taken};
    return own;
}

static void compare(const struct mrg_compare_rules *rules, struct mrg_arena *arena,
                    const struct mrg_reply *real, const struct mrg_reply *simulated,
                    struct mrg_comparison *ret_comparison)
{
    struct mrg_compare *state;
    MRG_ASSERT(mrg_compare_new(rules, &state, NULL) == MRG_ERR_OK);
    mrg_compare_replies(state, real, simulated, arena, ret_comparison);
    struct mrg_comparison again;
    mrg_compare_replies(state, real, simulated, arena, &again);
    MRG_ASSERT(ret_comparison->verdict != MRG_VERDICT_SAME || again.verdict == MRG_VERDICT_SAME);
    MRG_ASSERT((ret_comparison->verdict == MRG_VERDICT_SAME) == (ret_comparison->finding_count == 0));
    MRG_ASSERT(ret_comparison->key_level || ret_comparison->verdict == MRG_VERDICT_DIFFERENT);
    mrg_compare_free(state);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct mrg_compare_rule dynamic[] = {{"body.$..id", MRG_DYNAMIC_ID, NULL},
                                                      {"body.$..at", MRG_DYNAMIC_TIME, NULL},
                                                      {"body.$..n", MRG_DYNAMIC_NUMBER, NULL},
                                                      {"header.location", MRG_DYNAMIC_ID, NULL}};
    static const char *const sets[] = {"body.$..s"}, *const ignore[] = {"body.$..x"};
    static const struct mrg_compare_rules rules = {dynamic, MRG_ARRAY_LEN(dynamic), sets, 1, ignore, 1};
    struct mrg_reply a, b;
    struct mrg_comparison there, back, self;
    if (size > MOST)
        return 0;
    struct mrg_arena *arena = mrg_arena_new(0);
    struct mrg_slice rest = {mrg_arena_memdup(arena, data, size), size};
    struct mrg_slice first = line(&rest), second = line(&rest);
    if (!mrg_reply_parse(arena, first, &a, NULL) && !mrg_reply_parse(arena, second, &b, NULL)) {
        compare(&rules, arena, &a, &b, &there);
        compare(&rules, arena, &b, &a, &back);
        compare(&rules, arena, &a, &a, &self);
        MRG_ASSERT(there.status_same == back.status_same && there.key_level == back.key_level);
        MRG_ASSERT(self.key_level);
    }
    mrg_arena_free(arena);
    return 0;
}
