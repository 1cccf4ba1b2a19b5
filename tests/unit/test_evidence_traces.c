// SPDX-License-Identifier: Apache-2.0
#include "evidence_help.h"

#include "core/limits.h"
#include "evidence/endpoints.h"
#include "evidence/otlp.h"
#include "evidence/span.h"
#include "evidence/templates.h"
#include "evidence/traces.h"
#include "util/json.h"

static struct json_object *parse(const char *text)
{
    struct json_object *tree = NULL;
    struct mrg_error err;
    if (mrg_json_parse(mrg_slice_of(text), &tree, &err))
        fail_msg("%s", err.message);
    return tree;
}

/* kind service peer method path query route status of a span, or "none". The caller frees it. */
static char *said(const char *text)
{
    static const char *const kinds[] = {"?", "server", "client", "other"};
    struct mrg_span span = {0};
    struct json_object *tree = parse(text);
    char *line = mrg_strdup("none");
    if (mrg_span_read(tree, NULL, &span)) {
        free(line);
        line = mrg_asprintf("%s service=%s peer=%s %s %s?%s route=%s status=%s%s", kinds[span.kind],
                            span.service, span.peer, span.method, span.path, span.query,
                            span.route ? span.route : "-", span.status, span.rpc ? " rpc" : "");
    }
    mrg_span_done(&span);
    json_object_put(tree);
    return line;
}

static void test_spans(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"{\"kind\":\"SERVER\",\"attributes\":{\"http.method\":\"get\",\"http.target\":\"/"
         "a?b=1\",\"http.status_code\":200}}",
         "server service= peer= GET /a?b=1 route=- status=200"},
        {"{\"kind\":\"SpanKind.CLIENT\",\"attributes\":{\"http.request.method\":\"GET\",\"url.full\":\"http:/"
         "/u:p@loans:80/a/1#x\","
         "\"http.response.status_code\":\"404\"}}",
         "client service= peer=loans:80 GET /a/1? route=- status=404"},
        {"{\"kind\":2,\"attributes\":[{\"key\":\"http.request.method\",\"value\":{\"stringValue\":\"PUT\"}},{"
         "\"key\":\"url.path\","
         "\"value\":{\"stringValue\":\"/"
         "a\"}},{\"key\":\"url.query\",\"value\":{\"stringValue\":\"c=2\"}},{\"key\":"
         "\"http.response.status_code\",\"value\":{\"intValue\":\"201\"}}]}",
         "server service= peer= PUT /a?c=2 route=- status=201"},
        {"{\"kind\":2,\"attributes\":{\"http\":{\"request\":{\"method\":\"GET\"},\"route\":\"/x/"
         ":id\",\"status_code\":200}}}",
         "server service= peer= GET /x/:id? route=/x/:id status=200"},
        {"{\"method\":\"GET\",\"path\":\"/p\",\"status\":204,\"service\":\"s\"}",
         "? service=s peer= GET /p? route=- status=204"},
        {"{\"http.method\":\"GET\",\"http.url\":\"https://h/p\",\"status\":{\"code\":\"UNSET\"}}",
         "? service= peer= GET /p? route=- status=none"},
        {"{\"kind\":3,\"attributes\":{\"rpc.system\":\"grpc\",\"rpc.service\":\"a.B\",\"rpc.method\":\"C\","
         "\"rpc.grpc.status_code\":5,"
         "\"server.address\":\"b\",\"server.port\":90}}",
         "client service= peer=b:90 POST /a.B/C? route=- status=NOT_FOUND rpc"},
        {"{\"kind\":\"SPAN_KIND_SERVER\",\"name\":\"a.B/C\",\"attributes\":{\"rpc.system\":\"grpc\"}}",
         "server service= peer= POST /a.B/C? route=- status=none rpc"},
        {"{\"kind\":\"INTERNAL\",\"attributes\":{\"http.method\":\"GET\",\"http.target\":\"/a\"}}",
         "other service= peer= GET /a? route=- status=none"},
        {"{\"kind\":2,\"attributes\":{\"http.method\":\"G "
         "T\\n\",\"http.target\":\"/<a>\\u0001\",\"http.status_code\":\"ok\"}}",
         "server service= peer= G_T_ /_a__? route=- status=none"},
        {"{\"kind\":2,\"attributes\":{\"db.system\":\"pg\"}}", "none"},
        {"[1]", "none"},
    };
    for (size_t i = 0; i < MRG_ARRAY_LEN(cases); i++) {
        _cleanup_free_ char *line = said(cases[i][0]);
        assert_string_equal(line, cases[i][1]);
    }
}

static void count(void *ctx, struct json_object *span, const char *service)
{
    (void)span;
    mrg_buf_appendf(ctx, "%s ", service ? service : "-");
}

