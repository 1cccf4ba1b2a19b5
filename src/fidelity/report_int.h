// SPDX-License-Identifier: Apache-2.0
/*
 * Report, inside: words that the forms share. Nobody else includes it. Thread: as a report.
 */
#pragma once

#include "fidelity/report.h"

const char *mrg_report_decided(enum mrg_decided decided);
/* part of whole in per cent; of nothing 0. */
double mrg_report_percent(size_t part, size_t whole);
/* A trial's name, with its repeat where there are several. */
void mrg_report_name(struct mrg_buf *buf, const struct mrg_score *score, const struct mrg_trial_score *trial);
/*
 * A reply for HTML's <pre>: status, headers of the service, body with line breaks. What a finding's path (NULL: none) names is
 * marked.
 */
void mrg_report_reply(struct mrg_buf *buf, const struct mrg_exchanged *side, const char *marked);
/* Appends text for XML and HTML; what XML 1.0 cannot say becomes U+FFFD. */
void mrg_report_escape(struct mrg_buf *buf, struct mrg_slice text);
