/* Separating planes of pairs, several per vector register; see plane_lanes.h. As in cpu/contact/contact.c, extreme pairs run one by one. */
#include "cpu/contact/plane_lanes.h"

/* Normal, heights and distance of pairs of one kind. */
typedef struct lane_planes {
    real number[9][PD_CONTACT_LANES];
    int plain[PD_CONTACT_LANES]; /* 0: the numbers are undefined */
} lane_planes;

PD_INLINE void planes_of_kind(int kind, const pd_contact_lanes *lanes, lane_planes *out) {
#pragma omp simd
    for (int l = 0; l < PD_CONTACT_LANES; l++) {
        pd_points4 x = pd_contact_lanes_corners(lanes, l);
        pd_nearest nearest = pd_contact_nearest(kind, x);
        pd_side_heights heights = pd_side_heights_of(kind, x, nearest.normal, nearest.distance);
        out->plain[l] = pd_contact_is_plain(kind, x, nearest);
        out->number[0][l] = nearest.normal.x, out->number[1][l] = nearest.normal.y, out->number[2][l] = nearest.normal.z;
        out->number[3][l] = heights.a, out->number[4][l] = heights.b, out->number[5][l] = heights.c, out->number[6][l] = heights.d;
        out->number[7][l] = heights.margin, out->number[8][l] = nearest.distance;
    }
}

static __attribute__((noinline)) void lane_planes_of(int kind, const pd_contact_lanes *lanes, lane_planes *out) {
#define PD_CALL(KIND) planes_of_kind(KIND, lanes, out)
    PD_CONTACT_OF_KIND(kind, PD_CALL)
#undef PD_CALL
}

/* The arguments of pd_contact_update_plane that pairs share. */
typedef struct plane_rule {
    const pd_contact_pairs *pairs;
    const real *x;
    double rounding, fraction;
    int within_slack;
} plane_rule;

/* planes [slots[l]] = the plane of pair chosen[l], for `count` <= PD_CONTACT_LANES pairs of one kind. */
static void set_lanes(const plane_rule *rule, int kind, const int *chosen, const int *slots, int count, pd_separating_plane *planes) {
    const pd_contact_pairs *pairs = rule->pairs;
    pd_contact_lanes lanes;
    lane_planes found;
    pd_contact_lanes_gather_corners(pairs, rule->x, kind, chosen, count, &lanes);
    lane_planes_of(kind, &lanes, &found);
    for (int l = 0; l < count; l++) {
        int p = chosen[l];
        pd_separating_plane *plane = planes + slots[l];
        if (!found.plain[l]) {
            pd_contact_update_plane(pairs, rule->x, rule->rounding, rule->fraction, rule->within_slack, p, plane);
            continue;
        }
        const real normal[3] = {found.number[0][l], found.number[1][l], found.number[2][l]};
        const pd_side_heights heights = {found.number[3][l], found.number[4][l], found.number[5][l], found.number[6][l],
                                         found.number[7][l]};
        double most = rule->within_slack ? (double)pd_contact_update_slack(pairs, found.number[8][l], rule->rounding, p) : (double)INFINITY;
        pd_separating_plane_set(heights, pairs->separation[p], rule->rounding, rule->fraction, most, normal, plane);
    }
}

pd_status pd_contact_planes(pd_context *context, const pd_contact_pairs *pairs, const real *x, double rounding, double fraction,
                            pd_separating_plane *planes) {
    int n = pairs->n, blocks = (n + PD_CONTACT_MOST - 1) / PD_CONTACT_MOST;
    const plane_rule rule = {pairs, x, rounding, fraction, 0};
#pragma omp parallel for num_threads(pd_threads(context, n, 40)) schedule(static)
    for (int block = 0; block < blocks; block++) {
        int first = PD_CONTACT_MOST * block, end = n - first < PD_CONTACT_MOST ? n : first + PD_CONTACT_MOST;
        pd_contact_kinds chosen;
        pd_contact_sort_kinds(pairs, first, end, &chosen);
        for (int kind = 0; kind < PD_CONTACT_PAIR_COUNT; kind++)
            for (int k = 0; k < chosen.n[kind]; k += PD_CONTACT_LANES) {
                const int *here = chosen.pairs[kind] + k;
                int count = chosen.n[kind] - k < PD_CONTACT_LANES ? chosen.n[kind] - k : PD_CONTACT_LANES;
                set_lanes(&rule, kind, here, here, count, planes);
            }
    }
    return PD_OK;
}

/* Pairs of each kind that wait for their planes. */
typedef struct waiting {
    int n[PD_CONTACT_PAIR_COUNT], pairs[PD_CONTACT_PAIR_COUNT][PD_CONTACT_LANES], slots[PD_CONTACT_PAIR_COUNT][PD_CONTACT_LANES];
} waiting;

static void flush(const plane_rule *rule, int kind, waiting *waiting, pd_separating_plane *planes) {
    if (waiting->n[kind]) set_lanes(rule, kind, waiting->pairs[kind], waiting->slots[kind], waiting->n[kind], planes);
    waiting->n[kind] = 0;
}

/* planes [n], [n + 1], ..: of point i's pairs, without those in `skipped`. Returns their end, or -1 above PD_BOUND_KEPT planes. */
static int planes_of_point(const plane_rule *rule, const pd_incidence *incidence, const unsigned char *skipped, int i, int n,
                           pd_separating_plane *planes) {
    waiting waiting = {0};
    for (int r = incidence->start[i]; r < incidence->start[i + 1]; r++) {
        int p = incidence->roles[r] / 4, kind = rule->pairs->kind[p];
        if (skipped && skipped[p]) continue;
        if (n == PD_BOUND_KEPT) return -1;
        waiting.slots[kind][waiting.n[kind]] = n++;
        waiting.pairs[kind][waiting.n[kind]++] = p;
        if (waiting.n[kind] == PD_CONTACT_LANES) flush(rule, kind, &waiting, planes);
    }
    for (int kind = 0; kind < PD_CONTACT_PAIR_COUNT; kind++) flush(rule, kind, &waiting, planes);
    return n;
}

void pd_plane_lanes(const pd_contact_sweep *contact, int vertex, pd_separating_plane *kept, pd_bound_planes *planes) {
    const pd_vertex_bounds *bounds = &contact->bounds;
    const pd_far_pairs *far = &bounds->far;
    const plane_rule near = {&bounds->pairs, bounds->begun, bounds->rounding, bounds->fraction, 0},
                     beyond = {&far->pairs, far->start, bounds->rounding, bounds->fraction, 1};
    pd_bound_planes_begin(planes);
    if (contact->embedding.start) return;
    int n = planes_of_point(&near, &contact->incidence, NULL, vertex, 0, kept);
    if (n >= 0) n = planes_of_point(&beyond, &far->incidence, far->near, vertex, n, kept);
    if (n >= 0) planes->ready = kept;
}