static void test_documents(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"{\"resourceSpans\":[{\"resource\":{\"attributes\":[{\"key\":\"service.name\",\"value\":{"
         "\"stringValue\":\"s\"}}]},"
         "\"scopeSpans\":[{\"spans\":[{},{}]},{\"spans\":[{}]}]},{\"instrumentationLibrarySpans\":[{"
         "\"spans\":[{}]}]}]}",
         "s s s - "},
        {"{\"batches\":[{\"resource\":{\"attributes\":{\"service.name\":\"b\"}},\"scopeSpans\":[{\"spans\":[{"
         "}]}]}]}",
         "b "},
        {"[{\"name\":\"x\",\"resource\":{\"attributes\":{\"service.name\":\"r\"}}},[{}]]", "r - "},
        {"{\"data\":[{\"spans\":[{\"processID\":\"p1\"},{\"processID\":\"p2\"}],\"processes\":{\"p1\":{"
         "\"serviceName\":"
         "\"j\"}}}]}",
         "j - "},
        {"{\"span\":{\"name\":\"x\"}}", "- "},
        {"{\"_source\":{\"process\":{\"serviceName\":\"e\"}}}", "e "},
        {"17", ""},
    };
    for (size_t i = 0; i < MRG_ARRAY_LEN(cases); i++) {
        struct json_object *tree = parse(cases[i][0]);
        struct mrg_buf buf;
        mrg_buf_init(&buf, 1000);
        mrg_otlp_each(tree, count, &buf);
        assert_string_equal(buf.data ? buf.data : "", cases[i][1]);
        mrg_buf_done(&buf);
        json_object_put(tree);
    }
}

static void test_segments(void **state)
{
    (void)state;
    static const char *const ids[] = {"1",
                                      "-17",
                                      "2024-05-01",
                                      "rsv_12ab34cd56ef",
                                      "ch_9f9f9f9f9f9f9f9f",
                                      "item-001",
                                      "SKU123",
                                      "550e8400-e29b-41d4-a716-446655440000",
                                      "deadbeef01",
                                      "OLJCESPC7Z",
                                      "a%2Fb",
                                      "a@b.c",
                                      "507f1f77bcf86cd799439011",
                                      "3.14"};
    static const char *const words[] = {"",        "items",   "v1",     "v2.1",
                                        "v1beta2", "refresh", "oauth2", "deadbeef",
                                        "s3",      "facade",  "item-1", "a-very-long-name-of-something",
                                        "ch_long", "{id}",    "x_9",    "healthz"};
    for (size_t i = 0; i < MRG_ARRAY_LEN(ids); i++) {
        if (!mrg_segment_is_id(mrg_slice_of(ids[i])))
            fail_msg("%s is an id", ids[i]);
    }
    for (size_t i = 0; i < MRG_ARRAY_LEN(words); i++) {
        if (mrg_segment_is_id(mrg_slice_of(words[i])))
            fail_msg("%s is no id", words[i]);
    }
}

static void assert_templates(const char *const *paths, const char *const *expected, size_t count_of)
{
    struct mrg_templates *templates = mrg_templates_new();
    for (size_t i = 0; i < count_of; i++)
        mrg_templates_add(templates, mrg_slice_of(paths[i]));
    mrg_templates_settle(templates);
    for (size_t i = 0; i < count_of; i++) {
        _cleanup_free_ char *text = mrg_templates_of(templates, mrg_slice_of(paths[i]));
        assert_string_equal(text, expected[i]);
    }
    mrg_templates_free(templates);
}

static void test_templates(void **state)
{
    (void)state;
    static const char *const paths[] = {"/",
                                        "/v1/tokens/refresh",
                                        "/v1/tokens",
                                        "/loans/17",
                                        "/loans/18/extend",
                                        "/loans/",
                                        "/loans/search",
                                        "/desks/d-1/queue",
                                        "/desks/d-2/queue",
                                        "/desks/main/queue",
                                        "/slips/sl_00ff12/x",
                                        "/slips/sl_lost/x",
                                        "/parts/p1",
                                        "/parts/p2",
                                        "no-slash"};
    static const char *const expected[] = {"/",
                                           "/v1/tokens/refresh",
                                           "/v1/tokens",
                                           "/loans/{id}",
                                           "/loans/{id}/extend",
                                           "/loans/",
                                           "/loans/search",
                                           "/desks/{id}/queue",
                                           "/desks/{id}/queue",
                                           "/desks/main/queue",
                                           "/slips/{id}/x",
                                           "/slips/{id}/x",
                                           "/parts/p1",
                                           "/parts/p2",
                                           "/no-slash"};
    assert_templates(paths, expected, MRG_ARRAY_LEN(paths));
}

