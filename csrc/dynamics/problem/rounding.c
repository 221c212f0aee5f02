/* The rounding errors of a potential and of its gradient, with which the stopping rules compare.
 *
 * A position x has an error of eps |x|. So an element's F has an error of eps |x| sum_j |g_j|, its forces one of w |g_i| times that, and
 * the force on vertex i one of eps |x| r_i with
 *     r_i = m_i/h^2 + sum over its elements of w |g_i| sum_j |g_j|,
 * which bounds sum_j |K_ij|, K the Hessian of G near rest, as w bounds an element's. No solver brings the gradient below the norm of
 * that, which is that of the rounded solution. In practice Newton's method ends below this bound. */
#include "dynamics/problem/rounding.h"

#include "dynamics/rigid/rigid.h"
#include "updates/potential_rounding.h"

#include <stdlib.h>

static double length_of(const double *g, int n) {
    double square = 0.0;
    for (int c = 0; c < n; c++) square += g[c] * g[c];
    return sqrt(square);
}

/* |g_0|, |g_1|, ... of an element with rest gradients `rest` [k-1,d], g_0 = -sum g_i; returns their sum. */
static double gradient_lengths(const pd_kind_shape *shape, const double *rest, double lengths[PD_MAX_VERTICES]) {
    double first[PD_MAX_COLUMNS] = {0.0}, sum = 0.0;
    int d = shape->columns;
    if (shape->vertices == 1) return lengths[0] = 1.0;
    for (int i = 1; i < shape->vertices; i++) {
        const double *g = rest + (size_t)(i - 1) * (size_t)d;
        for (int c = 0; c < d; c++) first[c] -= g[c];
        sum += lengths[i] = length_of(g, d);
    }
    return sum + (lengths[0] = length_of(first, d));
}

pd_status pd_rounding_create(pd_rounding *out, const pd_problem *problem) {
    size_t n = (size_t)problem->model->n_vertices;
    double h = problem->h;
    out->largest_coordinate = -1.0;
    out->stiffness_rows = calloc(n + 1, sizeof(double));
    if (!out->stiffness_rows) return pd_fail(problem->error, PD_ERROR_MEMORY, "out of memory for a model of %zu vertices", n);
    for (int s = 0; s < problem->n_sets; s++) {
        const pd_element_set *set = &problem->sets[s];
        pd_kind_shape shape = pd_kind_shape_of(set->kind);
        for (size_t e = 0; e < (size_t)set->n; e++) {
            double w = pd_largest_stiffness(set->kind, set->parameters + e * (size_t)shape.parameters), square = 0.0;
            double lengths[PD_MAX_VERTICES];
            const double *g = set->rest + e * (size_t)shape.rest;
            double sum = gradient_lengths(&shape, g, lengths);
            for (int i = 0; i < shape.rest; i++) square += shape.vertices > 1 ? g[i] * g[i] : 1.0 / 3.0;
            out->stiffness_sums[shape.columns == 1] += w * shape.columns;
            out->matrix_trace += w * square;
            for (int i = 0; i < shape.vertices; i++)
                out->stiffness_rows[set->vertices[e * (size_t)shape.vertices + (size_t)i]] += w * lengths[i] * sum;
        }
    }
    for (size_t i = 0; i < n; i++) {
        double inertia = h > 0 ? problem->masses[i] / (h * h) : 0.0;
        out->inertia_sum += inertia;
        out->stiffness_rows[i] += inertia;
        if (problem->fixed[i]) continue;
        // the four rows of a rigid body, and the forces on others, are summed to a force and a torque, by the triangle inequality
        double added = problem->rigid && problem->rigid->body_of[i] >= 0 ? 2.0 * PD_RIGID_CARRIERS : 1.0;
        out->stiffness_norm += added * out->stiffness_rows[i] * out->stiffness_rows[i];
        if (problem->masses[i] > 0.0) // a point of a rigid body has no mass
            out->stiffness_by_mass += out->stiffness_rows[i] * out->stiffness_rows[i] / problem->masses[i];
    }
    for (int b = 0; problem->rigid && h > 0 && b < problem->rigid->n; b++) { // a pin moves all of its body
        const pd_rigid_rows *rows = &problem->rigid->bodies[b].rows;
        double mass = PD_RIGID_CARRIERS * problem->masses[rows->first + rows->n - 1];
        for (int p = 0; p < 2; p++)
            if (rows->pins[p] >= 0) out->stiffness_rows[rows->first + rows->pins[p]] += mass / (h * h);
    }
    out->stiffness_norm = sqrt(out->stiffness_norm);
    out->stiffness_by_mass = sqrt(out->stiffness_by_mass);
    out->matrix_trace += out->inertia_sum;
    return PD_OK;
}

void pd_rounding_destroy(pd_rounding *self) { free(self->stiffness_rows); }

static double largest_of(const pd_problem *problem, const real *x) {
    double largest = 0.0;
    // a failing device fails again in the next loop, which reports it
    if (pd_memory_download(problem->context, problem->staging, x, pd_problem_bytes(problem))) return 0.0;
    for (size_t i = 0; i < (size_t)problem->model->n_vertices * 3; i++) largest = fmax(largest, fabs((double)problem->staging[i]));
    return largest;
}

void pd_rounding_begin(const pd_problem *problem) { problem->rounding->largest_coordinate = -1.0; }

double pd_rounding_size(const pd_problem *problem) {
    pd_rounding *self = problem->rounding;
    if (self->largest_coordinate < 0.0) self->largest_coordinate = largest_of(problem, problem->x_t);
    return self->largest_coordinate;
}

double pd_rounding_of_potential(const pd_problem *problem, double magnitude) {
    const pd_rounding *self = problem->rounding;
    double size = pd_rounding_size(problem);
    return pd_potential_rounding(magnitude, self->stiffness_sums[0] + (self->stiffness_sums[1] + self->inertia_sum) * size * size);
}

double pd_rounding_of_gradient(const pd_problem *problem, const real *x) {
    double size = fmax(pd_rounding_size(problem), largest_of(problem, x));
    return (double)PD_EPSILON * size * problem->rounding->stiffness_norm;
}

int pd_rounding_holds_poses(const pd_problem *problem, const real *x, double square, double norm) {
    if (!problem->rigid) return 0;
    double move = (double)PD_EPSILON * pd_rounding_size(problem), coordinates = 3.0 * problem->model->n_vertices;
    return square <= move * move * coordinates && norm <= pd_rounding_of_gradient(problem, x);
}

double pd_rounding_of_acceleration(const pd_problem *problem) {
    return (double)PD_EPSILON * pd_rounding_size(problem) * problem->rounding->stiffness_by_mass;
}
