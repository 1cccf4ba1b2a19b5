// SPDX-License-Identifier: Apache-2.0
#include "evidence_help.h"

#include "evidence/example_redact.h"
#include "evidence/examples.h"
#include "evidence/prompt.h"
#include "evidence/tokens.h"
#include "evidence/use.h"
#include "evidence/words.h"

/* A dependency with everything that there is of the loans service. */
static struct mrg_dependency_config loans(void)
{
    static char *source[] = {"loans/src"}, *caller[] = {"loans/desk"}, *traces[] = {"loans/traces"},
                *schema[] = {"loans/openapi.yaml"}, *examples[] = {"loans/examples.jsonl"};
    static char name[] = "loans";
    struct mrg_dependency_config config = {.name = name};
    config.evidence = (struct mrg_evidence_config){.source = {source, 1},
                                                   .caller = {caller, 1},
                                                   .traces = {traces, 1},
                                                   .schema = {schema, 1},
                                                   .examples = {examples, 1},
                                                   .budget = 60000};
    return config;
}

static struct mrg_evidence *load(const struct mrg_dependency_config *config)
{
    struct mrg_evidence *evidence = NULL;
    struct mrg_error err;
    if (mrg_evidence_load(config, &evidence, &err))
        fail_msg("%s", err.message);
    return evidence;
}

static const char *prompt(const struct mrg_evidence *evidence)
{
    return mrg_evidence_prompt(evidence)->data;
}

static bool says(const struct mrg_evidence *evidence, const char *text)
{
    return strstr(prompt(evidence), text) != NULL;
}

/* Something that only that part says. */
#define IN_SOURCE   "def fresh():"
#define IN_CALLER   "def lend(book):\n    answer = requests.post"
#define IN_TRACES   "GET /loans/{id}: 200 (9), 404 (3)"
#define IN_SCHEMA   "openapi: 3.0.0"
#define IN_EXAMPLES "\"fee\":1.50"

static void test_uses(void **state)
{
    (void)state;
    static const struct {
        enum mrg_use use;
        enum mrg_use came_to;
        bool source, caller, traces, schema, examples;
    } cases[] = {
        {MRG_USE_ALL, MRG_USE_WHITE_BOX, true, true, true, true, true},
        {MRG_USE_WHITE_BOX, MRG_USE_WHITE_BOX, true, true, true, true, true},
        {MRG_USE_GREY_BOX, MRG_USE_GREY_BOX, false, true, true, true, true},
        {MRG_USE_BLACK_BOX, MRG_USE_BLACK_BOX, false, true, true, false, true},
        {MRG_USE_SOURCE, MRG_USE_SOURCE, true, false, false, false, false},
        {MRG_USE_CALLER, MRG_USE_CALLER, false, true, false, false, false},
        {MRG_USE_TRACES, MRG_USE_TRACES, false, false, true, false, false},
    };
    for (size_t i = 0; i < MRG_ARRAY_LEN(cases); i++) {
        struct mrg_dependency_config config = loans();
        config.evidence.use = cases[i].use;
        struct mrg_evidence *evidence = load(&config);
        const struct mrg_prompt_size *size = mrg_evidence_size(evidence);
        assert_int_equal(mrg_evidence_use(evidence), cases[i].came_to);
        assert_int_equal(says(evidence, IN_SOURCE), cases[i].source);
        assert_int_equal(says(evidence, IN_CALLER), cases[i].caller);
        assert_int_equal(says(evidence, IN_TRACES), cases[i].traces);
        assert_int_equal(says(evidence, IN_SCHEMA), cases[i].schema);
        assert_int_equal(says(evidence, IN_EXAMPLES), cases[i].examples);
        assert_int_equal(size->source_tokens > 0, cases[i].source);
        assert_int_equal(size->caller_tokens > 0, cases[i].caller);
        assert_int_equal(size->trace_tokens > 0, cases[i].traces);
        assert_int_equal(size->schema_tokens > 0, cases[i].schema);
        assert_int_equal(size->example_tokens > 0, cases[i].examples);
        assert_int_equal(says(evidence, "You are this source code in execution"), cases[i].source);
        assert_int_equal(says(evidence, "You have not seen the service's source"), !cases[i].source);
        assert_int_equal(size->bytes, mrg_evidence_prompt(evidence)->len);
        mrg_evidence_free(evidence);
    }
}

