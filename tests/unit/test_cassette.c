// SPDX-License-Identifier: Apache-2.0
#include "cassette_help.h"

#include "core/engine.h"
#include "core/record.h"
#include "core/stats.h"
#include "engines/cassette_writer.h"
#include "engines/engines.h"
#include "engines/provenance.h"
#include "engines/services.h"
#include "evidence/evidence.h"
#include "sample.h"

struct world {
    struct help help;
    struct mrg_dependency_stats stats;
    struct mrg_services services;
    struct mrg_evidence *evidence;
    struct mrg_engine *engine;
    struct mrg_exchange exchange;
    struct mrg_provenance provenance;
};

static int set_up(void **state)
{
    struct world *world = mrg_zalloc(sizeof(*world));
    help_init(&world->help);
    assert_int_equal(mrg_cassette_writer_new(&world->services.writer, NULL), MRG_ERR_OK);
    *state = world;
    return 0;
}

static void stop(struct world *world)
{
    if (world->engine)
        world->engine->ops->destroy(world->engine);
    world->engine = NULL;
    mrg_evidence_free(world->evidence);
    world->evidence = NULL;
}

static int tear_down(void **state)
{
    struct world *world = *state;
    stop(world);
    mrg_cassette_writer_free(world->services.writer);
    mrg_text_unref(world->exchange.reply_text);
    help_done(&world->help);
    free(world);
    return 0;
}

static enum mrg_err try_start(struct world *world, enum mrg_cassette_mode mode, struct mrg_error *err)
{
    const struct mrg_engine_env env = {
        .config = &world->help.config,
        .match = world->help.match,
        .stats = &world->stats,
        .evidence = world->evidence,
        .services = &world->services,
    };
    world->help.config.cassette.mode = mode;
    return mrg_engine_cassette.create(&env, &world->engine, err);
}

static void start(struct world *world, enum mrg_cassette_mode mode)
{
    struct mrg_error err;
    if (world->engine)
        world->engine->ops->destroy(world->engine);
    world->engine = NULL;
    if (try_start(world, mode, &err))
        fail_msg("%s", err.message);
}

/* Evidence of one file with that content. */
static void load_evidence(struct world *world, const char *content)
{
    static char *files[1];
    struct mrg_error err;
    struct mrg_dependency_config config = world->help.config;
    files[0] = mrg_arena_printf(world->help.arena, "%s/source.py", world->help.dir);
    help_write(files[0], content, strlen(content));
    config.evidence.source = (struct mrg_strings){files, 1};
    config.evidence.budget = 60000;
    mrg_evidence_free(world->evidence);
    world->evidence = NULL;
    if (mrg_evidence_load(&config, &world->evidence, &err))
        fail_msg("%s", err.message);
}

/* The exchange of a request at a place, its turn just begun. */
static struct mrg_exchange *ask(struct world *world, const char *line, const char *headers, const char *body,
                                unsigned nth)
{
    struct mrg_exchange *exchange = &world->exchange;
    mrg_text_unref(exchange->reply_text);
    memset(exchange, 0, sizeof(*exchange));
    exchange->arena = world->help.arena;
    exchange->request = sample(world->help.arena, line, headers, body);
    exchange->shown = &exchange->request;
    exchange->key = mrg_match_key(world->help.match, exchange->shown);
    exchange->place = 0xaa;
    exchange->nth = nth;
    return exchange;
}

static enum mrg_verdict answer(struct world *world, const char *line, unsigned nth)
{
    return mrg_engine_cassette.answer(world->engine, ask(world, line, NULL, NULL, nth));
}

/* The exchange of before is answered by another engine, as the gateway does it. */
static void answered(struct world *world, const char *source, const char *reply)
{
    struct mrg_exchange *exchange = &world->exchange;
    struct mrg_error err;
    struct mrg_buf buf;
    if (mrg_reply_parse(exchange->arena, mrg_slice_of(reply), &exchange->reply, &err))
        fail_msg("%s", err.message);
    exchange->reply.source = source;
    world->provenance = (struct mrg_provenance){.model = "tiny",
                                                .id = "id-1",
                                                .prompt_hash = "pp",
                                                .text_hash = "tt",
                                                .tokens_in = 9,
                                                .tokens_cached = 3,
                                                .tokens_out = 2,
                                                .ms = 77};
    exchange->engine_data = &world->provenance;
    struct mrg_record *record = mrg_record_new();
    mrg_buf_init(&buf, SIZE_MAX);
    mrg_request_append_json(&buf, exchange->shown, mrg_match_shows, world->help.match);
    record->request = mrg_text_new(buf.data, buf.len);
    record->reply = mrg_text_new(reply, strlen(reply));
    record->at_ms = 1769850900123u;
    mrg_engine_cassette.answered(world->engine, exchange, record);
    mrg_record_unref(record);
    mrg_buf_done(&buf);
}

