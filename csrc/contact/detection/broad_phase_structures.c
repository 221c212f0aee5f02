/* The structures that a broad phase searches: trees, grids, boxes of patches; see broad_phase.h. */
#include "contact/detection/broad_phase_parts.h"

#include <float.h>
#include <math.h>

/* A refitted tree is built again when its surface-area cost has grown by this factor. */
static const double COST_LIMIT = 1.5;
/* The tree in which the pairs of a list are found. */
static const int TREE_OF[] = {[VERTEX_TRIANGLE] = PD_TRIANGLES, [EDGE_EDGE] = PD_EDGES};

/* Sorts the primitives of a kind along the Morton curve, into phase->keys. */
static pd_status sort_along_curve(pd_broad_phase *phase, int kind) {
    pd_context *context = phase->context;
    const pd_primitives *p = &phase->primitives[kind];
    pd_bound *scene = &phase->findings->bounds[kind];
    pd_status status;
    PD_TRY(pd_boxes_bound(context, p->n, p->boxes, &phase->work, scene));
    PD_TRY(pd_morton_keys(context, p->n, p->index_bits, p->boxes, scene, phase->keys));
    PD_TRY(pd_sort_keys(context, (size_t)p->n, p->index_bits, 64, phase->keys, phase->scratch, &phase->work));
done:
    return status;
}

static pd_status build_tree(pd_broad_phase *phase, int kind) {
    pd_context *context = phase->context;
    const pd_primitives *p = &phase->primitives[kind];
    primitive_tree *t = &phase->trees[kind];
    pd_status status;
    t->cost = 0.0; /* unknown until it is read, and not enqueued until the tree is complete */
    t->unread = 0;
    if (kind == PD_TRIANGLES) { /* the order of the vertices, which search the triangles */
        const pd_primitives *vertices = &phase->primitives[PD_VERTICES];
        PD_TRY(sort_along_curve(phase, PD_VERTICES));
        PD_TRY(pd_key_items(context, vertices->n, vertices->index_bits, phase->keys, phase->vertex_order));
    }
    PD_TRY(sort_along_curve(phase, kind));
    PD_TRY(pd_tree_build(context, t->tree, p, phase->keys));
    PD_TRY(pd_tree_fit(context, t->tree, p, &phase->findings->costs[kind], DBL_MAX));
    t->unread = 1;
    phase->counts.builds++;
done:
    return status;
}

/* limit: the cost above which a refitted tree is not searched. */
static pd_status build_or_fit(pd_broad_phase *phase, int kind, int build, double limit) {
    phase->unread = 1;
    if (build) return build_tree(phase, kind);
    phase->counts.refits++;
    return pd_tree_fit(phase->context, phase->trees[kind].tree, &phase->primitives[kind], &phase->findings->costs[kind], limit);
}

/* Stores the costs of new trees after a readback. */
static void learn_costs(pd_broad_phase *phase) {
    for (int which = VERTEX_TRIANGLE; which <= EDGE_EDGE; which++) {
        primitive_tree *t = &phase->trees[TREE_OF[which]];
        if (t->unread && !phase->unread) t->cost = phase->seen.costs[TREE_OF[which]], t->unread = 0;
    }
}

/* Tells whether the last known cost of a tree exceeds its limit. The cost of a new tree never does. */
static int has_grown(const pd_broad_phase *phase, int kind) { return phase->seen.costs[kind] > COST_LIMIT * phase->trees[kind].cost; }

/* Refits the trees. Builds those of unknown cost, or all with `rebuild`. A tree that is too costly after its refit is not searched until
 * pd_broad_phase_reopen. */
static pd_status update_trees(pd_broad_phase *phase, int rebuild) {
    pd_status status = PD_OK;
    learn_costs(phase);
    for (int which = VERTEX_TRIANGLE; which <= EDGE_EDGE; which++) {
        double cost = phase->trees[TREE_OF[which]].cost;
        PD_TRY(build_or_fit(phase, TREE_OF[which], rebuild || !(cost > 0.0), COST_LIMIT * cost));
    }
done:
    return status;
}

