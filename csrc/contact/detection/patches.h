/* Patches: the primitives of each voxel of the rest shape, in groups of bounded size; see patches.c. */
#ifndef PD_CONTACT_DETECTION_PATCHES_H
#define PD_CONTACT_DETECTION_PATCHES_H

#include "contact/detection/broad_phase.h"

typedef struct pd_patches {
    pd_primitives patches; /* of no corners; any two may collide */
    pd_patch_items items[PD_PRIMITIVE_KINDS];
    pd_tree *tree;                         /* over the patches; its topology stays */
    uint64_t *vertex_triangle, *edge_edge; /* B pairs inside a patch that may collide */
    size_t n_vertex_triangle, n_edge_edge;
} pd_patches;

/* Forms the patches over primitives whose boxes are those of the rest shape. keys, scratch and work: as pd_sort_keys, for as many keys as
 * there are primitives of any kind; bound [1] B is written over. */
pd_status pd_patches_create(pd_patches *patches, pd_context *context, const pd_primitives *primitives, uint64_t *keys, uint64_t *scratch,
                            const pd_work *work, pd_bound *bound);
void pd_patches_destroy(pd_patches *patches, pd_context *context);

#endif
