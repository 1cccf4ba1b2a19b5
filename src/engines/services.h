// SPDX-License-Identifier: Apache-2.0
/*
 * Services: what engines share in one process: the conversation client, the cassette writer and the open
 * cassettes. Made and freed by cli/serve.
 */
#pragma once

struct mrg_llm_client;
struct mrg_cassette_shelf;
struct mrg_cassette_writer;

struct mrg_services {
    struct mrg_llm_client *llm;         /* NULL where no engine asks a model */
    struct mrg_cassette_writer *writer; /* NULL where nothing is recorded */
    struct mrg_cassette_shelf *shelf;   /* open cassettes, over a reload; NULL: each engine has its own */
};
