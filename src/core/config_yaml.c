// SPDX-License-Identifier: Apache-2.0
#include "core/config_yaml.h"

#include <libfyaml.h>
#include <string.h>

#include "util/utf8.h"

struct anchor {
    struct anchor *next;
    struct mrg_slice name;
    const struct mrg_node *node;
};

/* A mapping or list whose end has not come yet. */
struct open {
    struct mrg_node *node;
    const char *key; /* a mapping's key that waits for its value; NULL: a key comes next */
    struct mrg_mark key_mark;
    struct mrg_node *merged; /* values of <<, in order; a list node of its own */
};

struct reader {
    struct mrg_arena *arena;
    struct mrg_problems *problems;
    struct fy_parser *parser;
    struct fy_event *event; /* the one being looked at */
    struct open stack[MRG_YAML_DEPTH];
    size_t depth;
    size_t nodes;
    struct anchor *anchors;
    size_t anchor_count;
    struct mrg_node *top;
    unsigned documents;
};

/* The keys `<<` that were plain, told from quoted ones by their address. */
static const char merge_key[] = "<<";

static struct mrg_mark event_mark(struct fy_event *event, int shift)
{
    const struct fy_mark *mark = fy_event_start_mark(event);
    if (!mark)
        return (struct mrg_mark){0};
    int column = mark->column + 1 - shift;
    return (struct mrg_mark){.line = mark->line + 1, .column = column > 0 ? column : 1};
}

/* What must not be in text before the parser sees it, which is less exact about it. */
static bool check_text(struct mrg_slice text, struct mrg_problems *problems)
{
    struct mrg_mark mark = {.line = 1, .column = 1};
    const char *end = text.ptr + text.len;
    if (text.len >= 2 && (memcmp(text.ptr, "\xFF\xFE", 2) == 0 || memcmp(text.ptr, "\xFE\xFF", 2) == 0)) {
        mrg_problems_add(problems, mark, "the file is in UTF-16; expected UTF-8");
        return false;
    }
    for (const char *p = text.ptr; p < end;) {
        size_t len = mrg_utf8_len(p, end);
        if (len == 0) {
            mrg_problems_add(problems, mark, "byte 0x%02x is not UTF-8; expected a text file in UTF-8",
                             (unsigned char)*p);
            return false;
        }
        if ((unsigned char)*p < 0x20 && !strchr("\t\n\r", *p ? *p : 1)) {
            mrg_problems_add(problems, mark, "control character 0x%02x; expected a text file",
                             (unsigned char)*p);
            return false;
        }
        mark.column++;
        if (*p == '\n') {
            mark.line++;
            mark.column = 1;
        }
        p += len;
    }
    return true;
}

static struct open *top_of(struct reader *reader)
{
    return reader->depth > 0 ? &reader->stack[reader->depth - 1] : NULL;
}

static struct mrg_node *new_node(struct reader *reader, enum mrg_node_kind kind, struct mrg_mark mark)
{
    if (reader->nodes++ == MRG_YAML_NODES) {
        reader->nodes--;
        mrg_problems_add(reader->problems, mark,
                         "too much; expected at most %u values, those of aliases included", MRG_YAML_NODES);
        return NULL;
    }
    return mrg_node_new(reader->arena, kind, mark);
}

