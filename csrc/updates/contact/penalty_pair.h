/* The result of a detection for a candidate under a penalty; shared by penalty_update.h and penalty_field.h. */
#ifndef PD_UPDATES_CONTACT_PENALTY_PAIR_H
#define PD_UPDATES_CONTACT_PENALTY_PAIR_H

#include "elements/contact/penalty.h"
#include "loops/penalty_loops.h"
#include "updates/contact/friction_update.h"

enum { PD_PENALTY_MOST_ADVANCES = 32 };

/* The fraction of the thickness below which a gap on the path is a hit. */
#define PD_PENALTY_HIT ((real)0.1)

/* A weight up to which a point of a triangle is on its edge. The results of two triangles for a common point differ by rounding, and the
 * remaining distance of two points is the square of that. */
#define PD_PENALTY_TIE ((real)16 * pd_sqrt(PD_EPSILON))

/* Pairs are kept up to this multiple of the thickness: they may repel before the next detection. */
#define PD_PENALTY_KEPT ((real)2)

/* The side of a vertex relative to a closed body: unknown, inside or outside by its present place, known from its entry, or inside at
 * the begin of the step. For any mesh: it entered past its own surface (penalty_cone.h). */
enum { PD_PENALTY_NO_SIDE, PD_PENALTY_INSIDE, PD_PENALTY_OUTSIDE, PD_PENALTY_MET, PD_PENALTY_BEGAN, PD_PENALTY_MET_BESIDE };

typedef struct pd_penalty_pair {
    int kind, keeps; /* of elements/contact/pair.h */
    int side;        /* PD_PENALTY_...: for a vertex and a closed body */
    int beside;      /* for a vertex and a mesh: penalty_cone.h */
    int points[4];   /* -1: none */
    real weights[4], range, gap;
    real offset; /* for a field: n . sum beta y minus the gap, m */
    real limit;  /* the gap up to which it is kept, m */
    real began;  /* PD_PENALTY_BEGAN: its depth inside, m */
    pd_vector normal;
} pd_penalty_pair;

PD_FUNCTION pd_vector pd_penalty_point(const real *y, int i) { return pd_vector_load(y + 3 * (size_t)i); }

PD_FUNCTION pd_vector pd_penalty_unit(pd_vector a) {
    real size = pd_sqrt(pd_vector_dot(a, a));
    return size > 0 ? pd_vector_scale((real)1 / size, a) : a;
}

#endif
