/* The constraints of the two-way method in backend memory: rows with their incidence, and their colours for a sweep. */
#ifndef PD_CONTACT_TWO_WAY_LIST_H
#define PD_CONTACT_TWO_WAY_LIST_H

#include "contact/incidence.h"
#include "loops/two_way_loops.h"

/* Rows with what is found out of them, and their order for a sweep. */
typedef struct pd_two_way_list {
    pd_two_way_rows at;
    size_t capacity;
    pd_incidence incidence;
    int n_colours, *starts; /* H [n_colours + 1] */
    size_t starts_capacity;
    int *order; /* B [capacity] */
} pd_two_way_list;

/* Scratch of a colouring, which lists share. */
typedef struct pd_two_way_colouring {
    size_t key_capacity, colour_capacity;
    uint64_t *keys, *scratch;
    int *colours, *fresh, *first; /* B [colour_capacity], starts of the colours [colour_capacity + 2] */
    pd_work work;
    uint64_t *found; /* B [1] */
} pd_two_way_colouring;

/* Room for n rows, with `rubs` for their friction. Memory: grows. Errors: PD_ERROR_MEMORY, as of the next. */
pd_status pd_two_way_list_grow(pd_two_way_list *rows, pd_context *context, size_t n, int rubs);
/* The incidence and the colours of rows, whose points are known. Waits. */
pd_status pd_two_way_list_colour(pd_two_way_list *rows, pd_two_way_colouring *colouring, pd_context *context, const pd_model *model,
                                 int n_points);
void pd_two_way_list_destroy(pd_two_way_list *rows, pd_context *context);
void pd_two_way_colouring_destroy(pd_two_way_colouring *colouring, pd_context *context);

#endif
