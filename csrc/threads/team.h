/* How many threads a parallel loop gets: its team, in OpenMP's word. The one place where that is decided.
 *
 * The bits of a result depend neither on this nor on what the runtime makes of it: every loop gives the same for any team. */
#ifndef PD_THREADS_TEAM_H
#define PD_THREADS_TEAM_H

/* A team is worth waking where it saves more than this. A region costs a few microseconds where its threads are still spinning and every
 * core is free, some fifty where they sleep, and milliseconds where other processes hold the cores (benchmarks/threads.py). */
enum { PD_TEAM_NANOSECONDS = 100000 };

/* As many of `threads` as the system lets this thread start, at least 1; see team.c. */
int pd_team_started(int threads);

/* The team, out of `threads`, of a loop over `items` of so many nanoseconds each. It is one or all and nothing between: GCC's runtime ends
 * the threads that a smaller team leaves over, and starts them again for the next larger one. */
static inline int pd_team(int threads, long long items, int nanoseconds) {
    return items * nanoseconds * (threads - 1) <= (long long)PD_TEAM_NANOSECONDS * threads ? 1 : pd_team_started(threads);
}

/* Threads for a loop whose caller has no say: what OMP_NUM_THREADS allows, or the cores of this process. */
int pd_team_limit(void);

/* Loops of the calling thread run on it alone between the two, also those of libraries that ask for a number of threads themselves.
 * What the first returns belongs to the second. */
int pd_team_suspend(void);
void pd_team_resume(int suspended);

/* From here on a forked child runs its loops on the one thread that it has. Once, when the module _host is loaded. */
void pd_team_survive_forks(void);

#endif
