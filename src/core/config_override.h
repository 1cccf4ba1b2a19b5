// SPDX-License-Identifier: Apache-2.0
/*
 * Config override: values from MIRAGE_… variables and from flags, put into the tree before it is checked.
 *
 * So they are checked as the file's values are, with their origin as place. A list is given as text with
 * commas. An empty variable counts as not set. Main thread.
 */
#pragma once

#include "core/config_check.h"

/*
 * Every MIRAGE_ variable of load->environ_list into load->root. One that fits no option is a problem, but for
 * MIRAGE_CONFIG, MIRAGE_TEST_…, those that the configuration names itself (token_env, key_env), and those
 * that container platforms make for a service called mirage.
 */
void mrg_override_environment(struct mrg_config_load *load);

/* Flags, in order; later ones win. Borrowed until the load ends. */
void mrg_override_flags(struct mrg_config_load *load, const struct mrg_override *flags, size_t count);
