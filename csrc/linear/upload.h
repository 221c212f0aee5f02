/* Backend memory filled from the host. */
#ifndef PD_LINEAR_UPLOAD_H
#define PD_LINEAR_UPLOAD_H

#include "loops/backend.h"

/* *out = a copy of `source` in backend memory, made where *out is NULL, else written over. Errors: PD_ERROR_MEMORY.
 * pd_upload takes bytes as they are, pd_upload_ints ints, pd_upload_reals doubles, rounded to real on the way,
 * in pieces: the host never holds a second copy of a large array. */
pd_status pd_upload(pd_context *context, void **out, const void *source, size_t bytes);
pd_status pd_upload_ints(pd_context *context, int **out, const int *source, size_t count);
pd_status pd_upload_reals(pd_context *context, real **out, const double *source, size_t count);

#endif
