// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <string.h>

#include "fidelity/score.h"

#define Z 1.959964 /* of 95 % */

struct mrg_interval mrg_wilson(size_t passed, size_t count)
{
    if (count == 0)
        return (struct mrg_interval){0, 1};
    double n = (double)count, p = (double)passed / n;
    double middle = p + Z * Z / (2 * n);
    double half = Z * sqrt(p * (1 - p) / n + Z * Z / (4 * n * n));
    double scale = 1 + Z * Z / n;
    return (struct mrg_interval){fmax(0, (middle - half) / scale), fmin(1, (middle + half) / scale)};
}

static const struct mrg_trial_score *partner_of(const struct mrg_score *score,
                                                const struct mrg_trial_score *trial)
{
    for (size_t i = 0; i < score->result->trial_count; i++)
        if (score->trials[i].trial->repeat == trial->trial->repeat &&
            strcmp(score->trials[i].trial->scenario, trial->trial->scenario) == 0)
            return &score->trials[i];
    return NULL;
}

/* How the two runs agree beyond chance: the phi coefficient, with the continuity correction that the method has. */
static double phi_of(double both, double first, double second, double neither)
{
    double product = (both + first) * (second + neither) * (both + second) * (first + neither);
    double cross = both * neither - first * second;
    double n = both + first + second + neither;
    if (product <= 0)
        return 0;
    if (cross > 0)
        cross = fmax(0, cross - n / 2);
    return cross / sqrt(product);
}

static void find_interval(struct mrg_difference *ret, size_t neither)
{
    size_t a = ret->both + ret->first, b = ret->both + ret->second;
    double n = (double)ret->pairs, p = (double)a / n, q = (double)b / n;
    double phi = phi_of((double)ret->both, (double)ret->first, (double)ret->second, (double)neither);
    struct mrg_interval x = mrg_wilson(a, ret->pairs), y = mrg_wilson(b, ret->pairs);
    double down = p - x.low, up = x.high - p, down2 = q - y.low, up2 = y.high - q;
    ret->difference = p - q;
    ret->interval.low = ret->difference - sqrt(fmax(0, down * down - 2 * phi * down * up2 + up2 * up2));
    ret->interval.high = ret->difference + sqrt(fmax(0, up * up - 2 * phi * up * down2 + down2 * down2));
}

struct mrg_difference mrg_score_difference(const struct mrg_score *first, const struct mrg_score *second)
{
    struct mrg_difference ret = {.interval = {-1, 1}};
    size_t neither = 0;
    for (size_t i = 0; i < first->result->trial_count; i++) {
        const struct mrg_trial_score *a = &first->trials[i], *b = partner_of(second, a);
        if (!b || a->error || b->error)
            continue;
        ret.pairs++;
        ret.both += a->passed && b->passed;
        ret.first += a->passed && !b->passed;
        ret.second += !a->passed && b->passed;
        neither += !a->passed && !b->passed;
    }
    if (ret.pairs > 0)
        find_interval(&ret, neither);
    return ret;
}
