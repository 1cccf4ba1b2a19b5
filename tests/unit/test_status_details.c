// SPDX-License-Identifier: Apache-2.0
/* The message and the details of a status: wire/status_details.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "util/json.h"
#include "wire/proto.h"
#include "wire/status_details.h"

static int set_up(void **state)
{
    *state = mrg_arena_new(0);
    return 0;
}

static int tear_down(void **state)
{
    mrg_arena_free(*state);
    return 0;
}

static struct mrg_reply reply_of(struct mrg_arena *arena, const char *text)
{
    struct mrg_reply reply;
    struct mrg_error err;
    if (mrg_reply_parse(arena, mrg_slice_of(text), &reply, &err))
        fail_msg("%s: %s", text, err.message);
    return reply;
}

static void assert_message(struct mrg_arena *arena, const char *text, const char *expected)
{
    struct mrg_reply reply = reply_of(arena, text);
    struct mrg_slice message = mrg_status_message(arena, &reply, 2048);
    assert_int_equal(message.len, strlen(expected));
    assert_memory_equal(message.ptr, expected, message.len);
}

static void the_message_is_the_first_string_of_the_usual_members(void **state)
{
    assert_message(*state, "{\"status\":409,\"body\":{\"detail\":\"d\",\"error\":{\"message\":\"m\"}}}", "m");
    assert_message(*state, "{\"status\":409,\"body\":{\"error\":\"e\",\"message\":\"m\"}}", "m");
    assert_message(*state, "{\"status\":409,\"body\":{\"message\":7,\"detail\":\"d\",\"title\":\"t\"}}", "d");
    assert_message(*state, "{\"status\":409,\"body\":{\"detail\":[{\"msg\":\"x\"}],\"title\":\"t\"}}", "t");
    assert_message(*state, "{\"status\":409,\"body\":{\"error\":\"caf\\u00e9\\n\"}}", "caf\xC3\xA9\n");
    assert_message(*state, "{\"status\":409,\"body\":[\"x\"]}", "HTTP 409");
    assert_message(*state, "{\"status\":503,\"body_text\":\" upstream went away\\n\"}", "upstream went away");
    assert_message(*state, "{\"status\":503,\"body\":\"a\\u00e9\"}", "a\xC3\xA9");
    assert_message(*state, "{\"status\":404,\"grpc_status\":5}", "");
    assert_message(*state, "{\"grpc_status\":17}", "");
    assert_message(*state, "{\"status\":409}", "HTTP 409");
    assert_message(*state, "{\"status\":409,\"grpc_message\":\"own\",\"body\":{\"message\":\"m\"}}", "own");
    assert_message(*state, "{\"status\":409,\"grpc_message\":\"\",\"body\":{\"message\":\"m\"}}", "");
}

static void statuses_that_have_no_code_are_in_the_message(void **state)
{
    assert_message(*state, "{\"status\":302,\"body\":{\"message\":\"moved\"}}", "moved (HTTP 302)");
    assert_message(*state, "{\"status\":702,\"body\":{\"message\":\"odd\"}}", "odd (HTTP 702)");
    assert_message(*state, "{\"status\":302}", "HTTP 302");
    assert_message(*state, "{\"status\":302,\"grpc_status\":5,\"grpc_message\":\"own\"}", "own");
}

static void a_long_message_is_cut_between_characters(void **state)
{
    struct mrg_arena *arena = *state;
    struct mrg_buf buf;
    mrg_buf_init(&buf, SIZE_MAX);
    mrg_buf_append_str(&buf, "{\"status\":400,\"grpc_message\":\"x");
    for (size_t i = 0; i < 3000; i++)
        mrg_buf_append_str(&buf, "\xC3\xA9");
    mrg_buf_append_str(&buf, "\"}");
    struct mrg_reply reply = reply_of(arena, buf.data);
    struct mrg_slice message = mrg_status_message(arena, &reply, 2048);
    assert_int_equal(message.len, 2047);
    mrg_buf_done(&buf);
}

/* The details as JSON, of which the caller frees the text; NULL when there are none. */
static char *details_of(struct mrg_arena *arena, const char *text, size_t room)
{
    const struct mrg_schema *schema = mrg_schema_builtin();
    struct mrg_reply reply = reply_of(arena, text);
    struct mrg_error err;
    struct mrg_buf bytes, json;
    mrg_buf_init(&bytes, SIZE_MAX);
    mrg_buf_init(&json, SIZE_MAX);
    if (mrg_status_append(&bytes, schema, &reply, mrg_status_message(arena, &reply, 2048), "inventory", room))
        assert_true(bytes.len <= room);
    else
        mrg_buf_clear(&bytes);
    if (bytes.len > 0 && mrg_proto_to_json(schema, mrg_schema_message(schema, MRG_SLICE("google.rpc.Status")),
                                           mrg_buf_slice(&bytes), MRG_PROTO_JSON, &json, &err))
        fail_msg("%s", err.message);
    mrg_buf_done(&bytes);
    return json.len > 0 ? mrg_buf_take(&json, NULL) : NULL;
}

