// SPDX-License-Identifier: Apache-2.0
#include "config_help.h"

#include "core/config_yaml.h"
#include "core/limits.h"

static void test_anchors(void **state)
{
    (void)state;
    struct mrg_config *config = parse_good("model: &m {name: m, timeout: 5s}\n"
                                           "dependencies:\n"
                                           "  - &a\n"
                                           "    name: a\n"
                                           "    listen: {http: 127.0.0.1:8001}\n"
                                           "    memory: &memory {window: 7}\n"
                                           "    redact: &r [header.a]\n"
                                           "  - <<: *a\n"
                                           "    name: b\n"
                                           "    listen: {http: 127.0.0.1:8002}\n"
                                           "    model:\n"
                                           "      <<: [{retries: 1}, *m]\n"
                                           "      timeout: 9s\n"
                                           "  - {name: c, prefix: /c, memory: *memory, redact: *r}\n"
                                           "listen: {http: 127.0.0.1:8080}\n");
    const struct mrg_dependency_config *all = config->dependencies;
    assert_int_equal(config->dependency_count, 3);
    assert_string_equal(all[1].name, "b");
    assert_string_equal(all[1].listen_http, "127.0.0.1:8002");
    assert_int_equal(all[1].window, 7);
    assert_int_equal(all[1].model.retries, 1);
    assert_int_equal(all[1].model.timeout_ms, 9000);
    assert_int_equal(all[2].window, 7);
    assert_string_equal(all[2].redact.items[0], "header.a");
    mrg_config_unref(config);
}

/* What an alias repeats is another place: an override of the one leaves the other alone. */
static void test_alias_is_a_copy(void **state)
{
    (void)state;
    static const struct mrg_override flag = {"dependencies.b.memory.window", "3", "--x"};
    char *errors = NULL;
    struct mrg_config *config = parse_with(MODEL "listen: {http: 127.0.0.1:8080}\n"
                                                 "dependencies:\n"
                                                 "  - {name: a, prefix: /a, memory: &m {window: 7}}\n"
                                                 "  - {name: b, prefix: /b, memory: *m}\n",
                                           NULL, &flag, 1, &errors);
    if (errors)
        fail_msg("%s", errors);
    assert_int_equal(config->dependencies[0].window, 7);
    assert_int_equal(config->dependencies[1].window, 3);
    mrg_config_unref(config);
}

static void test_text_forms(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "\xEF\xBB\xBF" MODEL DEPENDENCY,
        "model: {name: m}\r\ndependencies:\r\n  - name: a\r\n    listen: {http: 127.0.0.1:8001}\r\n",
        "%YAML 1.2\n---\n" MODEL DEPENDENCY "...\n",
        "{\"model\": {\"name\": \"m\"}, \"dependencies\": [{\"name\": \"a\", \"listen\": {\"http\": "
        "\"127.0.0.1:8001\"}}]}",
        "control:\nlimits: ~\n" MODEL DEPENDENCY "    memory:\n    redact:\n",
        "model: {name: !!str m}\n" DEPENDENCY,
        MODEL "# \xC3\xA4\n" DEPENDENCY "    prefix: /\xC3\xA4\n",
    };
    for (size_t i = 0; i < MRG_ARRAY_LEN(texts); i++)
        mrg_config_unref(parse_good(texts[i]));
    struct mrg_config *config = parse_good("model: {name: 'null'}\n" DEPENDENCY);
    assert_string_equal(config->model.name, "null");
    mrg_config_unref(config);
}

static void test_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *lines;
    } wrong[] = {
        {"", "x.yaml: the file is empty; expected at least `dependencies`\n"},
        {"# nothing\n", "x.yaml: the file is empty; expected at least `dependencies`\n"},
        {"- a\n", "x.yaml:1:1: the file is a list; expected a mapping with `dependencies`\n"},
        {"hello\n", "x.yaml:1:1: the file is a value; expected a mapping with `dependencies`\n"},
        {"~\n", "x.yaml:1:1: the file is nothing; expected a mapping with `dependencies`\n"},
        {"model:\n\tname: m\n", "x.yaml:2:1: not YAML: tab character may not be used as indentation\n"},
        {"a: 'x\n", "x.yaml:1:5: not YAML: single-quoted scalar without closing quote\n"},
        {"a: [\n", "x.yaml:2:1: not YAML: flow sequence without a closing bracket\n"},
        {"\xFF\xFE"
         "a",
         "x.yaml:1:1: the file is in UTF-16; expected UTF-8\n"},
        {"a: b\nc: \xE4\n", "x.yaml:2:4: byte 0xe4 is not UTF-8; expected a text file in UTF-8\n"},
        {"a: b\nc: \x01\n", "x.yaml:2:4: control character 0x01; expected a text file\n"},
        {MODEL DEPENDENCY "---\na: b\n", "x.yaml:5:1: a second document begins; expected one\n"},
        {MODEL DEPENDENCY "    prefix: !x /a\n",
         "x.yaml:5:16: a tag (!…) is not understood here; expected a plain value\n"},
        {MODEL DEPENDENCY "? [a]\n: b\n", "x.yaml:5:3: a key is a list; expected a plain word\n"},
        {MODEL DEPENDENCY "? {a: b}\n: b\n", "x.yaml:5:3: a key is a mapping; expected a plain word\n"},
        {"a: &x b\n*x : c\n", "x.yaml:2:1: a key is an alias; expected a plain word\n"},
        {"a: *x\n", "x.yaml:1:4: alias *x has no anchor; expected &x before it\n"},
        {"a: &x [*x]\n", "x.yaml:1:8: alias *x stands within its own anchor\n"},
        {MODEL DEPENDENCY "    <<: [1]\n",
         "x.yaml:5:5: << has a value; expected an alias of a mapping, or a list of such\n"},
        {"model: {name: \"a\\nb\"}\n" DEPENDENCY,
         "x.yaml:1:15: the value has a line break or control character; expected one line\n"},
        {"model: {name: \"a\\0b\"}\n" DEPENDENCY,
         "x.yaml:1:15: the value has a line break or control character; expected one line\n"},
        {MODEL DEPENDENCY MODEL,
         "x.yaml:5:1: duplicate key \"model\"; expected it once, and it is on line 1\n"},
        {MODEL DEPENDENCY "  - \n",
         "x.yaml:3:3: dependencies[1]: expected a mapping with a name; got nothing\n"},
    };
    for (size_t i = 0; i < MRG_ARRAY_LEN(wrong); i++)
        assert_refused(wrong[i].text, wrong[i].lines);
}

