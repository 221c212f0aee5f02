/* The terms of a contact pair and of friction by the motion of a body: a line "name deviation numbers.." per case. The deviation is the
 * largest one of gradient and Hessian from central differences of the energy, relative to their largest entries. Then a line "name acts
 * deviation" per case of contact: of the same terms in a lane of a vector register from those of one pair. */
#include "base/pose.h"
#include "cpu/rigid/pair_lanes.h"
#include "elements/contact/pair_motion.h"

#include <stdio.h>
#include <string.h>

enum { NUMBERS = 28 }; /* energy, gradient, the upper triangle */

static const pd_pair_potential POTENTIAL = {PD_BARRIER, 0, (real)3};
static const pd_contact_limits WIDE = {(real)0.4, (real)0.05, (real)0.7, 0};

/* A pair, of which the corners in `moves` belong to a body with its pivot at `pivot`. */
typedef struct pair {
    const char *name;
    int kind;
    real x[12], threshold;
    unsigned moves;
} pair;

static const double pivot[3] = {0.3, -0.4, 0.2};

/* Moves the corners of the body by shift q[0..2] and rotation vector q[3..5]. */
static void moved(const pair *pair, const double q[6], real x[12]) {
    double R[9];
    pd_pose_exponential(q + 3, R);
    for (int j = 0; j < 4; j++) {
        double arm[3], turned[3];
        for (int c = 0; c < 3; c++) arm[c] = (double)pair->x[3 * j + c] - pivot[c];
        pd_pose_rotate(R, arm, turned);
        for (int c = 0; c < 3; c++) x[3 * j + c] = pair->moves >> j & 1 ? (real)(pivot[c] + turned[c] + q[c]) : pair->x[3 * j + c];
    }
}

static pd_lever corner(const pair *pair, int j) {
    const real *x = pair->x + 3 * j;
    if (!(pair->moves >> j & 1)) return pd_lever_of(0.0, 0.0, 0.0, 0.0);
    return pd_lever_of(1.0, (double)x[0] - pivot[0], (double)x[1] - pivot[1], (double)x[2] - pivot[2]);
}

static pd_levers4 levers(const pair *pair) {
    pd_levers4 at;
    at.a = corner(pair, 0), at.b = corner(pair, 1), at.c = corner(pair, 2), at.d = corner(pair, 3);
    return at;
}

static pd_contact_limits limits_of(const pair *pair) {
    pd_contact_limits limits = WIDE;
    limits.threshold = pair->threshold;
    return limits;
}

static double contact_energy(const pair *pair, const double q[6]) {
    real x[12];
    moved(pair, q, x);
    return (double)pd_contact_energy(POTENTIAL, limits_of(pair), pair->kind, pd_points4_load(x), pd_contact_closest(pair->kind, x));
}

/* Of the slip of the lag's weights since a displacement of the corners. */
static const real WEIGHTS[4] = {1, (real)-0.2, (real)-0.5, (real)-0.3}, BEFORE[3] = {(real)0.02, (real)-0.01, (real)0.015};
static const real NORMAL[3] = {(real)0.6, 0, (real)0.8}, STRENGTH = (real)2.5;
static real extent;

static pd_vector slip(const pair *pair, const double q[6]) {
    real x[12];
    pd_vector move = pd_vector_load(BEFORE);
    moved(pair, q, x);
    for (int j = 0; j < 4; j++)
        move = pd_vector_along(move, WEIGHTS[j], pd_vector_subtract(pd_vector_load(x + 3 * j), pd_vector_load(pair->x + 3 * j)));
    return pd_friction_slip(move, pd_vector_load(NORMAL));
}

static double friction_energy(const pair *pair, const double q[6]) {
    return (double)(STRENGTH * pd_friction_terms_of(slip(pair, q), extent).value);
}

static void numbers_of(pd_twist_terms terms, double out[NUMBERS]) {
    out[0] = terms.energy;
    pd_twist_store(terms.gradient, out + 1);
    pd_twist_block_store(terms.block, out + 7);
}

