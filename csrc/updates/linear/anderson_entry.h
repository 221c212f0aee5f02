/* One number of the vectors of Anderson acceleration, for both backends. */
#ifndef PD_UPDATES_LINEAR_ANDERSON_ENTRY_H
#define PD_UPDATES_LINEAR_ANDERSON_ENTRY_H

#include "loops/anderson_loops.h"

/* f and g of entry e of an iterate, and their newest differences df, dg if the iterate before is known. */
PD_FUNCTION void pd_anderson_record_entry(const pd_anderson_part *part, size_t e, int begun, real *df, real *dg) {
    real f = part->in_place ? part->values[e] - part->held[e] : -part->correction[e];
    real g = part->in_place ? part->values[e] : part->x[e] - part->correction[e];
    if (begun) df[e] = f - part->last_f[e], dg[e] = g - part->last_g[e];
    part->last_f[e] = f, part->last_g[e] = g;
}

/* The combined move of entry e; sum: of weights x dg. */
PD_FUNCTION void pd_anderson_combine_entry(const pd_anderson_part *part, size_t e, real sum, real *out) {
    if (part->in_place)
        part->values[e] = part->held[e] = part->values[e] - sum;
    else
        out[e] = part->correction[e] + sum;
}

#endif
