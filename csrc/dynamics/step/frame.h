/* The inside of a simulation, for the files that make it (simulation.c), set and read it (state.c, diagnostics.c) and step it (frame.c and
 * what that calls). Methods do not know it: they see a problem and an iterate. */
#ifndef PD_DYNAMICS_STEP_FRAME_H
#define PD_DYNAMICS_STEP_FRAME_H

#include "dynamics/accelerator.h"
#include "dynamics/contact/prescribed_motion.h"
#include "dynamics/method.h"
#include "dynamics/step/simulation.h"
#include "linear/upload.h"

typedef struct pd_chunks pd_chunks;                     /* chunk.h */
typedef struct pd_contact_recorder pd_contact_recorder; /* contact_record.h */

/* safe_move.h: of a step with contact, or that stops by its moves. */
typedef struct pd_safe {
    real *x, *offset;          /* B [n,3] where the last iteration began; NULL where it is not needed */
    double part;               /* of the last move that contact allowed */
    double kept;               /* of it that was left of what the method had moved; 1 where the method kept to `part` itself */
    int drives;                /* times that what is driven moved in the step */
    int detections;            /* times that the pairs of a penalty were searched for in it */
    int asks;                  /* these wait for nothing: the step has no observer */
    int outgrown;              /* they found more than there was room for: the step is to be run again */
    int driving;               /* pins or obstacles move in the step */
    int arrived;               /* all that is driven is at its target */
    double room;               /* m: what pins left of the free path that tets gave them (contact/oriented_move.c); */
    int waits;                 /* iterations that they have waited for since */
    pd_prescribed *prescribed; /* NULL: nothing holds pins and obstacles back */

    /* of a response with rounds of its own */
    int stagnations; /* rounds in the step that got no farther than a small part of their way */
    int apart;       /* 1: the iterate may have passed through something, and the state of the step is x */
    enum { PD_ROUNDS_GO_ON, PD_ROUNDS_SETTLED, PD_ROUNDS_SPENT } rounds;
} pd_safe;

struct pd_simulation {
    pd_settings settings; /* settings.method_settings: a copy */
    pd_problem *problem;
    const pd_method *method;
    void *method_memory;               /* what the method made; NULL until first used */
    const pd_accelerator *accelerator; /* NULL: none */
    void *accelerator_memory;
    int prepared;
    pd_tally set_up, said; /* the work that made the method: still to be counted by a step, and counted already */
    pd_chunks *chunks;
    pd_contact_recorder *recorder; /* NULL until first used */

    /* B [n,3]; the positions of the state are those of the iterate */
    pd_iterate iterate;
    real *v, *v_previous, *targets;
    pd_outbox sent; /* of targets */
    pd_safe safe;
    int has_previous;
    int shared; /* others may read and write x and v */

    /* balance.c */
    real *begun_at; /* B [n,3] x_t of the last step; NULL where contact is no term of G */
    int has_ended;  /* 1: the iterate is the end of that step */

    /* energy.c */
    double load_norm;  /* sqrt(sum of m |load|^2) over free vertices, sqrt(J)/s */
    double reach;      /* R, sqrt(J) */
    int watched_steps; /* since the state was set */
};

#endif
