/* Loops over the rows of a sparse matrix that acts on every column of a vector separately; rows.cuh documents the traversal of a row.
 *
 * The products are our own and not cuSPARSE's. With a separate diagonal and fused subsequent work, each pass reads the matrix once,
 * which is the minimum, and the modules do not need that large library. */
#include "cuda/block_sum.cuh"
#include "cuda/linear/rows.cuh"

template <int W> static __global__ void matrix_multiply_kernel(pd_matrix A, int width, const real *x, real *y) {
    pd_row row = pd_row_of((int)blockIdx.x * PD_ROWS, A.n);
#pragma unroll 1
    for (int first = 0; first < pd_width<W>(width); first += W) {
        real sum = pd_off_diagonal<W>(A, row, width, first, x);
        if (!row.inside || row.lane >= W) continue;
        size_t j = pd_row_begin<W>(width, row.i) + (size_t)(first + row.lane);
        y[j] = sum + A.diagonal[row.i] * x[j];
    }
}

pd_status pd_matrix_multiply(pd_context *context, const pd_matrix *matrix, int width, const real *x, real *y) {
    PD_LAUNCH_BY_WIDTH(context, matrix_multiply_kernel, width, pd_row_blocks(matrix->n), *matrix, width, x, y);
    return PD_OK;
}

template <int W> static __global__ void correction_kernel(pd_matrix A, int width, real scale, const real *r, const real *d, real *q) {
    pd_row row = pd_row_of((int)blockIdx.x * PD_ROWS, A.n);
#pragma unroll 1
    for (int first = 0; first < pd_width<W>(width); first += W) {
        real sum = pd_off_diagonal<W>(A, row, width, first, d);
        if (!row.inside || row.lane >= W) continue;
        size_t j = pd_row_begin<W>(width, row.i) + (size_t)(first + row.lane);
        q[j] = scale / A.diagonal[row.i] * (r[j] - sum - A.diagonal[row.i] * d[j]);
    }
}

pd_status pd_matrix_correction(pd_context *context, const pd_matrix *matrix, int width, double scale, const real *r, const real *d,
                               real *q) {
    PD_LAUNCH_BY_WIDTH(context, correction_kernel, width, pd_row_blocks(matrix->n), *matrix, width, (real)scale, r, d, q);
    return PD_OK;
}

/* One block per PD_SUM_BLOCK rows; partial [blocks,2] */
template <int W>
static __global__ void residual_kernel(pd_matrix A, int width, const real *r, const real *d, const real *target, double *partial) {
    int begin = (int)blockIdx.x * PD_SUM_BLOCK, end = begin + PD_SUM_BLOCK < A.n ? begin + PD_SUM_BLOCK : A.n;
    double residual = 0.0, distance = 0.0;
    for (int round = begin; round < end; round += PD_ROWS) {
        pd_row row = pd_row_of(round, end);
#pragma unroll 1
        for (int first = 0; first < pd_width<W>(width); first += W) {
            double sum = pd_off_diagonal<W, double>(A, row, width, first, d);
            int active = row.inside && row.lane < W;
            size_t j = active ? pd_row_begin<W>(width, row.i) + (size_t)(first + row.lane) : 0;
            double defect = active ? (double)r[j] - (double)A.diagonal[row.i] * (double)d[j] - sum : 0.0;
            if (W == 3 && A.subspace) defect = pd_project_lanes(A.subspace, row.i, row, defect);
            if (W == 3 && A.coupling) defect -= pd_project_lanes(A.coupling, row.i, row, active ? (double)d[j] : 0.0);
            if (!active) continue;
            double difference = target ? (double)d[j] - (double)target[j] : 0.0;
            residual += defect * defect;
            distance += difference * difference;
        }
    }
    residual = pd_block_sum(residual);
    distance = pd_block_sum(distance);
    if (threadIdx.x == 0) {
        partial[2 * (size_t)blockIdx.x] = residual;
        partial[2 * (size_t)blockIdx.x + 1] = distance;
    }
}

pd_status pd_matrix_residual(pd_context *context, const pd_matrix *matrix, int width, const real *r, const real *d, const real *target,
                             double *out) {
    unsigned blocks = pd_sum_blocks(matrix->n);
    PD_LAUNCH_BY_WIDTH(context, residual_kernel, width, blocks, *matrix, width, r, d, target, matrix->partial_sums);
    return pd_add_partial_sums(context, matrix->partial_sums, blocks, 2, out);
}

