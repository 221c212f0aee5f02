/* The passes of a triangular solve with a supernodal factor; see supernodal_solve.h. No include guard: supernodal_solve.c includes this file
 * for one right-hand side and for up to four, and defines
 *   PD_LANE           the numbers of a row: a double, or a vector of four
 *   PD_LANE_AT(v, c)  number c of them
 *   PD_PASS(name)     the name of a function */

/* v[r] -= sum_j L[r + j ld] x[j]: eight columns per pass make eight streams and one load and store of v. */
PD_CLONES static void PD_PASS(subtract_columns)(const double *L, int64_t ld, int64_t rows, int64_t columns, const PD_LANE *x, PD_LANE *v) {
    int64_t j = 0;
    for (; j + 8 <= columns; j += 8) {
        const double *a = L + j * ld;
        PD_LANE x0 = x[j], x1 = x[j + 1], x2 = x[j + 2], x3 = x[j + 3], x4 = x[j + 4], x5 = x[j + 5], x6 = x[j + 6], x7 = x[j + 7];
        for (int64_t r = 0; r < rows; r++) {
            fetch_ahead(a, ld, r);
            PD_LANE s = v[r] - a[r] * x0 - a[r + ld] * x1;
            PD_LANE t = a[r + 2 * ld] * x2 + a[r + 3 * ld] * x3;
            PD_LANE u = a[r + 4 * ld] * x4 + a[r + 5 * ld] * x5;
            PD_LANE w = a[r + 6 * ld] * x6 + a[r + 7 * ld] * x7;
            v[r] = (s - t) - (u + w);
        }
    }
    for (; j < columns; j++)
        for (int64_t r = 0; r < rows; r++) v[r] -= L[r + j * ld] * x[j];
}

/* v[j] -= sum_r L[r + j ld] x[r] for a few columns j: the transposed product. */
PD_CLONES static void PD_PASS(subtract_rows)(const double *L, int64_t ld, int64_t rows, int64_t columns, const PD_LANE *x, PD_LANE *v) {
    int64_t j = 0;
    for (; j + 8 <= columns; j += 8) {
        const double *a = L + j * ld;
        PD_LANE s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0}, s4 = {0}, s5 = {0}, s6 = {0}, s7 = {0};
        for (int64_t r = 0; r < rows; r++) {
            fetch_ahead(a, ld, r);
            PD_LANE y = x[r];
            s0 += a[r] * y;
            s1 += a[r + ld] * y;
            s2 += a[r + 2 * ld] * y;
            s3 += a[r + 3 * ld] * y;
            s4 += a[r + 4 * ld] * y;
            s5 += a[r + 5 * ld] * y;
            s6 += a[r + 6 * ld] * y;
            s7 += a[r + 7 * ld] * y;
        }
        v[j] -= s0, v[j + 1] -= s1, v[j + 2] -= s2, v[j + 3] -= s3;
        v[j + 4] -= s4, v[j + 5] -= s5, v[j + 6] -= s6, v[j + 7] -= s7;
    }
    for (; j < columns; j++) {
        PD_LANE s = {0};
        for (int64_t r = 0; r < rows; r++) s += L[r + j * ld] * x[r];
        v[j] -= s;
    }
}

/* Solves the lower triangle of the first `columns` rows in place and subtracts the columns from the rows below. */
PD_CLONES static void PD_PASS(forward_dense)(const double *L, int64_t ld, int64_t rows, int64_t columns, PD_LANE *v) {
    for (int64_t j0 = 0; j0 < columns; j0 += 8) {
        int64_t width = columns - j0 < 8 ? columns - j0 : 8;
        for (int64_t j = j0; j < j0 + width; j++) {
            PD_LANE s = v[j];
            for (int64_t i = j0; i < j; i++) s -= L[j + i * ld] * v[i];
            v[j] = s / L[j + j * ld];
        }
        PD_PASS(subtract_columns)(L + j0 * ld + j0 + width, ld, rows - j0 - width, width, v + j0, v + j0 + width);
    }
}

/* Solves with the transposed triangle; v[columns .. rows) holds the unknowns below. */
PD_CLONES static void PD_PASS(backward_dense)(const double *L, int64_t ld, int64_t rows, int64_t columns, PD_LANE *v) {
    int64_t last = (columns - 1) / 8 * 8;
    for (int64_t j0 = last; j0 >= 0; j0 -= 8) {
        int64_t width = columns - j0 < 8 ? columns - j0 : 8;
        PD_PASS(subtract_rows)(L + j0 * ld + j0 + width, ld, rows - j0 - width, width, v + j0 + width, v + j0);
        for (int64_t j = j0 + width - 1; j >= j0; j--) {
            PD_LANE s = v[j];
            for (int64_t i = j + 1; i < j0 + width; i++) s -= L[i + j * ld] * v[i];
            v[j] = s / L[j + j * ld];
        }
    }
}

