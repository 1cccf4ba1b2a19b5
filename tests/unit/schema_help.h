// SPDX-License-Identifier: Apache-2.0
/*
 * Schema help: what the tests of the schema share: their protos' folders, a cache folder that is theirs alone, and
 * schemas of files and of sets that a test makes.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "wire/schema_int.h"

#define SLICE(text) mrg_slice_of(text)

static char *test_roots[2];  /* tests/unit/data/protos and protos_more */
static char test_folder[64]; /* a temporary one, with the cache */

static inline void run_command(const char *format, ...) MRG_PRINTF(1, 2);
static inline void run_command(const char *format, ...)
{
    char command[4096];
    va_list args;
    va_start(args, format);
    vsnprintf(command, sizeof(command), format, args);
    va_end(args);
    assert_int_equal(system(command), 0);
}

static inline int schema_setup(void **state)
{
    (void)state;
    const char *data = getenv("MIRAGE_TEST_DATA");
    _cleanup_free_ char *whole = realpath(data ? data : "tests/unit/data", NULL);
    if (!whole)
        return -1;
    test_roots[0] = mrg_asprintf("%s/protos", whole);
    test_roots[1] = mrg_asprintf("%s/protos_more", whole);
    snprintf(test_folder, sizeof(test_folder), "/tmp/mirage-schema-XXXXXX");
    if (!mkdtemp(test_folder))
        return -1;
    _cleanup_free_ char *cache = mrg_asprintf("%s/cache", test_folder);
    return setenv("XDG_CACHE_HOME", cache, 1);
}

static inline int schema_teardown(void **state)
{
    (void)state;
    free(test_roots[0]);
    free(test_roots[1]);
    run_command("rm -rf %s", test_folder);
    return 0;
}

static inline enum mrg_err load_with(char **roots, size_t root_count, const char *const *files,
                                     const struct mrg_route_config *routes, size_t route_count,
                                     struct mrg_schema **ret_schema, struct mrg_error *err)
{
    char *names[16];
    size_t count = 0;
    for (; files && files[count]; count++)
        names[count] = mrg_strdup(files[count]);
    struct mrg_protos_config protos = {.roots = {roots, root_count}, .files = {names, count}};
    struct mrg_schema_source source = {.protos = &protos, .routes = routes, .route_count = route_count};
    *ret_schema = NULL;
    *err = (struct mrg_error){0};
    enum mrg_err code = mrg_schema_load(&source, ret_schema, err);
    assert_int_equal(code != MRG_ERR_OK, *ret_schema == NULL);
    assert_int_equal(code, err->code);
    for (size_t i = 0; i < count; i++)
        free(names[i]);
    return code;
}

/* Of both roots; the test fails when they do not load. */
static inline struct mrg_schema *load_files(const char *const *files)
{
    struct mrg_schema *schema;
    struct mrg_error err;
    if (load_with(test_roots, 2, files, NULL, 0, &schema, &err) != MRG_ERR_OK)
        fail_msg("%s", err.message);
    return schema;
}

#define LOAD(...) load_files((const char *const[]){__VA_ARGS__, NULL})

/* The error of files of the first root that do not load. */
static inline struct mrg_error load_error(const char *file)
{
    struct mrg_schema *schema;
    struct mrg_error err;
    const char *files[] = {file, NULL};
    assert_int_not_equal(load_with(test_roots, 1, files, NULL, 0, &schema, &err), MRG_ERR_OK);
    return err;
}

static inline const struct mrg_message *message_of(const struct mrg_schema *schema, const char *name)
{
    const struct mrg_message *message = mrg_schema_message(schema, SLICE(name));
    assert_non_null(message);
    return message;
}

static inline const struct mrg_field *field_of(const struct mrg_message *message, const char *name)
{
    const struct mrg_field *field = mrg_message_field_named(message, SLICE(name));
    assert_non_null(field);
    return field;
}

/* ---- Sets that a test makes ---- */

typedef Google__Protobuf__FileDescriptorProto file_proto;
typedef Google__Protobuf__DescriptorProto message_proto;
typedef Google__Protobuf__FieldDescriptorProto field_proto;
typedef Google__Protobuf__EnumDescriptorProto enum_proto;
typedef Google__Protobuf__EnumValueDescriptorProto value_proto;

static inline void append_file(struct mrg_buf *set, const file_proto *file)
{
    size_t len = google__protobuf__file_descriptor_proto__get_packed_size(file);
    uint8_t *bytes = mrg_malloc(len + 1);
    google__protobuf__file_descriptor_proto__pack(file, bytes);
    mrg_buf_append_char(set, 0x0a);
    for (size_t left = len;; left >>= 7) {
        mrg_buf_append_char(set, (char)((left & 0x7f) | (left > 0x7f ? 0x80 : 0)));
        if (left <= 0x7f)
            break;
    }
    mrg_buf_append(set, bytes, len);
    free(bytes);
}

static inline enum mrg_err load_set(struct mrg_slice set, struct mrg_schema **ret_schema,
                                    struct mrg_error *err)
{
    struct mrg_schema_source source = {.reflected = set};
    *ret_schema = NULL;
    *err = (struct mrg_error){0};
    return mrg_schema_load(&source, ret_schema, err);
}

static inline enum mrg_err load_file(const file_proto *file, struct mrg_schema **ret_schema,
                                     struct mrg_error *err)
{
    struct mrg_buf set;
    mrg_buf_init(&set, 1u << 24);
    append_file(&set, file);
    enum mrg_err code = load_set(mrg_buf_slice(&set), ret_schema, err);
    mrg_buf_done(&set);
    return code;
}
