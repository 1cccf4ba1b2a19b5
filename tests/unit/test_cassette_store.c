// SPDX-License-Identifier: Apache-2.0
#include "cassette_help.h"

#include <pthread.h>
#include <time.h>

#include "core/limits.h"
#include "engines/cassette_miss.h"
#include "engines/cassette_store.h"
#include "sample.h"

static int set_up(void **state)
{
    static struct help help;
    help_init(&help);
    *state = &help;
    return 0;
}

static int tear_down(void **state)
{
    help_done(*state);
    return 0;
}

static enum mrg_err put(struct mrg_cassette_store *store, struct help *help, const char *text,
                        bool *ret_replaced, struct mrg_error *err)
{
    struct mrg_cassette_line line;
    size_t column;
    if (mrg_cassette_line_parse(help->arena, mrg_slice_of(text), &line, &column, err))
        fail_msg("%s: %s", text, err->message);
    return mrg_cassette_store_put(store, help->match, &line, ret_replaced, err);
}

static void put_ok(struct mrg_cassette_store *store, struct help *help, const char *text)
{
    struct mrg_error err;
    if (put(store, help, text, NULL, &err))
        fail_msg("%s: %s", text, err.message);
}

static const char rich[] =
    "{\"at\":\"00000000000000bb\",\"nth\":1,\"dep\":\"inventory\",\"req\":{\"method\":\"POST\",\"path\":\"/"
    "x\",\"query\":{\"a\":\"1\"},"
    "\"headers\":{\"x-a\":\"1\"},\"body\":{\"b\":2.50,\"a\":1}},\"rep\":{\"status\":201,\"headers\":{"
    "\"location\":\"/x/1\",\"set-cookie\":"
    "[\"a\",\"b\"]},\"body\":{ \"id\": 1.50 }},\"by\":{\"model\":\"m\",\"evidence\":\"abc\"}}";

static void test_find(void **state)
{
    struct help *help = *state;
    struct mrg_cassette_store *store = help_store(help);
    put_ok(store, help, rich);
    struct mrg_request request =
        sample(help->arena, "POST /x?a=1", "x-a: 1\nhost: h", " {\"a\":1, \"b\":2.5}");
    struct mrg_hash128 key = mrg_match_key(help->match, &request);
    assert_null(mrg_cassette_store_find(store, 0xbb, key, 2));
    assert_null(mrg_cassette_store_find(store, 0xbc, key, 1));
    assert_null(mrg_cassette_store_find(store, 0xbb, (struct mrg_hash128){key.low, key.high + 1}, 1));
    struct mrg_cassette_entry *entry = mrg_cassette_store_find(store, 0xbb, key, 1);
    assert_non_null(entry);
    assert_string_equal(entry->evidence, "abc");
    assert_string_equal(entry->rep->data, "{\"status\":201,\"headers\":{\"location\":\"/x/"
                                          "1\",\"set-cookie\":[\"a\",\"b\"]},\"body\":{\"id\":1.50}}");
    mrg_cassette_store_free(store);

    /* The reference outlives the store, and whoever has the text has the reply. */
    struct mrg_reply reply = entry->reply;
    struct mrg_text *rep = mrg_text_ref(entry->rep);
    mrg_cassette_entry_unref(entry);
    assert_int_equal(reply.status, 201);
    assert_int_equal(reply.header_count, 3);
    assert_string_equal(reply.headers[0].name.ptr, "location");
    assert_string_equal(reply.headers[2].value.ptr, "b");
    assert_int_equal(reply.body.kind, MRG_BODY_JSON);
    assert_string_equal(reply.body.bytes.ptr - 7, "\"body\":{\"id\":1.50}}");
    assert_int_equal(reply.body.bytes.len, strlen("{\"id\":1.50}"));
    mrg_text_unref(rep);
}

