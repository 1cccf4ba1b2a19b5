// SPDX-License-Identifier: Apache-2.0
#include "evidence/templates.h"

#include <string.h>

#define ID           "{id}"
#define MAX_WORDS    100u /* different words below one node; further ones are ids */
#define MAX_PARTS    40u  /* segments of a path that are told apart */
#define MANY         12u  /* words at one place that can hardly all be names of resources */
#define MAX_PREFIXES 4u   /* of the ids at one place */

/* One place in the tree of all paths. */
struct node {
    char *text;             /* the segment; ID for all ids together */
    struct node **children; /* in the order of their first appearance */
    size_t count;
    size_t capacity;
    char *prefixes[MAX_PREFIXES]; /* of an ID node: "rsv_", "item-" of the ids that are in it */
    bool leaf;                    /* a path ends here */
};

struct mrg_templates {
    struct node root;
};

static void node_free(struct node *node)
{
    for (size_t i = 0; i < node->count; i++) {
        node_free(node->children[i]);
        free(node->children[i]);
    }
    for (size_t i = 0; i < MAX_PREFIXES; i++)
        free(node->prefixes[i]);
    free(node->children);
    free(node->text);
}

static struct node *find(const struct node *node, struct mrg_slice text)
{
    for (size_t i = 0; i < node->count; i++) {
        if (mrg_slice_eq_str(text, node->children[i]->text))
            return node->children[i];
    }
    return NULL;
}

static void append(struct node *node, struct node *child)
{
    mrg_grow((void **)&node->children, &node->capacity, node->count, sizeof(struct node *));
    node->children[node->count++] = child;
}

static struct node *ensure(struct node *node, struct mrg_slice text)
{
    struct node *child = find(node, text);
    if (child)
        return child;
    child = mrg_zalloc(sizeof(*child));
    child->text = mrg_strndup(text.ptr, text.len);
    append(node, child);
    return child;
}

/* The next segment of *rest; false at the end. */
static bool next_segment(struct mrg_slice *rest, struct mrg_slice *ret_segment)
{
    if (!rest->ptr)
        return false;
    const char *slash = rest->len > 0 ? memchr(rest->ptr, '/', rest->len) : NULL;
    size_t len = slash ? (size_t)(slash - rest->ptr) : rest->len;
    *ret_segment = (struct mrg_slice){rest->ptr, len};
    *rest = slash ? (struct mrg_slice){slash + 1, rest->len - len - 1} : (struct mrg_slice){NULL, 0};
    return true;
}

/* The path without its first slash. */
static struct mrg_slice start(struct mrg_slice path)
{
    if (path.len > 0 && path.ptr[0] == '/')
        return (struct mrg_slice){path.ptr + 1, path.len - 1};
    return (struct mrg_slice){path.len > 0 ? path.ptr : "", path.len};
}

struct mrg_templates *mrg_templates_new(void)
{
    return mrg_zalloc(sizeof(struct mrg_templates));
}

void mrg_templates_free(struct mrg_templates *templates)
{
    if (!templates)
        return;
    node_free(&templates->root);
    free(templates);
}

/* Letters and the joint behind them: "rsv_" of rsv_12ab34; 0 when it does not begin so. */
static size_t prefix_len(struct mrg_slice text)
{
    size_t len = 0;
    while (len < text.len &&
           ((text.ptr[len] >= 'a' && text.ptr[len] <= 'z') || (text.ptr[len] >= 'A' && text.ptr[len] <= 'Z')))
        len++;
    return len > 0 && len < text.len && (text.ptr[len] == '_' || text.ptr[len] == '-') ? len + 1 : 0;
}

static void note_prefix(struct node *id, struct mrg_slice segment)
{
    struct mrg_slice prefix = {segment.ptr, prefix_len(segment)};
    for (size_t i = 0; i < MAX_PREFIXES && prefix.len > 0; i++) {
        if (!id->prefixes[i])
            id->prefixes[i] = mrg_strndup(prefix.ptr, prefix.len);
        if (mrg_slice_eq_str(prefix, id->prefixes[i]))
            return;
    }
}

static bool has_id_prefix(const struct node *id, const char *text)
{
    struct mrg_slice prefix = {text, prefix_len(mrg_slice_of(text))};
    for (size_t i = 0; id && i < MAX_PREFIXES && prefix.len > 0 && id->prefixes[i]; i++) {
        if (mrg_slice_eq_str(prefix, id->prefixes[i]))
            return true;
    }
    return false;
}

