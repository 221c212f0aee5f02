/* BLAS and LAPACK, one call at a time and on one thread; see serial_blas.h. */
#define _GNU_SOURCE 1 /* dladdr */
#include "sparse/serial_blas.h"

#ifdef PD_HAVE_CHOLMOD

#include "threads/team.h"

#include <cholmod.h>
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void pd_blas_before_fork(void) { pthread_mutex_lock(&lock); }
void pd_blas_after_fork(void) { pthread_mutex_unlock(&lock); }

typedef struct blas_threads {
    int (*get)(void);
    void (*set)(int);
} blas_threads;

static blas_threads find_blas_threads(void) {
    blas_threads found = {NULL, NULL};
    Dl_info info;
    void *symbol;
    int (*start)(cholmod_common *) = cholmod_l_start;
    memcpy(&symbol, &start, sizeof symbol);
    if (!dladdr(symbol, &info)) return found;
    void *library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD); // searches its dependencies too
    if (!library) return found;
    void *get = dlsym(library, "openblas_get_num_threads"), *set = dlsym(library, "openblas_set_num_threads");
    dlclose(library); // it stays loaded: this module links it
    if (get && set) {
        memcpy(&found.get, &get, sizeof get);
        memcpy(&found.set, &set, sizeof set);
    }
    return found;
}

pd_blas_call pd_blas_begin(void) {
    blas_threads blas = find_blas_threads();
    pd_blas_call call = {1, blas.set, 0};
    pthread_mutex_lock(&lock);
    call.suspended = pd_team_suspend();
    if (blas.get) call.threads = blas.get();
    if (call.threads > 1) blas.set(1);
    return call;
}

void pd_blas_end(const pd_blas_call *call) {
    if (call->threads > 1) call->set_threads(call->threads);
    pd_team_resume(call->suspended);
    pthread_mutex_unlock(&lock);
}

#endif
