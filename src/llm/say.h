// SPDX-License-Identifier: Apache-2.0
/*
 * Say: the sentences about what went wrong with a provider. No key and no user info of a URL ever gets into
 * one. Results are the caller's (free()). Thread: any; no state.
 */
#pragma once

#include "llm/retry.h"
#include "llm/wire.h"

/* How one attempt ended. */
struct mrg_llm_attempt {
    enum mrg_llm_fault fault; /* NONE: there is an HTTP reply */
    const char *detail;       /* the library's words about a fault; "" */
    long status;              /* of the HTTP reply */
    const char *retry_after;  /* its field's value, or NULL */
};

char *mrg_llm_say_fault(const struct mrg_model_config *model, const char *key,
                        const struct mrg_llm_attempt *attempt);

/* The provider answered `status`, an error; `trouble` is what its body says. */
char *mrg_llm_say_status(const struct mrg_model_config *model, const char *key, long status,
                         const struct mrg_llm_trouble *trouble);

/* The code that stands for that. */
enum mrg_err mrg_llm_code_of_fault(enum mrg_llm_fault fault);
enum mrg_err mrg_llm_code_of_status(long status, const struct mrg_llm_trouble *trouble);
