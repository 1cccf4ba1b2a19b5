// SPDX-License-Identifier: Apache-2.0
/* google.rpc.Status in bytes, in the forms that the wires want: wire/status_details.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "util/json.h"
#include "wire/proto.h"
#include "wire/status_details.h"

#define URL "type.googleapis.com/"

static const struct mrg_status_form each = {.domain = "stock", .room = 6000}, whole = {NULL, SIZE_MAX, true};

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

/* The status as JSON, behind whether it has details ("+" or "-"); the caller frees. */
static char *status_of(const struct mrg_reply *reply, int code, struct mrg_slice message,
                       const struct mrg_status_form *form)
{
    const struct mrg_schema *schema = mrg_schema_builtin();
    const struct mrg_message *type = mrg_schema_message(schema, MRG_SLICE("google.rpc.Status"));
    struct mrg_buf bytes, json;
    struct mrg_error err;
    mrg_buf_init(&bytes, SIZE_MAX);
    mrg_buf_init(&json, SIZE_MAX);
    bool details = mrg_status_append(&bytes, schema, reply, code, message, form);
    mrg_buf_append_char(&json, details ? '+' : '-');
    if (mrg_proto_to_json(schema, type, mrg_buf_slice(&bytes), MRG_PROTO_JSON, &json, &err))
        fail_msg("%s", err.message);
    mrg_buf_done(&bytes);
    return mrg_buf_take(&json, NULL);
}

static void assert_status(struct mrg_arena *arena, const char *text, const struct mrg_status_form *form,
                          const char *expected)
{
    struct mrg_reply reply = reply_of(arena, text);
    _cleanup_free_ char *found = status_of(&reply, 9, MRG_SLICE("m"), form);
    assert_string_equal(found, expected);
}

static void assert_sentence(struct mrg_arena *arena, const char *body, const char *expected)
{
    _cleanup_free_ char *text = mrg_asprintf("{\"status\":400,\"body\":%s}", body);
    struct mrg_reply reply = reply_of(arena, text);
    struct mrg_slice found = mrg_status_sentence(arena, &reply);
    assert_int_equal(!found.ptr, !expected);
    if (expected)
        assert_true(mrg_slice_eq_str(found, expected));
}

static void test_sentence(void **state)
{
    assert_sentence(*state, "{\"error\":{\"message\":\"a\"},\"message\":\"b\"}", "a");
    assert_sentence(*state, "{\"detail\":\"c\",\"message\":\"b\"}", "b");
    assert_sentence(*state, "{\"title\":\"d\",\"detail\":\"c\\n\\u00e9\"}", "c\n\xC3\xA9");
    assert_sentence(*state, "{\"error\":\"e\",\"title\":\"d\"}", "d");
    assert_sentence(*state, "{\"error\":\"e\",\"title\":1}", "e");
    assert_sentence(*state, "{\"error\":{\"code\":1}}", NULL);
    assert_sentence(*state, "[\"message\"]", NULL);
}

#define BODY   "{\"code\":\"sold_out\",\"left\":0}"
#define STRUCT "{\"@type\":\"" URL "google.protobuf.Struct\",\"value\":" BODY "}"

static void test_body(void **state)
{
    static const char text[] = "{\"status\":409,\"body\":" BODY "}";
    assert_status(*state, text, &whole, "+{\"code\":9,\"message\":\"m\",\"details\":[" STRUCT "]}");
    assert_status(*state, text, &each,
                  "+{\"code\":9,\"message\":\"m\",\"details\":[{\"@type\":\"" URL
                  "google.rpc.ErrorInfo\",\"reason\":\"SOLD_OUT\",\"domain\":\"stock\"}," STRUCT "]}");
    assert_status(*state, "{\"status\":409,\"body\":[1]}", &each, "-{\"code\":9,\"message\":\"m\"}");
    assert_status(*state, "{\"status\":409}", &whole, "-{\"code\":9,\"message\":\"m\"}");
}

#define INFO "{\"@type\":\"" URL "google.rpc.ErrorInfo\",\"reason\":\"R\"}"