static void record(struct world *world, const char *line, unsigned nth, const char *reply)
{
    answer(world, line, nth);
    answered(world, "llm", reply);
}

static void assert_answer(struct world *world, const char *line, unsigned nth, const char *text)
{
    if (answer(world, line, nth) != MRG_ANSWERED)
        fail_msg("%s (%u) is not answered", line, nth);
    assert_string_equal(world->exchange.reply.source, "cassette");
    assert_null(world->exchange.reply.error);
    assert_string_equal(world->exchange.reply_text->data, text);
}

static void assert_passed(struct world *world, const char *line, unsigned nth)
{
    if (answer(world, line, nth) != MRG_PASSED)
        fail_msg("%s (%u) is not passed on", line, nth);
}

static char *file_text(struct world *world)
{
    assert_true(mrg_cassette_writer_flush(world->services.writer, 60000));
    return help_read(world->help.path, NULL);
}

static void test_auto_records_and_answers(void **state)
{
    struct world *world = *state;
    start(world, MRG_CASSETTE_AUTO);
    assert_passed(world, "GET /x", 1);
    assert_int_equal(world->exchange.engine_note.len, 0);
    answered(world, "llm", "{ \"status\": 200,\n\"headers\":{\"x-a\":\"1\"}, \"body\": {\"n\": 1.50}}");
    for (int i = 0; i < 2; i++) {
        assert_answer(world, "GET /x", 1,
                      "{\"status\":200,\"headers\":{\"x-a\":\"1\"},\"body\":{\"n\":1.50}}");
        assert_int_equal(world->exchange.reply.status, 200);
        assert_true(mrg_slice_eq_str(world->exchange.reply.body.bytes, "{\"n\":1.50}"));
        assert_passed(world, "GET /x", 2);
        assert_passed(world, "GET /y", 1);
        start(world, MRG_CASSETTE_AUTO); /* and again from the file */
    }
    assert_true(mrg_cassette_writer_flush(world->services.writer, 60000));
    assert_int_equal(atomic_load(&world->stats.recorded), 1);
    assert_false(world->exchange.missed);
}

static void test_line(void **state)
{
    struct world *world = *state;
    load_evidence(world, "print(1)\n");
    start(world, MRG_CASSETTE_AUTO);
    ask(world, "POST /x?a=1", "x-a: 1\nhost: h\ncontent-type: application/json", " {\"q\" : 2.0} ", 3);
    answered(world, "llm", "{\"status\":201,\"body\":null}");
    char *text = file_text(world);
    const char *expected =
        mrg_arena_printf(world->help.arena,
                         "{\"at\":\"00000000000000aa\",\"nth\":3,\"dep\":\"inventory\",\"req\":{\"method\":"
                         "\"POST\",\"path\":\"/x\",\"query\":{\"a\":\"1\"},"
                         "\"headers\":{\"x-a\":\"1\"},\"body\":{\"q\":2.0}},\"rep\":{\"status\":201,\"body\":"
                         "null},\"by\":{\"model\":\"tiny\",\"prompt\":\"pp\","
                         "\"evidence\":\"%s\",\"tokens\":[9,3,2],\"ms\":77,\"id\":\"id-1\",\"text\":\"tt\"},"
                         "\"clock\":\"2026-01-31T09:15:00.123Z\"}\n",
                         mrg_evidence_hash(world->evidence));
    assert_int_equal(strlen(mrg_evidence_hash(world->evidence)), MRG_SHA256_HEX);
    assert_string_equal(text, expected);
    free(text);
}

static void test_replay(void **state)
{
    struct world *world = *state;
    start(world, MRG_CASSETTE_AUTO);
    record(world, "GET /x", 1, "{\"status\":200}");
    start(world, MRG_CASSETTE_REPLAY);
    assert_answer(world, "GET /x", 1, "{\"status\":200}");
    assert_false(world->exchange.missed);
    assert_passed(world, "GET /y", 1);
    assert_non_null(strstr(world->exchange.engine_note.ptr, "nothing is recorded for GET /y"));
    assert_non_null(strstr(world->exchange.engine_note.ptr, "path: \"/y\" here, \"/x\" recorded"));
    assert_true(world->exchange.missed);
    assert_passed(world, "GET /x", 2);
    assert_non_null(strstr(world->exchange.engine_note.ptr, "recorded 1 time there"));
    answered(world, "llm", "{\"status\":200}");
    assert_passed(world, "GET /x", 2);
    /* What an engine before has noted stays. */
    ask(world, "GET /z", NULL, NULL, 1);
    world->exchange.engine_note = MRG_SLICE("stub: no");
    mrg_engine_cassette.answer(world->engine, &world->exchange);
    assert_memory_equal(world->exchange.engine_note.ptr, "stub: no; nothing is", 20);
}

