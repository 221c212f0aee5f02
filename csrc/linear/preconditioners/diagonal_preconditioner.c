/* The inverse diagonal of a matrix as its preconditioner, and the inverses of its 3x3 blocks. The passes of conjugate gradients apply
 * both, without a vector for z. If 3x3 blocks couple the columns, both are the inverses of these. */
#include "linear/preconditioner.h"

#include <stdlib.h>

typedef struct diagonal {
    pd_block_inverses M;
    int kept; /* by the owner of the operator */
} diagonal;

static void destroy(void *self, pd_context *context) {
    diagonal *made = self;
    if (made && !made->kept) pd_memory_destroy(context, made->M.inverse);
    free(made);
}

static pd_status create(void **self, const pd_operator *A, int block) {
    pd_status status = PD_OK;
    size_t count = (size_t)A->rows->n * (size_t)block;
    diagonal *made = *self = calloc(1, sizeof *made);
    if (!made) return pd_fail(pd_context_error(A->context), PD_ERROR_MEMORY, "out of memory for a preconditioner of %d rows", A->rows->n);
    made->M.block = A->inverses ? 3 : block;
    made->M.inverse = (real *)A->inverses; // only read
    made->kept = A->inverses != NULL;
    if (!made->kept) PD_TRY(pd_memory_create(A->context, (void **)&made->M.inverse, count * sizeof(real)));
done:
    return status;
}

static pd_status create_jacobi(void **self, const pd_operator *A, const pd_linear_settings *settings) {
    (void)settings;
    return create(self, A, 1);
}

static pd_status create_block(void **self, const pd_operator *A, const pd_linear_settings *settings) {
    (void)settings;
    return create(self, A, A->has_blocks ? 3 : 1);
}

static pd_status refresh(void *self, const pd_operator *A, double *indefinite) {
    diagonal *made = self;
    return made->kept ? PD_OK : A->invert(A->owner, &made->M, indefinite);
}

static const pd_block_inverses *inverses(const void *self) { return &((const diagonal *)self)->M; }

const pd_preconditioner pd_jacobi_preconditioner = {
    .name = "jacobi", .create = create_jacobi, .destroy = destroy, .refresh = refresh, .inverses = inverses, .block = 1};
const pd_preconditioner pd_block_preconditioner = {
    .name = "block", .create = create_block, .destroy = destroy, .refresh = refresh, .inverses = inverses, .block = 3};