static void assert_body(struct help *help, const char *rep, enum mrg_body_kind kind, const char *bytes)
{
    struct mrg_cassette_store *store = help_store(help);
    put_ok(store, help,
           mrg_arena_printf(
               help->arena,
               "{\"at\":\"00000000000000aa\",\"nth\":1,\"dep\":\"inventory\",\"req\":{\"method\":\"GET\","
               "\"path\":\"/1\"},\"rep\":%s}",
               rep));
    struct mrg_cassette_entry *entry = help_find(help, store, 1);
    assert_non_null(entry);
    assert_int_equal(entry->reply.body.kind, kind);
    assert_int_equal(entry->reply.body.bytes.len, strlen(bytes));
    assert_memory_equal(entry->reply.body.bytes.ptr, bytes, strlen(bytes));
    mrg_cassette_entry_unref(entry);
    mrg_cassette_store_free(store);
}

/* What only gRPC shows is the text's too, not the line's, which is gone after put. */
static void test_grpc_parts_outlive_the_line(void **state)
{
    struct help *help = *state;
    struct mrg_cassette_store *store = help_store(help);
    char line[] =
        "{\"at\":\"00000000000000bb\",\"nth\":1,\"dep\":\"inventory\",\"req\":{\"method\":\"GET\",\"path\":"
        "\"/x\"},\"rep\":{\"grpc_status\":\"NOT_FOUND\",\"grpc_message\":\"no \\\"x\\\"\",\"grpc_details\":[{"
        "\"@type\":\"a/"
        "b.C\"}],\"trailers\":{\"x-t\":\"1\",\"x-u\":[\"2\",\"3\"]},\"headers\":{\"x-a\":\"0\"}}}";
    put_ok(store, help, line);
    memset(line, 'x', sizeof(line) - 1);
    struct mrg_request request = sample(help->arena, "GET /x", "", "");
    struct mrg_cassette_entry *entry =
        mrg_cassette_store_find(store, 0xbb, mrg_match_key(help->match, &request), 1);
    assert_non_null(entry);
    const struct mrg_reply *reply = &entry->reply;
    assert_true(reply->has_grpc_status);
    assert_int_equal(reply->grpc_status, 5);
    assert_string_equal(reply->grpc_message.ptr, "no \"x\"");
    assert_string_equal(reply->grpc_details.ptr, "[{\"@type\":\"a/b.C\"}]");
    assert_int_equal(reply->header_count, 1);
    assert_int_equal(reply->trailer_count, 3);
    assert_string_equal(reply->trailers[2].name.ptr, "x-u");
    assert_string_equal(reply->trailers[2].value.ptr, "3");
    const char *end = entry->rep->data + 4096;
    assert_true(reply->grpc_message.ptr > entry->rep->data && reply->grpc_message.ptr < end);
    assert_true(reply->grpc_details.ptr > entry->rep->data && reply->grpc_details.ptr < end);
    assert_true(reply->trailers[0].value.ptr > entry->rep->data && reply->trailers[0].value.ptr < end);
    mrg_cassette_entry_unref(entry);
    mrg_cassette_store_free(store);
}

static void test_bodies(void **state)
{
    assert_body(*state, "{\"status\":204}", MRG_BODY_NONE, "");
    assert_body(*state, "{\"status\":200,\"body\":\"x\"}", MRG_BODY_JSON, "\"x\"");
    assert_body(*state, "{\"status\":200,\"body\":\"x\\n\",\"headers\":{\"content-type\":\"text/plain\"}}",
                MRG_BODY_TEXT, "x\n");
    assert_body(*state, "{\"status\":200,\"body_base64\":\"Zm9v\"}", MRG_BODY_BINARY, "foo");
}

