// SPDX-License-Identifier: Apache-2.0
/*
 * List: an intrusive, circular, doubly linked list. A node belongs to at most one list; the list owns
 * nothing. Not thread-safe.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "util/alloc.h"

struct mrg_list {
    struct mrg_list *prev; /* NULL while the node is in no list */
    struct mrg_list *next;
};

static inline void mrg_list_init(struct mrg_list *head)
{
    head->prev = head->next = head;
}

static inline bool mrg_list_empty(const struct mrg_list *head)
{
    return head->next == head;
}

static inline bool mrg_list_linked(const struct mrg_list *node)
{
    return node->prev != NULL;
}

static inline void mrg_list_append(struct mrg_list *head, struct mrg_list *node)
{
    node->prev = head->prev;
    node->next = head;
    head->prev->next = node;
    head->prev = node;
}

static inline void mrg_list_remove(struct mrg_list *node)
{
    node->prev->next = node->next;
    node->next->prev = node->prev;
    node->prev = node->next = NULL;
}

/* The first node, taken out; NULL when the list is empty. */
static inline struct mrg_list *mrg_list_pop(struct mrg_list *head)
{
    if (mrg_list_empty(head))
        return NULL;
    struct mrg_list *node = head->next;
    mrg_list_remove(node);
    return node;
}

#define MRG_LIST_EACH(item, head, member)                                                                    \
    for (__typeof__(item) item##_next_ =                                                                     \
             ((item) = MRG_CONTAINER_OF((head)->next, __typeof__(*(item)), member),                          \
             MRG_CONTAINER_OF((item)->member.next, __typeof__(*(item)), member));                            \
         &(item)->member != (head); (item) = item##_next_,                                                   \
                          item##_next_ = MRG_CONTAINER_OF((item)->member.next, __typeof__(*(item)), member))
