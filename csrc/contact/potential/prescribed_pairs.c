/* The check of prescribed motions against each other; see prescribed_pairs.h. */
#include "contact/potential/prescribed_pairs.h"

#include "contact/potential/ccd_limiter.h"
#include "linear/upload.h"

#include <stdlib.h>
#include <string.h>

/* A time of impact leaves a tenth of a gap. A path that is not complete after this many impacts closes its gap. */
enum { MOST_IMPACTS = 12 };

struct pd_prescribed_pairs {
    pd_context *context;
    int n_points;
    pd_ccd_limiter *limiter;
    real *radii; /* B [n_points] m */
    int *owners; /* [n_points] */
    int *planes; /* [n_planes] their points */
    int n_planes;
    int n_names;
    char **names; /* [n_names] */
};

void pd_prescribed_pairs_destroy(pd_prescribed_pairs *self) {
    if (!self) return;
    pd_ccd_limiter_destroy(self->limiter);
    pd_memory_destroy(self->context, self->radii);
    for (int k = 0; k < self->n_names && self->names; k++) free(self->names[k]);
    free(self->names);
    free(self->owners);
    free(self->planes);
    free(self);
}

static pd_status keep_names(pd_prescribed_pairs *self, const pd_contact_description *d) {
    size_t n = (size_t)d->friction.n_owners, points = (size_t)self->n_points;
    self->names = calloc(n + 1, sizeof *self->names);
    self->owners = malloc(points * sizeof *self->owners + 1);
    self->n_planes = d->n_planes;
    self->planes = malloc((size_t)d->n_planes * sizeof *self->planes + 1);
    if (!self->names || !self->owners || !self->planes) goto memory;
    if (d->n_planes) memcpy(self->planes, d->planes, (size_t)d->n_planes * sizeof *self->planes);
    memcpy(self->owners, d->friction.owners, points * sizeof *self->owners);
    for (self->n_names = 0; self->n_names < (int)n; self->n_names++) {
        size_t bytes = strlen(d->prescribed.names[self->n_names]) + 1;
        char *name = self->names[self->n_names] = malloc(bytes);
        if (!name) goto memory;
        memcpy(name, d->prescribed.names[self->n_names], bytes);
    }
    return PD_OK;

memory:
    return pd_fail(pd_context_error(self->context), PD_ERROR_MEMORY, "out of memory for the names of %zu bodies and obstacles", n);
}

pd_status pd_prescribed_pairs_create(pd_prescribed_pairs **out, pd_context *context, const pd_contact_description *d) {
    const pd_prescribed_description *prescribed = &d->prescribed;
    pd_status status = PD_OK;
    *out = NULL;
    if (!prescribed->phase.n_points) return PD_OK;
    pd_prescribed_pairs *self = calloc(1, sizeof *self);
    if (!self) return pd_fail(pd_context_error(context), PD_ERROR_MEMORY, "out of memory for contact");
    self->context = context;
    self->n_points = prescribed->phase.n_points;
    PD_TRY(keep_names(self, d));
    PD_TRY(pd_upload(context, (void **)&self->radii, prescribed->radii, (size_t)self->n_points * sizeof *self->radii));
    const pd_ccd_limiter_description limiter = {.phase = prescribed->phase,
                                                .activation = d->activation,
                                                .radii = self->radii,
                                                .planes = self->planes,
                                                .n_planes = prescribed->n_tested ? self->n_planes : 0,
                                                .tested = prescribed->tested,
                                                .n_tested = prescribed->n_tested};
    PD_TRY(pd_ccd_limiter_create(&self->limiter, context, &limiter));
done:
    if (status)
        pd_prescribed_pairs_destroy(self);
    else
        *out = self;
    return status;
}

/* A point of each side of the first pair that meets on the remaining path; -1 if none is found. */
static pd_status find_sides(pd_prescribed_pairs *self, double rounding, int sides[2]) {
    pd_context *context = self->context;
    const pd_active_pairs *hits;
    double fraction;
    uint64_t key;
    size_t n = 0;
    int complete = 0, points[4];
    pd_status status = PD_OK;
    sides[0] = sides[1] = -1;
    while (!complete) {
        PD_TRY(pd_ccd_limiter_fraction_async(self->limiter, rounding, &hits));
        PD_TRY(pd_context_synchronise(context));
        PD_TRY(pd_ccd_limiter_fraction_result(self->limiter, &fraction, &complete));
        if (complete) PD_TRY(pd_ccd_limiter_hits(self->limiter, &hits, &n, &complete));
    }
    if (n == 0) return PD_OK;
    PD_TRY(pd_memory_download(context, points, hits->points, sizeof points));
    PD_TRY(pd_memory_download(context, &key, hits->key, sizeof key));
    int plane = (int)(key >> 31 & 0x7fffffff); // of a point and a plane
    sides[0] = points[0];
    sides[1] = points[3] >= 0 ? points[3] : plane < self->n_planes ? self->planes[plane] : -1;
done:
    return status;
}

static const char *name_of(const pd_prescribed_pairs *self, int point) {
    return point >= 0 && point < self->n_points ? self->names[self->owners[point]] : "?";
}

pd_status pd_prescribed_pairs_check(pd_prescribed_pairs *self, pd_contact *contact, const real *x_t, const real *x) {
    double fraction = 0.0;
    int sides[2];
    pd_status status = PD_OK;
    if (!self) return PD_OK;
    real *start = pd_ccd_limiter_start(self->limiter), *end = pd_ccd_limiter_end(self->limiter);
    double rounding = pd_contact_rounding(contact);
    PD_TRY(pd_contact_points_begun(contact, x_t, start));
    PD_TRY(pd_contact_points_now(contact, x, end));
    for (int k = 0; k < MOST_IMPACTS && fraction < 1.0; k++) {
        PD_TRY(pd_ccd_limiter_fraction(self->limiter, rounding, NULL, 0, &fraction));
        if (fraction < 1.0) PD_TRY(pd_move_towards(self->context, self->n_points, NULL, fraction, end, start));
    }
    if (fraction == 1.0) return PD_OK;
    PD_TRY(find_sides(self, rounding, sides));
    status = pd_fail(pd_context_error(self->context), PD_ERROR_VALUE,
                     "motion: '%s' and '%s' meet in this step where both are pinned or scripted; contact moves neither of them, so they "
                     "would pass through each other; give motions that keep them apart",
                     name_of(self, sides[0]), name_of(self, sides[1]));
done:
    return status;
}
