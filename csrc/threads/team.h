/* The number of threads of a parallel loop, its team in OpenMP's terms. Only this file decides it.
 *
 * The bits of a result do not depend on the team: every loop gives the same for any. */
#ifndef PD_THREADS_TEAM_H
#define PD_THREADS_TEAM_H

/* The minimum saving for which a team is used. A parallel region costs microseconds while its threads spin on free cores, more when they
 * sleep, and milliseconds when other processes use the cores (benchmarks/threads.py). */
enum { PD_TEAM_NANOSECONDS = 100000 };

/* As many of `threads` as this thread can start, at least 1; see team.c. */
int pd_team_started(int threads);

/* The team, out of `threads`, of a loop over `items` of `nanoseconds` each. It is one or all, nothing between: for a smaller team GCC's
 * runtime ends the other threads, and starts them again for the next larger one. */
static inline int pd_team(int threads, long long items, int nanoseconds) {
    return items * nanoseconds * (threads - 1) <= (long long)PD_TEAM_NANOSECONDS * threads ? 1 : pd_team_started(threads);
}

/* Threads of a loop whose caller has no choice: from OMP_NUM_THREADS, or the cores of this process. */
int pd_team_limit(void);

/* Between the two, loops of the calling thread run serially, also those of libraries that request threads themselves. Pass the result of
 * the first to the second. */
int pd_team_suspend(void);
void pd_team_resume(int suspended);

/* Makes a forked child run its loops on its single thread. Called once, at the load of the module _host. */
void pd_team_survive_forks(void);

#endif