/* Puts a value where it belongs. False when that cannot be. */
static bool place(struct reader *reader, struct mrg_node *node)
{
    struct open *open = top_of(reader);
    if (!open) {
        reader->top = node;
        return true;
    }
    if (open->node->kind == MRG_NODE_LIST) {
        if (node->mark.line == 0)
            node->mark = open->node->mark;
        mrg_node_append(open->node, node);
        return true;
    }
    const char *key = open->key;
    open->key = NULL;
    if (key == merge_key) {
        if (!open->merged)
            open->merged = mrg_node_new(reader->arena, MRG_NODE_LIST, open->key_mark);
        mrg_node_append(open->merged, node);
        return true;
    }
    node->key = key;
    node->key_mark = open->key_mark;
    if (node->mark.line == 0) /* `key:` with nothing behind it has no place of its own */
        node->mark = open->key_mark;
    const struct mrg_node *earlier = mrg_node_get(open->node, key);
    char quoted[MRG_QUOTED];
    if (earlier) {
        mrg_problems_add(reader->problems, open->key_mark,
                         "duplicate key %s; expected it once, and it is on line %d", mrg_quoted(key, quoted),
                         earlier->key_mark.line);
        return true; /* the first one stays, so that the rest can be checked */
    }
    if (open->node->count >= MRG_YAML_KEYS) {
        mrg_problems_add(reader->problems, open->key_mark, "too many keys; expected at most %u in a mapping",
                         MRG_YAML_KEYS);
        return false;
    }
    mrg_node_append(open->node, node);
    return true;
}

/* A copy for an alias at `mark`, `depth` levels deep. */
static struct mrg_node *copy(struct reader *reader, const struct mrg_node *from, size_t depth,
                             struct mrg_mark mark)
{
    size_t left = MRG_YAML_NODES - reader->nodes;
    struct mrg_node *node = mrg_node_copy(reader->arena, from, MRG_YAML_DEPTH - depth, &left);
    reader->nodes = MRG_YAML_NODES - left;
    if (!node)
        mrg_problems_add(reader->problems, mark,
                         "too much or too deep with this alias; expected at most %u values and %d levels",
                         MRG_YAML_NODES, MRG_YAML_DEPTH);
    return node;
}

/* Adds what `from` has and `node` has not. */
static bool merge_one(struct reader *reader, struct mrg_node *node, const struct mrg_node *from,
                      struct mrg_mark mark)
{
    if (from->kind != MRG_NODE_MAP) {
        mrg_problems_add(reader->problems, mark,
                         "<< has %s; expected an alias of a mapping, or a list of such",
                         mrg_node_kind_name(from));
        return true;
    }
    for (const struct mrg_node *child = from->first; child; child = child->next) {
        if (mrg_node_get(node, child->key))
            continue;
        struct mrg_node *twin = node->count < MRG_YAML_KEYS ? copy(reader, child, reader->depth, mark) : NULL;
        if (!twin)
            return false;
        twin->key = child->key;
        twin->key_mark = child->key_mark;
        mrg_node_append(node, twin);
    }
    return true;
}

static bool merge_all(struct reader *reader, struct open *open)
{
    struct mrg_mark mark = open->merged->mark;
    for (const struct mrg_node *value = open->merged->first; value; value = value->next) {
        if (value->kind != MRG_NODE_LIST) {
            if (!merge_one(reader, open->node, value, mark))
                return false;
            continue;
        }
        for (const struct mrg_node *item = value->first; item; item = item->next) {
            if (!merge_one(reader, open->node, item, mark))
                return false;
        }
    }
    return true;
}

static bool note_anchor(struct reader *reader, const struct mrg_node *node)
{
    struct fy_token *token = fy_event_get_anchor_token(reader->event);
    if (!token)
        return true;
    if (++reader->anchor_count > MRG_YAML_ANCHORS) {
        mrg_problems_add(reader->problems, node->mark, "too many anchors; expected at most %u",
                         MRG_YAML_ANCHORS);
        return false;
    }
    struct anchor *anchor = mrg_arena_zalloc(reader->arena, sizeof(*anchor));
    size_t len = 0;
    const char *name = fy_token_get_text(token, &len);
    anchor->name = (struct mrg_slice){mrg_arena_memdup(reader->arena, name ? name : "", len), len};
    anchor->node = node;
    anchor->next = reader->anchors; /* the newest of a name is found first, as YAML says */
    reader->anchors = anchor;
    return true;
}

