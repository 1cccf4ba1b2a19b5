// SPDX-License-Identifier: Apache-2.0
/* Sets that are merged, that lack something, that are damaged, and large ones. */
#include "wire/schema.h"

#include "schema_help.h"
#include "util/clock.h"

#define SCALARS "corner/v1/all.proto"

/* ---- Merging ---- */

static char *compile(const char *name, const char *arguments)
{
    char *path = mrg_asprintf("%s/%s.binpb", test_folder, name);
    run_command("protoc -I%s -I%s -o %s %s", test_roots[0], test_roots[1], path, arguments);
    return path;
}

static enum mrg_err load_sets(char **paths, size_t count, struct mrg_slice reflected,
                              struct mrg_schema **ret_schema, struct mrg_error *err)
{
    struct mrg_protos_config protos = {.sets = {paths, count}};
    struct mrg_schema_source source = {.protos = &protos, .reflected = reflected};
    *ret_schema = NULL;
    *err = (struct mrg_error){0};
    return mrg_schema_load(&source, ret_schema, err);
}

static void test_sets_merge(void **state)
{
    (void)state;
    _cleanup_free_ char *cart = compile("cart", "--include_imports shop/v1/catalog.proto");
    _cleanup_free_ char *order = compile("order", "--include_imports shop/v1/checkout.proto");
    /* With its comments' places: the same file for all that. */
    _cleanup_free_ char *noted = compile("noted", "--include_source_info shop/v1/cart.proto");
    char *paths[] = {cart, order, noted};
    struct mrg_schema *schema;
    struct mrg_error err;
    assert_int_equal(load_sets(paths, 3, MRG_SLICE(""), &schema, &err), MRG_ERR_OK);
    size_t count;
    mrg_schema_services(schema, &count);
    assert_int_equal(count, 3);
    struct mrg_hash128 identity = mrg_schema_shape(schema)->ops->identity(mrg_schema_shape(schema));
    mrg_schema_free(schema);

    char *other_way[] = {order, cart};
    assert_int_equal(load_sets(other_way, 2, MRG_SLICE(""), &schema, &err), MRG_ERR_OK);
    struct mrg_shape *shape = mrg_schema_shape(schema);
    assert_ptr_equal(mrg_schema_of(shape), schema);
    struct mrg_hash128 same = shape->ops->identity(shape);
    assert_memory_equal(&identity, &same, sizeof(same));
    shape->ops->free(shape);
    assert_int_equal(load_sets(other_way, 1, MRG_SLICE(""), &schema, &err), MRG_ERR_OK);
    shape = mrg_schema_shape(schema);
    same = shape->ops->identity(shape);
    assert_memory_not_equal(&identity, &same, sizeof(same));
    shape->ops->free(shape);
}

static void test_same_name_other_content(void **state)
{
    (void)state;
    _cleanup_free_ char *cart = compile("cart", "shop/v1/cart.proto");
    file_proto file;
    google__protobuf__file_descriptor_proto__init(&file);
    file.name = (char[]){"shop/v1/cart.proto"};
    struct mrg_buf set;
    mrg_buf_init(&set, 1u << 20);
    append_file(&set, &file);
    struct mrg_schema *schema;
    struct mrg_error err;
    assert_int_equal(load_sets(&cart, 1, mrg_buf_slice(&set), &schema, &err), MRG_ERR_INVALID);
    assert_string_equal(err.message,
                        "what the server's reflection gave: shop/v1/cart.proto: is there twice, with "
                        "another content");
    mrg_buf_done(&set);
}

/* Servers give their descriptors without json_name, and protoc writes it. */
static void test_names_that_follow(void **state)
{
    (void)state;
    _cleanup_free_ char *cart = compile("cart", "shop/v1/cart.proto");
    struct mrg_buf set;
    struct mrg_buf bare;
    struct mrg_slice bytes;
    size_t cursor = 0;
    mrg_buf_init(&set, 1u << 20);
    mrg_buf_init(&bare, 1u << 20);
    assert_int_equal(mrg_schema_read_file(cart, 1u << 20, &set, NULL), MRG_ERR_OK);
    assert_true(mrg_set_next(mrg_buf_slice(&set), &cursor, &bytes));
    struct mrg_arena *arena = mrg_arena_new(0);
    file_proto *file = mrg_file_unpack(arena, bytes, NULL);
    for (size_t i = 0; i < file->n_message_type; i++)
        for (size_t j = 0; j < file->message_type[i]->n_field; j++)
            file->message_type[i]->field[j]->json_name = NULL;
    append_file(&bare, file);
    assert_true(bare.len < set.len);
    struct mrg_schema *schema;
    struct mrg_error err;
    assert_int_equal(load_sets(&cart, 1, mrg_buf_slice(&bare), &schema, &err), MRG_ERR_OK);
    mrg_schema_free(schema);
    assert_int_equal(load_set(mrg_buf_slice(&bare), &schema, &err), MRG_ERR_OK);
    assert_non_null(mrg_message_field_named(message_of(schema, "shop.v1.Cart"), SLICE("userId")));
    mrg_schema_free(schema);
    mrg_arena_free(arena);
    mrg_buf_done(&set);
    mrg_buf_done(&bare);
}

