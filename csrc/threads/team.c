/* Teams of threads; see team.h. */
#define _GNU_SOURCE 1
#include "threads/team.h"

#ifdef _OPENMP
#include <omp.h>
#include <pthread.h>

/* The last request of this thread and its result. The team persists between loops, in its own pool. */
static _Thread_local int requested = 1, granted = 1;

static void *wait_for_release(void *lock) {
    pthread_mutex_lock(lock);
    pthread_mutex_unlock(lock);
    return NULL;
}

/* The number of threads, at most `wanted`, that can be started now, found by starting them. GCC's runtime ends the process if it cannot
 * start as many as a loop requests, for example under a limit on processes or on address space. */
static int startable(int wanted) {
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_t threads[64];
    int count = 0, most = wanted < 64 ? wanted : 64;
    pthread_mutex_lock(&lock);
    while (count < most && pthread_create(&threads[count], NULL, wait_for_release, &lock) == 0) count++;
    // beyond the first batch: if all have started, try the next ones while these still wait
    int more = count == 64 && wanted > 64 ? startable(wanted - 64) : 0;
    pthread_mutex_unlock(&lock);
    for (int k = 0; k < count; k++) pthread_join(threads[k], NULL);
    return count + more;
}

int pd_team_started(int threads) {
    if (threads == requested) return granted;
    if (threads > granted) {
        int wanted = threads - granted, found = startable(wanted);
        // at the limit leave half of the rest free, for the memory of the threads and for other users
        granted += found < wanted ? found / 2 : found;
    } else {
        granted = threads;
    }
    requested = threads;
    return granted;
}

int pd_team_limit(void) { return omp_get_max_threads(); }

int pd_team_suspend(void) {
    int levels = omp_get_max_active_levels();
    omp_set_max_active_levels(0); // a loop outside of an active region is then serial
    return levels;
}

void pd_team_resume(int suspended) { omp_set_max_active_levels(suspended); }

#if defined(__GNUC__) && !defined(__clang__)
/* A forked child inherits a pool without threads, for which GCC's runtime would wait endlessly. A loop of one thread does not use the
 * pool. Threads that the child starts have no pool yet and may have teams. */
static void after_fork(void) { (void)pd_team_suspend(); }

void pd_team_survive_forks(void) { pthread_atfork(NULL, NULL, after_fork); }
#else
void pd_team_survive_forks(void) {} // LLVM's runtime restarts in a child
#endif

#else

int pd_team_started(int threads) {
    (void)threads;
    return 1;
}

int pd_team_limit(void) { return 1; }

int pd_team_suspend(void) { return 1; }

void pd_team_resume(int suspended) { (void)suspended; }

void pd_team_survive_forks(void) {}

#endif