pd_status pd_broad_phase_reopen(pd_broad_phase *phase, int again[2]) {
    int opened = 0;
    pd_status status;
    learn_costs(phase);
    for (int which = VERTEX_TRIANGLE; which <= EDGE_EDGE; which++) {
        int kind = TREE_OF[which];
        again[which] = phase->method == PD_BROAD_PHASE_TREE && has_grown(phase, kind);
        if (again[which]) PD_TRY(build_or_fit(phase, kind, 1, DBL_MAX));
        opened |= again[which];
    }
    status = opened ? pd_mark(phase->context, PD_MARK_MIDDLE) : PD_OK;
done:
    return status;
}

pd_status pd_broad_phase_follow(pd_broad_phase *phase) {
    int unread = phase->unread;
    pd_status status = PD_OK;
    learn_costs(phase);
    for (int which = VERTEX_TRIANGLE; which <= EDGE_EDGE; which++) {
        int kind = TREE_OF[which];
        const primitive_tree *t = &phase->trees[kind];
        int known = t->cost > 0.0, build = unread ? !known && !t->unread : !known || has_grown(phase, kind);
        PD_TRY(build_or_fit(phase, kind, build, DBL_MAX));
    }
done:
    return status;
}

/* The finest cells are two to four times as large as the average box, so that most boxes are on one level. Smaller cells were slower on
 * the CPU. A bound on the number of cells prevents an overflow of their numbers. */
static pd_status build_grids(pd_broad_phase *phase) {
    pd_context *context = phase->context;
    pd_box scene = pd_box_empty();
    double size = 0.0, width = 0.0;
    pd_status status;
    for (int kind = 0; kind < PD_PRIMITIVE_KINDS; kind++)
        PD_TRY(pd_boxes_bound(context, phase->primitives[kind].n, phase->primitives[kind].boxes, &phase->work,
                              &phase->findings->bounds[kind]));
    PD_TRY(pd_broad_phase_read_findings(phase));
    for (int kind = 0; kind < PD_PRIMITIVE_KINDS; kind++) {
        pd_box_add(&scene, &phase->seen.bounds[kind].box);
        if (phase->seen.bounds[kind].mean_size > size) size = phase->seen.bounds[kind].mean_size;
    }
    for (int axis = 0; axis < 3; axis++)
        if ((double)scene.high[axis] - (double)scene.low[axis] > width) width = (double)scene.high[axis] - (double)scene.low[axis];
    if (!(width <= DBL_MAX)) return pd_fail(pd_context_error(context), PD_ERROR_NOT_FINITE, "broad phase: a position is infinite");
    int coarsest, finest;
    (void)frexp(width, &coarsest);
    (void)frexp(size, &finest);
    finest++;
    if (!(size > 0.0) || finest < coarsest - MOST_LEVELS) finest = coarsest - MOST_LEVELS;
    for (int kind = 0; kind < PD_PRIMITIVE_KINDS; kind++) {
        phase->grids[kind].finest = finest;
        phase->grids[kind].scene = scene;
        PD_TRY(pd_grid_count(context, &phase->grids[kind], &phase->primitives[kind], &phase->work, &phase->findings->grids[kind]));
    }
    PD_TRY(pd_broad_phase_read_findings(phase));
    for (int kind = 0; kind < PD_PRIMITIVE_KINDS; kind++) {
        const pd_primitives *p = &phase->primitives[kind];
        pd_grid *grid = &phase->grids[kind];
        size_t n = (size_t)phase->seen.grids[kind].n_entries;
        grid->levels = phase->seen.grids[kind].levels;
        PD_TRY(pd_grid_fill(context, grid, p));
        PD_TRY(pd_sort_keys(context, n, p->index_bits, p->index_bits + grid->hash_bits, grid->entries, phase->scratch, &phase->work));
        PD_TRY(pd_grid_index(context, grid, n, p->index_bits));
        phase->counts.builds++;
    }
done:
    return status;
}

pd_status pd_broad_phase_structure(pd_broad_phase *phase, int rebuild) {
    pd_patches *patches = &phase->patches;
    pd_status status;
    if (phase->method == PD_BROAD_PHASE_TREE) return update_trees(phase, rebuild);
    if (phase->method != PD_BROAD_PHASE_PATCHES) return build_grids(phase);
    PD_TRY(
        pd_patch_boxes(phase->context, patches->patches.n, PD_PRIMITIVE_KINDS, phase->primitives, patches->items, patches->patches.boxes));
    PD_TRY(pd_tree_fit(phase->context, patches->tree, &patches->patches, NULL, DBL_MAX));
    phase->counts.refits++;
done:
    return status;
}
