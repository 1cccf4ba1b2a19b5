// SPDX-License-Identifier: Apache-2.0
#include "fidelity/yaml.h"

#include <stdint.h>
#include <string.h>

#include "core/config_yaml.h"
#include "core/limits.h"
#include "util/slurp.h"

enum mrg_err mrg_yaml_file(const char *file, struct mrg_arena *arena, struct mrg_problems *problems,
                           struct mrg_node **ret_node, struct mrg_error *err)
{
    _cleanup_free_ char *text = NULL;
    size_t len = 0;
    enum mrg_err code = mrg_slurp(file, MRG_MAX_CONFIG, &text, &len, err);
    if (code)
        return mrg_error_wrap(err, "%s", file);
    *ret_node = mrg_yaml_parse(arena, (struct mrg_slice){text, len}, problems);
    return MRG_ERR_OK;
}

enum mrg_err mrg_yaml_problem(struct mrg_problems *problems, struct mrg_error *err)
{
    struct mrg_buf buf;
    if (problems->total == 0)
        return MRG_ERR_OK;
    mrg_buf_init(&buf, SIZE_MAX);
    mrg_problems_append(problems, &buf);
    enum mrg_err code = mrg_error_set(err, MRG_ERR_INVALID, "%.*s", (int)strcspn(buf.data, "\n"), buf.data);
    mrg_buf_done(&buf);
    return code;
}