static void report(const pair *pair, double (*energy)(const struct pair *, const double *), double h, pd_twist_terms terms) {
    double numbers[NUMBERS], largest[2] = {0.0, 0.0}, wrong[2] = {0.0, 0.0}, deviation;
    numbers_of(terms, numbers);
    for (int i = 1; i < NUMBERS; i++) largest[i > 6] = fmax(largest[i > 6], fabs(numbers[i]));
    for (int i = 0, k = 7; i < 6; i++) {
        double q[6] = {0.0}, two[2];
        for (int side = 0; side < 2; side++) q[i] = side ? -h : h, two[side] = energy(pair, q);
        wrong[0] = fmax(wrong[0], fabs((two[0] - two[1]) / (2.0 * h) - numbers[1 + i]));
        for (int j = i; j < 6; j++, k++) {
            double sum = 0.0;
            for (int side = 0; side < 4; side++) {
                double p[6] = {0.0};
                p[i] += side & 1 ? -h : h, p[j] += side & 2 ? -h : h;
                sum += (side == 1 || side == 2 ? -1.0 : 1.0) * energy(pair, p);
            }
            wrong[1] = fmax(wrong[1], fabs(sum / (4.0 * h * h) - numbers[k]));
        }
    }
    deviation = fmax(wrong[0] / (largest[0] > 0.0 ? largest[0] : 1.0), wrong[1] / largest[1]); // parallel edges have no force
    printf("%s %.3e", pair->name, deviation);
    for (int i = 0; i < NUMBERS; i++) printf(" %.9e", numbers[i]);
    printf(" %.9e\n", terms.forces);
}

#define TRIANGLE 0, 0, 0, (real)1.1, (real)0.1, 0, (real)0.2, (real)0.9, (real)0.1
#define EDGE     (real) - 0.5, (real)0.05, 0, (real)0.6, (real) - 0.05, (real)0.1

