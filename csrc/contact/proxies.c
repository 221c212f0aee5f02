/* Contact by proxies; see proxies.h. */
#include "contact/proxies.h"

#include "linear/upload.h"
#include "loops/proxy_loops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A product of two weights of a proxy, and the entry of the matrix that it belongs to. */
typedef struct product {
    int row, column, proxy;
    double weight;
} product;

struct pd_proxies {
    pd_context *context;
    pd_colliders *colliders;
    pd_proxy_points points;
    int per_step, held, iterated; /* iterated: `before` is that of an iteration of this step */

    int n_touched;                  /* free vertices with a role */
    int *vertices, *start, *roles;  /* B [n_touched], [n_touched+1], [start[n_touched]] */
    int *host_rows;                 /* H [n,4] free vertices, -1 else */
    real *host_weights, *host_c;    /* H [n,4], [n] */
    real *y, *target;               /* H [n,3] */
    unsigned char *active, *before; /* H [n] */

    product *products; /* H [n_products] by entry, then by proxy */
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

/* The entries of W^T C W on and below the diagonal, and what each is made of. */
static pd_status make_entries(pd_proxies *self) {
    int n = self->points.n, next = 0, last = -1;
    size_t most = 10 * (size_t)n + 1;
    self->products = malloc(most * sizeof *self->products);
    self->entry_rows = malloc(most * sizeof(int));
    self->entry_columns = malloc(most * sizeof(int));
    self->values = calloc(most, sizeof(double));
    if (!self->products || !self->entry_rows || !self->entry_columns || !self->values)
        return pd_fail(pd_context_error(self->context), PD_ERROR_MEMORY, "out of memory for %d proxies", n);
    for (int p = 0; p < n; p++)
        for (int a = 0; a < 4; a++)
            for (int b = 0; b <= a; b++) {
                int i = self->host_rows[4 * p + a], j = self->host_rows[4 * p + b];
                double weight = (double)self->host_weights[4 * p + a] * (double)self->host_weights[4 * p + b];
                if (i < 0 || j < 0 || weight == 0.0) continue;
                self->products[next++] = (product){i > j ? i : j, i > j ? j : i, p, weight};
            }
    qsort(self->products, (size_t)next, sizeof *self->products, by_entry);
    self->n_products = next;
    next = 0;
    for (int k = 0; k < self->n_products; k++) {
        const product *one = &self->products[k];
        if (last >= 0 && self->entry_rows[last] == one->row && self->entry_columns[last] == one->column) continue;
        last = next++;
        self->entry_rows[last] = one->row, self->entry_columns[last] = one->column;
    }
    self->entries = (pd_entries){next, self->entry_rows, self->entry_columns, self->values};
    return PD_OK;
}

/* Which roles the free vertices have. */
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
    PD_TRY(pd_memory_create(context, (void **)&self->points.active, n + 1));
    PD_TRY(pd_memory_clear(context, self->points.target, 3 * n * sizeof(real) + 1)); // of what is never active
    PD_TRY(pd_colliders_create(&self->colliders, context, d->n_colliders));
    // until they are placed: planes with no normal, which nothing is below
    PD_TRY(pd_memory_clear(context, self->colliders->memory, ((size_t)d->n_colliders + 1) * sizeof *self->colliders->memory));
    PD_TRY(make_roles(self));
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
    const void *memory[] = {self->points.rows, self->points.weights, self->points.stiffness,
                            self->points.y,    self->points.target,  self->points.active,
                            self->vertices,    self->start,          self->roles};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) pd_memory_destroy(self->context, (void *)(uintptr_t)memory[i]);
    pd_colliders_destroy(self->colliders);
    void *host[] = {self->host_rows, self->host_weights, self->host_c,        self->y,      self->target, self->active, self->before,
                    self->products,  self->entry_rows,   self->entry_columns, self->values, self->bounds};
    for (size_t i = 0; i < sizeof host / sizeof *host; i++) free(host[i]);
    free(self);
}

pd_colliders *pd_proxies_colliders(pd_proxies *self) { return self->colliders; }
int pd_proxies_count(const pd_proxies *self) { return self->points.n; }
int pd_proxies_per_step(const pd_proxies *self) { return self->per_step; }
const pd_entries *pd_proxies_pattern(const pd_proxies *self) { return &self->entries; }
const double *pd_proxies_bounds(const pd_proxies *self) { return self->bounds; }

/* Where the proxies are at x, and what is active there, unless that is held. */
static pd_status find(pd_proxies *self, const real *x) {
    const pd_proxy_points *points = &self->points;
    pd_status status = pd_embed_points(self->context, points->n, points->rows, points->weights, x, points->y);
    if (!status && !self->held) status = pd_proxy_detect(self->context, self->colliders->n, self->colliders->memory, points);
    return status;
}

pd_status pd_proxies_begin(pd_proxies *self, const real *x) {
    self->held = self->iterated = 0;
    self->entered = self->left = 0;
    pd_status status = self->per_step ? find(self, x) : PD_OK;
    self->held = self->per_step && !status;
    return status;
}

void pd_proxies_end(pd_proxies *self) { self->held = 0; }

pd_status pd_proxies_add_gradient(pd_proxies *self, const real *x, real *gradient) {
    pd_status status = find(self, x);
    return status ? status
                  : pd_proxy_gather(self->context, self->n_touched, self->vertices, self->start, self->roles, &self->points, gradient);
}

static pd_status download_active(pd_proxies *self) {
    return pd_memory_download(self->context, self->active, self->points.active, (size_t)self->points.n);
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
    int k = 0;
    if (status) return status;
    for (int p = 0; p < self->points.n; p++) {
        if (self->iterated) self->entered += self->active[p] && !self->before[p], self->left += !self->active[p] && self->before[p];
        self->before[p] = self->active[p];
    }
    self->iterated = 1;
    for (int e = 0; e < self->entries.n; e++) {
        double sum = 0.0;
        for (; k < self->n_products && self->products[k].row == self->entry_rows[e] && self->products[k].column == self->entry_columns[e];
             k++)
            if (self->active[self->products[k].proxy]) sum += (double)self->host_c[self->products[k].proxy] * self->products[k].weight;
        self->values[e] = sum;
    }
    for (int v = 0; v < self->n_vertices; v++) self->bounds[v] = 0.0;
    for (int p = 0; p < self->points.n; p++) {
        double total = 0.0;
        for (int a = 0; a < 4; a++)
            if (self->host_rows[4 * p + a] >= 0) total += fabs((double)self->host_weights[4 * p + a]);
        for (int a = 0; a < 4 && self->active[p]; a++)
            if (self->host_rows[4 * p + a] >= 0)
                self->bounds[self->host_rows[4 * p + a]] += (double)self->host_c[p] * fabs((double)self->host_weights[4 * p + a]) * total;
    }
    *out = &self->entries;
    return PD_OK;
}

pd_status pd_proxies_read(pd_proxies *self, const real *x, real *y, real *target, unsigned char *active, long long *entered,
                          long long *left) {
    size_t n = (size_t)self->points.n;
    pd_status status = download(self, x);
    if (status) return status;
    memcpy(y, self->y, 3 * n * sizeof *y);
    memcpy(target, self->target, 3 * n * sizeof *target);
    memcpy(active, self->active, n);
    *entered = self->entered, *left = self->left;
    return PD_OK;
}
