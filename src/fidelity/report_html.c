// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "fidelity/report_int.h"

static const char head[] =
    "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<title>mirage "
    "verify</title>\n<style>\n"
    ":root{color-scheme:light dark}body{font:15px/1.45 system-ui,sans-serif;max-width:80rem;margin:2rem "
    "auto;padding:0 "
    "1rem}\n"
    "table{border-collapse:collapse;margin:1rem 0}td,th{padding:.2rem "
    ".8rem;text-align:left;border-bottom:1px solid "
    "#8884}\n"
    "summary{cursor:pointer;padding:.3rem 0}.no>summary{color:#c62828}.ok>summary{color:#2e7d32}\n"
    ".pair{display:grid;grid-template-columns:1fr "
    "1fr;gap:1rem}pre{overflow:auto;background:#8881;padding:.6rem;"
    "margin:.2rem 0;"
    "white-space:pre-wrap;word-break:break-word}\nmark{background:#ffcc80;color:#000}ul{margin:.3rem 0}"
    "@media(max-width:50rem){.pair{grid-template-columns:1fr}}\n</style></head><body>\n";

static void escape(struct mrg_buf *buf, const char *text)
{
    mrg_report_escape(buf, mrg_slice_of(text));
}

static void append_groups(struct mrg_buf *buf, const char *title, const struct mrg_groups *groups)
{
    mrg_buf_appendf(buf, "<table><tr><th>%s<th>N<th>key-level<th>total pass</tr>\n", title);
    for (size_t i = 0; i < groups->count; i++) {
        const struct mrg_group *group = &groups->items[i];
        mrg_buf_append_str(buf, "<tr><td>");
        escape(buf, group->name[0] ? group->name : "–");
        mrg_buf_appendf(buf, "<td>%zu<td>%.1f %%<td>%.1f %%</tr>\n", group->scored,
                        mrg_report_percent(group->key_level, group->scored),
                        mrg_report_percent(group->passed, group->scored));
    }
    mrg_buf_append_str(buf, "</table>\n");
}

static void append_pair(struct mrg_buf *buf, const struct mrg_result_call *call, const char *marked)
{
    mrg_buf_append_str(buf, "<div class=\"pair\"><div>real<pre>");
    mrg_report_reply(buf, &call->real, marked);
    mrg_buf_append_str(buf, "</pre></div><div>simulated<pre>");
    mrg_report_reply(buf, &call->simulated, marked);
    mrg_buf_append_str(buf, "</pre></div></div>\n");
}

static void append_call(struct mrg_buf *buf, const struct mrg_result_call *call,
                        const struct mrg_call_score *score)
{
    const struct mrg_request *request = &call->real.request;
    mrg_buf_append_str(buf, "<p><b>");
    mrg_report_escape(buf, request->method);
    mrg_buf_append_char(buf, ' ');
    mrg_report_escape(buf, request->path);
    if (request->query.len > 0) {
        mrg_buf_append_char(buf, '?');
        mrg_report_escape(buf, request->query);
    }
    mrg_buf_append_str(buf, "</b></p>");
    if (request->body.kind == MRG_BODY_JSON || request->body.kind == MRG_BODY_TEXT) {
        mrg_buf_append_str(buf, "<pre>");
        mrg_report_escape(buf, request->body.bytes);
        mrg_buf_append_str(buf, "</pre>");
    }
    if (call->left_out) {
        mrg_buf_append_str(buf, "<p>left out: ");
        escape(buf, call->left_out);
        mrg_buf_append_str(buf, "</p>\n");
        return;
    }
    if (score->comparison.finding_count > 0)
        mrg_buf_append_str(buf, "<ul>");
    for (size_t i = 0; i < score->comparison.finding_count; i++) {
        mrg_buf_append_str(buf, "<li>");
        escape(buf, score->comparison.findings[i].path);
        mrg_buf_append_str(buf, ": ");
        escape(buf, score->comparison.findings[i].text);
    }
    if (score->comparison.finding_count > 0)
        mrg_buf_append_str(buf, "</ul>");
    append_pair(buf, call, score->comparison.finding_count > 0 ? score->comparison.findings[0].path : NULL);
}

static void append_trial(struct mrg_buf *buf, const struct mrg_score *score,
                         const struct mrg_trial_score *trial)
{
    struct mrg_buf name;
    mrg_buf_init(&name, SIZE_MAX);
    mrg_report_name(&name, score, trial);
    mrg_buf_appendf(buf, "<details class=\"%s\"%s><summary>%s ", trial->passed ? "ok" : "no",
                    trial->passed ? "" : " open", trial->passed ? "✓" : "✗");
    escape(buf, name.data);
    if (trial->why[0]) {
        mrg_buf_append_str(buf, " — ");
        escape(buf, trial->why);
    }
    mrg_buf_append_str(buf, "</summary>\n");
    for (size_t i = 0; i < trial->trial->call_count; i++)
        append_call(buf, &trial->trial->calls[i], &trial->calls[i]);
    mrg_buf_append_str(buf, "</details>\n");
    mrg_buf_done(&name);
}

void mrg_report_html(struct mrg_buf *buf, const struct mrg_score *score)
{
    struct mrg_interval interval = mrg_wilson(score->all.passed, score->all.scored);
    mrg_buf_append_str(buf, head);
    mrg_buf_append_str(buf, "<h1>");
    escape(buf, score->result->label[0] ? score->result->label : "mirage verify");
    mrg_buf_append_str(buf, "</h1>\n<p>");
    escape(buf, score->result->real);
    mrg_buf_append_str(buf, " against ");
    escape(buf, score->result->simulated);
    mrg_buf_appendf(
        buf, ", %s</p>\n<p><b>%zu of %zu scenarios passed</b>: %.1f %% (95 %% interval %.1f to %.1f)</p>\n",
        score->result->started, score->all.passed, score->all.scored,
        mrg_report_percent(score->all.passed, score->all.scored), 100 * interval.low, 100 * interval.high);
    append_groups(buf, "dependency", &score->dependencies);
    append_groups(buf, "category", &score->categories);
    for (size_t i = 0; i < score->result->trial_count; i++)
        append_trial(buf, score, &score->trials[i]);
    mrg_buf_append_str(buf, "</body></html>\n");
}
