/* The model in backend memory, and the loops over its elements: potential, gradient, Hessian, and batches of single elements.
 * The rules of backend.h hold. */
#ifndef PD_LOOPS_ELEMENT_LOOPS_H
#define PD_LOOPS_ELEMENT_LOOPS_H

#include "base/hessian_filter.h"
#include "elements/table.h"
#include "loops/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the model in backend memory ---------------------------------------------------------------------------------- */

/* All elements of one kind. */
typedef struct pd_elements {
    int kind, n, first_corner;
    int is_oriented;       /* 1: tets that must not invert */
    int *vertices;         /* B [n,k] */
    real *rest;            /* B [n,(k-1)*d] rest gradients 1/m (springs: 1); attachments [n,3] targets, m */
    real *parameters;      /* B [n,count], see elements/table.h */
    real *damping;         /* B [n] s, or NULL */
    real *damping_hessian; /* B [n,3d,3d] scratch, J: K+ = d2E/dF2 at x_t, filled by pd_damping_prepare; NULL where damping is */
    real *damping_blocks;  /* B borrowed, scratch: the elements' part of element_blocks of pd_damping; NULL where damping is */
} pd_elements;

/* The damping matrix D = sum k_d S^T K+(x_t) S of a step over the vertices, N s/m. Its damping potential is u.D u/(2h), u = x - x_t
 * [api: incremental potential]. Rows have no diagonal: D maps a translation to 0, so that
 *     (D u)_i = sum_j D_ij (u_j - u_i),    D_ii = -sum_j D_ij.
 * An attachment couples its vertex with the fixed world: an entry with column -1 and u = 0. The entries are stored in groups of
 * PD_DAMPING_LANES, field by field: number c of entry s is at pd_damping_number. A row begins with a group; its last one is filled with
 * zero blocks of the own vertex.
 *
 * pd_damping_prepare computes the blocks of each element once, for its pairs of corners (0,1), (0,2), (1,2), (0,3), ..; of an attachment
 * one. A pair of vertices then sums the blocks of its elements, in the order of the elements, and both of its rows copy the sum: D is
 * symmetric to the bit. */
typedef struct pd_damping {
    int *start;           /* B [n_vertices+1] entries of each row; NULL: no damping */
    int *columns;         /* B [entries] vertex, or -1 */
    int *entry_pairs;     /* B [entries] twice the pair of vertices, plus 1 in the row of the higher one; 2 n_pairs: fills a group */
    real *blocks;         /* B [groups,3,3,PD_DAMPING_LANES] scratch, by columns, N s/m */
    real *diagonals;      /* B [n_vertices,6] scratch: upper triangle of D_ii */
    real *element_blocks; /* B [.,3,3] scratch, by columns, in the row of the lower vertex */
    int n_pairs;          /* of vertices, or of a vertex and the world */
    int *source_start;    /* B [n_pairs+1] element blocks of each pair */
    int *sources;         /* B [.] */
    real *pair_blocks;    /* B [n_pairs+1,3,3] scratch, by columns, in the row of the lower vertex; the last is zero */
} pd_damping;

enum { PD_DAMPING_LANES = 8 };

/* The place of number c of the block of entry s. */
PD_FUNCTION size_t pd_damping_number(int s, int c) {
    return (size_t)(s / PD_DAMPING_LANES) * 9 * PD_DAMPING_LANES + (size_t)(PD_DAMPING_LANES * c + s % PD_DAMPING_LANES);
}

/* The element blocks of an element of k vertices. */
#define PD_DAMPING_PAIRS(k) ((k) == 1 ? 1 : (k) * ((k) - 1) / 2)

typedef struct pd_model {
    int n_vertices, n_kinds, n_corners;
    int is_oriented;                  /* 1: some of the kinds are */
    pd_elements kinds[PD_KIND_COUNT]; /* the kinds in use */
    real *masses;                     /* B [n] kg */
    unsigned char *fixed;             /* B [n] 1: a pinned vertex, which solvers do not move */
    real *subspace;                   /* B [n,3,3] projector on the line or plane of a vertex, or NULL: all are free in space */
    int *corner_start;                /* B [n+1] corners of each vertex */
    int *corners;                     /* B [n_corners] */
    pd_damping damping;
    real *corner_forces;  /* B [n_corners,3] scratch: dE/dx of every element corner, N */
    double *partial_sums; /* B [n_partial_sums] scratch of the reductions */
    int n_partial_sums;
    real *element_hessians; /* B scratch of pd_hessian, pd_hessian_scratch bytes; NULL before the first Hessian */
} pd_model;

/* Elements, or vertices, per partial sum; a reduction adds the partial sums in order. */
#define PD_SUM_BLOCK 512

/* The data of a step for the incremental potential. */
typedef struct pd_step_data {
    double inverse_h;                  /* 1/s; 0: quasistatic */
    const real *x_t;                   /* B [n,3] positions at the start of the step, m */
    const real *external_acceleration; /* B [n,3] acceleration of gravity and external forces, m/s^2 */
    real *predicted_displacement;      /* B [n,3] y - x_t, m; pd_first_guess fills it */
} pd_step_data;

/* The parts of the incremental potential, J. */
enum { PD_ENERGY_INERTIA = PD_KIND_COUNT, PD_ENERGY_LOAD, PD_ENERGY_DAMPING, PD_ENERGY_CONTACT, PD_ENERGY_FRICTION, PD_ENERGY_COUNT };

