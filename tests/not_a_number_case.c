/* Functions of one pair or one vertex with a NaN among their coordinates, for tests/geometry/test_not_a_number.py.
 *
 *   out  one line of each case: its name, and the number that must not let a motion pass */
#include "updates/contact/two_way_forward.h"
#include "updates/contact/two_way_update.h"

#include "updates/rigid/rigid_descent.h"

#include <stdio.h>

enum { COORDINATES = 12 };

static const real START[COORDINATES] = {0, 0, (real)0.5, -1, -1, 0, 2, -1, 0, -1, 2, 0};
static const real END[COORDINATES] = {0, 0, -1, -1, -1, 0, 2, -1, 0, -1, 2, 0};

static void say(const char *name, int where, double value) { printf("%s %d %.17g\n", name, where, value); }

/* The time of impact of a vertex that falls through a triangle, and of one that falls through a plane. */
static void times_of_impact(real bad) {
    static const char *const methods[] = {"certified", "min_gradient", "additive"};
    for (int method = 0; method < PD_CCD_COUNT; method++)
        for (int i = 0; i < 2 * COORDINATES; i++) {
            real start[COORDINATES], end[COORDINATES];
            for (int c = 0; c < COORDINATES; c++) start[c] = START[c], end[c] = END[c];
            *(i < COORDINATES ? start + i : end + i - COORDINATES) = bad;
            say(methods[method], i, (double)pd_pair_collision(PD_VERTEX_TRIANGLE, method, start, end, 0, 1).time);
        }
    for (int i = 0; i < 6; i++) { // the vertex at either end; points: the vertex, a point of the plane, its normal
        real start[9] = {0, 0, 1, 0, 0, 0, 0, 0, 1}, end[9] = {0, 0, -1, 0, 0, 0, 0, 0, 1};
        *(i < 3 ? start + i : end + i - 3) = bad;
        say("plane", i, (double)pd_plane_collision(start, end, 0, 1, 0).time);
    }
}

/* The part of its way that a vertex goes in a forward step of the two-way method, above a plane at 0.1 m. */
static void forward_parts(real bad) {
    static const char *const names[] = {"forward_distance", "forward_normal", "forward_target"};
    for (int where = 0; where < 3; where++) {
        int kind = PD_VERTEX_PLANE, rows[4] = {0, 1, 2, -1}, starts[4] = {0, 1, 2, 2}, roles[2] = {0, 1};
        real points[9] = {0, 0, (real)0.1, 0, 0, 0, 0, 0, 1}, y[9] = {0, 0, -1, 0, 0, 0, 0, 0, 1};
        real activation = 1, separation = 0, distance = (real)0.1, normal[3] = {0, 0, 1}, range[4];
        if (where == 0) distance = bad;
        if (where == 1) normal[2] = bad, points[8] = bad;
        if (where == 2) y[1] = bad;
        const pd_contact_pairs pairs = {1, &kind, rows, &activation, &separation, NULL, NULL, NULL};
        const pd_incidence incidence = {2, starts, roles};
        const pd_two_way_gaps gaps = {&distance, normal, range, 10.0, 0.0, 0.9};
        pd_two_way_update_slab(&pairs, &gaps, points, y, 0);
        say(names[where], where, pd_two_way_update_fraction(&pairs, &incidence, &gaps, points, y, 0));
    }
}

/* How far prescribed motion goes, and a vertex in contact, with one gap that is no number and one that is. */
static void gaps(real bad) {
    int kind[2] = {PD_VERTEX_PLANE, PD_VERTEX_PLANE}, rows[8] = {0, 1, 2, -1, 0, 1, 2, -1}, starts[2] = {0, 2}, roles[2] = {0, 4};
    real activation[2] = {1, 1}, separation[2] = {0, 0}, ball = 10, x[3] = {0, 0, 0};
    const pd_contact_pairs pairs = {2, kind, rows, activation, separation, NULL, NULL, NULL};
    const pd_incidence incidence = {2, starts, roles};
    for (int first = 0; first < 2; first++) {
        real before[2] = {1, 1}, after[2] = {1, 1};
        unsigned char touching = 0;
        pd_closing closing = {(double)INFINITY, (double)INFINITY, 1.0};
        after[first] = bad;
        for (int p = 0; p < 2; p++) pd_contact_update_closing(&pairs, before, after, 1e-9, 1e-3, p, &closing);
        say("closing", first, closing.fraction);
        for (int p = 0; p < 2; p++) after[p] = pd_contact_update_pair_bound(&pairs, after[p], 0.0, 0.9, p);
        say("reach", first, (double)pd_contact_update_displacement_bound_of(&incidence, after, &ball, x, x, 0, &touching));
    }
}

int main(void) {
    times_of_impact((real)NAN);
    times_of_impact((real)INFINITY);
    forward_parts((real)NAN);
    gaps((real)NAN);
    const double order[2][3] = {{1.0, (double)NAN, 0.5}, {(double)NAN, 1.0, 0.5}};
    for (int i = 0; i < 2; i++) {
        double least = (double)INFINITY, most = 0.0;
        for (int j = 0; j < 3; j++) least = pd_least_of(least, order[i][j]), most = pd_most_of(most, order[i][j]);
        say("least", i, least > -(double)INFINITY);
        say("most", i, most < (double)INFINITY);
    }
    pd_separating_plane plane = {.share = 1};
    say("rigid", 0, pd_body_plane_fraction(&plane, 1.0, (double)NAN, 0.0) > 0.0);
    return 0;
}
