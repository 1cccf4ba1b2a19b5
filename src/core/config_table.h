// SPDX-License-Identifier: Apache-2.0
/*
 * Config table: every option of mirage.yaml, declared once.
 *
 * From these rows come reading, checking, overrides, the man page, the example file and the tables for
 * people, so that nothing is said twice. It does not read anything itself. Immutable; thread: any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The struct that an option's value goes into, and where its path begins. */
enum mrg_option_scope {
    MRG_SCOPE_ROOT,       /* struct mrg_config; the file's top */
    MRG_SCOPE_MODEL,      /* struct mrg_model_config; `model` at the top or in a dependency */
    MRG_SCOPE_DEPENDENCY, /* struct mrg_dependency_config; an item of `dependencies` */
    MRG_SCOPE_ROUTE,      /* struct mrg_route_config; an item of a dependency's `routes` */
};

enum mrg_option_type {
    /* char *, or with `list` struct mrg_strings */
    MRG_OPTION_STRING,
    MRG_OPTION_NAME,     /* of a dependency */
    MRG_OPTION_ADDRESS,  /* host:port */
    MRG_OPTION_URL,      /* http or https */
    MRG_OPTION_ENV,      /* name of an environment variable */
    MRG_OPTION_PATH,     /* made absolute */
    MRG_OPTION_PREFIX,   /* /inventory */
    MRG_OPTION_HOST,     /* what a Host header may say */
    MRG_OPTION_HEADER,   /* header name, * at its end allowed */
    MRG_OPTION_ROUTE,    /* METHOD /template */
    MRG_OPTION_JPATH,    /* util/jpath.h */
    MRG_OPTION_ENDPOINT, /* tcp://host:port or ipc://path */
    MRG_OPTION_RPC,      /* pkg.Service/Method */
    MRG_OPTION_RULE,     /* METHOD /template of google.api.http, wire/route.h reads the template */
    MRG_OPTION_FIELD,    /* a field's name, * or nothing */
    MRG_OPTION_ENUM,     /* an enum; with `list` struct mrg_strings */
    /* numbers */
    MRG_OPTION_INT,      /* int or unsigned */
    MRG_OPTION_NUMBER,   /* double, or `none` through `flag` */
    MRG_OPTION_DURATION, /* uint64_t milliseconds */
    MRG_OPTION_SIZE,     /* size_t bytes */
    MRG_OPTION_BOOL,     /* bool */
    /* structure */
    MRG_OPTION_SECTION,      /* a mapping of further options; no value of its own */
    MRG_OPTION_MODEL,        /* a mapping with MRG_SCOPE_MODEL's options */
    MRG_OPTION_DEPENDENCIES, /* a list of mappings with MRG_SCOPE_DEPENDENCY's options */
    MRG_OPTION_JUDGES,       /* a list of mappings with MRG_SCOPE_MODEL's options */
    MRG_OPTION_ROUTES,       /* a list of mappings with MRG_SCOPE_ROUTE's options */
    MRG_OPTION_LATER,        /* known, but served by a later version only; `help` says what there is now */
};

#define MRG_OPTION_NOWHERE SIZE_MAX /* offset of an option that is only checked */

struct mrg_option {
    enum mrg_option_scope scope;
    size_t offset;             /* of the value in the scope's struct */
    const char *path;          /* within the scope: cassette.mode */
    enum mrg_option_type type; /* of the value, or of the items of a list */
    bool list;                 /* a list of such; a single one is accepted */
    bool live;                 /* stands without a comment sign in the example file */
    bool must_exist;           /* PATH: there must be something */
    bool has_flag;             /* `flag` counts */
    bool flag_value;           /* what an INT puts there; a NUMBER puts whether there is one */
    size_t flag;               /* offset of a bool */
    int64_t min, max;          /* INT, NUMBER, DURATION (ms), SIZE (bytes) */
    const char *fallback;      /* default as text (a list's items apart by commas); NULL: none */
    const char *note;          /* the default in words where it is no constant */
    const char *values;        /* ENUM: words in the order of the C enum, apart by | */
    const char *later;         /* ENUM: words of later versions */
    const char *example;       /* value in the example file; NULL: the default */
    const char *help;          /* one sentence, no full stop */
};

extern const struct mrg_option mrg_options[];
extern const size_t mrg_option_count;

/* The option with that path in the scope; NULL. */
const struct mrg_option *mrg_option_find(enum mrg_option_scope scope, const char *path);

/*
 * Options directly below `section` ("" for the scope's own level), in order: call with *cursor = 0 first;
 * NULL at the end. Rows of later versions are passed over unless `later`.
 */
const struct mrg_option *mrg_option_next(enum mrg_option_scope scope, const char *section, bool later,
                                         size_t *cursor);

/* Whether an option below `section` stands without a comment sign in the example file. */
bool mrg_option_section_is_live(enum mrg_option_scope scope, const char *section);

/* The last part of an option's path: `mode` of cassette.mode. */
const char *mrg_option_key(const struct mrg_option *option);

/* Whether it has a value of its own (no section, no model, no dependencies, no later version). */
bool mrg_option_is_value(const struct mrg_option *option);

/* Which of `words` ("a|b|c") text is; -1 for none. */
int mrg_option_word(const char *words, const char *text);

/* The word of an ENUM that its C enum's value stands for. */
#define MRG_WORD 32
const char *mrg_option_word_text(const struct mrg_option *option, unsigned value, char ret_word[MRG_WORD]);

/* The type in words: "duration", "list of paths", "auto|record|replay|off". Static or the option's own. */
const char *mrg_option_type_name(const struct mrg_option *option);
