// SPDX-License-Identifier: Apache-2.0
#include "evidence/parts.h"

size_t mrg_parts_kept(const struct mrg_files *files)
{
    size_t kept = 0;
    for (size_t i = 0; i < files->count; i++)
        kept += !files->items[i].left_out;
    return kept;
}

void mrg_parts_done(struct mrg_parts *parts)
{
    mrg_files_done(&parts->source);
    mrg_files_done(&parts->caller);
    mrg_files_done(&parts->schema);
    mrg_files_done(&parts->trace_files);
    mrg_files_done(&parts->example_files);
    mrg_endpoints_done(&parts->endpoints);
    mrg_examples_done(&parts->examples);
    mrg_drops_done(&parts->drops);
}