static void test_many_words(void **state)
{
    (void)state;
    static const char *const names[] = {"ada", "ben",  "cleo", "dora", "emil", "finn",
                                        "gus", "hana", "ida",  "jo",   "kim",  "lea"};
    char *paths[MRG_ARRAY_LEN(names) * 2];
    const char *expected[MRG_ARRAY_LEN(names) * 2];
    for (size_t i = 0; i < MRG_ARRAY_LEN(names); i++) {
        paths[2 * i] = mrg_asprintf("/people/%s/loans", names[i]);
        expected[2 * i] = "/people/{id}/loans";
        paths[2 * i + 1] = mrg_asprintf("/lib.v1.Desk/%s", names[i]);
        expected[2 * i + 1] = paths[2 * i + 1];
    }
    assert_templates((const char *const *)paths, expected, MRG_ARRAY_LEN(paths));
    for (size_t i = 0; i < MRG_ARRAY_LEN(paths); i++)
        free(paths[i]);
}

static void test_routes(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"/a/:id", "/a/{id}"},
        {"/a/<int:id>/b", "/a/{id}/b"},
        {"/a/{id:[0-9]+}", "/a/{id}"},
        {"a/[slug]", "/a/{slug}"},
        {"/a/:id?", "/a/{id}"},
        {"/a/:id(\\d+)", "/a/{id}"},
        {"/plain/", "/plain/"},
        {"/static/*", NULL},
        {"GET /a", NULL},
        {"", NULL},
        {"/a/<>", "/a/{id}"},
        {"/a/:", "/a/{id}"},
    };
    for (size_t i = 0; i < MRG_ARRAY_LEN(cases); i++) {
        _cleanup_free_ char *text = mrg_template_from_route(cases[i][0]);
        if (cases[i][1])
            assert_string_equal(text, cases[i][1]);
        else
            assert_null(text);
    }
}

static void test_owners(void **state)
{
    (void)state;
    assert_true(mrg_owner_is("loans", "loans"));
    assert_true(mrg_owner_is("Loans-Service", "loans"));
    assert_true(mrg_owner_is("loans.default.svc:8080", "loans"));
    assert_true(mrg_owner_is("loansservice", "loans-svc"));
    assert_false(mrg_owner_is("loan", "loans"));
    assert_false(mrg_owner_is("", "loans"));
    assert_false(mrg_owner_is("127.0.0.1:8001", "loans"));
}

/* The summary of spans given as one JSON text. The caller frees it. */
static char *summary_of(const char *json, const char *dependency)
{
    struct mrg_traces traces = {0};
    struct mrg_endpoints endpoints;
    struct mrg_buf buf;
    mrg_buf_init(&buf, 1u << 20);
    assert_true(mrg_traces_add(&traces, mrg_slice_of(json), NULL));
    mrg_endpoints_make(&traces, dependency, &endpoints);
    mrg_endpoints_append(&buf, &endpoints, true);
    mrg_endpoints_done(&endpoints);
    mrg_traces_done(&traces);
    return mrg_buf_take(&buf, NULL);
}

#define SERVER(service, method, path, status)                                                                \
    "{\"kind\":2,\"service.name\":\"" service "\",\"http.method\":\"" method "\",\"http.target\":\"" path    \
    "\",\"http.status_code\":" status "}"
#define CLIENT(peer, method, path, status)                                                                   \
    "{\"kind\":3,\"peer.service\":\"" peer "\",\"http.method\":\"" method "\",\"http.target\":\"" path       \
    "\",\"http.status_code\":" status "}"

static void test_whose_spans(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        /* Server spans of that name; the client's view of the same calls does not count again. */
        {"[" SERVER("loans", "GET", "/a", "200") "," CLIENT("loans", "GET", "/a",
                                                            "200") "," SERVER("desk", "GET", "/z", "200") "]",
         "GET /a: 200 (1)\n"},
        {"[" CLIENT("loans:80", "GET", "/a",
                    "200") "," CLIENT("other", "GET", "/b", "200") "," SERVER("desk", "GET", "/z", "200") "]",
         "GET /a: 200 (1)\n"},
        {"[" SERVER("", "GET", "/a", "200") "," CLIENT("other", "GET", "/b", "200") "]", "GET /a: 200 (1)\n"},
        {"[" SERVER("stock", "GET", "/a", "200") "," SERVER("stock", "GET", "/a", "500") "]",
         "GET /a: 200 (1), 500 (1)\n"},
        {"[" SERVER("stock", "GET", "/a", "200") "," SERVER("desk", "GET", "/b", "200") "]", ""},
    };
    for (size_t i = 0; i < MRG_ARRAY_LEN(cases); i++) {
        _cleanup_free_ char *summary = summary_of(cases[i][0], "loans");
        assert_string_equal(summary, cases[i][1]);
    }
}

