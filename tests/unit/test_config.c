// SPDX-License-Identifier: Apache-2.0
#include "config_help.h"

#include "core/config_table.h"
#include "core/limits.h"
#include "util/json.h"

static struct mrg_config *load(const char *path, char *const *environ_list)
{
    struct mrg_buf errors;
    mrg_buf_init(&errors, MOST);
    struct mrg_config *config = NULL;
    if (mrg_config_load(path, environ_list, NULL, 0, &config, &errors))
        fail_msg("%s", errors.data);
    assert_int_equal(errors.len, 0);
    mrg_buf_done(&errors);
    return config;
}

static void assert_here(const char *path, const char *rest)
{
    char here[4096], want[8192];
    assert_non_null(getcwd(here, sizeof(here)));
    snprintf(want, sizeof(want), "%s/%s", here, rest);
    assert_string_equal(path, want);
}

static void check_default_model(const struct mrg_model_config *model)
{
    assert_int_equal(model->provider, MRG_PROVIDER_ANTHROPIC);
    assert_string_equal(model->base_url, "https://api.anthropic.com");
    assert_string_equal(model->name, "claude-sonnet-4-5");
    assert_string_equal(model->key_env, "ANTHROPIC_API_KEY");
    assert_true(model->has_temperature);
    assert_true(model->temperature == 0.1);
    assert_int_equal(model->max_tokens, 2048);
    assert_false(model->completion_tokens);
    assert_int_equal(model->timeout_ms, 60000);
    assert_int_equal(model->retries, 4);
    assert_int_equal(model->concurrency, 16);
}

static void test_short(void **state)
{
    (void)state;
    struct mrg_config *config =
        parse_good("dependencies:\n"
                   "  - name: inventory\n"
                   "    listen: {http: 127.0.0.1:8001}\n"
                   "    evidence: {source: [services/inventory]}\n"
                   "model: {provider: anthropic, name: claude-sonnet-4-5, key_env: ANTHROPIC_API_KEY}\n");
    assert_null(config->control_listen);
    assert_null(config->listen_http);
    assert_true(config->reply_headers);
    assert_int_equal(config->limits.body, MRG_MAX_BODY);
    assert_int_equal(config->limits.headers, MRG_MAX_HEADER_BYTES);
    assert_int_equal(config->limits.deadline_ms, MRG_REQUEST_DEADLINE_MS);
    assert_int_equal(config->limits.drain_ms, MRG_DRAIN_MS);
    assert_int_equal(config->dependency_count, 1);
    const struct mrg_dependency_config *dependency = &config->dependencies[0];
    assert_string_equal(dependency->name, "inventory");
    assert_string_equal(dependency->listen_http, "127.0.0.1:8001");
    assert_null(dependency->prefix);
    assert_int_equal(dependency->line, 2);
    assert_here(dependency->evidence.source.items[0], "services/inventory");
    assert_int_equal(dependency->evidence.caller.count, 0);
    assert_int_equal(dependency->evidence.use, MRG_USE_ALL);
    assert_int_equal(dependency->evidence.budget, MRG_EVIDENCE_BUDGET);
    assert_int_equal(dependency->engines.count, 2);
    assert_string_equal(dependency->engines.items[0], "cassette");
    assert_string_equal(dependency->engines.items[1], "llm");
    assert_int_equal(dependency->cassette.mode, MRG_CASSETTE_AUTO);
    assert_int_equal(dependency->cassette.on_stale, MRG_STALE_WARN);
    assert_here(dependency->cassette.dir, "cassettes");
    assert_int_equal(dependency->window, MRG_WINDOW);
    assert_int_equal(dependency->preset, MRG_PRESET_NONE);
    assert_int_equal(dependency->on_gone, MRG_GONE_DEFAULT);
    assert_true(mrg_dependency_records(dependency));
    check_default_model(&dependency->model);
    mrg_config_unref(mrg_config_ref(config));
    mrg_config_unref(config);
    mrg_config_unref(NULL);
}

