/* The tables of functions of the module _host; host_module.c adds them. */
#ifndef PD_PYTHON_HOST_HOST_MODULE_H
#define PD_PYTHON_HOST_HOST_MODULE_H

#include <Python.h>

extern PyMethodDef pd_host_mesh_methods[];         /* host_mesh.c: checks, topology, masses, colouring, rest shapes */
extern PyMethodDef pd_host_intersection_methods[]; /* host_intersections.c: verification of frames */
extern PyMethodDef pd_host_surface_methods[];      /* host_surface.c: closed surfaces, distances to them */
extern PyMethodDef pd_host_matrix_methods[];       /* host_matrix.c: factors of a sparse matrix */
extern PyMethodDef pd_host_contact_methods[];      /* host_contact.c: the sparse matrix of pairs in contact */

/* host_matrix.c: the capsule `cholesky` (sparse/cholesky.h) and the flag HAS_CHOLMOD. Returns -1 with an exception set. */
int pd_host_add_cholesky(PyObject *module);

/* host_names.c: RECORD_COLUMNS, LINEAR_RECORD_COLUMNS, PHASES, STOPS, ENERGIES. Returns -1 with an exception set. */
int pd_host_add_names(PyObject *module);

/* A number of threads that OpenMP accepts. */
static inline int pd_host_threads(int threads) { return threads < 1 ? 1 : threads > 1024 ? 1024 : threads; }

#endif
