// SPDX-License-Identifier: Apache-2.0
#include "core/status.h"

#include <stdio.h>

struct code {
    const char *name;
    int number;
    int http;
};

static const struct code codes[MRG_GRPC_COUNT] = {
#define CODE(name, number, http) {#name, number, http},
    MRG_GRPC_MAP(CODE)
#undef CODE
};

/* HTTP statuses with a code of their own; the rest goes by its hundreds. */
static const struct {
    int http;
    int grpc;
} exact[] = {
    {400, MRG_GRPC_INVALID_ARGUMENT},    {401, MRG_GRPC_UNAUTHENTICATED},
    {402, MRG_GRPC_FAILED_PRECONDITION}, {403, MRG_GRPC_PERMISSION_DENIED},
    {404, MRG_GRPC_NOT_FOUND},           {409, MRG_GRPC_ABORTED},
    {410, MRG_GRPC_NOT_FOUND},           {412, MRG_GRPC_FAILED_PRECONDITION},
    {422, MRG_GRPC_INVALID_ARGUMENT},    {428, MRG_GRPC_FAILED_PRECONDITION},
    {429, MRG_GRPC_RESOURCE_EXHAUSTED},  {499, MRG_GRPC_CANCELLED},
    {501, MRG_GRPC_UNIMPLEMENTED},       {503, MRG_GRPC_UNAVAILABLE},
    {504, MRG_GRPC_DEADLINE_EXCEEDED},
};

/* By the hundreds of an HTTP status, from 2. */
static const struct {
    const char *statuses;
    int grpc;
} rest[] = {
    {"2xx", MRG_GRPC_OK},
    {"3xx", MRG_GRPC_UNKNOWN},
    {"other 4xx", MRG_GRPC_FAILED_PRECONDITION},
    {"500 and other 5xx", MRG_GRPC_INTERNAL},
    {"600–999", MRG_GRPC_UNKNOWN},
};

int mrg_status_from_http(int http)
{
    for (size_t i = 0; i < MRG_ARRAY_LEN(exact); i++) {
        if (exact[i].http == http)
            return exact[i].grpc;
    }
    int hundreds = http / 100;
    return rest[hundreds < 2 || hundreds > 6 ? MRG_ARRAY_LEN(rest) - 1 : (size_t)hundreds - 2].grpc;
}

int mrg_status_to_http(int grpc)
{
    return grpc >= 0 && grpc < MRG_GRPC_COUNT ? codes[grpc].http : 500;
}

const char *mrg_status_name(int grpc)
{
    return grpc >= 0 && grpc < MRG_GRPC_COUNT ? codes[grpc].name : NULL;
}

int mrg_status_of_name(struct mrg_slice name)
{
    for (size_t i = 0; i < MRG_GRPC_COUNT; i++) {
        if (mrg_slice_eq_str(name, codes[i].name))
            return codes[i].number;
    }
    return -1;
}

static void append_row(struct mrg_buf *buf, const char *http, int grpc)
{
    mrg_buf_appendf(buf, "| %s | %s | %d |\n", http, codes[grpc].name, grpc);
}

void mrg_status_append_markdown(struct mrg_buf *buf)
{
    mrg_buf_append_str(buf, "| HTTP | gRPC | number |\n|---|---|---|\n");
    for (size_t i = 0; i < MRG_ARRAY_LEN(rest); i++) {
        for (size_t k = 0; k < MRG_ARRAY_LEN(exact); k++) {
            char http[16];
            snprintf(http, sizeof(http), "%d", exact[k].http);
            if ((size_t)exact[k].http / 100 == i + 2)
                append_row(buf, http, exact[k].grpc);
        }
        append_row(buf, rest[i].statuses, rest[i].grpc);
    }
    mrg_buf_append_str(buf, "\n| gRPC | number | HTTP |\n|---|---|---|\n");
    for (size_t i = 0; i < MRG_GRPC_COUNT; i++)
        mrg_buf_appendf(buf, "| %s | %d | %d |\n", codes[i].name, codes[i].number, codes[i].http);
    mrg_buf_append_str(buf, "| any other number | as it is | 500 |\n");
}
