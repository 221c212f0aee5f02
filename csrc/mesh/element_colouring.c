/* Greedy element colouring; see element_colouring.h. */
#include "mesh/element_colouring.h"

#include <stdlib.h>
#include <string.h>

pd_status pd_element_colouring_create(int *colours, int *n_colours, const pd_element_set *sets, int n_sets, const unsigned char *fixed,
                                      const pd_corners *corners, pd_error *error) {
    pd_status status = PD_OK;
    int n_elements = 0, corner = 0, element = 0;
    *n_colours = 0;
    for (int s = 0; s < n_sets; s++) n_elements += sets[s].n;
    int *owner = malloc(((size_t)corners->n_corners + 1) * sizeof *owner); /* element of each corner */
    int *taken = malloc(((size_t)n_elements + 1) * sizeof *taken);         /* taken[colour] = the last element that must not have it */
    if (!owner || !taken) {
        status = pd_fail(error, PD_ERROR_MEMORY, "out of memory for the colours of %d elements", n_elements);
        goto done;
    }
    for (int s = 0; s < n_sets; s++)
        for (int e = 0, k = pd_kind_shape_of(sets[s].kind).vertices; e < sets[s].n; e++, element++)
            for (int a = 0; a < k; a++) owner[corner++] = element;
    memset(taken, 0xff, ((size_t)n_elements + 1) * sizeof *taken);

    element = 0;
    for (int s = 0; s < n_sets; s++) {
        size_t k = (size_t)pd_kind_shape_of(sets[s].kind).vertices;
        for (size_t e = 0; e < (size_t)sets[s].n; e++, element++) {
            for (size_t a = 0; a < k; a++) {
                int v = sets[s].vertices[e * k + a];
                if (fixed[v]) continue;
                // corners ascend, so earlier elements have a colour
                for (int c = corners->start[v]; c < corners->start[v + 1] && owner[corners->corners[c]] < element; c++)
                    taken[colours[owner[corners->corners[c]]]] = element;
            }
            int colour = 0;
            while (taken[colour] == element) colour++;
            colours[element] = colour;
            if (colour >= *n_colours) *n_colours = colour + 1;
        }
    }

done:
    free(owner);
    free(taken);
    return status;
}
