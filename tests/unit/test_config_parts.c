// SPDX-License-Identifier: Apache-2.0
#include "config_help.h"

#include "core/config_check.h"
#include "core/config_override.h"
#include "core/config_scope.h"
#include "core/config_table.h"
#include "core/config_text.h"
#include "core/config_tree.h"
#include "core/config_value.h"

static void test_units(void **state)
{
    (void)state;
    static const struct {
        uint64_t ms;
        const char *text;
    } durations[] = {{0, "0s"},     {1, "1ms"},      {1500, "1500ms"}, {1000, "1s"},     {90000, "90s"},
                     {60000, "1m"}, {3600000, "1h"}, {5400000, "90m"}, {86400000, "24h"}};
    static const struct {
        size_t bytes;
        const char *text;
    } sizes[] = {{0, "0B"},       {1, "1B"},          {1024, "1KiB"},
                 {1025, "1025B"}, {8u << 20, "8MiB"}, {1536u << 10, "1536KiB"}};
    char text[MRG_UNIT_TEXT];
    for (size_t i = 0; i < MRG_ARRAY_LEN(durations); i++)
        assert_string_equal(mrg_duration_text(durations[i].ms, text), durations[i].text);
    for (size_t i = 0; i < MRG_ARRAY_LEN(sizes); i++)
        assert_string_equal(mrg_size_text(sizes[i].bytes, text), sizes[i].text);
}

static void test_table(void **state)
{
    (void)state;
    for (size_t i = 0; i < mrg_option_count; i++) {
        const struct mrg_option *option = &mrg_options[i];
        assert_ptr_equal(mrg_option_find(option->scope, option->path), option); /* no path twice */
        assert_true(option->help && option->help[0] && option->help[strlen(option->help) - 1] != '.');
        assert_true(option->type != MRG_OPTION_ENUM || option->values);
        assert_true(!mrg_option_is_value(option) || option->example || option->fallback);
        const char *dot = strrchr(option->path, '.');
        _cleanup_free_ char *section = dot ? mrg_strndup(option->path, (size_t)(dot - option->path)) : NULL;
        assert_true(!section || mrg_option_find(option->scope, section)->type == MRG_OPTION_SECTION);
    }
    char word[MRG_WORD];
    const struct mrg_option *use = mrg_option_find(MRG_SCOPE_DEPENDENCY, "evidence.use");
    assert_string_equal(mrg_option_word_text(use, MRG_USE_TRACES, word), "traces");
    assert_int_equal(mrg_option_word(use->values, "grey-box"), MRG_USE_GREY_BOX);
    assert_int_equal(mrg_option_word(use->values, "grey"), -1);
    assert_int_equal(mrg_option_word(use->values, ""), -1);
    const struct mrg_option *mode = mrg_option_find(MRG_SCOPE_DEPENDENCY, "cassette.mode");
    assert_string_equal(mrg_option_word_text(mode, MRG_CASSETTE_OFF, word), "off");
    assert_string_equal(mrg_option_type_name(mode), "auto|record|replay|off");
    assert_string_equal(mrg_option_key(mode), "mode");
    assert_true(mrg_option_section_is_live(MRG_SCOPE_DEPENDENCY, "listen"));
    assert_false(mrg_option_section_is_live(MRG_SCOPE_ROOT, "limits"));
}

static void test_paths(void **state)
{
    (void)state;
    const struct mrg_option *dir = mrg_option_find(MRG_SCOPE_DEPENDENCY, "cassette.dir");
    static const char *const paths[][2] = {
        {"a", "/f/a"}, {"./a//b/", "/f/a/b"}, {"/x/./y", "/x/y"}, {"../a", "/f/../a"}, {".", "/f"},
        {"/", "/"},    {".a", "/f/.a"},
    };
    for (size_t i = 0; i < MRG_ARRAY_LEN(paths); i++) {
        struct mrg_error err;
        _cleanup_free_ char *path = mrg_option_read_text(dir, "/f", paths[i][0], &err);
        assert_string_equal(path, paths[i][1]);
    }
    struct mrg_error err = {0};
    assert_null(mrg_option_read_text(dir, "/f", "", &err));
    assert_null(mrg_option_read_text(dir, "/f", "~/a", &err));
    assert_string_equal(err.message, "a path from /f or from /, because ~ is a shell's");
    assert_null(mrg_option_read_text(dir, "/dev", "null", NULL));
    char made[MRG_EXPECTED];
    assert_string_equal(mrg_option_expected(dir, made), "a path");
}

static void test_hosts(void **state)
{
    (void)state;
    char host[MRG_ADDRESS_HOST];
    assert_int_equal(mrg_address_split("[::1]:80", host), 80);
    assert_string_equal(host, "::1");
    assert_true(mrg_host_is_loopback(host));
    assert_int_equal(mrg_address_split("127.0.0.1:0", host), 0);
    static const char *const loopback[] = {"127.0.0.1", "127.9.9.9", "localhost", "::1", "0:0:0:0:0:0:0:1"};
    static const char *const others[] = {
        "0.0.0.0", "::", "10.0.0.1", "127.example.org", "localhost.example.org", "::2"};
    for (size_t i = 0; i < MRG_ARRAY_LEN(loopback); i++)
        assert_true(mrg_host_is_loopback(loopback[i]));
    for (size_t i = 0; i < MRG_ARRAY_LEN(others); i++) {
        assert_false(mrg_host_is_loopback(others[i]));
        assert_int_equal(mrg_host_is_any(others[i]), i < 2);
    }
}

