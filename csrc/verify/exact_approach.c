/* The first time at which one moving pair is nearer than a limit, in integers; see approaches.h.
 *
 * Two simplices are nearer than R if some of their features are: two corners; a corner and a side, with the foot of the perpendicular on
 * the side; a corner and a triangle or two edges, with both feet inside. For each feature a polynomial of degree <= 6 is negative while
 * it is nearer than R. Other polynomials are nonnegative while the feet are inside.
 *
 * Bernstein coefficients bound all of them on an interval of times. A feature is excluded if its first polynomial has no negative
 * coefficient, or only has a minimum of zero, or if one of the others has negative coefficients only. Otherwise the interval is halved,
 * down to 2^-DEEPEST. Pairs that are undecided there count as nearer. */
#include "verify/approaches.h"

#include "verify/exact_moving.h"

#include <math.h>
#include <string.h>

enum { MOST_FEATURES = 9, MOST_BOUNDS = 4, DEEPEST = 40, PATIENCE = 8 };

typedef struct feature {
    pd_polynomial closer;              /* negative: nearer than R; multiplied by `square` */
    pd_polynomial square;              /* zero if the feature is degenerate, while other features are equally close */
    pd_polynomial bounds[MOST_BOUNDS]; /* all nonnegative: inside */
    int n_bounds;
} feature;

typedef struct approach {
    feature features[MOST_FEATURES];
    pd_polynomial limit; /* R^2 */
    const double *x;
    double distance, surely; /* R rounded up, and down */
    int n, n_first, touching, n_features;
} approach;

static feature *add_feature(approach *a) {
    feature *f = &a->features[a->n_features++];
    pd_polynomial_create(&f->closer);
    pd_polynomial_create(&f->square);
    for (int i = 0; i < MOST_BOUNDS; i++) pd_polynomial_create(&f->bounds[i]);
    f->n_bounds = 0;
    return f;
}

static void remove_last_feature(approach *a) {
    feature *f = &a->features[--a->n_features];
    pd_polynomial_destroy(&f->closer);
    pd_polynomial_destroy(&f->square);
    for (int i = 0; i < MOST_BOUNDS; i++) pd_polynomial_destroy(&f->bounds[i]);
}

/* closer -= R^2 square; a feature that is degenerate throughout is dropped. */
static void finish_feature(approach *a, feature *f) {
    pd_polynomial limit;
    pd_polynomial_create(&limit);
    pd_polynomial_multiply(&limit, &f->square, &a->limit);
    pd_polynomial_subtract(&f->closer, &f->closer, &limit);
    pd_polynomial_destroy(&limit);
    if (f->square.degree < 0) remove_last_feature(a);
}

static void add_corners(approach *a, const pd_moving *p, const pd_moving *q) {
    feature *f = add_feature(a);
    pd_moving to;
    pd_moving_create(&to);
    pd_moving_subtract(&to, p, q);
    pd_moving_dot(&f->closer, &to, &to);
    mpz_set_ui(f->square.c[0], 1);
    f->square.degree = 0;
    pd_moving_destroy(&to);
    finish_feature(a, f);
}

static void add_side(approach *a, const pd_moving *p, const pd_moving *start, const pd_moving *end) {
    feature *f = add_feature(a);
    pd_moving side, to, across;
    pd_moving_create(&side);
    pd_moving_create(&to);
    pd_moving_create(&across);
    pd_moving_subtract(&side, end, start);
    pd_moving_subtract(&to, p, start);
    pd_moving_cross(&across, &side, &to);
    pd_moving_dot(&f->closer, &across, &across);
    pd_moving_dot(&f->square, &side, &side);
    pd_moving_dot(&f->bounds[0], &to, &side);
    pd_polynomial_subtract(&f->bounds[1], &f->square, &f->bounds[0]);
    f->n_bounds = 2;
    pd_moving_destroy(&side);
    pd_moving_destroy(&to);
    pd_moving_destroy(&across);
    finish_feature(a, f);
}

