/* The half in double of a program with two precisions; see two_precisions.c. */
#define PDGPU_REAL double
#include <pdgpu.h>

#include <stddef.h>

double fall_f64(void);
#define FALL fall_f64
#include "two_precisions_fall.h"
