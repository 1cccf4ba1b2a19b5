// SPDX-License-Identifier: Apache-2.0
#include "core/config_text_int.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "core/config_problems.h"
#include "util/jpath.h"
#include "util/utf8.h"

#define LONGEST      4096 /* bytes of any text option */
#define NAME_LONGEST 100
#define ALNUM        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
#define HEADER_CHARS ALNUM "!#$%&'*+-.^_`|~" /* token of RFC 9110 */

typedef char *(*read_fn)(const struct mrg_option *option, const char *folder, const char *text,
                         struct mrg_error *err);

static bool only(const char *text, const char *chars)
{
    return text[0] != '\0' && text[strspn(text, chars)] == '\0';
}

static bool has_space(const char *text)
{
    for (; *text; text++) {
        if ((unsigned char)*text <= ' ' || *text == 0x7f)
            return true;
    }
    return false;
}

static char *lower_copy(const char *text)
{
    char *copy = mrg_strdup(text);
    for (char *p = copy; *p; p++) {
        if (*p >= 'A' && *p <= 'Z')
            *p = (char)(*p + ('a' - 'A'));
    }
    return copy;
}

static char *read_string(const struct mrg_option *option, const char *folder, const char *text,
                         struct mrg_error *err)
{
    (void)option, (void)folder, (void)err;
    return text[0] ? mrg_strdup(text) : NULL;
}

static char *read_name(const struct mrg_option *option, const char *folder, const char *text,
                       struct mrg_error *err)
{
    (void)option, (void)folder;
    if (strlen(text) > NAME_LONGEST) {
        mrg_error_set(err, MRG_ERR_INVALID, "a name of at most %d characters", NAME_LONGEST);
        return NULL;
    }
    /* It becomes part of file names. */
    return only(text, ALNUM "._-") && text[0] != '.' ? mrg_strdup(text) : NULL;
}

static bool host_ok(const char *host)
{
    unsigned char binary[sizeof(struct in6_addr)];
    if (strchr(host, ':'))
        return inet_pton(AF_INET6, host, binary) == 1;
    if (only(host, "0123456789."))
        return inet_pton(AF_INET, host, binary) == 1;
    return only(host, ALNUM "-.") && host[0] != '.' && host[0] != '-';
}

/* host:port or [IPv6]:port, apart; port -1 when there is none that fits. */
static bool split(const char *text, char ret_host[MRG_ADDRESS_HOST], long *ret_port)
{
    const char *colon = strrchr(text, ':');
    if (!colon || colon == text)
        return false;
    const char *host = text;
    size_t len = (size_t)(colon - text);
    if (host[0] == '[') {
        if (len < 3 || host[len - 1] != ']')
            return false;
        host++;
        len -= 2;
        if (!memchr(host, ':', len))
            return false; /* brackets are for IPv6 */
    } else if (memchr(host, ':', len)) {
        return false; /* IPv6 without brackets */
    }
    if (len >= MRG_ADDRESS_HOST)
        return false;
    memcpy(ret_host, host, len);
    ret_host[len] = '\0';
    *ret_port = only(colon + 1, "0123456789") && strlen(colon + 1) <= 5 ? strtol(colon + 1, NULL, 10) : -1;
    return true;
}

static char *read_address(const struct mrg_option *option, const char *folder, const char *text,
                          struct mrg_error *err)
{
    (void)option, (void)folder;
    char host[MRG_ADDRESS_HOST];
    long port = -1;
    if (!split(text, host, &port) || !host_ok(host))
        return NULL;
    if (port < 0 || port > 65535) {
        mrg_error_set(err, MRG_ERR_INVALID, "a port from 0 to 65535 behind the colon");
        return NULL;
    }
    _cleanup_free_ char *lower = lower_copy(host);
    return mrg_asprintf(strchr(host, ':') ? "[%s]:%ld" : "%s:%ld", lower, port);
}

unsigned mrg_address_split(const char *address, char ret_host[MRG_ADDRESS_HOST])
{
    long port = 0;
    MRG_ASSERT(split(address, ret_host, &port) && port >= 0);
    return (unsigned)port;
}

