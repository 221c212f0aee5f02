/* Elements of a sweep with the energy w/2 |F|^2 of one column F, flat hinges and straight rods. They are linear in the positions, so all
 * those of a vertex are one sum over its neighbours, sum_j k_ij (x_j - x_i) with k_ij = sum over the elements of w c_i c_j, since the c
 * of an element sum to zero. */
#include "dynamics/methods/corner_groups.h"
#include "linear/upload.h"

#include <stdlib.h>

/* Row by row; the vertices of a row are in the order of their first corner. */
typedef struct rows {
    const pd_sweep_order *order;
    int *entry_of;   /* [n_vertices] the entry of a vertex in the last row that contains it */
    int *start;      /* [n+1] */
    int *slots;      /* [.] */
    double *weights; /* [.] */
} rows;

/* c of vertex j of an element whose F is sum c_j x_j. */
static double factor(const pd_element_set *set, const double *rest, int j) {
    double sum = 0.0;
    if (j > 0) return rest[j - 1];
    for (int i = 1; i < pd_kind_shape_of(set->kind).vertices; i++) sum += rest[i - 1];
    return -sum;
}

/* Adds corner `position` of an element to the row that begins at `first`; returns the place of the next entry. slots NULL: only counts. */
static int add_corner(rows *self, const pd_element_set *set, int element, int position, int first, int end) {
    pd_kind_shape shape = pd_kind_shape_of(set->kind);
    const int *vertices = set->vertices + (size_t)shape.vertices * (size_t)element;
    const double *rest = set->rest + (size_t)shape.rest * (size_t)element;
    double w = set->parameters[(size_t)shape.parameters * (size_t)element], own = factor(set, rest, position);
    for (int j = 0; j < shape.vertices; j++) {
        if (j == position) continue;
        int entry = self->entry_of[vertices[j]];
        if (entry < first) {
            entry = self->entry_of[vertices[j]] = end++;
            if (self->slots) self->slots[entry] = self->order->slot_of[vertices[j]], self->weights[entry] = 0.0;
        }
        if (self->slots) self->weights[entry] += w * own * factor(set, rest, j);
    }
    return end;
}

static void fill(rows *self) {
    const pd_problem *problem = self->order->problem;
    const pd_corners *corners = problem->corners;
    int end = 0;
    for (int i = 0; i < problem->model->n_vertices; i++) self->entry_of[i] = -1;
    for (int t = 0; t < self->order->n; t++) {
        int vertex = self->order->vertices[t], first = end;
        self->start[t] = first;
        for (int s = corners->start[vertex]; s < corners->start[vertex + 1]; s++) {
            int element, position;
            const pd_element_set *set = pd_corner_set(problem->sets, corners->corners[s], &element, &position);
            if (pd_corner_family(set, element, self->order->grouped) == PD_CORNERS_QUADRATIC)
                end = add_corner(self, set, element, position, first, end);
        }
    }
    self->start[self->order->n] = end;
}

static int has_any(const pd_sweep_order *order) {
    for (int s = 0; s < order->problem->n_sets; s++) {
        const pd_element_set *set = &order->problem->sets[s];
        for (int e = 0; e < set->n && pd_kind_shape_of(set->kind).corners == PD_CORNERS_QUADRATIC; e++)
            if (pd_corner_family(set, e, order->grouped) == PD_CORNERS_QUADRATIC) return 1;
    }
    return 0;
}

pd_status pd_neighbour_rows_create(const pd_sweep_order *order, pd_vertex_sweep *out) {
    const pd_problem *problem = order->problem;
    pd_status status = PD_OK;
    if (!has_any(order)) return PD_OK;
    rows self = {.order = order};
    self.entry_of = malloc((size_t)problem->model->n_vertices * sizeof(int) + 1);
    self.start = malloc(((size_t)order->n + 1) * sizeof(int));
    if (!self.entry_of || !self.start) goto memory;
    fill(&self); // at most three entries per corner
    size_t n = (size_t)self.start[order->n];
    self.slots = malloc(n * sizeof(int) + 1);
    self.weights = malloc(n * sizeof(double) + 1);
    if (!self.slots || !self.weights) goto memory;
    fill(&self);
    PD_TRY(pd_upload(problem->context, (void **)&out->neighbours.start, self.start, ((size_t)order->n + 1) * sizeof(int)));
    PD_TRY(pd_upload(problem->context, (void **)&out->neighbours.slots, self.slots, n * sizeof(int)));
    PD_TRY(pd_upload_reals(problem->context, &out->neighbours.weights, self.weights, n));
    goto done;
memory:
    status = pd_fail(problem->error, PD_ERROR_MEMORY, "out of memory for a sweep over %d vertices", order->n);
done:
    free(self.entry_of);
    free(self.start);
    free(self.slots);
    free(self.weights);
    return status;
}
