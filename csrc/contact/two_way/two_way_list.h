/* The constraints of the two-way method in backend memory: rows with their incidence, ordered by colours for sweeps. */
#ifndef PD_CONTACT_TWO_WAY_TWO_WAY_LIST_H
#define PD_CONTACT_TWO_WAY_TWO_WAY_LIST_H

#include "contact/detection/incidence.h"
#include "loops/two_way_loops.h"

/* Rows and the data derived from them. */
typedef struct pd_two_way_list {
    pd_two_way_rows at;
    size_t capacity;
    pd_incidence incidence;
    int n_colours, *starts; /* H [n_colours + 1] */
    size_t starts_capacity;
} pd_two_way_list;

/* Scratch of a colouring, shared by the lists. */
typedef struct pd_two_way_colouring {
    size_t key_capacity, colour_capacity;
    uint64_t *keys, *scratch;
    int *fresh, *order, *first; /* B [colour_capacity], starts of the colours [colour_capacity + 2] */
    pd_work work;
    uint64_t *found; /* B [1] */
} pd_two_way_colouring;

/* Increases the capacity to n rows, with `rubs` also for their friction. Memory: grows. Errors: PD_ERROR_MEMORY, as for the next
 * functions. */
pd_status pd_two_way_list_grow(pd_two_way_list *rows, pd_context *context, size_t n, int rubs);
/* The incidence of rows, from their points. */
pd_status pd_two_way_list_join(pd_two_way_list *rows, pd_two_way_colouring *colouring, pd_context *context, int n_points);
/* Colours uncoloured rows, after pd_two_way_list_join, and sorts the rows by colour, so that a sweep reads memory in sequence. The
 * sorted rows are made in `spare`, which is then swapped with `rows`. Synchronises. */
pd_status pd_two_way_list_colour(pd_two_way_list *rows, pd_two_way_list *spare, pd_two_way_colouring *colouring, pd_context *context,
                                 const pd_model *model, int n_points, int rubs);
void pd_two_way_list_destroy(pd_two_way_list *rows, pd_context *context);
void pd_two_way_colouring_destroy(pd_two_way_colouring *colouring, pd_context *context);

#endif
