// SPDX-License-Identifier: Apache-2.0
#include "util/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "util/utf8.h"

const char *mrg_err_text(enum mrg_err code)
{
    static const char *const texts[] = {
#define X(name, text) [MRG_ERR_##name] = text,
        MRG_ERR_MAP(X)
#undef X
    };
    if ((size_t)code >= MRG_ARRAY_LEN(texts))
        return "an unknown error";
    return texts[code];
}

/* `at` is where in the message text goes; what no longer fits is cut between two characters. */
static size_t put(struct mrg_error *err, size_t at, const char *text)
{
    size_t room = sizeof(err->message) - 1 - at;
    size_t len = mrg_utf8_cut((struct mrg_slice){text, strlen(text)}, room);
    memcpy(err->message + at, text, len);
    err->message[at + len] = '\0';
    return at + len;
}

/* Formats aside first, because arguments may point into err->message. */
enum mrg_err mrg_error_set(struct mrg_error *err, enum mrg_err code, const char *format, ...)
{
    if (!err)
        return code;
    char text[sizeof(err->message) + MRG_UTF8_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    err->code = code;
    put(err, 0, text);
    return code;
}

enum mrg_err mrg_error_wrap(struct mrg_error *err, const char *format, ...)
{
    if (!err)
        return MRG_ERR_INTERNAL;
    char what[sizeof(err->message) + MRG_UTF8_MAX];
    char old[sizeof(err->message)];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    memcpy(old, err->message, sizeof(old));
    size_t at = put(err, 0, what);
    at = put(err, at, ": ");
    put(err, at, old);
    return err->code;
}
