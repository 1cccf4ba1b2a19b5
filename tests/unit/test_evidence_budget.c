// SPDX-License-Identifier: Apache-2.0
#include "evidence_help.h"

#include <limits.h>

#include "evidence/budget.h"
#include "evidence/idioms.h"
#include "evidence/imports.h"
#include "evidence/nearness.h"
#include "evidence/parts.h"
#include "evidence/tokens.h"

static void read_files(const char *part, struct mrg_strings roots, struct mrg_files *files)
{
    struct mrg_drops drops = {0};
    assert_int_equal(mrg_files_read(part, &roots, MRG_FILES_CODE, NULL, files, &drops, NULL), MRG_ERR_OK);
    mrg_drops_done(&drops);
}

static size_t index_of(const struct mrg_files *files, const char *name)
{
    for (size_t i = 0; i < files->count; i++) {
        if (strcmp(files->items[i].name, name) == 0)
            return i;
    }
    fail_msg("no file %s", name);
    return 0;
}

static unsigned distance_of(const struct mrg_files *files, const char *name)
{
    return files->items[index_of(files, name)].distance;
}

static void read_endpoints(struct mrg_endpoints *endpoints)
{
    struct mrg_traces traces = {0};
    struct mrg_trace_report report;
    assert_int_equal(mrg_traces_add_file(&traces, "loans/traces/spans.jsonl", &report, NULL), MRG_ERR_OK);
    mrg_endpoints_make(&traces, "loans", endpoints);
    mrg_traces_done(&traces);
}

static void test_idioms(void **state)
{
    (void)state;
    static const char *const routes[] = {
        "@app.route('/x')",
        "@router.get(\"/x\")",
        "def do_GET(self):",
        "app.get('/x', f)",
        "http.HandleFunc(\"/x\", f)",
        "r.GET(\"/x\", f)",
        "@GetMapping(\"/x\")",
        "@Path(\"/x\")",
        "[HttpGet(\"x\")]",
        "app.MapGet(\"/x\", f)",
        "get '/x' do",
        "Route::get('/x', f)",
        "#[get(\"/x\")]",
        "Router::new().route()",
        "MHD_start_daemon(f)",
        "case \"GET\", \"x\":",
        "class S(x_pb2_grpc.XServicer):",
    };
    for (size_t i = 0; i < MRG_ARRAY_LEN(routes); i++) {
        if (!mrg_idioms_route(mrg_slice_of(routes[i])))
            fail_msg("%s defines a route", routes[i]);
    }
    assert_false(mrg_idioms_route(MRG_SLICE("def add(a, b):\n    return a + b\n")));
    assert_true(mrg_idioms_call(MRG_SLICE("r = requests.post(url)")));
    assert_false(mrg_idioms_call(MRG_SLICE("INK = 'blue'")));
    assert_true(mrg_idioms_mentions(MRG_SLICE("my Loans!"), "loans", true, false));
    assert_false(mrg_idioms_mentions(MRG_SLICE("my Loans!"), "loans", true, true));
    assert_false(mrg_idioms_mentions(MRG_SLICE("preloans"), "loans", true, false));
    assert_true(mrg_idioms_mentions(MRG_SLICE("preloans"), "loans", false, false));
    assert_false(mrg_idioms_mentions(MRG_SLICE(""), "loans", false, false));
}

static void test_imports(void **state)
{
    (void)state;
    struct mrg_files python = {0}, go = {0};
    read_files("source", PATHS("loans/src"), &python);
    read_files("source", PATHS("loans-go"), &go);
    struct mrg_imports *imports = mrg_imports_new(&python);
    assert_true(mrg_imports_has(imports, index_of(&python, "app.py"), index_of(&python, "loans/store.py")));
    assert_true(
        mrg_imports_has(imports, index_of(&python, "loans/store.py"), index_of(&python, "loans/ids.py")));
    assert_false(mrg_imports_has(imports, index_of(&python, "loans/ids.py"), index_of(&python, "app.py")));
    assert_false(mrg_imports_has(imports, index_of(&python, "app.py"), index_of(&python, "loans/banner.py")));
    mrg_imports_free(imports);
    imports = mrg_imports_new(&go);
    assert_true(
        mrg_imports_has(imports, index_of(&go, "main.go"), index_of(&go, "internal/store/limits.go")));
    assert_true(mrg_imports_has(imports, index_of(&go, "internal/store/store.go"),
                                index_of(&go, "internal/store/limits.go")));
    assert_false(mrg_imports_has(imports, index_of(&go, "main.go"), index_of(&go, "cmd/release.sh")));
    mrg_imports_free(imports);
    mrg_files_done(&python);
    mrg_files_done(&go);
}

