// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <time.h>

#include "core/config.h"
#include "core/limits.h"
#include "core/match.h"
#include "sample.h"

static char *ignored[] = {"header.x-trace-*", "query.ts", "body.$..created_at", "body.$.list[0]"};
static char *secret[] = {"header.authorization", "query.token", "body.$..password"};
static char *hidden[] = {"X-B3-*", "x-exact"};
static char *reading[] = {"POST /search"};
static char *writing[] = {"GET /shipments/{id}", "POST /both"};

struct world {
    struct mrg_arena *arena;
    struct mrg_dependency_config plain_config;
    struct mrg_dependency_config full_config;
    struct mrg_match *plain; /* nothing configured */
    struct mrg_match *full;  /* all of the above */
};

#define STRINGS(array) ((struct mrg_strings){(array), MRG_ARRAY_LEN(array)})

static int set_up(void **state)
{
    static struct world world;
    struct mrg_error err;
    world = (struct world){.arena = mrg_arena_new(0)};
    world.plain_config.name = (char *)(uintptr_t) "inventory";
    world.full_config = world.plain_config;
    world.full_config.cassette.ignore = STRINGS(ignored);
    world.full_config.redact = STRINGS(secret);
    world.full_config.hide = STRINGS(hidden);
    world.full_config.reads = STRINGS(reading);
    world.full_config.writes = STRINGS(writing);
    assert_int_equal(mrg_match_new(&world.plain_config, &world.plain, &err), MRG_ERR_OK);
    assert_int_equal(mrg_match_new(&world.full_config, &world.full, &err), MRG_ERR_OK);
    *state = &world;
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;
    mrg_match_free(world->plain);
    mrg_match_free(world->full);
    mrg_arena_free(world->arena);
    return 0;
}

/* One request: target, headers, body. */
struct one {
    const char *line, *headers, *body;
};

/* The recorded one as a cassette gives it back. */
static unsigned diff(struct world *world, struct mrg_match *match, const struct mrg_request *here,
                     const struct mrg_request *recorded, struct mrg_buf *buf)
{
    struct mrg_request back;
    const char *json = sample_json(world->arena, recorded, match);
    struct mrg_match_differ *differ = mrg_match_differ_new(match, here);
    assert_int_equal(mrg_request_parse(world->arena, mrg_slice_of(json), &back, NULL), MRG_ERR_OK);
    unsigned distance = mrg_match_differ_compare(differ, &back, buf);
    assert_true(mrg_match_differ_target(differ, back.method, back.path) <= distance);
    assert_int_equal(mrg_match_differ_size(differ), strlen(sample_json(world->arena, here, match)));
    struct mrg_buf again;
    mrg_buf_init(&again, SIZE_MAX);
    assert_int_equal(mrg_match_differ_compare(differ, &back, &again), distance);
    assert_true(mrg_slice_eq(mrg_buf_slice(buf), mrg_buf_slice(&again)));
    mrg_buf_done(&again);
    mrg_match_differ_free(differ);
    return distance;
}

static void compare(struct world *world, struct mrg_match *match, struct one a, struct one b, bool equal)
{
    struct mrg_request x = sample(world->arena, a.line, a.headers, a.body);
    struct mrg_request y = sample(world->arena, b.line, b.headers, b.body);
    struct mrg_hash128 of_x = mrg_match_key(match, &x);
    struct mrg_hash128 of_y = mrg_match_key(match, &y);
    bool same = of_x.low == of_y.low && of_x.high == of_y.high;
    if (same != equal)
        fail_msg("%s %s %s and %s %s %s: %s", a.line, a.headers, a.body, b.line, b.headers, b.body,
                 same ? "equal" : "not equal");
    struct mrg_buf buf;
    mrg_buf_init(&buf, SIZE_MAX);
    unsigned distance = diff(world, match, &x, &y, &buf);
    if ((distance == 0) != equal || (buf.len == 0) != equal)
        fail_msg("%s %s %s and %s %s %s: distance %u, %s", a.line, a.headers, a.body, b.line, b.headers,
                 b.body, distance, buf.data);
    mrg_buf_done(&buf);
}

