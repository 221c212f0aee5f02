/* The rigid bodies of a scene in a sweep over blocks; see rigid_sweep.h. */
#include "dynamics/methods/rigid_sweep.h"

#include "dynamics/problem/block_hessian.h"
#include "dynamics/problem/potential.h"
#include "dynamics/problem/reduced_hessian.h"
#include "dynamics/rigid/rigid.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct pd_rigid_sweep {
    real *gradient;                 /* B [n,3] */
    double *systems, *host_systems; /* B, H [bodies,PD_RIGID_SYSTEM] */
    int *left, *host_left;          /* B, H [bodies] of pd_bodies_solve */
};

void pd_rigid_sweep_destroy(pd_rigid_sweep *self, pd_context *context) {
    if (!self) return;
    void *memory[] = {self->gradient, self->systems, self->left};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) pd_memory_destroy(context, memory[i]);
    free(self->host_systems);
    free(self->host_left);
    free(self);
}

pd_status pd_rigid_sweep_create(pd_rigid_sweep **out, const pd_problem *problem) {
    pd_status status = PD_OK;
    *out = NULL;
    if (!problem->rigid) return PD_OK;
    size_t n = (size_t)problem->rigid->n;
    pd_rigid_sweep *self = calloc(1, sizeof *self);
    if (self) self->host_systems = calloc(PD_RIGID_SYSTEM * n, sizeof(double));
    if (self) self->host_left = calloc(n, sizeof(int));
    if (!self || !self->host_systems || !self->host_left) {
        pd_rigid_sweep_destroy(self, problem->context);
        return pd_fail(problem->error, PD_ERROR_MEMORY, "out of memory for %d rigid bodies", problem->rigid->n);
    }
    PD_TRY(pd_memory_create(problem->context, (void **)&self->gradient, pd_problem_bytes(problem)));
    PD_TRY(pd_memory_create(problem->context, (void **)&self->systems, PD_RIGID_SYSTEM * n * sizeof(double)));
    PD_TRY(pd_memory_create(problem->context, (void **)&self->left, n * sizeof(int)));
    PD_TRY(pd_problem_need_hessian(problem));
    PD_TRY(pd_problem_need_reduced(problem));
done:
    if (status)
        pd_rigid_sweep_destroy(self, problem->context);
    else
        *out = self;
    return status;
}

/* Takes the 6x6 block of each body from the Hessian; with `diagonal` only its diagonal. */
static pd_status take_systems(pd_rigid_sweep *self, const pd_problem *problem, int diagonal) {
    const pd_rigid *rigid = problem->rigid;
    const pd_assembled_hessian *assembled = pd_problem_reduced(problem);
    memset(self->host_systems, 0, PD_RIGID_SYSTEM * (size_t)rigid->n * sizeof(double));
    for (int b = 0; b < rigid->n; b++) {
        const pd_rigid_rows *rows = &rigid->bodies[b].rows;
        int node = rows->first + rows->n - PD_RIGID_CARRIERS;
        double *A = self->host_systems + PD_RIGID_SYSTEM * (size_t)b;
        for (int r = 0; r < 2; r++)
            for (int s = assembled->pattern.row_start[node + r]; s < assembled->pattern.row_start[node + r + 1]; s++) {
                int column = assembled->pattern.columns[s] - node;
                if (column != 0 && column != 1) continue;
                for (int c = 0; c < 9; c++)
                    A[6 * (3 * r + c / 3) + 3 * column + c % 3] = (double)assembled->blocks[9 * (size_t)s + (size_t)c];
            }
        for (int c = 0; c < 36; c++) A[c] = diagonal && c % 7 ? 0.0 : A[c];
        for (int c = 0; c < 18 && rigid->excluded[node]; c++) // rotation about its fixed points
            A[6 * (c / 6) + c % 6] = A[6 * (c % 6) + c / 6] = (double)(c % 7 == 0);
    }
    return pd_memory_upload(problem->context, self->systems, self->host_systems, PD_RIGID_SYSTEM * (size_t)rigid->n * sizeof(double));
}

/* The Hessian at the iterate, and the systems of the bodies. */
static pd_status find_systems(pd_rigid_sweep *self, const pd_problem *problem, const real *x, pd_hessian_filter filter, int diagonal,
                              int rebuild) {
    pd_status status = PD_OK;
    PD_TRY(pd_problem_reduced_hessian(problem, x, filter, 1, rebuild));
    PD_TRY(take_systems(self, problem, diagonal));
done:
    return status;
}

/* The direction of all bodies, or of the remaining ones; returns the number of remaining ones. With contact the rotations are limited to
 * a radian, for the test of paths. */
static pd_status solve(pd_rigid_sweep *self, const pd_problem *problem, int again, real *direction, int *left) {
    const pd_rigid *rigid = problem->rigid;
    pd_status status = PD_OK;
    PD_TRY(pd_bodies_solve(problem->context, &rigid->set, self->systems, again, problem->contact != NULL, self->gradient, direction,
                           self->left));
    PD_TRY(pd_memory_download(problem->context, self->host_left, self->left, (size_t)rigid->n * sizeof(int)));
    *left = 0;
    for (int b = 0; b < rigid->n; b++) *left += self->host_left[b];
done:
    return status;
}

pd_status pd_rigid_sweep_at_once(pd_rigid_sweep *self, const pd_problem *problem, pd_iterate *iterate, int diagonal) {
    pd_status status = PD_OK;
    int left;
    PD_TRY(pd_rigid_clear(problem, iterate->direction));
    PD_TRY(pd_problem_gradient(problem, iterate->x, iterate->offset, self->gradient));
    pd_hessian_filter filter = diagonal ? PD_FILTER_CLAMP : PD_FILTER_NONE;
    PD_TRY(find_systems(self, problem, iterate->x, filter, diagonal, iterate->number == 0)); // each step makes a new pattern
    PD_TRY(solve(self, problem, 0, iterate->direction, &left));
    if (left && !diagonal) { // the remaining systems have a projected Hessian
        PD_TRY(find_systems(self, problem, iterate->x, PD_FILTER_CLAMP, 0, 0));
        PD_TRY(solve(self, problem, 1, iterate->direction, &left));
    }
done:
    return status;
}