static void set_height(feature *f, const pd_moving *normal, const pd_moving *to) {
    pd_polynomial volume;
    pd_polynomial_create(&volume);
    pd_moving_dot(&volume, normal, to);
    pd_polynomial_multiply(&f->closer, &volume, &volume);
    pd_moving_dot(&f->square, normal, normal);
    pd_polynomial_destroy(&volume);
}

/* Corner 0 against the plane of the others; inside as in exact_contact.c. */
static void add_plane(approach *a, const pd_moving *point) {
    feature *f = add_feature(a);
    pd_moving side[3], to, normal, product;
    for (int i = 0; i < 3; i++) {
        pd_moving_create(&side[i]);
        pd_moving_subtract(&side[i], &point[1 + (i + 1) % 3], &point[1 + i]);
    }
    pd_moving_create(&to);
    pd_moving_create(&normal);
    pd_moving_create(&product);
    pd_moving_cross(&normal, &side[0], &side[1]);
    for (int i = 0; i < 3; i++) {
        pd_moving_subtract(&to, &point[0], &point[1 + i]);
        pd_moving_cross(&product, &side[i], &to);
        pd_moving_dot(&f->bounds[f->n_bounds++], &product, &normal);
    }
    set_height(f, &normal, &to);
    for (int i = 0; i < 3; i++) pd_moving_destroy(&side[i]);
    pd_moving_destroy(&to);
    pd_moving_destroy(&normal);
    pd_moving_destroy(&product);
    finish_feature(a, f);
}

/* The lines of two edges; inside as in exact_contact.c. */
static void add_lines(approach *a, const pd_moving *point) {
    feature *f = add_feature(a);
    pd_moving side[2], between, normal, product;
    for (int i = 0; i < 2; i++) {
        pd_moving_create(&side[i]);
        pd_moving_subtract(&side[i], &point[2 * i + 1], &point[2 * i]);
    }
    pd_moving_create(&between);
    pd_moving_create(&normal);
    pd_moving_create(&product);
    pd_moving_subtract(&between, &point[2], &point[0]);
    pd_moving_cross(&normal, &side[0], &side[1]);
    set_height(f, &normal, &between);
    for (int i = 0; i < 2; i++) {
        pd_moving_cross(&product, &between, &side[1 - i]);
        pd_moving_dot(&f->bounds[2 * i], &product, &normal);
        pd_polynomial_subtract(&f->bounds[2 * i + 1], &f->square, &f->bounds[2 * i]);
    }
    f->n_bounds = 4;
    for (int i = 0; i < 2; i++) pd_moving_destroy(&side[i]);
    pd_moving_destroy(&between);
    pd_moving_destroy(&normal);
    pd_moving_destroy(&product);
    finish_feature(a, f);
}

/* ---- the decision ------------------------------------------------------------------------------------------------------------ */

/* The same in floating point, for decisions that rounding cannot change: -1: certainly farther apart throughout; -2: undecided, or no
 * steps left. */
static double certain_time(const approach *a, unsigned long place, unsigned long shift, int *steps) {
    double start = ldexp((double)place, -(int)shift), end = ldexp((double)place + 1.0, -(int)shift);
    if (--*steps < 0) return -2.0;
    if (pd_certainly_farther(a->x, a->n, a->n_first, start, end, a->distance)) return -1.0;
    if (pd_certainly_nearer(a->x, a->n, a->n_first, start, a->surely)) return start;
    if (shift == DEEPEST) return pd_certainly_nearer(a->x, a->n, a->n_first, end, a->surely) ? start : -2.0;
    double t = certain_time(a, 2 * place, shift + 1, steps);
    return t != -1.0 ? t : certain_time(a, 2 * place + 1, shift + 1, steps);
}

typedef enum verdict { OUT, OPEN, NEAR_AT_START } verdict;

