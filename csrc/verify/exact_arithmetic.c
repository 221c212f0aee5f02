/* Sums and products of integer polynomials; see exact_polynomial.h. */
#include "verify/exact_polynomial.h"

void pd_polynomial_create(pd_polynomial *p) {
    for (int i = 0; i < PD_POLYNOMIAL_TERMS; i++) mpz_init(p->c[i]);
    p->degree = -1;
}

void pd_polynomial_destroy(pd_polynomial *p) {
    for (int i = 0; i < PD_POLYNOMIAL_TERMS; i++) mpz_clear(p->c[i]);
}

void pd_polynomial_copy(pd_polynomial *out, const pd_polynomial *p) {
    for (int i = 0; i <= p->degree; i++) mpz_set(out->c[i], p->c[i]);
    for (int i = p->degree + 1; i <= out->degree; i++) mpz_set_ui(out->c[i], 0);
    out->degree = p->degree;
}

void pd_polynomial_find_degree(pd_polynomial *p, int n) {
    while (n >= 0 && mpz_sgn(p->c[n]) == 0) n--;
    p->degree = n;
}

void pd_polynomial_add(pd_polynomial *out, const pd_polynomial *a, const pd_polynomial *b) {
    int n = a->degree > b->degree ? a->degree : b->degree, old = out->degree;
    for (int i = 0; i <= n; i++) mpz_add(out->c[i], a->c[i], b->c[i]);
    for (int i = n + 1; i <= old; i++) mpz_set_ui(out->c[i], 0);
    pd_polynomial_find_degree(out, n);
}

void pd_polynomial_subtract(pd_polynomial *out, const pd_polynomial *a, const pd_polynomial *b) {
    int n = a->degree > b->degree ? a->degree : b->degree, old = out->degree;
    for (int i = 0; i <= n; i++) mpz_sub(out->c[i], a->c[i], b->c[i]);
    for (int i = n + 1; i <= old; i++) mpz_set_ui(out->c[i], 0);
    pd_polynomial_find_degree(out, n);
}

void pd_polynomial_multiply(pd_polynomial *out, const pd_polynomial *a, const pd_polynomial *b) {
    pd_polynomial product;
    pd_polynomial_create(&product);
    for (int i = 0; i <= a->degree; i++)
        for (int j = 0; j <= b->degree; j++) mpz_addmul(product.c[i + j], a->c[i], b->c[j]);
    pd_polynomial_find_degree(&product, a->degree < 0 || b->degree < 0 ? -1 : a->degree + b->degree);
    pd_polynomial_copy(out, &product);
    pd_polynomial_destroy(&product);
}
