/* What a detection finds of a candidate under a penalty: the words that penalty_update.h and penalty_field.h share. */
#ifndef PD_UPDATES_CONTACT_PENALTY_PAIR_H
#define PD_UPDATES_CONTACT_PENALTY_PAIR_H

#include "elements/contact/penalty.h"
#include "loops/penalty_loops.h"
#include "updates/contact/friction_update.h"

enum { PD_PENALTY_MOST_ADVANCES = 32 };

/* The part of the thickness below which a gap on the way is a hit. */
#define PD_PENALTY_HIT ((real)0.1)

/* A weight up to which a point of a triangle is on its edge: where two triangles have a point in common they differ by rounding, and what
 * is left of a distance between two points is the square of that. */
#define PD_PENALTY_TIE ((real)16 * pd_sqrt(PD_EPSILON))

/* Pairs are kept up to so many times the thickness: they may push before the next detection. */
#define PD_PENALTY_KEPT ((real)2)

/* Where a vertex is of a closed body: unknown, inside or outside by where it is now, known by where it came in, or inside where the step
 * began. Of any mesh: it came in where its own surface had been before it (penalty_cone.h). */
enum { PD_PENALTY_NO_SIDE, PD_PENALTY_INSIDE, PD_PENALTY_OUTSIDE, PD_PENALTY_MET, PD_PENALTY_BEGAN, PD_PENALTY_MET_BESIDE };

typedef struct pd_penalty_pair {
    int kind, keeps; /* of elements/contact/pair.h */
    int side;        /* PD_PENALTY_...: of a vertex and a closed body */
    int beside;      /* of a vertex and a mesh: penalty_cone.h */
    int points[4];   /* -1: none */
    real weights[4], reach, gap;
    real offset; /* of a field: n . sum beta y is so much more than the gap, m */
    real limit;  /* the gap up to which it is kept, m */
    real began;  /* PD_PENALTY_BEGAN: how deep inside it was, m */
    pd_vector normal;
} pd_penalty_pair;

PD_FUNCTION pd_vector pd_penalty_point(const real *y, int i) { return pd_vector_load(y + 3 * (size_t)i); }

PD_FUNCTION pd_vector pd_penalty_unit(pd_vector a) {
    real size = pd_sqrt(pd_vector_dot(a, a));
    return size > 0 ? pd_vector_scale((real)1 / size, a) : a;
}

#endif
