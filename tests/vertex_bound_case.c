/* One vertex and planes around it, for tests/contact/test_vertex_bounds.py: reads n cases of PLANES planes, writes the bounded steps. The
 * exit status is 2 if planes from vector lanes, also of pairs beyond the neighbour list, give another step.
 *
 *   in   n, then of each case: H [6], g [3], radius, normals [PLANES,3], slacks [PLANES], all double
 *   out  d [n,3] double */
#include "cpu/contact/plane_lanes.h"

#include <stdio.h>
#include <string.h>

enum { PLANES = 6 };

typedef struct bound_case {
    double H[6], g[3], radius, normals[3 * PLANES], slacks[PLANES];
} bound_case;

static int lanes_agree(const pd_contact_sweep *contact, const bound_case *given) {
    pd_separating_plane kept[PD_BOUND_KEPT];
    pd_bound_planes planes;
    real one[3], other[3];
    pd_plane_lanes(contact, 0, kept, &planes);
    if (!planes.ready) return 0;
    pd_bound_correction(contact, NULL, 1, 0, NULL, given->H, given->g, NULL, one);
    pd_bound_correction(contact, NULL, 1, 0, NULL, given->H, given->g, &planes, other);
    return memcmp(one, other, sizeof one) == 0;
}

static int solve(const bound_case *given, double out[3]) {
    int start[2] = {0, PLANES}, none[2] = {0, 0}, roles[PLANES], kind[PLANES], corners[4 * PLANES];
    real points[3 + 6 * PLANES] = {0}, separation[PLANES] = {0}, activation[PLANES], d[3];
    for (int p = 0; p < PLANES; p++) { // a plane that stands `slacks` away from the vertex; with the fraction 2 that is its share
        kind[p] = PD_VERTEX_PLANE, activation[p] = 1, roles[p] = 4 * p;
        corners[4 * p] = 0, corners[4 * p + 1] = 1 + 2 * p, corners[4 * p + 2] = 2 + 2 * p, corners[4 * p + 3] = -1;
        for (int c = 0; c < 3; c++) {
            points[3 + 6 * p + c] = (real)(-given->slacks[p] * given->normals[3 * p + c]);
            points[6 + 6 * p + c] = (real)given->normals[3 * p + c];
        }
    }
    pd_contact_sweep contact = {.points = points, .incidence = {PLANES, start, roles}};
    contact.bounds.pairs = (pd_contact_pairs){PLANES, kind, corners, activation, separation, NULL, NULL, NULL};
    contact.bounds.begun = points, contact.bounds.fraction = 2.0, contact.bounds.outer = given->radius;
    contact.bounds.far = (pd_far_pairs){.incidence = {0, none, roles}, .start = points};
    pd_bound_correction(&contact, NULL, 1, 0, NULL, given->H, given->g, NULL, d);
    for (int c = 0; c < 3; c++) out[c] = (double)d[c];
    if (!lanes_agree(&contact, given)) return 0;
    // the same with every other plane beyond the neighbour list
    const unsigned char near[PLANES] = {1, 0, 1, 0, 1, 0};
    for (int p = 0; p < PLANES; p++) activation[p] = (real)(0.5 * given->slacks[p]);
    contact.bounds.far = (pd_far_pairs){{PLANES, start, roles}, contact.bounds.pairs, near, points};
    int few[2] = {0, 3}, few_roles[3] = {roles[0], roles[2], roles[4]};
    contact.incidence = (pd_incidence){3, few, few_roles};
    return lanes_agree(&contact, given);
}

int main(void) {
    bound_case given;
    double n, d[3];
    if (fread(&n, sizeof n, 1, stdin) != 1) return 1;
    for (int i = 0; i < (int)n; i++) {
        if (fread(&given, sizeof given, 1, stdin) != 1) return 1;
        if (!solve(&given, d)) return 2;
        fwrite(d, sizeof d, 1, stdout);
    }
    return 0;
}
