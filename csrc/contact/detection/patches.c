/* Voxel patches [Lan et al. 2022, Projective IPC, Sec. 7.2].
 *
 * Every vertex, edge and triangle belongs to the voxel that contains the centre of its rest box. A patch need not be connected. A voxel
 * with more than PATCH_LIMIT primitives of a kind makes several patches. This bounds the number of pairs listed inside a patch, per
 * primitive. Patches are formed once, on the host. */
#include "contact/detection/patches.h"

#include <stdlib.h>
#include <string.h>

/* In mean box sizes; such a voxel holds some 16 triangles of a surface. */
static const double VOXEL = 3.0;
enum { PATCH_LIMIT = 32 };

typedef struct member {
    uint64_t voxel;
    int kind, item;
} member;

static int compare_members(const void *left, const void *right) {
    const member *a = left, *b = right;
    if (a->voxel != b->voxel) return a->voxel < b->voxel ? -1 : 1;
    if (a->kind != b->kind) return a->kind < b->kind ? -1 : 1;
    return (a->item > b->item) - (a->item < b->item);
}

static pd_status copy_out(pd_context *context, void **target, const void *source, size_t bytes) {
    pd_status status = pd_memory_create(context, target, bytes + 1);
    return status ? status : pd_memory_upload(context, *target, source, bytes);
}

/* The members of voxel i in the grid. */
static uint64_t voxel_of(const pd_box *box, const pd_box *scene, double size) {
    uint64_t code = 0;
    for (int axis = 0; axis < 3; axis++) {
        double middle = 0.5 * (double)box->low[axis] + 0.5 * (double)box->high[axis] - (double)scene->low[axis];
        double cell = size > 0.0 ? middle / size : 0.0;
        uint64_t complete = cell > 0.0 ? cell < 2097151.0 ? (uint64_t)cell : 2097151u : 0u;
        code |= pd_spread_bits(complete) << axis;
    }
    return code;
}

/* Lists the pairs inside the patches. keys NULL: only counts them. */
static size_t pairs_inside(uint64_t *keys, int n_patches, const pd_patch_items *first_items, const pd_patch_items *second_items, int same,
                           int second_bits) {
    size_t n = 0;
    for (int patch = 0; patch < n_patches; patch++)
        for (int a = first_items->start[patch]; a < first_items->start[patch + 1]; a++)
            for (int b = same ? a + 1 : second_items->start[patch]; b < second_items->start[patch + 1]; b++) {
                if (keys) keys[n] = (uint64_t)first_items->items[a] << second_bits | (uint64_t)second_items->items[b];
                n++;
            }
    return n;
}

