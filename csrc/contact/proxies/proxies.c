/* Contact by proxies; see proxies.h. */
#include "contact/proxies/proxies.h"

#include "linear/upload.h"
#include "loops/proxy_loops.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A product of two weights of a proxy, and its entry of the matrix. */
typedef struct product {
    int row, column, proxy;
    double weight;
} product;

struct pd_proxies {
    pd_context *context;
    pd_colliders *colliders;
    pd_rest_bodies *bodies; /* NULL: none */
    pd_proxy_points points;
    pd_proxy_points acted;        /* the springs of the last step, with their own active, targets and carriers; per_step only */
    int per_step, held, iterated; /* iterated: `before` is of an iteration of this step */
    int has_acted;                /* `acted` belongs to the present positions */

    int n_touched;                  /* free vertices with a role */
    int *vertices, *start, *roles;  /* B [n_touched], [n_touched+1], [start[n_touched]] */
    int *host_rows;                 /* H [n,4] free vertices, otherwise -1 */
    real *host_weights, *host_c;    /* H [n,4], [n] */
    int *host_carriers;             /* H [n,4] with bodies: free vertices that carry the target, otherwise -1 */
    real *host_shares;              /* H [n,4] their weights */
    real *y, *target;               /* H [n,3] */
    unsigned char *active, *before; /* H [n] */

    product *products; /* H [n_products] by entry, then by proxy; with bodies only of active proxies */
    int n_products, n_vertices;
    pd_entries entries;
    int *entry_rows, *entry_columns; /* H [entries.n] */
    double *values, *bounds;         /* H [entries.n], [n_vertices] */
    long long entered, left;
};

static int by_entry(const void *a, const void *b) {
    const product *p = a, *q = b;
    if (p->row != q->row) return p->row < q->row ? -1 : 1;
    if (p->column != q->column) return p->column < q->column ? -1 : 1;
    return (p->proxy > q->proxy) - (p->proxy < q->proxy);
}

/* The free vertices of a spring, at the proxy and at its target, and their weights. Returns their number. */
static int corners_of(const pd_proxies *self, int p, int rows[8], double weights[8]) {
    int n = 0;
    for (int a = 0; a < 4; a++) {
        int row = self->host_rows[4 * p + a];
        if (row >= 0) rows[n] = row, weights[n++] = (double)self->host_weights[4 * p + a];
    }
    for (int a = 0; self->bodies && a < 4; a++) {
        int row = self->host_carriers[4 * p + a], k = 0;
        if (row < 0) continue;
        while (k < n && rows[k] != row) k++;
        if (k == n) rows[n] = row, weights[n++] = 0.0;
        weights[k] -= (double)self->host_shares[4 * p + a];
    }
    return n;
}

/* Lists the products of the entries on and below the diagonal: of all proxies, or with bodies of the active ones. */
static void list_products(pd_proxies *self) {
    int next = 0;
    for (int p = 0; p < self->points.n; p++) {
        int rows[8], n = 0;
        double weights[8];
        if (!self->bodies || self->active[p]) n = corners_of(self, p, rows, weights);
        for (int a = 0; a < n; a++)
            for (int b = 0; b <= a; b++) {
                double weight = weights[a] * weights[b];
                if (weight == 0.0) continue;
                int i = rows[a], j = rows[b];
                self->products[next++] = (product){i > j ? i : j, i > j ? j : i, p, weight};
            }
    }
    qsort(self->products, (size_t)next, sizeof *self->products, by_entry);
    self->n_products = next;
}

/* Lists the entries of W^T C W. A change of a row or column counts as a revision. */
static void list_entries(pd_proxies *self) {
    int n = 0, same = 1;
    list_products(self);
    for (int k = 0; k < self->n_products; k++) {
        const product *one = &self->products[k], *before = one - 1;
        if (k > 0 && before->row == one->row && before->column == one->column) continue;
        same &= n < self->entries.n && self->entry_rows[n] == one->row && self->entry_columns[n] == one->column;
        self->entry_rows[n] = one->row, self->entry_columns[n++] = one->column;
    }
    self->entries.revision += !(same && n == self->entries.n);
    self->entries.n = n;
}

