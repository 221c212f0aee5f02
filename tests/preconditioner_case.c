/* Conjugate gradients with preconditioners that fail, for tests/linear/test_preconditioner.py: apply returns NaN, is not positive definite, or
 * returns an error.
 *
 *   out  one line of each: its name, the status, why the solve has ended, and the largest number of the answer */
#include "linear/conjugate_gradients.h"

#include <math.h>
#include <stdio.h>

enum { N = 4, AFTER = 2 };

/* A = diag(1 .. N). */
static pd_status product(void *owner, const real *p, real *q, double *sums) {
    (void)owner;
    *sums = 0.0;
    for (int i = 0; i < N; i++) {
        q[i] = (real)(i + 1) * p[i];
        *sums += (double)p[i] * (double)q[i];
    }
    return PD_OK;
}

typedef struct failing {
    real factor; /* of z from call AFTER on */
    pd_status status;
    int calls;
} failing;

static pd_status apply(void *self, const pd_operator *A, const real *r, real *z) {
    failing *made = self;
    int now = made->calls++ >= AFTER;
    (void)A;
    for (int i = 0; i < N; i++) z[i] = now ? made->factor * r[i] : r[i];
    return now ? made->status : PD_OK;
}

int main(void) {
    static const pd_preconditioner kind = {.name = "failing", .apply = apply, .block = 1};
    const struct {
        const char *name;
        failing made;
    } cases[] = {{"nan", {(real)NAN, PD_OK, 0}},
                 {"negative", {-1, PD_OK, 0}},
                 {"zero", {0, PD_OK, 0}},
                 {"error", {1, PD_ERROR_SINGULAR, 0}},
                 {"right", {1, PD_OK, 0}}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        pd_error error = {0};
        pd_context *context;
        double partial[64], sums[9];
        real r[N] = {1, 1, 1, 1}, p[N], q[N], z[N], d[N];
        failing made = cases[c].made;
        const pd_matrix rows = {.n = N, .partial_sums = partial};
        const pd_preconditioned M = {.kind = &kind, .memory = &made};
        if (pd_context_create(&context, (pd_place){0, 1}, &error)) return 1;
        const pd_operator A = {.context = context, .rows = &rows, .width = 1, .product = product};
        const pd_conjugate_gradients cg = {
            .A = &A, .M = &M, .r = r, .p = p, .q = q, .z = z, .sums = sums, .end = {.why = sums + 7, .norm = 1e-6}};
        pd_status status = pd_conjugate_gradients_begin(&cg, d);
        for (int k = 0; k < N + 1 && !status; k++) {
            status = pd_conjugate_gradients_direct(&cg, k == 0);
            if (!status) status = pd_conjugate_gradients_move(&cg, d);
        }
        double largest = 0.0;
        for (int i = 0; i < N; i++) largest = largest >= fabs((double)d[i]) ? largest : fabs((double)d[i]);
        printf("%s %d %d %.17g\n", cases[c].name, (int)status, (int)sums[7], largest);
        pd_context_destroy(context);
    }
    return 0;
}
