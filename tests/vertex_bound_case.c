/* One vertex and planes around it, for tests/contact/test_vertex_bounds.py: reads n cases of PLANES planes, writes the bounded steps.
 *
 *   in   n, then of each case: H [6], g [3], radius, normals [PLANES,3], rooms [PLANES], all double
 *   out  d [n,3] double */
#include "updates/vertex_bound.h"

#include <stdio.h>

enum { PLANES = 6 };

typedef struct bound_case {
    double H[6], g[3], radius, normals[3 * PLANES], rooms[PLANES];
} bound_case;

static void solve(const bound_case *given, double out[3]) {
    pd_contact_record records[PLANES];
    pd_separating_plane planes[PLANES];
    int start[2] = {0, PLANES}, none[2] = {0, 0}, roles[PLANES];
    real points[3] = {0, 0, 0}, origin[3] = {0, 0, 0}, d[3];
    for (int p = 0; p < PLANES; p++) {
        records[p] = (pd_contact_record){.points = {0, 1, 2, 3}, .kind = PD_VERTEX_TRIANGLE};
        planes[p] = (pd_separating_plane){.rooms = {(real)given->rooms[p]}, .share = (real)given->rooms[p]};
        for (int c = 0; c < 3; c++) planes[p].normal[c] = (real)given->normals[3 * p + c];
        roles[p] = 4 * p;
    }
    pd_contact_sweep contact = {.records = records, .planes = planes, .points = points, .outer = given->radius};
    contact.incidence = (pd_incidence){PLANES, start, roles};
    contact.far = (pd_far_pairs){.incidence = {0, none, roles}, .start = origin};
    pd_bound_step(&contact, NULL, 1, 0, NULL, given->H, given->g, d);
    for (int c = 0; c < 3; c++) out[c] = (double)d[c];
}

int main(void) {
    bound_case given;
    double n, d[3];
    if (fread(&n, sizeof n, 1, stdin) != 1) return 1;
    for (int i = 0; i < (int)n; i++) {
        if (fread(&given, sizeof given, 1, stdin) != 1) return 1;
        solve(&given, d);
        fwrite(d, sizeof d, 1, stdout);
    }
    return 0;
}