static void assert_details(struct mrg_arena *arena, const char *text, const char *expected)
{
    _cleanup_free_ char *found = details_of(arena, text, 6000);
    struct mrg_error err;
    if (!expected) {
        assert_null(found);
        return;
    }
    assert_non_null(found);
    assert_int_equal(mrg_json_check(mrg_slice_of(expected), &err), MRG_ERR_OK);
    struct mrg_hash128 a = mrg_json_hash(mrg_slice_of(found)), b = mrg_json_hash(mrg_slice_of(expected));
    if (a.low != b.low || a.high != b.high)
        fail_msg("%s\nexpected %s", found, expected);
}

#define INFO(reason)                                                                                         \
    "{\"@type\":\"type.googleapis.com/google.rpc.ErrorInfo\",\"reason\":\"" reason                           \
    "\",\"domain\":\"inventory\"}"
#define STRUCT(value) "{\"@type\":\"type.googleapis.com/google.protobuf.Struct\",\"value\":" value "}"

static void the_body_travels_as_a_struct_with_an_info_beside_it(void **state)
{
    assert_details(*state,
                   "{\"status\":409,\"body\":{\"error\":{\"code\":\"out_of_stock\",\"message\":\"m\"}}}",
                   "{\"code\":10,\"message\":\"m\",\"details\":[" INFO("OUT_OF_STOCK") "," STRUCT(
                       "{\"error\":{\"code\":\"out_of_stock\",\"message\":\"m\"}}") "]}");
    assert_details(*state, "{\"status\":404,\"body\":{\"detail\":\"no such item\"}}",
                   "{\"code\":5,\"message\":\"no such item\",\"details\":[" STRUCT(
                       "{\"detail\":\"no such item\"}") "]}");
    assert_details(*state, "{\"status\":404,\"body\":[1]}", NULL);
    assert_details(*state, "{\"status\":404}", NULL);
    assert_details(*state, "{\"status\":404,\"body\":\"text\"}", NULL);
}

static void reasons_are_codes_not_sentences(void **state)
{
    static const struct {
        const char *code;
        const char *reason;
    } cases[] = {
        {"NOT_FOUND", "NOT_FOUND"},
        {"notFound", "NOT_FOUND"},
        {"not-found", "NOT_FOUND"},
        {"E17", "E17"},
        {"not found", NULL},
        {"", NULL},
        {"404", NULL},
        {"a/b", NULL},
    };
    for (size_t i = 0; i < MRG_ARRAY_LEN(cases); i++) {
        char text[256], info[256];
        snprintf(text, sizeof(text), "{\"status\":404,\"body\":{\"code\":\"%s\",\"message\":\"m\"}}",
                 cases[i].code);
        snprintf(info, sizeof(info), "\"reason\":\"%s\"", cases[i].reason ? cases[i].reason : "");
        _cleanup_free_ char *found = details_of(*state, text, 6000);
        assert_non_null(found);
        if (!!strstr(found, cases[i].reason ? info : "ErrorInfo") != !!cases[i].reason)
            fail_msg("%s: %s", cases[i].code, found);
    }
}

static void given_details_are_what_is_sent(void **state)
{
    assert_details(
        *state,
        "{\"status\":400,\"grpc_details\":[{\"@type\":\"type.googleapis.com/google.rpc.BadRequest\","
        "\"field_violations\":[{\"field\":\"quantity\",\"description\":\"d\"}]},"
        "{\"@type\":\"type.googleapis.com/nobody.knows.This\"}],\"body\":{\"message\":\"m\"}}",
        "{\"code\":3,\"message\":\"m\",\"details\":[{\"@type\":\"type.googleapis.com/google.rpc.BadRequest\","
        "\"fieldViolations\":[{\"field\":\"quantity\",\"description\":\"d\"}]}]}");
    assert_details(
        *state, "{\"status\":400,\"grpc_details\":[{\"@type\":\"type.googleapis.com/nobody.knows.This\"}]}",
        NULL);
}

