// SPDX-License-Identifier: Apache-2.0
/*
 * Lock: the shelf's guards books, editions and seats; it comes before those of stores. No file is read with it
 * held: what is recorded while an edition is being loaded is kept in its backlog and put in afterwards.
 */
#include "engines/cassette_shelf.h"

#include <pthread.h>
#include <string.h>

#include "engines/cassette_writer.h"
#include "util/list.h"

#define FLUSH_MS 2000u /* for the writer, before a file is read */

/* A path. Stays until the shelf goes, for what was told. */
struct book {
    struct book *next;
    char *path;
    struct edition *editions;
    unsigned told;                   /* a bit for each enum mrg_cassette_news */
    struct mrg_cassette_stamp stamp; /* of the file that was read last, through whichever edition */
};

/* A path as it is seen by the matches of one identity. */
struct edition {
    struct edition *next;
    struct mrg_hash128 identity;
    struct mrg_cassette_store *store;
    struct mrg_cassette_stamp stamp; /* of the file that was loaded last */
    struct mrg_list seats;
    bool loading;              /* recordings go into the backlog too */
    struct mrg_text **backlog; /* lines, references */
    size_t backlog_count;
    size_t backlog_room;
};

struct mrg_cassette_seat {
    struct mrg_list link; /* in its edition */
    struct mrg_cassette_shelf *shelf;
    struct book *book;
    struct edition *edition;
    const struct mrg_match *match;
};

struct mrg_cassette_shelf {
    pthread_mutex_t lock;
    struct book *books;
};

struct mrg_cassette_shelf *mrg_cassette_shelf_new(void)
{
    struct mrg_cassette_shelf *shelf = mrg_zalloc(sizeof(*shelf));
    pthread_mutex_init(&shelf->lock, NULL);
    return shelf;
}

void mrg_cassette_shelf_free(struct mrg_cassette_shelf *shelf)
{
    if (!shelf)
        return;
    struct book *next;
    for (struct book *book = shelf->books; book; book = next) {
        next = book->next;
        MRG_ASSERT(!book->editions);
        free(book->path);
        free(book);
    }
    pthread_mutex_destroy(&shelf->lock);
    free(shelf);
}

static struct book *book_of(struct mrg_cassette_shelf *shelf, const char *path)
{
    struct book *book = shelf->books;
    while (book && strcmp(book->path, path) != 0)
        book = book->next;
    if (book)
        return book;
    book = mrg_zalloc(sizeof(*book));
    book->path = mrg_strdup(path);
    book->next = shelf->books;
    shelf->books = book;
    return book;
}

static struct edition *edition_of(struct book *book, struct mrg_hash128 identity, const char *dependency,
                                  bool *ret_made)
{
    struct edition *edition = book->editions;
    while (edition && (edition->identity.low != identity.low || edition->identity.high != identity.high))
        edition = edition->next;
    *ret_made = !edition;
    if (edition)
        return edition;
    edition = mrg_zalloc(sizeof(*edition));
    edition->identity = identity;
    edition->store = mrg_cassette_store_new(dependency);
    mrg_list_init(&edition->seats);
    edition->next = book->editions;
    book->editions = edition;
    return edition;
}

/* A seat of an edition that is marked as loading. */
static struct mrg_cassette_seat *take_seat(struct mrg_cassette_shelf *shelf, const char *path,
                                           const char *dependency, const struct mrg_match *match,
                                           bool *ret_made)
{
    struct mrg_cassette_seat *seat = mrg_zalloc(sizeof(*seat));
    pthread_mutex_lock(&shelf->lock);
    seat->shelf = shelf;
    seat->match = match;
    seat->book = book_of(shelf, path);
    seat->edition = edition_of(seat->book, mrg_match_identity(match), dependency, ret_made);
    seat->edition->loading = true;
    mrg_list_append(&seat->edition->seats, &seat->link);
    pthread_mutex_unlock(&shelf->lock);
    return seat;
}

/* With the lock held: what was recorded meanwhile; all of it has been put before and fits. */
static void put_backlog(struct edition *edition, const struct mrg_match *match)
{
    for (size_t i = 0; i < edition->backlog_count; i++) {
        struct mrg_cassette_line line;
        size_t column;
        struct mrg_arena *arena = mrg_arena_new(0);
        if (mrg_cassette_line_parse(arena, mrg_text_slice(edition->backlog[i]), &line, &column, NULL) ==
            MRG_ERR_OK)
            (void)mrg_cassette_store_put(edition->store, match, &line, NULL, NULL);
        mrg_arena_free(arena);
        mrg_text_unref(edition->backlog[i]);
    }
    free(edition->backlog);
    edition->backlog = NULL;
    edition->backlog_count = edition->backlog_room = 0;
}

