// SPDX-License-Identifier: Apache-2.0
#include "util/thread.h"

#include <signal.h>
#include <string.h>

#include "util/alloc.h"

int mrg_thread_start(pthread_t *ret_thread, const char *name, void *(*fn)(void *ctx), void *ctx)
{
    MRG_ASSERT(strlen(name) <= MRG_THREAD_NAME);
    sigset_t all, before;
    pthread_t thread;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&thread, NULL, fn, ctx);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed != 0)
        return failed;
    pthread_setname_np(thread, name);
    *ret_thread = thread;
    return 0;
}