static void test_nul(void **state)
{
    (void)state;
    static const char text[] = "a: b\n\0c: d\n";
    struct mrg_buf errors;
    mrg_buf_init(&errors, MOST);
    struct mrg_config *config = NULL;
    assert_int_equal(mrg_config_parse("x.yaml", (struct mrg_slice){text, sizeof(text) - 1}, NULL, NULL, 0,
                                      &config, &errors),
                     MRG_ERR_INVALID);
    assert_string_equal(errors.data, "x.yaml:2:1: control character 0x00; expected a text file\n");
    mrg_buf_done(&errors);
}

/* The last line of the errors of a text made by repeating; the text is freed. */
static void assert_bounded(struct mrg_buf *text, const char *part)
{
    char *errors = NULL;
    assert_null(parse_with(text->data, NULL, NULL, 0, &errors));
    if (!strstr(errors, part))
        fail_msg("no \"%s\" in:\n%s", part, errors);
    free(errors);
    mrg_buf_clear(text);
}

static void test_bounds(void **state)
{
    (void)state;
    struct mrg_buf text;
    mrg_buf_init(&text, MOST);
    mrg_buf_append_str(&text, "a: &a [x, x, x, x, x, x, x, x, x, x]\n");
    for (char c = 'b'; c < 'j'; c++)
        mrg_buf_appendf(&text, "%c: &%c [*%c, *%c, *%c, *%c, *%c, *%c, *%c, *%c, *%c]\n", c, c, c - 1, c - 1,
                        c - 1, c - 1, c - 1, c - 1, c - 1, c - 1, c - 1);
    assert_bounded(&text,
                   "too much or too deep with this alias; expected at most 100000 values and 32 levels\n");

    for (int i = 0; i < 5000; i++)
        mrg_buf_append_char(&text, '[');
    assert_bounded(&text, "x.yaml:1:33: too deep; expected at most 32 levels\n");

    mrg_buf_append_str(&text, "a0: &a0 [[[[[[[[x]]]]]]]]\n");
    for (int i = 1; i < 10; i++)
        mrg_buf_appendf(&text, "a%d: &a%d [[[[[[[[*a%d]]]]]]]]\n", i, i, i - 1);
    assert_bounded(&text, "x.yaml:4:17: too much or too deep with this alias;");

    for (int i = 0; i < 300; i++)
        mrg_buf_appendf(&text, "k%d: 1\n", i);
    assert_bounded(&text, "x.yaml:201:1: too many keys; expected at most 200 in a mapping\n");

    mrg_buf_append_str(&text, "a: [");
    for (unsigned i = 0; i <= MRG_YAML_NODES; i++)
        mrg_buf_append_str(&text, "1,");
    assert_bounded(&text, "too much; expected at most 100000 values, those of aliases included\n");

    mrg_buf_append_str(&text, "a:\n");
    for (unsigned i = 0; i <= MRG_YAML_ANCHORS; i++)
        mrg_buf_appendf(&text, "- &x%u 1\n", i);
    assert_bounded(&text, "x.yaml:1002:10: too many anchors; expected at most 1000\n");
    mrg_buf_done(&text);
}

/* Wherever a file is cut, there is an answer, and no fault of the reader's. */
static void test_cut_anywhere(void **state)
{
    (void)state;
    FILE *file = fopen("full.yaml", "r");
    assert_non_null(file);
    static char text[8192];
    size_t len = fread(text, 1, sizeof(text), file);
    fclose(file);
    assert_true(len > 1000 && len < sizeof(text));
    struct mrg_buf errors;
    mrg_buf_init(&errors, MOST);
    size_t good = 0;
    for (size_t cut = 0; cut <= len; cut++) {
        struct mrg_config *config = NULL;
        char *const environ_list[] = {"CONTROL_TOKEN=t", NULL};
        mrg_buf_clear(&errors);
        enum mrg_err err = mrg_config_parse("x.yaml", (struct mrg_slice){text, cut}, environ_list, NULL, 0,
                                            &config, &errors);
        assert_int_equal(err == MRG_ERR_OK, errors.len == 0);
        good += err == MRG_ERR_OK;
        mrg_config_unref(config);
    }
    assert_true(good > 0 && good < len);
    mrg_buf_done(&errors);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_anchors),      cmocka_unit_test(test_alias_is_a_copy),
        cmocka_unit_test(test_text_forms),   cmocka_unit_test(test_refused),
        cmocka_unit_test(test_nul),          cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_cut_anywhere),
    };
    return cmocka_run_group_tests(tests, enter_data, NULL);
}
