/* The filter of 3x3 matrices with its test by minors, against the filter by eigenvalues alone: one line "tested shown different wrong". */
#include "base/matrix3.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static uint64_t state = 1;

/* From -1 to 1. */
static real uniform(void) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (real)((double)(state >> 11) / (double)(1ull << 52) - 1.0);
}

/* S = Q diag(lambda) Q^T with eigenvalues of any sign over twelve decades, at any scale, some of rank two as those of triangles. */
static void draw(int k, real S[9]) {
    real A[9], Q[9], lambda[3], scale = (real)pow(10.0, 12.0 * (double)uniform());
    for (int i = 0; i < 9; i++) A[i] = 0;
    for (int i = 0; i < 3; i++)
        for (int j = i; j < 3; j++) A[3 * i + j] = A[3 * j + i] = uniform();
    pd_symmetric3_eigen(A, lambda, Q);
    for (int i = 0; i < 3; i++) lambda[i] = scale * (real)pow(10.0, 6.0 * (double)uniform() - 6.0) * (uniform() < (real)0.9 ? 1 : -1);
    for (int i = 0; i < 3; i++)
        for (int j = i; j < 3; j++) {
            real sum = 0;
            for (int m = 0; m < 3; m++) sum += lambda[m] * Q[3 * i + m] * Q[3 * j + m];
            S[3 * i + j] = S[3 * j + i] = sum;
        }
    if (k % 4 == 0) S[2] = S[5] = S[6] = S[7] = S[8] = 0;
}

int main(void) {
    int tested = 400000, shown = 0, different = 0, wrong = 0;
    for (int k = 0; k < tested; k++) {
        real S[9], filtered[9], lambda[3], Q[9], expected[9];
        draw(k, S);
        memcpy(filtered, S, sizeof S), memcpy(expected, S, sizeof S);
        pd_symmetric3_filter(filtered, PD_FILTER_CLAMP);
        pd_symmetric3_eigen(S, lambda, Q);
        int negative = !(lambda[0] >= 0 && lambda[1] >= 0 && lambda[2] >= 0);
        for (int i = 0; i < 3 && negative; i++)
            for (int j = i; j < 3; j++) {
                real sum = 0;
                for (int m = 0; m < 3; m++) sum += pd_max(lambda[m], 0) * Q[3 * i + m] * Q[3 * j + m];
                expected[3 * i + j] = expected[3 * j + i] = sum;
            }
        shown += pd_symmetric3_is_definite(S);
        wrong += pd_symmetric3_is_definite(S) && negative;
        different += memcmp(filtered, expected, sizeof S) != 0;
    }
    printf("%d %d %d %d\n", tested, shown, different, wrong);
    return 0;
}
