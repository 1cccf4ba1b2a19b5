// SPDX-License-Identifier: Apache-2.0
#include "core/match_int.h"

#include <string.h>

#include "util/uri.h"

/*
 * The last member name of a body path: each name of a path must occur in a body for the path to name anything
 * there.
 */
static char *needle_of(const char *text)
{
    const char *name = NULL;
    size_t len = 0;
    for (const char *p = strchr(text, '$'); p && *p;) {
        size_t plain = strcspn(p, ".[]'\"\\$* ");
        bool index = p[0] >= '0' && p[0] <= '9';
        if (*p == '\\')
            return NULL;
        if (plain > 0 && !index) {
            name = p;
            len = plain;
        }
        p += plain > 0 ? plain : 1;
    }
    return name ? mrg_strndup(name, len) : NULL;
}

static enum mrg_err rules_init(struct mrg_rules *rules, const struct mrg_strings *texts,
                               struct mrg_error *err)
{
    rules->items = mrg_zalloc((texts->count + 1) * sizeof(*rules->items));
    for (size_t i = 0; i < texts->count; i++) {
        struct mrg_rule *rule = &rules->items[i];
        enum mrg_err code = mrg_jpath_parse(texts->items[i], &rule->path, err);
        if (code)
            return code;
        rules->count++;
        rule->part = mrg_jpath_part(rule->path);
        if (rule->part == MRG_JPATH_BODY) {
            rule->needle = needle_of(texts->items[i]);
            struct mrg_slice text = mrg_slice_of(texts->items[i]);
            rules->whole_body |= mrg_slice_eq_str(text, "body") || mrg_slice_eq_str(text, "body.$");
        }
        rules->parts[rule->part] = true;
    }
    return MRG_ERR_OK;
}

static void rules_done(struct mrg_rules *rules)
{
    for (size_t i = 0; i < rules->count; i++) {
        mrg_jpath_free(rules->items[i].path);
        free(rules->items[i].needle);
    }
    free(rules->items);
}

bool mrg_rules_header(const struct mrg_rules *rules, struct mrg_slice name)
{
    if (!rules->parts[MRG_JPATH_HEADER])
        return false;
    for (size_t i = 0; i < rules->count; i++) {
        if (rules->items[i].part == MRG_JPATH_HEADER && mrg_jpath_match_header(rules->items[i].path, name))
            return true;
    }
    return false;
}

bool mrg_rules_query(const struct mrg_rules *rules, struct mrg_slice key)
{
    if (!rules->parts[MRG_JPATH_QUERY])
        return false;
    for (size_t i = 0; i < rules->count; i++) {
        const struct mrg_rule *rule = &rules->items[i];
        if (rule->part == MRG_JPATH_QUERY && mrg_slice_eq_str(key, mrg_jpath_name(rule->path)))
            return true;
    }
    return false;
}

bool mrg_rules_may_apply(const struct mrg_rules *rules, struct mrg_slice json)
{
    if (!rules->parts[MRG_JPATH_BODY])
        return false;
    /* With a backslash in the text, a name may be spelt in ways that a search for its bytes does not find. */
    bool escapes = memchr(json.ptr, '\\', json.len) != NULL;
    for (size_t i = 0; i < rules->count; i++) {
        const struct mrg_rule *rule = &rules->items[i];
        if (rule->part != MRG_JPATH_BODY)
            continue;
        if (escapes || !rule->needle || memmem(json.ptr, json.len, rule->needle, strlen(rule->needle)))
            return true;
    }
    return false;
}

/* Whether a pattern of headers.hide (any case, * at its end allowed) names a header. */
static bool hides(const char *pattern, struct mrg_slice name)
{
    size_t len = strlen(pattern);
    if (len == 0 || pattern[len - 1] != '*')
        return mrg_slice_caseeq_str(name, pattern);
    if (name.len < len - 1)
        return false;
    for (size_t i = 0; i < len - 1; i++) {
        char c = pattern[i];
        if (c >= 'A' && c <= 'Z')
            c = (char)(c + ('a' - 'A'));
        if (name.ptr[i] != c)
            return false;
    }
    return true;
}

