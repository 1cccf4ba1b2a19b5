// SPDX-License-Identifier: Apache-2.0
#include <string.h>
#include <strings.h>

#include "evidence/endpoints.h"

#define MAX_NAME 128u

/*
 * Lower case, letters and digits only, without a port, a domain, and endings that only say that it is a
 * service.
 */
static void core_name(const char *name, char ret_core[MAX_NAME])
{
    static const char *const endings[] = {"service", "svc", "server", "api"};
    size_t len = 0;
    for (const char *p = name; *p && *p != ':' && *p != '.' && *p != '/' && len < MAX_NAME - 1; p++) {
        char c = *p >= 'A' && *p <= 'Z' ? (char)(*p + ('a' - 'A')) : *p;
        if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))
            ret_core[len++] = c;
    }
    for (size_t i = 0; i < MRG_ARRAY_LEN(endings); i++) {
        size_t ending = strlen(endings[i]);
        if (len > ending && memcmp(ret_core + len - ending, endings[i], ending) == 0)
            len -= ending;
    }
    ret_core[len] = '\0';
}

bool mrg_owner_is(const char *name, const char *dependency)
{
    if (strcasecmp(name, dependency) == 0)
        return true;
    char a[MAX_NAME], b[MAX_NAME];
    core_name(name, a);
    core_name(dependency, b);
    return *a && strcmp(a, b) == 0;
}