static void test_nearness(void **state)
{
    (void)state;
    struct mrg_files source = {0}, go = {0}, caller = {0};
    struct mrg_endpoints endpoints;
    read_files("source", PATHS("loans/src"), &source);
    read_files("source", PATHS("loans-go"), &go);
    read_files("caller", PATHS("loans/desk"), &caller);
    read_endpoints(&endpoints);
    mrg_nearness_source(&source);
    assert_int_equal(distance_of(&source, "app.py"), 0);
    assert_int_equal(distance_of(&source, "loans/store.py"), 1);
    assert_int_equal(distance_of(&source, "loans/ids.py"), 2);
    assert_int_equal(distance_of(&source, "loans/banner.py"), MRG_FAR);
    mrg_nearness_source(&go);
    assert_int_equal(distance_of(&go, "main.go"), 0);
    assert_int_equal(distance_of(&go, "internal/store/limits.go"), 1);
    assert_int_equal(distance_of(&go, "cmd/release.sh"), MRG_FAR);
    mrg_nearness_caller(&caller, &endpoints, "nobody");
    assert_int_equal(distance_of(&caller, "desk.py"), 0);
    assert_int_equal(distance_of(&caller, "slips.py"), 1);
    assert_int_equal(distance_of(&caller, "colours.py"), MRG_FAR);
    mrg_endpoints_done(&endpoints);
    mrg_files_done(&source);
    mrg_files_done(&go);
    mrg_files_done(&caller);
}

/* All of the loans service, and `extra` endpoints that were seen once each. */
static void make_parts(struct mrg_parts *parts, unsigned extra)
{
    *parts = (struct mrg_parts){.name = "loans"};
    read_files("source", PATHS("loans/src"), &parts->source);
    read_files("caller", PATHS("loans/desk"), &parts->caller);
    struct mrg_traces traces = {0};
    struct mrg_trace_report report;
    assert_int_equal(mrg_traces_add_file(&traces, "loans/traces/spans.jsonl", &report, NULL), MRG_ERR_OK);
    for (unsigned i = 0; i < extra; i++) {
        _cleanup_free_ char *line =
            mrg_asprintf("{\"kind\":2,\"service.name\":\"loans\",\"http.method\":\"GET\",\"http.route\":"
                         "\"/rare/%c\",\"http.target\":\"/\",\"http.status_code\":200}",
                         (char)('a' + i));
        assert_true(mrg_traces_add(&traces, mrg_slice_of(line), NULL));
    }
    mrg_endpoints_make(&traces, "loans", &parts->endpoints);
    mrg_traces_done(&traces);
}

/* What is left out, in order, joined by "; ", at a budget of `tokens`. The caller frees it. */
static char *left_out_at(int tokens, unsigned extra, enum mrg_err expected)
{
    struct mrg_parts parts;
    struct mrg_error err = {0};
    make_parts(&parts, extra);
    assert_int_equal(mrg_budget_keep(&parts, tokens, &err), expected);
    struct mrg_buf buf;
    mrg_buf_init(&buf, 1u << 20);
    for (size_t i = 0; i < parts.drops.count; i++) {
        assert_string_equal(parts.drops.items[i].why, "budget");
        mrg_buf_appendf(&buf, "%s%s", i > 0 ? "; " : "", parts.drops.items[i].what);
    }
    if (expected != MRG_ERR_OK)
        mrg_buf_appendf(&buf, " -> %s", err.message);
    mrg_parts_done(&parts);
    return mrg_buf_take(&buf, NULL);
}

#define RARE   "traces GET /rare/j; traces GET /rare/i"
#define CALLER "caller colours.py; caller slips.py; caller desk.py"
#define SOURCE "source loans/banner.py; source loans/ids.py; source loans/store.py"

static void test_order(void **state)
{
    (void)state;
    const char *const full = RARE "; " CALLER "; " SOURCE;
    _cleanup_free_ char *none = left_out_at(60000, 10, MRG_ERR_OK);
    assert_string_equal(none, "");
    /* Each smaller budget leaves out a longer beginning of one and the same list. */
    size_t last = 0;
    for (int tokens = 900; tokens >= 300; tokens -= 20) {
        _cleanup_free_ char *left_out = left_out_at(tokens, 10, MRG_ERR_OK);
        size_t len = strlen(left_out);
        if (strncmp(left_out, full, len < strlen(full) ? len : strlen(full)) != 0)
            fail_msg("at %d: %s", tokens, left_out);
        assert_true(len >= last);
        last = len;
    }
    assert_true(last >= strlen(RARE "; " CALLER "; source loans/banner.py"));
}

static void test_the_last_file_stays(void **state)
{
    (void)state;
    _cleanup_free_ char *at_one = left_out_at(1, 0, MRG_ERR_TOO_LARGE);
    const char *const expected = CALLER "; " SOURCE "; traces POST /loans; traces GET /loans/{id} -> "
                                        "evidence.budget: 1 tokens do not hold what must stay "
                                        "(about ";
    assert_memory_equal(at_one, expected, strlen(expected));
    assert_non_null(strstr(at_one, "raise it, or give less evidence"));
}

static void test_fits_the_estimate(void **state)
{
    (void)state;
    struct mrg_parts parts;
    make_parts(&parts, 10);
    assert_int_equal(mrg_budget_keep(&parts, 400, NULL), MRG_ERR_OK);
    int sum = 0;
    for (size_t i = 0; i < parts.source.count; i++) {
        const struct mrg_file *file = &parts.source.items[i];
        sum += file->left_out ? 0 : mrg_tokens((struct mrg_slice){file->data, file->len});
    }
    assert_in_range(sum, 100, 400);
    assert_int_equal(mrg_parts_kept(&parts.caller), 0);
    mrg_parts_done(&parts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_idioms),
        cmocka_unit_test(test_imports),
        cmocka_unit_test(test_nearness),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_the_last_file_stays),
        cmocka_unit_test(test_fits_the_estimate),
    };
    return cmocka_run_group_tests(tests, enter_evidence, NULL);
}
