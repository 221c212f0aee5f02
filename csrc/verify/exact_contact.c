/* The time of the first contact of one moving pair, exactly; see crossings.h.
 *
 * A contact at time t is a combination of signs of polynomials in t of degree <= 4. The contact times form a closed set, and nothing
 * changes between neighbouring roots of these polynomials. So the first contact is at 0, at 1, or at a root of one of them. The four
 * points must be coplanar, so it is a root of that cubic unless it vanishes identically. The combination is evaluated at each of these
 * algebraic numbers (exact_polynomial.h). */
#include "verify/crossings.h"

#include "verify/exact_moving.h"

/* A point is on a segment if cross = 0 and dot <= 0. */
typedef struct on_segment {
    pd_moving cross;   /* (b - a) x (p - a) */
    pd_polynomial dot; /* (p - a) . (p - b) */
} on_segment;

enum { MOST_SEGMENTS = 4, MOST_BOUNDS = 4 };

typedef struct contact {
    pd_polynomial volume;               /* zero while the points are coplanar; unused if has_volume is 0 */
    pd_polynomial normal_squared;       /* zero while the triangle or the parallelogram of the edges is degenerate */
    pd_polynomial bounds[MOST_BOUNDS];  /* all nonnegative: inside, if coplanar and not degenerate */
    on_segment segments[MOST_SEGMENTS]; /* contact of a degenerate pair: one of them holds */
    int has_volume, n_bounds, n_segments;
} contact;

static void contact_create(contact *c) {
    pd_polynomial_create(&c->volume);
    pd_polynomial_create(&c->normal_squared);
    for (int i = 0; i < MOST_BOUNDS; i++) pd_polynomial_create(&c->bounds[i]);
    for (int i = 0; i < MOST_SEGMENTS; i++) {
        pd_moving_create(&c->segments[i].cross);
        pd_polynomial_create(&c->segments[i].dot);
    }
    c->has_volume = c->n_bounds = c->n_segments = 0;
}

static void contact_destroy(contact *c) {
    pd_polynomial_destroy(&c->volume);
    pd_polynomial_destroy(&c->normal_squared);
    for (int i = 0; i < MOST_BOUNDS; i++) pd_polynomial_destroy(&c->bounds[i]);
    for (int i = 0; i < MOST_SEGMENTS; i++) {
        pd_moving_destroy(&c->segments[i].cross);
        pd_polynomial_destroy(&c->segments[i].dot);
    }
}

static void add_segment(contact *c, const pd_moving *p, const pd_moving *a, const pd_moving *b) {
    on_segment *segment = &c->segments[c->n_segments++];
    pd_moving side, to_a, to_b;
    pd_moving_create(&side);
    pd_moving_create(&to_a);
    pd_moving_create(&to_b);
    pd_moving_subtract(&side, b, a);
    pd_moving_subtract(&to_a, p, a);
    pd_moving_subtract(&to_b, p, b);
    pd_moving_cross(&segment->cross, &side, &to_a);
    pd_moving_dot(&segment->dot, &to_a, &to_b);
    pd_moving_destroy(&side);
    pd_moving_destroy(&to_a);
    pd_moving_destroy(&to_b);
}

/* ---- the decision ------------------------------------------------------------------------------------------------------------ */

/* Tells whether the pair touches at the i-th root of p. */
static int touches(const contact *c, const pd_polynomial *p, pd_roots *roots, int i) {
    if (c->has_volume) {
        if (p != &c->volume && pd_root_sign(roots, i, &c->volume) != 0) return 0;
        if (pd_root_sign(roots, i, &c->normal_squared) != 0) {
            for (int k = 0; k < c->n_bounds; k++)
                if (pd_root_sign(roots, i, &c->bounds[k]) < 0) return 0;
            return 1;
        }
    }
    for (int s = 0; s < c->n_segments; s++) {
        const on_segment *segment = &c->segments[s];
        int on_line = 1;
        for (int k = 0; k < 3 && on_line; k++) on_line = pd_root_sign(roots, i, &segment->cross.k[k]) == 0;
        if (on_line && pd_root_sign(roots, i, &segment->dot) <= 0) return 1;
    }
    return 0;
}

/* The first contact at a root of p; `earliest` if that is before it; -1: none. */
static double first_at_roots(const contact *c, const pd_polynomial *p, double earliest) {
    if (p->degree < 1) return earliest;
    pd_roots roots;
    pd_roots_create(&roots, p);
    for (int i = 0; i < roots.n; i++) {
        double t = pd_root_below(&roots, i);
        if (earliest >= 0.0 && t >= earliest) break;
        if (!touches(c, p, &roots, i)) continue;
        earliest = t;
        break;
    }
    pd_roots_destroy(&roots);
    return earliest;
}

