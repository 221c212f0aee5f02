/* The rigid bodies of a scene in a sweep over blocks; see rigid_sweep.h. */
#include "dynamics/methods/rigid_sweep.h"

#include "dynamics/problem/block_hessian.h"
#include "dynamics/problem/potential.h"
#include "dynamics/problem/reduced_hessian.h"
#include "dynamics/rigid/mechanisms.h"
#include "updates/rigid/group_factor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct pd_rigid_sweep {
    real *gradient;                 /* B [n,3] */
    double *systems, *host_systems; /* B, H [bodies,PD_RIGID_SYSTEM] */
    int *left, *host_left;          /* B, H [bodies] of pd_bodies_solve */

    pd_mechanisms mechanisms; /* groups of several bodies are solved on the host, where their Hessian is */
    pd_body_groups groups;    /* H, without ways */
    unsigned char *remains;   /* H [groups] 1: the exact Hessian is not positive definite */
    real *moves, *host_moves; /* B, H [bodies,6] by place: the entries in a correction; NULL if all groups are single bodies */
};

void pd_rigid_sweep_destroy(pd_rigid_sweep *self, pd_context *context) {
    if (!self) return;
    void *memory[] = {self->gradient, self->systems, self->left, self->moves};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) pd_memory_destroy(context, memory[i]);
    free(self->host_systems);
    free(self->host_left);
    free(self->groups.entries);
    free(self->groups.sums);
    free(self->remains);
    free(self->host_moves);
    pd_mechanisms_destroy(&self->mechanisms);
    free(self);
}

/* The memory of the groups. */
static pd_status make_groups(pd_rigid_sweep *self, const pd_problem *problem) {
    pd_mechanisms *of = &self->mechanisms;
    pd_status status = pd_mechanisms_create(of, problem);
    if (status) return status;
    self->groups = (pd_body_groups){of->start, of->members, of->place_of, of->group_of, of->column_start, of->rows, NULL, NULL, NULL};
    self->groups.entries = calloc(36 * (size_t)of->n_blocks + 1, sizeof(double));
    self->groups.sums = calloc((size_t)of->n, sizeof *self->groups.sums);
    self->remains = calloc((size_t)of->n, 1);
    if (!self->groups.entries || !self->groups.sums || !self->remains)
        return pd_fail(problem->error, PD_ERROR_MEMORY, "out of memory for the joints of %d rigid bodies", of->n);
    if (of->n_groups == of->n) return PD_OK;
    self->host_moves = calloc(6 * (size_t)of->n, sizeof(real));
    if (!self->host_moves) return pd_fail(problem->error, PD_ERROR_MEMORY, "out of memory for the joints of %d rigid bodies", of->n);
    return pd_memory_create(problem->context, (void **)&self->moves, 6 * (size_t)of->n * sizeof(real));
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
    PD_TRY(make_groups(self, problem));
    PD_TRY(pd_problem_need_hessian(problem));
    PD_TRY(pd_problem_need_reduced(problem));
done:
    if (status)
        pd_rigid_sweep_destroy(self, problem->context);
    else
        *out = self;
    return status;
}

/* A [6,6] <- the block of two bodies of the Hessian; a body that rotates about a fixed point has no translation. */
static void take_block(const pd_rigid *rigid, const pd_assembled_hessian *assembled, int of_rows, int of_columns, double *A) {
    int row = pd_rigid_first_carrier(&rigid->bodies[of_rows]), first = pd_rigid_first_carrier(&rigid->bodies[of_columns]);
    for (int c = 0; c < 36; c++) A[c] = 0.0;
    for (int r = 0; r < 2; r++)
        for (int s = assembled->pattern.row_start[row + r]; s < assembled->pattern.row_start[row + r + 1]; s++) {
            int column = assembled->pattern.columns[s] - first;
            if (column != 0 && column != 1) continue;
            for (int c = 0; c < 9; c++) A[6 * (3 * r + c / 3) + 3 * column + c % 3] = (double)assembled->blocks[9 * (size_t)s + (size_t)c];
        }
    for (int c = 0; c < 36; c++)
        if ((c / 6 < 3 && rigid->excluded[row]) || (c % 6 < 3 && rigid->excluded[first])) A[c] = of_rows == of_columns && c % 7 == 0;
}

/* Takes the 6x6 block of each body from the Hessian; with `diagonal` only its diagonal. */
static pd_status take_systems(pd_rigid_sweep *self, const pd_problem *problem, int diagonal) {
    const pd_rigid *rigid = problem->rigid;
    const pd_assembled_hessian *assembled = pd_problem_reduced(problem);
    for (int b = 0; b < rigid->n; b++) {
        double *A = self->host_systems + PD_RIGID_SYSTEM * (size_t)b;
        take_block(rigid, assembled, b, b, A);
        for (int c = 0; c < 36; c++) A[c] = diagonal && c % 7 ? 0.0 : A[c];
    }
    return pd_memory_upload(problem->context, self->systems, self->host_systems, PD_RIGID_SYSTEM * (size_t)rigid->n * sizeof(double));
}