static void test_key_equal(void **state)
{
    struct world *w = *state;
    compare(w, w->plain, (struct one){"GET /x", NULL, NULL},
            (struct one){"GET /x", "host: a\nuser-agent: b", NULL}, true);
    compare(w, w->plain, (struct one){"GET /x", NULL, NULL}, (struct one){"GET /x", NULL, ""}, true);
    compare(w, w->plain, (struct one){"GET /x?a=1&b=2", NULL, NULL},
            (struct one){"GET /x?b=2&&a=%31", NULL, NULL}, true);
    compare(w, w->plain, (struct one){"GET /x?a=1&b=0&a=2", NULL, NULL},
            (struct one){"GET /x?b=0&a=1&a=2", NULL, NULL}, true);
    compare(w, w->plain, (struct one){"GET /x", "x-a: 1\nx-b: 2", NULL},
            (struct one){"GET /x", "x-b: 2\nx-a: 1", NULL}, true);
    compare(w, w->plain, (struct one){"POST /x", NULL, "{\"a\":1,\"b\":[\"\\u0041\"]}"},
            (struct one){"POST /x", "content-type: application/json", " { \"b\" : [\"A\"], \"a\": 1 } "},
            true);
    compare(w, w->plain, (struct one){"POST /x", NULL, "{\"a\":1.0}"},
            (struct one){"POST /x", NULL, "{\"a\":1.00}"}, true);
}

static void test_key_different(void **state)
{
    struct world *w = *state;
    compare(w, w->plain, (struct one){"GET /x", NULL, NULL}, (struct one){"HEAD /x", NULL, NULL}, false);
    compare(w, w->plain, (struct one){"GET /x", NULL, NULL}, (struct one){"GET /x/", NULL, NULL}, false);
    compare(w, w->plain, (struct one){"GET /a%2Fb", NULL, NULL}, (struct one){"GET /a/b", NULL, NULL}, false);
    compare(w, w->plain, (struct one){"GET /x?a=1", NULL, NULL}, (struct one){"GET /x", NULL, NULL}, false);
    compare(w, w->plain, (struct one){"GET /x?a=1&a=2", NULL, NULL},
            (struct one){"GET /x?a=2&a=1", NULL, NULL}, false);
    compare(w, w->plain, (struct one){"GET /x?a=1&a=1", NULL, NULL}, (struct one){"GET /x?a=1", NULL, NULL},
            false);
    compare(w, w->plain, (struct one){"GET /x?a=bc", NULL, NULL}, (struct one){"GET /x?ab=c", NULL, NULL},
            false);
    compare(w, w->plain, (struct one){"GET /x?a=1", NULL, NULL}, (struct one){"GET /x", "a: 1", NULL}, false);
    compare(w, w->plain, (struct one){"GET /x", "x-a: 1", NULL}, (struct one){"GET /x", "x-a: 2", NULL},
            false);
    compare(w, w->plain, (struct one){"GET /x", "x-a: 1\nx-a: 2", NULL},
            (struct one){"GET /x", "x-a: 2\nx-a: 1", NULL}, false);
    compare(w, w->plain, (struct one){"GET /x", "authorization: a", NULL}, (struct one){"GET /x", NULL, NULL},
            false);
    compare(w, w->plain, (struct one){"POST /x", NULL, "{\"a\":1}"},
            (struct one){"POST /x", NULL, "{\"a\":1.0}"}, false);
    compare(w, w->plain, (struct one){"POST /x", NULL, "{\"a\":1}"},
            (struct one){"POST /x", NULL, "{\"a\":\"1\"}"}, false);
    compare(w, w->plain, (struct one){"POST /x", NULL, "{\"a\":null}"}, (struct one){"POST /x", NULL, "{}"},
            false);
    compare(w, w->plain, (struct one){"POST /x", NULL, "[1,2]"}, (struct one){"POST /x", NULL, "[2,1]"},
            false);
    compare(w, w->plain, (struct one){"POST /x", NULL, "null"}, (struct one){"POST /x", NULL, NULL}, false);
    compare(w, w->plain, (struct one){"POST /x", "content-type: text/plain", "1"},
            (struct one){"POST /x", NULL, "1"}, false);
    compare(w, w->plain, (struct one){"POST /x", "content-type: application/x-www-form-urlencoded", "a=1"},
            (struct one){"POST /x", "content-type: application/x-www-form-urlencoded", "a=2"}, false);
}

