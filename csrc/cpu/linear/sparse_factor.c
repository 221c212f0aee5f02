/* The CPU has no sparse factor in backend memory, and uses the host's; see loops/sparse_loops.h. */
#include "loops/sparse_loops.h"

void pd_sparse_library(char text[64]) { text[0] = 0; }
int pd_sparse_factor_there(void) { return 0; }

pd_status pd_sparse_factor_create(pd_sparse_factor **out, pd_context *context, int n, const int *column_start, const int *rows,
                                  const int *places, int width, const double *directions) {
    (void)n, (void)column_start, (void)rows, (void)places, (void)width, (void)directions;
    *out = NULL;
    return pd_fail(pd_context_error(context), PD_ERROR_UNSUPPORTED, "sparse factors: the CPU backend leaves them to the host");
}

pd_status pd_sparse_factor_refresh(pd_context *context, pd_sparse_factor *self, const double *values) {
    (void)values;
    return pd_sparse_factor_create(&self, context, 0, NULL, NULL, NULL, 0, NULL);
}

pd_status pd_sparse_factor_solve(pd_context *context, pd_sparse_factor *self, int n_rows, const real *r, real *d) {
    (void)n_rows, (void)r, (void)d;
    return pd_sparse_factor_create(&self, context, 0, NULL, NULL, NULL, 0, NULL);
}

void pd_sparse_factor_destroy(pd_sparse_factor *self, pd_context *context) { (void)self, (void)context; }