static void without_room_the_struct_goes_first(void **state)
{
    static const char text[] = "{\"status\":409,\"body\":{\"code\":\"FULL\",\"message\":\"m\",\"more\":"
                               "\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"}}";
    _cleanup_free_ char *with = details_of(*state, text, 400), *info = details_of(*state, text, 150),
                        *none = details_of(*state, text, 20);
    assert_non_null(strstr(with, "protobuf.Struct"));
    assert_non_null(strstr(info, "ErrorInfo"));
    assert_null(strstr(info, "protobuf.Struct"));
    assert_null(none);
}

static void mirages_own_failures_have_no_details(void **state)
{
    struct mrg_arena *arena = *state;
    struct mrg_reply reply = {0};
    struct mrg_buf bytes;
    mrg_buf_init(&bytes, SIZE_MAX);
    mrg_reply_fail(arena, &reply, 503, "the server is stopping");
    assert_false(mrg_status_append(&bytes, mrg_schema_builtin(), &reply, MRG_SLICE("m"), "inventory", 6000));
    struct mrg_slice message = mrg_status_message(arena, &reply, 2048);
    assert_memory_equal(message.ptr, "the server is stopping", 22);
    mrg_buf_done(&bytes);
}

static void details_are_checked_against_their_types(void **state)
{
    const struct mrg_schema *schema = mrg_schema_builtin();
    struct mrg_error err;
    struct mrg_reply good = reply_of(*state, "{\"status\":400,\"grpc_details\":[{\"@type\":\"type.googleapis."
                                             "com/google.rpc.ErrorInfo\",\"reason\":\"R\"}]}");
    struct mrg_reply unknown = reply_of(
        *state, "{\"status\":400,\"grpc_details\":[{\"@type\":\"type.googleapis.com/nobody.knows.This\"}]}");
    struct mrg_reply none = reply_of(*state, "{\"status\":409}");
    struct mrg_reply bad = reply_of(
        *state, "{\"status\":400,\"grpc_details\":[{\"@type\":\"type.googleapis.com/google.rpc.ErrorInfo\"},"
                "{\"@type\":\"type.googleapis.com/google.rpc.ErrorInfo\",\"reson\":\"R\"}]}");
    assert_int_equal(mrg_status_details_fit(schema, &good, &err), MRG_ERR_OK);
    assert_int_equal(mrg_status_details_fit(schema, &bad, &err), MRG_ERR_INVALID);
    assert_non_null(strstr(err.message, "grpc_details[1]: "));
    assert_non_null(strstr(err.message, "reson"));
    assert_int_equal(mrg_status_details_fit(schema, &unknown, &err), MRG_ERR_INVALID);
    assert_non_null(strstr(err.message, "grpc_details[0]: "));
    assert_non_null(strstr(err.message, "nobody.knows.This"));
    assert_int_equal(mrg_status_details_fit(schema, &none, NULL), MRG_ERR_OK);
}

static void the_message_is_mended(void **state)
{
    const struct mrg_schema *schema = mrg_schema_builtin();
    struct mrg_reply reply = reply_of(*state, "{\"status\":500}");
    struct mrg_buf bytes, json;
    struct mrg_error err;
    mrg_buf_init(&bytes, SIZE_MAX);
    mrg_buf_init(&json, SIZE_MAX);
    assert_false(mrg_status_append(&bytes, schema, &reply, MRG_SLICE("caf\xC3"), "inventory", 6000));
    assert_int_equal(mrg_proto_to_json(schema, mrg_schema_message(schema, MRG_SLICE("google.rpc.Status")),
                                       mrg_buf_slice(&bytes), MRG_PROTO_JSON, &json, &err),
                     MRG_ERR_OK);
    assert_string_equal(json.data, "{\"code\":13,\"message\":\"caf\xEF\xBF\xBD\"}");
    mrg_buf_done(&bytes);
    mrg_buf_done(&json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_message_is_the_first_string_of_the_usual_members, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(statuses_that_have_no_code_are_in_the_message, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_long_message_is_cut_between_characters, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_body_travels_as_a_struct_with_an_info_beside_it, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(reasons_are_codes_not_sentences, set_up, tear_down),
        cmocka_unit_test_setup_teardown(given_details_are_what_is_sent, set_up, tear_down),
        cmocka_unit_test_setup_teardown(without_room_the_struct_goes_first, set_up, tear_down),
        cmocka_unit_test_setup_teardown(mirages_own_failures_have_no_details, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_message_is_mended, set_up, tear_down),
        cmocka_unit_test_setup_teardown(details_are_checked_against_their_types, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