static void test_replay_without_file(void **state)
{
    struct world *world = *state;
    start(world, MRG_CASSETTE_REPLAY);
    assert_passed(world, "GET /x", 1);
    assert_non_null(strstr(world->exchange.engine_note.ptr, "inventory.jsonl holds nothing"));
    assert_int_not_equal(access(world->help.path, F_OK), 0);
}

static void test_record_replaces(void **state)
{
    struct world *world = *state;
    start(world, MRG_CASSETTE_AUTO);
    record(world, "GET /x", 1, "{\"status\":200}");
    start(world, MRG_CASSETTE_RECORD);
    assert_passed(world, "GET /x", 1);
    answered(world, "llm", "{\"status\":404}");
    assert_passed(world, "GET /x", 1);
    start(world, MRG_CASSETTE_AUTO);
    assert_answer(world, "GET /x", 1, "{\"status\":404}");
    assert_int_equal(atomic_load(&world->stats.recorded), 2);
}

static void test_off(void **state)
{
    struct world *world = *state;
    start(world, MRG_CASSETTE_AUTO);
    record(world, "GET /x", 1, "{\"status\":200}");
    start(world, MRG_CASSETTE_OFF);
    assert_passed(world, "GET /x", 1);
    record(world, "GET /y", 1, "{\"status\":200}");
    assert_true(mrg_cassette_writer_flush(world->services.writer, 60000));
    assert_int_equal(atomic_load(&world->stats.recorded), 1);
}

static void test_only_a_models_replies(void **state)
{
    struct world *world = *state;
    start(world, MRG_CASSETTE_AUTO);
    answer(world, "GET /x", 1);
    answered(world, "stub", "{\"status\":200}");
    answered(world, NULL, "{\"status\":200}");
    answered(world, "llm", "{\"status\":200,\"unsure\":\"why\"}");
    assert_passed(world, "GET /x", 1);
    mrg_cassette_writer_flush(world->services.writer, 60000);
    assert_int_not_equal(access(world->help.path, F_OK), 0);
    /* That the caller has gone is no reason: its retry hits. */
    atomic_store(&world->exchange.gone, true);
    answered(world, "llm", "{\"status\":200}");
    assert_answer(world, "GET /x", 1, "{\"status\":200}");
    answered(world, "cassette", "{\"status\":500}");
    assert_answer(world, "GET /x", 1, "{\"status\":200}");
}

static void record_stale(struct world *world)
{
    load_evidence(world, "old\n");
    start(world, MRG_CASSETTE_AUTO);
    record(world, "GET /x", 1, "{\"status\":200}");
    assert_answer(world, "GET /x", 1, "{\"status\":200}");
    assert_int_equal(atomic_load(&world->stats.stale), 0);
    stop(world);
    load_evidence(world, "new\n");
}

static void test_stale_is_used(void **state)
{
    struct world *world = *state;
    record_stale(world);
    world->help.config.cassette.on_stale = MRG_STALE_USE;
    start(world, MRG_CASSETTE_AUTO);
    assert_answer(world, "GET /x", 1, "{\"status\":200}");
    world->help.config.cassette.on_stale = MRG_STALE_WARN;
    start(world, MRG_CASSETTE_REPLAY);
    assert_answer(world, "GET /x", 1, "{\"status\":200}");
    assert_answer(world, "GET /x", 1, "{\"status\":200}");
    assert_int_equal(atomic_load(&world->stats.stale), 3);
}

static void test_stale_is_refused(void **state)
{
    struct world *world = *state;
    record_stale(world);
    world->help.config.cassette.on_stale = MRG_STALE_REFUSE;
    start(world, MRG_CASSETTE_REPLAY);
    assert_passed(world, "GET /x", 1);
    assert_non_null(strstr(world->exchange.engine_note.ptr, "GET /x is stale"));
    assert_true(world->exchange.missed);
    start(world, MRG_CASSETTE_AUTO);
    assert_int_equal(answer(world, "GET /x", 1), MRG_ANSWERED);
    assert_int_equal(world->exchange.reply.status, 500);
    assert_non_null(strstr(world->exchange.reply.error, "GET /x is stale"));
}