static pd_status make_entries(pd_proxies *self) {
    size_t n = (size_t)self->points.n, most = (self->bodies ? 36 : 10) * n + 1;
    if (most > INT_MAX) return pd_fail(pd_context_error(self->context), PD_ERROR_VALUE, "proxies: %zu are too many", n);
    self->products = malloc(most * sizeof *self->products);
    self->entry_rows = malloc(most * sizeof(int));
    self->entry_columns = malloc(most * sizeof(int));
    self->values = calloc(most, sizeof(double));
    if (!self->products || !self->entry_rows || !self->entry_columns || !self->values)
        return pd_fail(pd_context_error(self->context), PD_ERROR_MEMORY, "out of memory for %zu proxies", n);
    self->entries =
        (pd_entries){.capacity = (int)most - 1, .rows = self->entry_rows, .columns = self->entry_columns, .values = self->values};
    list_entries(self);
    self->entries.revision = 0; // their capacity suffices from the start
    return PD_OK;
}

/* Lists the roles of the free vertices. */
static pd_status make_roles(pd_proxies *self) {
    int n = self->points.n, touched = 0;
    pd_status status = PD_OK;
    int *count = calloc((size_t)self->n_vertices + 1, sizeof(int)), *vertices = malloc((4 * (size_t)n + 1) * sizeof(int)),
        *start = malloc((4 * (size_t)n + 2) * sizeof(int)), *roles = malloc((4 * (size_t)n + 1) * sizeof(int));
    if (!count || !vertices || !start || !roles) {
        status = pd_fail(pd_context_error(self->context), PD_ERROR_MEMORY, "out of memory for %d proxies", n);
        goto done;
    }
    for (int r = 0; r < 4 * n; r++)
        if (self->host_rows[r] >= 0) count[self->host_rows[r]]++;
    start[0] = 0;
    for (int v = 0; v < self->n_vertices; v++) {
        if (!count[v]) continue;
        vertices[touched] = v;
        start[touched + 1] = start[touched] + count[v];
        count[v] = start[touched++];
    }
    for (int r = 0; r < 4 * n; r++)
        if (self->host_rows[r] >= 0) roles[count[self->host_rows[r]]++] = r;
    self->n_touched = touched;
    PD_TRY(pd_upload_ints(self->context, &self->vertices, vertices, (size_t)touched));
    PD_TRY(pd_upload_ints(self->context, &self->start, start, (size_t)touched + 1));
    PD_TRY(pd_upload_ints(self->context, &self->roles, roles, (size_t)start[touched]));
done:
    free(count);
    free(vertices);
    free(start);
    free(roles);
    return status;
}

/* Creates the bodies, and the arrays for targets that they carry. */
static pd_status create_bodies(pd_proxies *self, const pd_rest_description *rest, const unsigned char *fixed) {
    size_t n = (size_t)self->points.n;
    pd_status status = PD_OK;
    self->host_carriers = malloc((4 * n + 1) * sizeof(int));
    self->host_shares = calloc(4 * n + 1, sizeof(real));
    if (!self->host_carriers || !self->host_shares)
        return pd_fail(pd_context_error(self->context), PD_ERROR_MEMORY, "out of memory for %zu proxies", n);
    for (size_t r = 0; r < 4 * n; r++) self->host_carriers[r] = -1;
    PD_TRY(pd_upload_ints(self->context, &self->points.target_rows, self->host_carriers, 4 * n));
    PD_TRY(pd_upload_ints(self->context, &self->points.free_rows, self->host_carriers, 4 * n));
    PD_TRY(pd_upload(self->context, (void **)&self->points.target_weights, self->host_shares, 4 * n * sizeof(real)));
    if (self->per_step) {
        PD_TRY(pd_memory_create(self->context, (void **)&self->acted.target_rows, 4 * n * sizeof(int) + 1));
        PD_TRY(pd_memory_create(self->context, (void **)&self->acted.target_weights, 4 * n * sizeof(real) + 1));
    }
    status = pd_rest_bodies_create(&self->bodies, self->context, rest, self->n_vertices, fixed, &self->points);
done:
    return status;
}

