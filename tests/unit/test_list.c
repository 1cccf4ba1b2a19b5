// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "util/list.h"

struct item {
    int value;
    struct mrg_list link;
};

static void test_order_and_removal(void **state)
{
    (void)state;
    struct mrg_list head;
    struct item items[4] = {{0}, {1}, {2}, {3}};
    struct item *item;
    int sum = 0;
    mrg_list_init(&head);
    assert_true(mrg_list_empty(&head));
    for (int i = 0; i < 4; i++)
        mrg_list_append(&head, &items[i].link);
    mrg_list_remove(&items[2].link);
    assert_false(mrg_list_linked(&items[2].link));
    assert_true(mrg_list_linked(&items[3].link));
    /* Removing the current one while going through is allowed. */
    MRG_LIST_EACH (item, &head, link) {
        sum = sum * 10 + item->value;
        if (item->value == 1)
            mrg_list_remove(&item->link);
    }
    assert_int_equal(sum, 13);
    assert_ptr_equal(mrg_list_pop(&head), &items[0].link);
    assert_ptr_equal(mrg_list_pop(&head), &items[3].link);
    assert_null(mrg_list_pop(&head));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_order_and_removal)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
