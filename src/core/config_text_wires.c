// SPDX-License-Identifier: Apache-2.0
/* Options kept as text that belong to a wire: ZeroMQ endpoints, RPCs, and routes of RPCs. */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "core/config_text_int.h"

#define IPC_PATH_MAX 107 /* bytes that a UNIX socket's address has room for */

static char *read_tcp(const char *rest, struct mrg_error *err)
{
    static const struct mrg_option address = {.type = MRG_OPTION_ADDRESS};
    const char *colon = strrchr(rest, ':');
    bool any_port = colon && strcmp(colon, ":*") == 0, any_host = strncmp(rest, "*:", 2) == 0;
    if (!colon)
        return NULL;
    _cleanup_free_ char *plain = mrg_asprintf("%.*s:%s", any_host ? 7 : (int)(colon - rest),
                                              any_host ? "0.0.0.0" : rest, any_port ? "0" : colon + 1);
    _cleanup_free_ char *normal = mrg_option_read_text(&address, "", plain, err);
    if (!normal)
        return NULL;
    size_t len = strlen(normal);
    bool free_port = len > 2 && strcmp(normal + len - 2, ":0") == 0;
    return mrg_asprintf("tcp://%.*s%s", (int)(free_port ? len - 1 : len), normal, free_port ? "*" : "");
}

char *mrg_read_endpoint(const struct mrg_option *option, const char *folder, const char *text,
                        struct mrg_error *err)
{
    (void)option, (void)folder;
    if (strncmp(text, "tcp://", 6) == 0)
        return read_tcp(text + 6, err);
    if (strncmp(text, "ipc://", 6) != 0 || text[6] == '\0')
        return NULL;
    if (strlen(text + 6) > IPC_PATH_MAX) {
        mrg_error_set(err, MRG_ERR_INVALID, "a path of at most %d bytes behind ipc://", IPC_PATH_MAX);
        return NULL;
    }
    return mrg_strdup(text);
}

static bool is_identifier(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c != '_' && !(i > 0 ? isalnum(c) : isalpha(c)))
            return false;
    }
    return len > 0;
}

static bool is_full_name(const char *text, size_t len)
{
    for (const char *end = text + len;;) {
        const char *dot = memchr(text, '.', (size_t)(end - text));
        if (!is_identifier(text, (size_t)((dot ? dot : end) - text)))
            return false;
        if (!dot)
            return true;
        text = dot + 1;
    }
}

char *mrg_read_rpc(const struct mrg_option *option, const char *folder, const char *text,
                   struct mrg_error *err)
{
    (void)option, (void)folder, (void)err;
    text += text[0] == '/';
    const char *slash = strchr(text, '/');
    if (!slash || !is_full_name(text, (size_t)(slash - text)) || !is_identifier(slash + 1, strlen(slash + 1)))
        return NULL;
    return mrg_strdup(text);
}

char *mrg_read_rule(const struct mrg_option *option, const char *folder, const char *text,
                    struct mrg_error *err)
{
    (void)option, (void)folder, (void)err;
    size_t method = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-");
    const char *path = text + method + strspn(text + method, " ");
    if (method == 0 || text[method] != ' ' || path[0] != '/' || strpbrk(path, " \t?#"))
        return NULL;
    return mrg_asprintf("%.*s %s", (int)method, text, path);
}

char *mrg_read_field(const struct mrg_option *option, const char *folder, const char *text,
                     struct mrg_error *err)
{
    (void)option, (void)folder, (void)err;
    return text[0] == '\0' || strcmp(text, "*") == 0 || is_identifier(text, strlen(text)) ? mrg_strdup(text)
                                                                                          : NULL;
}
