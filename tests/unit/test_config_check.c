// SPDX-License-Identifier: Apache-2.0
#include "config_help.h"

#include "core/config_problems.h"
#include "core/limits.h"

/* Every kind of error in one file, against what is to be printed; @HERE@ in it is the folder. */
static void test_all_at_once(void **state)
{
    (void)state;
    struct mrg_buf errors, want;
    mrg_buf_init(&errors, MOST);
    mrg_buf_init(&want, MOST);
    struct mrg_config *config = NULL;
    assert_int_equal(mrg_config_load("errors.yaml", NULL, NULL, 0, &config, &errors), MRG_ERR_INVALID);
    FILE *file = fopen("errors.txt", "r");
    assert_non_null(file);
    static char text[32768];
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    fclose(file);
    char here[4096];
    assert_non_null(getcwd(here, sizeof(here)));
    for (const char *at = text; *at;) {
        const char *mark = strstr(at, "@HERE@");
        mrg_buf_append(&want, at, mark ? (size_t)(mark - at) : strlen(at));
        mrg_buf_append_str(&want, mark ? here : "");
        at = mark ? mark + strlen("@HERE@") : "";
    }
    assert_string_equal(errors.data, want.data);
    assert_null(strstr(errors.data, "sk-"));
    mrg_buf_done(&errors);
    mrg_buf_done(&want);
}

static void test_values(void **state)
{
    (void)state;
    static const struct {
        const char *text, *lines;
    } wrong[] = {
        {"model: {name: m, timeout: 60}\n" DEPENDENCY,
         "x.yaml:1:27: model.timeout: expected a duration such as 500ms, 60s or 2m; got \"60\"\n"},
        {"model: {name: m, timeout: 2h}\n" DEPENDENCY,
         "x.yaml:1:27: model.timeout: expected a duration from 1ms to 1h; got \"2h\"\n"},
        {"model: {name: m, timeout: 1.5s}\n" DEPENDENCY,
         "x.yaml:1:27: model.timeout: expected a duration such as 500ms, 60s or 2m; got \"1.5s\"\n"},
        {"model: {name: m, temperature: 0x1}\n" DEPENDENCY,
         "x.yaml:1:31: model.temperature: expected a number from 0 to 2, or none; got \"0x1\"\n"},
        {"model: {name: m, temperature: nan}\n" DEPENDENCY,
         "x.yaml:1:31: model.temperature: expected a number from 0 to 2, or none; got \"nan\"\n"},
        {"model: {name: m, retries: 4.0}\n" DEPENDENCY,
         "x.yaml:1:27: model.retries: expected a whole number from 0 to 10; got \"4.0\"\n"},
        {"model: {name: m, max_tokens: 99999999999999999999}\n" DEPENDENCY,
         "x.yaml:1:30: model.max_tokens: expected a whole number from 1 to 65536; got "
         "\"99999999999999999999\"\n"},
        {"model: {name: }\n" DEPENDENCY, "x.yaml:1:9: model.name: expected a text; got nothing\n"},
        {"model: {name: [m]}\n" DEPENDENCY, "x.yaml:1:15: model.name: expected a text; got a list\n"},
        {"model: m\n" DEPENDENCY,
         "x.yaml:1:8: model: expected a mapping of keys and values; got a value\n"
         "x.yaml:3:5: dependency a asks llm, but no model is named; expected model.name\n"},
        {"limits: {body: 300MiB}\n" MODEL DEPENDENCY,
         "x.yaml:1:16: limits.body: expected a size from 1B to 256MiB; got \"300MiB\"\n"},
        {MODEL DEPENDENCY "    redact: {a: b}\n",
         "x.yaml:5:13: dependencies.a.redact: expected a list, each item a part of a request such as "
         "header.x-request-id, query.ts or body.$..id; got a mapping\n"},
        {MODEL DEPENDENCY "    prefix: inventory\n", "x.yaml:5:13: dependencies.a.prefix: expected a path "
                                                     "prefix such as /inventory, without a slash at its end; "
                                                     "got \"inventory\"\n"},
        {MODEL DEPENDENCY "    prefix: /__s\n", "x.yaml:5:13: dependencies.a.prefix: expected a prefix "
                                                "outside /__s, which is Mirage's own; got \"/__s\"\n"},
        {MODEL DEPENDENCY "    cassette: {dir: full.yaml}\n", NULL},
        {MODEL DEPENDENCY "    evidence: {source: ~/x}\n", NULL},
        {MODEL DEPENDENCY "    listen.http: 127.0.0.1:1\n", NULL},
    };
    for (size_t i = 0; i < MRG_ARRAY_LEN(wrong); i++) {
        if (wrong[i].lines) {
            assert_refused(wrong[i].text, wrong[i].lines);
            continue;
        }
        char *errors = NULL;
        assert_null(parse_with(wrong[i].text, NULL, NULL, 0, &errors));
        assert_memory_equal(errors, "x.yaml:5:", 9);
        free(errors);
    }
}

