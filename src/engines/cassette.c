// SPDX-License-Identifier: Apache-2.0
/*
 * The cassette engine: answers what is recorded, records what a model answers. It is inline: a lookup on the
 * thread that has the turn; lines go to the writer's thread.
 */
#include <string.h>

#include "core/config.h"
#include "core/limits.h"
#include "core/stats.h"
#include "engines/cassette_file.h"
#include "engines/cassette_miss.h"
#include "engines/cassette_shelf.h"
#include "engines/cassette_writer.h"
#include "engines/engines.h"
#include "engines/provenance.h"
#include "engines/services.h"
#include "evidence/evidence.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/utf8.h"

#define SHOWN 200 /* bytes of a path in a sentence */

struct cassette {
    struct mrg_engine base;
    struct mrg_engine_env env;
    struct mrg_cassette_shelf *own_shelf; /* where the process has none */
    struct mrg_cassette_seat *seat;       /* NULL in mode off */
    struct mrg_cassette_store *store;     /* the seat's */
    char *path;                           /* DIR/DEPENDENCY.jsonl */
    const char *evidence;                 /* hash of the present evidence; "" when there is none */
    atomic_bool told_stale;               /* nothing to be said any more */
};

static struct cassette *self_of(struct mrg_engine *engine)
{
    return MRG_CONTAINER_OF(engine, struct cassette, base);
}

/* Bytes of a method or path that a sentence shows. */
static size_t shown_len(struct mrg_slice text)
{
    return text.len > SHOWN ? mrg_utf8_cut(text, SHOWN) : text.len;
}

static enum mrg_cassette_mode mode_of(const struct cassette *cassette)
{
    return cassette->env.config->cassette.mode;
}

static bool records(enum mrg_cassette_mode mode)
{
    return mode == MRG_CASSETTE_AUTO || mode == MRG_CASSETTE_RECORD;
}

static struct mrg_cassette_writer *writer_of(const struct cassette *cassette)
{
    return cassette->env.services ? cassette->env.services->writer : NULL;
}

static void tell_loaded(struct cassette *cassette, const struct mrg_cassette_loaded *loaded)
{
    if (loaded->stamp.inode == 0 && mode_of(cassette) == MRG_CASSETTE_REPLAY &&
        mrg_cassette_seat_first(cassette->seat, MRG_CASSETTE_NEWS_NONE_THERE))
        mrg_log(MRG_LOG_WARN, "%s: There is no such cassette; each request to %s will miss", cassette->path,
                cassette->env.config->name);
    if (loaded->cut_line > 0 && mrg_cassette_seat_first(cassette->seat, MRG_CASSETTE_NEWS_CUT))
        mrg_log(MRG_LOG_WARN,
                "%s:%zu: The last line is cut and was left out (%zu bytes); %zu whole lines were read",
                cassette->path, loaded->cut_line, loaded->cut_bytes, loaded->lines);
    mrg_log(MRG_LOG_DEBUG, "%s: %zu lines, %zu of them replaced by later ones", cassette->path, loaded->lines,
            loaded->replaced);
}

static enum mrg_err open_cassette(struct cassette *cassette, struct mrg_error *err)
{
    struct mrg_cassette_loaded loaded;
    struct mrg_cassette_shelf *shelf = cassette->env.services ? cassette->env.services->shelf : NULL;
    if (!shelf)
        shelf = cassette->own_shelf = mrg_cassette_shelf_new();
    enum mrg_err code =
        mrg_cassette_shelf_open(shelf, cassette->path, cassette->env.config->name, cassette->env.match,
                                writer_of(cassette), &cassette->seat, &loaded, err);
    if (code)
        return code;
    cassette->store = mrg_cassette_seat_store(cassette->seat);
    tell_loaded(cassette, &loaded);
    return MRG_ERR_OK;
}

static void destroy(struct mrg_engine *engine)
{
    struct cassette *cassette = self_of(engine);
    mrg_cassette_seat_close(cassette->seat);
    mrg_cassette_shelf_free(cassette->own_shelf);
    free(cassette->path);
    free(cassette);
}

