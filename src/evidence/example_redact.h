// SPDX-License-Identifier: Apache-2.0
/*
 * Example redact: what `redact` names does not get into a prompt by way of examples. Thread: main.
 */
#pragma once

#include "evidence/examples.h"

/*
 * Replaces what the body paths name, in request and reply, by "[redacted]"; a header path takes all headers.
 * Wrong paths are the configuration's to tell.
 */
void mrg_examples_redact(struct mrg_examples *examples, const struct mrg_strings *redact);
