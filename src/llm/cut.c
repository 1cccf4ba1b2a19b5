// SPDX-License-Identifier: Apache-2.0
#include "llm/cut.h"

#include <string.h>

#include "core/limits.h"

#define MIN_OVERLAP 12u   /* bytes; a shorter one may well be what the text says twice */
#define MAX_OVERLAP 2000u /* models that repeat go back a few lines, not pages */
#define MIN_KINDS                                                                                            \
    4 /* different bytes; so that a ruler of dashes or an indentation is not taken for a repeat */

int mrg_llm_cut_double(int limit)
{
    if (limit >= MRG_MAX_TOKENS_CEILING)
        return 0;
    return limit > MRG_MAX_TOKENS_CEILING / 2 ? MRG_MAX_TOKENS_CEILING : limit * 2;
}

static bool is_varied(struct mrg_slice text)
{
    bool seen[256] = {false};
    int kinds = 0;
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        kinds += !seen[c];
        seen[c] = true;
    }
    return kinds >= MIN_KINDS;
}

static size_t overlap(struct mrg_slice text, struct mrg_slice piece)
{
    size_t most = text.len < piece.len ? text.len : piece.len;
    if (most > MAX_OVERLAP)
        most = MAX_OVERLAP;
    for (size_t len = most; len >= MIN_OVERLAP; len--) {
        if (memcmp(text.ptr + text.len - len, piece.ptr, len) == 0)
            return is_varied((struct mrg_slice){piece.ptr, len}) ? len : 0;
    }
    return 0;
}

void mrg_llm_cut_join(struct mrg_buf *text, struct mrg_slice piece)
{
    size_t repeated = overlap(mrg_buf_slice(text), piece);
    mrg_buf_append(text, piece.ptr + repeated, piece.len - repeated);
}
