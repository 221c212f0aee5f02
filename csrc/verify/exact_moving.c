/* Moving vectors as polynomials; see exact_moving.h. */
#include "verify/exact_moving.h"

#include "verify/exact_predicates.h"

#include <string.h>

void pd_moving_create(pd_moving *m) {
    for (int i = 0; i < 3; i++) pd_polynomial_create(&m->k[i]);
}

void pd_moving_destroy(pd_moving *m) {
    for (int i = 0; i < 3; i++) pd_polynomial_destroy(&m->k[i]);
}

void pd_moving_subtract(pd_moving *out, const pd_moving *a, const pd_moving *b) {
    for (int i = 0; i < 3; i++) pd_polynomial_subtract(&out->k[i], &a->k[i], &b->k[i]);
}

void pd_moving_cross(pd_moving *out, const pd_moving *a, const pd_moving *b) {
    pd_polynomial product;
    pd_polynomial_create(&product);
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        pd_polynomial_multiply(&out->k[i], &a->k[j], &b->k[k]);
        pd_polynomial_multiply(&product, &a->k[k], &b->k[j]);
        pd_polynomial_subtract(&out->k[i], &out->k[i], &product);
    }
    pd_polynomial_destroy(&product);
}

void pd_moving_dot(pd_polynomial *out, const pd_moving *a, const pd_moving *b) {
    pd_polynomial product;
    pd_polynomial_create(&product);
    pd_polynomial_multiply(out, &a->k[0], &b->k[0]);
    for (int i = 1; i < 3; i++) {
        pd_polynomial_multiply(&product, &a->k[i], &b->k[i]);
        pd_polynomial_add(out, out, &product);
    }
    pd_polynomial_destroy(&product);
}

void pd_moving_points(pd_moving *points, const double *x, int n, mpz_t *whole, const double *numbers, int n_numbers) {
    enum { MOST = 6 * PD_MOVING_POINTS + PD_MOVING_NUMBERS };
    mpz_t all[MOST];
    double values[MOST];
    int n_all = 6 * n + n_numbers;
    memcpy(values, x, 6 * (size_t)n * sizeof *values);
    for (int i = 0; i < n_numbers; i++) values[6 * n + i] = numbers[i];
    for (int i = 0; i < n_all; i++) mpz_init(all[i]);
    pd_whole_numbers(all, values, n_all);
    for (int i = 0; i < n; i++) {
        pd_moving_create(&points[i]);
        for (int k = 0; k < 3; k++) {
            pd_polynomial *p = &points[i].k[k];
            mpz_set(p->c[0], all[3 * i + k]);
            mpz_sub(p->c[1], all[3 * (n + i) + k], all[3 * i + k]);
            p->degree = mpz_sgn(p->c[1]) ? 1 : mpz_sgn(p->c[0]) ? 0 : -1;
        }
    }
    for (int i = 0; i < n_numbers; i++) mpz_set(whole[i], all[6 * n + i]);
    for (int i = 0; i < n_all; i++) mpz_clear(all[i]);
}
