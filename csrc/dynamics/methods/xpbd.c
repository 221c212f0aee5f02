/* Extended position-based dynamics [Macklin, Müller, Chentanez 2016, XPBD, Algorithm 1].
 *
 * Every element is a constraint with compliance (updates/sweeps/xpbd.h; a neo-Hookean tet is two). An iteration is one Gauss-Seidel sweep
 * over all constraints, by colour. The multipliers are zero at the start of a step and accumulate in it: the more iterations, the closer
 * the stiffness is to the material's. The sweeps start from the inertial target y. With another first guess the record begins there, and
 * the first iteration replaces it by y.
 *
 * The method minimises no potential. If the constraints' gradients are constant, as in a chain along a line, the limit is the step of
 * implicit Euler. Otherwise the limit differs: the moves of a multiplier keep the correction of their gradient, and the Hessians of C are
 * omitted [Macklin et al. 2016, Eq. 16]. The method's own damping is not implemented, and the damping of G has no effect. There is no
 * quasistatic form, since inertia enters through y.
 *
 * Contact by a penalty is a set of constraints too (contact_constraint_update.h), after those of the elements in each iteration. After a
 * new detection within a step, pairs that existed before keep their multipliers.
 *
 * The sweep moves a copy of the positions, and passes the sum of each vertex's moves to the frame: float32 loses no digits to the size of
 * the coordinates. */
#include "contact/growable_list.h"
#include "contact/potential/contact.h"
#include "dynamics/method.h"
#include "linear/upload.h"
#include "mesh/element_colouring.h"

#include <stdlib.h>

static const pd_option options[] = {PD_OPTIONS_END};

/* Of contact pairs, by their keys. */
typedef struct pair_multipliers {
    size_t capacity;
    uint64_t *keys; /* B [capacity] */
    real *values;   /* B [capacity,4] */
    real *changes;  /* B [capacity,4] */
} pair_multipliers;

typedef struct pd_xpbd {
    pd_constraint_sweep sweep;
    int n_colours;
    int *segment_start, *segment_kinds; /* owned, of the sweep */
    real *positions;                    /* B [n,3] of the sweep */

    /* with contact only: of its pairs */
    int touches, n_pairs;
    long long detections; /* the count at their detection */
    pair_multipliers last, next;
    int *shares; /* B [n] */
} pd_xpbd;

static void destroy(void *self, const pd_problem *problem) {
    pd_xpbd *xpbd = self;
    if (!xpbd) return;
    for (int s = 0; s < PD_KIND_COUNT; s++) {
        pd_memory_destroy(problem->context, xpbd->sweep.multipliers[s]);
        pd_memory_destroy(problem->context, xpbd->sweep.normals[s]);
    }
    pd_memory_destroy(problem->context, xpbd->sweep.elements);
    void *memory[] = {xpbd->positions,    xpbd->shares,    xpbd->last.keys,   xpbd->last.values,
                      xpbd->last.changes, xpbd->next.keys, xpbd->next.values, xpbd->next.changes};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) pd_memory_destroy(problem->context, memory[i]);
    free(xpbd->segment_start);
    free(xpbd->segment_kinds);
    free(xpbd);
}

static int colours_of(const void *self) { return ((const pd_xpbd *)self)->n_colours; }

static size_t multiplier_bytes(const pd_elements *g) { return (size_t)g->n * (size_t)pd_kind_shape_of(g->kind).constraints * sizeof(real); }

static size_t normal_bytes(const pd_elements *g) { return (size_t)g->n * 3 * (size_t)pd_kind_shape_of(g->kind).columns * sizeof(real); }

