// SPDX-License-Identifier: Apache-2.0
/*
 * A program on the protobuf mapping, for tests in other languages. Its argument is a descriptor set file; each line
 * on standard input is a command, a type and a value:
 *
 *     check pkg.Type 0a0161          whether the bytes (in hex) are such a message
 *     json pkg.Type 0a0161           the message as ProtoJSON
 *     normal pkg.Type 0a0161         the message in the normal form
 *     parse pkg.Type {"a":1}         the bytes that a JSON text stands for
 *     lenient pkg.Type {"a":1}       the same, unknown members passed over
 *     round-json pkg.Type 0a0161     bytes to JSON and back
 *     round-normal pkg.Type 0a0161
 *
 * For each it writes one line: "ok", a space and the JSON text or the bytes in hex; or "error", a space and why.
 */
#include "wire/proto.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/limits.h"
#include "util/json.h"

#define MOST (64u << 20) /* bytes of a message or a text */

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool append_unhexed(struct mrg_buf *buf, const char *text)
{
    for (; *text; text += 2) {
        int high = hex_digit(text[0]);
        int low = high < 0 ? -1 : hex_digit(text[1]);
        if (low < 0)
            return false;
        mrg_buf_append_char(buf, (char)(high << 4 | low));
    }
    return true;
}

static void write_hex(struct mrg_slice bytes)
{
    for (size_t i = 0; i < bytes.len; i++)
        printf("%02x", (unsigned char)bytes.ptr[i]);
}

static enum mrg_err to_json(const struct mrg_schema *schema, const struct mrg_message *type, const char *hex,
                            enum mrg_proto_form form, struct mrg_buf *ret_json, struct mrg_error *err)
{
    struct mrg_buf bytes;
    mrg_buf_init(&bytes, MOST);
    enum mrg_err code = MRG_ERR_OK;
    if (!append_unhexed(&bytes, hex))
        code = mrg_error_set(err, MRG_ERR_INTERNAL, "expected hex");
    if (!code)
        code = mrg_proto_to_json(schema, type, mrg_buf_slice(&bytes), form, ret_json, err);
    mrg_buf_done(&bytes);
    if (!code && mrg_json_check(mrg_buf_slice(ret_json), NULL))
        code = mrg_error_set(err, MRG_ERR_INTERNAL, "wrote what is not JSON: %s", ret_json->data);
    return code;
}

/* A copy without a NUL behind, so that the sanitizers see what reads past its end. */
static enum mrg_err from_json(const struct mrg_schema *schema, const struct mrg_message *type,
                              struct mrg_slice json, bool lenient, struct mrg_buf *ret_bytes,
                              struct mrg_error *err)
{
    enum mrg_err code = mrg_json_check(json, err);
    if (code)
        return code;
    char *copy = mrg_malloc(json.len);
    memcpy(copy, json.ptr, json.len);
    code = mrg_proto_from_json(schema, type, (struct mrg_slice){copy, json.len}, lenient, ret_bytes, err);
    free(copy);
    return code;
}

static enum mrg_err check(const struct mrg_message *type, const char *hex, struct mrg_error *err)
{
    struct mrg_buf bytes;
    mrg_buf_init(&bytes, MOST);
    enum mrg_err code = MRG_ERR_OK;
    if (!append_unhexed(&bytes, hex))
        code = mrg_error_set(err, MRG_ERR_INTERNAL, "expected hex");
    if (!code) {
        char *copy = mrg_malloc(bytes.len + 1);
        memcpy(copy + 1, mrg_buf_slice(&bytes).ptr, bytes.len);
        code = mrg_proto_check(type, (struct mrg_slice){copy + 1, bytes.len}, err);
        free(copy);
    }
    mrg_buf_done(&bytes);
    return code;
}

static enum mrg_err round_trip(const struct mrg_schema *schema, const struct mrg_message *type,
                               const char *hex, enum mrg_proto_form form, struct mrg_buf *ret_bytes,
                               struct mrg_error *err)
{
    struct mrg_buf json;
    mrg_buf_init(&json, MOST);
    enum mrg_err code = to_json(schema, type, hex, form, &json, err);
    if (!code)
        code = from_json(schema, type, mrg_buf_slice(&json), false, ret_bytes, err);
    mrg_buf_done(&json);
    return code;
}

static void answer(const struct mrg_schema *schema, const char *command, const char *name, const char *value)
{
    struct mrg_error err = {0};
    struct mrg_buf out;
    enum mrg_err code;
    bool text = false;
    const struct mrg_message *type = mrg_schema_message(schema, mrg_slice_of(name));
    mrg_buf_init(&out, MOST);
    if (!type) {
        code = mrg_error_set(&err, MRG_ERR_NOT_FOUND, "no such type: %s", name);
    } else if (strcmp(command, "check") == 0) {
        code = check(type, value, &err);
    } else if (strcmp(command, "json") == 0 || strcmp(command, "normal") == 0) {
        text = true;
        code = to_json(schema, type, value, *command == 'j' ? MRG_PROTO_JSON : MRG_PROTO_NORMAL, &out, &err);
    } else if (strcmp(command, "parse") == 0 || strcmp(command, "lenient") == 0) {
        code = from_json(schema, type, mrg_slice_of(value), *command == 'l', &out, &err);
    } else if (strcmp(command, "round-json") == 0 || strcmp(command, "round-normal") == 0) {
        code = round_trip(schema, type, value, command[6] == 'j' ? MRG_PROTO_JSON : MRG_PROTO_NORMAL, &out,
                          &err);
    } else {
        code = mrg_error_set(&err, MRG_ERR_INTERNAL, "no such command: %s", command);
    }
    if (code) {
        printf("error %s", err.message);
    } else {
        printf("ok ");
        if (text)
            fwrite(mrg_buf_slice(&out).ptr, 1, out.len, stdout);
        else
            write_hex(mrg_buf_slice(&out));
    }
    putchar('\n');
    mrg_buf_done(&out);
}

int main(int argc, char **argv)
{
    struct mrg_error err = {0};
    struct mrg_schema *schema = NULL;
    struct mrg_protos_config protos = {.sets = {argv + 1, argc > 1 ? 1 : 0}};
    struct mrg_schema_source source = {.protos = &protos};
    if (mrg_schema_load(&source, &schema, &err)) {
        fprintf(stderr, "proto_driver: %s\n", err.message);
        return 2;
    }
    char *line = NULL;
    size_t room = 0;
    ssize_t len;
    while ((len = getline(&line, &room, stdin)) > 0) {
        if (line[len - 1] == '\n')
            line[len - 1] = '\0';
        char *name = strchr(line, ' ');
        char *value = name ? strchr(name + 1, ' ') : NULL;
        if (!value) {
            fprintf(stderr, "proto_driver: expected a command, a type and a value; got %s\n", line);
            break;
        }
        *name++ = *value++ = '\0';
        answer(schema, line, name, value);
    }
    free(line);
    mrg_schema_free(schema);
    return 0;
}