static void test_later_one_counts(void **state)
{
    struct help *help = *state;
    struct mrg_cassette_store *store = help_store(help);
    struct mrg_error err;
    bool replaced = true;
    assert_int_equal(put(store, help, help_line(help, 7), &replaced, &err), MRG_ERR_OK);
    assert_false(replaced);
    struct mrg_cassette_entry *old = help_find(help, store, 7);
    const char *anew = "{\"at\":\"00000000000000aa\",\"nth\":1,\"dep\":\"inventory\",\"req\":{\"path\":\"/"
                       "7\",\"method\":\"GET\"},"
                       "\"rep\":{\"status\":404}}";
    assert_int_equal(put(store, help, anew, &replaced, &err), MRG_ERR_OK);
    assert_true(replaced);
    assert_int_equal(mrg_cassette_store_count(store), 1);
    struct mrg_cassette_entry *entry = help_find(help, store, 7);
    assert_int_equal(entry->reply.status, 404);
    assert_int_equal(old->reply.status, 200);
    mrg_cassette_entry_unref(entry);
    mrg_cassette_entry_unref(old);
    mrg_cassette_store_free(store);
}

static void test_many(void **state)
{
    struct help *help = *state;
    struct mrg_cassette_store *store = help_store(help);
    for (unsigned i = 0; i < 6000; i++) /* each twice: replacing one must not lose its neighbours */
        put_ok(store, help, help_line(help, i % 3000));
    assert_int_equal(mrg_cassette_store_count(store), 3000);
    for (unsigned i = 0; i < 3000; i++) {
        struct mrg_cassette_entry *entry = help_find(help, store, i);
        assert_non_null(entry);
        assert_string_equal(entry->rep->data,
                            mrg_arena_printf(help->arena, "{\"status\":200,\"body\":{\"n\":%u}}", i));
        mrg_cassette_entry_unref(entry);
    }
    assert_null(help_find(help, store, 3000));
    mrg_cassette_store_free(store);
}

static void test_put_refuses(void **state)
{
    struct help *help = *state;
    struct mrg_cassette_store *store = help_store(help);
    static const char *const wrong[][2] = {
        {"\"dep\":\"payment\",\"req\":{\"method\":\"GET\",\"path\":\"/\"},\"rep\":{\"status\":200}",
         "\"dep\" is \"payment\"; expected \"inventory\""},
        {"\"dep\":\"inventory\",\"req\":{\"path\":\"/\"},\"rep\":{\"status\":200}",
         "\"req\": \"method\" is missing"},
        {"\"dep\":\"inventory\",\"req\":{\"method\":\"GET\",\"path\":\"/\"},\"rep\":{\"status\":20}",
         "\"rep\": \"status\" is 20"},
        {"\"dep\":\"inventory\",\"req\":{\"method\":\"GET\",\"path\":\"/\"},\"rep\":{\"unsure\":\"x\"}",
         "unsure"},
    };
    for (size_t i = 0; i < MRG_ARRAY_LEN(wrong); i++) {
        struct mrg_error err;
        const char *text =
            mrg_arena_printf(help->arena, "{\"at\":\"00000000000000aa\",\"nth\":1,%s}", wrong[i][0]);
        assert_int_equal(put(store, help, text, NULL, &err), MRG_ERR_INVALID);
        if (!strstr(err.message, wrong[i][1]))
            fail_msg("%s: %s", text, err.message);
    }
    assert_int_equal(mrg_cassette_store_count(store), 0);
    mrg_cassette_store_free(store);
}

/* ---- files ---- */

static void assert_loads(struct help *help, const char *text, size_t len, size_t lines, size_t cut_line,
                         size_t cut_bytes)
{
    struct mrg_cassette_store *store = help_store(help);
    struct mrg_cassette_loaded loaded;
    struct mrg_error err;
    help_write(help->path, text, len);
    if (mrg_cassette_store_load(store, help->match, help->path, &loaded, &err))
        fail_msg("%.*s: %s", (int)len, text, err.message);
    if (loaded.lines != lines || loaded.cut_line != cut_line || loaded.cut_bytes != cut_bytes)
        fail_msg("%zu lines, line %zu cut, %zu bytes; expected %zu, %zu, %zu", loaded.lines, loaded.cut_line,
                 loaded.cut_bytes, lines, cut_line, cut_bytes);
    assert_int_equal(mrg_cassette_store_count(store), lines - loaded.replaced);
    mrg_cassette_store_free(store);
}

