// SPDX-License-Identifier: Apache-2.0
#include "llm/head.h"

#include <string.h>

static struct mrg_sha256 *start_digest(const struct mrg_text *system)
{
    struct mrg_sha256 *digest = mrg_sha256_new();
    if (system && system->len > 0) {
        mrg_sha256_add(digest, "system: ", 8);
        mrg_sha256_add(digest, system->data, system->len);
    }
    return digest;
}

static struct mrg_llm_head *find(struct mrg_list *heads, const struct mrg_model_config *model,
                                 const struct mrg_text *system)
{
    struct mrg_llm_head *head;
    MRG_LIST_EACH (head, heads, node) {
        if (head->system == system && head->provider == model->provider &&
            strcmp(head->model, model->name) == 0)
            return head;
    }
    return NULL;
}

struct mrg_llm_head *mrg_llm_head_get(struct mrg_list *heads, const struct mrg_model_config *model,
                                      struct mrg_text *system)
{
    struct mrg_llm_head *head = find(heads, model, system);
    if (head) {
        head->refs++;
        return head;
    }
    head = mrg_zalloc(sizeof(*head));
    head->provider = model->provider;
    head->system = mrg_text_ref(system);
    head->model = mrg_strdup(model->name);
    head->refs = 1;
    struct mrg_buf buf;
    mrg_buf_init(&buf, SIZE_MAX);
    mrg_llm_wire(model->provider)->append_head(&buf, model->name, system);
    head->json = mrg_buf_take(&buf, &head->len);
    head->digest = start_digest(system);
    mrg_list_append(heads, &head->node);
    return head;
}

void mrg_llm_head_put(struct mrg_llm_head *head)
{
    if (!head || --head->refs > 0)
        return;
    mrg_list_remove(&head->node);
    mrg_sha256_free(head->digest);
    mrg_text_unref(head->system);
    free(head->model);
    free(head->json);
    free(head);
}

void mrg_llm_head_hash(const struct mrg_llm_head *head, const struct mrg_llm_message *messages, size_t count,
                       char ret_hex[MRG_SHA256_HEX + 1])
{
    struct mrg_sha256 *digest = mrg_sha256_copy(head->digest);
    bool first = !head->system || head->system->len == 0;
    for (size_t i = 0; i < count; i++, first = false) {
        const char *label = messages[i].role == MRG_LLM_USER ? "\nuser: " : "\nassistant: ";
        mrg_sha256_add(digest, label + first, strlen(label + first));
        mrg_sha256_add(digest, messages[i].text->data, messages[i].text->len);
    }
    mrg_sha256_finish(digest, ret_hex);
}