static void test_own_details(void **state)
{
    static const char good[] = "{\"status\":409,\"grpc_details\":[" INFO "],\"body\":" BODY "}",
                      unknown[] =
                          "{\"status\":409,\"grpc_details\":[" INFO ",{\"@type\":\"" URL "no.One\"}]}",
                      shows[] = "+{\"code\":9,\"message\":\"m\",\"details\":[" INFO "]}";
    assert_status(*state, good, &each, shows);
    assert_status(*state, good, &whole, shows);
    assert_status(*state, unknown, &each, shows);
    assert_status(*state, unknown, &whole, "-{\"code\":9,\"message\":\"m\"}");
}

static void test_room(void **state)
{
    static const char body[] = "{\"status\":409,\"body\":" BODY "}",
                      own[] = "{\"status\":409,\"grpc_details\":[" INFO "]}";
    /* Without details it takes 5 bytes; INFO as a detail 49, and of its length six bytes may be asked more. */
    struct mrg_status_form form = {.room = 5};
    for (int i = 0; i < 2; i++) {
        form.whole = i == 1;
        form.room = 5;
        assert_status(*state, own, &form, "-{\"code\":9,\"message\":\"m\"}");
        assert_status(*state, body, &form, "-{\"code\":9,\"message\":\"m\"}");
        form.room = 60;
        assert_status(*state, own, &form, "+{\"code\":9,\"message\":\"m\",\"details\":[" INFO "]}");
    }
}

static void test_own_failures_do_not_show_their_body(void **state)
{
    struct mrg_reply reply = {0};
    mrg_reply_fail(*state, &reply, 503, "stopping");
    _cleanup_free_ char *found = status_of(&reply, 14, MRG_SLICE("stopping"), &whole);
    assert_string_equal(found, "-{\"code\":14,\"message\":\"stopping\"}");
}

static void test_message_is_mended(void **state)
{
    struct mrg_reply reply = reply_of(*state, "{\"status\":500}");
    _cleanup_free_ char *found = status_of(&reply, -1, MRG_SLICE("caf\xC3"), &each);
    assert_string_equal(found, "-{\"code\":-1,\"message\":\"caf\xEF\xBF\xBD\"}");
}

static void assert_fit(struct mrg_arena *arena, const char *details, bool as_whole, const char *why)
{
    _cleanup_free_ char *text = mrg_asprintf("{\"status\":409,\"grpc_details\":[%s]}", details);
    struct mrg_reply reply = reply_of(arena, text);
    struct mrg_error err = {0};
    enum mrg_err code = mrg_status_details_fit(mrg_schema_builtin(), &reply, as_whole, &err);
    assert_int_equal(code, why ? MRG_ERR_INVALID : MRG_ERR_OK);
    if (why && strncmp(err.message, why, strlen(why)) != 0)
        fail_msg("%s\nexpected %s", err.message, why);
}

static void test_fit(void **state)
{
    static const char unknown[] = "{\"@type\":\"" URL "no.One\"}",
                      further[] = INFO ",{\"@type\":\"" URL "google.rpc.ErrorInfo\",\"reson\":\"R\"}",
                      wrong[] = INFO ",{\"@type\":\"" URL "google.rpc.ErrorInfo\",\"reason\":7}";
    for (int i = 0; i < 2; i++)
        assert_fit(*state, INFO, i == 1, NULL);
    assert_fit(*state, unknown, false, NULL);
    assert_fit(*state, unknown, true, "\"grpc_details\" does not fit: details[0]");
    assert_fit(*state, further, false, "grpc_details[1]: ");
    assert_fit(*state, further, true, NULL);
    assert_fit(*state, wrong, false, "grpc_details[1]: reason: ");
    assert_fit(*state, wrong, true, "\"grpc_details\" does not fit: details[1].reason: ");
    struct mrg_reply none = reply_of(*state, "{\"status\":409}");
    assert_int_equal(mrg_status_details_fit(mrg_schema_builtin(), &none, true, NULL), MRG_ERR_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_sentence, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_body, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_own_details, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_room, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_own_failures_do_not_show_their_body, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_message_is_mended, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_fit, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
