// SPDX-License-Identifier: Apache-2.0
/* Messages that are kept: transports/grpc/grpc_cache.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <grpc/grpc.h>
#include <string.h>

#include "transports/grpc/grpc_cache.h"

static struct rpc_cache cache;
static struct mrg_config configs[2] = {{.refs = 1}, {.refs = 1}};
static const struct mrg_method methods[2];

static int set_up(void **state)
{
    (void)state;
    grpc_init();
    rpc_cache_init(&cache);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    rpc_cache_done(&cache);
    assert_int_equal(configs[0].refs, 1);
    assert_int_equal(configs[1].refs, 1);
    grpc_shutdown();
    return 0;
}

static void keep(struct mrg_text *text, const char *bytes, size_t len)
{
    grpc_slice message = grpc_slice_from_copied_buffer(bytes, len);
    rpc_cache_keep(&cache, text, &configs[0], &methods[0], message);
    grpc_slice_unref(message);
}

static bool is_kept(const struct mrg_text *text, const char *bytes)
{
    grpc_slice message;
    if (!rpc_cache_find(&cache, text, &configs[0], &methods[0], &message))
        return false;
    bool same = grpc_slice_str_cmp(message, bytes) == 0;
    grpc_slice_unref(message);
    return same;
}

static void a_message_is_found_by_text_configuration_and_method(void **state)
{
    (void)state;
    static const char bytes[] = "a message that is longer than what a slice holds in itself";
    struct mrg_text *text = mrg_text_new("t", 1), *other = mrg_text_new("t", 1);
    grpc_slice message;
    assert_false(is_kept(text, bytes));
    keep(text, bytes, strlen(bytes));
    assert_true(is_kept(text, bytes));
    assert_false(is_kept(other, bytes));
    assert_false(rpc_cache_find(&cache, text, &configs[1], &methods[0], &message));
    assert_false(rpc_cache_find(&cache, text, &configs[0], &methods[1], &message));
    mrg_text_unref(text);
    mrg_text_unref(other);
}

static void entries_hold_what_they_are_found_by(void **state)
{
    (void)state;
    struct mrg_text *text = mrg_text_new("t", 1);
    keep(text, "x", 1);
    assert_int_equal(text->refs, 2);
    assert_int_equal(configs[0].refs, 2);
    keep(text, "y", 1);
    assert_true(is_kept(text, "y"));
    assert_int_equal(text->refs, 2);
    assert_int_equal(configs[0].refs, 2);
    rpc_cache_done(&cache);
    assert_int_equal(text->refs, 1);
    rpc_cache_init(&cache);
    mrg_text_unref(text);
}

static void large_messages_are_not_kept(void **state)
{
    (void)state;
    static char bytes[MRG_REPLY_CACHE_BYTES + 1];
    struct mrg_text *text = mrg_text_new("t", 1);
    memset(bytes, 'x', sizeof(bytes));
    keep(text, bytes, sizeof(bytes));
    assert_int_equal(text->refs, 1);
    keep(text, bytes, sizeof(bytes) - 1);
    assert_int_equal(text->refs, 2);
    mrg_text_unref(text);
}

static void more_than_it_has_room_for_replace_each_other(void **state)
{
    (void)state;
    struct mrg_text *texts[3 * MRG_REPLY_CACHE_SLOTS];
    size_t kept = 0;
    for (size_t i = 0; i < MRG_ARRAY_LEN(texts); i++) {
        texts[i] = mrg_text_new("t", 1);
        keep(texts[i], "x", 1);
    }
    for (size_t i = 0; i < MRG_ARRAY_LEN(texts); i++)
        kept += is_kept(texts[i], "x");
    assert_in_range(kept, MRG_REPLY_CACHE_SLOTS / 4, MRG_REPLY_CACHE_SLOTS);
    assert_true(is_kept(texts[MRG_ARRAY_LEN(texts) - 1], "x"));
    for (size_t i = 0; i < MRG_ARRAY_LEN(texts); i++)
        mrg_text_unref(texts[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_message_is_found_by_text_configuration_and_method, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(entries_hold_what_they_are_found_by, set_up, tear_down),
        cmocka_unit_test_setup_teardown(large_messages_are_not_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(more_than_it_has_room_for_replace_each_other, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