/* YAML's own tags are let pass (!!str makes a quoted text); others mean things that nobody here knows. */
static void check_tag(struct reader *reader, struct mrg_node *node)
{
    struct fy_token *token = fy_event_get_tag_token(reader->event);
    if (!token)
        return;
    size_t len = 0;
    const char *text = fy_token_get_text(token, &len);
    static const char own[] = "tag:yaml.org,2002:";
    if (text && len >= sizeof(own) - 1 && memcmp(text, own, sizeof(own) - 1) == 0) {
        node->quoted = node->quoted || (len == sizeof(own) - 1 + 3 && memcmp(text + len - 3, "str", 3) == 0);
        return;
    }
    mrg_problems_add(reader->problems, node->mark,
                     "a tag (!…) is not understood here; expected a plain value");
}

static bool on_open(struct reader *reader, enum mrg_node_kind kind)
{
    struct mrg_mark mark = event_mark(reader->event, 0);
    struct open *open = top_of(reader);
    if (open && open->node->kind == MRG_NODE_MAP && !open->key) {
        mrg_problems_add(reader->problems, mark, "a key is %s; expected a plain word",
                         kind == MRG_NODE_MAP ? "a mapping" : "a list");
        return false;
    }
    if (reader->depth == MRG_YAML_DEPTH) {
        mrg_problems_add(reader->problems, mark, "too deep; expected at most %d levels", MRG_YAML_DEPTH);
        return false;
    }
    struct mrg_node *node = new_node(reader, kind, mark);
    if (!node || !note_anchor(reader, node) || !place(reader, node))
        return false;
    check_tag(reader, node);
    reader->stack[reader->depth++] = (struct open){.node = node};
    return true;
}

static bool on_close(struct reader *reader)
{
    struct open *open = top_of(reader);
    bool ok = !open->merged || merge_all(reader, open);
    reader->depth--;
    return ok;
}

static bool on_scalar(struct reader *reader)
{
    struct fy_token *token = reader->event->scalar.value;
    enum fy_scalar_style style = token ? fy_token_scalar_style(token) : FYSS_PLAIN;
    bool in_quotes = style == FYSS_SINGLE_QUOTED || style == FYSS_DOUBLE_QUOTED;
    struct mrg_mark mark = event_mark(reader->event, in_quotes);
    size_t len = 0;
    const char *text = token ? fy_token_get_text(token, &len) : NULL;
    char *own = mrg_arena_memdup(reader->arena, text ? text : "", text ? len : 0);
    for (size_t i = 0; text && i < len; i++) {
        if ((unsigned char)own[i] >= 0x20 && own[i] != 0x7f)
            continue;
        mrg_problems_add(reader->problems, mark,
                         "the value has a line break or control character; expected one line");
        break;
    }
    struct open *open = top_of(reader);
    if (open && open->node->kind == MRG_NODE_MAP && !open->key) {
        open->key = style == FYSS_PLAIN && strcmp(own, merge_key) == 0 ? merge_key : own;
        open->key_mark = mark;
        return true;
    }
    struct mrg_node *node = new_node(reader, MRG_NODE_SCALAR, mark);
    if (!node)
        return false;
    node->text = own;
    node->quoted = style != FYSS_PLAIN;
    check_tag(reader, node);
    return note_anchor(reader, node) && place(reader, node);
}

static bool on_alias(struct reader *reader)
{
    struct mrg_mark mark = event_mark(reader->event, 1);
    struct open *open = top_of(reader);
    if (open && open->node->kind == MRG_NODE_MAP && !open->key) {
        mrg_problems_add(reader->problems, mark, "a key is an alias; expected a plain word");
        return false;
    }
    size_t len = 0;
    const char *name = fy_token_get_text(reader->event->alias.anchor, &len);
    struct anchor *anchor = reader->anchors;
    while (anchor && !mrg_slice_eq(anchor->name, (struct mrg_slice){name ? name : "", len}))
        anchor = anchor->next;
    if (!anchor) {
        mrg_problems_add(reader->problems, mark, "alias *%.*s has no anchor; expected &%.*s before it",
                         (int)len, name, (int)len, name);
        return false;
    }
    for (size_t i = 0; i < reader->depth; i++) {
        if (reader->stack[i].node == anchor->node) {
            mrg_problems_add(reader->problems, mark, "alias *%.*s stands within its own anchor", (int)len,
                             name);
            return false;
        }
    }
    struct mrg_node *node = copy(reader, anchor->node, reader->depth, mark);
    return node && place(reader, node);
}