/* One supernode of a subtree, forward: into z inside the subtree, otherwise into the tail. */
static void PD_PASS(forward_in_subtree)(const pd_supernodal_plan *plan, const pd_supernodes *f, int64_t s, PD_LANE *tail) {
    int64_t rows = rows_of(f, s), columns = columns_of(f, s), below = rows - columns, inside = plan->inside[s];
    const double *L = f->values + f->value_start[s];
    const int64_t *row = f->rows + f->row_start[s] + columns;
    const int *position = plan->tail_position + f->row_start[s] + columns;
    PD_LANE *z = plan->z, *x = z + f->super[s];
    PD_PASS(forward_dense)(L, rows, columns, columns, x);

    // the rows below in blocks on the stack, each complete before its scatter
    PD_LANE local[LOCAL_ROWS];
    for (int64_t r0 = 0; r0 < below; r0 += LOCAL_ROWS) {
        int64_t count = below - r0 < LOCAL_ROWS ? below - r0 : LOCAL_ROWS;
        memset(local, 0, (size_t)count * sizeof(PD_LANE));
        PD_PASS(subtract_columns)(L + columns + r0, rows, count, columns, x, local);
        int64_t r = 0;
        for (; r < count && r0 + r < inside; r++) z[row[r0 + r]] += local[r];
        for (; r < count; r++) tail[position[r0 + r]] += local[r];
    }
}

static void PD_PASS(backward_in_subtree)(const pd_supernodal_plan *plan, const pd_supernodes *f, int64_t s) {
    int64_t rows = rows_of(f, s), columns = columns_of(f, s), below = rows - columns;
    const double *L = f->values + f->value_start[s];
    const int64_t *row = f->rows + f->row_start[s] + columns;
    PD_LANE *z = plan->z, *x = z + f->super[s];
    PD_LANE local[LOCAL_ROWS];
    for (int64_t r0 = 0; r0 < below; r0 += LOCAL_ROWS) {
        int64_t count = below - r0 < LOCAL_ROWS ? below - r0 : LOCAL_ROWS;
        for (int64_t r = 0; r < count; r++) local[r] = z[row[r0 + r]];
        PD_PASS(subtract_rows)(L + columns + r0, rows, count, columns, local, x);
    }
    PD_PASS(backward_dense)(L, rows, columns, columns, x);
}

/* The first `columns` of a supernode above the cut, forward; all threads of the region call it. `single` and `for` imply barriers. */
static void PD_PASS(forward_shared)(pd_supernodal_plan *plan, const pd_supernodes *f, int64_t s, int64_t columns) {
    int64_t rows = rows_of(f, s);
    const double *L = f->values + f->value_start[s];
    const int64_t *row = f->rows + f->row_start[s];
    PD_LANE *z = plan->z, *x = z + f->super[s], *front = plan->front;
    if (rows * columns < SHARED_SIZE) {
#pragma omp single
        {
            PD_PASS(forward_dense)(L, rows, columns, columns, x);
            memset(front, 0, (size_t)(rows - columns) * sizeof(PD_LANE));
            PD_PASS(subtract_columns)(L + columns, rows, rows - columns, columns, x, front);
            for (int64_t r = columns; r < rows; r++) z[row[r]] += front[r - columns];
        }
        return;
    }
    for (int64_t p = 0; p < columns; p += PANEL) {
        int64_t width = columns - p < PANEL ? columns - p : PANEL, from = p + width;
        const double *panel = L + p * rows;
#pragma omp single
        PD_PASS(forward_dense)(panel + p, rows, width, width, x + p);
        int64_t chunks = (rows - from + ROW_CHUNK - 1) / ROW_CHUNK;
#pragma omp for schedule(static)
        for (int64_t c = 0; c < chunks; c++) {
            int64_t r0 = from + c * ROW_CHUNK, r1 = r0 + ROW_CHUNK < rows ? r0 + ROW_CHUNK : rows;
            PD_LANE local[ROW_CHUNK];
            for (int64_t r = r0; r < r1; r++) local[r - r0] = z[row[r]];
            PD_PASS(subtract_columns)(panel + r0, rows, r1 - r0, width, x + p, local);
            for (int64_t r = r0; r < r1; r++) z[row[r]] = local[r - r0];
        }
    }
}

