/* The displacement of pins and obstacles before an iteration; see prescribed_motion.h. */
#include "dynamics/contact/prescribed_motion.h"

#include "contact/potential/contact.h"
#include "dynamics/orientation/orientation.h"
#include "loops/proximity_loops.h"

#include <math.h>
#include <stdlib.h>

/* In activation distances: the smallest gap that a motion may leave, and the gap below which it waits. In float32 both are at least some
 * roundings of a gap. */
static const double FLOOR = 1e-3, WAITS = 1e-2, ROUNDINGS = 4.0;

/* The step limiter leaves a tenth of a gap. A motion by this fraction of its free path leaves a fifth. A smaller fraction needs more
 * iterations; after a larger one a gap may not recover in one iteration. */
static const double SHARE = 8.0 / 9.0;

/* A smaller growth of a gap does not count as opening. */
static const double OPENED = 1e-3;

/* More motions than this share one length: each of them would need its own times of impact. */
enum { MOST_MOTIONS = 16 };

/* One obstacle, or the pins of one body: rows of x, of which the fixed ones move, and of the prescribed points. */
typedef struct motion {
    int first, n, prescribed_first, n_prescribed;
    int arrived;
    double left;     /* the smallest gap that it closed, after its last move, m */
    double fraction; /* present fraction of its path */
} motion;

struct pd_prescribed {
    int n, n_prescribed;
    motion *motions;
    real *end;              /* B [n_vertices,3] */
    real *alone, *together; /* B [n_driven,3] ends of the prescribed points */
    double floor, waits;    /* m */
};

void pd_prescribed_destroy(pd_prescribed *self, const pd_problem *problem) {
    if (!self) return;
    PD_MEMORIES_DESTROY(problem->context, self->end, self->alone, self->together);
    free(self->motions);
    free(self);
}

/* Lists the motions of the points in the order of their rows: a run of rows of one body or obstacle is one motion. */
static int list_motions(const pd_problem *problem, const int *bodies, int n_points, int first_prescribed, motion *out) {
    int n = 0, n_vertices = problem->model->n_vertices, last = -1;
    for (int i = 0; i < n_vertices; i++) {
        if (!problem->fixed[i]) continue;
        if (bodies[i] != last) out[n++] = (motion){.first = i};
        out[n - 1].n = i + 1 - out[n - 1].first;
        last = bodies[i];
    }
    last = -1;
    for (int i = first_prescribed; i < n_points; i++) {
        if (bodies[i] != last) out[n++] = (motion){.prescribed_first = i - first_prescribed};
        out[n - 1].n_prescribed++;
        last = bodies[i];
    }
    return n;
}

pd_status pd_prescribed_create(pd_prescribed **out, const pd_problem *problem) {
    pd_contact *contact = problem->scene;
    pd_status status = PD_OK;
    *out = NULL;
    int n_points = pd_contact_n_points(contact), n_vertices = problem->model->n_vertices;
    size_t prescribed_bytes = 3 * (size_t)pd_contact_n_prescribed(contact) * sizeof(real);
    int *bodies = malloc((size_t)n_points * sizeof *bodies + 1);
    motion *motions = malloc((size_t)n_points * sizeof *motions + 1);
    pd_prescribed *self = calloc(1, sizeof *self);
    if (!bodies || !motions || !self)
        PD_TRY(pd_fail(problem->error, PD_ERROR_MEMORY, "out of memory for the motions of %d points", n_points));
    PD_TRY(pd_contact_get_bodies(contact, bodies));
    self->n_prescribed = pd_contact_n_prescribed(contact);
    self->n = list_motions(problem, bodies, n_points, n_points - self->n_prescribed, motions);
    if (self->n > MOST_MOTIONS) self->n = 1, motions[0] = (motion){.n = n_vertices, .n_prescribed = self->n_prescribed};
    self->motions = malloc((size_t)self->n * sizeof *motions + 1);
    if (!self->motions) PD_TRY(pd_fail(problem->error, PD_ERROR_MEMORY, "out of memory for %d motions", self->n));
    for (int k = 0; k < self->n; k++) self->motions[k] = motions[k];
    PD_TRY(pd_memory_create(problem->context, (void **)&self->end, pd_problem_bytes(problem)));
    PD_TRY(pd_memory_create(problem->context, (void **)&self->alone, prescribed_bytes));
    PD_TRY(pd_memory_create(problem->context, (void **)&self->together, prescribed_bytes));
done:
    free(bodies);
    free(motions);
    if (status)
        pd_prescribed_destroy(self, problem);
    else
        *out = self;
    return status;
}