static verdict decide(const approach *a, const feature *f, unsigned long place, unsigned long shift) {
    pd_signs closer = pd_polynomial_signs(&f->closer, place, shift);
    if (closer.lowest >= (a->touching ? 1 : 0)) return OUT;
    int near_at_start = closer.start < (a->touching ? 1 : 0) && pd_polynomial_signs(&f->square, place, shift).start > 0;
    for (int i = 0; i < f->n_bounds; i++) {
        pd_signs bound = pd_polynomial_signs(&f->bounds[i], place, shift);
        if (bound.highest < 0) return OUT;
        near_at_start = near_at_start && bound.start >= 0;
    }
    if (near_at_start) return NEAR_AT_START;
    /* a minimum of exactly R, as of sliding along a side at this distance, has coefficients of both signs around it */
    int is_minimum = !a->touching && (shift == PATIENCE || shift == DEEPEST) && pd_polynomial_stays(&f->closer, place, shift);
    return is_minimum ? OUT : OPEN;
}

/* The first time in [place, place + 1] / 2^shift at which a feature of a set is nearer than R. */
static double first_near(const approach *a, unsigned features, unsigned long place, unsigned long shift) {
    double start = ldexp((double)place, -(int)shift), end = ldexp((double)place + 1.0, -(int)shift);
    if (pd_certainly_farther(a->x, a->n, a->n_first, start, end, a->distance)) return -1.0;
    for (int i = 0; i < a->n_features; i++) {
        if (!(features >> i & 1)) continue;
        verdict v = decide(a, &a->features[i], place, shift);
        if (v == NEAR_AT_START) return start;
        if (v == OUT) features &= ~(1u << i);
    }
    if (!features) return -1.0;
    if (shift == DEEPEST) return start;
    double t = first_near(a, features, 2 * place, shift + 1);
    return t >= 0.0 ? t : first_near(a, features, 2 * place + 1, shift + 1);
}

double pd_approach_time(const double *x, int n, int n_first, double radius, double separation) {
    approach a = {.x = x, .n = n, .n_first = n_first, .touching = separation == 0.0};
    a.distance = pd_sum_above(radius, separation);
    a.surely = pd_sum_below(radius, separation);
    int moves = memcmp(x, x + 3 * n, 3 * (size_t)n * sizeof *x) != 0, steps = moves ? 4 * DEEPEST : 1;
    double certain = certain_time(&a, 0, 0, &steps);
    if (certain != -2.0) return certain;
    double parts[2] = {radius, separation};
    pd_moving point[4];
    mpz_t whole[2];
    for (int i = 0; i < 2; i++) mpz_init(whole[i]);
    pd_moving_points(point, x, n, whole, parts, 2);
    pd_polynomial_create(&a.limit);
    mpz_add(a.limit.c[0], whole[0], whole[1]);
    mpz_mul(a.limit.c[0], a.limit.c[0], a.limit.c[0]);
    a.limit.degree = 0;

    for (int i = 0; i < n_first; i++)
        for (int j = n_first; j < n; j++) add_corners(&a, &point[i], &point[j]);
    int n_second = n - n_first, n_sides = n_second == 3 ? 3 : 1; /* of the second */
    for (int i = 0; i < n_first; i++)
        for (int j = 0; j < n_sides; j++) add_side(&a, &point[i], &point[n_first + j], &point[n_first + (j + 1) % n_second]);
    for (int j = 0; j < 2 && n_first == 2; j++) add_side(&a, &point[2 + j], &point[0], &point[1]);
    if (n == 4 && n_first == 1) add_plane(&a, point);
    if (n == 4 && n_first == 2) add_lines(&a, point);

    double t = first_near(&a, (1u << a.n_features) - 1u, 0, 0);
    while (a.n_features > 0) remove_last_feature(&a);
    pd_polynomial_destroy(&a.limit);
    for (int i = 0; i < 2; i++) mpz_clear(whole[i]);
    for (int i = 0; i < n; i++) pd_moving_destroy(&point[i]);
    return t;
}
