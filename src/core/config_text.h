// SPDX-License-Identifier: Apache-2.0
/*
 * Config text: the options that are kept as text: addresses, URLs, paths, header names, routes and their
 * like.
 *
 * Each reader checks one text and gives its normal form. Nothing is looked up but files that must exist. Main
 * thread.
 */
#pragma once

#include "core/config_table.h"
#include "util/error.h"

/*
 * The normal form of `text` for an option whose type is kept as text; the caller's (free()). NULL when it
 * does not fit; then err->message is what was expected, where more can be said than mrg_option_expected()
 * does, and else "". With err->code NOT_FOUND it is the whole sentence. `folder` is what relative paths begin
 * at.
 */
char *mrg_option_read_text(const struct mrg_option *option, const char *folder, const char *text,
                           struct mrg_error *err);

/*
 * What one value of the option looks like: "a duration such as 500ms, 60s or 2m". Into ret_text when it has
 * to be made.
 */
#define MRG_EXPECTED 256
const char *mrg_option_expected(const struct mrg_option *option, char ret_text[MRG_EXPECTED]);

/*
 * Parts of an address that mrg_option_read_text has passed. The host is without brackets, in the caller's
 * buffer.
 */
#define MRG_ADDRESS_HOST 256
unsigned mrg_address_split(const char *address, char ret_host[MRG_ADDRESS_HOST]);
bool mrg_host_is_loopback(const char *host);
bool mrg_host_is_any(const char *host); /* 0.0.0.0 and :: */