static void test_ignore(void **state)
{
    struct world *w = *state;
    compare(w, w->full, (struct one){"GET /x", "x-trace-id: 1", NULL},
            (struct one){"GET /x", "x-trace-id: 2", NULL}, true);
    compare(w, w->full, (struct one){"GET /x", "x-b3-traceid: 1", NULL},
            (struct one){"GET /x", "x-exact: 1", NULL}, true);
    compare(w, w->full, (struct one){"GET /x?ts=1&a=1", NULL, NULL},
            (struct one){"GET /x?a=1&ts=2", NULL, NULL}, true);
    compare(w, w->full, (struct one){"POST /x", NULL, "{\"a\":{\"created_at\":1,\"b\":2}}"},
            (struct one){"POST /x", NULL, "{\"a\":{\"b\":2,\"created_\\u0061t\":7}}"}, true);
    compare(w, w->full, (struct one){"POST /x", NULL, "{\"a\":1,\"created_at\":1}"},
            (struct one){"POST /x", NULL, "{\"a\":1}"}, true);
    compare(w, w->full, (struct one){"POST /x", NULL, "{\"list\":[1,2]}"},
            (struct one){"POST /x", NULL, "{\"list\":[9,2]}"}, true);
    compare(w, w->full, (struct one){"POST /x", NULL, "{\"list\":[1,2]}"},
            (struct one){"POST /x", NULL, "{\"list\":[1,3]}"}, false);
    compare(w, w->full, (struct one){"POST /x", NULL, "{\"a\":1,\"created_at\":1}"},
            (struct one){"POST /x", NULL, "{\"a\":2,\"created_at\":1}"}, false);
    compare(w, w->full,
            (struct one){"POST /x", NULL, "{\"created_at\":1,\"n\":123456789012345678901234567890}"},
            (struct one){"POST /x", NULL, "{\"n\":123456789012345678901234567890}"}, true);
    compare(w, w->full,
            (struct one){"POST /x", NULL, "{\"created_at\":1,\"n\":123456789012345678901234567890}"},
            (struct one){"POST /x", NULL, "{\"n\":123456789012345678901234567891}"}, false);
}

static void test_ignore_whole_parts(void **state)
{
    struct world *w = *state;
    static char *body[] = {"body"};
    static char *path[] = {"path"};
    struct mrg_match *match;
    struct mrg_dependency_config config = w->plain_config;
    config.cassette.ignore = STRINGS(body);
    assert_int_equal(mrg_match_new(&config, &match, NULL), MRG_ERR_OK);
    compare(w, match, (struct one){"POST /x", NULL, "{\"a\":1}"}, (struct one){"POST /x", NULL, "[]"}, true);
    compare(w, match, (struct one){"POST /x", NULL, "{\"a\":1}"}, (struct one){"POST /x", NULL, NULL}, true);
    mrg_match_free(match);
    config.cassette.ignore = STRINGS(path);
    assert_int_equal(mrg_match_new(&config, &match, NULL), MRG_ERR_OK);
    compare(w, match, (struct one){"GET /x", NULL, NULL}, (struct one){"GET /y", NULL, NULL}, true);
    compare(w, match, (struct one){"GET /x?a=1", NULL, NULL}, (struct one){"GET /y?a=2", NULL, NULL}, false);
    mrg_match_free(match);
}

static void test_multipart_boundary(void **state)
{
    struct world *w = *state;
    compare(
        w, w->plain,
        (struct one){"POST /x", "content-type: multipart/form-data; boundary=abc", "--abc\r\n1\r\n--abc--"},
        (struct one){"POST /x", "content-type: multipart/form-data; boundary=zzzz",
                     "--zzzz\r\n1\r\n--zzzz--"},
        true);
    compare(w, w->plain,
            (struct one){"POST /x", "content-type: multipart/form-data; boundary=\"a;c\"; x=1",
                         "--a;c\r\n1\r\n--a;c--"},
            (struct one){"POST /x", "content-type: multipart/form-data; boundary=\"b c\"; x=1",
                         "--b c\r\n1\r\n--b c--"},
            true);
    compare(
        w, w->plain,
        (struct one){"POST /x", "content-type: multipart/form-data; boundary=abc", "--abc\r\n1\r\n--abc--"},
        (struct one){"POST /x", "content-type: multipart/form-data; boundary=zzzz",
                     "--zzzz\r\n2\r\n--zzzz--"},
        false);
    compare(w, w->plain, (struct one){"POST /x", "content-type: multipart/form-data; boundary=", "1"},
            (struct one){"POST /x", "content-type: multipart/form-data", "1"}, false);
}

