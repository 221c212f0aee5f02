/* Elements of materials of the caller, by the colours of a sweep; see custom_colours.h. */
#include "dynamics/methods/custom_colours.h"

#include "dynamics/problem/custom_elements.h"
#include "linear/upload.h"

#include <stdlib.h>

enum { MOST_KINDS = 2, STRIDE = 4 };

/* Of one kind: the elements of each colour, ascending. A colour has an element at most once, since its vertices share none. */
typedef struct listing {
    int set;
    int *start;             /* H [n_colours+1] */
    int *listed, *resident; /* H, B */
} listing;

struct pd_custom_colours {
    int n;
    listing kinds[MOST_KINDS];
};

void pd_custom_colours_destroy(pd_custom_colours *self, pd_context *context) {
    if (!self) return;
    for (int i = 0; i < self->n; i++) {
        free(self->kinds[i].start);
        free(self->kinds[i].listed);
        pd_memory_destroy(context, self->kinds[i].resident);
    }
    free(self);
}

static pd_status list_elements(listing *out, const pd_problem *problem, int n_colours, const int *colours) {
    const pd_element_set *set = &problem->sets[out->set];
    const int k = pd_kind_shape_of(set->kind).vertices;
    out->start = calloc((size_t)n_colours + 2, sizeof(int));
    out->listed = malloc((size_t)set->n * (size_t)k * sizeof(int) + 1);
    if (!out->start || !out->listed)
        return pd_fail(problem->error, PD_ERROR_MEMORY, "out of memory for the colours of %d elements", set->n);
    int *next = out->start + 1; // start is shifted by one until the lists are filled
    for (int corner = 0; corner < set->n * k; corner++)
        if (!problem->fixed[set->vertices[corner]]) next[colours[set->vertices[corner]] + 1]++;
    for (int c = 0; c < n_colours; c++) next[c + 1] += next[c];
    for (int corner = 0; corner < set->n * k; corner++)
        if (!problem->fixed[set->vertices[corner]]) out->listed[next[colours[set->vertices[corner]]]++] = corner / k;
    return pd_upload(problem->context, (void **)&out->resident, out->listed, (size_t)out->start[n_colours] * sizeof(int));
}

pd_status pd_custom_colours_create(pd_custom_colours **out, const pd_problem *problem, const pd_vertex_sweep *sweep, const int *colours) {
    pd_status status = PD_OK;
    *out = NULL;
    if (!problem->custom) return PD_OK;
    pd_custom_colours *self = calloc(1, sizeof *self);
    if (!self) return pd_fail(problem->error, PD_ERROR_MEMORY, "out of memory");
    for (int s = 0; s < problem->n_sets && self->n < MOST_KINDS; s++) {
        if (!pd_kind_is_custom(problem->sets[s].kind)) continue;
        self->kinds[self->n++].set = s;
        PD_TRY(list_elements(&self->kinds[self->n - 1], problem, sweep->n_colours, colours));
    }
    *out = self;
done:
    if (status) pd_custom_colours_destroy(self, problem->context);
    return status;
}

pd_status pd_custom_colours_refresh(const pd_custom_colours *self, const pd_problem *problem, const pd_vertex_sweep *sweep, int colour,
                                    const real *positions) {
    pd_status status = PD_OK;
    for (int i = 0; i < self->n && !status; i++) {
        const listing *at = &self->kinds[i];
        const int begin = at->start[colour], n = at->start[colour + 1] - begin;
        status = pd_custom_refresh_listed(problem, at->set, PD_REQUEST_STRESS | PD_REQUEST_HESSIAN, n, at->listed + begin,
                                          at->resident + begin, STRIDE, positions, sweep->corner_slots[at->set]);
    }
    return status;
}