static const pair CASES[] = {
    {"vertices", PD_VERTEX_VERTEX, {(real)0.1, (real)0.2, (real)0.15, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 0, 1},
    {"edge", PD_VERTEX_EDGE, {(real)0.1, (real)0.1, (real)0.2, EDGE, 0, 0, 0}, 0, 1},
    {"edge-moved", PD_VERTEX_EDGE, {(real)0.1, (real)0.1, (real)0.2, EDGE, 0, 0, 0}, 0, 6},
    {"face", PD_VERTEX_TRIANGLE, {(real)0.3, (real)0.3, (real)0.2, TRIANGLE}, 0, 1},
    {"face-moved", PD_VERTEX_TRIANGLE, {(real)0.3, (real)0.3, (real)0.2, TRIANGLE}, 0, 14},
    {"face-partly", PD_VERTEX_TRIANGLE, {(real)0.3, (real)0.3, (real)0.2, TRIANGLE}, 0, 10},
    {"side", PD_VERTEX_TRIANGLE, {(real)0.5, (real)-0.1, (real)0.15, TRIANGLE}, 0, 14},
    {"corner", PD_VERTEX_TRIANGLE, {(real)-0.1, (real)-0.15, (real)0.1, TRIANGLE}, 0, 14},
    {"edges", PD_EDGE_EDGE, {EDGE, (real)0.1, (real)-0.6, (real)0.2, (real)-0.1, (real)0.5, (real)0.3}, (real)1e-3, 3},
    {"edges-second", PD_EDGE_EDGE, {EDGE, (real)0.1, (real)-0.6, (real)0.2, (real)-0.1, (real)0.5, (real)0.3}, (real)1e-3, 12},
    {"parallel", PD_EDGE_EDGE, {EDGE, (real)-0.4, (real)0.1, (real)0.2, (real)0.5, (real)-0.1, (real)0.25}, (real)2e-2, 3},
    {"parallel-second", PD_EDGE_EDGE, {EDGE, (real)-0.4, (real)0.1, (real)0.2, (real)0.5, (real)-0.1, (real)0.25}, (real)2e-2, 12},
    {"exactly-parallel",
     PD_EDGE_EDGE,
     {0, 0, 0, 1, 0, 0, (real)0.25, (real)0.125, (real)0.125, (real)1.25, (real)0.125, (real)0.125},
     (real)2e-2,
     3},
    {"plane", PD_VERTEX_PLANE, {(real)0.3, (real)0.2, (real)0.2, 0, 0, 0, 0, (real)0.6, (real)0.8, 0, 0, 0}, 0, 1},
};

/* The terms of a case in lane `place` of a register, beside the same pair out of contact. */
static void compare_with_lane(const pair *pair, int place) {
    real points[24], activation[2], separation[2], weight[2], threshold[2];
    int kinds[2] = {pair->kind, pair->kind}, corners[8], chosen[PD_CONTACT_LANES], acting = 0;
    pd_lever_lanes at;
    pd_pair_lanes found;
    pd_contact_lanes lanes;
    double numbers[NUMBERS], most = 0.0, largest = 0.0;
    memcpy(points, pair->x, sizeof pair->x), memcpy(points + 12, pair->x, sizeof pair->x);
    for (int c = 0; c < 3; c++) points[12 + c] += 10, points[15 + c] += pair->kind == PD_EDGE_EDGE ? 10 : 0;
    for (int k = 0; k < 2; k++) {
        pd_contact_limits limits = limits_of(pair);
        activation[k] = limits.activation, separation[k] = limits.separation;
        weight[k] = limits.weight, threshold[k] = limits.threshold;
        for (int j = 0; j < 4; j++) corners[4 * k + j] = 4 * k + j;
    }
    const pd_contact_pairs pairs = {2, kinds, corners, activation, separation, weight, threshold, NULL};
    for (int l = 0; l < PD_CONTACT_LANES; l++) {
        chosen[l] = l != place;
        for (int j = 0; j < 4; j++) {
            pd_lever lever = corner(pair, j);
            at.of[4 * j][l] = lever.sum, at.of[4 * j + 1][l] = lever.x, at.of[4 * j + 2][l] = lever.y, at.of[4 * j + 3][l] = lever.z;
        }
    }
    pd_contact_lanes_gather(&pairs, points, pair->kind, chosen, PD_CONTACT_LANES, &lanes);
    pd_pair_twists(&POTENTIAL, pair->kind, &lanes, &at, &found);
    numbers_of(pd_contact_motion(POTENTIAL, limits_of(pair), pair->kind, pd_points4_load(pair->x), pd_contact_closest(pair->kind, pair->x),
                                 levers(pair)),
               numbers);
    for (int i = 1; i < NUMBERS; i++) {
        largest = fmax(largest, fabs(numbers[i]));
        most = fmax(most, fabs(found.number[i][place] - numbers[i]));
    }
    for (int l = 0; l < PD_CONTACT_LANES; l++) acting += found.acts[l] != 0;
    printf("%s %d %.3e\n", pair->name, found.acts[place] ? acting : 0, most / largest);
}

int main(void) {
    const double still[6] = {0.0};
    for (size_t k = 0; k < sizeof CASES / sizeof *CASES; k++) {
        const pair *pair = &CASES[k];
        pd_nearest nearest = pd_contact_closest(pair->kind, pair->x);
        report(pair, contact_energy, 3e-5,
               pd_contact_motion(POTENTIAL, limits_of(pair), pair->kind, pd_points4_load(pair->x), nearest, levers(pair)));
    }
    for (int slips = 0; slips < 2; slips++)
        for (unsigned moves = 1; moves < 15; moves += 13) {
            pair pair = CASES[3];
            pd_vector u = slip(&pair, still), n = pd_vector_load(NORMAL);
            pd_per_corner weights = pd_per_corner_of(WEIGHTS[0], WEIGHTS[1], WEIGHTS[2], WEIGHTS[3]);
            pair.name = slips ? "slips" : "sticks", pair.moves = moves;
            extent = slips ? (real)0.005 : (real)0.1;
            report(&pair, friction_energy, 3e-5,
                   pd_friction_motion(pd_friction_terms_of(u, extent), STRENGTH, n, u, weights, levers(&pair)));
        }
    for (size_t k = 0; k < sizeof CASES / sizeof *CASES; k++) compare_with_lane(&CASES[k], (int)k % PD_CONTACT_LANES);
    return 0;
}