/* What is read back from a cassette must have the key of what was recorded. */
static void assert_round(struct world *w, struct mrg_match *match, const struct mrg_request *request)
{
    struct mrg_request back;
    const char *json = sample_json(w->arena, request, match);
    assert_int_equal(mrg_request_parse(w->arena, mrg_slice_of(json), &back, NULL), MRG_ERR_OK);
    struct mrg_hash128 a = mrg_match_key(match, request);
    struct mrg_hash128 b = mrg_match_key(match, &back);
    if (a.low != b.low || a.high != b.high)
        fail_msg("%s has another key", json);
    struct mrg_buf buf;
    mrg_buf_init(&buf, SIZE_MAX);
    assert_int_equal(diff(w, match, request, &back, &buf), 0);
    mrg_buf_done(&buf);
}

static void test_key_survives_normal_form(void **state)
{
    static const struct one all[] = {
        {"GET /", NULL, NULL},
        {"GET /a%2Fb/\xff?x=%FF&y=%zz&%41=+&=&z&y=\xfe",
         "x: \xff\ny: caf\xC3\xA9\nx: 2\nhost: h\naccept: text/csv", NULL},
        {"POST /x", "content-type: application/json",
         "{\"created_at\":5,\"a\":[1.50,1e3,\"\\u00e9\\ud83d\\ude00\"]}"},
        {"POST /x", "content-type: application/json", "{\"broken"},
        {"POST /x", "content-type: application/x-www-form-urlencoded", "a=1&b=%20"},
        {"PUT /x", "content-type: image/png\nx-b3-id: 1\nx-trace-y: 1", "\x89PNG\xff"},
        {"PUT /x", "content-type: multipart/mixed; boundary=\"q\"", "--q\r\n\xff--q--"},
        {"DELETE /x?ts=1&token=a%20b", "authorization: Bearer x", "[]"},
        {"GET /\xff%FF?\xff=a%20\xfe&b=\xff%25", "x: a\\x\xE9\nx: \\xFF\ny: \xff", NULL},
        {"POST /x", "content-type: multipart/mixed; boundary=\xff", "--\xff\r\n\r\n--\xff--"},
    };
    struct world *w = *state;
    for (size_t i = 0; i < MRG_ARRAY_LEN(all); i++) {
        struct mrg_request request = sample(w->arena, all[i].line, all[i].headers, all[i].body);
        assert_round(w, w->plain, &request);
        assert_round(w, w->full, mrg_match_redact(w->full, w->arena, &request));
    }
}

/* Bytes that are not UTF-8 count as what they are. */
static void test_key_tells_bytes_apart(void **state)
{
    static const struct one all[] = {
        {"GET /\xff", NULL, NULL},          {"GET /\xfe", NULL, NULL},
        {"GET /\xEF\xBF\xBD", NULL, NULL},  {"GET /\xC3\x28", NULL, NULL},
        {"GET /?a=\xff", NULL, NULL},       {"GET /?a=\xfe", NULL, NULL},
        {"GET /?\xff=a", NULL, NULL},       {"GET /?\xfe=a", NULL, NULL},
        {"GET /", "x: \xE9", NULL},         {"GET /", "x: \xE8", NULL},
        {"GET /", "x: \xEF\xBF\xBD", NULL}, {"GET /", "x: \\xE9", NULL},
        {"GET /", "x: \xE9\\xE9", NULL},    {"GET /", "x: \xE9\xE9", NULL},
        {"GET /", "x: \\xE9\xE9", NULL},    {"GET /", "x: \\\\xE9\xE9", NULL},
    };
    struct world *w = *state;
    for (size_t i = 0; i < MRG_ARRAY_LEN(all); i++) {
        for (size_t j = 0; j < MRG_ARRAY_LEN(all); j++)
            compare(w, w->plain, all[i], all[j], i == j);
    }
    compare(w, w->plain, (struct one){"GET /\xff?a=\xff", NULL, NULL},
            (struct one){"GET /%FF?a=%FF", NULL, NULL}, true);
}

/*
 * Keys go into places and places into files: another value here orphans every cassette that was ever
 * recorded.
 */