static void check_full_inventory(const struct mrg_dependency_config *one)
{
    assert_string_equal(one->prefix, "/inventory");
    assert_int_equal(one->evidence.caller.count, 1); /* a single value for a list */
    assert_here(one->evidence.caller.items[0], "services/order");
    assert_here(one->evidence.schema.items[0], "api/inventory.openapi.yaml");
    assert_int_equal(one->evidence.use, MRG_USE_WHITE_BOX);
    assert_int_equal(one->evidence.budget, 50000);
    assert_int_equal(one->cassette.mode, MRG_CASSETTE_RECORD);
    assert_int_equal(one->cassette.on_stale, MRG_STALE_REFUSE);
    assert_int_equal(one->cassette.ignore.count, 2);
    assert_string_equal(one->cassette.ignore.items[1], "body.$..created_at");
    assert_string_equal(one->reads.items[0], "POST /search");
    assert_string_equal(one->writes.items[0], "GET /shipments/{id}");
    assert_int_equal(one->window, 30);
    assert_int_equal(one->preset, MRG_PRESET_PAPER);
    assert_string_equal(one->hide.items[0], "x-b3-*");
    assert_int_equal(one->redact.count, 2);
    assert_int_equal(one->on_gone, MRG_GONE_FINISH);
    assert_false(one->model.has_temperature);
    assert_int_equal(one->model.max_tokens, 4096);
    assert_true(one->model.completion_tokens);
    assert_int_equal(one->model.timeout_ms, 120000);
    assert_int_equal(one->model.response_format, MRG_RESPONSE_JSON_OBJECT);
    assert_string_equal(one->model.name, "gpt-4o-mini");
    assert_string_equal(one->model.base_url, "http://127.0.0.1:8100/v1");
    assert_string_equal(one->model.key_env, "MIRAGE_OWN_KEY");
}

static char *full_environ[] = {"CONTROL_TOKEN=t", "MIRAGE_OWN_KEY=k", "PATH=/bin", NULL};

static void test_full(void **state)
{
    (void)state;
    struct mrg_config *config = load("full.yaml", full_environ);
    assert_string_equal(config->path, "full.yaml");
    assert_string_equal(config->control_listen, "127.0.0.1:8088");
    assert_string_equal(config->control_hosts.items[0], "mirage.test");
    assert_string_equal(config->control_token_env, "CONTROL_TOKEN");
    assert_string_equal(config->listen_http, "127.0.0.1:8080");
    assert_int_equal(config->limits.body, 1 << 20);
    assert_int_equal(config->limits.headers, 32 << 10);
    assert_int_equal(config->limits.deadline_ms, 90000);
    assert_int_equal(config->limits.drain_ms, 1500);
    assert_false(config->reply_headers);
    assert_true(config->model.has_temperature);
    assert_int_equal(config->dependency_count, 3);
    check_full_inventory(&config->dependencies[0]);
    assert_null(config->dependencies[1].listen_http);
    assert_string_equal(config->dependencies[2].listen_http, "[::1]:8003");
    mrg_config_unref(config);
}

/* A key is sent to the place that it was named for, and to no other. */
static void test_model_of_a_dependency(void **state)
{
    (void)state;
    struct mrg_config *config = load("full.yaml", full_environ);
    const struct mrg_model_config *other = &config->dependencies[1].model;
    assert_int_equal(other->provider, MRG_PROVIDER_ANTHROPIC);
    assert_string_equal(other->base_url, "https://api.anthropic.com");
    assert_string_equal(other->key_env, "ANTHROPIC_API_KEY");
    assert_int_equal(other->concurrency, 16);
    const struct mrg_model_config *elsewhere = &config->dependencies[2].model;
    assert_string_equal(elsewhere->base_url, "http://localhost:9999/v1");
    assert_null(elsewhere->key_env);
    assert_string_equal(elsewhere->name, "gpt-4o-mini");
    mrg_config_unref(config);

    config = parse_good("model: {name: m, base_url: 'http://h/v1', key_env: K}\n" DEPENDENCY
                        "    model: {base_url: 'https://api.openai.com/v1/'}\n");
    assert_string_equal(config->dependencies[0].model.key_env, "OPENAI_API_KEY");
    mrg_config_unref(config);

    config = parse_good("model: {name: m, response_format: json_object}\n" DEPENDENCY
                        "    model: {provider: anthropic, name: c}\n");
    assert_int_equal(config->model.response_format, MRG_RESPONSE_JSON_OBJECT);
    assert_int_equal(config->dependencies[0].model.response_format, MRG_RESPONSE_NONE);
    mrg_config_unref(config);

    config = parse_good("model: {name: m, provider: anthropic, base_url: 'http://h/v1/'}\n" DEPENDENCY
                        "    model: {key_env: OWN}\n");
    assert_string_equal(config->model.base_url, "http://h");
    assert_null(config->model.key_env);
    assert_string_equal(config->dependencies[0].model.key_env, "OWN");
    mrg_config_unref(config);
}

