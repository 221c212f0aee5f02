/* Room in backend memory for the arrays of a list that only grows. */
#ifndef PD_CONTACT_ROOM_H
#define PD_CONTACT_ROOM_H

#include "loops/backend.h"
#include "loops/collision_loops.h"

enum { PD_MOST_ROOMS = 14 };

/* An array of a list: an element of so many bytes for each `shared_by` elements of the list, and two more. */
typedef struct pd_room {
    void **memory; /* B */
    size_t bytes, shared_by;
} pd_room;

#define PD_ROOM(array, per_element) {(void **)&(array), (per_element) * sizeof *(array), 1}
/* The number of rooms and the rooms: two arguments of pd_rooms_grow. */
#define PD_ROOMS(rooms) (int)(sizeof(rooms) / sizeof *(rooms)), rooms

/* Room for at least `needed` elements in all n <= PD_MOST_ROOMS arrays of a list, by doubling: *capacity is how many there is room for, and
 * *revision (or NULL) counts how often that has changed. Contents are lost then. The old arrays go when the new ones are there,
 * so that a failure leaves the list as it was. Errors: PD_ERROR_MEMORY, with the number and what they are rooms `of`. */
pd_status pd_rooms_grow(pd_context *context, size_t needed, const char *of, int n, const pd_room *rooms, size_t *capacity,
                        long long *revision);

/* What a loop over n items needs while it runs; contents are lost where it grows. Errors: PD_ERROR_MEMORY, and it is as it was. */
pd_status pd_work_grow(pd_context *context, pd_work *work, size_t n);

#endif