/* ---- groups of several bodies -------------------------------------------------------------------------------------------------------- */

/* host_moves of a group from its Hessian, and its gradient in problem->staging; returns 0 if the Hessian is not positive definite. */
static int solve_group(pd_rigid_sweep *self, const pd_problem *problem, int group) {
    const pd_rigid *rigid = problem->rigid;
    const pd_body_groups *groups = &self->groups;
    const int first = groups->start[group], end = groups->start[group + 1];
    double turn = 0.0;
    for (int place = first; place < end; place++) {
        pd_body_sum *sum = &groups->sums[place];
        int body = groups->members[place];
        const real *gradient = problem->staging + 3 * (size_t)pd_rigid_first_carrier(&rigid->bodies[body]);
        memcpy(sum->block, self->host_systems + PD_RIGID_SYSTEM * (size_t)body, sizeof sum->block);
        for (int s = groups->column_start[place]; s < groups->column_start[place + 1]; s++)
            take_block(rigid, pd_problem_reduced(problem), groups->members[groups->rows[s]], body, groups->entries + 36 * (size_t)s);
        for (int c = 0; c < 6; c++) sum->correction[c] = (double)gradient[c];
    }
    if (!pd_group_factor(groups, first, end)) return 0;
    pd_group_solve(groups, first, end);
    for (int place = first; place < end && problem->contact; place++) {
        const double *d = groups->sums[place].correction;
        turn = fmax(turn, sqrt(d[3] * d[3] + d[4] * d[4] + d[5] * d[5]) / rigid->bodies[groups->members[place]].radius);
    }
    for (int place = first; place < end; place++)
        for (size_t c = 0; c < 6; c++)
            self->host_moves[6 * (size_t)place + c] = (real)(groups->sums[place].correction[c] / fmax(turn, 1.0));
    return 1;
}

/* correction <- host_moves of the solved groups of several bodies. */
static pd_status send_moves(pd_rigid_sweep *self, const pd_problem *problem, real *correction) {
    const pd_body_groups *groups = &self->groups;
    pd_status status = PD_OK;
    PD_TRY(pd_memory_upload(problem->context, self->moves, self->host_moves, 6 * (size_t)self->mechanisms.n * sizeof(real)));
    for (int group = 0; group < self->mechanisms.n_groups; group++) {
        const int first = groups->start[group], end = groups->start[group + 1];
        for (int place = first; place < end && end - first > 1 && !self->remains[group]; place++) {
            size_t at = 3 * (size_t)pd_rigid_first_carrier(&problem->rigid->bodies[groups->members[place]]);
            PD_TRY(pd_memory_copy(problem->context, correction + at, self->moves + 6 * (size_t)place, 6 * sizeof(real)));
        }
    }
done:
    return status;
}

/* The directions of all groups of several bodies, or with `again` of the remaining ones; adds the number of those that remain to *left. A
 * group whose Hessian is not positive definite keeps the directions of its single bodies. Uses staging. */
static pd_status solve_groups(pd_rigid_sweep *self, const pd_problem *problem, int again, real *correction, int *left) {
    pd_status status = PD_OK;
    if (!self->moves) return PD_OK;
    if (!again) PD_TRY(pd_memory_download(problem->context, problem->staging, self->gradient, pd_problem_bytes(problem)));
    for (int group = 0; group < self->mechanisms.n_groups; group++) {
        if (self->groups.start[group + 1] - self->groups.start[group] < 2 || (again && !self->remains[group])) continue;
        self->remains[group] = !solve_group(self, problem, group);
        *left += self->remains[group];
    }
    PD_TRY(send_moves(self, problem, correction));
done:
    return status;
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

/* The correction of all bodies, or of the remaining ones; returns the number of remaining ones. With contact the rotations are limited to
 * a radian, for the test of paths. */
static pd_status solve(pd_rigid_sweep *self, const pd_problem *problem, int again, real *correction, int *left) {
    const pd_rigid *rigid = problem->rigid;
    pd_status status = PD_OK;
    PD_TRY(pd_bodies_solve(problem->context, &rigid->set, self->systems, again, problem->contact != NULL, self->gradient, correction,
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
    PD_TRY(pd_rigid_clear(problem, iterate->correction));
    PD_TRY(pd_problem_gradient(problem, iterate->x, iterate->offset, self->gradient));
    pd_hessian_filter filter = diagonal ? PD_FILTER_CLAMP : PD_FILTER_NONE;
    PD_TRY(find_systems(self, problem, iterate->x, filter, diagonal, iterate->number == 0)); // each step makes a new pattern
    PD_TRY(solve(self, problem, 0, iterate->correction, &left));
    if (!diagonal) PD_TRY(solve_groups(self, problem, 0, iterate->correction, &left));
    if (left && !diagonal) { // the remaining systems have a projected Hessian
        PD_TRY(find_systems(self, problem, iterate->x, PD_FILTER_CLAMP, 0, 0));
        PD_TRY(solve(self, problem, 1, iterate->correction, &left));
        PD_TRY(solve_groups(self, problem, 1, iterate->correction, &left));
    }
done:
    return status;
}
