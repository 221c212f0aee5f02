/* Extended position-based dynamics [Macklin, Müller, Chentanez 2016, XPBD, Algorithm 1].
 *
 * Every element is a constraint with compliance (elements/xpbd.h; a neo-Hookean tet is two), and an iteration is one Gauss-Seidel sweep
 * over all of them, colour after colour. The multipliers are zero at the start of a step and are kept through it: the more
 * iterations, the nearer the stiffness is to the material's, whatever their number. The sweeps start from the inertial target y; another
 * first guess is where the record begins, and the first iteration leaves it for y.
 *
 * No potential is minimised. Where the constraints' gradients are constant, as in a chain along a line, the limit is the step of
 * implicit Euler; else it is not quite, since the moves of a multiplier are not turned with the gradient they were made along, and the
 * Hessians of C are left out [Macklin et al. 2016, Eq. 16]. The method has a damping of its own, which is not built:
 * the damping of G plays no part. There is no quasistatic form, since inertia enters through y.
 *
 * The sweep moves a copy of the positions, and hands the frame the sum of each vertex's moves: float32 loses nothing to the size of
 * the coordinates. */
#include "dynamics/method.h"
#include "host/element_colouring.h"
#include "linear/upload.h"

#include <stdlib.h>

struct pd_xpbd {
    pd_context *context;
    pd_constraint_sweep sweep;
    int n_colours;
    int *segment_start, *segment_kinds; /* owned, of the sweep */
    real *positions;                    /* B [n,3] of the sweep */
};

void pd_xpbd_destroy(pd_xpbd *xpbd) {
    if (!xpbd) return;
    for (int s = 0; s < PD_KIND_COUNT; s++) {
        pd_memory_destroy(xpbd->context, xpbd->sweep.multipliers[s]);
        pd_memory_destroy(xpbd->context, xpbd->sweep.normals[s]);
    }
    pd_memory_destroy(xpbd->context, xpbd->sweep.elements);
    pd_memory_destroy(xpbd->context, xpbd->positions);
    free(xpbd->segment_start);
    free(xpbd->segment_kinds);
    free(xpbd);
}

int pd_xpbd_colours(const pd_xpbd *xpbd) { return xpbd ? xpbd->n_colours : 0; }

/* A neo-Hookean tet is two constraints, of which one is smooth. */
static size_t multiplier_bytes(const pd_elements *g) { return (size_t)g->n * (g->kind == PD_NEO_HOOKEAN_TET ? 2 : 1) * sizeof(real); }

static size_t normal_bytes(const pd_elements *g) { return (size_t)g->n * 3 * (size_t)pd_kind_shape_of(g->kind).columns * sizeof(real); }

/* Elements by colour, and by set and number within a colour; segments end where colour or set changes. */
static pd_status sort_elements(pd_simulation *self, pd_xpbd *xpbd, const int *colours, int n_elements) {
    size_t bytes = ((size_t)n_elements + 2) * sizeof(int), most = (size_t)xpbd->n_colours * (size_t)self->n_sets + 2;
    int *start = calloc((size_t)xpbd->n_colours + 2, sizeof(int)), *order = malloc(bytes), *set_of = malloc(bytes), *number = malloc(bytes);
    pd_status status = PD_OK;
    xpbd->segment_start = calloc(most, sizeof(int));
    xpbd->segment_kinds = calloc(most, sizeof(int));
    if (!start || !order || !set_of || !number || !xpbd->segment_start || !xpbd->segment_kinds) {
        status = pd_fail(&self->error, PD_ERROR_MEMORY, "out of memory for the constraints of %d elements", n_elements);
        goto done;
    }
    for (int e = 0; e < n_elements; e++) start[colours[e] + 1]++;
    for (int c = 0; c < xpbd->n_colours; c++) start[c + 1] += start[c];
    for (int s = 0, e = 0; s < self->n_sets; s++)
        for (int i = 0; i < self->sets[s].n; i++, e++) {
            int place = start[colours[e]]++;
            order[place] = e;
            set_of[place] = s;
            number[place] = i;
        }
    int n = 0;
    for (int place = 0; place < n_elements; place++) {
        if (place == 0 || set_of[place] != set_of[place - 1] || colours[order[place]] != colours[order[place - 1]]) {
            xpbd->segment_start[n] = place;
            xpbd->segment_kinds[n++] = set_of[place];
        }
    }
    xpbd->segment_start[n] = n_elements;
    xpbd->sweep.n_segments = n;
    xpbd->sweep.segment_start = xpbd->segment_start;
    xpbd->sweep.segment_kinds = xpbd->segment_kinds;
    PD_TRY(pd_upload_ints(self->context, &xpbd->sweep.elements, number, (size_t)n_elements));
done:
    free(start);
    free(order);
    free(set_of);
    free(number);
    return status;
}

