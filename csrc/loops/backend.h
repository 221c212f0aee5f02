/* The loops: all parallel work over elements, vertices or rows, once in cpu/ (OpenMP), once in cuda/.
 *
 * The algorithms in linear/ and dynamics/ call these only; the linker selects one set. A loop makes no decisions: no convergence test,
 * no parameter of a method. Pointers marked B point into backend memory (host memory on the CPU, device memory on CUDA); pointers marked
 * H into host memory. Arrays [n,3] are row-major, one row per vertex.
 *
 * Every loop returns a status (a launch can fail on CUDA), allocates nothing, and gives the same bits for every number of threads: sums
 * are over blocks of a fixed size, forces are gathered per vertex in a fixed order. */
#ifndef PD_LOOPS_BACKEND_H
#define PD_LOOPS_BACKEND_H

#include "loops/context.h"
#include "loops/element_loops.h"
#include "loops/geometry_loops.h"
#include "loops/sweep_loops.h"
#include "loops/time_step_loops.h"
#include "loops/vector_loops.h"

#endif