static void test_load_forms(void **state)
{
    struct help *help = *state;
    const char *one = help_line(help, 1);
    const char *two = help_line(help, 2);
    const char *text;
    assert_loads(help, "", 0, 0, 0, 0);
    assert_loads(help, "\n\n", 2, 0, 0, 0);
    text = mrg_arena_printf(help->arena, "%s\r\n\r\n  \n%s\n%s\n", one, two, one);
    assert_loads(help, text, strlen(text), 3, 0, 0);
    text = mrg_arena_printf(help->arena, "%s\n%s", one, two);
    assert_loads(help, text, strlen(text), 2, 0, 0);
    text = mrg_arena_printf(help->arena, "%s\n ", one);
    assert_loads(help, text, strlen(text), 1, 0, 0);
    assert_loads(help, "\0\0\0", 3, 0, 1, 3);
}

/* A cassette cut at any byte: every whole line is there, and the cut is told. */
static void test_cut_anywhere(void **state)
{
    struct help *help = *state;
    const char *one = help_line(help, 1);
    const char *text = mrg_arena_printf(help->arena, "%s\n%s\n", one, rich);
    size_t first = strlen(one), second = first + 1 + strlen(rich);
    for (size_t len = 0; len <= strlen(text); len++) {
        size_t lines = (len >= first) + (len >= second);
        size_t start = len > first ? first + 1 : 0;
        bool cut = len != 0 && len != first && len != first + 1 && len < second;
        assert_loads(help, text, len, lines, cut ? (len > first ? 2 : 1) : 0, cut ? len - start : 0);
    }
}

static void assert_load_error(struct help *help, const char *text, size_t len, const char *expected)
{
    struct mrg_cassette_store *store = help_store(help);
    struct mrg_cassette_loaded loaded;
    struct mrg_error err;
    help_write(help->path, text, len);
    assert_int_not_equal(mrg_cassette_store_load(store, help->match, help->path, &loaded, &err), MRG_ERR_OK);
    const char *whole = mrg_arena_printf(help->arena, "%s%s", help->path, expected);
    if (strncmp(err.message, whole, strlen(whole)) != 0)
        fail_msg("\"%s\" does not begin with \"%s\"", err.message, whole);
    mrg_cassette_store_free(store);
}

static void test_load_errors(void **state)
{
    struct help *help = *state;
    const char *one = help_line(help, 1);
    const char *text;
    text = mrg_arena_printf(help->arena, "%s\n{\"at\":}\n%s\n", one, one);
    assert_load_error(help, text, strlen(text), ":2:7: expected a value");
    text = mrg_arena_printf(help->arena, "%s\n\n<<<<<<< HEAD\n%s\n", one, one);
    assert_load_error(help, text, strlen(text), ":3:1: a mark of a merge conflict");
    text = mrg_arena_printf(help->arena, "%s\n{\"nth\":0}\n", one);
    assert_load_error(help, text, strlen(text), ":2:8: \"nth\" is 0; expected a count from 1");
    /* Whole JSON without a newline is no cut line. */
    text = mrg_arena_printf(help->arena, "%s\n{\"nth\":0}", one);
    assert_load_error(help, text, strlen(text), ":2:8: \"nth\" is 0");
    text = "{\"at\":\"00000000000000aa\",\"nth\":1,\"dep\":\"other\",\"req\":{\"method\":\"GET\",\"path\":\"/"
           "\"},\"rep\":{\"status\":200}}\n";
    assert_load_error(help, text, strlen(text), ":1:1: \"dep\" is \"other\"; expected \"inventory\"");
    assert_load_error(help, "a\0b\n", 4, ":1:1: ");
}

