// SPDX-License-Identifier: Apache-2.0
#include "config_help.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "core/config_table.h"

/* Every option's last key and help stand in a text. */
static void assert_complete(const struct mrg_buf *text)
{
    assert_false(mrg_buf_failed(text));
    for (size_t i = 0; i < mrg_option_count; i++) {
        const struct mrg_option *option = &mrg_options[i];
        if (!mrg_option_is_value(option))
            continue;
        if (!strstr(text->data, mrg_option_key(option)))
            fail_msg("no %s", option->path);
        if (option->scope == MRG_SCOPE_ROUTE)
            continue; /* the example has a route on one line */
        if (!strchr(option->help, '-') && !strchr(option->help, '`') && !strstr(text->data, option->help))
            fail_msg("no help of %s", option->path);
    }
}

static void test_complete(void **state)
{
    (void)state;
    struct mrg_buf text;
    mrg_buf_init(&text, MOST);
    mrg_config_append_man(&text);
    assert_complete(&text);
    assert_null(strstr(text.data, "\n.\n"));
    mrg_buf_clear(&text);
    mrg_config_append_markdown(&text);
    assert_complete(&text);
    mrg_buf_clear(&text);
    mrg_config_append_example(&text);
    assert_complete(&text);
    mrg_buf_done(&text);
}

static void touch(const char *path)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fclose(file);
}

/* The folder that the example speaks of. */
static int enter_example(void **state)
{
    static char folder[] = "/tmp/mirage-config-XXXXXX";
    static const char *const folders[] = {"services", "services/inventory", "services/order", "traces",
                                          "api",      "examples",           "proto"};
    if (!mkdtemp(folder) || chdir(folder))
        return -1;
    for (size_t i = 0; i < MRG_ARRAY_LEN(folders); i++)
        assert_int_equal(mkdir(folders[i], 0700), 0);
    touch("traces/inventory.jsonl");
    touch("api/inventory.openapi.yaml");
    touch("examples/inventory.jsonl");
    touch("api.binpb");
    assert_int_equal(mkdir("proto/inventory", 0700), 0);
    assert_int_equal(mkdir("proto/inventory/v1", 0700), 0);
    touch("proto/inventory/v1/inventory.proto");
    *state = folder;
    return 0;
}

static int leave_example(void **state)
{
    static const char *const names[] = {
        "traces/inventory.jsonl",
        "api/inventory.openapi.yaml",
        "examples/inventory.jsonl",
        "api.binpb",
        "proto/inventory/v1/inventory.proto",
        "proto/inventory/v1",
        "proto/inventory",
        "proto",
        "services/inventory",
        "services/order",
        "services",
        "traces",
        "api",
        "examples",
    };
    for (size_t i = 0; i < MRG_ARRAY_LEN(names); i++)
        assert_int_equal(remove(names[i]), 0);
    return chdir("/") || remove(*state);
}

static void test_example_loads(void **state)
{
    (void)state;
    struct mrg_buf text;
    mrg_buf_init(&text, MOST);
    mrg_config_append_example(&text);
    struct mrg_config *config = parse_good(text.data);
    assert_string_equal(config->dependencies[0].name, "inventory");
    mrg_config_unref(config);
    mrg_buf_done(&text);
}

/* The same with every comment sign before a key taken away. */
static void test_example_in_full_loads(void **state)
{
    (void)state;
    struct mrg_buf text, full;
    mrg_buf_init(&text, MOST);
    mrg_buf_init(&full, MOST);
    mrg_config_append_example(&text);
    unsigned keys = 0;
    for (const char *line = text.data; *line;) {
        size_t len = strcspn(line, "\n"), blank = strspn(line, " ");
        bool key = line[blank] == '#' && line[blank + 1] != ' ';
        /* Keys of which a file has one or the other. */
        const char *name = line + blank + key;
        bool either = strncmp(name, "max_completion_tokens", 21) == 0 || strncmp(name, "rpc: ", 5) == 0 ||
                      strncmp(name, "route: ", 7) == 0;
        if (!either) {
            mrg_buf_append(&full, line, blank);
            mrg_buf_append(&full, line + blank + key, len - blank - key);
            mrg_buf_append_char(&full, '\n');
            keys += key;
        }
        line += len + 1;
    }
    assert_true(keys > 30);
    char *const environ_list[] = {"CONTROL_TOKEN=t", NULL};
    char *errors = NULL;
    struct mrg_config *config = parse_with(full.data, environ_list, NULL, 0, &errors);
    if (errors)
        fail_msg("%s\n%s", errors, full.data);
    assert_string_equal(config->listen_http, "127.0.0.1:8080");
    assert_int_equal(config->dependencies[0].model.max_tokens, 4096);
    assert_string_equal(config->dependencies[0].model.key_env, "ANTHROPIC_API_KEY");
    mrg_config_unref(config);
    mrg_buf_done(&text);
    mrg_buf_done(&full);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_complete),
        cmocka_unit_test(test_example_loads),
        cmocka_unit_test(test_example_in_full_loads),
    };
    return cmocka_run_group_tests(tests, enter_example, leave_example);
}
