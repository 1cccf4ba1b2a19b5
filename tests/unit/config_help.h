// SPDX-License-Identifier: Apache-2.0
/*
 * Config help: what the tests of the configuration share: loading from a text, and the folder of their data.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/config.h"

#define MOST (1u << 22)

/* One dependency that needs nothing more; what is tested comes before or behind it. */
#define MODEL      "model: {name: m}\n"
#define DEPENDENCY "dependencies:\n  - name: a\n    listen: {http: 127.0.0.1:8001}\n"

static inline int enter_data(void **state)
{
    (void)state;
    const char *data = getenv("MIRAGE_TEST_DATA");
    return chdir(data ? data : "tests/unit/data") || chdir("config");
}

/* The configuration of a text, or the errors (free()) in *ret_errors; one of both is NULL. */
static inline struct mrg_config *parse_with(const char *text, char *const *environ_list,
                                            const struct mrg_override *flags, size_t flag_count,
                                            char **ret_errors)
{
    struct mrg_buf errors;
    mrg_buf_init(&errors, MOST);
    struct mrg_config *config = NULL;
    enum mrg_err err =
        mrg_config_parse("x.yaml", mrg_slice_of(text), environ_list, flags, flag_count, &config, &errors);
    assert_int_equal(err, errors.len ? MRG_ERR_INVALID : MRG_ERR_OK);
    assert_int_equal(config != NULL, err == MRG_ERR_OK);
    *ret_errors = errors.len ? mrg_buf_take(&errors, NULL) : NULL;
    mrg_buf_done(&errors);
    return config;
}

static inline struct mrg_config *parse_good(const char *text)
{
    char *errors = NULL;
    struct mrg_config *config = parse_with(text, NULL, NULL, 0, &errors);
    if (errors)
        fail_msg("%s", errors);
    return config;
}

/* That a text is refused with exactly these lines. */
static inline void assert_refused(const char *text, const char *lines)
{
    char *errors = NULL;
    struct mrg_config *config = parse_with(text, NULL, NULL, 0, &errors);
    if (config)
        fail_msg("accepted, though %s was expected, of:\n%s", lines, text);
    assert_string_equal(errors, lines);
    free(errors);
}