static void test_addresses(void **state)
{
    (void)state;
    static const char *const good[] = {"127.0.0.1:0", "localhost:80", "[::1]:65535", "LOCALHOST:1",
                                       "127.1.2.3:9"};
    static const char *const bad[] = {"8001",
                                      ":8001",
                                      "127.0.0.1",
                                      "127.0.0.1:65536",
                                      "::1:80",
                                      "127.0.0.1:+80",
                                      "[::1]",
                                      "127.0.0.1:80x",
                                      "300.0.0.1:80",
                                      "a b:80",
                                      "[zz]:80",
                                      "-a:80",
                                      "http://localhost:80",
                                      "",
                                      "[]:80",
                                      "127.0.0.1: 80",
                                      "127.0.0.1:"};
    for (size_t i = 0; i < MRG_ARRAY_LEN(good); i++) {
        _cleanup_free_ char *text =
            mrg_asprintf(MODEL "dependencies: [{name: a, listen: {http: '%s'}}]\n", good[i]);
        mrg_config_unref(parse_good(text));
    }
    for (size_t i = 0; i < MRG_ARRAY_LEN(bad); i++) {
        _cleanup_free_ char *text =
            mrg_asprintf(MODEL "dependencies: [{name: a, listen: {http: '%s'}}]\n", bad[i]);
        char *errors = NULL;
        if (parse_with(text, NULL, NULL, 0, &errors))
            fail_msg("%s was accepted", bad[i]);
        if (!strstr(errors, "x.yaml:2:41: dependencies.a.listen.http: expected a"))
            fail_msg("%s: %s", bad[i], errors);
        free(errors);
    }
}

static void test_urls(void **state)
{
    (void)state;
    static const struct {
        const char *text, *normal;
    } good[] = {
        {"http://h", "http://h"},
        {"https://h:1/a/b//", "https://h:1/a/b"},
        {"HTTP://[::1]/v1", "HTTP://[::1]/v1"},
        {"http://[::1]:8/", "http://[::1]:8"},
    };
    static const char *const bad[] = {
        "h",      "ftp://h",    "http://",        "http://u:p@h", "http://h?a=b", "http://h/a#b",
        "http:h", "http://h:0", "http://h:99999", "http://h h",   "http:///a",    "http://h:x"};
    for (size_t i = 0; i < MRG_ARRAY_LEN(good); i++) {
        _cleanup_free_ char *text =
            mrg_asprintf("model: {name: m, base_url: '%s'}\n" DEPENDENCY, good[i].text);
        struct mrg_config *config = parse_good(text);
        assert_string_equal(config->model.base_url, good[i].normal);
        mrg_config_unref(config);
    }
    for (size_t i = 0; i < MRG_ARRAY_LEN(bad); i++) {
        _cleanup_free_ char *text = mrg_asprintf("model: {name: m, base_url: '%s'}\n" DEPENDENCY, bad[i]);
        char *errors = NULL;
        if (parse_with(text, NULL, NULL, 0, &errors))
            fail_msg("%s was accepted", bad[i]);
        assert_null(strstr(errors, "u:p"));
        assert_int_equal(strchr(bad[i], '@') != NULL,
                         strstr(errors, "a URL without a user or password") != NULL);
        free(errors);
    }
}