static void test_load_limits(void **state)
{
    struct help *help = *state;
    size_t len = MRG_MAX_CASSETTE_LINE + 10;
    char *text = mrg_malloc(len);
    memset(text, ' ', len);
    assert_load_error(help, text, len, ":1: the line is longer than ");
    free(text);
    struct mrg_cassette_store *store = help_store(help);
    struct mrg_cassette_loaded loaded;
    struct mrg_error err;
    unlink(help->path);
    assert_int_equal(mrg_cassette_store_load(store, help->match, help->path, &loaded, &err),
                     MRG_ERR_NOT_FOUND);
    mrg_cassette_store_free(store);
}

/* None of these may hang, or be read to an end that never comes. */
static void test_load_only_files(void **state)
{
    struct help *help = *state;
    const struct {
        const char *path, *sentence;
    } all[] = {{help->dir, ": is a folder; expected a file"},
               {help->path, ": is a pipe; expected a file"},
               {"/dev/zero", "/dev/zero: is a device; expected a file"}};
    struct mrg_cassette_store *store = help_store(help);
    struct mrg_cassette_loaded loaded;
    assert_int_equal(mkfifo(help->path, 0600), 0);
    for (size_t i = 0; i < MRG_ARRAY_LEN(all); i++) {
        struct mrg_error err;
        assert_int_equal(mrg_cassette_store_load(store, help->match, all[i].path, &loaded, &err), MRG_ERR_IO);
        assert_non_null(strstr(err.message, all[i].sentence));
    }
    mrg_cassette_store_free(store);
}

static void test_load_byte_order_mark(void **state)
{
    struct help *help = *state;
    static const char *const ends[] = {"\n", ""};
    for (size_t i = 0; i < MRG_ARRAY_LEN(ends); i++) {
        struct mrg_cassette_store *store = help_store(help);
        struct mrg_cassette_loaded loaded;
        struct mrg_error err;
        const char *text = mrg_arena_printf(help->arena, "\xEF\xBB\xBF%s%s", help_line(help, 1), ends[i]);
        help_write(help->path, text, strlen(text));
        if (mrg_cassette_store_load(store, help->match, help->path, &loaded, &err))
            fail_msg("%s", err.message);
        assert_int_equal(loaded.lines, 1);
        assert_int_equal(loaded.cut_line, 0);
        mrg_cassette_store_free(store);
    }
    const char *text =
        mrg_arena_printf(help->arena, "%s\n\xEF\xBB\xBF%s\n", help_line(help, 1), help_line(help, 2));
    assert_load_error(help, text, strlen(text), ":2:1: expected a value");
}

/* ---- misses ---- */

static void assert_miss(struct help *help, struct mrg_cassette_store *store, const char *line,
                        const char *body, unsigned nth, const char *expected)
{
    struct mrg_buf buf;
    struct mrg_request request = sample(help->arena, line, NULL, body);
    mrg_buf_init(&buf, SIZE_MAX);
    mrg_cassette_miss(&buf, store, help->match, "FILE", &request, 0xbb, mrg_match_key(help->match, &request),
                      nth);
    assert_string_equal(buf.data, expected);
    mrg_buf_done(&buf);
}

#define AT(place, method, path, body)                                                                        \
    "{\"at\":\"00000000000000" place "\",\"nth\":1,\"dep\":\"inventory\",\"req\":{\"method\":\"" method      \
    "\",\"path\":\"" path "\",\"body\":" body "},\"rep\":{\"status\":200}}"

