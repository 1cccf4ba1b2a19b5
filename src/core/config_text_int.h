// SPDX-License-Identifier: Apache-2.0
/*
 * Config text, private: the readers of config_text_wires.c for the table in config_text.c. Nobody else includes
 * this. As mrg_option_read_text.
 */
#pragma once

#include "core/config_text.h"

char *mrg_read_endpoint(const struct mrg_option *option, const char *folder, const char *text,
                        struct mrg_error *err);
char *mrg_read_rpc(const struct mrg_option *option, const char *folder, const char *text,
                   struct mrg_error *err);
char *mrg_read_rule(const struct mrg_option *option, const char *folder, const char *text,
                    struct mrg_error *err);
char *mrg_read_field(const struct mrg_option *option, const char *folder, const char *text,
                     struct mrg_error *err);
