// SPDX-License-Identifier: Apache-2.0
/*
 * Services: what engines share in one process: the conversation client and the cassette writer. Made and
 * freed by cli/serve.
 */
#pragma once

struct mrg_llm_client;
struct mrg_cassette_writer;

struct mrg_services {
    struct mrg_llm_client *llm;         /* NULL where no engine asks a model */
    struct mrg_cassette_writer *writer; /* NULL where nothing is recorded */
};