static void test_miss_sentences(void **state)
{
    struct help *help = *state;
    struct mrg_cassette_store *store = help_store(help);
    assert_miss(help, store, "GET /x", NULL, 1,
                "nothing is recorded for GET /x; FILE holds nothing; record it with --mode auto");
    put_ok(store, help, AT("aa", "POST", "/items/1", "{\"q\":1}"));
    assert_miss(help, store, "POST /items/1", "{\"q\":1}", 1,
                "nothing is recorded for POST /items/1 at place 00000000000000bb; this request is recorded "
                "after other requests that change state, or in another scenario, at place 00000000000000aa; "
                "was the session reset before the test (POST /__mock__/reset)? If it was, record it with "
                "--mode auto");
    assert_miss(help, store, "POST /items/1", "{\"q\":2}", 1,
                "nothing is recorded for POST /items/1 at place 00000000000000bb; the nearest recorded "
                "elsewhere is POST /items/1, first "
                "difference: body.$.q: 2 here, 1 recorded; record it with --mode auto");
    put_ok(store, help, AT("bb", "POST", "/items/1", "{\"q\":3}"));
    put_ok(store, help, AT("bb", "POST", "/items/2", "{\"q\":2}"));
    assert_miss(help, store, "POST /items/1", "{\"q\":2}", 1,
                "nothing is recorded for POST /items/1 at place 00000000000000bb; the nearest recorded there "
                "is POST /items/1, first "
                "difference: body.$.q: 2 here, 3 recorded; record it with --mode auto");
    assert_miss(help, store, "POST /items/1", "{\"q\":3}", 2,
                "nothing is recorded for POST /items/1 when it comes the 2nd time at place 00000000000000bb; "
                "it was recorded 1 time there; record it with --mode auto");
    assert_miss(help, store, "POST /items/1", "{\"q\":3}", 11,
                "nothing is recorded for POST /items/1 when it comes the 11th time at place "
                "00000000000000bb; it was recorded 1 time there; record it with --mode auto");
    /* Another request at this place is nearer than it seems: the very same one comes first. */
    assert_miss(help, store, "POST /items/1", "{\"q\":1}", 1,
                "nothing is recorded for POST /items/1 at place 00000000000000bb; this request is recorded "
                "after other requests that change state, or in another scenario, at place 00000000000000aa; "
                "was the session reset before the test (POST /__mock__/reset)? The nearest recorded at the "
                "present place is POST /items/1, first difference: body.$.q: 1 here, 3 recorded; record it "
                "with --mode auto");
    mrg_cassette_store_free(store);
}

/* Of many that are alike, the sentence names the nearest, and is the same whatever the order of the lines. */
static void test_miss_finds_the_nearest(void **state)
{
    struct help *help = *state;
    static const unsigned steps[] = {1, 7, 499};
    for (size_t round = 0; round < MRG_ARRAY_LEN(steps); round++) {
        struct mrg_cassette_store *store = help_store(help);
        for (unsigned i = 0; i < 500; i++) {
            unsigned number = i * steps[round] % 500;
            put_ok(store, help,
                   mrg_arena_printf(help->arena, AT("bb", "POST", "/items/%u", "{\"a\":%u,\"b\":%u}"),
                                    number % 5, 1000 + number, number % 2));
        }
        assert_miss(
            help, store, "POST /items/3", "{\"a\":1003,\"b\":7}", 1,
            "nothing is recorded for POST /items/3 at place 00000000000000bb; the nearest recorded there "
            "is POST /items/3, first difference: body.$.b: 7 here, 1 recorded; record it with --mode auto");
        mrg_cassette_store_free(store);
    }
}

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* The turn is held while the sentence is made: large bodies are compared a few times, not for each entry. */
static void test_miss_is_bounded(void **state)
{
    struct help *help = *state;
    struct mrg_cassette_store *store = help_store(help);
    struct mrg_buf body, buf;
    mrg_buf_init(&body, SIZE_MAX);
    mrg_buf_init(&buf, SIZE_MAX);
    mrg_buf_append_str(&body, "{\"list\":[0");
    for (unsigned i = 0; body.len < 50000; i++)
        mrg_buf_appendf(&body, ",{\"name\":\"item %u\",\"count\":%u}", i, i % 7);
    mrg_buf_append_str(&body, "]");
    for (unsigned i = 0; i < 300; i++) {
        mrg_buf_clear(&buf);
        mrg_buf_appendf(&buf, AT("bb", "POST", "/items", "%s,\"n\":%u}"), body.data, i);
        put_ok(store, help, buf.data);
    }
    mrg_buf_append_str(&body, ",\"n\":1000}");
    struct mrg_request request = sample(help->arena, "POST /items", NULL, body.data);
    mrg_buf_clear(&buf);
    double before = cpu_seconds();
    mrg_cassette_miss(&buf, store, help->match, "FILE", &request, 0xbb, mrg_match_key(help->match, &request),
                      1);
    double spent = cpu_seconds() - before;
    assert_non_null(strstr(buf.data, "is POST /items, first difference: body.$.n: 1000 here, "));
    if (spent > 0.5) /* some 5 ms, and 2 s when all are compared; ten times as much under a sanitizer */
        fail_msg("%f s", spent);
    mrg_buf_done(&body);
    mrg_buf_done(&buf);
    mrg_cassette_store_free(store);
}