bool mrg_match_shows(const void *match, const struct mrg_header *header)
{
    const struct mrg_match *self = match;
    if (self->config->preset == MRG_PRESET_PAPER && !mrg_slice_eq_str(header->name, "authorization") &&
        !mrg_slice_eq_str(header->name, "idempotency-key"))
        return false;
    if (mrg_header_is_noise(header->name))
        return false;
    for (size_t i = 0; i < self->config->hide.count; i++) {
        if (hides(self->config->hide.items[i], header->name))
            return false;
    }
    return true;
}

const struct mrg_request *mrg_match_shown(const struct mrg_match *match, struct mrg_arena *arena,
                                          const struct mrg_request *request)
{
    const struct mrg_request *redacted = mrg_match_redact(match, arena, request);
    struct mrg_request *shown = mrg_arena_alloc(arena, sizeof(*shown));
    *shown = *redacted;
    shown->path = mrg_uri_shown(arena, redacted->path);
    shown->headers = mrg_arena_alloc(arena, (redacted->header_count + 1) * sizeof(*shown->headers));
    shown->header_count = 0;
    for (size_t i = 0; i < redacted->header_count; i++) {
        const struct mrg_header *header = &redacted->headers[i];
        if (mrg_match_shows(match, header) && !mrg_header_is_implied(redacted, header))
            shown->headers[shown->header_count++] = *header;
    }
    return shown;
}

static void add_strings(struct mrg_buf *buf, const struct mrg_strings *strings)
{
    mrg_buf_appendf(buf, "%zu", strings->count);
    for (size_t i = 0; i < strings->count; i++)
        mrg_buf_append(buf, strings->items[i], strlen(strings->items[i]) + 1);
}

struct mrg_hash128 mrg_match_identity(const struct mrg_match *match)
{
    struct mrg_buf buf;
    const struct mrg_dependency_config *config = match->config;
    mrg_buf_init(&buf, SIZE_MAX);
    mrg_buf_append(&buf, config->name, strlen(config->name) + 1);
    mrg_buf_append_char(&buf, config->preset == MRG_PRESET_PAPER ? 'p' : 'n');
    add_strings(&buf, &config->cassette.ignore);
    add_strings(&buf, &config->hide);
    if (match->shape) {
        struct mrg_hash128 shape = match->shape->ops->identity(match->shape);
        mrg_buf_append(&buf, (const char *)&shape, sizeof(shape));
    }
    struct mrg_hash128 identity = mrg_hash128_of(buf.data, buf.len, 0);
    mrg_buf_done(&buf);
    return identity;
}

static bool any_route(const struct mrg_strings *routes, const struct mrg_request *request)
{
    for (size_t i = 0; i < routes->count; i++) {
        if (mrg_uri_match_route(routes->items[i], request->method, request->path))
            return true;
    }
    return false;
}

bool mrg_match_changes_state(const struct mrg_match *match, const struct mrg_request *request)
{
    if (any_route(&match->config->writes, request))
        return true;
    if (any_route(&match->config->reads, request))
        return false;
    return !mrg_slice_eq_str(request->method, "GET") && !mrg_slice_eq_str(request->method, "HEAD") &&
           !mrg_slice_eq_str(request->method, "OPTIONS");
}

enum mrg_err mrg_match_new(const struct mrg_dependency_config *config, struct mrg_match **ret_match,
                           struct mrg_error *err)
{
    struct mrg_match *match = mrg_zalloc(sizeof(*match));
    match->config = config;
    enum mrg_err code = rules_init(&match->ignore, &config->cassette.ignore, err);
    if (code)
        mrg_error_wrap(err, "%s: cassette.ignore", config->name);
    if (!code && (code = rules_init(&match->redact, &config->redact, err)))
        mrg_error_wrap(err, "%s: redact", config->name);
    if (code) {
        mrg_match_free(match);
        return code;
    }
    mrg_match_read_redact_key(match);
    *ret_match = match;
    return MRG_ERR_OK;
}

void mrg_match_use_shape(struct mrg_match *match, const struct mrg_shape *shape)
{
    match->shape = shape;
}

void mrg_match_free(struct mrg_match *match)
{
    if (!match)
        return;
    rules_done(&match->ignore);
    rules_done(&match->redact);
    free(match);
}