static void test_key_is_frozen(void **state)
{
    struct world *w = *state;
    char text[40];
    struct mrg_request request =
        sample(w->arena, "POST /items/1?a=1&b=2", "x-a: 1\nauthorization: t", "{\"quantity\":2,\"s\":\"x\"}");
    struct mrg_hash128 key = mrg_match_key(w->plain, &request);
    snprintf(text, sizeof(text), "%016llx%016llx", (unsigned long long)key.high, (unsigned long long)key.low);
    assert_string_equal(text, "8ecb51905baf30f4d4c76f3c21cf2d89");
}

static void assert_diff(struct world *w, struct mrg_match *match, struct one a, struct one b,
                        const char *expected)
{
    struct mrg_request x = sample(w->arena, a.line, a.headers, a.body);
    struct mrg_request y = sample(w->arena, b.line, b.headers, b.body);
    struct mrg_buf buf;
    mrg_buf_init(&buf, SIZE_MAX);
    diff(w, match, &x, &y, &buf);
    assert_string_equal(buf.data, expected);
    mrg_buf_done(&buf);
}

static void test_diff_sentences(void **state)
{
    struct world *w = *state;
    assert_diff(w, w->plain, (struct one){"POST /x", NULL, "{\"quantity\":2}"},
                (struct one){"POST /x", NULL, "{\"quantity\":3}"}, "body.$.quantity: 2 here, 3 recorded");
    assert_diff(w, w->full, (struct one){"POST /x", NULL, "{\"created_at\":1,\"a\":[{\"odd key\":\"x\"}]}"},
                (struct one){"POST /x", NULL, "{\"a\":[{\"odd key\":null}]}"},
                "body.$.a[0]['odd key']: \"x\" here, null recorded");
    assert_diff(w, w->plain, (struct one){"POST /x", NULL, "{\"a\":1,\"b\":2}"},
                (struct one){"POST /x", NULL, "{\"a\":1}"}, "body.$.b: 2 here, nothing recorded");
    assert_diff(w, w->plain, (struct one){"POST /x", NULL, "[1]"}, (struct one){"POST /x", NULL, "[1,2]"},
                "body.$[1]: nothing here, 2 recorded");
    assert_diff(w, w->plain, (struct one){"POST /x", NULL, "1"}, (struct one){"POST /x", NULL, NULL},
                "body: a JSON body here, no body recorded");
    assert_diff(w, w->plain, (struct one){"POST /x", "content-type: text/plain", "abc"},
                (struct one){"POST /x", "content-type: text/plain", "abd"},
                "body (from byte 2): \"c\" here, \"d\" recorded");
    assert_diff(w, w->plain, (struct one){"GET /x?a=1", NULL, NULL}, (struct one){"GET /x?a=2", NULL, NULL},
                "query.a: \"1\" here, \"2\" recorded");
    assert_diff(w, w->plain, (struct one){"GET /x", "x-a: 1", NULL}, (struct one){"GET /x", NULL, NULL},
                "header.x-a: \"1\" here, nothing recorded");
    assert_diff(w, w->plain, (struct one){"GET /x", NULL, NULL}, (struct one){"GET /x", "x-a: 1", NULL},
                "header.x-a: nothing here, \"1\" recorded");
    assert_diff(w, w->plain, (struct one){"GET /x", NULL, NULL}, (struct one){"GET /y", NULL, NULL},
                "path: \"/x\" here, \"/y\" recorded");
}

static unsigned distance(struct world *w, struct one a, struct one b)
{
    struct mrg_request x = sample(w->arena, a.line, a.headers, a.body);
    struct mrg_request y = sample(w->arena, b.line, b.headers, b.body);
    struct mrg_buf buf;
    mrg_buf_init(&buf, SIZE_MAX);
    unsigned far = diff(w, w->plain, &x, &y, &buf);
    mrg_buf_done(&buf);
    return far;
}

static void test_distance_orders(void **state)
{
    struct world *w = *state;
    struct one here = {"POST /items/1/reserve", NULL, "{\"a\":1,\"b\":2}"};
    unsigned leaf = distance(w, here, (struct one){"POST /items/1/reserve", NULL, "{\"a\":1,\"b\":3}"});
    unsigned leaves = distance(w, here, (struct one){"POST /items/1/reserve", NULL, "{\"a\":2,\"b\":3}"});
    unsigned item = distance(w, here, (struct one){"POST /items/2/reserve", NULL, "{\"a\":1,\"b\":2}"});
    unsigned path = distance(w, here, (struct one){"POST /things/2/confirm", NULL, "{\"a\":1,\"b\":2}"});
    unsigned method = distance(w, here, (struct one){"PUT /items/1/reserve", NULL, "{\"a\":1,\"b\":2}"});
    assert_true(leaf > 0 && leaf < leaves && leaves < item && item < path && path < method);
}

