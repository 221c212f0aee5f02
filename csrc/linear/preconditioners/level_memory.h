/* The memory of preconditioners on several levels: arenas of backend memory, and the domains of a level in them. */
#ifndef PD_LINEAR_PRECONDITIONERS_LEVEL_MEMORY_H
#define PD_LINEAR_PRECONDITIONERS_LEVEL_MEMORY_H

#include "loops/schwarz_loops.h"
#include "sparse/domains.h"

/* Nodes of a domain: 32 of one unknown as in [Wu, Wang, Wang 2022], 16 of more. An inverse has as many numbers per node as nodes times
 * unknowns. */
enum { PD_DOMAIN_NODES = 32, PD_DOMAIN_NODES_OF_BLOCKS = PD_MOST_DOMAIN_UNKNOWNS / 6 };

/* An array of bytes in backend memory that only grows. */
typedef struct pd_level_memory {
    char *memory; /* B */
    size_t capacity;
} pd_level_memory;

/* The next `bytes` of an arena: their address, or without memory only their place. */
void *pd_level_memory_take(char *memory, size_t *used, size_t bytes);
/* Makes the arena hold `used` bytes, the first time with `spare` more; it loses its contents if it must grow. Errors: PD_ERROR_MEMORY. */
pd_status pd_level_memory_reserve(pd_level_memory *self, pd_context *context, size_t used, size_t spare);

/* Takes the arrays of a level whose numbers are set. `inner`: not the first level, so that it has values and vectors of `columns` columns;
 * `turns`: there is a coarser level with rotations. */
void pd_schwarz_lay_out(pd_schwarz_level *level, const pd_domain_level *of, int columns, int inner, int turns, char *memory, size_t *used);
/* Uploads the domains into these arrays. Errors: PD_ERROR_MEMORY. */
pd_status pd_schwarz_upload(pd_context *context, const pd_domain_level *of, const pd_schwarz_level *level);

#endif