static double first_contact(const contact *c) {
    if (c->has_volume && c->volume.degree == 0) return -1.0;
    if (c->has_volume && c->volume.degree > 0) return first_at_roots(c, &c->volume, -1.0);

    /* always coplanar: test the roots of all polynomials, and those of t (t - 1) for the ends */
    pd_polynomial ends;
    pd_polynomial_create(&ends);
    mpz_set_si(ends.c[1], -1);
    mpz_set_si(ends.c[2], 1);
    ends.degree = 2;
    double earliest = first_at_roots(c, &ends, -1.0);
    pd_polynomial_destroy(&ends);
    if (c->has_volume) {
        earliest = first_at_roots(c, &c->normal_squared, earliest);
        for (int k = 0; k < c->n_bounds; k++) earliest = first_at_roots(c, &c->bounds[k], earliest);
    }
    for (int s = 0; s < c->n_segments; s++) {
        for (int k = 0; k < 3; k++) earliest = first_at_roots(c, &c->segments[s].cross.k[k], earliest);
        earliest = first_at_roots(c, &c->segments[s].dot, earliest);
    }
    return earliest;
}

double pd_vertex_triangle_contact(const double *x) {
    pd_moving point[4], side[3], to_vertex, normal, product;
    contact c;
    contact_create(&c);
    pd_moving_points(point, x, 4, NULL, NULL, 0);
    for (int i = 0; i < 3; i++) {
        pd_moving_create(&side[i]);
        pd_moving_subtract(&side[i], &point[1 + (i + 1) % 3], &point[1 + i]);
    }
    pd_moving_create(&to_vertex);
    pd_moving_create(&normal);
    pd_moving_create(&product);
    pd_moving_cross(&normal, &side[0], &side[1]); /* the same as (t1 - t0) x (t2 - t0) */
    pd_moving_subtract(&to_vertex, &point[0], &point[1]);
    pd_moving_dot(&c.volume, &normal, &to_vertex);
    pd_moving_dot(&c.normal_squared, &normal, &normal);
    c.has_volume = 1;
    for (int i = 0; i < 3; i++) {
        pd_moving_subtract(&to_vertex, &point[0], &point[1 + i]);
        pd_moving_cross(&product, &side[i], &to_vertex);
        pd_moving_dot(&c.bounds[c.n_bounds++], &product, &normal);
        add_segment(&c, &point[0], &point[1 + i], &point[1 + (i + 1) % 3]);
    }
    double t = first_contact(&c);
    for (int i = 0; i < 4; i++) pd_moving_destroy(&point[i]);
    for (int i = 0; i < 3; i++) pd_moving_destroy(&side[i]);
    pd_moving_destroy(&to_vertex);
    pd_moving_destroy(&normal);
    pd_moving_destroy(&product);
    contact_destroy(&c);
    return t;
}

double pd_edge_edge_contact(const double *x) {
    pd_moving point[4], a, b, between, normal, product;
    contact c;
    contact_create(&c);
    pd_moving_points(point, x, 4, NULL, NULL, 0);
    pd_moving_create(&a);
    pd_moving_create(&b);
    pd_moving_create(&between);
    pd_moving_create(&normal);
    pd_moving_create(&product);
    pd_moving_subtract(&a, &point[1], &point[0]);
    pd_moving_subtract(&b, &point[3], &point[2]);
    pd_moving_subtract(&between, &point[2], &point[0]);
    pd_moving_cross(&normal, &a, &b);
    pd_moving_dot(&c.volume, &normal, &between);
    pd_moving_dot(&c.normal_squared, &normal, &normal);
    c.has_volume = 1;
    /* the lines meet at a0 + s a = b0 + r b with s |n|^2 = (between x b) . n and r |n|^2 = (between x a) . n */
    for (int i = 0; i < 2; i++) {
        pd_moving_cross(&product, &between, i ? &a : &b);
        pd_moving_dot(&c.bounds[2 * i], &product, &normal);
        pd_polynomial_subtract(&c.bounds[2 * i + 1], &c.normal_squared, &c.bounds[2 * i]);
        add_segment(&c, &point[i], &point[2], &point[3]);
        add_segment(&c, &point[2 + i], &point[0], &point[1]);
    }
    c.n_bounds = 4;
    double t = first_contact(&c);
    for (int i = 0; i < 4; i++) pd_moving_destroy(&point[i]);
    pd_moving_destroy(&a);
    pd_moving_destroy(&b);
    pd_moving_destroy(&between);
    pd_moving_destroy(&normal);
    pd_moving_destroy(&product);
    contact_destroy(&c);
    return t;
}

double pd_vertex_edge_contact(const double *x) {
    pd_moving point[3];
    contact c;
    contact_create(&c);
    pd_moving_points(point, x, 3, NULL, NULL, 0);
    add_segment(&c, &point[0], &point[1], &point[2]);
    double t = first_contact(&c);
    for (int i = 0; i < 3; i++) pd_moving_destroy(&point[i]);
    contact_destroy(&c);
    return t;
}
