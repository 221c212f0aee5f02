/* The internals of a simulation, for the files that create it (simulation.c), read and set its state (state.c, diagnostics.c) and run its
 * step (frame.c and the files it calls). Methods see only a problem and an iterate. */
#ifndef PD_DYNAMICS_STEP_FRAME_H
#define PD_DYNAMICS_STEP_FRAME_H

#include "dynamics/accelerator.h"
#include "dynamics/contact/prescribed_motion.h"
#include "dynamics/method.h"
#include "dynamics/step/simulation.h"
#include "linear/upload.h"

typedef struct pd_common_motion pd_common_motion;       /* contact/common_motion.h */
typedef struct pd_chunks pd_chunks;                     /* chunk.h */
typedef struct pd_contact_recorder pd_contact_recorder; /* contact_record.h */

/* step_limiter.h: for a step with contact, or with a stopping rule on moves. */
typedef struct pd_step_limiter {
    real *x, *offset;          /* B [n,3] at the start of the last iteration; NULL if not needed */
    double fraction;           /* the accepted fraction of the last move */
    double kept;               /* the accepted fraction of the method's move; 1 if the method applied `fraction` itself */
    int drives;                /* moves of prescribed points in the step */
    int detections;            /* detections of penalty pairs in the step */
    int async;                 /* detections do not synchronise: the step has no observer */
    int outgrown;              /* a detection exceeded the capacity: the step must be repeated */
    int driving;               /* pins or obstacles move in the step */
    int arrived;               /* all prescribed points are at their targets */
    double unused;             /* m: the free path of pins between tets that the last move left (contact/oriented_move.c) */
    int waited;                /* iterations of pins without a move since then */
    pd_prescribed *prescribed; /* NULL: nothing holds pins and obstacles back */
    pd_common_motion *common;  /* NULL: first guesses have no common motion */

    /* for a response with its own rounds */
    int stagnations; /* rounds in the step with little progress */
    int apart;       /* 1: the iterate may have penetrated something, and the state of the step is x */
    enum { PD_ROUNDS_GO_ON, PD_ROUNDS_SETTLED, PD_ROUNDS_SPENT } rounds;
} pd_step_limiter;

struct pd_simulation {
    pd_settings settings; /* settings.method_settings: a copy */
    pd_problem *problem;
    const pd_method *method;
    void *method_memory;               /* memory of the method; NULL until first used */
    const pd_accelerator *accelerator; /* NULL: none */
    void *accelerator_memory;
    int prepared;
    pd_tally set_up, said; /* the work of creating the method: to be counted by the next step, and already counted */
    pd_chunks *chunks;
    pd_contact_recorder *recorder; /* NULL until first used */

    /* B [n,3]; the positions of the state are those of the iterate */
    pd_iterate iterate;
    real *v, *v_previous, *targets;
    pd_outbox sent; /* of targets */
    pd_step_limiter limiter;
    int has_previous;
    int shared; /* callers may read and write x and v */

    /* balance.c */
    real *begun_at; /* B [n,3] x_t of the last step; NULL if contact is no term of G */
    int has_ended;  /* 1: the iterate is the end of that step */

    /* energy.c */
    double load_norm;   /* sqrt(sum of m |load|^2) over free vertices, sqrt(J)/s */
    double energy_norm; /* R, sqrt(J) */
    int watched_steps;  /* since the last change of the state */
};

#endif