static void test_what_all_comes_to(void **state)
{
    (void)state;
    struct mrg_use_parts parts;
    enum mrg_use use;
    struct mrg_dependency_config config = loans();
    config.evidence.source.count = 0;
    assert_int_equal(mrg_use_resolve(&config, &use, &parts, NULL), MRG_ERR_OK);
    assert_int_equal(use, MRG_USE_GREY_BOX);
    config.evidence.schema.count = 0;
    assert_int_equal(mrg_use_resolve(&config, &use, &parts, NULL), MRG_ERR_OK);
    assert_int_equal(use, MRG_USE_BLACK_BOX);
    config.evidence.caller.count = config.evidence.examples.count = 0;
    assert_int_equal(mrg_use_resolve(&config, &use, &parts, NULL), MRG_ERR_OK);
    assert_int_equal(use, MRG_USE_TRACES);
    assert_true(parts.traces && !parts.source && !parts.caller && !parts.schema && !parts.examples);
    config.evidence.traces.count = 0;
    struct mrg_evidence *evidence = load(&config);
    assert_int_equal(mrg_evidence_use(evidence), MRG_USE_ALL);
    assert_true(says(evidence, "You are the service \"loans\""));
    mrg_evidence_free(evidence);
}

static void assert_fails(const struct mrg_dependency_config *config, enum mrg_err code, const char *message)
{
    struct mrg_evidence *evidence = NULL;
    struct mrg_error err = {0};
    assert_int_equal(mrg_evidence_load(config, &evidence, &err), code);
    assert_string_equal(err.message, message);
    assert_null(evidence);
}

static void test_errors(void **state)
{
    (void)state;
    struct mrg_dependency_config config = loans();
    config.evidence.schema.count = 0;
    config.evidence.use = MRG_USE_GREY_BOX;
    assert_fails(&config, MRG_ERR_INVALID,
                 "evidence.use: grey-box needs evidence.schema, which is not configured");
    config.evidence.use = MRG_USE_TRACES;
    char *gone[] = {"loans/gone"};
    config.evidence.traces = (struct mrg_strings){gone, 1};
    assert_fails(&config, MRG_ERR_NOT_FOUND, "evidence.traces: loans/gone: No such file or directory");
    char *notes[] = {"loans/traces/NOTES.md"};
    config.evidence.traces = (struct mrg_strings){notes, 1};
    struct mrg_evidence *evidence = NULL;
    struct mrg_error err = {0};
    assert_int_equal(mrg_evidence_load(&config, &evidence, &err), MRG_ERR_INVALID);
    assert_non_null(strstr(
        err.message, "NOTES.md: no server or client span with a method and a path is the dependency's"));
    config.evidence.use = MRG_USE_ALL;
    evidence = load(&config);
    assert_int_equal(mrg_evidence_size(evidence)->trace_tokens, 0);
    mrg_evidence_free(evidence);
    config = loans();
    config.preset = MRG_PRESET_PAPER;
    config.evidence.use = MRG_USE_GREY_BOX;
    assert_fails(&config, MRG_ERR_INVALID,
                 "evidence.use: grey-box is not one of preset paper's; expected white-box, black-box, "
                 "source, caller or traces");
}