static bool on_event(struct reader *reader)
{
    switch (reader->event->type) {
    case FYET_DOCUMENT_START:
        if (++reader->documents == 1)
            return true;
        mrg_problems_add(reader->problems, event_mark(reader->event, 0),
                         "a second document begins; expected one");
        return false;
    case FYET_MAPPING_START:
        return on_open(reader, MRG_NODE_MAP);
    case FYET_SEQUENCE_START:
        return on_open(reader, MRG_NODE_LIST);
    case FYET_MAPPING_END:
    case FYET_SEQUENCE_END:
        return on_close(reader);
    case FYET_SCALAR:
        return on_scalar(reader);
    case FYET_ALIAS:
        return on_alias(reader);
    default:
        return true;
    }
}

/* What the parser itself had to say. False when it was an error. */
static bool note_diagnostics(struct reader *reader, struct fy_diag *diag)
{
    bool ok = !fy_parser_get_stream_error(reader->parser);
    void *cursor = NULL;
    const struct fy_diag_error *error;
    bool said = false;
    while ((error = fy_diag_errors_iterate(diag, &cursor))) {
        if (error->type != FYET_ERROR)
            continue;
        mrg_problems_add(reader->problems, (struct mrg_mark){.line = error->line, .column = error->column},
                         "not YAML: %s", error->msg);
        ok = false;
        said = true;
    }
    if (!ok && !said)
        mrg_problems_add(reader->problems, (struct mrg_mark){0},
                         "not YAML; expected a mapping with `dependencies`");
    fy_diag_reset_error(diag); /* else what was gathered is never freed */
    return ok;
}

struct mrg_node *mrg_yaml_parse(struct mrg_arena *arena, struct mrg_slice text, struct mrg_problems *problems)
{
    if (text.len >= 3 && memcmp(text.ptr, "\xEF\xBB\xBF", 3) == 0)
        text = (struct mrg_slice){text.ptr + 3, text.len - 3};
    if (!check_text(text, problems))
        return NULL;
    struct fy_diag_cfg diag_cfg;
    fy_diag_cfg_default(&diag_cfg);
    diag_cfg.fp = NULL;
    struct fy_diag *diag = fy_diag_create(&diag_cfg);
    MRG_ASSERT(diag);
    fy_diag_set_collect_errors(diag, true);
    struct fy_parse_cfg cfg = {.flags = FYPCF_QUIET | FYPCF_JSON_NONE | FYPCF_DEFAULT_VERSION_1_2,
                               .diag = diag};
    struct reader reader = {.arena = arena, .problems = problems, .parser = fy_parser_create(&cfg)};
    MRG_ASSERT(reader.parser);
    bool ok = fy_parser_set_string(reader.parser, text.len ? text.ptr : "", text.len) == 0;
    while (ok && (reader.event = fy_parser_parse(reader.parser))) {
        ok = on_event(&reader);
        fy_parser_event_free(reader.parser, reader.event);
    }
    ok = note_diagnostics(&reader, diag) && ok;
    fy_parser_destroy(reader.parser);
    fy_diag_unref(diag);
    if (ok && !reader.top)
        mrg_problems_add(problems, (struct mrg_mark){0},
                         "the file is empty; expected at least `dependencies`");
    return ok ? reader.top : NULL;
}