void pd_prescribed_begin(pd_prescribed *self) {
    if (!self) return;
    for (int k = 0; k < self->n; k++) self->motions[k].arrived = 0, self->motions[k].left = (double)INFINITY;
}

static pd_status copy_prescribed(const pd_prescribed *self, const pd_problem *problem, real *to, const real *from) {
    return pd_memory_copy(problem->context, to, from, 3 * (size_t)self->n_prescribed * sizeof(real));
}

/* Moves the rows of one motion in x and of the prescribed points by this fraction of their path to x_1 and driven_1. */
static pd_status go(const pd_problem *problem, const motion *m, double fraction, const real *x_1, const real *prescribed_1, real *x,
                    real *prescribed) {
    size_t first = 3 * (size_t)m->first, first_prescribed = 3 * (size_t)m->prescribed_first;
    pd_status status = PD_OK;
    if (m->n) PD_TRY(pd_move_towards(problem->context, m->n, problem->model->fixed + m->first, fraction, x_1 + first, x + first));
    if (m->n_prescribed)
        PD_TRY(pd_move_towards(problem->context, m->n_prescribed, NULL, fraction, prescribed_1 + first_prescribed,
                               prescribed + first_prescribed));
done:
    return status;
}

/* problem->trial and self->alone: this fraction of one motion, all others at rest. */
static pd_status set_alone(pd_prescribed *self, const pd_problem *problem, const motion *m, double fraction, const real *targets,
                           const real *x) {
    pd_contact *contact = problem->scene;
    pd_status status = pd_memory_copy(problem->context, problem->trial, x, pd_problem_bytes(problem));
    if (!status) status = copy_prescribed(self, problem, self->alone, pd_contact_prescribed(contact));
    return status ? status : go(problem, m, fraction, targets, pd_contact_targets(contact), problem->trial, self->alone);
}

/* The fraction of its path that one motion can take while all others rest. */
static pd_status part_alone(pd_prescribed *self, const pd_problem *problem, motion *m, const real *targets, double share, const real *x) {
    pd_contact *contact = problem->scene;
    pd_closing closing;
    pd_status status = PD_OK;
    double oriented;
    PD_TRY(set_alone(self, problem, m, 1.0, targets, x));
    PD_TRY(pd_contact_limit_to(contact, x, problem->trial, self->alone, &m->fraction));
    PD_TRY(pd_orientation_limit(problem, x, problem->trial, &oriented));
    m->fraction = fmin(m->fraction, oriented);
    if (m->fraction < 1.0) m->fraction *= share;
    if (m->fraction < 1.0) PD_TRY(set_alone(self, problem, m, m->fraction, targets, x));
    PD_TRY(pd_contact_closing_of(contact, x, problem->trial, self->alone, self->floor, &closing));
    int waits = closing.before < self->waits && !(closing.before > (1.0 + OPENED) * m->left);
    if (waits || closing.fraction <= 0.0)
        m->fraction = 0.0, m->left = closing.before;
    else if (closing.fraction < 1.0)
        m->fraction *= closing.fraction, m->left = self->floor;
    else
        m->left = closing.after;
done:
    return status;
}

/* Tells whether a motion has arrived at its target. */
static pd_status has_arrived(const pd_problem *problem, const motion *m, const real *targets, const real *x, int *arrived) {
    pd_context *context = problem->context;
    const unsigned char *fixed = problem->model->fixed + m->first;
    size_t first = 3 * (size_t)m->first, first_prescribed = 3 * (size_t)m->prescribed_first;
    const real *prescribed = pd_contact_prescribed(problem->scene) + first_prescribed,
               *ends = pd_contact_targets(problem->scene) + first_prescribed;
    real *trial = problem->trial + first;
    double found[4] = {0.0};
    pd_status status = PD_OK;
    PD_TRY(pd_memory_upload(context, problem->scalars, found, sizeof found));
    if (m->n) {
        PD_TRY(pd_memory_copy(context, trial, x + first, 3 * (size_t)m->n * sizeof(real)));
        PD_TRY(pd_move_towards(context, m->n, fixed, 1.0, targets + first, trial));
        PD_TRY(pd_largest_move(context, m->n, NULL, trial, x + first, problem->scalars));
    }
    if (m->n_prescribed) PD_TRY(pd_largest_move(context, m->n_prescribed, NULL, ends, prescribed, problem->scalars + 2));
    PD_TRY(pd_memory_download(context, found, problem->scalars, sizeof found));
done:
    *arrived = found[0] == 0.0 && found[2] == 0.0;
    return status;
}

