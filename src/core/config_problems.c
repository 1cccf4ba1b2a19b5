// SPDX-License-Identifier: Apache-2.0
#include "core/config_problems.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/limits.h"
#include "util/utf8.h"

#define KEPT         1000u /* problems kept for sorting: what is shown comes from the first of them */
#define NAME_LONGEST 63    /* longer names are near to nothing */

struct mrg_problem {
    int line; /* INT_MAX: from outside */
    int column;
    size_t seq; /* order found */
    char *text; /* the whole line, without its end */
};

void mrg_problems_init(struct mrg_problems *problems, const char *file)
{
    *problems = (struct mrg_problems){.file = file};
}

void mrg_problems_done(struct mrg_problems *problems)
{
    for (size_t i = 0; i < problems->count; i++)
        free(problems->items[i].text);
    free(problems->items);
    mrg_problems_init(problems, problems->file);
}

void mrg_problems_add(struct mrg_problems *problems, struct mrg_mark mark, const char *format, ...)
{
    problems->total++;
    if (problems->count == KEPT)
        return;
    char *message = NULL;
    va_list args;
    va_start(args, format);
    int len = vasprintf(&message, format, args);
    va_end(args);
    MRG_ASSERT(len >= 0);
    mrg_grow((void **)&problems->items, &problems->capacity, problems->count, sizeof(*problems->items));
    struct mrg_problem *item = &problems->items[problems->count];
    item->line = mark.origin ? INT_MAX : mark.line;
    item->column = mark.origin ? 0 : mark.column;
    item->seq = problems->count++;
    if (mark.origin)
        item->text = mrg_asprintf("%s: %s", mark.origin, message);
    else if (mark.line > 0)
        item->text = mrg_asprintf("%s:%d:%d: %s", problems->file, mark.line, mark.column, message);
    else
        item->text = mrg_asprintf("%s: %s", problems->file, message);
    free(message);
}

static int by_place(const void *left, const void *right)
{
    const struct mrg_problem *a = left, *b = right;
    if (a->line != b->line)
        return a->line < b->line ? -1 : 1;
    if (a->column != b->column)
        return a->column < b->column ? -1 : 1;
    return a->seq < b->seq ? -1 : a->seq > b->seq;
}

void mrg_problems_append(struct mrg_problems *problems, struct mrg_buf *errors)
{
    if (problems->count > 0)
        qsort(problems->items, problems->count, sizeof(*problems->items), by_place);
    size_t shown = 0, repeated = 0;
    for (size_t i = 0; i < problems->count && shown < MRG_MAX_CONFIG_ERRORS; i++) {
        /* What an alias repeats is wrong at one place only. */
        if (i > 0 && strcmp(problems->items[i].text, problems->items[i - 1].text) == 0) {
            repeated++;
            continue;
        }
        mrg_buf_append_str(errors, problems->items[i].text);
        mrg_buf_append_char(errors, '\n');
        shown++;
    }
    if (problems->total > shown + repeated)
        mrg_buf_appendf(errors, "%s: and %zu more\n", problems->file, problems->total - shown - repeated);
}

/* Insertions, deletions, changes and swaps of neighbours that make one of the other. */
static size_t edit_distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
    unsigned rows[3][NAME_LONGEST + 2];
    unsigned *before = rows[0], *above = rows[1], *row = rows[2];
    for (unsigned j = 0; j <= b_len; j++)
        above[j] = j;
    for (unsigned i = 1; i <= a_len; i++) {
        row[0] = i;
        for (unsigned j = 1; j <= b_len; j++) {
            unsigned best = above[j - 1] + (a[i - 1] != b[j - 1]);
            if (above[j] + 1 < best)
                best = above[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            row[j] = best;
        }
        unsigned *free_row = before;
        before = above;
        above = row;
        row = free_row;
    }
    return above[b_len];
}

bool mrg_nearest_try(struct mrg_nearest *nearest, const char *name, const char *candidate)
{
    size_t len = strlen(name), candidate_len = strlen(candidate);
    if (len > NAME_LONGEST || candidate_len > NAME_LONGEST)
        return false;
    size_t distance = edit_distance(name, len, candidate, candidate_len);
    size_t near = 1 + candidate_len / 4;
    if (distance > near || distance >= candidate_len || (nearest->name && distance >= nearest->distance))
        return false;
    nearest->name = candidate;
    nearest->distance = distance;
    return true;
}

const char *mrg_quoted(const char *text, char ret_quoted[MRG_QUOTED])
{
    size_t len = strlen(text), room = MRG_QUOTED - sizeof("\"\"…");
    size_t cut = len <= room ? len : mrg_utf8_cut((struct mrg_slice){text, len}, room);
    char *at = ret_quoted;
    *at++ = '"';
    for (size_t i = 0; i < cut; i++)
        *at++ = (unsigned char)text[i] < 0x20 || text[i] == 0x7f ? '?' : text[i];
    snprintf(at, (size_t)(ret_quoted + MRG_QUOTED - at), "%s\"", cut < len ? "…" : "");
    return ret_quoted;
}