static void test_stable(void **state)
{
    (void)state;
    struct mrg_dependency_config config = loans();
    struct mrg_evidence *first = load(&config), *second = load(&config);
    assert_string_equal(prompt(first), prompt(second));
    assert_string_equal(mrg_evidence_hash(first), mrg_evidence_hash(second));
    char *here = realpath(".", NULL);
    assert_false(says(first, here));
    /* The same files elsewhere: the same prompt and the same hash. */
    char *scratch = enter_scratch();
    _cleanup_free_ char *copy = mrg_asprintf("cp -r '%s/loans' .", here);
    assert_int_equal(system(copy), 0);
    struct mrg_evidence *third = load(&config);
    assert_string_equal(prompt(first), prompt(third));
    assert_string_equal(mrg_evidence_hash(first), mrg_evidence_hash(third));
    write_text("loans/desk/slips.py", "changed = True\n");
    struct mrg_evidence *fourth = load(&config);
    assert_string_not_equal(mrg_evidence_hash(first), mrg_evidence_hash(fourth));
    config.evidence.use = MRG_USE_SOURCE;
    struct mrg_evidence *fifth = load(&config);
    assert_string_not_equal(mrg_evidence_hash(first), mrg_evidence_hash(fifth));
    assert_int_equal(rename("loans/src/app.py", "loans/src/apq.py"), 0);
    struct mrg_evidence *sixth = load(&config);
    assert_string_not_equal(mrg_evidence_hash(fifth), mrg_evidence_hash(sixth));
    /* The same files put to another use are other evidence. */
    config.evidence.traces.count = config.evidence.examples.count = 0;
    config.evidence.use = MRG_USE_CALLER;
    struct mrg_evidence *seventh = load(&config);
    config.evidence.use = MRG_USE_BLACK_BOX;
    struct mrg_evidence *eighth = load(&config);
    assert_string_equal(prompt(seventh), prompt(eighth));
    assert_string_not_equal(mrg_evidence_hash(seventh), mrg_evidence_hash(eighth));
    leave_scratch(scratch);
    struct mrg_evidence *all[] = {first, second, third, fourth, fifth, sixth, seventh, eighth};
    for (size_t i = 0; i < MRG_ARRAY_LEN(all); i++)
        mrg_evidence_free(all[i]);
    free(here);
    assert_int_equal(enter_evidence(NULL), 0);
}

static void test_blocks_cannot_be_closed(void **state)
{
    (void)state;
    struct mrg_dependency_config config = loans();
    struct mrg_evidence *evidence = load(&config);
    /* banner.py says </file>, so the tag is another one; only ours has a name behind it. */
    assert_false(says(evidence, "<file name=\"app.py\">"));
    const char *open = strstr(prompt(evidence), " name=\"app.py\">");
    assert_non_null(open);
    while (*open != '<')
        open--;
    char tag[32] = {0};
    memcpy(tag, open + 1, 13);
    assert_memory_equal(tag, "file-", 5);
    size_t opened = 0, closed = 0;
    _cleanup_free_ char *opening = mrg_asprintf("<%s name=", tag);
    _cleanup_free_ char *closing = mrg_asprintf("</%s>\n", tag);
    for (const char *p = prompt(evidence); (p = strstr(p, opening)); p++)
        opened++;
    for (const char *p = prompt(evidence); (p = strstr(p, closing)); p++)
        closed++;
    assert_int_equal(opened, 10); /* 4 source, 1 schema, 3 caller, traces, examples */
    assert_int_equal(closed, 10);
    mrg_evidence_free(evidence);
    char *one[] = {"loans/src/app.py"};
    config.evidence.source = (struct mrg_strings){one, 1};
    evidence = load(&config);
    assert_true(says(evidence, "<file name=\"app.py\">\n\"\"\"The loans service"));
    mrg_evidence_free(evidence);
}