bool mrg_host_is_loopback(const char *host)
{
    struct in6_addr six;
    if (strchr(host, ':'))
        return inet_pton(AF_INET6, host, &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
    return strcmp(host, "localhost") == 0 || (strncmp(host, "127.", 4) == 0 && only(host, "0123456789."));
}

bool mrg_host_is_any(const char *host)
{
    struct in6_addr six;
    if (strchr(host, ':'))
        return inet_pton(AF_INET6, host, &six) == 1 && IN6_IS_ADDR_UNSPECIFIED(&six);
    return strcmp(host, "0.0.0.0") == 0;
}

static char *read_url(const struct mrg_option *option, const char *folder, const char *text,
                      struct mrg_error *err)
{
    (void)option, (void)folder;
    bool tls = strncasecmp(text, "https://", 8) == 0;
    if (!tls && strncasecmp(text, "http://", 7) != 0)
        return NULL;
    const char *authority = text + (tls ? 8 : 7);
    size_t len = strcspn(authority, "/?#");
    if (len == 0 || has_space(text))
        return NULL;
    if (memchr(authority, '@', len)) {
        mrg_error_set(err, MRG_ERR_INVALID,
                      "a URL without a user or password; keys belong into the variable of key_env");
        return NULL;
    }
    if (strpbrk(authority, "?#")) {
        mrg_error_set(err, MRG_ERR_INVALID, "a URL without ? or #, because a path is appended");
        return NULL;
    }
    _cleanup_free_ char *place = mrg_strndup(authority, len);
    char host[MRG_ADDRESS_HOST];
    long port = 0;
    /* An address of IPv6 without a port ends in its bracket. */
    _cleanup_free_ char *with_port = mrg_asprintf("%s:80", place);
    bool no_port = place[len - 1] == ']' || !strchr(place, ':');
    if (!split(no_port ? with_port : place, host, &port) || !host_ok(host) || port < 1 || port > 65535)
        return NULL;
    size_t all = strlen(text);
    while (text[all - 1] == '/')
        all--;
    return mrg_strndup(text, all);
}

static char *read_env(const struct mrg_option *option, const char *folder, const char *text,
                      struct mrg_error *err)
{
    (void)option, (void)folder, (void)err;
    return only(text, ALNUM "_") && !(text[0] >= '0' && text[0] <= '9') ? mrg_strdup(text) : NULL;
}

/* Takes out "." and empty parts; ".." stays, because it means what the file system says. */
static char *tidy_path(const char *path)
{
    struct mrg_buf buf;
    mrg_buf_init(&buf, SIZE_MAX);
    while (*path) {
        size_t len = strcspn(path, "/");
        if (len > 0 && !(len == 1 && path[0] == '.')) {
            mrg_buf_append_char(&buf, '/');
            mrg_buf_append(&buf, path, len);
        }
        path += len + (path[len] == '/');
    }
    if (buf.len == 0)
        mrg_buf_append_char(&buf, '/');
    return mrg_buf_take(&buf, NULL);
}

static char *read_path(const struct mrg_option *option, const char *folder, const char *text,
                       struct mrg_error *err)
{
    if (text[0] == '\0')
        return NULL;
    if (text[0] == '~') {
        mrg_error_set(err, MRG_ERR_INVALID, "a path from %s or from /, because ~ is a shell's", folder);
        return NULL;
    }
    _cleanup_free_ char *joined = text[0] == '/' ? mrg_strdup(text) : mrg_asprintf("%s/%s", folder, text);
    _cleanup_free_ char *path = tidy_path(joined);
    struct stat status;
    bool there = stat(path, &status) == 0;
    if (option->must_exist && !there) {
        mrg_error_set(err, MRG_ERR_NOT_FOUND, "there is no %s; expected a file or folder", path);
        return NULL;
    }
    if (!option->must_exist && there && !S_ISDIR(status.st_mode)) {
        mrg_error_set(err, MRG_ERR_INVALID, "a folder; %s is none", path);
        return NULL;
    }
    return MRG_TAKE(path);
}

static char *read_prefix(const struct mrg_option *option, const char *folder, const char *text,
                         struct mrg_error *err)
{
    (void)option, (void)folder;
    size_t len = strlen(text);
    if (text[0] != '/' || len < 2 || text[len - 1] == '/' || strstr(text, "//") || strpbrk(text, "?#") ||
        has_space(text))
        return NULL;
    static const char *const own[] = {"/__mock__", "/__s"};
    for (size_t i = 0; i < MRG_ARRAY_LEN(own); i++) {
        size_t own_len = strlen(own[i]);
        if (strncmp(text, own[i], own_len) != 0 || (text[own_len] != '/' && text[own_len] != '\0'))
            continue;
        mrg_error_set(err, MRG_ERR_INVALID, "a prefix outside %s, which is Mirage's own", own[i]);
        return NULL;
    }
    return mrg_strdup(text);
}

static char *read_host(const struct mrg_option *option, const char *folder, const char *text,
                       struct mrg_error *err)
{
    (void)option, (void)folder, (void)err;
    size_t len = strlen(text);
    bool brackets = text[0] == '[' && len > 2 && text[len - 1] == ']' && strchr(text, ':');
    _cleanup_free_ char *bare = brackets ? mrg_strndup(text + 1, len - 2) : mrg_strdup(text);
    return host_ok(bare) ? lower_copy(text) : NULL;
}

static char *read_header(const struct mrg_option *option, const char *folder, const char *text,
                         struct mrg_error *err)
{
    (void)option, (void)folder;
    if (!only(text, HEADER_CHARS))
        return NULL;
    const char *star = strchr(text, '*');
    if (star && (star[1] != '\0' || star == text)) {
        mrg_error_set(err, MRG_ERR_INVALID, "a header name with * at its end only, such as x-b3-*");
        return NULL;
    }
    return lower_copy(text);
}

static bool braces_ok(const char *path)
{
    for (const char *at = path; (at = strpbrk(at, "{}")); at++) {
        size_t name = strcspn(at + 1, "{}/");
        if (*at == '}' || name == 0 || at[1 + name] != '}')
            return false;
        at += 1 + name;
    }
    return true;
}

static char *read_route(const struct mrg_option *option, const char *folder, const char *text,
                        struct mrg_error *err)
{
    (void)option, (void)folder;
    size_t method = strcspn(text, " ");
    const char *path = text;
    if (text[method] == ' ') {
        path = text + method + strspn(text + method, " ");
        if (method == 0 || strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-") != method) {
            mrg_error_set(err, MRG_ERR_INVALID, "a method in capitals, such as \"POST /search\"");
            return NULL;
        }
    }
    if (path[0] != '/' || strpbrk(path, "?#") || has_space(path))
        return NULL;
    if (!braces_ok(path)) {
        mrg_error_set(err, MRG_ERR_INVALID,
                      "each { closed by }, with a name between, such as /shipments/{id}");
        return NULL;
    }
    return path == text ? mrg_strdup(path) : mrg_asprintf("%.*s %s", (int)method, text, path);
}

static char *read_jpath(const struct mrg_option *option, const char *folder, const char *text,
                        struct mrg_error *err)
{
    (void)option, (void)folder;
    struct mrg_jpath *path = NULL;
    struct mrg_error why = {0};
    if (mrg_jpath_parse(text, &path, &why)) {
        mrg_error_set(err, MRG_ERR_INVALID,
                      "a part of a request such as header.x-request-id, query.ts or body.$..id (%s)",
                      why.message);
        return NULL;
    }
    mrg_jpath_free(path);
    return mrg_strdup(text);
}

static char *read_word(const struct mrg_option *option, const char *folder, const char *text,
                       struct mrg_error *err)
{
    (void)folder, (void)err;
    return mrg_option_word(option->values, text) >= 0 ? mrg_strdup(text) : NULL;
}

static const struct {
    read_fn read;
    const char *expected;
} kinds[] = {
    [MRG_OPTION_STRING] = {read_string, "a text"},
    [MRG_OPTION_NAME] = {read_name,
                         "a name of letters, digits, dots, hyphens and underscores, such as inventory"},
    [MRG_OPTION_ADDRESS] = {read_address, "an address such as 127.0.0.1:8001"},
    [MRG_OPTION_URL] = {read_url, "an http or https URL such as http://127.0.0.1:8100/v1"},
    [MRG_OPTION_ENV] = {read_env, "the name of an environment variable, such as OPENAI_API_KEY"},
    [MRG_OPTION_PATH] = {read_path, "a path"},
    [MRG_OPTION_PREFIX] = {read_prefix, "a path prefix such as /inventory, without a slash at its end"},
    [MRG_OPTION_HOST] = {read_host, "a host name such as mirage.test, without a port"},
    [MRG_OPTION_HEADER] = {read_header, "a header name such as x-request-id or x-b3-*"},
    [MRG_OPTION_ROUTE] = {read_route, "a method and a path such as \"GET /shipments/{id}\""},
    [MRG_OPTION_JPATH] = {read_jpath,
                          "a part of a request such as header.x-request-id, query.ts or body.$..id"},
    [MRG_OPTION_ENDPOINT] = {mrg_read_endpoint,
                             "a ZeroMQ endpoint such as tcp://127.0.0.1:5001 or ipc:///tmp/inventory"},
    [MRG_OPTION_RPC] = {mrg_read_rpc, "an RPC such as inventory.v1.Inventory/Reserve"},
    [MRG_OPTION_RULE] = {mrg_read_rule,
                         "a method in capitals and a path such as \"POST /items/{item_id}/reserve\""},
    [MRG_OPTION_FIELD] = {mrg_read_field, "a field's name, \"*\" or \"\""},
    [MRG_OPTION_ENUM] = {read_word, NULL},
};

char *mrg_option_read_text(const struct mrg_option *option, const char *folder, const char *text,
                           struct mrg_error *err)
{
    struct mrg_error own = {0};
    struct mrg_error *why = err ? err : &own;
    why->message[0] = '\0';
    if (strlen(text) > LONGEST) {
        mrg_error_set(why, MRG_ERR_TOO_LARGE, "at most %d bytes", LONGEST);
        return NULL;
    }
    return kinds[option->type].read(option, folder, text, why);
}

static const char *expected_range(const struct mrg_option *option, char ret_text[MRG_EXPECTED])
{
    long long min = option->min, max = option->max;
    switch (option->type) {
    case MRG_OPTION_INT:
        snprintf(ret_text, MRG_EXPECTED, "a whole number from %lld to %lld", min, max);
        return ret_text;
    case MRG_OPTION_NUMBER:
        snprintf(ret_text, MRG_EXPECTED, "a number from %lld to %lld, or none", min, max);
        return ret_text;
    case MRG_OPTION_DURATION:
        return "a duration such as 500ms, 60s or 2m";
    case MRG_OPTION_SIZE:
        return "a size such as 512B, 64KiB or 8MiB";
    default:
        return "true or false";
    }
}

const char *mrg_option_expected(const struct mrg_option *option, char ret_text[MRG_EXPECTED])
{
    if (option->type == MRG_OPTION_PATH && option->must_exist)
        return "a path of a file or folder";
    if (option->type < MRG_OPTION_ENUM)
        return kinds[option->type].expected;
    if (option->type != MRG_OPTION_ENUM)
        return expected_range(option, ret_text);
    size_t len = (size_t)snprintf(ret_text, MRG_EXPECTED, "%s", strchr(option->values, '|') ? "one of " : "");
    for (const char *at = option->values; *at && len + 3 < MRG_EXPECTED; at++) {
        ret_text[len++] = *at == '|' ? ',' : *at;
        if (*at == '|')
            ret_text[len++] = ' ';
    }
    ret_text[len] = '\0';
    return ret_text;
}