pd_status pd_proxies_create(pd_proxies **out, pd_context *context, const pd_proxies_description *d, int n_vertices,
                            const unsigned char *fixed) {
    pd_status status = PD_OK;
    size_t n = (size_t)d->n;
    pd_proxies *self = *out = calloc(1, sizeof *self);
    if (!self) return pd_fail(pd_context_error(context), PD_ERROR_MEMORY, "out of memory for proxies");
    self->context = context;
    self->per_step = d->per_step;
    self->n_vertices = n_vertices;
    self->points.n = d->n;
    self->host_rows = malloc((4 * n + 1) * sizeof(int));
    self->host_weights = malloc((4 * n + 1) * sizeof(real));
    self->host_c = malloc((n + 1) * sizeof(real));
    self->y = malloc((3 * n + 1) * sizeof(real));
    self->target = malloc((3 * n + 1) * sizeof(real));
    self->active = calloc(n + 1, 1);
    self->before = calloc(n + 1, 1);
    self->bounds = calloc((size_t)n_vertices + 1, sizeof(double));
    if (!self->host_rows || !self->host_weights || !self->host_c || !self->y || !self->target || !self->active || !self->before ||
        !self->bounds)
        PD_TRY(pd_fail(pd_context_error(context), PD_ERROR_MEMORY, "out of memory for %d proxies", d->n));
    for (size_t r = 0; r < 4 * n; r++) self->host_rows[r] = d->rows[r] >= 0 && fixed[d->rows[r]] ? -1 : d->rows[r];
    memcpy(self->host_weights, d->weights, 4 * n * sizeof(real));
    memcpy(self->host_c, d->stiffness, n * sizeof(real));
    PD_TRY(pd_upload_ints(context, (int **)(uintptr_t)&self->points.rows, d->rows, 4 * n));
    PD_TRY(pd_upload(context, (void **)(uintptr_t)&self->points.weights, d->weights, 4 * n * sizeof(real)));
    PD_TRY(pd_upload(context, (void **)(uintptr_t)&self->points.stiffness, d->stiffness, n * sizeof(real)));
    PD_TRY(pd_memory_create(context, (void **)&self->points.y, 3 * n * sizeof(real) + 1));
    PD_TRY(pd_memory_create(context, (void **)&self->points.target, 3 * n * sizeof(real) + 1));
    PD_TRY(pd_memory_create(context, (void **)&self->points.depth, n * sizeof(real) + 1));
    PD_TRY(pd_memory_create(context, (void **)&self->points.active, n + 1));
    PD_TRY(pd_memory_clear(context, self->points.target, 3 * n * sizeof(real) + 1)); // inactive proxies keep zeros
    if (self->per_step) {
        PD_TRY(pd_memory_create(context, (void **)&self->acted.target, 3 * n * sizeof(real) + 1));
        PD_TRY(pd_memory_create(context, (void **)&self->acted.active, n + 1));
    }
    PD_TRY(pd_colliders_create(&self->colliders, context, d->n_colliders));
    // until the first placement: planes without a normal, which contain no point
    PD_TRY(pd_memory_clear(context, self->colliders->memory, ((size_t)d->n_colliders + 1) * sizeof *self->colliders->memory));
    PD_TRY(make_roles(self));
    if (d->rest) PD_TRY(create_bodies(self, d->rest, fixed));
    status = make_entries(self);
done:
    if (status) {
        pd_proxies_destroy(self);
        *out = NULL;
    }
    return status;
}

void pd_proxies_destroy(pd_proxies *self) {
    if (!self) return;
    const void *memory[] = {self->points.rows,
                            self->points.weights,
                            self->points.stiffness,
                            self->points.y,
                            self->points.target,
                            self->points.depth,
                            self->points.active,
                            self->points.target_rows,
                            self->points.free_rows,
                            self->points.target_weights,
                            self->acted.target,
                            self->acted.active,
                            self->acted.target_rows,
                            self->acted.target_weights,
                            self->vertices,
                            self->start,
                            self->roles};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) pd_memory_destroy(self->context, (void *)(uintptr_t)memory[i]);
    pd_rest_bodies_destroy(self->bodies);
    pd_colliders_destroy(self->colliders);
    void *host[] = {self->host_rows, self->host_weights, self->host_c,        self->y,          self->target,
                    self->active,    self->before,       self->products,      self->entry_rows, self->entry_columns,
                    self->values,    self->bounds,       self->host_carriers, self->host_shares};
    for (size_t i = 0; i < sizeof host / sizeof *host; i++) free(host[i]);
    free(self);
}

pd_colliders *pd_proxies_colliders(pd_proxies *self) { return self->colliders; }
int pd_proxies_count(const pd_proxies *self) { return self->points.n; }
int pd_proxies_per_step(const pd_proxies *self) { return self->per_step; }
const pd_entries *pd_proxies_pattern(const pd_proxies *self) { return &self->entries; }
const double *pd_proxies_bounds(const pd_proxies *self) { return self->bounds; }

/* The first proxy with an undecided position; n: none. Synchronises. */
static pd_status first_lost(pd_proxies *self, int *out) {
    int n = self->points.n;
    pd_status status = pd_memory_download(self->context, self->active, self->points.active, (size_t)n);
    for (*out = 0; !status && *out < n && self->active[*out] != PD_PROXY_LOST;) ++*out;
    return status;
}