#define TWO "dependencies:\n  - {name: a, listen: {http: '127.0.0.1:1'}, prefix: /a}\n"

static void test_rules(void **state)
{
    (void)state;
    static const struct {
        const char *text, *lines;
    } wrong[] = {
        {MODEL, "x.yaml:1:1: no dependencies; expected at least one below `dependencies`\n"},
        {MODEL "dependencies: []\n",
         "x.yaml:2:15: no dependencies; expected at least one below `dependencies`\n"},
        {MODEL "dependencies: {a: b}\n",
         "x.yaml:2:15: dependencies: expected a list, each item with a name; got a mapping\n"},
        {MODEL "dependencies: [{name: a}]\n",
         "x.yaml:2:16: dependency a has no address; expected listen: "
         "{http: host:port}, or grpc or zmq there, or a prefix and a shared "
         "listen.http\n"},
        {MODEL "listen: {http: 'localhost:1'}\ndependencies: [{name: a}]\n",
         "x.yaml:3:16: dependency a has no address; expected listen: {http: host:port}, or grpc or zmq "
         "there, or a prefix on the "
         "shared "
         "address\n"},
        {MODEL TWO "  - {name: a, listen: {http: '127.0.0.1:2'}, prefix: /b}\n",
         "x.yaml:4:12: a second dependency a; expected a name of its own, and line 3 has this one\n"},
        {MODEL TWO "  - {name: b, listen: {http: '127.0.0.1:2'}, prefix: /a}\n",
         "x.yaml:4:54: prefix /a is taken on line 3 already; expected one of its own\n"},
        {MODEL TWO "  - {name: b, listen: {http: 'localhost:1'}}\n",
         "x.yaml:4:30: dependencies.b.listen.http: localhost:1 is taken on line 3 already; expected an "
         "address of its "
         "own\n"},
        {MODEL TWO "control: {listen: '127.0.0.1:1'}\n",
         "x.yaml:3:30: dependencies.a.listen.http: 127.0.0.1:1 is taken on line 4 already; expected an "
         "address of its "
         "own\n"},
        {DEPENDENCY, "x.yaml:2:5: dependency a asks llm, but no model is named; expected model.name\n"},
        {DEPENDENCY "    engines: [cassette]\n",
         "x.yaml:4:14: dependency a has nothing to record from: no llm among its engines; expected llm, or "
         "cassette.mode replay\n"},
        {DEPENDENCY "    engines: cassette\n    cassette: {mode: 'off'}\n",
         "x.yaml:5:22: dependency a has nothing to answer from: no llm, and the cassette is off; expected "
         "llm among "
         "its engines, or cassette.mode replay\n"},
        {MODEL DEPENDENCY "    engines: []\n",
         "x.yaml:5:14: dependency a has no engines; expected at least one\n"},
        {MODEL DEPENDENCY "    engines: [llm, llm]\n",
         "x.yaml:5:14: engine llm stands twice in the chain; expected it once\n"},
        {MODEL DEPENDENCY "    engines: [proxy]\n", "x.yaml:5:15: dependencies.a.engines: `proxy` belongs to "
                                                    "a later version; expected one of cassette, llm\n"},
        {MODEL DEPENDENCY "    evidence: {use: grey-box}\n",
         "x.yaml:5:21: evidence.use is grey-box, which needs evidence.schema; expected it\n"},
        {"model: {name: m, provider: anthropic, response_format: json_object}\n" DEPENDENCY,
         "x.yaml:1:56: response_format is for the provider openai only; expected none\n"},
        {MODEL "dependencies: [{name: a, listen: {http: '0.0.0.0:1'}}]\n",
         "x.yaml:2:41: dependencies.a.listen.http: control verbs on 0.0.0.0:1, which is not loopback, need a "
         "token; "
         "expected control.token_env or 127.0.0.1\n"},
        {"control: {token_env: T}\n" MODEL DEPENDENCY,
         "x.yaml:1:22: control.token_env: the variable T is not set; expected it to hold the token\n"},
    };
    for (size_t i = 0; i < MRG_ARRAY_LEN(wrong); i++)
        assert_refused(wrong[i].text, wrong[i].lines);
}

