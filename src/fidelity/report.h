// SPDX-License-Identifier: Apache-2.0
/*
 * Report: a score as text for a terminal, JSON, JUnit XML, a Markdown table, and one HTML page that needs nothing
 * else. Each appends to buf. Thread: whoever has the score.
 */
#pragma once

#include "fidelity/score.h"

void mrg_report_text(struct mrg_buf *buf, const struct mrg_score *score, bool color);
/* The result's document with a "score" member before the trials: what `--json` writes. mrg_result_parse reads it. */
void mrg_report_json(struct mrg_buf *buf, const struct mrg_score *score);
void mrg_report_junit(struct mrg_buf *buf, const struct mrg_score *score);
void mrg_report_markdown(struct mrg_buf *buf, const struct mrg_score *score);
/* Both replies side by side, the first difference marked. No script, no link to elsewhere. */
void mrg_report_html(struct mrg_buf *buf, const struct mrg_score *score);