/* Fails with the name of proxy p and of the first collider that cannot decide whether p is inside. */
static pd_status refuse(pd_proxies *self, int p) {
    const pd_colliders *colliders = self->colliders;
    pd_status status = PD_OK;
    int which = -1, lost = -1;
    real y[3], place[3];
    double last[3], beyond = 0.0;
    while (lost != p && ++which < colliders->n) {
        if (!colliders->known[which].grid.part) continue;
        PD_TRY(pd_proxy_detect(self->context, 1, colliders->memory + which, &self->points));
        PD_TRY(first_lost(self, &lost));
    }
    PD_TRY(pd_memory_download(self->context, y, self->points.y + 3 * (size_t)p, sizeof y));
    const pd_collider *of = &colliders->known[which];
    pd_collider_place(of, y, place);
    for (int i = 0; i < 3; i++) {
        last[i] = (double)(of->grid.n[i] - 1) * (double)of->grid.spacing;
        double over = fmax(fmax(-(double)place[i], (double)place[i] - last[i]), 0.0);
        beyond += over * over;
    }
    status = pd_fail(pd_context_error(self->context), PD_ERROR_VALUE,
                     "field: proxy %d at (%g, %g, %g) m is %g m outside the grid of obstacle %d of the field, in which it would be at "
                     "(%g, %g, %g) m from node (0, 0, 0), with the last at (%g, %g, %g) m. That grid is a part of a shape, and its nearest "
                     "value does not reach so far: the distance there is unknown; give a grid that covers the path",
                     p, (double)y[0], (double)y[1], (double)y[2], sqrt(beyond), which, (double)place[0], (double)place[1], (double)place[2],
                     last[0], last[1], last[2]);
done:
    return status;
}

/* Errors: PD_ERROR_VALUE if a part of a shape cannot decide whether a proxy is inside. */
static pd_status detect(pd_proxies *self) {
    const pd_colliders *colliders = self->colliders;
    int parts = 0, lost;
    pd_status status = pd_proxy_detect(self->context, colliders->n, colliders->memory, &self->points);
    for (int k = 0; k < colliders->n; k++) parts |= colliders->known[k].grid.part;
    if (status || !parts) return status;
    status = first_lost(self, &lost);
    return status || lost == self->points.n ? status : refuse(self, lost);
}

/* The proxies at x, and the active ones, unless these are held. */
static pd_status find(pd_proxies *self, const real *x) {
    const pd_proxy_points *points = &self->points;
    pd_status status = pd_embed_points(self->context, points->n, points->rows, points->weights, x, points->y);
    if (!status && !self->held) status = detect(self);
    if (!self->bodies || status) return status;
    if (!self->held) status = pd_rest_bodies_detect(self->bodies, x, points);
    return status ? status : pd_proxy_carry(self->context, x, points);
}

pd_status pd_proxies_begin(pd_proxies *self, const real *x) {
    self->held = self->iterated = 0;
    self->entered = self->left = 0;
    pd_status status = self->per_step ? find(self, x) : PD_OK;
    self->held = self->per_step && !status;
    return status;
}

/* Stores the held springs, since a gradient or an energy after the step detects others. */
static pd_status keep_acted(pd_proxies *self) {
    const pd_proxy_points *points = &self->points;
    pd_proxy_points *acted = &self->acted;
    size_t n = (size_t)points->n;
    pd_status status = PD_OK;
    acted->n = points->n;
    PD_TRY(pd_memory_copy(self->context, acted->target, points->target, 3 * n * sizeof(real)));
    PD_TRY(pd_memory_copy(self->context, acted->active, points->active, n));
    if (self->bodies) {
        PD_TRY(pd_memory_copy(self->context, acted->target_rows, points->target_rows, 4 * n * sizeof(int)));
        PD_TRY(pd_memory_copy(self->context, acted->target_weights, points->target_weights, 4 * n * sizeof(real)));
    }
    self->has_acted = 1;
done:
    return status;
}

pd_status pd_proxies_end(pd_proxies *self, int completed) {
    pd_status status = completed && self->held ? keep_acted(self) : PD_OK;
    self->held = 0;
    return status;
}

void pd_proxies_forget_step(pd_proxies *self) { self->has_acted = 0; }

pd_status pd_proxies_add_gradient(pd_proxies *self, const real *x, real *gradient) {
    pd_status status = find(self, x);
    if (!status)
        status = pd_proxy_gather(self->context, self->n_touched, self->vertices, self->start, self->roles, &self->points, gradient);
    return status || !self->bodies ? status : pd_rest_bodies_gather(self->bodies, &self->points, gradient);
}

