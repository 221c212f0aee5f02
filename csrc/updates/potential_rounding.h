/* The rounding error of a potential, for decisions on the host and on the device. */
#ifndef PD_UPDATES_POTENTIAL_ROUNDING_H
#define PD_UPDATES_POTENTIAL_ROUNDING_H

#include "base/real.h"

/* Of a potential whose parts sum to `magnitude`, J: E = w/2 |F - T|^2 with an error eps of F has one of eps sqrt(2 E w), and of eps^2 w for
 * an E of rounding only. */
PD_FUNCTION double pd_potential_rounding(double magnitude, double w) {
    double eps = 8.0 * (double)PD_EPSILON;
    return eps * (magnitude + sqrt(2.0 * magnitude * w)) + eps * eps * w;
}

#endif
