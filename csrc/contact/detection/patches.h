/* Patches: the primitives of each voxel of the rest shape, in groups of bounded size; see patches.c. */
#ifndef PD_CONTACT_DETECTION_PATCHES_H
#define PD_CONTACT_DETECTION_PATCHES_H

#include "contact/detection/broad_phase.h"

typedef struct pd_patches {
    pd_primitives patches; /* without corners; any two may collide */
    pd_patch_items items[PD_PRIMITIVE_KINDS];
    pd_tree *tree;                         /* over the patches; its topology is constant */
    uint64_t *vertex_triangle, *edge_edge; /* B pairs inside a patch that may collide */
    size_t n_vertex_triangle, n_edge_edge;
} pd_patches;

/* Forms the patches from the primitives' rest boxes. keys, scratch and work: as in pd_sort_keys, for the largest number of primitives of
 * a kind. bound [1] B is overwritten. */
pd_status pd_patches_create(pd_patches *patches, pd_context *context, const pd_primitives *primitives, uint64_t *keys, uint64_t *scratch,
                            const pd_work *work, pd_bound *bound);
void pd_patches_destroy(pd_patches *patches, pd_context *context);

#endif