static void test_rules_that_let_pass(void **state)
{
    (void)state;
    static const char *const good[] = {
        DEPENDENCY "    engines: [cassette]\n    cassette: {mode: replay}\n",
        MODEL "listen: {http: 'localhost:0'}\ndependencies: [{name: a, listen: {http: 'localhost:0'}},"
              " {name: b, prefix: /a}, {name: c, prefix: /a/b}]\n",
        DEPENDENCY "    model: {name: m}\n",
        MODEL DEPENDENCY "    prefix: /__mock__x\n",
        MODEL DEPENDENCY "    reads: [/any, 'GET /a/{b=**}', 'M-SEARCH /a/*', 'POST /{id}:cancel']\n",
    };
    for (size_t i = 0; i < MRG_ARRAY_LEN(good); i++)
        mrg_config_unref(parse_good(good[i]));
    char *const environ_list[] = {"T=secret", NULL};
    char *errors = NULL;
    struct mrg_config *config = parse_with("control: {token_env: T}\n" MODEL
                                           "dependencies: [{name: a, listen: {http: '0.0.0.0:1'}}]\n",
                                           environ_list, NULL, 0, &errors);
    if (errors)
        fail_msg("%s", errors);
    mrg_config_unref(config);
}

static void test_prefixes(void **state)
{
    (void)state;
    static const char *const bad[] = {"/",    "//a",  "/a//b", "/a/",         "/a?b",
                                      "/a#b", "/a b", "a",     "/__mock__/x", "/__s/x"};
    for (size_t i = 0; i < MRG_ARRAY_LEN(bad); i++) {
        _cleanup_free_ char *text = mrg_asprintf(MODEL DEPENDENCY "    prefix: '%s'\n", bad[i]);
        char *errors = NULL;
        if (parse_with(text, NULL, NULL, 0, &errors))
            fail_msg("%s was accepted", bad[i]);
        assert_non_null(strstr(errors, "x.yaml:5:13: dependencies.a.prefix: expected a p"));
        free(errors);
    }
}

/* Different spellings of what cannot be bound twice. */
static void test_same_address(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"localhost:1", "127.0.0.1:1"}, {"127.0.0.1:1", "localhost:1"},  {"0.0.0.0:1", "127.0.0.1:1"},
        {"127.0.0.1:1", "[::]:1"},      {"LocalHost:01", "localhost:1"},
    };
    char *const environ_list[] = {"T=secret", NULL};
    for (size_t i = 0; i < MRG_ARRAY_LEN(pairs); i++) {
        _cleanup_free_ char *text = mrg_asprintf("control: {token_env: T, listen: '%s'}\n" MODEL
                                                 "dependencies: [{name: a, listen: {http: '%s'}}]\n",
                                                 pairs[i][0], pairs[i][1]);
        char *errors = NULL;
        assert_null(parse_with(text, environ_list, NULL, 0, &errors));
        assert_non_null(strstr(errors, " is taken on line 1 already; expected an address of its own\n"));
        free(errors);
    }
}