pd_status pd_proxies_add_held_gradient(pd_proxies *self, const real *x, real *gradient) {
    int held = self->held;
    self->held = 1;
    pd_status status = pd_proxies_add_gradient(self, x, gradient);
    self->held = held;
    return status;
}

static pd_status download_active(pd_proxies *self) {
    size_t n = (size_t)self->points.n;
    pd_status status = PD_OK;
    PD_TRY(pd_memory_download(self->context, self->active, self->points.active, n));
    if (!self->bodies) return PD_OK;
    PD_TRY(pd_memory_download(self->context, self->host_carriers, self->points.free_rows, 4 * n * sizeof(int)));
    status = pd_memory_download(self->context, self->host_shares, self->points.target_weights, 4 * n * sizeof(real));
done:
    return status;
}

static pd_status download(pd_proxies *self, const real *x) {
    size_t bytes = 3 * (size_t)self->points.n * sizeof(real);
    pd_status status = PD_OK;
    PD_TRY(find(self, x));
    PD_TRY(download_active(self));
    PD_TRY(pd_memory_download(self->context, self->y, self->points.y, bytes));
    PD_TRY(pd_memory_download(self->context, self->target, self->points.target, bytes));
done:
    return status;
}

pd_status pd_proxies_potential(pd_proxies *self, const real *x, double *energy) {
    pd_status status = download(self, x);
    double sum = 0.0;
    for (int p = 0; p < self->points.n && !status; p++)
        for (size_t i = 3 * (size_t)p; i < 3 * (size_t)p + 3 && self->active[p]; i++) {
            double apart = (double)self->y[i] - (double)self->target[i];
            sum += 0.5 * (double)self->host_c[p] * apart * apart;
        }
    *energy = sum;
    return status;
}

pd_status pd_proxies_matrix(pd_proxies *self, const pd_entries **out) {
    pd_status status = download_active(self);
    double weights[8];
    int k = 0;
    if (status) return status;
    for (int p = 0; p < self->points.n; p++) {
        if (self->iterated) self->entered += self->active[p] && !self->before[p], self->left += !self->active[p] && self->before[p];
        self->before[p] = self->active[p];
    }
    self->iterated = 1;
    if (self->bodies) list_entries(self);
    for (int e = 0; e < self->entries.n; e++) {
        double sum = 0.0;
        for (; k < self->n_products && self->products[k].row == self->entry_rows[e] && self->products[k].column == self->entry_columns[e];
             k++)
            if (self->active[self->products[k].proxy]) sum += (double)self->host_c[self->products[k].proxy] * self->products[k].weight;
        self->values[e] = sum;
    }
    for (int v = 0; v < self->n_vertices; v++) self->bounds[v] = 0.0;
    for (int p = 0; p < self->points.n; p++) {
        int rows[8], n = self->active[p] ? corners_of(self, p, rows, weights) : 0;
        double total = 0.0;
        for (int a = 0; a < n; a++) total += fabs(weights[a]);
        for (int a = 0; a < n; a++) self->bounds[rows[a]] += (double)self->host_c[p] * fabs(weights[a]) * total;
    }
    *out = &self->entries;
    return PD_OK;
}

pd_status pd_proxies_read(pd_proxies *self, const real *x, real *y, real *target, unsigned char *active, int *carriers, real *weights,
                          long long *entered, long long *left) {
    pd_context *context = self->context;
    const pd_proxy_points *points = &self->points, *springs = self->has_acted ? &self->acted : points;
    size_t n = (size_t)points->n;
    pd_status status = PD_OK;
    if (self->has_acted) {
        PD_TRY(pd_embed_points(context, points->n, points->rows, points->weights, x, points->y));
        if (self->bodies) PD_TRY(pd_proxy_carry(context, x, springs));
    } else {
        PD_TRY(find(self, x));
    }
    PD_TRY(pd_memory_download(context, y, points->y, 3 * n * sizeof *y));
    PD_TRY(pd_memory_download(context, target, springs->target, 3 * n * sizeof *target));
    PD_TRY(pd_memory_download(context, active, springs->active, n));
    for (size_t r = 0; r < 4 * n; r++) carriers[r] = -1, weights[r] = 0;
    if (self->bodies) {
        PD_TRY(pd_memory_download(context, carriers, springs->target_rows, 4 * n * sizeof *carriers));
        PD_TRY(pd_memory_download(context, weights, springs->target_weights, 4 * n * sizeof *weights));
    }
    *entered = self->entered, *left = self->left;
done:
    return status;
}
