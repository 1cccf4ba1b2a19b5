// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "fidelity/report_int.h"

void mrg_report_escape(struct mrg_buf *buf, struct mrg_slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        if (c == '&')
            mrg_buf_append_str(buf, "&amp;");
        else if (c == '<')
            mrg_buf_append_str(buf, "&lt;");
        else if (c == '>')
            mrg_buf_append_str(buf, "&gt;");
        else if (c == '"')
            mrg_buf_append_str(buf, "&quot;");
        else if (c < 0x20 && c != '\n' && c != '\t')
            mrg_buf_append_str(buf, "\xef\xbf\xbd");
        else
            mrg_buf_append_char(buf, (char)c);
    }
}

static void append_attribute(struct mrg_buf *buf, const char *name, const char *value)
{
    mrg_buf_appendf(buf, " %s=\"", name);
    mrg_report_escape(buf, mrg_slice_of(value));
    mrg_buf_append_char(buf, '"');
}

static double seconds_of(const struct mrg_trial *trial)
{
    uint64_t us = 0;
    for (size_t i = 0; i < trial->call_count; i++)
        us += trial->calls[i].simulated.duration_us;
    return (double)us / 1e6;
}

static void append_left_out(struct mrg_buf *buf, const struct mrg_trial *trial)
{
    for (size_t i = 0; i < trial->call_count; i++) {
        if (!trial->calls[i].left_out)
            continue;
        mrg_buf_appendf(buf, "      <system-out>call %zu left out: ", i + 1);
        mrg_report_escape(buf, mrg_slice_of(trial->calls[i].left_out));
        mrg_buf_append_str(buf, "</system-out>\n");
    }
}

static void append_findings(struct mrg_buf *buf, const struct mrg_trial_score *trial)
{
    for (size_t i = 0; i < trial->trial->call_count; i++) {
        const struct mrg_comparison *comparison = &trial->calls[i].comparison;
        for (size_t j = 0; j < comparison->finding_count && !trial->calls[i].left_out; j++) {
            mrg_buf_appendf(buf, "call %zu: ", i + 1);
            mrg_report_escape(buf, mrg_slice_of(comparison->findings[j].path));
            mrg_buf_append_str(buf, ": ");
            mrg_report_escape(buf, mrg_slice_of(comparison->findings[j].text));
            mrg_buf_append_char(buf, '\n');
        }
    }
}

static void append_case(struct mrg_buf *buf, const struct mrg_score *score,
                        const struct mrg_trial_score *trial)
{
    struct mrg_buf name;
    mrg_buf_init(&name, SIZE_MAX);
    mrg_report_name(&name, score, trial);
    mrg_buf_append_str(buf, "    <testcase");
    append_attribute(buf, "name", name.data);
    append_attribute(buf, "classname", trial->trial->category);
    mrg_buf_appendf(buf, " time=\"%.3f\">\n", seconds_of(trial->trial));
    if (!trial->passed) {
        const char *element = trial->error ? "error" : "failure";
        mrg_buf_appendf(buf, "      <%s", element);
        append_attribute(buf, "message", trial->why);
        append_attribute(buf, "type", trial->error ? "not run" : mrg_report_decided(trial->decided));
        mrg_buf_append_char(buf, '>');
        append_findings(buf, trial);
        mrg_buf_appendf(buf, "</%s>\n", element);
    }
    append_left_out(buf, trial->trial);
    mrg_buf_append_str(buf, "    </testcase>\n");
    mrg_buf_done(&name);
}

static void append_suite(struct mrg_buf *buf, const struct mrg_score *score, const char *dependency)
{
    size_t tests = 0, failures = 0, errors = 0;
    struct mrg_buf cases;
    mrg_buf_init(&cases, SIZE_MAX);
    for (size_t i = 0; i < score->result->trial_count; i++) {
        const struct mrg_trial_score *trial = &score->trials[i];
        if (strcmp(trial->trial->dependency, dependency) != 0)
            continue;
        tests++;
        errors += trial->error != NULL;
        failures += !trial->error && !trial->passed;
        append_case(&cases, score, trial);
    }
    mrg_buf_append_str(buf, "  <testsuite");
    append_attribute(buf, "name", dependency[0] ? dependency : "scenarios");
    mrg_buf_appendf(buf, " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\">\n", tests, failures, errors);
    mrg_buf_append_slice(buf, mrg_buf_slice(&cases));
    mrg_buf_append_str(buf, "  </testsuite>\n");
    mrg_buf_done(&cases);
}

static bool is_first(const struct mrg_score *score, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (strcmp(score->trials[i].trial->dependency, score->trials[at].trial->dependency) == 0)
            return false;
    return true;
}

void mrg_report_junit(struct mrg_buf *buf, const struct mrg_score *score)
{
    mrg_buf_append_str(buf, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites");
    append_attribute(buf, "name", score->result->label[0] ? score->result->label : "mirage verify");
    mrg_buf_appendf(buf, " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\">\n", score->result->trial_count,
                    score->all.scored - score->all.passed, score->errors);
    for (size_t i = 0; i < score->result->trial_count; i++)
        if (is_first(score, i))
            append_suite(buf, score, score->trials[i].trial->dependency);
    mrg_buf_append_str(buf, "</testsuites>\n");
}
