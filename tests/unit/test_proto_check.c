// SPDX-License-Identifier: Apache-2.0
#include "proto_help.h"

#include "core/limits.h"

static void test_sound(void **state)
{
    (void)state;
    static const struct {
        const char *type;
        const char *hex;
    } sound[] = {
        {"t.Order", ""},
        {"t.Order", "0a 01 61  12 04 0a 00 10 05"},
        /* A tag and a length that are longer than they need be; a varint of ten bytes. */
        {"t.Item", "90 80 00 05  0a 81 80 00 61  10 ff ff ff ff ff ff ff ff ff 01"},
        /* Fields that the type does not have, of every wire type but groups. */
        {"t.Item", "c0 3e 01  c1 3e 0102030405060708  c2 3e 02 ffff  c5 3e 01020304"},
        /* Lists packed or not, either way, and empty. */
        {"t.Order", "32 02 01 02  30 03  3a 02 01 02  38 03  32 00"},
        /* A required field of a message in two parts, and of one that was replaced. */
        {"t.Old", "08 01  32 02 38 01  32 02 08 01"},
        {"t.Old", "08 01  52 02 38 01  5a 01 61"},
        /* Values that a closed enum does not have count as unknown fields. */
        {"t.Old", "08 01  10 05  18 05  22 03 01 05 02"},
        {"t.Nothing", "08 01"},
        /* A required field of a map's entry that a later one replaces. */
        {"t.Old", "08 01  4a 03 0a 01 61  4a 07 0a 01 61 12 02 08 01"},
        {"t.Order", "9201 08 00000000 01000000  9501 02000000  9201 00"},
    };
    for (size_t i = 0; i < MRG_ARRAY_LEN(sound); i++) {
        struct mrg_error err;
        if (check_bytes(sound[i].type, sound[i].hex, &err) != MRG_ERR_OK)
            fail_msg("%s: %s", sound[i].hex, err.message);
    }
}

static void test_faults(void **state)
{
    (void)state;
    static const struct {
        const char *type;
        const char *hex;
        const char *message;
    } faults[] = {
        {"t.Order", "0a", "order_id: expected a length; the bytes end within it, or it has more than 10"},
        {"t.Order", "0a 05 61", "order_id: expected 5 bytes, as its length says; 1 are left"},
        {"t.Order", "0a ff ff ff ff ff ff ff ff ff 01 61",
         "order_id: expected 18446744073709551615 bytes, as its length says; 1 are left"},
        {"t.Order", "0a 02 c3 28", "order_id: expected a string in UTF-8; it has other bytes"},
        {"t.Order", "08 01", "order_id: expected wire type 2; got 0"},
        {"t.Order", "80", "expected a field's tag; the bytes end within it, or it has more than 5"},
        {"t.Order", "12 02 10 80",
         "items[0].count: expected a varint; the bytes end within it, or it has more than 10"},
        {"t.Order", "12 00 12 00 12 03 0a 05 61",
         "items[2].sku: expected 5 bytes, as its length says; 1 are left"},
        {"t.Order", "12 03 22 01 80",
         "items[0].parts[0]: expected a field's tag; the bytes end within it, or it has more than 5"},
        {"t.Order", "12 00  12 02 38 80",
         "field 7 of items[1]: expected a varint; the bytes end within it, or it has more than 10"},
        {"t.Order", "fb 3e", "field 1007: expected no group: groups are not supported"},
        {"t.Order", "fc 3e", "field 1007: expected no group: groups are not supported"},
        {"t.Order", "fe 3e", "field 1007: expected a wire type from 0 to 5; there is no such one"},
        {"t.Order", "0f", "order_id: expected a wire type from 0 to 5; there is no such one"},
        {"t.Order", "00 01", "expected a field number from 1 to 536870911; got 0"},
        {"t.Order", "82 80 80 80 10 00", "expected a field number from 1 to 536870911; got 536870912"},
        {"t.Order", "05 00", "expected a field number from 1 to 536870911; got 0"},
        {"t.Order", "0d 00 00", "order_id: expected a number of 4 or 8 bytes; the bytes end within it"},
        {"t.Order", "32 02 01 80", "numbers[0]: expected a packed run of varints; its last one is cut off"},
        {"t.Order", "9501 00000000 9201 05 0000000000",
         "words[1]: expected a packed run of whole numbers; its last one is cut off"},
        {"t.Order", "8a 80 80 80 80 00 00",
         "expected a field's tag; the bytes end within it, or it has more than 5"},
        {"t.Order", "7a 01 00 7a 02 00", "blobs[1]: expected 2 bytes, as its length says; 1 are left"},
        /* Maps are told by key where the key is known. */
        {"t.Order", "1a 08 0a 01 61 12 03 0a 01 ff",
         "by_name[\"a\"].sku: expected a string in UTF-8; it has other bytes"},
        {"t.Order", "1a 00 1a 03 0a 01 ff", "by_name[1].key: expected a string in UTF-8; it has other bytes"},
        /* What a oneof's later member replaced, and what a later entry of a map did. */
        {"t.Order", "52 03 0a 01 ff  40 01", "three.sku: expected a string in UTF-8; it has other bytes"},
        {"t.Order", "1a 08 0a 01 61 12 03 0a 01 ff  1a 03 0a 01 61",
         "by_name[\"a\"].sku: expected a string in UTF-8; it has other bytes"},
        {"t.Old", "", "must: expected this required field; it is missing"},
        {"t.Old", "08 01 32 00", "child.must: expected this required field; it is missing"},
        {"t.Old", "08 01 42 02 08 01 42 00", "list[1].must: expected this required field; it is missing"},
        {"t.Old", "08 01 4a 03 0a 01 61", "named[\"a\"].must: expected this required field; it is missing"},
        {"t.Old", "08 01 52 00", "left.must: expected this required field; it is missing"},
    };
    for (size_t i = 0; i < MRG_ARRAY_LEN(faults); i++) {
        struct mrg_error err;
        assert_int_equal(check_bytes(faults[i].type, faults[i].hex, &err), MRG_ERR_INVALID);
        assert_string_equal(err.message, faults[i].message);
        /* The printer finds the same. */
        _cleanup_free_ char *printed = print_as(faults[i].type, faults[i].hex, MRG_PROTO_JSON);
        assert_string_equal(printed, faults[i].message);
    }
}