static void PD_PASS(backward_shared)(pd_supernodal_plan *plan, const pd_supernodes *f, int64_t s, int64_t columns) {
    int64_t rows = rows_of(f, s);
    const double *L = f->values + f->value_start[s];
    const int64_t *row = f->rows + f->row_start[s];
    PD_LANE *z = plan->z, *x = z + f->super[s], *front = plan->front;
    int shared = rows * columns >= SHARED_SIZE;
#pragma omp single
    {
        for (int64_t r = 0; r < rows; r++) front[r] = z[row[r]];
        if (!shared) {
            PD_PASS(backward_dense)(L, rows, rows, columns, front);
            for (int64_t r = 0; r < columns; r++) x[r] = front[r];
        }
    }
    if (!shared) return;
    for (int64_t p = (columns - 1) / PANEL * PANEL; p >= 0; p -= PANEL) {
        int64_t width = columns - p < PANEL ? columns - p : PANEL, from = p + width;
        const double *panel = L + p * rows;
        int64_t chunks = (width + 7) / 8;
#pragma omp for schedule(static)
        for (int64_t c = 0; c < chunks; c++) {
            int64_t j0 = c * 8, count = width - j0 < 8 ? width - j0 : 8;
            PD_PASS(subtract_rows)(panel + j0 * rows + from, rows, rows - from, count, front + from, front + p + j0);
        }
#pragma omp single
        {
            PD_PASS(backward_dense)(panel + p, rows, width, width, front + p);
            for (int64_t r = p; r < from; r++) x[r] = front[r];
        }
    }
}

/* All threads of a region call the following functions. */

static void PD_PASS(load)(const pd_supernodal_plan *plan, const pd_supernodes *f, const double *b, int n_columns) {
    PD_LANE *z = plan->z;
#pragma omp for schedule(static)
    for (int64_t i = 0; i < f->n; i++) {
        PD_LANE v = {0};
        const double *source = b + f->permutation[i] * n_columns;
        for (int c = 0; c < n_columns; c++) PD_LANE_AT(v, c) = source[c];
        z[i] = v;
    }
}

static void PD_PASS(store)(const pd_supernodal_plan *plan, const pd_supernodes *f, double *x, int n_columns) {
    const PD_LANE *z = plan->z;
#pragma omp for schedule(static)
    for (int64_t i = 0; i < f->n; i++) {
        double *target = x + f->permutation[i] * n_columns;
        for (int c = 0; c < n_columns; c++) target[c] = PD_LANE_AT(z[i], c);
    }
}

/* Eliminates the columns before `end`, which is n or in the last supernode. */
static void PD_PASS(forward)(pd_supernodal_plan *plan, const pd_supernodes *f, int64_t end) {
    PD_LANE *z = plan->z;
#pragma omp for schedule(dynamic, 1)
    for (int64_t t = 0; t < plan->n_subtrees; t++) {
        PD_LANE *tail = (PD_LANE *)plan->tail + plan->subtree_tail[t];
        memset(tail, 0, (size_t)(plan->subtree_tail[t + 1] - plan->subtree_tail[t]) * sizeof(PD_LANE));
        for (int64_t s = plan->subtree_first[t]; s <= plan->subtree_last[t]; s++) PD_PASS(forward_in_subtree)(plan, f, s, tail);
    }
#pragma omp single
    for (int64_t t = 0; t < plan->n_subtrees; t++) {
        int64_t root = plan->subtree_last[t], count = plan->subtree_tail[t + 1] - plan->subtree_tail[t];
        const int64_t *row = f->rows + f->row_start[root] + columns_of(f, root);
        const PD_LANE *tail = (const PD_LANE *)plan->tail + plan->subtree_tail[t];
        for (int64_t r = 0; r < count; r++) z[row[r]] += tail[r];
    }
    for (int64_t t = 0; t < plan->n_top; t++) {
        int64_t columns = columns_before(f, plan->top[t], end);
        if (columns > 0) PD_PASS(forward_shared)(plan, f, plan->top[t], columns);
    }
}

static void PD_PASS(backward)(pd_supernodal_plan *plan, const pd_supernodes *f, int64_t end) {
    for (int64_t t = plan->n_top - 1; t >= 0; t--) {
        int64_t columns = columns_before(f, plan->top[t], end);
        if (columns > 0) PD_PASS(backward_shared)(plan, f, plan->top[t], columns);
    }
#pragma omp for schedule(dynamic, 1)
    for (int64_t t = 0; t < plan->n_subtrees; t++)
        for (int64_t s = plan->subtree_last[t]; s >= plan->subtree_first[t]; s--) PD_PASS(backward_in_subtree)(plan, f, s);
}