static __global__ void matrix_dot_kernel(int n, int width, const real *x, const real *y, double *partial) {
    long long begin = (long long)blockIdx.x * PD_SUM_BLOCK * width, end = begin + (long long)PD_SUM_BLOCK * width;
    if (end > (long long)n * width) end = (long long)n * width;
    double sum = 0.0;
    for (long long i = begin + threadIdx.x; i < end; i += PD_THREADS) sum += (double)x[i] * (double)y[i];
    sum = pd_block_sum(sum);
    if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

pd_status pd_matrix_dot(pd_context *context, const pd_matrix *matrix, int width, const real *x, const real *y, double *out) {
    unsigned blocks = pd_sum_blocks(matrix->n);
    PD_LAUNCH_BLOCKS(context, matrix_dot_kernel, blocks, matrix->n, width, x, y, matrix->partial_sums);
    return pd_add_partial_sums(context, matrix->partial_sums, blocks, 1, out);
}

static __global__ void extrapolate_kernel(size_t count, real omega, real gamma, int plain, const real *hat, const real *d, real *previous) {
    size_t j = (size_t)blockIdx.x * PD_THREADS + threadIdx.x;
    if (j < count) previous[j] = plain ? hat[j] : omega * (gamma * (hat[j] - d[j]) + d[j] - previous[j]) + previous[j];
}

pd_status pd_extrapolate(pd_context *context, const pd_matrix *matrix, int width, double omega, double gamma, const real *hat,
                         const real *d, real *previous) {
    size_t count = (size_t)matrix->n * (size_t)width;
    PD_LAUNCH(context, extrapolate_kernel, (long long)count, count, (real)omega, (real)gamma, omega == 1.0 && gamma == 1.0, hat, d,
              previous);
    return PD_OK;
}

/* ---- Gauss-Seidel ----------------------------------------------------------------------------------------------------------------- */

static __global__ void fill_rows_kernel(int n, const real *d, real *rows) {
    const size_t k = (size_t)blockIdx.x * PD_THREADS + threadIdx.x, i = k / PD_PADDED, c = k % PD_PADDED;
    if (i < (size_t)n) rows[k] = c < 3 ? d[3 * i + c] : (real)0;
}

/* A colour. No earlier colour writes the data read here, except d of other rows: no other colour writes the colour's rows of d. So all else
 * is read before the previous colour has ended. W = 3: the rows of d are padded; `out`, unless NULL, receives the result as rows of
 * three. */
template <int W>
static __global__ void __launch_bounds__(PD_THREADS, pd_padded_row_blocks_held(W, W == 3))
    relax_kernel(pd_coloured_matrix C, int begin, int end, int width, const real *r, real omega, real *d, real *out) {
    pd_let_next_begin();
    pd_row slot = pd_row_of(begin + (int)blockIdx.x * PD_ROWS, end);
    pd_entries<real> entries = pd_entries_of<real>(C.matrix, slot);
    if (entries.at < entries.end) pd_read_entries(C.matrix, entries);
    const int i = slot.inside ? C.rows[slot.i] : 0;
    const real diagonal = slot.inside ? C.matrix.diagonal[slot.i] : (real)1;
    bool waits = true;
#pragma unroll 1
    for (int first = 0; first < pd_width<W>(width); first += W) {
        const int active = slot.inside && slot.lane < W;
        const size_t j = active ? pd_row_begin<W>(width, i) + (size_t)(first + slot.lane) : 0;
        const size_t at = W == 3 ? PD_PADDED * (size_t)i + (size_t)slot.lane : j; // place in d
        const real right = active ? r[j] : (real)0, own = active ? d[at] : (real)0;
        if (waits) pd_wait_for_launch_before();
        waits = false;
        const real sum = pd_off_diagonal_from<W, W == 3, true, real>(C.matrix, slot, entries, width, first, d);
        real value;
        if (W == 3 && C.matrix.subspace) {
            real move = active ? omega / diagonal * (right - sum - diagonal * own) : (real)0;
            value = own + pd_project_lanes(C.matrix.subspace, i, slot, move);
        } else if (W == 3 && C.matrix.coupling)
            value = own + omega * pd_coupled_move(C.matrix, i, slot, right - sum, diagonal, own);
        else
            value = own + omega / diagonal * (right - sum - diagonal * own);
        if (!active) continue;
        d[at] = value;
        if (W == 3 && out) out[j] = value;
    }
}

static pd_status relax_colours(pd_context *context, const pd_coloured_matrix *coloured, int width, const real *residual, real omega,
                               int backward, real *d, real *out) {
    for (int k = 0; k < coloured->n_colours; k++) {
        int colour = backward ? coloured->n_colours - 1 - k : k;
        int begin = coloured->colour_start[colour], end = coloured->colour_start[colour + 1];
        // the previous launch may write rows of this colour, which an overlapping one reads too early
        if (k == 0)
            PD_LAUNCH_BY_WIDTH(context, relax_kernel, width, pd_row_blocks(end - begin), *coloured, begin, end, width, residual, omega, d,
                               out);
        else
            PD_LAUNCH_OVERLAPPING_BY_WIDTH(context, relax_kernel, width, pd_row_blocks(end - begin), *coloured, begin, end, width, residual,
                                           omega, d, out);
    }
    return PD_OK;
}

/* With three columns the iterate has rows of four numbers throughout, and the last sweep also writes the caller's rows of three. */
pd_status pd_gauss_seidel_sweeps(pd_context *context, const pd_coloured_matrix *coloured, int width, const real *residual, double omega,
                                 int n_sweeps, int symmetric, const real *from, real *d) {
    const pd_matrix *matrix = &coloured->matrix;
    const bool padded = width == 3;
    const size_t bytes = (size_t)matrix->n * (padded ? sizeof(pd_padded_row) : (size_t)width * sizeof(real));
    real *iterate = padded ? matrix->iterates : d;
    if (coloured->sequential)
        return pd_fail(&context->error, PD_ERROR_UNSUPPORTED, "order: the natural order is sequential and runs on the CPU only");
    pd_status status = PD_OK;
    if (!from)
        status = pd_memory_clear(context, iterate, bytes);
    else if (padded)
        PD_LAUNCH(context, fill_rows_kernel, PD_PADDED * (long long)matrix->n, matrix->n, from, iterate);
    else if (from != d)
        status = pd_memory_copy(context, d, from, bytes);
    for (int k = 0; k < n_sweeps && !status; k++) {
        real *out = padded && k == n_sweeps - 1 ? d : nullptr;
        status = relax_colours(context, coloured, width, residual, (real)omega, 0, iterate, symmetric ? nullptr : out);
        if (symmetric && !status) status = relax_colours(context, coloured, width, residual, (real)omega, 1, iterate, out);
    }
    return status;
}