static void test_overrides(void **state)
{
    (void)state;
    static char *const environ_list[] = {
        "MIRAGE_MODEL_TIMEOUT=5s",
        "MIRAGE_MODEL_RETRIES=1",
        "MIRAGE_CONFIG=x",
        "MIRAGE_TEST_ANYTHING=x",
        "MIRAGE_OWN_KEY=secret",
        "CONTROL_TOKEN=t",
        "MIRAGE_PORT=tcp://10.0.0.1",
        "MIRAGE_PORT_80_TCP_ADDR=10.0.0.1",
        "MIRAGE_LIMITS_BODY=",
        "MIRAGE_DEPENDENCIES_PAY_MENT_2_CASSETTE_MODE=replay",
        "MIRAGE_MODEL_CONCURRENCY=3",
        "MIRAGE_DEPENDENCIES_SHIPPING_REDACT=header.a, query.b",
        NULL,
    };
    static const struct mrg_override flags[] = {
        {"model.retries", "2", "--a"},
        {"dependencies.*.memory.window", "9", "--b"},
        {"dependencies.pay.ment-2.model.name", "other", "--c"},
        {"dependencies.shipping.headers.hide", "x-a,x-b", "--d"},
    };
    struct mrg_buf errors;
    mrg_buf_init(&errors, MOST);
    struct mrg_config *config = NULL;
    if (mrg_config_load("full.yaml", environ_list, flags, MRG_ARRAY_LEN(flags), &config, &errors))
        fail_msg("%s", errors.data);
    assert_int_equal(config->model.timeout_ms, 5000);
    assert_int_equal(config->model.retries, 2);
    assert_int_equal(config->limits.body, 1 << 20);
    const struct mrg_dependency_config *all = config->dependencies;
    assert_int_equal(all[0].model.timeout_ms, 120000); /* its own stays */
    assert_int_equal(all[0].model.concurrency, 3);
    assert_int_equal(all[0].window, 9);
    assert_int_equal(all[2].window, 9);
    assert_int_equal(all[0].cassette.mode, MRG_CASSETTE_RECORD);
    assert_int_equal(all[1].cassette.mode, MRG_CASSETTE_REPLAY);
    assert_string_equal(all[1].model.name, "other");
    assert_int_equal(all[2].redact.count, 2);
    assert_string_equal(all[2].redact.items[1], "query.b");
    assert_string_equal(all[2].hide.items[1], "x-b");
    mrg_config_unref(config);
    mrg_buf_done(&errors);
}

/* A name with dots in it is told from a shorter one by its length. */
static void test_override_of_dotted_names(void **state)
{
    (void)state;
    static const struct mrg_override flags[] = {
        {"dependencies.a.b.memory.window", "3", "--x"},
        {"dependencies.a.memory.window", "4", "--x"},
    };
    char *errors = NULL;
    struct mrg_config *config = parse_with(
        MODEL DEPENDENCY "  - {name: a.b, listen: {http: '127.0.0.1:2'}}\n", NULL, flags, 2, &errors);
    if (errors)
        fail_msg("%s", errors);
    assert_int_equal(config->dependencies[0].window, 4);
    assert_int_equal(config->dependencies[1].window, 3);
    mrg_config_unref(config);
}

static void test_overrides_refused(void **state)
{
    (void)state;
    static char *const environ_list[] = {
        "MIRAGE_MODEL_NAEM=x",
        "MIRAGE_MODEL_TIMEOUT=soon",
        "MIRAGE_DEPENDENCIES_A_CASETTE_MODE=off",
        "MIRAGE_DEPENDENCIES_B_PREFIX=/b",
        "MIRAGE_MODELS=127.0.0.1:1",
        "MIRAGE_NOTHING_AT_ALL_LIKE_IT=1",
        "MIRAGE_DEPENDENCIES_C_D_PREFIX=/c",
        NULL,
    };
    static const struct mrg_override flags[] = {
        {"model.nam", "1", "--x"},
        {"dependencies.b.prefix", "/b", "--y"},
        {"dependencies.*.cassette.mode", "sometimes", "--mode"},
        {"dependencies.a.name", "b", "--z"},
    };
    char *errors = NULL;
    assert_null(parse_with(MODEL DEPENDENCY "  - {name: c.d, listen: {http: '127.0.0.1:1'}}\n"
                                            "  - {name: c-d, listen: {http: '127.0.0.1:2'}}\n",
                           environ_list, flags, MRG_ARRAY_LEN(flags), &errors));
    static const char *const lines[] = {
        "MIRAGE_MODEL_NAEM: no option has this variable; expected one of mirage.yaml(5); did you mean "
        "MIRAGE_MODEL_NAME?\n",
        "MIRAGE_MODEL_TIMEOUT: model.timeout: expected a duration such as 500ms, 60s or 2m; got \"soon\"\n",
        "MIRAGE_DEPENDENCIES_A_CASETTE_MODE: no option has this variable; expected one of mirage.yaml(5); "
        "did you "
        "mean MIRAGE_DEPENDENCIES_A_CASSETTE_MODE?\n",
        "MIRAGE_DEPENDENCIES_B_PREFIX: no dependency has this name; expected MIRAGE_DEPENDENCIES_NAME_…",
        "MIRAGE_MODELS: `models` belongs to a later version; this one has a single `model`, which a "
        "dependency may override\n",
        "MIRAGE_NOTHING_AT_ALL_LIKE_IT: no option has this variable; expected MIRAGE_ and a path of "
        "mirage.yaml(5)",
        "MIRAGE_DEPENDENCIES_C_D_PREFIX: this may mean dependency c.d or c-d;",
        "--x: unknown option \"model.nam\"; expected a path of mirage.yaml(5); did you mean "
        "\"model.name\"?\n",
        "--y: there is no dependency \"b\"; expected the name of one, or *\n",
        "--mode: dependencies.a.cassette.mode: expected one of auto, record, replay, off; got "
        "\"sometimes\"\n",
        "--z: unknown option \"name\"; expected a path of mirage.yaml(5)",
    };
    for (size_t i = 0; i < MRG_ARRAY_LEN(lines); i++) {
        if (!strstr(errors, lines[i]))
            fail_msg("no \"%s\" in:\n%s", lines[i], errors);
    }
    free(errors);
}

