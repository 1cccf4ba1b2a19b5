// SPDX-License-Identifier: Apache-2.0
/*
 * Any bytes as a line of a trace file: whatever is counted must come out as lines that a prompt can hold, with no span lost or
 * counted twice.
 */
#include <string.h>

#include "evidence/endpoints.h"
#include "evidence/traces.h"

#define MOST (64u << 10) /* bytes of an input */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_lines(struct mrg_slice summary)
{
    for (size_t i = 0; i < summary.len; i++) {
        unsigned char c = (unsigned char)summary.ptr[i];
        MRG_ASSERT(c == '\n' || (c >= 0x20 && c < 0x7f && c != '<' && c != '>'));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mrg_traces traces = {0};
    struct mrg_endpoints endpoints;
    struct mrg_buf summary;
    if (size > MOST)
        return 0;
    (void)mrg_traces_add(&traces, (struct mrg_slice){(const char *)data, size}, NULL);
    mrg_endpoints_make(&traces, "loans", &endpoints);
    uint64_t total = 0;
    for (size_t i = 0; i < endpoints.count; i++) {
        uint64_t sum = 0;
        for (size_t k = 0; k < endpoints.items[i].status_count; k++)
            sum += endpoints.items[i].statuses[k].count;
        MRG_ASSERT(sum == endpoints.items[i].total && endpoints.items[i].path[0] == '/');
        total += sum;
    }
    MRG_ASSERT(total == endpoints.spans && endpoints.spans + endpoints.foreign + traces.lost == traces.spans);
    mrg_buf_init(&summary, SIZE_MAX);
    mrg_endpoints_append(&summary, &endpoints, true);
    check_lines(mrg_buf_slice(&summary));
    mrg_buf_done(&summary);
    mrg_endpoints_done(&endpoints);
    mrg_traces_done(&traces);
    return 0;
}