pd_status pd_patches_create(pd_patches *patches, pd_context *context, const pd_primitives *primitives, uint64_t *keys, uint64_t *scratch,
                            const pd_work *work, pd_bound *bound) {
    memset(patches, 0, sizeof *patches);
    pd_error *error = pd_context_error(context);
    pd_primitives *all = &patches->patches;
    pd_status status = PD_OK;
    size_t n = 0, largest = 0;
    for (int kind = 0; kind < PD_PRIMITIVE_KINDS; kind++) {
        n += (size_t)primitives[kind].n;
        if ((size_t)primitives[kind].n > largest) largest = (size_t)primitives[kind].n;
    }
    member *members = malloc((n + 1) * sizeof *members);
    pd_box *boxes = malloc((largest + 1) * sizeof *boxes);
    int *patch_of = malloc((n + 1) * sizeof *patch_of); /* of each member */
    pd_patch_items host[PD_PRIMITIVE_KINDS] = {{NULL, NULL}, {NULL, NULL}, {NULL, NULL}};
    uint64_t *listed = NULL;
    pd_box scene = pd_box_empty();
    pd_bound of_kind;
    double size = 0.0;
    if (!members || !boxes || !patch_of) {
        status = pd_fail(error, PD_ERROR_MEMORY, "out of memory for the patches of %zu primitives", n);
        goto done;
    }
    for (int kind = 0; kind < PD_PRIMITIVE_KINDS; kind++) {
        PD_TRY(pd_boxes_bound(context, primitives[kind].n, primitives[kind].boxes, work, bound));
        PD_TRY(pd_memory_download(context, &of_kind, bound, sizeof of_kind));
        pd_box_add(&scene, &of_kind.box);
        if (of_kind.mean_size > size) size = of_kind.mean_size;
    }
    n = 0;
    for (int kind = 0; kind < PD_PRIMITIVE_KINDS; kind++) {
        PD_TRY(pd_memory_download(context, boxes, primitives[kind].boxes, (size_t)primitives[kind].n * sizeof *boxes));
        for (int i = 0; i < primitives[kind].n; i++) members[n++] = (member){voxel_of(&boxes[i], &scene, VOXEL * size), kind, i};
    }
    qsort(members, n, sizeof *members, compare_members);

    /* the k-th primitive of a kind in a voxel belongs to patch k / PATCH_LIMIT of the voxel */
    for (size_t i = 0; i < n;) {
        size_t end = i;
        int count[PD_PRIMITIVE_KINDS] = {0}, most = 0;
        for (; end < n && members[end].voxel == members[i].voxel; end++) {
            int k = count[members[end].kind]++;
            patch_of[end] = all->n + k / PATCH_LIMIT;
            if (k / PATCH_LIMIT > most) most = k / PATCH_LIMIT;
        }
        all->n += most + 1;
        i = end;
    }
    while (((long long)1 << all->index_bits) < all->n) all->index_bits++;

    for (int kind = 0; kind < PD_PRIMITIVE_KINDS; kind++) {
        int n_items = primitives[kind].n;
        int *start = host[kind].start = calloc((size_t)all->n + 2, sizeof *start);
        int *items = host[kind].items = malloc(((size_t)n_items + 1) * sizeof *items);
        if (!start || !items) {
            status = pd_fail(error, PD_ERROR_MEMORY, "out of memory for %d patches", all->n);
            goto done;
        }
        for (size_t i = 0; i < n; i++)
            if (members[i].kind == kind) start[patch_of[i] + 1]++;
        for (int patch = 0; patch < all->n; patch++) start[patch + 1] += start[patch];
        for (size_t i = 0; i < n; i++)
            if (members[i].kind == kind) items[start[patch_of[i]]++] = members[i].item;
        for (int patch = all->n; patch > 0; patch--) start[patch] = start[patch - 1];
        start[0] = 0;
        PD_TRY(copy_out(context, (void **)&patches->items[kind].start, start, ((size_t)all->n + 1) * sizeof *start));
        PD_TRY(copy_out(context, (void **)&patches->items[kind].items, items, (size_t)n_items * sizeof *items));
    }
    for (int same = 0; same < 2; same++) {
        int first = same ? PD_EDGES : PD_VERTICES, second = same ? PD_EDGES : PD_TRIANGLES, bits = primitives[second].index_bits;
        size_t count = pairs_inside(NULL, all->n, &host[first], &host[second], same, bits);
        free(listed);
        listed = malloc((count + 1) * sizeof *listed);
        if (!listed) {
            status = pd_fail(error, PD_ERROR_MEMORY, "out of memory for %zu pairs inside patches", count);
            goto done;
        }
        pairs_inside(listed, all->n, &host[first], &host[second], same, bits);
        PD_TRY(copy_out(context, (void **)(same ? &patches->edge_edge : &patches->vertex_triangle), listed, count * sizeof *listed));
        *(same ? &patches->n_edge_edge : &patches->n_vertex_triangle) = count;
    }

    PD_TRY(pd_memory_create(context, (void **)&all->boxes, ((size_t)all->n + 1) * sizeof *all->boxes));
    PD_TRY(pd_memory_create(context, (void **)&all->corners, 1));
    for (size_t i = 0; i < n; i++) patch_of[i] = PD_TAG_SELF;
    PD_TRY(copy_out(context, (void **)&all->tags, patch_of, (size_t)all->n * sizeof *all->tags));
    PD_TRY(pd_tree_create(context, &patches->tree, all->n));
    PD_TRY(pd_patch_boxes(context, all->n, PD_PRIMITIVE_KINDS, primitives, patches->items, all->boxes));
    PD_TRY(pd_boxes_bound(context, all->n, all->boxes, work, bound));
    PD_TRY(pd_morton_keys(context, all->n, all->index_bits, all->boxes, bound, keys));
    PD_TRY(pd_sort_keys(context, (size_t)all->n, all->index_bits, 64, keys, scratch, work));
    PD_TRY(pd_tree_build(context, patches->tree, all, keys));
done:
    free(members);
    free(boxes);
    free(patch_of);
    free(listed);
    for (int kind = 0; kind < PD_PRIMITIVE_KINDS; kind++) {
        free(host[kind].start);
        free(host[kind].items);
    }
    return status;
}

void pd_patches_destroy(pd_patches *patches, pd_context *context) {
    for (int kind = 0; kind < PD_PRIMITIVE_KINDS; kind++) {
        pd_memory_destroy(context, patches->items[kind].start);
        pd_memory_destroy(context, patches->items[kind].items);
    }
    PD_MEMORIES_DESTROY(context, patches->patches.boxes, patches->patches.corners, patches->patches.tags);
    pd_tree_destroy(context, patches->tree);
    pd_memory_destroy(context, patches->vertex_triangle);
    pd_memory_destroy(context, patches->edge_edge);
}
