/* The broad phase with a distance test of the overlapping pairs, with and without synchronisation; see broad_phase.h. */
#include "contact/detection/broad_phase_parts.h"

/* Half of the search distance on each side of a box, rounded up. */
static const double WIDENING = 0.5 * (1.0 + 8.0 * (double)PD_EPSILON);

/* Keeps the neighbour pairs among the first n keys of a list, or among the first *count keys (count not NULL). */
static pd_status keep_within(pd_broad_phase *phase, int which, size_t n, const uint64_t *count, const real *x_t0, const real *x_t1,
                             const pd_nearness *within) {
    pair_list *list = &phase->lists[which];
    int edges = which == EDGE_EDGE;
    const pd_primitives *first = &phase->primitives[edges ? PD_EDGES : PD_VERTICES],
                        *second = &phase->primitives[edges ? PD_EDGES : PD_TRIANGLES];
    const pd_ways ways = {x_t0, x_t1, pd_broad_phase_not_below(edges ? within->edge_edge : within->vertex_triangle)};
    uint64_t *all = list->buffer.keys;
    pd_status status;
    list->buffer.keys = list->scratch, list->scratch = all;
    PD_TRY(pd_memory_clear(phase->context, list->buffer.found, sizeof *list->buffer.found));
    PD_TRY(pd_pairs_within(phase->context, n, count, all, first, second, &ways, &list->buffer));
done:
    return status;
}

pd_status pd_broad_phase_find_within(pd_broad_phase *phase, const real *x_t0, const real *x_t1, const pd_nearness *within,
                                     pd_pairs *vertex_triangle, pd_pairs *edge_edge) {
    pd_status status;
    PD_TRY(pd_broad_phase_keys(phase, x_t0, x_t1, WIDENING * within->vertex_triangle, WIDENING * within->edge_edge, 0));
    for (int which = VERTEX_TRIANGLE; which <= EDGE_EDGE; which++)
        PD_TRY(keep_within(phase, which, phase->lists[which].n, NULL, x_t0, x_t1, within));
    PD_TRY(pd_broad_phase_read_findings(phase));
    for (int which = VERTEX_TRIANGLE; which <= EDGE_EDGE; which++) phase->lists[which].n = (size_t)phase->seen.found[which];
    PD_TRY(pd_broad_phase_sort(phase, vertex_triangle, edge_edge));
done:
    return status;
}

/* The sort covers the largest number of neighbour pairs so far, not all overlapping pairs. */
static size_t capacity_for_within(const pair_list *list) { return list->near < list->buffer.capacity ? list->near : list->buffer.capacity; }

static pd_status find_list_async(pd_broad_phase *phase, int which, const real *x_t0, const real *x_t1, const pd_nearness *within,
                                 pd_pairs *pairs, pd_watched_capacities *capacities) {
    pair_list *list = &phase->lists[which];
    uint64_t *overlapping = &phase->findings->overlapping[which];
    pd_status status;
    PD_TRY(pd_broad_phase_append(phase, which));
    PD_TRY(pd_memory_copy(phase->context, overlapping, list->buffer.found, sizeof *overlapping));
    pd_watch_capacity(capacities, overlapping, list->buffer.capacity);
    PD_TRY(keep_within(phase, which, list->buffer.capacity, overlapping, x_t0, x_t1, within));
    pd_watch_capacity(capacities, list->buffer.found, capacity_for_within(list));
    PD_TRY(pd_broad_phase_sort_some(phase, which, capacity_for_within(list), pairs));
done:
    return status;
}

pd_status pd_broad_phase_find_within_async(pd_broad_phase *phase, const real *x_t0, const real *x_t1, const pd_nearness *within,
                                           pd_pairs *vertex_triangle, pd_pairs *edge_edge, pd_watched_capacities *capacities) {
    pd_status status;
    if (phase->method != PD_BROAD_PHASE_TREE || pd_fetches_at_once(phase->context))
        return pd_broad_phase_find_within(phase, x_t0, x_t1, within, vertex_triangle, edge_edge);
    phase->counts.searches++;
    PD_TRY(pd_broad_phase_boxes(phase, x_t0, x_t1, WIDENING * within->vertex_triangle, WIDENING * within->edge_edge));
    PD_TRY(pd_broad_phase_follow(phase));
    PD_TRY(find_list_async(phase, VERTEX_TRIANGLE, x_t0, x_t1, within, vertex_triangle, capacities));
    PD_TRY(find_list_async(phase, EDGE_EDGE, x_t0, x_t1, within, edge_edge, capacities));
done:
    return status;
}

pd_status pd_broad_phase_fetch(pd_broad_phase *phase) {
    return pd_memory_fetch(phase->context, &phase->seen, phase->findings, sizeof phase->seen);
}

pd_status pd_broad_phase_find_within_result(pd_broad_phase *phase, const uint64_t *most, int *enough) {
    pd_status status = PD_OK;
    *enough = 1;
    phase->unread = 0;
    for (int which = VERTEX_TRIANGLE; which <= EDGE_EDGE; which++) {
        pair_list *list = &phase->lists[which];
        size_t overlapping = (size_t)*most++, near = (size_t)*most++;
        if (near > capacity_for_within(list)) *enough = 0;
        while (list->near < near) list->near *= 2;
        if (overlapping <= list->buffer.capacity) continue;
        PD_TRY(pd_broad_phase_lengthen(phase, list, overlapping));
        *enough = 0;
    }
done:
    return status;
}