/* Elements by colour, and by set and number within a colour; a segment ends at a change of colour or set. */
static pd_status sort_elements(const pd_problem *problem, pd_xpbd *xpbd, const int *colours, int n_elements) {
    size_t bytes = ((size_t)n_elements + 2) * sizeof(int), most = (size_t)xpbd->n_colours * (size_t)problem->n_sets + 2;
    int *start = calloc((size_t)xpbd->n_colours + 2, sizeof(int)), *order = malloc(bytes), *set_of = malloc(bytes), *number = malloc(bytes);
    pd_status status = PD_OK;
    xpbd->segment_start = calloc(most, sizeof(int));
    xpbd->segment_kinds = calloc(most, sizeof(int));
    if (!start || !order || !set_of || !number || !xpbd->segment_start || !xpbd->segment_kinds) {
        status = pd_fail(problem->error, PD_ERROR_MEMORY, "out of memory for the constraints of %d elements", n_elements);
        goto done;
    }
    for (int e = 0; e < n_elements; e++) start[colours[e] + 1]++;
    for (int c = 0; c < xpbd->n_colours; c++) start[c + 1] += start[c];
    for (int s = 0, e = 0; s < problem->n_sets; s++)
        for (int i = 0; i < problem->sets[s].n; i++, e++) {
            int slot = start[colours[e]]++;
            order[slot] = e;
            set_of[slot] = s;
            number[slot] = i;
        }
    int n = 0;
    for (int slot = 0; slot < n_elements; slot++) {
        if (slot == 0 || set_of[slot] != set_of[slot - 1] || colours[order[slot]] != colours[order[slot - 1]]) {
            xpbd->segment_start[n] = slot;
            xpbd->segment_kinds[n++] = set_of[slot];
        }
    }
    xpbd->segment_start[n] = n_elements;
    xpbd->sweep.n_segments = n;
    xpbd->sweep.segment_start = xpbd->segment_start;
    xpbd->sweep.segment_kinds = xpbd->segment_kinds;
    PD_TRY(pd_upload_ints(problem->context, &xpbd->sweep.elements, number, (size_t)n_elements));
done:
    free(start);
    free(order);
    free(set_of);
    free(number);
    return status;
}

static pd_status create(void **self, const pd_problem *problem, const void *settings) {
    pd_status status = PD_OK;
    int n_elements = 0, *colours = NULL;
    pd_xpbd *xpbd;
    (void)settings;
    if (!(problem->h > 0))
        return pd_fail(problem->error, PD_ERROR_VALUE,
                       "dt: None (quasistatic), but XPBD needs a time step: inertia and loads enter only through its start");
    for (int s = 0; s < problem->n_sets; s++) n_elements += problem->sets[s].n;
    xpbd = *self = calloc(1, sizeof *xpbd);
    colours = malloc(((size_t)n_elements + 1) * sizeof *colours);
    if (!xpbd || !colours) {
        status = pd_fail(problem->error, PD_ERROR_MEMORY, "out of memory for the constraints of %d elements", n_elements);
        goto done;
    }
    PD_TRY(pd_element_colouring_create(colours, &xpbd->n_colours, problem->sets, problem->n_sets, problem->fixed, problem->corners,
                                       problem->error));
    PD_TRY(sort_elements(problem, xpbd, colours, n_elements));
    for (int s = 0; s < problem->model->n_kinds; s++) {
        const pd_elements *g = &problem->model->kinds[s];
        PD_TRY(pd_memory_create(problem->context, (void **)&xpbd->sweep.multipliers[s], multiplier_bytes(g)));
        PD_TRY(pd_memory_create(problem->context, (void **)&xpbd->sweep.normals[s], normal_bytes(g)));
    }
    PD_TRY(pd_memory_create(problem->context, (void **)&xpbd->positions, pd_problem_bytes(problem)));
    xpbd->touches = problem->contact != NULL;
    if (xpbd->touches) PD_TRY(pd_memory_create(problem->context, (void **)&xpbd->shares, (size_t)problem->model->n_vertices * sizeof(int)));
done:
    free(colours);
    return status;
}

/* Sets multipliers to zero, and positions to y, or to the closest point on the line or plane of a vertex. */
static pd_status start(pd_xpbd *xpbd, const pd_problem *problem, const pd_iterate *iterate) {
    pd_status status = PD_OK;
    for (int s = 0; s < problem->model->n_kinds; s++) {
        const pd_elements *g = &problem->model->kinds[s];
        PD_TRY(pd_memory_clear(problem->context, xpbd->sweep.multipliers[s], multiplier_bytes(g)));
        PD_TRY(pd_memory_clear(problem->context, xpbd->sweep.normals[s], normal_bytes(g)));
    }
    PD_TRY(pd_memory_copy(problem->context, iterate->correction, iterate->offset, pd_problem_bytes(problem)));
    if (problem->subspace) PD_TRY(pd_project(problem->context, problem->model->n_vertices, problem->model->subspace, iterate->correction));
    PD_TRY(pd_add_scaled(problem->context, problem->model, iterate->x, -1.0, iterate->correction, xpbd->positions));
done:
    return status;
}