static void test_route_serves_paths_without_one(void **state)
{
    (void)state;
    _cleanup_free_ char *summary = summary_of(
        "[{\"http.method\":\"GET\",\"http.route\":\"/a/{name}\",\"http.target\":\"/a/"
        "one\",\"http.status_code\":200},"
        "{\"http.method\":\"GET\",\"http.target\":\"/a/two?z=1&b=2&z=3\",\"http.status_code\":404},"
        "{\"http.method\":\"GET\",\"http.route\":\"/\",\"http.target\":\"/b\",\"http.status_code\":200}]",
        "loans");
    assert_string_equal(summary, "GET /a/{name}: 200 (1), 404 (1); query keys: b, z\nGET /b: 200 (1)\n");
}

static char *summary_of_files(const char *const *paths, const char *dependency,
                              struct mrg_trace_report *ret_report)
{
    struct mrg_traces traces = {0};
    struct mrg_endpoints endpoints;
    struct mrg_error err;
    struct mrg_buf buf;
    mrg_buf_init(&buf, 1u << 20);
    for (; *paths; paths++) {
        if (mrg_traces_add_file(&traces, *paths, ret_report, &err))
            fail_msg("%s: %s", *paths, err.message);
    }
    mrg_endpoints_make(&traces, dependency, &endpoints);
    mrg_endpoints_append(&buf, &endpoints, true);
    mrg_endpoints_done(&endpoints);
    mrg_traces_done(&traces);
    return mrg_buf_take(&buf, NULL);
}

static void test_files(void **state)
{
    (void)state;
    struct mrg_trace_report report;
    const char *const paths[] = {"loans/traces/otlp.json", "loans/traces/spans.jsonl", NULL};
    _cleanup_free_ char *summary = summary_of_files(paths, "loans", &report);
    assert_string_equal(summary, "GET /loans/{id}: 200 (9), 404 (3)\n"
                                 "POST /loans: 201 (3); query keys: desk, dry_run\n"
                                 "GET /desks/{id}/queue: 200 (1); query keys: limit\n"
                                 "POST /loans.v1.Loans/Extend: NOT_FOUND (1)\n"
                                 "PUT /v1/tokens/refresh: 200 (1)\n");
    assert_int_equal(report.lines, 19);
    assert_int_equal(report.wrong, 1);
    assert_int_equal(report.first_wrong, 19);
    assert_int_equal(strlen(report.hash), MRG_SHA256_HEX);
}

static void test_large_file(void **state)
{
    (void)state;
    char *scratch = enter_scratch();
    FILE *file = fopen("big.jsonl", "w");
    assert_non_null(file);
    for (unsigned i = 0; i < 60000; i++)
        fprintf(file, SERVER("loans", "GET", "/loans/%u", "200") "\n", i);
    for (unsigned i = 0; i < MRG_MAX_TRACE_LINE + 1; i++)
        fputc('x', file);
    fputs("\n\r\n", file);
    assert_int_equal(fclose(file), 0);
    struct mrg_trace_report report;
    const char *const paths[] = {"big.jsonl", NULL};
    _cleanup_free_ char *summary = summary_of_files(paths, "loans", &report);
    assert_string_equal(summary, "GET /loans/{id}: 200 (60000)\n");
    assert_int_equal(report.too_long, 1);
    assert_int_equal(report.first_wrong, 60001);
    assert_int_equal(report.wrong, 0);
    leave_scratch(scratch);
    assert_int_equal(enter_evidence(NULL), 0);
}

/* The example's own traces: a handful of endpoints each, whoever recorded them. */
static void test_example_system(void **state)
{
    (void)state;
    const char *root = getenv("MIRAGE_SOURCE_ROOT");
    if (!root)
        skip();
    static const char *const names[] = {"inventory", "payment", "shipping", "order"};
    for (size_t i = 0; i < MRG_ARRAY_LEN(names); i++) {
        _cleanup_free_ char *path = mrg_asprintf("%s/examples/order-system/traces/%s.jsonl", root, names[i]);
        const char *const paths[] = {path, NULL};
        struct mrg_trace_report report;
        _cleanup_free_ char *summary = summary_of_files(paths, names[i], &report);
        size_t lines = 0;
        for (const char *p = summary; *p; p++)
            lines += *p == '\n';
        assert_in_range(lines, 3, 9);
        assert_non_null(strstr(summary, "{id}"));
        assert_null(strstr(summary, "_0"));
        assert_int_equal(report.wrong + report.too_long, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spans),
        cmocka_unit_test(test_documents),
        cmocka_unit_test(test_segments),
        cmocka_unit_test(test_templates),
        cmocka_unit_test(test_many_words),
        cmocka_unit_test(test_routes),
        cmocka_unit_test(test_owners),
        cmocka_unit_test(test_whose_spans),
        cmocka_unit_test(test_route_serves_paths_without_one),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_large_file),
        cmocka_unit_test(test_example_system),
    };
    return cmocka_run_group_tests(tests, enter_evidence, NULL);
}
