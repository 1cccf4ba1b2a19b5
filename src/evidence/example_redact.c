// SPDX-License-Identifier: Apache-2.0
#include "evidence/example_redact.h"

#include "util/jpath.h"
#include "util/json.h"

static struct json_object *hide(void *ctx, struct json_object *node, bool *ret_remove)
{
    (void)ctx;
    (void)node;
    (void)ret_remove;
    return json_object_new_string("[redacted]");
}

static void redact_text(const struct mrg_jpath *path, char **text)
{
    struct json_object *tree = NULL;
    struct mrg_buf buf;
    if (!*text || mrg_json_parse(mrg_slice_of(*text), &tree, NULL) != MRG_ERR_OK)
        return;
    if (mrg_jpath_apply(path, &tree, hide, NULL) > 0) {
        mrg_buf_init(&buf, SIZE_MAX);
        mrg_json_append_tree(&buf, tree);
        free(*text);
        *text = mrg_buf_take(&buf, NULL);
    }
    json_object_put(tree);
}

void mrg_examples_redact(struct mrg_examples *examples, const struct mrg_strings *redact)
{
    for (size_t i = 0; i < redact->count; i++) {
        struct mrg_jpath *path = NULL;
        if (mrg_jpath_parse(redact->items[i], &path, NULL) != MRG_ERR_OK)
            continue;
        for (size_t k = 0; k < examples->count && mrg_jpath_part(path) == MRG_JPATH_BODY; k++) {
            redact_text(path, &examples->items[k].request);
            redact_text(path, &examples->items[k].body);
        }
        for (size_t k = 0; k < examples->count && mrg_jpath_part(path) == MRG_JPATH_HEADER; k++)
            mrg_freep(&examples->items[k].headers);
        mrg_jpath_free(path);
    }
}
