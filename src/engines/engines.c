// SPDX-License-Identifier: Apache-2.0
#include "engines/engines.h"

const struct mrg_engine_ops *const mrg_engines[] = {
    &mrg_engine_cassette,
    &mrg_engine_llm,
    NULL,
};
