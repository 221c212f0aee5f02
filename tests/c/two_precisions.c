/* One program with the libraries of both precisions: each half computes in its own. */
#define PDGPU_REAL float
#include <pdgpu.h>

#include <math.h>
#include <stdio.h>

double fall_f32(void), fall_f64(void);
#define FALL fall_f32
#include "two_precisions_fall.h"

int main(void) {
    const double exact = -0.5 * 10 * 11 * 1e-4 * 9.81, f32 = fall_f32(), f64 = fall_f64();
    printf("f32 %.17g, f64 %.17g, exact %.17g m\n", f32, f64, exact);
    return !(fabs(f64 - exact) < 1e-14 && fabs(f32 - exact) < 1e-6 && f32 != f64 && (double)(float)f32 == f32);
}