static void test_replace(void **state)
{
    struct help *help = *state;
    struct mrg_cassette_store *store = help_store(help), *other = help_store(help);
    for (unsigned i = 0; i < 100; i++)
        put_ok(store, help, help_line(help, i));
    for (unsigned i = 50; i < 70; i++)
        put_ok(other, help, help_line(help, i));
    struct mrg_cassette_entry *held = help_find(help, store, 1);
    mrg_cassette_store_replace(store, other);
    assert_int_equal(mrg_cassette_store_count(store), 20);
    assert_null(help_find(help, store, 1));
    struct mrg_cassette_entry *found = help_find(help, store, 60);
    assert_non_null(found);
    assert_int_equal(held->reply.status, 200);
    mrg_cassette_entry_unref(found);
    mrg_cassette_entry_unref(held);
    put_ok(store, help, help_line(help, 1));
    assert_int_equal(mrg_cassette_store_count(store), 21);
    mrg_cassette_store_free(store);
}

/* ---- threads ---- */

#define READERS 3
#define ROUNDS  300u

struct crowd {
    struct help *help;
    struct mrg_cassette_store *store;
    atomic_bool done;
    atomic_uint found;
};

static void *read_on(void *arg)
{
    struct crowd *crowd = arg;
    struct mrg_request request = {
        .method = MRG_SLICE("GET"), .path = MRG_SLICE("/0"), .query = MRG_SLICE("")};
    struct mrg_hash128 key = mrg_match_key(crowd->help->match, &request);
    while (!atomic_load(&crowd->done)) {
        struct mrg_cassette_entry *entry = mrg_cassette_store_find(crowd->store, 0xaa, key, 1);
        if (entry) {
            struct mrg_reply reply = entry->reply;
            struct mrg_text *rep = mrg_text_ref(entry->rep);
            mrg_cassette_entry_unref(entry);
            MRG_ASSERT(reply.status == 200 && *reply.body.bytes.ptr == '{');
            mrg_text_unref(rep);
            atomic_fetch_add(&crowd->found, 1);
        }
    }
    return NULL;
}

static void test_readers_and_a_writer(void **state)
{
    struct help *help = *state;
    struct crowd crowd = {.help = help, .store = help_store(help)};
    pthread_t readers[READERS];
    for (int i = 0; i < READERS; i++)
        assert_int_equal(pthread_create(&readers[i], NULL, read_on, &crowd), 0);
    for (unsigned i = 0; i < ROUNDS || atomic_load(&crowd.found) == 0; i++) {
        put_ok(crowd.store, help, help_line(help, 0));
        put_ok(crowd.store, help, help_line(help, i));
    }
    atomic_store(&crowd.done, true);
    for (int i = 0; i < READERS; i++)
        pthread_join(readers[i], NULL);
    assert_true(mrg_cassette_store_count(crowd.store) >= ROUNDS);
    mrg_cassette_store_free(crowd.store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_find, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_grpc_parts_outlive_the_line, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bodies, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_later_one_counts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_many, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_put_refuses, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_load_forms, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_cut_anywhere, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_load_errors, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_load_limits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_load_only_files, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_load_byte_order_mark, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_miss_sentences, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_miss_finds_the_nearest, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_miss_is_bounded, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_replace, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_readers_and_a_writer, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