/* What Mirage serves itself is not the dependency's, though a real server's reflection lists it. */
static void test_services_of_mirage(void **state)
{
    (void)state;
    struct mrg_schema *schema;
    struct mrg_error err;
    struct mrg_slice set = {(const char *)mrg_embedded_set, mrg_embedded_set_len};
    assert_int_equal(load_set(set, &schema, &err), MRG_ERR_OK);
    size_t count;
    mrg_schema_services(schema, &count);
    assert_int_equal(count, 0);
    assert_null(mrg_schema_method(schema, SLICE("/grpc.health.v1.Health/Check")));
    assert_non_null(mrg_schema_file_of(schema, SLICE("grpc.health.v1.Health")));
    mrg_schema_free(schema);
}

static void test_missing_imports(void **state)
{
    (void)state;
    /* What is well known is built in. */
    _cleanup_free_ char *all = compile("all", SCALARS);
    struct mrg_schema *schema;
    struct mrg_error err;
    assert_int_equal(load_sets(&all, 1, MRG_SLICE(""), &schema, &err), MRG_ERR_OK);
    const struct mrg_message *known = message_of(schema, "corner.v1.Known");
    assert_ptr_equal(field_of(known, "any")->message,
                     message_of(mrg_schema_builtin(), "google.protobuf.Any"));
    mrg_schema_free(schema);

    _cleanup_free_ char *catalog = compile("catalog", "shop/v1/catalog.proto");
    assert_int_equal(load_sets(&catalog, 1, MRG_SLICE(""), &schema, &err), MRG_ERR_INVALID);
    assert_string_equal(err.message,
                        "shop/v1/catalog.proto: imports shop/v1/cart.proto, which is not there; make "
                        "the descriptor set with --include_imports");
}

static void test_files_that_are_no_sets(void **state)
{
    (void)state;
    _cleanup_free_ char *all = compile("all", SCALARS);
    _cleanup_free_ char *other = mrg_asprintf("%s/other.binpb", test_folder);
    _cleanup_free_ char *gone = mrg_asprintf("%s/gone.binpb", test_folder);
    _cleanup_free_ char *proto = mrg_asprintf("%s/" SCALARS, test_roots[0]);
    char *folder = test_folder;
    struct mrg_schema *schema;
    struct mrg_error err;
    assert_int_equal(load_sets(&gone, 1, MRG_SLICE(""), &schema, &err), MRG_ERR_NOT_FOUND);
    assert_non_null(strstr(err.message, gone));
    assert_int_equal(load_sets(&folder, 1, MRG_SLICE(""), &schema, &err), MRG_ERR_INVALID);
    assert_int_equal(load_sets(&proto, 1, MRG_SLICE(""), &schema, &err), MRG_ERR_INVALID);
    assert_non_null(strstr(err.message, "is no descriptor set"));
    run_command("head -c 0 /dev/null > %s", other);
    assert_int_equal(load_sets(&other, 1, MRG_SLICE(""), &schema, &err), MRG_ERR_INVALID);
    /* 70 MiB without a block on the disk. */
    run_command("truncate -s 70M %s", other);
    assert_int_equal(load_sets(&other, 1, MRG_SLICE(""), &schema, &err), MRG_ERR_TOO_LARGE);
}

static void test_cut_short(void **state)
{
    (void)state;
    _cleanup_free_ char *all = compile("all", "corner/v1/two.proto");
    struct mrg_buf set;
    mrg_buf_init(&set, 1u << 20);
    assert_int_equal(mrg_schema_read_file(all, 1u << 20, &set, NULL), MRG_ERR_OK);
    struct mrg_schema *schema;
    struct mrg_error err;
    for (size_t len = 1; len < set.len; len += 3) {
        char *exact = mrg_malloc(len);
        memcpy(exact, set.data, len);
        assert_int_not_equal(load_set((struct mrg_slice){exact, len}, &schema, &err), MRG_ERR_OK);
        free(exact);
    }
    /* Any byte may be another: whatever comes of it is a schema or a sentence. */
    for (size_t i = 0; i < set.len; i += 2) {
        char before = set.data[i];
        set.data[i] = (char)(before ^ (1 << (i / 2 % 8)));
        if (load_set(mrg_buf_slice(&set), &schema, &err) == MRG_ERR_OK)
            mrg_schema_free(schema);
        else
            assert_true(err.message[0] != '\0');
        set.data[i] = before;
    }
    mrg_buf_done(&set);
}