/* A large body is held against another by its bytes; what is ignored in it still does not count. */
static void test_diff_of_large_bodies(void **state)
{
    struct world *w = *state;
    char *pad = mrg_arena_alloc(w->arena, MRG_MISS_BYTES);
    memset(pad, 'x', MRG_MISS_BYTES - 1);
    pad[MRG_MISS_BYTES - 1] = '\0';
    const char *a = mrg_arena_printf(w->arena, "{\"a\":1,\"p\":\"%s\",\"created_at\":1}", pad);
    const char *b = mrg_arena_printf(w->arena, "{\"a\":2,\"p\":\"%s\",\"created_at\":1}", pad);
    const char *c = mrg_arena_printf(w->arena, "{\"a\":1,\"p\":\"%s\",\"created_at\":2}", pad);
    const char *d = mrg_arena_printf(w->arena, "{\"created_at\":1,\"p\":\"%s\",\"a\":1}", pad);
    struct mrg_request x = sample(w->arena, "POST /x", NULL, a);
    struct mrg_request y = sample(w->arena, "POST /x", NULL, b);
    struct mrg_buf buf;
    mrg_buf_init(&buf, SIZE_MAX);
    assert_int_not_equal(diff(w, w->plain, &x, &y, &buf), 0);
    assert_memory_equal(buf.data, "body (from byte 5): \"1,", 22);
    mrg_buf_done(&buf);
    compare(w, w->plain, (struct one){"POST /x", NULL, a}, (struct one){"POST /x", NULL, d}, true);
    compare(w, w->full, (struct one){"POST /x", NULL, a}, (struct one){"POST /x", NULL, c}, true);
    compare(w, w->full, (struct one){"POST /x", NULL, a}, (struct one){"POST /x", NULL, b}, false);
}

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* A form of very many fields, all different or all the same, takes time by its size only. */
static void test_redact_a_form_of_many_fields(void **state)
{
    struct world *w = *state;
    struct mrg_buf different, same;
    mrg_buf_init(&different, SIZE_MAX);
    mrg_buf_init(&same, SIZE_MAX);
    for (unsigned i = 0; i < 100000; i++) {
        mrg_buf_appendf(&different, "k%u=1&", i);
        mrg_buf_append_str(&same, "k=1&");
    }
    mrg_buf_append_str(&different, "password=s");
    mrg_buf_append_str(&same, "password=s");
    double before = cpu_seconds();
    struct mrg_request request =
        sample(w->arena, "POST /x", "content-type: application/x-www-form-urlencoded", different.data);
    const struct mrg_request *redacted = mrg_match_redact(w->full, w->arena, &request);
    assert_non_null(strstr(redacted->body.bytes.ptr, "&password=%5Bredacted"));
    request = sample(w->arena, "POST /x", "content-type: application/x-www-form-urlencoded", same.data);
    redacted = mrg_match_redact(w->full, w->arena, &request);
    assert_non_null(strstr(redacted->body.bytes.ptr, "&password=%5Bredacted"));
    double spent = cpu_seconds() - before;
    if (spent > 5.0) /* 0.3 s, and some 8 s when each field is held against all before it */
        fail_msg("%f s", spent);
    mrg_buf_done(&different);
    mrg_buf_done(&same);
}

/* The paper's server shows two headers and no others (section III-B); hide still hides. */
static void test_preset_paper(void **state)
{
    struct world *w = *state;
    static char *hide[] = {"authorization"};
    struct mrg_match *match;
    struct mrg_dependency_config config = w->plain_config;
    config.preset = MRG_PRESET_PAPER;
    struct mrg_request request =
        sample(w->arena, "POST /x",
               "authorization: a\nx-request-id: 1\ncookie: c\nidempotency-key: k\naccept: text/csv", "{}");
    assert_int_equal(mrg_match_new(&config, &match, NULL), MRG_ERR_OK);
    assert_string_equal(sample_json(w->arena, mrg_match_shown(match, w->arena, &request), match),
                        "{\"method\":\"POST\",\"path\":\"/x\",\"headers\":{\"authorization\":\"a\","
                        "\"idempotency-key\":\"k\"},\"body\":{}}");
    compare(w, match, (struct one){"GET /x", "x-a: 1", NULL}, (struct one){"GET /x", "x-a: 2", NULL}, true);
    compare(w, match, (struct one){"GET /x", "idempotency-key: 1", NULL},
            (struct one){"GET /x", "idempotency-key: 2", NULL}, false);
    mrg_match_free(match);
    config.hide = STRINGS(hide);
    assert_int_equal(mrg_match_new(&config, &match, NULL), MRG_ERR_OK);
    compare(w, match, (struct one){"GET /x", "authorization: 1", NULL}, (struct one){"GET /x", NULL, NULL},
            true);
    mrg_match_free(match);
}

