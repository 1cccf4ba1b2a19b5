// SPDX-License-Identifier: Apache-2.0
/*
 * Any bytes as mirage.yaml: there is a configuration or there are errors, never both; what was understood can be shown,
 * and what is shown as JSON is understood as the same.
 */
#include <string.h>

#include "core/config.h"
#include "util/json.h"

#define MOST (64u << 10) /* bytes of an input */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *const environ_list[] = {"TOKEN=t", "MIRAGE_MODEL_TIMEOUT=5s", "MIRAGE_DEPENDENCIES_A_PREFIX=/a",
                                     NULL};

static struct mrg_config *parse(struct mrg_slice text)
{
    struct mrg_buf errors;
    mrg_buf_init(&errors, SIZE_MAX);
    struct mrg_config *config = NULL;
    enum mrg_err err = mrg_config_parse("mirage.yaml", text, environ_list, NULL, 0, &config, &errors);
    MRG_ASSERT((err == MRG_ERR_OK) == (config != NULL));
    MRG_ASSERT((err == MRG_ERR_OK) == (errors.len == 0));
    MRG_ASSERT(errors.len == 0 || errors.data[errors.len - 1] == '\n');
    mrg_buf_done(&errors);
    return config;
}

static void try_json(const struct mrg_config *config)
{
    static const char file[] = "{\"file\":\"mirage.yaml\",";
    struct mrg_buf once, twice;
    mrg_buf_init(&once, SIZE_MAX);
    mrg_buf_init(&twice, SIZE_MAX);
    mrg_config_append_json(&once, config);
    MRG_ASSERT(mrg_json_check(mrg_buf_slice(&once), NULL) == MRG_ERR_OK);
    memset(once.data, ' ', sizeof(file) - 1);
    once.data[0] = '{';
    struct mrg_config *same = parse(mrg_buf_slice(&once));
    MRG_ASSERT(same);
    mrg_config_append_json(&twice, same);
    MRG_ASSERT(strcmp(once.data + sizeof(file) - 1, twice.data + sizeof(file) - 1) == 0);
    mrg_config_unref(same);
    mrg_buf_done(&once);
    mrg_buf_done(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > MOST)
        return 0;
    struct mrg_config *config = parse((struct mrg_slice){(const char *)data, size});
    if (!config)
        return 0;
    struct mrg_buf text;
    mrg_buf_init(&text, SIZE_MAX);
    mrg_config_append_summary(&text, config);
    mrg_buf_done(&text);
    try_json(config);
    mrg_config_unref(config);
    return 0;
}