static enum mrg_err create(const struct mrg_engine_env *env, struct mrg_engine **ret_engine,
                           struct mrg_error *err)
{
    const struct mrg_dependency_config *config = env->config;
    enum mrg_cassette_mode mode = config->cassette.mode;
    const char *dir = config->cassette.dir ? config->cassette.dir : "cassettes";
    enum mrg_err code = MRG_ERR_OK;
    if (strchr(config->name, '/') || config->name[0] == '.')
        return mrg_error_set(err, MRG_ERR_INVALID,
                             "the dependency's name \"%s\" cannot be a file's name; its cassette needs one",
                             config->name);
    struct cassette *cassette = mrg_zalloc(sizeof(*cassette));
    cassette->base.ops = &mrg_engine_cassette;
    cassette->env = *env;
    cassette->path = mrg_asprintf("%s/%s.jsonl", dir, config->name);
    cassette->evidence = env->evidence ? mrg_evidence_hash(env->evidence) : "";
    if (records(mode) && writer_of(cassette))
        code = mrg_cassette_make_folder(dir, err);
    if (!code && mode != MRG_CASSETTE_OFF)
        code = open_cassette(cassette, err);
    if (code) {
        destroy(&cassette->base);
        return code;
    }
    *ret_engine = &cassette->base;
    return MRG_ERR_OK;
}

static bool is_stale(const struct cassette *cassette, const struct mrg_cassette_entry *entry)
{
    return *entry->evidence && *cassette->evidence && strcmp(entry->evidence, cassette->evidence) != 0;
}

static struct mrg_slice note(struct mrg_exchange *exchange, struct mrg_buf *sentence)
{
    struct mrg_slice before = exchange->engine_note;
    struct mrg_buf whole;
    mrg_buf_init(&whole, SIZE_MAX);
    if (before.len > 0) {
        mrg_buf_append_slice(&whole, before);
        mrg_buf_append_str(&whole, "; ");
    }
    mrg_buf_append_slice(&whole, mrg_buf_slice(sentence));
    mrg_buf_done(sentence);
    return mrg_arena_take_buf(exchange->arena, &whole);
}

static enum mrg_verdict miss(struct cassette *cassette, struct mrg_exchange *exchange)
{
    struct mrg_buf sentence;
    mrg_buf_init(&sentence, SIZE_MAX);
    mrg_cassette_miss(&sentence, cassette->store, cassette->env.match, cassette->path, exchange->shown,
                      exchange->place, exchange->key, exchange->nth);
    exchange->engine_note = note(exchange, &sentence);
    exchange->missed = true;
    return MRG_PASSED;
}

/* Nobody else is asked: in auto mode that would be `refresh`. */
static enum mrg_verdict refuse(struct cassette *cassette, struct mrg_exchange *exchange)
{
    struct mrg_buf sentence;
    mrg_buf_init(&sentence, SIZE_MAX);
    mrg_buf_appendf(&sentence,
                    "the reply recorded for %.*s %.*s is stale: the evidence has changed since; record it "
                    "again with --mode record, "
                    "or set cassette.on_stale to use, warn or refresh",
                    (int)shown_len(exchange->shown->method), exchange->shown->method.ptr,
                    (int)shown_len(exchange->shown->path), exchange->shown->path.ptr);
    if (mode_of(cassette) == MRG_CASSETTE_REPLAY) {
        exchange->engine_note = note(exchange, &sentence);
        exchange->missed = true;
        return MRG_PASSED;
    }
    mrg_reply_fail(exchange->arena, &exchange->reply, 500, "%s", sentence.data);
    mrg_buf_done(&sentence);
    return MRG_ANSWERED;
}

static void tell_stale(struct cassette *cassette)
{
    if (!atomic_load_explicit(&cassette->told_stale, memory_order_relaxed) &&
        !atomic_exchange(&cassette->told_stale, true) &&
        mrg_cassette_seat_first(cassette->seat, MRG_CASSETTE_NEWS_STALE))
        mrg_log(MRG_LOG_WARN,
                "%s: Replies were recorded with other evidence than there is now; they are used "
                "(cassette.on_stale)",
                cassette->path);
}

static enum mrg_verdict answer_entry(struct cassette *cassette, struct mrg_exchange *exchange,
                                     const struct mrg_cassette_entry *entry)
{
    if (is_stale(cassette, entry)) {
        enum mrg_on_stale what = cassette->env.config->cassette.on_stale;
        if (what == MRG_STALE_REFUSE)
            return refuse(cassette, exchange);
        if (what == MRG_STALE_REFRESH && mode_of(cassette) == MRG_CASSETTE_AUTO)
            return MRG_PASSED;
        if (what != MRG_STALE_USE)
            tell_stale(cassette);
        atomic_fetch_add_explicit(&cassette->env.stats->stale, 1, memory_order_relaxed);
    }
    exchange->reply = entry->reply; /* its bytes are reply_text's */
    exchange->reply.source = mrg_engine_cassette.name;
    exchange->reply.lasting = true;
    exchange->reply_text = mrg_text_ref(entry->rep);
    return MRG_ANSWERED;
}

