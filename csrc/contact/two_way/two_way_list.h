/* The constraints of the two-way method in backend memory: rows with their incidence, by colours where they are swept. */
#ifndef PD_CONTACT_TWO_WAY_TWO_WAY_LIST_H
#define PD_CONTACT_TWO_WAY_TWO_WAY_LIST_H

#include "contact/detection/incidence.h"
#include "loops/two_way_loops.h"

/* Rows with what is found out of them. */
typedef struct pd_two_way_list {
    pd_two_way_rows at;
    size_t capacity;
    pd_incidence incidence;
    int n_colours, *starts; /* H [n_colours + 1] */
    size_t starts_capacity;
} pd_two_way_list;

/* Scratch of a colouring, which lists share. */
typedef struct pd_two_way_colouring {
    size_t key_capacity, colour_capacity;
    uint64_t *keys, *scratch;
    int *fresh, *order, *first; /* B [colour_capacity], starts of the colours [colour_capacity + 2] */
    pd_work work;
    uint64_t *found; /* B [1] */
} pd_two_way_colouring;

/* Room for n rows, with `rubs` for their friction. Memory: grows. Errors: PD_ERROR_MEMORY, as of the next. */
pd_status pd_two_way_list_grow(pd_two_way_list *rows, pd_context *context, size_t n, int rubs);
/* The incidence of rows, whose points are known. */
pd_status pd_two_way_list_join(pd_two_way_list *rows, pd_two_way_colouring *colouring, pd_context *context, int n_points);
/* After that the colours, which none has yet, and rows in the order of their colours, so that a sweep goes through memory once; `spare`, in
 * which they are put in order, changes places with them. Waits. */
pd_status pd_two_way_list_colour(pd_two_way_list *rows, pd_two_way_list *spare, pd_two_way_colouring *colouring, pd_context *context,
                                 const pd_model *model, int n_points, int rubs);
void pd_two_way_list_destroy(pd_two_way_list *rows, pd_context *context);
void pd_two_way_colouring_destroy(pd_two_way_colouring *colouring, pd_context *context);

#endif
