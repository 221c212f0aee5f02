/* Growable lists in backend memory. */
#ifndef PD_CONTACT_GROWABLE_LIST_H
#define PD_CONTACT_GROWABLE_LIST_H

#include "loops/backend.h"
#include "loops/collision_loops.h"

enum { PD_MOST_GROWABLES = 14 };

/* An array of a list: `bytes` for each `shared_by` elements of the list, and for two more. */
typedef struct pd_growable {
    void **memory; /* B */
    size_t bytes, shared_by;
} pd_growable;

#define PD_GROWABLE(array, per_element) {(void **)&(array), (per_element) * sizeof *(array), 1}
/* The number of arrays and the arrays: two arguments of pd_growables_grow. */
#define PD_GROWABLES(lists) (int)(sizeof(lists) / sizeof *(lists)), lists

/* The next capacity of a list of at least `needed` elements. Up to 2^20 elements it doubles. From there on it grows by an eighth of
 * `needed`, or by a quarter if that is more, since half of a large list would often stay empty. */
size_t pd_grown_capacity(size_t capacity, size_t needed);

/* Increases the capacity of all n <= PD_MOST_GROWABLES arrays of a list to at least `needed` elements (pd_grown_capacity). *revision (or
 * NULL) counts the changes of *capacity. An increase loses the contents. The old arrays are freed after the allocation of the new ones, so
 * that a failure leaves the list unchanged. Errors: PD_ERROR_MEMORY, with the number and `of`, the noun for the elements. */
pd_status pd_growables_grow(pd_context *context, size_t needed, const char *of, int n, const pd_growable *lists, size_t *capacity,
                            long long *revision);

/* Scratch memory of a loop over n items. An increase loses the contents. Errors: PD_ERROR_MEMORY; the memory is then unchanged. */
pd_status pd_work_grow(pd_context *context, pd_work *work, size_t n);

#endif