/* Multipliers for the pairs of the last detection; `begins`: all zero. */
static pd_status take_pairs(pd_xpbd *xpbd, const pd_problem *problem, int n, int begins) {
    pd_context *context = problem->context;
    long long detections = pd_contact_searches(problem->contact);
    const uint64_t *keys = pd_contact_pairs_of(problem->contact).keys;
    pd_status status = PD_OK;
    if (!begins && detections == xpbd->detections) return PD_OK;
    if (begins) xpbd->n_pairs = 0;
    pair_multipliers *last = &xpbd->last, *next = &xpbd->next, swap;
    const pd_growable lists[] = {PD_GROWABLE(next->keys, 1), PD_GROWABLE(next->values, 4), PD_GROWABLE(next->changes, 4)};
    PD_TRY(pd_growables_grow(context, (size_t)n, "constraints of contact", PD_GROWABLES(lists), &next->capacity, NULL));
    PD_TRY(pd_penalty_carry(context, n, keys, xpbd->n_pairs, last->keys, last->values, next->values));
    PD_TRY(pd_memory_copy(context, next->keys, keys, (size_t)n * sizeof *keys));
    swap = *last, *last = *next, *next = swap;
    xpbd->n_pairs = n, xpbd->detections = detections;
done:
    return status;
}

static pd_status contact(pd_xpbd *xpbd, const pd_problem *problem, const pd_iterate *iterate) {
    pd_contact_sweep touched;
    pd_status status = PD_OK;
    PD_TRY(pd_contact_bound_displacements(problem->contact, xpbd->positions, &touched));
    int n = touched.frozen.at.n;
    PD_TRY(take_pairs(xpbd, problem, n, iterate->number == 0));
    if (n > 0)
        PD_TRY(pd_penalty_constrain(problem->context, problem->model, &touched, 1.0 / (problem->h * problem->h), xpbd->last.values,
                                    xpbd->last.changes, xpbd->shares, xpbd->positions, iterate->correction));
done:
    return status;
}

static int capturable(const void *self) { return !((const pd_xpbd *)self)->touches; }

static pd_status correction(void *self, const pd_problem *problem, pd_iterate *iterate) {
    pd_xpbd *xpbd = self;
    pd_status status = PD_OK;
    size_t bytes = pd_problem_bytes(problem);
    if (iterate->number == 0) {
        PD_TRY(start(xpbd, problem, iterate));
        iterate->displaced = 1;
    } else {
        PD_TRY(pd_memory_copy(problem->context, xpbd->positions, iterate->x, bytes));
        PD_TRY(pd_memory_clear(problem->context, iterate->correction, bytes));
    }
    pd_context_tally(problem->context)->sweeps++;
    PD_TRY(pd_sweep_constraints(problem->context, problem->model, &xpbd->sweep, 1.0 / (problem->h * problem->h), xpbd->positions,
                                iterate->correction));
    if (xpbd->touches) PD_TRY(contact(xpbd, problem, iterate));
done:
    return status;
}

/* The multipliers, in the norm lambda^2/h^4 + m/h^2 |x|^2 of energies. */
static pd_status carries(const void *self, const pd_problem *problem, pd_carried *x, pd_carried *carried, int *n) {
    const pd_xpbd *xpbd = self;
    const double inverse = problem->step.inverse_h * problem->step.inverse_h;
    if (xpbd->touches)
        return pd_fail(problem->error, PD_ERROR_TYPE,
                       "acceleration: XPBD with contact has multipliers of pairs that come and go; give acceleration=None or no contact");
    x->row_weights = problem->model->masses;
    x->scale = inverse;
    *n = problem->model->n_kinds;
    for (int s = 0; s < *n; s++) {
        const pd_elements *g = &problem->model->kinds[s];
        carried[s] = (pd_carried){xpbd->sweep.multipliers[s], g->n, pd_kind_shape_of(g->kind).constraints, NULL, inverse * inverse};
    }
    return PD_OK;
}

const pd_method pd_xpbd_method = {.name = "XPBD",
                                  .options = options,
                                  .create = create,
                                  .destroy = destroy,
                                  .correction = correction,
                                  .capturable = capturable,
                                  .carries = carries,
                                  .colours = colours_of,
                                  .implicit_euler_only = 1};
