// SPDX-License-Identifier: Apache-2.0
#include "evidence/tokens.h"

#include <limits.h>

int mrg_tokens(struct mrg_slice text)
{
    size_t wide = 0;
    for (size_t i = 0; i < text.len; i++)
        wide += (unsigned char)text.ptr[i] >= 0x80;
    size_t quarters = text.len - wide + 2 * wide;
    size_t tokens = quarters / 4 + (quarters % 4 > 0);
    return tokens < INT_MAX ? (int)tokens : INT_MAX;
}
