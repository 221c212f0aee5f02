/* The triad a = b + s c, the yardstick of memory bandwidth [McCalpin 1995, STREAM]: `triad BYTES_PER_NUMBER COUNT THREADS` prints the
 * median seconds of eleven passes. Memory is touched first by the thread that uses it. machine.py compiles and runs it. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { PASSES = 11 };

static double now(void) {
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#define TRIAD(real, name)                                                                                                                \
    static void name(real *a, const real *b, const real *c, size_t n, int threads) {                                                     \
        _Pragma("omp parallel for num_threads(threads) schedule(static)") for (size_t i = 0; i < n; i++) a[i] = b[i] + (real)0.5 * c[i]; \
    }
TRIAD(double, triad_double)
TRIAD(float, triad_float)

static int ascending(const void *a, const void *b) {
    return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    size_t size = (size_t)atoi(argv[1]), n = (size_t)atoll(argv[2]);
    int threads = atoi(argv[3]);
    double seconds[PASSES];
    void *a = aligned_alloc(64, (n * size / 64 + 1) * 64), *b = aligned_alloc(64, (n * size / 64 + 1) * 64);
    void *c = aligned_alloc(64, (n * size / 64 + 1) * 64);
    if (!a || !b || !c) return 1;
#pragma omp parallel for num_threads(threads) schedule(static)
    for (size_t i = 0; i < n * size / 4; i++) ((float *)a)[i] = ((float *)b)[i] = ((float *)c)[i] = 0.0f;
    for (int k = 0; k < PASSES; k++) {
        double start = now();
        if (size == 8)
            triad_double(a, b, c, n, threads);
        else
            triad_float(a, b, c, n, threads);
        seconds[k] = now() - start;
    }
    qsort(seconds, PASSES, sizeof *seconds, ascending);
    printf("%.9g\n", seconds[PASSES / 2]);
    free(a);
    free(b);
    free(c);
    return 0;
}
