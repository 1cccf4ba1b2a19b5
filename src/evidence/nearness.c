// SPDX-License-Identifier: Apache-2.0
#include "evidence/nearness.h"

#include <string.h>

#include "evidence/idioms.h"
#include "evidence/imports.h"

#define MAX_PIECES 500u /* literal pieces of paths that are looked for */
#define MIN_PIECE  4u   /* bytes of such a piece with its slash: /api is everywhere, but so be it */

static struct mrg_slice content(const struct mrg_file *file)
{
    return (struct mrg_slice){file->data ? file->data : "", file->len};
}

/* Breadth first: what a file at distance n imports is at most at n + 1. */
static void spread(struct mrg_files *files)
{
    struct mrg_imports *imports = mrg_imports_new(files);
    size_t *queue = mrg_malloc((files->count + 1) * sizeof(*queue));
    size_t head = 0, tail = 0;
    for (unsigned start = 0; start <= 1; start++) {
        for (size_t i = 0; i < files->count; i++) {
            if (files->items[i].distance == start)
                queue[tail++] = i;
        }
    }
    while (head < tail) {
        size_t from = queue[head++];
        unsigned next = files->items[from].distance + 1;
        for (size_t to = 0; to < files->count; to++) {
            if (files->items[to].distance != MRG_FAR || !mrg_imports_has(imports, from, to))
                continue;
            files->items[to].distance = next;
            queue[tail++] = to;
        }
    }
    free(queue);
    mrg_imports_free(imports);
}

void mrg_nearness_source(struct mrg_files *files)
{
    for (size_t i = 0; i < files->count; i++)
        files->items[i].distance = mrg_idioms_route(content(&files->items[i])) ? 0 : MRG_FAR;
    spread(files);
}

/* Literal pieces of the templates, with the slash before them: "/items", "/reserve". */
struct pieces {
    char *items[MAX_PIECES];
    size_t count;
};

static void add_pieces(struct pieces *pieces, const char *template)
{
    for (const char *p = strchr(template, '/'); p && pieces->count < MAX_PIECES; p = strchr(p + 1, '/')) {
        size_t len = 1 + strcspn(p + 1, "/");
        if (len < MIN_PIECE || memchr(p, '{', len))
            continue;
        _cleanup_free_ char *piece = mrg_strndup(p, len);
        bool known = false;
        for (size_t i = 0; i < pieces->count && !known; i++)
            known = strcmp(pieces->items[i], piece) == 0;
        if (!known)
            pieces->items[pieces->count++] = MRG_TAKE(piece);
    }
}

static bool mentions_piece(struct mrg_slice source, const struct pieces *pieces)
{
    for (size_t i = 0; i < pieces->count; i++) {
        if (mrg_idioms_mentions(source, pieces->items[i], false, true))
            return true;
    }
    return false;
}

void mrg_nearness_caller(struct mrg_files *files, const struct mrg_endpoints *endpoints,
                         const char *dependency)
{
    struct pieces pieces = {.count = 0};
    for (size_t i = 0; i < endpoints->count; i++)
        add_pieces(&pieces, endpoints->items[i].path);
    for (size_t i = 0; i < files->count; i++) {
        struct mrg_slice source = content(&files->items[i]);
        bool near = mentions_piece(source, &pieces) || mrg_idioms_mentions(source, dependency, false, false);
        files->items[i].distance = near ? 0 : mrg_idioms_call(source) ? 1 : MRG_FAR;
    }
    spread(files);
    for (size_t i = 0; i < pieces.count; i++)
        free(pieces.items[i]);
}