static void test_json_is_a_configuration(void **state)
{
    (void)state;
    struct mrg_config *config = load("full.yaml", full_environ);
    struct mrg_buf first, second, errors;
    mrg_buf_init(&first, MOST);
    mrg_buf_init(&second, MOST);
    mrg_buf_init(&errors, MOST);
    mrg_config_append_json(&first, config);
    mrg_config_unref(config);
    assert_int_equal(mrg_json_check(mrg_buf_slice(&first), NULL), MRG_ERR_OK);
    const char *file = "{\"file\":\"full.yaml\",";
    assert_memory_equal(first.data, file, strlen(file));
    first.data[0] = ' ';
    memset(first.data + 1, ' ', strlen(file) - 1);
    first.data[0] = '{';
    if (mrg_config_parse("full.yaml", mrg_buf_slice(&first), full_environ, NULL, 0, &config, &errors))
        fail_msg("%s\n%s", errors.data, first.data);
    mrg_config_append_json(&second, config);
    assert_string_equal(second.data + strlen(file), first.data + strlen(file));
    mrg_config_unref(config);
    mrg_buf_done(&first);
    mrg_buf_done(&second);
    mrg_buf_done(&errors);
}

static void test_summary(void **state)
{
    (void)state;
    struct mrg_config *config = load("full.yaml", full_environ);
    struct mrg_buf text;
    mrg_buf_init(&text, MOST);
    unsetenv("MIRAGE_OWN_KEY");
    mrg_config_append_summary(&text, config);
    setenv("MIRAGE_OWN_KEY", "sesame", 1);
    mrg_config_append_summary(&text, config);
    static const char *const parts[] = {
        "full.yaml: 3 dependencies\n",
        "  control   http://127.0.0.1:8088, token from CONTROL_TOKEN\n",
        "\ninventory\n  address   http://127.0.0.1:8001\n            http://127.0.0.1:8080/inventory\n",
        "  engines   cassette, then llm\n",
        "  sends     evidence, and requests with redacted placeholders, to http://127.0.0.1:8100/v1; "
        "requests also into the cassette\n",
        "  key       from MIRAGE_OWN_KEY, which is not set: nothing can be asked before it is\n",
        "  key       from MIRAGE_OWN_KEY\n",
        "  key       none is sent\n",
    };
    for (size_t i = 0; i < MRG_ARRAY_LEN(parts); i++) {
        if (!strstr(text.data, parts[i]))
            fail_msg("no \"%s\" in:\n%s", parts[i], text.data);
    }
    assert_null(strstr(text.data, "sesame"));
    unsetenv("MIRAGE_OWN_KEY");
    mrg_buf_done(&text);
    mrg_config_unref(config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_short),
        cmocka_unit_test(test_full),
        cmocka_unit_test(test_model_of_a_dependency),
        cmocka_unit_test(test_overrides),
        cmocka_unit_test(test_override_of_dotted_names),
        cmocka_unit_test(test_overrides_refused),
        cmocka_unit_test(test_json_is_a_configuration),
        cmocka_unit_test(test_summary),
    };
    return cmocka_run_group_tests(tests, enter_data, NULL);
}