static enum mrg_verdict answer(struct mrg_engine *engine, struct mrg_exchange *exchange)
{
    struct cassette *cassette = self_of(engine);
    enum mrg_cassette_mode mode = mode_of(cassette);
    if (mode == MRG_CASSETTE_OFF || mode == MRG_CASSETTE_RECORD)
        return MRG_PASSED;
    struct mrg_cassette_entry *entry =
        mrg_cassette_store_find(cassette->store, exchange->place, exchange->key, exchange->nth);
    if (!entry)
        return mode == MRG_CASSETTE_REPLAY ? miss(cassette, exchange) : MRG_PASSED;
    enum mrg_verdict verdict = answer_entry(cassette, exchange, entry);
    mrg_cassette_entry_unref(entry);
    return verdict;
}

static struct mrg_cassette_line line_of(const struct cassette *cassette, const struct mrg_exchange *exchange,
                                        const struct mrg_record *record, struct mrg_slice rep,
                                        const char *clock)
{
    const struct mrg_provenance *by = exchange->engine_data;
    struct mrg_cassette_line line = {
        .at = exchange->place,
        .nth = exchange->nth,
        .dep = mrg_slice_of(cassette->env.config->name),
        .req = mrg_text_slice(record->request),
        .rep = rep,
        .evidence = mrg_slice_of(cassette->evidence),
        .clock = mrg_slice_of(clock),
    };
    if (!by)
        return line;
    line.model = mrg_slice_of(by->model && *by->model ? by->model : cassette->env.config->model.name);
    line.prompt = mrg_slice_of(by->prompt_hash);
    line.tokens_in = by->tokens_in;
    line.tokens_cached = by->tokens_cached;
    line.tokens_out = by->tokens_out;
    line.ms = by->ms;
    line.id = mrg_slice_of(by->id);
    line.text = mrg_slice_of(by->text_hash);
    return line;
}

/*
 * A line that a later start could not read must not get into the file: it would keep the server from
 * starting.
 */
static enum mrg_err put_line(struct cassette *cassette, struct mrg_text *text, struct mrg_error *err)
{
    struct mrg_cassette_line line;
    size_t column;
    if (text->len > MRG_MAX_CASSETTE_LINE)
        return mrg_error_set(err, MRG_ERR_TOO_LARGE, "it has %zu bytes; expected at most %u", text->len,
                             MRG_MAX_CASSETTE_LINE);
    struct mrg_arena *arena = mrg_arena_new(0);
    enum mrg_err code = mrg_cassette_line_parse(arena, mrg_text_slice(text), &line, &column, err);
    if (!code)
        code = mrg_cassette_seat_put(cassette->seat, &line, text, err);
    mrg_arena_free(arena);
    return code;
}

static void record_line(struct cassette *cassette, const struct mrg_exchange *exchange,
                        const struct mrg_cassette_line *line)
{
    struct mrg_error err;
    struct mrg_buf buf;
    mrg_buf_init(&buf, SIZE_MAX);
    mrg_cassette_line_append(&buf, line);
    struct mrg_text *text = mrg_text_new(buf.data, buf.len);
    mrg_buf_done(&buf);
    enum mrg_err code = put_line(cassette, text, &err);
    if (!code && writer_of(cassette))
        mrg_cassette_writer_append(writer_of(cassette), cassette->path, mrg_text_ref(text),
                                   cassette->env.stats);
    if (code)
        atomic_fetch_add_explicit(&cassette->env.stats->lost, 1, memory_order_relaxed);
    if (code && mrg_cassette_seat_first(cassette->seat, MRG_CASSETTE_NEWS_UNFIT))
        mrg_log(MRG_LOG_WARN, "%s: The reply to %.*s %.*s cannot be recorded: %s", cassette->path,
                (int)shown_len(exchange->shown->method), exchange->shown->method.ptr,
                (int)shown_len(exchange->shown->path), exchange->shown->path.ptr, err.message);
    mrg_text_unref(text);
}

static void answered(struct mrg_engine *engine, struct mrg_exchange *exchange, struct mrg_record *record)
{
    struct cassette *cassette = self_of(engine);
    const struct mrg_reply *reply = &exchange->reply;
    if (!records(mode_of(cassette)) || reply->error || reply->unsure.len > 0 || !reply->source ||
        strcmp(reply->source, "llm") != 0)
        return;
    char clock[MRG_CLOCK_TEXT];
    struct mrg_buf rep;
    mrg_clock_rfc3339_of(record->at_ms, clock);
    mrg_buf_init(&rep, SIZE_MAX);
    mrg_reply_append_json(&rep, reply);
    struct mrg_cassette_line line = line_of(cassette, exchange, record, mrg_buf_slice(&rep), clock);
    record_line(cassette, exchange, &line);
    mrg_buf_done(&rep);
}

const struct mrg_engine_ops mrg_engine_cassette = {
    .name = "cassette",
    .create = create,
    .destroy = destroy,
    .answer = answer,
    .answered = answered,
};