/* ---- Size ---- */

static void append_length(struct mrg_buf *buf, size_t len)
{
    for (; len > 0x7f; len >>= 7)
        mrg_buf_append_char(buf, (char)((len & 0x7f) | 0x80));
    mrg_buf_append_char(buf, (char)len);
}

/* Message types within each other, deeper than a stack, and many things of two bytes each. */
static void test_deep_and_wide(void **state)
{
    (void)state;
    struct mrg_schema *schema;
    struct mrg_error err;
    size_t depths[] = {90, 300, 100000};
    for (size_t i = 0; i < MRG_ARRAY_LEN(depths); i++) {
        struct mrg_buf inner;
        mrg_buf_init(&inner, 1u << 24);
        /* From the inside out, by lengths: each level has a name of one byte and the one within it. */
        size_t *lens = mrg_zalloc((depths[i] + 1) * sizeof(*lens));
        for (size_t level = 1; level <= depths[i]; level++) {
            size_t prefix = 2;
            for (size_t len = lens[level - 1]; len > 0x7f; len >>= 7)
                prefix++;
            lens[level] = 3 + (level > 1 ? prefix + lens[level - 1] : 0);
        }
        struct mrg_buf set;
        mrg_buf_init(&set, 1u << 24);
        mrg_buf_append(&inner,
                       "\x0a\x01"
                       "f",
                       3);
        for (size_t level = depths[i]; level > 0; level--) {
            mrg_buf_append_char(&inner, level == depths[i] ? 0x22 : 0x1a);
            append_length(&inner, lens[level]);
            mrg_buf_append(&inner,
                           "\x0a\x01"
                           "M",
                           3);
        }
        mrg_buf_append_char(&set, 0x0a);
        append_length(&set, inner.len);
        mrg_buf_append_slice(&set, mrg_buf_slice(&inner));
        enum mrg_err code = load_set(mrg_buf_slice(&set), &schema, &err);
        if (code != (i == 0 ? MRG_ERR_OK : MRG_ERR_TOO_LARGE))
            fail_msg("depth %zu: %s", depths[i], err.message);
        mrg_schema_free(schema);
        mrg_buf_done(&set);
        mrg_buf_done(&inner);
        free(lens);
    }
    /* 4 MiB of empty messages: 130 bytes of memory for each two. */
    struct mrg_buf set;
    mrg_buf_init(&set, 1u << 24);
    size_t count = 1u << 21;
    mrg_buf_append_char(&set, 0x0a);
    append_length(&set, 3 + 2 * count);
    mrg_buf_append(&set,
                   "\x0a\x01"
                   "f",
                   3);
    for (size_t i = 0; i < count; i++)
        mrg_buf_append(&set, "\x22\x00", 2);
    assert_int_equal(load_set(mrg_buf_slice(&set), &schema, &err), MRG_ERR_TOO_LARGE);
    mrg_buf_done(&set);
}

/* A hundred thousand symbols in well under a second. */
static void test_many_symbols(void **state)
{
    (void)state;
    _cleanup_free_ char *path = mrg_asprintf("%s/many.proto", test_folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "syntax = \"proto3\";\npackage many;\n");
    for (int i = 0; i < 5000; i++) {
        fprintf(file, "message M%d {\n", i);
        for (int j = 0; j < 18; j++)
            fprintf(file, "  M%d field_%d = %d;\n", (i * 7 + j) % 5000, j, j + 1);
        fprintf(file, "}\n");
    }
    assert_int_equal(fclose(file), 0);
    _cleanup_free_ char *made = mrg_asprintf("%s/many.binpb", test_folder);
    run_command("protoc -I%s -o %s %s", test_folder, made, path);
    struct mrg_schema *schema;
    struct mrg_error err;
    uint64_t before = mrg_clock_ms();
    assert_int_equal(load_sets(&made, 1, MRG_SLICE(""), &schema, &err), MRG_ERR_OK);
    uint64_t took = mrg_clock_ms() - before;
    print_message("%zu symbols in %llu ms\n", schema->symbols.count, (unsigned long long)took);
    assert_true(schema->symbols.count > 90000);
    /* Sanitizers and a busy machine take their share. */
    assert_true(took < 5000);
    mrg_schema_free(schema);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sets_merge),        cmocka_unit_test(test_same_name_other_content),
        cmocka_unit_test(test_names_that_follow), cmocka_unit_test(test_services_of_mirage),
        cmocka_unit_test(test_missing_imports),   cmocka_unit_test(test_files_that_are_no_sets),
        cmocka_unit_test(test_cut_short),         cmocka_unit_test(test_deep_and_wide),
        cmocka_unit_test(test_many_symbols),
    };
    return cmocka_run_group_tests(tests, schema_setup, schema_teardown);
}