/* Bytes within `count` messages, each within the `fields` in turn, the last of them the innermost. */
static char *nested(unsigned count, const char *fields, size_t *ret_len)
{
    struct mrg_buf buf, whole;
    size_t kinds = strlen(fields);
    mrg_buf_init(&buf, 1u << 20);
    for (unsigned i = 0; i < count; i++) {
        mrg_buf_init(&whole, 1u << 20);
        mrg_buf_append_char(&whole, fields[kinds - 1 - i % kinds]);
        for (size_t left = buf.len;; left >>= 7) {
            mrg_buf_append_char(&whole, (char)((left & 0x7f) | (left > 0x7f ? 0x80 : 0)));
            if (left <= 0x7f)
                break;
        }
        mrg_buf_append_slice(&whole, mrg_buf_slice(&buf));
        mrg_buf_done(&buf);
        buf = whole;
    }
    return mrg_buf_take(&buf, ret_len);
}

static enum mrg_err check_nested(const char *type, unsigned count, const char *fields, struct mrg_error *err)
{
    size_t len;
    _cleanup_free_ char *bytes = nested(count, fields, &len);
    return mrg_proto_check(message_of(proto_schema, type), (struct mrg_slice){bytes, len}, err);
}

#define STRUCT "google.protobuf.Struct"

static void test_depth(void **state)
{
    (void)state;
    struct mrg_error err;
    const char part[] = {0x1a, 0};
    assert_int_equal(check_nested("t.Item", MRG_MAX_PROTO_DEPTH - 1, part, &err), MRG_ERR_OK);
    assert_int_equal(check_nested("t.Item", MRG_MAX_PROTO_DEPTH, part, &err), MRG_ERR_TOO_LARGE);
    assert_non_null(strstr(err.message, ".part: expected at most 100 messages in each other"));
    assert_non_null(strstr(err.message, "…")); /* the path's middle */
    assert_int_equal(check_nested("t.Item", 20000, part, NULL), MRG_ERR_TOO_LARGE);
    /* Maps: an entry, a Value and its Struct are three. */
    const char fields[] = {0x0a, 0x12, 0x2a, 0};
    assert_int_equal(check_nested(STRUCT, 3 * 33, fields, &err), MRG_ERR_OK);
    assert_int_equal(check_nested(STRUCT, 3 * 34, fields, &err), MRG_ERR_TOO_LARGE);
    assert_non_null(strstr(err.message, "expected at most 100 messages in each other"));
}

static void test_field_count(void **state)
{
    (void)state;
    struct mrg_error err;
    size_t len = 2 * (size_t)MRG_MAX_PROTO_FIELDS;
    const struct mrg_message *order = message_of(proto_schema, "t.Order");
    char *bytes = mrg_malloc(len + 2);
    for (size_t i = 0; i < len + 2; i += 2) {
        bytes[i] = 0x12;
        bytes[i + 1] = 0;
    }
    assert_int_equal(mrg_proto_check(order, (struct mrg_slice){bytes, len}, &err), MRG_ERR_OK);
    assert_int_equal(mrg_proto_check(order, (struct mrg_slice){bytes, len + 2}, &err), MRG_ERR_TOO_LARGE);
    assert_string_equal(err.message, "expected at most 1048576 fields in all");
    free(bytes);
}

/* Every cut of a sound message either is sound or has a message; nothing is read past the end. */
static void test_cuts(void **state)
{
    (void)state;
    size_t len;
    const struct mrg_message *order = message_of(proto_schema, "t.Order");
    _cleanup_free_ char *bytes =
        from_hex("0a 02 c3a9 12 0a 0a 01 61 1a 02 10 01 22 01 00 1a 06 0a 01 61 12 01 00 22 04 "
                 "08 01 10 7f 32 03 01 ac 02 38 05 5a 09 11 000000000000f03f",
                 &len);
    for (size_t cut = 0; cut <= len; cut++) {
        struct mrg_error err = {0};
        char *copy = mrg_malloc(cut + 1);
        memcpy(copy + 1, bytes, cut);
        enum mrg_err code = mrg_proto_check(order, (struct mrg_slice){copy + 1, cut}, &err);
        assert_int_equal(code, err.code);
        assert_int_equal(code != MRG_ERR_OK, err.message[0] != '\0');
        free(copy);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sound),       cmocka_unit_test(test_faults), cmocka_unit_test(test_depth),
        cmocka_unit_test(test_field_count), cmocka_unit_test(test_cuts),
    };
    return cmocka_run_group_tests(tests, proto_setup, proto_teardown);
}
