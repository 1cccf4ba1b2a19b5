// SPDX-License-Identifier: Apache-2.0
/*
 * Thread: starts a thread as all of Mirage's are: with a name, and without signals, which are main's business.
 * It is joined by whoever started it. Thread: any.
 */
#pragma once

#include <pthread.h>

#define MRG_THREAD_NAME 15 /* characters of a name at most: the kernel's limit */

/* `name` is what top and gdb show. 0, or an error number; *ret_thread is set only on success. */
int mrg_thread_start(pthread_t *ret_thread, const char *name, void *(*fn)(void *ctx), void *ctx);