static pd_status prepare(pd_simulation *self) {
    pd_status status = PD_OK;
    int n_elements = 0, *colours = NULL;
    pd_xpbd *xpbd = NULL;
    if (!(self->settings.h > 0))
        return pd_fail(&self->error, PD_ERROR_VALUE,
                       "dt: None (quasistatic), but XPBD needs a time step: inertia and loads enter only through its start");
    for (int s = 0; s < self->n_sets; s++) n_elements += self->sets[s].n;
    xpbd = calloc(1, sizeof *xpbd);
    colours = malloc(((size_t)n_elements + 1) * sizeof *colours);
    if (!xpbd || !colours) {
        status = pd_fail(&self->error, PD_ERROR_MEMORY, "out of memory for the constraints of %d elements", n_elements);
        goto done;
    }
    xpbd->context = self->context;
    PD_TRY(pd_element_colouring_create(colours, &xpbd->n_colours, self->sets, self->n_sets, self->fixed, &self->corners, &self->error));
    PD_TRY(sort_elements(self, xpbd, colours, n_elements));
    for (int s = 0; s < self->model.n_kinds; s++) {
        const pd_elements *g = &self->model.kinds[s];
        PD_TRY(pd_memory_create(self->context, (void **)&xpbd->sweep.multipliers[s], multiplier_bytes(g)));
        PD_TRY(pd_memory_create(self->context, (void **)&xpbd->sweep.normals[s], normal_bytes(g)));
    }
    PD_TRY(pd_memory_create(self->context, (void **)&xpbd->positions, (size_t)self->model.n_vertices * 3 * sizeof(real)));
done:
    free(colours);
    if (status)
        pd_xpbd_destroy(xpbd);
    else
        self->xpbd = xpbd;
    return status;
}

/* Multipliers to zero, positions to y. */
static pd_status start(pd_simulation *self) {
    pd_xpbd *xpbd = self->xpbd;
    pd_status status = PD_OK;
    for (int s = 0; s < self->model.n_kinds; s++) {
        const pd_elements *g = &self->model.kinds[s];
        PD_TRY(pd_memory_clear(self->context, xpbd->sweep.multipliers[s], multiplier_bytes(g)));
        PD_TRY(pd_memory_clear(self->context, xpbd->sweep.normals[s], normal_bytes(g)));
    }
    PD_TRY(pd_add_scaled(self->context, &self->model, self->x, -1.0, self->offset, xpbd->positions));
    PD_TRY(pd_memory_copy(self->context, self->direction, self->offset, (size_t)self->model.n_vertices * 3 * sizeof(real)));
done:
    return status;
}

static pd_status direction(pd_simulation *self, int *stalled) {
    pd_xpbd *xpbd = self->xpbd;
    pd_status status = PD_OK;
    size_t bytes = (size_t)self->model.n_vertices * 3 * sizeof(real);
    *stalled = 0;
    if (self->iteration == 0) {
        PD_TRY(start(self));
    } else {
        PD_TRY(pd_memory_copy(self->context, xpbd->positions, self->x, bytes));
        PD_TRY(pd_memory_clear(self->context, self->direction, bytes));
    }
    PD_TRY(pd_sweep_constraints(self->context, &self->model, &xpbd->sweep, 1.0 / (self->settings.h * self->settings.h), xpbd->positions,
                                self->direction));
done:
    return status;
}

const pd_method pd_xpbd_method = {.name = "XPBD", .prepare = prepare, .direction = direction, .capturable = pd_always_capturable};