static void test_dropped(void **state)
{
    (void)state;
    struct mrg_dependency_config config = loans();
    struct mrg_evidence *evidence = load(&config);
    size_t count;
    const struct mrg_dropped *dropped = mrg_evidence_dropped(evidence, &count);
    assert_string_equal(why_dropped(dropped, count, "source tests/"), "tests");
    assert_string_equal(why_dropped(dropped, count, "traces NOTES.md"), "not .json, .jsonl or .ndjson");
    assert_string_equal(why_dropped(dropped, count, "traces"), "2 spans are of other services");
    const char *wrong = why_dropped(dropped, count, "traces spans.jsonl");
    assert_memory_equal(wrong, "1 of 19 lines cannot be read (line 19: ", 39);
    assert_string_equal(why_dropped(dropped, count, "examples examples.jsonl line 5"),
                        "expected \"method\" and \"path\"");
    assert_non_null(why_dropped(dropped, count, "examples examples.jsonl line 6"));
    mrg_evidence_free(evidence);
    config.evidence.budget = 300;
    config.evidence.use = MRG_USE_SOURCE;
    evidence = load(&config);
    dropped = mrg_evidence_dropped(evidence, &count);
    assert_string_equal(why_dropped(dropped, count, "source loans/banner.py"), "budget");
    assert_true(says(evidence, "Not shown, for lack of space: loans/banner.py"));
    assert_false(says(evidence, "BANNER"));
    mrg_evidence_free(evidence);
}

static void test_examples(void **state)
{
    (void)state;
    char *secret[] = {"body.$.book", "header.location"};
    struct mrg_dependency_config config = loans();
    config.evidence.use = MRG_USE_BLACK_BOX;
    struct mrg_evidence *evidence = load(&config);
    /* One an endpoint: the first 2xx, at its own spelling. */
    assert_true(says(
        evidence,
        "GET /loans/ln_5b0d93e1c27a\nreply: 200\nreply body: {\"id\":\"ln_5b0d93e1c27a\",\"book\":\"B-7\","
        "\"fee\":1.50}\n"));
    assert_true(says(
        evidence, "POST /loans\nrequest body: {\"book\":\"B-7\"}\nreply: 201 headers: {\"location\":\"/loans/"
                  "ln_5b0d93e1c27a\"}\nreply body: {\"id\":\"ln_5b0d93e1c27a\"}\n"));
    assert_false(says(evidence, "no loan ln_000000000000"));
    assert_false(says(evidence, "\"id\":\"another\""));
    mrg_evidence_free(evidence);
    config.redact = (struct mrg_strings){secret, 2};
    evidence = load(&config);
    assert_false(says(evidence, "B-7"));
    assert_false(says(evidence, "headers: {\"location"));
    assert_true(says(evidence, "\"book\":\"[redacted]\",\"fee\":1.50"));
    mrg_evidence_free(evidence);
}

static void test_paper(void **state)
{
    (void)state;
    char *scratch = enter_scratch();
    struct mrg_buf text;
    mrg_buf_init(&text, 1u << 20);
    for (unsigned i = 0; i < 9000; i++)
        mrg_buf_append_str(&text, "\xC3\xA9");
    write_file("a.py", text.data, text.len);
    write_file("b.py", text.data, text.len);
    char *one[] = {"a.py"}, *two[] = {"a.py", "b.py"}, *caller[] = {"b.py"};
    struct mrg_dependency_config config = loans();
    config.preset = MRG_PRESET_PAPER;
    config.evidence.budget = 1;
    config.evidence.traces.count = 0;
    config.evidence.source = (struct mrg_strings){one, 1};
    config.evidence.caller = (struct mrg_strings){caller, 1};
    struct mrg_evidence *evidence = load(&config);
    size_t count, letters = 0;
    const struct mrg_dropped *dropped = mrg_evidence_dropped(evidence, &count);
    for (const char *p = prompt(evidence); *p; p++)
        letters += *p == '\xC3';
    assert_int_equal(letters, 8000 + 5000);
    assert_string_equal(why_dropped(dropped, count, "source"), "cut to 8,000 characters (preset paper)");
    assert_string_equal(why_dropped(dropped, count, "caller"), "cut to 5,000 characters (preset paper)");
    assert_string_equal(why_dropped(dropped, count, "schema"), "preset paper shows none");
    assert_false(says(evidence, "unsure"));
    mrg_evidence_free(evidence);
    config.evidence.source = (struct mrg_strings){two, 2};
    config.evidence.use = MRG_USE_SOURCE;
    evidence = load(&config);
    letters = 0;
    for (const char *p = prompt(evidence); *p; p++)
        letters += *p == '\xC3';
    assert_int_equal(letters, 6000 - strlen("# File: a.py\n"));
    mrg_evidence_free(evidence);
    mrg_buf_done(&text);
    leave_scratch(scratch);
    assert_int_equal(enter_evidence(NULL), 0);
}