pd_status pd_prescribed_moves(pd_prescribed *self, const pd_problem *problem, const real *targets, const real *x, int *moves) {
    int arrived = 1;
    pd_status status = PD_OK;
    if (self && self->n) {
        const motion all = {.n = problem->model->n_vertices, .n_prescribed = self->n_prescribed};
        PD_TRY(has_arrived(problem, &all, targets, x, &arrived));
    }
done:
    *moves = !arrived;
    return status;
}

/* self->end and self->together: all motions by the given fraction of their own fractions. */
static pd_status set_together(pd_prescribed *self, const pd_problem *problem, double fraction, const real *targets, const real *x) {
    const real *prescribed = pd_contact_prescribed(problem->scene), *ends = pd_contact_targets(problem->scene);
    pd_status status = PD_OK;
    PD_TRY(pd_memory_copy(problem->context, self->end, x, pd_problem_bytes(problem)));
    PD_TRY(copy_prescribed(self, problem, self->together, prescribed));
    for (int k = 0; k < self->n; k++) {
        const motion *m = self->motions + k;
        if (!m->arrived && m->fraction > 0.0) PD_TRY(go(problem, m, fraction * m->fraction, targets, ends, self->end, self->together));
    }
done:
    return status;
}

static void set_lengths(pd_prescribed *self, const pd_contact *contact) {
    double rounding = ROUNDINGS * pd_contact_rounding(contact), activation = (double)pd_contact_scene_of(contact)->activation;
    self->floor = fmax(FLOOR * activation, rounding), self->waits = fmax(WAITS * activation, 2.0 * rounding);
}

/* Moves each by its own fraction. Together they also move straight, and are shortened if they meet. */
static pd_status advance_each(pd_prescribed *self, const pd_problem *problem, const real *targets, double last, real *x, int *moved,
                              int *arrived) {
    double fraction = 1.0, share = SHARE * last, oriented = 1.0;
    int moving = 0;
    pd_status status = PD_OK;
    set_lengths(self, problem->scene);
    for (int k = 0; k < self->n; k++) {
        motion *m = self->motions + k;
        if (!m->arrived) PD_TRY(has_arrived(problem, m, targets, x, &m->arrived));
        if (!m->arrived) PD_TRY(part_alone(self, problem, m, targets, share, x));
        moving += !m->arrived && m->fraction > 0.0;
    }
    *moved = moving > 0;
    if (!moving) return PD_OK;
    PD_TRY(set_together(self, problem, 1.0, targets, x));
    if (moving > 1) PD_TRY(pd_contact_limit_to(problem->scene, x, self->end, self->together, &fraction));
    if (moving > 1) PD_TRY(pd_orientation_limit(problem, x, self->end, &oriented));
    fraction = fmin(fraction, oriented);
    if (fraction < 1.0) PD_TRY(set_together(self, problem, fraction *= share, targets, x));
    PD_TRY(pd_memory_copy(problem->context, x, self->end, pd_problem_bytes(problem)));
    PD_TRY(copy_prescribed(self, problem, pd_contact_prescribed(problem->scene), self->together));
    *moved = fraction > 0.0;
    *arrived = fraction == 1.0;
    for (int k = 0; k < self->n; k++) {
        motion *m = self->motions + k;
        m->arrived = m->arrived || (fraction == 1.0 && m->fraction == 1.0);
        *arrived = *arrived && m->arrived;
    }
done:
    return status;
}

pd_status pd_prescribed_advance(pd_prescribed *self, const pd_problem *problem, const real *targets, double last, real *x, int *moved,
                                int *arrived) {
    pd_contact *contact = problem->scene;
    pd_context *context = problem->context;
    const unsigned char *fixed = problem->model->fixed;
    int n = problem->model->n_vertices;
    pd_closing closing;
    double fraction;
    pd_status status = PD_OK;
    *moved = *arrived = 0;
    PD_TRY(pd_memory_copy(context, problem->trial, x, pd_problem_bytes(problem)));
    PD_TRY(pd_move_towards(context, n, fixed, 1.0, targets, problem->trial));
    PD_TRY(pd_contact_limit(contact, x, problem->trial, 1, &fraction));
    if (fraction == 1.0) PD_TRY(pd_orientation_limit(problem, x, problem->trial, &fraction));
    if (fraction == 1.0) {
        set_lengths(self, contact);
        PD_TRY(pd_contact_closing_of(contact, x, problem->trial, pd_contact_targets(contact), self->floor, &closing));
        fraction = closing.fraction;
    }
    if (fraction < 1.0) return advance_each(self, problem, targets, last, x, moved, arrived);
    PD_TRY(pd_move_towards(context, n, fixed, 1.0, targets, x));
    PD_TRY(pd_contact_move_prescribed(contact, 1.0));
    *moved = *arrived = 1;
done:
    return status;
}