static void test_stale_is_refreshed(void **state)
{
    struct world *world = *state;
    record_stale(world);
    world->help.config.cassette.on_stale = MRG_STALE_REFRESH;
    start(world, MRG_CASSETTE_REPLAY);
    assert_answer(world, "GET /x", 1, "{\"status\":200}");
    start(world, MRG_CASSETTE_AUTO);
    assert_passed(world, "GET /x", 1);
    answered(world, "llm", "{\"status\":404}");
    assert_answer(world, "GET /x", 1, "{\"status\":404}");
    assert_int_equal(atomic_load(&world->stats.stale), 1);
}

static void test_lines_by_hand_are_never_stale(void **state)
{
    struct world *world = *state;
    const char *line = mrg_arena_printf(world->help.arena, "%s\n", help_line(&world->help, 5));
    help_write(world->help.path, line, strlen(line));
    load_evidence(world, "x\n");
    world->help.config.cassette.on_stale = MRG_STALE_REFUSE;
    start(world, MRG_CASSETTE_REPLAY);
    assert_answer(world, "GET /5", 1, "{\"status\":200,\"body\":{\"n\":5}}");
}

/* Whatever was asked, what is read back has its key. */
static void test_odd_requests_come_back(void **state)
{
    static const struct {
        const char *line, *headers, *body;
    } odd[] = {
        {"POST /a%2Fb?x=%FF&y=+", "x: caf\xC3\xA9\nx: \xff", "{\"a\":1e3,\"b\":\"\\u0000\"}"},
        {"PUT /t", "content-type: text/plain", "line\nline\x01"},
        {"PUT /f", "content-type: application/x-www-form-urlencoded", "a=1&b=%20"},
        {"PUT /b", "content-type: image/png", "\x89PNG\xff"},
        {"PUT /j", "content-type: application/json", "{\"broken"},
        {"DELETE /", NULL, "123456789012345678901234567890"},
    };
    struct world *world = *state;
    start(world, MRG_CASSETTE_AUTO);
    for (size_t i = 0; i < MRG_ARRAY_LEN(odd); i++) {
        ask(world, odd[i].line, odd[i].headers, odd[i].body, 1);
        answered(world, "llm", "{\"status\":200,\"body_base64\":\"AP8=\"}");
    }
    start(world, MRG_CASSETTE_REPLAY);
    for (size_t i = 0; i < MRG_ARRAY_LEN(odd); i++) {
        struct mrg_exchange *exchange = ask(world, odd[i].line, odd[i].headers, odd[i].body, 1);
        if (mrg_engine_cassette.answer(world->engine, exchange) != MRG_ANSWERED)
            fail_msg("%s: %s", odd[i].line, exchange->engine_note.ptr);
        assert_int_equal(exchange->reply.body.bytes.len, 2);
    }
}

/* A request body that is too deep for the line around it is a text there. */
static void test_deep_bodies_are_recorded(void **state)
{
    struct world *world = *state;
    char deep[201];
    memset(deep, '[', 100);
    memset(deep + 100, ']', 100);
    deep[200] = '\0';
    start(world, MRG_CASSETTE_AUTO);
    ask(world, "POST /x", NULL, deep, 1);
    answered(world, "llm", "{\"status\":200}");
    start(world, MRG_CASSETTE_REPLAY);
    struct mrg_exchange *exchange = ask(world, "POST /x", NULL, deep, 1);
    assert_int_equal(mrg_engine_cassette.answer(world->engine, exchange), MRG_ANSWERED);
}

/* A text whose escapes make the line too long: it is not recorded, told and counted, and the file stays readable. */
static void test_what_cannot_be_recorded_is_lost(void **state)
{
    struct world *world = *state;
    size_t len = 4u << 20;
    struct mrg_buf reply;
    mrg_buf_init(&reply, SIZE_MAX);
    mrg_buf_append_str(&reply, "{\"status\":200,\"body_text\":\"");
    for (size_t i = 0; i < len; i++)
        mrg_buf_append_str(&reply, "\\u0001");
    mrg_buf_append_str(&reply, "\"}");
    start(world, MRG_CASSETTE_AUTO);
    record(world, "GET /x", 1, reply.data);
    record(world, "GET /y", 1, "{\"status\":200}");
    assert_int_equal(mrg_cassette_writer_flush(world->services.writer, 60000), true);
    assert_int_equal(atomic_load(&world->stats.recorded), 1);
    assert_int_equal(atomic_load(&world->stats.lost), 1);
    start(world, MRG_CASSETTE_REPLAY);
    assert_answer(world, "GET /y", 1, "{\"status\":200}");
    mrg_buf_done(&reply);
}