static struct mrg_hash128 identity_of(const struct mrg_dependency_config *config)
{
    struct mrg_match *match;
    assert_int_equal(mrg_match_new(config, &match, NULL), MRG_ERR_OK);
    struct mrg_hash128 identity = mrg_match_identity(match);
    mrg_match_free(match);
    return identity;
}

static void test_identity(void **state)
{
    struct world *w = *state;
    static char *joined[] = {"header.x-a", "header.x-b"};
    static char *moved[] = {"x-a", "x-b"};
    struct mrg_dependency_config configs[6];
    for (size_t i = 0; i < MRG_ARRAY_LEN(configs); i++)
        configs[i] = w->plain_config;
    configs[1].cassette.ignore = (struct mrg_strings){joined, 1};
    configs[2].cassette.ignore = (struct mrg_strings){joined, 2};
    configs[3].hide = (struct mrg_strings){moved, 2};
    configs[4].preset = MRG_PRESET_PAPER;
    configs[5].name = (char *)(uintptr_t) "payment";
    for (size_t i = 0; i < MRG_ARRAY_LEN(configs); i++) {
        for (size_t j = 0; j < MRG_ARRAY_LEN(configs); j++) {
            struct mrg_hash128 a = identity_of(&configs[i]), b = identity_of(&configs[j]);
            assert_int_equal(a.low == b.low && a.high == b.high, i == j);
        }
    }
}

/* More headers than the stack has room for. */
static void test_many_headers(void **state)
{
    struct world *w = *state;
    struct mrg_request a = sample(w->arena, "GET /x", NULL, NULL);
    struct mrg_request b = a;
    a.header_count = b.header_count = 200;
    a.headers = mrg_arena_alloc(w->arena, 200 * sizeof(*a.headers));
    b.headers = mrg_arena_alloc(w->arena, 200 * sizeof(*b.headers));
    for (unsigned i = 0; i < 200; i++) {
        struct mrg_slice name = mrg_slice_of(mrg_arena_printf(w->arena, "x-%u", i % 150));
        a.headers[i] = (struct mrg_header){name, mrg_slice_of(mrg_arena_printf(w->arena, "%u", i))};
        b.headers[(i + 100) % 200] = a.headers[i];
    }
    assert_round(w, w->plain, &a);
    struct mrg_hash128 x = mrg_match_key(w->plain, &a), y = mrg_match_key(w->plain, &b);
    assert_true(x.low != y.low); /* the values of x-0 … x-49 have changed places */
    struct mrg_buf buf;
    mrg_buf_init(&buf, SIZE_MAX);
    assert_int_equal(diff(w, w->plain, &a, &b, &buf), 100 * 100);
    assert_string_equal(buf.data, "header.x-0: \"0\" here, \"150\" recorded");
    mrg_buf_done(&buf);
}

static void test_changes_state(void **state)
{
    static const struct {
        const char *line;
        bool plain, full;
    } all[] = {
        {"GET /x", false, false},          {"HEAD /x", false, false},  {"OPTIONS /x", false, false},
        {"POST /x", true, true},           {"DELETE /x", true, true},  {"POST /search", true, false},
        {"GET /shipments/7", false, true}, {"POST /both", true, true}, {"BREW /x", true, true},
    };
    struct world *w = *state;
    for (size_t i = 0; i < MRG_ARRAY_LEN(all); i++) {
        struct mrg_request request = sample(w->arena, all[i].line, NULL, NULL);
        if (mrg_match_changes_state(w->plain, &request) != all[i].plain ||
            mrg_match_changes_state(w->full, &request) != all[i].full)
            fail_msg("%s", all[i].line);
    }
}

