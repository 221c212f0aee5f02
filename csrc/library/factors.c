/* The library pdgpu_factors: one sparse factorisation for the libraries of all devices and precisions, as the module _host is for Python.
 *
 * BLAS takes one call at a time (sparse/serial_blas.h). The lock for it must be the same in all libraries of a program, so it is here. */
#include "include/pdgpu.h"

#include "sparse/cholesky.h"

PDGPU_API const pd_cholesky_functions *pdgpu_factors_cholesky(void);

const pd_cholesky_functions *pdgpu_factors_cholesky(void) { return &pd_cholesky_library; }