/* A body of some size is held once, however many callers take it. */
static void assert_shared(struct world *world, const char *line, const char *reply)
{
    start(world, MRG_CASSETTE_AUTO);
    record(world, line, 1, reply);
    struct mrg_arena *kept = world->help.arena;
    const char *first = NULL;
    for (int i = 0; i < 100; i++) {
        struct mrg_arena *arena = world->help.arena = mrg_arena_new(0);
        struct mrg_exchange *exchange = ask(world, line, NULL, NULL, 1);
        size_t before = mrg_arena_size(arena);
        assert_int_equal(mrg_engine_cassette.answer(world->engine, exchange), MRG_ANSWERED);
        assert_int_equal(mrg_arena_size(arena), before);
        assert_true(exchange->reply.body.bytes.len >= 1u << 20);
        assert_true(!first || first == exchange->reply.body.bytes.ptr);
        assert_true(exchange->reply.body.bytes.ptr > exchange->reply_text->data);
        first = exchange->reply.body.bytes.ptr;
        mrg_arena_free(arena);
    }
    world->help.arena = kept;
}

static void test_replies_are_not_copied(void **state)
{
    struct world *world = *state;
    size_t len = 1u << 20;
    char *large = mrg_zalloc(len + 1);
    memset(large, 'x', len);
    assert_shared(world, "GET /json",
                  mrg_arena_printf(world->help.arena, "{\"status\":200,\"body\":\"%s\"}", large));
    assert_shared(world, "GET /text",
                  mrg_arena_printf(world->help.arena, "{\"status\":200,\"body_text\":\"%s\"}", large));
    free(large);
}

static void test_cut_file_goes_on(void **state)
{
    struct world *world = *state;
    const char *text = mrg_arena_printf(world->help.arena, "%s\n{\"at\":\"0000", help_line(&world->help, 5));
    help_write(world->help.path, text, strlen(text));
    start(world, MRG_CASSETTE_AUTO);
    assert_answer(world, "GET /5", 1, "{\"status\":200,\"body\":{\"n\":5}}");
    record(world, "GET /y", 1, "{\"status\":404}");
    start(world, MRG_CASSETTE_REPLAY);
    assert_answer(world, "GET /5", 1, "{\"status\":200,\"body\":{\"n\":5}}");
    assert_answer(world, "GET /y", 1, "{\"status\":404}");
}

static void test_create_refuses(void **state)
{
    struct world *world = *state;
    struct mrg_error err;
    help_write(world->help.path, "x\ny\n", 4);
    assert_int_equal(try_start(world, MRG_CASSETTE_REPLAY, &err), MRG_ERR_INVALID);
    assert_non_null(strstr(err.message, "inventory.jsonl:1:1: expected a value"));
    assert_null(world->engine);
    assert_int_equal(try_start(world, MRG_CASSETTE_OFF, &err), MRG_ERR_OK);
    stop(world);
    world->help.config.name = (char *)(uintptr_t) "../x";
    assert_int_equal(try_start(world, MRG_CASSETTE_AUTO, &err), MRG_ERR_INVALID);
    world->help.config.name = (char *)(uintptr_t) "inventory";
    world->help.config.cassette.dir = world->help.path;
    assert_int_equal(try_start(world, MRG_CASSETTE_AUTO, &err), MRG_ERR_IO);
    assert_null(world->engine);
}

static void test_without_a_writer(void **state)
{
    struct world *world = *state;
    struct mrg_cassette_writer *writer = world->services.writer;
    world->services.writer = NULL;
    start(world, MRG_CASSETTE_AUTO);
    record(world, "GET /x", 1, "{\"status\":200}");
    assert_answer(world, "GET /x", 1, "{\"status\":200}");
    assert_int_not_equal(access(world->help.path, F_OK), 0);
    world->services.writer = writer;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_auto_records_and_answers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_line, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_replay, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_replay_without_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_record_replaces, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_off, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_only_a_models_replies, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_stale_is_used, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_stale_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_stale_is_refreshed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_lines_by_hand_are_never_stale, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_odd_requests_come_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_deep_bodies_are_recorded, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_cannot_be_recorded_is_lost, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_replies_are_not_copied, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_cut_file_goes_on, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_create_refuses, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_without_a_writer, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