static void test_tree(void **state)
{
    (void)state;
    struct mrg_arena *arena = mrg_arena_new(0);
    const struct mrg_mark here = {.line = 3, .column = 4}, there = {.origin = "--x"};
    struct mrg_node *root = mrg_node_new(arena, MRG_NODE_MAP, here);
    assert_true(mrg_node_put(arena, root, "a.b.c", "1", there));
    assert_true(mrg_node_put(arena, root, "a.b.d", "2", there));
    assert_int_equal(root->count, 1);
    assert_string_equal(mrg_node_find(root, "a.b.d")->text, "2");
    assert_true(mrg_node_put(arena, root, "a.b", "3", there));
    assert_null(mrg_node_find(root, "a.b.d"));
    assert_false(mrg_node_put(arena, root, "a.b.c", "4", there));
    assert_null(mrg_node_find(root, "a.x"));
    assert_null(mrg_node_get(NULL, "a"));
    assert_int_equal(mrg_node_mark_at(root, "x.y").line, 3);
    assert_string_equal(mrg_node_mark_at(root, "a.x").origin, "--x");
    size_t left = 2;
    assert_null(mrg_node_copy(arena, root, 9, &left));
    left = 3;
    assert_null(mrg_node_copy(arena, root, 2, &left));
    left = 3;
    const struct mrg_node *copy = mrg_node_copy(arena, root, 3, &left);
    assert_int_equal(left, 0);
    assert_string_equal(mrg_node_find(copy, "a.b")->text, "3");
    assert_ptr_not_equal(mrg_node_find(copy, "a.b"), mrg_node_find(root, "a.b"));
    mrg_arena_free(arena);
}

static void test_scope(void **state)
{
    (void)state;
    struct mrg_model_config one = {0}, two = {0};
    mrg_scope_defaults(MRG_SCOPE_MODEL, &one, "/");
    assert_int_equal(one.max_tokens, 2048);
    one.name = mrg_strdup("m");
    one.completion_tokens = true;
    mrg_scope_copy(MRG_SCOPE_MODEL, &two, &one);
    assert_ptr_not_equal(two.name, one.name);
    assert_string_equal(two.name, "m");
    assert_true(two.completion_tokens);
    assert_true(two.has_temperature && two.temperature == 0.1);
    struct json_object *object = json_object_new_object();
    mrg_scope_add_json(MRG_SCOPE_MODEL, &two, object);
    assert_string_equal(
        json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN),
        "{\"provider\":\"openai\",\"name\":\"m\",\"temperature\":0.1,\"max_completion_tokens\":2048,"
        "\"response_format\":\"none\",\"timeout\":\"1m\",\"retries\":4,\"concurrency\":16}");
    json_object_put(object);
    mrg_scope_done(MRG_SCOPE_MODEL, &one);
    mrg_scope_done(MRG_SCOPE_MODEL, &two);
    assert_null(two.name);
}

/* A value that does not fit changes nothing. */
static void test_set(void **state)
{
    (void)state;
    const struct mrg_option *retries = mrg_option_find(MRG_SCOPE_MODEL, "retries");
    struct mrg_model_config model = {.retries = 7};
    struct mrg_problems problems;
    mrg_problems_init(&problems, "x.yaml");
    struct mrg_node node = {.kind = MRG_NODE_SCALAR, .mark = {.line = 1, .column = 2}, .text = "11"};
    mrg_option_set(retries, &node, &model, "model.retries", "/", &problems);
    assert_int_equal(model.retries, 7);
    assert_int_equal(problems.total, 1);
    node.text = "10";
    mrg_option_set(retries, &node, &model, "model.retries", "/", &problems);
    assert_int_equal(model.retries, 10);
    assert_int_equal(problems.total, 1);
    mrg_problems_done(&problems);
}

static void test_overrides_go_into_the_tree(void **state)
{
    (void)state;
    char *const environ_list[] = {"MIRAGE_MODEL_NAME=a", "MIRAGE_MODEL_NAMES=", "AMIRAGE_X=1",
                                  "MIRAGE_NO_EQUALS", NULL};
    struct mrg_config_load load = {.arena = mrg_arena_new(0), .environ_list = environ_list};
    mrg_problems_init(&load.problems, "x.yaml");
    load.root = mrg_node_new(load.arena, MRG_NODE_MAP, (struct mrg_mark){.line = 1});
    mrg_override_environment(&load);
    const struct mrg_node *name = mrg_node_find(load.root, "model.name");
    assert_string_equal(name->text, "a");
    assert_string_equal(name->mark.origin, "MIRAGE_MODEL_NAME");
    mrg_override_flags(&load, &(struct mrg_override){"model.name", "b", "--model"}, 1);
    assert_string_equal(name->text, "b");
    assert_string_equal(name->mark.origin, "--model");
    assert_int_equal(load.problems.total, 0);
    assert_string_equal(mrg_config_getenv(&load, "MIRAGE_MODEL_NAME"), "a");
    assert_null(mrg_config_getenv(&load, "MIRAGE_MODEL_NAM"));
    assert_null(mrg_config_getenv(&load, "MIRAGE_NO_EQUALS"));
    mrg_problems_done(&load.problems);
    mrg_arena_free(load.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_units), cmocka_unit_test(test_table),
        cmocka_unit_test(test_paths), cmocka_unit_test(test_hosts),
        cmocka_unit_test(test_tree),  cmocka_unit_test(test_scope),
        cmocka_unit_test(test_set),   cmocka_unit_test(test_overrides_go_into_the_tree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