/* The parts of G(x) [api: incremental potential], each summed in double over all vertices or elements of its kind. Contact is 0 here
 * (contact/potential/contact.h):
 *     inertia   sum over free vertices of m/(2 h^2) |offset|^2, offset = x - y    (quasistatic: 0)
 *     load      quasistatic only: -sum over free vertices of m a . x, a = external_acceleration
 *     damping   sum over elements of k_d/(2h) (F-F_t) : K+(F_t) : (F-F_t), by the damping matrix
 *   x, offset [n,3]  B  m       energies [PD_ENERGY_COUNT]  B  out  J, elastic kinds first, by pd_kind */
pd_status pd_potential(pd_context *context, const pd_model *model, const pd_step_data *step, const real *x, const real *offset,
                       double *energies);

/* Fills damping_hessian with d2E/dF2 at x_t, filtered by PD_FILTER_CLAMP, and the damping matrix. Once per step: the potential, its
 * gradient and its Hessian use them in every iteration. */
pd_status pd_damping_prepare(pd_context *context, const pd_model *model, const real *x_t);

/* gradient = dG/dx, N; zero rows at fixed vertices. For Projective Dynamics this combines the local step and the right-hand side:
 * -gradient = M/h^2 (y - x) + sum w S^T (T - S x), with T the projection of S x [Bouaziz et al. 2014, Eq. 10]. */
pd_status pd_gradient(pd_context *context, const pd_model *model, const pd_step_data *step, const real *x, const real *offset,
                      real *gradient);

/* corner_forces = dE/dx of every element's corners, undamped. The first part of pd_gradient. */
pd_status pd_corner_forces(pd_context *context, const pd_model *model, const real *x);

/* gradient_i = the sum of corner_forces over the corners of vertex i, in order, plus m/h^2 offset (quasistatic: -m external_acceleration); zero rows at
 * fixed vertices. The second part of pd_gradient and of pd_admm_local. */
pd_status pd_gather_forces(pd_context *context, const pd_model *model, const pd_step_data *step, const real *offset, real *gradient);

/* Tells whether a step has a damping potential. */
PD_FUNCTION int pd_is_damped(const pd_model *model, const pd_step_data *step) { return model->damping.start && step->inverse_h > 0; }

/* The local step of ADMM by updates/elements/admm.h, and the right-hand side of its global step:
 *     residual = M/h^2 offset + sum w S^T (F(x) - z + u), N; zero rows at fixed vertices.
 *   weights  H [n_kinds] of B [elements]      in      w of each element before damping
 *   duals    H [n_kinds] of B [elements,3,d]  in/out  scaled, in the units of F. Uses corner_forces as scratch. */
pd_status pd_admm_local(pd_context *context, const pd_model *model, const pd_step_data *step, const real *x, const real *offset,
                        real *const *weights, real *const *duals, real *residual);

/* Position-based dynamics: moves_i = scale * sum over the constraints c of vertex i of dq_{i,c}, m; zero rows at fixed vertices.
 * dq_{i,c} are the moves of updates/elements/position_based.h that put element c into its constraint set, for every kind of element.
 *   x [n,3]  B  m      moves [n,3]  B  out  m. Uses corner_forces as scratch. */
pd_status pd_constraint_moves(pd_context *context, const pd_model *model, double scale, const real *x, real *moves);

/* The Hessian of G as 3x3 blocks on a pattern over the vertices.
 *   slots[kind]  B [elements,k,k] positions in the pattern    diagonal_slots  B [n]    blocks  B [nnz,3,3]  out  N/m
 * Each element's Hessian is filtered. Rows and columns of fixed vertices are filled too; a factorisation takes the free ones.
 * pd_hessian_scratch: bytes of backend memory in model->element_hessians that the first call requires; 0: none. */
size_t pd_hessian_scratch(const pd_model *model);
pd_status pd_hessian(pd_context *context, const pd_model *model, const pd_step_data *step, const real *x, pd_hessian_filter filter,
                     int *const *slots, const int *diagonal_slots, int n_blocks, real *blocks);

/* ---- materials of the caller (elements/custom.h) ------------------------------------------------------------------------ */

/* Some elements of one kind of PD_CUSTOM_TABLE: those of a list, or one after the other. */
typedef struct pd_element_part {
    const int *listed; /* B [n] elements; NULL: first .. first + n - 1 */
    int first, n;
} pd_element_part;

/* F [n,3,d] B out of elements of g, whose corners are rows `corners` B [elements,k] of x B [.,stride]. */
pd_status pd_custom_deformations(pd_context *context, const pd_elements *g, pd_element_part part, int stride, const real *x,
                                 const int *corners, real *F);

/* Parameters `from` .. `from` + count - 1 of the elements become values B [n,count]. */
pd_status pd_custom_store(pd_context *context, const pd_elements *g, pd_element_part part, int from, int count, const real *values);

/* ---- batches of single elements (pdgpu.elements) ----------------------------------------------------------------------- */

enum {
    PD_BATCH_ENERGY,
    PD_BATCH_GRADIENT,
    PD_BATCH_HESSIAN,
    PD_BATCH_PROJECTION,
    PD_BATCH_STRESS, /* dE/dF [3,d] */
    PD_BATCH_BLOCKS  /* pd_NAME_block of every corner, [k,3,3] */
};

/* One quantity of n elements of a kind, each with its own corner positions x [n,k,3]; `filter` is for the Hessian only. out  B: energy [n]
 * J; gradient [n,k,3] N; hessian [n,3k,3k] N/m; projection and stress dE/dF [n,3,d]; blocks [n,k,3,3] N/m. Errors: PD_ERROR_VALUE for an
 * unknown kind, or the projection of a kind without one. */
pd_status pd_element_batch(pd_context *context, int kind, int quantity, pd_hessian_filter filter, int n, const real *x, const real *rest,
                           const real *parameters, real *out);

#ifdef __cplusplus
}
#endif

#endif