void mrg_templates_add(struct mrg_templates *templates, struct mrg_slice path)
{
    struct node *node = &templates->root;
    struct mrg_slice rest = start(path);
    struct mrg_slice segment;
    for (unsigned parts = 0; parts < MAX_PARTS && next_segment(&rest, &segment); parts++) {
        bool id = mrg_segment_is_id(segment) || (node->count >= MAX_WORDS && !find(node, segment));
        node = ensure(node, id ? MRG_SLICE(ID) : segment);
        if (id)
            note_prefix(node, segment);
    }
    node->leaf = true;
}

/* Moves what is below `from` to `to`; frees from. */
static void merge(struct node *to, struct node *from)
{
    to->leaf |= from->leaf;
    for (size_t i = 0; i < from->count; i++) {
        struct node *child = from->children[i];
        struct node *same = find(to, mrg_slice_of(child->text));
        if (same)
            merge(same, child);
        else
            append(to, child);
    }
    from->count = 0;
    node_free(from);
    free(from);
}

/* item-1: the bytes before the number at its end; 0 when there is none. */
static size_t stem_len(const char *text)
{
    size_t len = strlen(text);
    size_t stem = len;
    while (stem > 0 && text[stem - 1] >= '0' && text[stem - 1] <= '9')
        stem--;
    return stem < len ? stem : 0;
}

static bool is_version_like(const char *text, size_t stem)
{
    return stem == 1 && text[0] == 'v';
}

/*
 * Values of one stem and different numbers: two are enough behind a joint (item-1, item-2), three without
 * (step1, step2, step3).
 */
static bool is_one_of_series(const struct node *node, const char *text)
{
    size_t stem = stem_len(text);
    if (stem == 0 || is_version_like(text, stem))
        return false;
    size_t alike = 0;
    for (size_t i = 0; i < node->count; i++) {
        const char *other = node->children[i]->text;
        alike += stem_len(other) == stem && strncmp(text, other, stem) == 0;
    }
    return alike >= (strchr("-_.", text[stem - 1]) ? 2u : 3u);
}

static bool same_below(const struct node *a, const struct node *b)
{
    if (a->leaf != b->leaf || a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++) {
        const struct node *other = find(b, mrg_slice_of(a->children[i]->text));
        if (!other || !same_below(a->children[i], other))
            return false;
    }
    return true;
}

/*
 * Very many words, and below nearly all of them the same: values. Resources differ below, and methods of an
 * RPC have a dot above.
 */
static bool are_values(const struct node *node)
{
    size_t words = 0, kinds = 0;
    for (size_t i = 0; i < node->count; i++) {
        bool known = strcmp(node->children[i]->text, ID) == 0;
        words += !known;
        for (size_t k = 0; k < i && !known; k++)
            known = same_below(node->children[k], node->children[i]);
        kinds += !known;
    }
    return words >= MAX_WORDS || (words >= MANY && kinds <= words / 4);
}

static void become_id(struct node *node, size_t index)
{
    struct node *child = node->children[index];
    memmove(node->children + index, node->children + index + 1,
            (node->count - index - 1) * sizeof(struct node *));
    node->count--;
    merge(ensure(node, MRG_SLICE(ID)), child);
}

/* Children are settled before, so that what is below them can be compared. */
static void settle(struct node *node, unsigned depth)
{
    for (size_t i = 0; i < node->count; i++)
        settle(node->children[i], depth + 1);
    bool rpc = depth > 0 && strchr(node->text, '.');
    bool values = depth > 0 && !rpc && node->count >= MANY && are_values(node);
    const struct node *ids = find(node, MRG_SLICE(ID));
    bool *id = mrg_zalloc(node->count + 1);
    for (size_t i = 0; i < node->count; i++) {
        const char *text = node->children[i]->text;
        id[i] = strcmp(text, ID) != 0 && (values || is_one_of_series(node, text) || has_id_prefix(ids, text));
    }
    for (size_t i = node->count; i-- > 0;) {
        if (id[i])
            become_id(node, i);
    }
    free(id);
}

void mrg_templates_settle(struct mrg_templates *templates)
{
    settle(&templates->root, 0);
}

char *mrg_templates_of(const struct mrg_templates *templates, struct mrg_slice path)
{
    struct mrg_buf buf;
    mrg_buf_init(&buf, 5 * path.len + 16);
    const struct node *node = &templates->root;
    struct mrg_slice rest = start(path);
    struct mrg_slice segment;
    for (unsigned parts = 0; parts < MAX_PARTS && next_segment(&rest, &segment); parts++) {
        const struct node *child = node ? find(node, segment) : NULL;
        if (!child || mrg_segment_is_id(segment)) {
            child = node ? find(node, MRG_SLICE(ID)) : NULL;
            segment = MRG_SLICE(ID);
        }
        mrg_buf_append_char(&buf, '/');
        mrg_buf_append_slice(&buf, segment);
        node = child;
    }
    return mrg_buf_take(&buf, NULL);
}