static void test_paper_parts(void **state)
{
    (void)state;
    struct mrg_dependency_config config = loans();
    config.preset = MRG_PRESET_PAPER;
    struct mrg_evidence *evidence = load(&config);
    static const char *const order[] = {"You simulate the service \"loans\"",
                                        "# File: app.py\n",
                                        "# File: desk.py\n",
                                        IN_TRACES,
                                        "Track its state",
                                        "\"status\": the HTTP status"};
    const char *at = prompt(evidence);
    for (size_t i = 0; i < MRG_ARRAY_LEN(order); i++) {
        at = strstr(at, order[i]);
        assert_non_null(at);
    }
    assert_false(says(evidence, "query keys"));
    assert_false(says(evidence, IN_SCHEMA));
    assert_false(says(evidence, IN_EXAMPLES));
    mrg_evidence_free(evidence);
}

/* They are paid for with each request, and must suit every service. */
static void test_words(void **state)
{
    (void)state;
    const char *const with[] = {mrg_words_intro,       mrg_words_intro_end,         mrg_words_with_source,
                                mrg_words_source_wins, mrg_words_made_up,           mrg_words_request,
                                mrg_words_answer,      mrg_words_unsure_with_source};
    const char *const without[] = {mrg_words_intro,          mrg_words_intro_end,
                                   mrg_words_without_source, mrg_words_schema_weight,
                                   mrg_words_example_weight, mrg_words_caller_weight,
                                   mrg_words_trace_weight,   mrg_words_without_source_end,
                                   mrg_words_made_up,        mrg_words_request,
                                   mrg_words_answer,         mrg_words_unsure_without_source};
    static const char *const services[] = {"order", "inventory", "payment",  "shipping",
                                           "cart",  "catalogue", "currency", "checkout"};
    struct mrg_buf a, b;
    mrg_buf_init(&a, 1u << 20);
    mrg_buf_init(&b, 1u << 20);
    for (size_t i = 0; i < MRG_ARRAY_LEN(with); i++)
        mrg_buf_append_str(&a, with[i]);
    for (size_t i = 0; i < MRG_ARRAY_LEN(without); i++)
        mrg_buf_append_str(&b, without[i]);
    assert_true(a.len < 900 * 45 / 10); /* English is some 4.5 bytes a token */
    assert_true(b.len < 1100 * 45 / 10);
    for (size_t i = 0; i < MRG_ARRAY_LEN(services); i++) {
        bool order_of = strcmp(services[i], "order") == 0; /* an ordinary word, too */
        assert_true(order_of || (!strcasestr(a.data, services[i]) && !strcasestr(b.data, services[i])));
    }
    mrg_buf_done(&a);
    mrg_buf_done(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_uses),        cmocka_unit_test(test_what_all_comes_to),
        cmocka_unit_test(test_errors),      cmocka_unit_test(test_stable),
        cmocka_unit_test(test_dropped),     cmocka_unit_test(test_blocks_cannot_be_closed),
        cmocka_unit_test(test_examples),    cmocka_unit_test(test_paper),
        cmocka_unit_test(test_paper_parts), cmocka_unit_test(test_words),
    };
    return cmocka_run_group_tests(tests, enter_evidence, NULL);
}