/* With the lock held: another content may be cut, or gone, anew. */
static void note_read(struct book *book, const struct mrg_cassette_stamp *stamp)
{
    if (!mrg_cassette_stamp_equal(&book->stamp, stamp))
        book->told &= ~(1u << MRG_CASSETTE_NEWS_CUT | 1u << MRG_CASSETTE_NEWS_NONE_THERE);
    book->stamp = *stamp;
}

/* `loaded`: what the file holds, taken over; NULL: the store keeps what it has. */
static void end_loading(struct mrg_cassette_seat *seat, struct mrg_cassette_store *loaded,
                        const struct mrg_cassette_stamp *stamp)
{
    struct edition *edition = seat->edition;
    pthread_mutex_lock(&seat->shelf->lock);
    if (loaded) {
        mrg_cassette_store_replace(edition->store, loaded);
        edition->stamp = *stamp;
        note_read(seat->book, stamp);
    }
    put_backlog(edition, seat->match);
    edition->loading = false;
    pthread_mutex_unlock(&seat->shelf->lock);
}

enum mrg_err mrg_cassette_shelf_open(struct mrg_cassette_shelf *shelf, const char *path,
                                     const char *dependency, const struct mrg_match *match,
                                     struct mrg_cassette_writer *writer, struct mrg_cassette_seat **ret_seat,
                                     struct mrg_cassette_loaded *ret_loaded, struct mrg_error *err)
{
    bool made;
    struct mrg_cassette_store *store = NULL;
    struct mrg_cassette_loaded loaded = {0};
    enum mrg_err code = MRG_ERR_OK;
    struct mrg_cassette_seat *seat = take_seat(shelf, path, dependency, match, &made);
    bool flushed = !writer || mrg_cassette_writer_flush(writer, FLUSH_MS);
    /* Lines that wait for the disk are in an open store only: it stays as it is then. */
    if (made || (flushed && mrg_cassette_stamp_differs(&seat->edition->stamp, path))) {
        store = mrg_cassette_store_new(dependency);
        code = mrg_cassette_store_load(store, match, path, &loaded, err);
    }
    bool failed = code && code != MRG_ERR_NOT_FOUND;
    if (failed) {
        mrg_cassette_store_free(store);
        store = NULL;
    }
    if (!store)
        loaded.stamp = seat->edition->stamp;
    end_loading(seat, store, &loaded.stamp);
    if (failed) {
        mrg_cassette_seat_close(seat);
        return code;
    }
    if (ret_loaded)
        *ret_loaded = loaded;
    *ret_seat = seat;
    return MRG_ERR_OK;
}

/* With the lock held: nobody has the edition any more. */
static void drop_edition(struct book *book, struct edition *edition)
{
    struct edition **slot = &book->editions;
    while (*slot != edition)
        slot = &(*slot)->next;
    *slot = edition->next;
    mrg_cassette_store_free(edition->store);
    free(edition->backlog);
    free(edition);
}

void mrg_cassette_seat_close(struct mrg_cassette_seat *seat)
{
    if (!seat)
        return;
    pthread_mutex_lock(&seat->shelf->lock);
    mrg_list_remove(&seat->link);
    if (mrg_list_empty(&seat->edition->seats))
        drop_edition(seat->book, seat->edition);
    pthread_mutex_unlock(&seat->shelf->lock);
    free(seat);
}

struct mrg_cassette_store *mrg_cassette_seat_store(const struct mrg_cassette_seat *seat)
{
    return seat->edition->store;
}

enum mrg_err mrg_cassette_seat_put(struct mrg_cassette_seat *seat, const struct mrg_cassette_line *line,
                                   struct mrg_text *text, struct mrg_error *err)
{
    pthread_mutex_lock(&seat->shelf->lock);
    enum mrg_err code = mrg_cassette_store_put(seat->edition->store, seat->match, line, NULL, err);
    for (struct edition *edition = code ? NULL : seat->book->editions; edition; edition = edition->next) {
        /* Its first seat has a match that is alive: seats are closed under the lock. */
        struct mrg_cassette_seat *first =
            MRG_CONTAINER_OF(edition->seats.next, struct mrg_cassette_seat, link);
        if (edition != seat->edition)
            (void)mrg_cassette_store_put(edition->store, first->match, line, NULL, NULL);
        if (edition->loading) {
            mrg_grow((void **)&edition->backlog, &edition->backlog_room, edition->backlog_count,
                     sizeof(*edition->backlog));
            edition->backlog[edition->backlog_count++] = mrg_text_ref(text);
        }
    }
    pthread_mutex_unlock(&seat->shelf->lock);
    return code;
}

bool mrg_cassette_seat_first(struct mrg_cassette_seat *seat, enum mrg_cassette_news news)
{
    pthread_mutex_lock(&seat->shelf->lock);
    bool first = !(seat->book->told & 1u << news);
    seat->book->told |= 1u << news;
    pthread_mutex_unlock(&seat->shelf->lock);
    return first;
}