static void test_too_many(void **state)
{
    (void)state;
    struct mrg_buf text;
    mrg_buf_init(&text, MOST);
    mrg_buf_append_str(&text, MODEL DEPENDENCY "    redact:\n");
    for (int i = 0; i < 600; i++)
        mrg_buf_append_str(&text, "      - x\n");
    char *errors = NULL;
    assert_null(parse_with(text.data, NULL, NULL, 0, &errors));
    size_t lines = 0;
    for (const char *at = errors; (at = strchr(at, '\n')); at++)
        lines++;
    assert_int_equal(lines, MRG_MAX_CONFIG_ERRORS + 1);
    assert_non_null(strstr(errors, "x.yaml: and 550 more\n"));
    free(errors);
    mrg_buf_clear(&text);

    mrg_buf_append_str(&text, MODEL "dependencies:\n");
    for (unsigned i = 0; i <= MRG_MAX_DEPENDENCIES; i++)
        mrg_buf_appendf(&text, "- {name: a%u}\n", i);
    assert_null(parse_with(text.data, NULL, NULL, 0, &errors));
    assert_string_equal(errors, "x.yaml:3:1: 501 dependencies; expected at most 500\n");
    free(errors);
    mrg_buf_done(&text);
}

/* An error in what aliases repeat is one error. */
static void test_once(void **state)
{
    (void)state;
    assert_refused(
        MODEL "listen: {http: 'localhost:1'}\ndependencies:\n"
              "  - {name: a, prefix: /a, memory: &m {windw: 7}}\n"
              "  - {name: a, prefix: /b, memory: *m}\n",
        "x.yaml:4:39: unknown key \"windw\" in dependencies.a.memory; expected one of mode, window; did you "
        "mean \"window\"?\n"
        "x.yaml:5:12: a second dependency a; expected a name of its own, and line 4 has this one\n");
}

static void test_files(void **state)
{
    (void)state;
    struct mrg_buf errors;
    mrg_buf_init(&errors, MOST);
    struct mrg_config *config = NULL;
    assert_int_equal(mrg_config_load("none.yaml", NULL, NULL, 0, &config, &errors), MRG_ERR_NOT_FOUND);
    assert_string_equal(errors.data,
                        "none.yaml: cannot be read (No such file or directory); expected a configuration "
                        "file, and -c names it\n");
    mrg_buf_clear(&errors);
    assert_int_equal(mrg_config_load(".", NULL, NULL, 0, &config, &errors), MRG_ERR_INVALID);
    assert_int_equal(strncmp(errors.data, ".: cannot be read (Is a directory)", 34), 0);
    mrg_buf_clear(&errors);
    assert_int_equal(mrg_config_load("/dev/zero", NULL, NULL, 0, &config, &errors), MRG_ERR_INVALID);
    assert_string_equal(errors.data, "/dev/zero: too large; expected at most 1048576 bytes\n");
    assert_null(config);
    mrg_buf_done(&errors);
}

static void test_nearest(void **state)
{
    (void)state;
    static const struct {
        const char *name, *candidate;
        bool near;
    } pairs[] = {
        {"evidense", "evidence", true}, {"lisetn", "listen", true},
        {"baseurl", "base_url", true},  {"x", "model", false},
        {"dir", "mode", false},         {"on", "on", true},
        {"key", "key_env", false},      {"max-tokens", "max_tokens", true},
    };
    for (size_t i = 0; i < MRG_ARRAY_LEN(pairs); i++) {
        struct mrg_nearest nearest = {0};
        if (mrg_nearest_try(&nearest, pairs[i].name, pairs[i].candidate) != pairs[i].near)
            fail_msg("%s and %s", pairs[i].name, pairs[i].candidate);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_at_once), cmocka_unit_test(test_values),
        cmocka_unit_test(test_addresses),   cmocka_unit_test(test_urls),
        cmocka_unit_test(test_rules),       cmocka_unit_test(test_rules_that_let_pass),
        cmocka_unit_test(test_prefixes),    cmocka_unit_test(test_same_address),
        cmocka_unit_test(test_too_many),    cmocka_unit_test(test_once),
        cmocka_unit_test(test_files),       cmocka_unit_test(test_nearest),
    };
    return cmocka_run_group_tests(tests, enter_data, NULL);
}