static void test_redact(void **state)
{
    struct world *w = *state;
    struct mrg_request request = sample(w->arena, "POST /x?a=1", "x-a: 1", "{\"passwords\":1}");
    assert_ptr_equal(mrg_match_redact(w->full, w->arena, &request), &request);
    assert_ptr_equal(mrg_match_redact(w->plain, w->arena, &request), &request);

    request = sample(w->arena, "POST /x?token=s%20t&a=1", "authorization: Bearer s\nx-a: 1",
                     "{\"password\":\"s t\",\"n\":1.50,\"deep\":[{\"password\":5}]}");
    const struct mrg_request *redacted = mrg_match_redact(w->full, w->arena, &request);
    const char *json = sample_json(w->arena, redacted, w->full);
    assert_null(strstr(json, "s t"));
    assert_null(strstr(json, "Bearer"));
    assert_non_null(strstr(json, "\"n\":1.50"));
    assert_non_null(strstr(json, "\"x-a\":\"1\""));
    assert_non_null(strstr(json, "\"a\":\"1\""));
    assert_non_null(strstr(json, "\"deep\":[{\"password\":\"[redacted "));
    assert_string_equal(mrg_request_header(&request, "authorization")->ptr, "Bearer s");

    /* The same value has the same placeholder, wherever it stands, and in every run. */
    const char *in_query = strstr(json, "\"token\":\"[redacted ") + strlen("\"token\":\"");
    const char *in_body = strstr(json, "\"password\":\"[redacted ") + strlen("\"password\":\"");
    assert_memory_equal(in_query, in_body, strlen("[redacted 1f2e3d4c]"));
    assert_memory_equal(in_query, "[redacted 6d6a6e49]", strlen("[redacted 1f2e3d4c]"));
}

static void test_redact_forms(void **state)
{
    struct world *w = *state;
    struct mrg_request request =
        sample(w->arena, "POST /login", "content-type: application/x-www-form-urlencoded; charset=utf-8",
               "user=a&password=s+t&password=u");
    const struct mrg_request *redacted = mrg_match_redact(w->full, w->arena, &request);
    assert_non_null(strstr(redacted->body.bytes.ptr, "user=a&password=%5Bredacted%20"));
    assert_null(strstr(redacted->body.bytes.ptr, "s+t"));
    assert_null(strstr(redacted->body.bytes.ptr, "password=u"));
    request =
        sample(w->arena, "POST /login", "content-type: application/x-www-form-urlencoded", "user=a&pass=1");
    assert_ptr_equal(mrg_match_redact(w->full, w->arena, &request), &request);
}

static void test_redact_fails_closed(void **state)
{
    struct world *w = *state;
    struct mrg_request request =
        sample(w->arena, "POST /x", NULL, "{\"a\\u0000b\":1,\"password\":\"secret\"}");
    assert_int_equal(request.body.kind, MRG_BODY_JSON);
    const struct mrg_request *redacted = mrg_match_redact(w->full, w->arena, &request);
    assert_null(strstr(redacted->body.bytes.ptr, "secret"));
    assert_memory_equal(redacted->body.bytes.ptr, "\"[redacted ", 11);
}

static void test_bad_paths(void **state)
{
    struct world *w = *state;
    static char *bad[] = {"header.x", "body.$.a["};
    struct mrg_match *match = NULL;
    struct mrg_error err;
    struct mrg_dependency_config config = w->plain_config;
    config.cassette.ignore = STRINGS(bad);
    assert_int_equal(mrg_match_new(&config, &match, &err), MRG_ERR_INVALID);
    assert_non_null(strstr(err.message, "inventory: cassette.ignore: "));
    assert_non_null(strstr(err.message, "body.$.a["));
    config.cassette.ignore = (struct mrg_strings){NULL, 0};
    config.redact = STRINGS(bad);
    assert_int_equal(mrg_match_new(&config, &match, &err), MRG_ERR_INVALID);
    assert_non_null(strstr(err.message, "inventory: redact: "));
    assert_null(match);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_key_equal, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_key_different, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_ignore, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_ignore_whole_parts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_multipart_boundary, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_key_survives_normal_form, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_key_tells_bytes_apart, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_key_is_frozen, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_diff_sentences, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_distance_orders, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_diff_of_large_bodies, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_redact_a_form_of_many_fields, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_preset_paper, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_identity, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_many_headers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_changes_state, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_redact, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_redact_forms, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_redact_fails_closed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bad_paths, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
