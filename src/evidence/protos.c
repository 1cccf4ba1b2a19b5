// SPDX-License-Identifier: Apache-2.0
#include "evidence/protos.h"

#include <string.h>
#include <unistd.h>

static char *find(const struct mrg_strings *roots, const char *file)
{
    for (size_t i = 0; i < roots->count; i++) {
        _cleanup_free_ char *path = mrg_asprintf("%s/%s", roots->items[i], file);
        if (access(path, R_OK) == 0)
            return mrg_strdup(path);
    }
    return NULL;
}

/* A file that the configuration names as a schema too is shown once. */
static void add(struct mrg_strings *paths, char *path)
{
    for (size_t i = 0; path && i < paths->count; i++) {
        if (strcmp(paths->items[i], path) == 0) {
            free(path);
            return;
        }
    }
    if (path)
        paths->items[paths->count++] = path;
}

struct mrg_strings mrg_evidence_schema(const struct mrg_dependency_config *config)
{
    const struct mrg_strings *schema = &config->evidence.schema, *files = &config->protos.files;
    struct mrg_strings paths = {mrg_zalloc((schema->count + files->count + 1) * sizeof(char *)), 0};
    for (size_t i = 0; i < schema->count; i++)
        add(&paths, mrg_strdup(schema->items[i]));
    for (size_t i = 0; i < files->count; i++)
        add(&paths, find(&config->protos.roots, files->items[i]));
    return paths;
}

void mrg_evidence_schema_done(struct mrg_strings *paths)
{
    for (size_t i = 0; i < paths->count; i++)
        free(paths->items[i]);
    free(paths->items);
}
