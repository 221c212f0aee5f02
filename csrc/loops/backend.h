/* The loops: everything that runs "for every element / vertex / row, in parallel", once in cpu/ (OpenMP), once in cuda/.
 *
 * The algorithms in linear/ and dynamics/ call these and nothing else; the linker decides which set they get. A loop decides
 * nothing: no convergence test, no parameter of a method. Pointers marked B point into backend memory (host memory on the
 * CPU, device memory on CUDA); pointers marked H into host memory. Arrays [n,3] are row-major, one row per vertex.
 *
 * Every loop returns a status (a launch can fail on CUDA), allocates nothing, and gives the same bits for every number of
 * threads: sums are taken in blocks of a fixed size, forces are gathered per vertex in a fixed order. */
#ifndef PD_LOOPS_BACKEND_H
#define PD_LOOPS_BACKEND_H

#include "base/hessian_filter.h"
#include "base/status.h"
#include "elements/table.h"
#include "updates/time_step.h"

#ifndef __cplusplus
#include <stdalign.h>
#endif
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- context and memory ------------------------------------------------------------------------------------------- */

typedef struct pd_context pd_context;

/* Where a context works: on which device (0 on the CPU), and with how many threads of the host. */
typedef struct pd_place {
    int device, threads; /* >= 0, >= 1 */
} pd_place;

/* Whatever is asked of a context happens on its device, and whatever is made with it lies there; another context, of another device or the
 * same, may be used in between, by the same thread or another. Errors: PD_ERROR_DEVICE where the device is not there, PD_ERROR_MEMORY. */
pd_status pd_context_create(pd_context **out, pd_place place, pd_error *error);
void pd_context_destroy(pd_context *context);    /* NULL is allowed */
pd_error *pd_context_error(pd_context *context); /* where failing loops write their text */
int pd_context_threads(const pd_context *context);

/* Where backend memory lies, for other libraries that are to read it in place. */
typedef struct pd_location {
    int on_device; /* 0: host memory */
    int device;    /* number of the device */
    void *stream;  /* NULL on the host */
} pd_location;
pd_location pd_context_location(const pd_context *context);

/* Returns when all that was asked of the device is done. */
pd_status pd_context_wait(pd_context *context);

/* Places in the sequence of loops, and the seconds between the last two of their kinds by the device's clock (the CPU: the host's). A mark
 * waits for nothing and is not captured; the seconds are there once the host has waited for what came after the later one. */
enum { PD_MARK_BEGIN, PD_MARK_MIDDLE, PD_MARK_END, PD_MARK_COUNT };
pd_status pd_mark(pd_context *context, int which);
pd_status pd_marked_seconds(pd_context *context, int from, int to, double *seconds);

/* What a context has been asked for since it was made. */
typedef struct pd_counts {
    long long waits; /* calls in which the host waits for the device: uploads, downloads, pd_context_wait; the CPU counts the same calls */
    long long allocations;        /* pd_memory_create */
    long long captures, launches; /* of graphs */
    long long refused;            /* pd_capture_refused */
} pd_counts;
pd_counts pd_context_counts(const pd_context *context);

/* Number of devices this backend can use, and the name of one; the CPU counts as one device. Where there is none, the text of
 * `error` says why; that is no failure. */
pd_status pd_device_count(int *count, pd_error *error);
pd_status pd_device_name(int device, char name[256], pd_error *error);
/* What the backend runs on besides the device: versions of runtime and driver; on the CPU the compiler. */
void pd_device_versions(char text[256]);

/* Zero-filled backend memory. Errors: PD_ERROR_MEMORY, with the size asked for. */
pd_status pd_memory_create(pd_context *context, void **out /* B */, size_t bytes);
void pd_memory_destroy(pd_context *context, void *memory); /* NULL is allowed */
#define PD_MEMORIES_DESTROY(context, ...) \
    pd_memories_destroy(context, (void *const[]){__VA_ARGS__}, sizeof((void *const[]){__VA_ARGS__}) / sizeof(void *))
static inline void pd_memories_destroy(pd_context *context, void *const *memories, size_t n) {
    for (size_t i = 0; i < n; i++) pd_memory_destroy(context, memories[i]);
}
pd_status pd_memory_upload(pd_context *context, void *target /* B */, const void *source /* H */, size_t bytes);
pd_status pd_memory_download(pd_context *context, void *target /* H */, const void *source /* B */, size_t bytes);
/* Asks for a few numbers: they are in target (H) as soon as the host has waited for the device the next time, for whatever it was, so that
 * what several ask for is read in one wait; where pd_fetches_at_once says so, as on the CPU, when this returns. The target stays until
 * then. */
pd_status pd_memory_fetch(pd_context *context, void *target /* H */, const void *source /* B */, size_t bytes);
int pd_fetches_at_once(const pd_context *context);
pd_status pd_memory_copy(pd_context *context, void *target /* B */, const void *source /* B */, size_t bytes);
/* Host memory that a device reads and writes by itself, and copies by way of it that nobody waits for: what is sent must stay as it is, and
 * what is received is there, once the host has waited the next time; where pd_fetches_at_once says so, when these return. */
pd_status pd_pinned_create(pd_context *context, void **out /* H */, size_t bytes);
void pd_pinned_destroy(pd_context *context, void *memory);
pd_status pd_memory_send(pd_context *context, void *target /* B */, const void *source /* H, pinned */, size_t bytes);
pd_status pd_memory_receive(pd_context *context, void *target /* H, pinned */, const void *source /* B */, size_t bytes);
pd_status pd_memory_clear(pd_context *context, void *target /* B */, size_t bytes);

/* ---- graphs ------------------------------------------------------------------------------------------------------- */

/* A sequence of loops with the arguments of one time, to be asked for again as a whole: on a GPU one launch instead of one for each
 * kernel. Between begin and end loops and pd_memory_copy and pd_memory_clear are recorded and not run; all that waits or allocates
 * (uploads, downloads, pd_memory_create) is forbidden there. Arguments are kept by value and pointers as they are. */
typedef struct pd_graph pd_graph;

/* 0: this backend cannot capture, and the functions below are not called. */
int pd_can_capture(const pd_context *context);
pd_status pd_capture_begin(pd_context *context);
/* Ends every capture that was begun, also one in which a loop failed: *out = NULL then. */
pd_status pd_capture_end(pd_context *context, pd_graph **out);
/* Counts a capture that failed, so that its loops run without a graph. */
void pd_capture_refused(pd_context *context);
pd_status pd_graph_launch(pd_context *context, const pd_graph *graph);
int pd_graph_nodes(const pd_graph *graph);                   /* kernels, copies and clears in it */
void pd_graph_destroy(pd_context *context, pd_graph *graph); /* NULL is allowed */

/* ---- the model in backend memory ---------------------------------------------------------------------------------- */

/* All elements of one kind. */
typedef struct pd_elements {
    int kind, n, first_corner;
    int *vertices;         /* B [n,k] */
    real *rest;            /* B [n,(k-1)*d] rest gradients 1/m (springs: 1); attachments [n,3] targets, m */
    real *parameters;      /* B [n,count], see elements/table.h */
    real *damping;         /* B [n] s, or NULL */
    real *damping_hessian; /* B [n,3d,3d] scratch, N/m in F: filled by pd_damping_hessian; NULL where damping is */
} pd_elements;

typedef struct pd_model {
    int n_vertices, n_kinds, n_corners;
    pd_elements kinds[PD_KIND_COUNT]; /* the kinds that occur */
    real *masses;                     /* B [n] kg */
    unsigned char *fixed;             /* B [n] 1: a pinned vertex, never moved by a solver */
    real *subspace;                   /* B [n,3,3] projector on the line or plane a vertex is held in, or NULL: all are free in space */
    int *corner_start;                /* B [n+1] corners of each vertex */
    int *corners;                     /* B [n_corners] */
    real *corner_forces;              /* B [n_corners,3] scratch: dE/dx of every element corner, N */
    double *partial_sums;             /* B [n_partial_sums] scratch of the reductions */
    int n_partial_sums;
    real *element_hessians; /* B scratch of pd_hessian, pd_hessian_scratch bytes; NULL until somebody wants a Hessian */
} pd_model;

/* Elements, or vertices, that one partial sum covers; a reduction adds the partial sums in order. */
#define PD_SUM_BLOCK 512

/* What the incremental potential needs to know of the step about to be solved. */
typedef struct pd_step_data {
    double inverse_h; /* 1/s; 0: quasistatic */
    const real *x_t;  /* B [n,3] positions at the start of the step, m */
    const real *load; /* B [n,3] acceleration of gravity and external forces, m/s^2 */
    real *drift;      /* B [n,3] y - x_t, m; pd_first_guess fills it */
} pd_step_data;

/* The parts of the incremental potential, J. */
enum { PD_ENERGY_INERTIA = PD_KIND_COUNT, PD_ENERGY_LOAD, PD_ENERGY_DAMPING, PD_ENERGY_CONTACT, PD_ENERGY_FRICTION, PD_ENERGY_COUNT };

/* Every part of G(x) [api: incremental potential] but that of contact, which is 0 here (contact/potential/contact.h), each summed in double
 * over all vertices or elements of its kind:
 *     inertia   sum over free vertices of m/(2 h^2) |offset|^2, offset = x - y    (quasistatic: 0)
 *     load      quasistatic only: -sum over free vertices of m load . x
 *     damping   k_d/(2h) (F-F_t) : K+(F_t) : (F-F_t)
 *   x, offset [n,3]  B  m       energies [PD_ENERGY_COUNT]  B  out  J, elastic kinds first, by pd_kind */
pd_status pd_potential(pd_context *context, const pd_model *model, const pd_step_data *step, const real *x, const real *offset,
                       double *energies);

/* Fills damping_hessian with d2E/dF2 at x_t, filtered by PD_FILTER_CLAMP: once per step, since the potential, its
 * gradient and its Hessian use it in every iteration. */
pd_status pd_damping_hessian(pd_context *context, const pd_model *model, const real *x_t);

/* gradient = dG/dx, N; zero rows at fixed vertices. For Projective Dynamics this is the local step and the right-hand side
 * in one: -gradient = M/h^2 (y - x) + sum w S^T (T - S x), with T the projection of S x [Bouaziz et al. 2014, Eq. 10]. */
pd_status pd_gradient(pd_context *context, const pd_model *model, const pd_step_data *step, const real *x, const real *offset,
                      real *gradient);

/* corner_forces = dE/dx of every element's corners. The first half of pd_gradient. */
pd_status pd_corner_forces(pd_context *context, const pd_model *model, const pd_step_data *step, const real *x);

/* gradient_i = the sum of corner_forces over the corners of vertex i, in order, plus m/h^2 offset (quasistatic: -m load); zero rows at
 * fixed vertices. The second half of pd_gradient and of pd_admm_local. */
pd_status pd_gather_forces(pd_context *context, const pd_model *model, const pd_step_data *step, const real *offset, real *gradient);

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
 * Each element's Hessian is filtered. Rows and columns of fixed vertices are filled like the others; who factorises takes the free ones.
 * pd_hessian_scratch: bytes of backend memory that model->element_hessians must hold before the first call; 0: none. */
size_t pd_hessian_scratch(const pd_model *model);
pd_status pd_hessian(pd_context *context, const pd_model *model, const pd_step_data *step, const real *x, pd_hessian_filter filter,
                     int *const *slots, const int *diagonal_slots, int n_blocks, real *blocks);

/* ---- sweeps over vertices ----------------------------------------------------------------------------------------------- */

/* Corners of a family are stored in groups of as many, field by field: as many as one vector instruction serves, or one, where each thread
 * reads the record of a corner of its own. */
int pd_corner_lanes(void);

typedef struct pd_corner_groups {
    int *start; /* B [n+1] groups of each update; NULL where there are none */
    /* B [groups], pd_corner_group_bytes each: numbers real [numbers of a corner,lanes], zero in unused lanes; slots int [others,lanes] of
     * the other vertices: of the opposite face of a tet, in turn of others; then of a tet that seeks a shape its number among them */
    char *records;
    const real *parameters; /* B borrowed, of these: shape_target.h */
} pd_corner_groups;

/* Filled up to transfers of 16 bytes; a single neo-Hookean corner in float is 32 bytes as it is. */
static inline size_t pd_corner_group_bytes(int numbers, int others, int lanes) {
    return ((size_t)lanes * ((size_t)numbers * sizeof(real) + (size_t)others * sizeof(int)) + 15) / 16 * 16;
}

/* What is linear in the positions: sum_j weights_j (x_j - x_i) over the neighbours j of each update is a part of its gradient. */
typedef struct pd_sweep_neighbours {
    int *start;    /* B [n+1]; NULL where there are none */
    int *slots;    /* B [.] */
    real *weights; /* B [.] N/m */
} pd_sweep_neighbours;

/* What an update consists of, so that a loop may treat each kind in its own way: corners of one family in groups and nothing else, or
 * anything else, which includes no corners at all. */
typedef enum pd_update_kind { PD_UPDATES_NEO_HOOKEAN, PD_UPDATES_ROTATED, PD_UPDATES_MIXED, PD_UPDATE_KINDS } pd_update_kind;

/* What an update reads of its own: 32 bytes, in float and in double. */
typedef struct pd_update {
    alignas(16) int vertex;
    int slot;
    int first, end; /* groups of the one family that its kind names; mixed: 0 */
    real diagonal;  /* N/m: m/h^2 and what is constant of the blocks: of neo-Hookean corners, of neighbours */
    real mass;      /* kg */
} pd_update;

/* The free vertices in the order of a sweep, with all that each of them needs of its elements. The positions of a sweep lie in a
 * buffer of their own, [n_vertices,4] with the fourth number unused, at slots where neighbours in the mesh are close together; the
 * updates of one kind in a colour go through the slots in ascending order. */
typedef struct pd_vertex_sweep {
    int n; /* updates: free vertices */
    int n_colours;
    const int *colour_start;          /* H [n_colours+1] updates of each colour; its vertices share no element */
    const int *kind_end;              /* H [n_colours,PD_UPDATE_KINDS] in each colour, one kind after the other; the last is the colour's */
    int *order;                       /* B [n_vertices] vertex at each slot */
    pd_update *updates;               /* B [n] */
    unsigned char *may_touch;         /* B [n] 0: contact has nothing to say to this update; NULL without contact */
    int *corner_slots[PD_KIND_COUNT]; /* B [elements,k] slots of the corners of each kind; NULL where all lie in groups */
    int n_corners;                    /* in the list of corners */
    int *corner_start;                /* B [n+1] */
    int *corners;                     /* B [n_corners,2] index of the kind in the model, and element * k + corner */
    pd_corner_groups groups[PD_CORNER_FAMILIES];
    pd_sweep_neighbours neighbours;
    int update_threads; /* threads that share an update on CUDA: 1, 4, 8, 16 or 32; 0: the loop chooses */
    int *colours;       /* B [n_vertices] of each vertex, -1 where it is fixed; NULL where nothing touches */
} pd_vertex_sweep;

typedef struct pd_contact_sweep pd_contact_sweep; /* friction_loops.h */

typedef enum pd_sweep_step {
    PD_SWEEP_BLOCK,    /* d = H_ii^-1 g_i with the 3x3 block of the vertex */
    PD_SWEEP_DIAGONAL, /* d = diag(H_ii)^-1 g_i */
    PD_SWEEP_SEARCH    /* the block's d, halved until the potential of the vertex does not grow */
} pd_sweep_step;

/* How a sweep begins and ends. One that moves the offset leaves x and direction behind: the next sweep starts from the positions. */
typedef struct pd_sweep_bounds {
    int gathers; /* 1: positions are copied from x first; 0: the sweep before has left them */
    int moves;   /* 1: offset_i -= d_i, and direction is not written; in place, without contact and without a search */
} pd_sweep_bounds;

/* One sweep over all vertices, colour after colour, the vertices of a colour in parallel: with g_i and H_ii the gradient of G and
 * its 3x3 block (the elements' indefinite parts clamped, pd_NAME_block or rotated_corner.h), d_i as `kind` says,
 *     positions_i -= d_i (where in_place != 0),    direction_i = d_i, or offset_i -= d_i where the sweep moves.
 *   x  B [n_vertices,3]  m      offset  B [n_vertices,3]  in/out  m      positions  B [n_vertices,4]  in/out  m
 *   direction  B [n_vertices,3]  out  m, 0 at fixed vertices
 * contact: what touches, NULL: nothing; vertex_update.h says what it changes.
 * [Chen et al. 2024, VBD, Algorithm 1; in_place = 0: Block Jacobi.] */
pd_status pd_sweep_vertices(pd_context *context, const pd_model *model, const pd_vertex_sweep *sweep, const pd_step_data *step,
                            pd_sweep_step kind, int in_place, pd_sweep_bounds bounds, const pd_contact_sweep *contact, const real *x,
                            real *offset, real *positions, real *direction);

/* ---- sweeps over constraints -------------------------------------------------------------------------------------------- */

/* All elements in the order of a sweep, and what extended position-based dynamics keeps of each through a step. */
typedef struct pd_constraint_sweep {
    int n_segments;
    const int *segment_start;         /* H [n_segments+1] runs of `elements` of one colour and one kind, colour after colour */
    const int *segment_kinds;         /* H [n_segments] index of the kind in the model */
    int *elements;                    /* B elements of a colour share no free vertex */
    real *multipliers[PD_KIND_COUNT]; /* B [elements] lambda, for each kind of the model; neo-Hookean [elements,2] */
    real *normals[PD_KIND_COUNT];     /* B [elements,3,d] dC/dF of the last visit; neo-Hookean: of the first of its two */
} pd_constraint_sweep;

/* One Gauss-Seidel sweep over all constraints by updates/sweeps/xpbd.h, the elements of a colour in parallel: positions_i += dx_i and
 * direction_i -= dx_i for every move dx_i of a free vertex. Damping plays no part.
 *   compliance  1/h^2, 1/s^2      positions, direction  B [n_vertices,3]  in/out  m */
pd_status pd_sweep_constraints(pd_context *context, const pd_model *model, const pd_constraint_sweep *sweep, double compliance,
                               real *positions, real *direction);

/* ---- time stepping -------------------------------------------------------------------------------------------------- */

/* First guess x, offset = x - y and drift = y - x_t of a step of size h: pd_vertex_first_guess of updates/time_step.h for every free
 * vertex; fixed vertices go to their targets [n,3] (rows of free vertices are not read), offset 0. v_previous counts where has_previous. */
pd_status pd_first_guess(pd_context *context, const pd_model *model, int guess, double h, const real *x_t, const real *v,
                         const real *v_previous, int has_previous, const real *load, const real *targets, real *x, real *offset,
                         real *drift);

/* v = v + h load + offset/h, for fixed vertices (x - x_t)/h; v_previous = the old v. h = 0: both zero. */
pd_status pd_vertex_update_velocity(pd_context *context, const pd_model *model, double h, const real *x, const real *x_t, const real *load,
                                    const real *offset, real *v, real *v_previous);

/* offset = x - (x_t + h v + h^2 load); zero at fixed vertices. */
pd_status pd_offset(pd_context *context, const pd_model *model, double h, const real *x, const real *x_t, const real *v, const real *load,
                    real *offset);

/* step = alpha direction + beta step; then at free vertices offset += step, and x is where that puts it (pd_vertex_position); with data
 * NULL x += step, for whoever must know that x goes no farther.
 *   report [2]  B  out  sum |step|^2 in m^2, NaN where a free coordinate of x is not finite, and the number of coordinates of x that
 *   changed; NULL: not asked for, and not summed */
pd_status pd_advance(pd_context *context, const pd_model *model, const pd_step_data *data, double alpha, const real *direction, double beta,
                     real *step, real *x, real *offset, double *report);

/* The same with contact: a vertex that touches is not extrapolated but goes by -direction, and none farther than its reach.
 *   touching  B [n_vertices]      reach  B [n_vertices] m, or NULL */
pd_status pd_advance_touching(pd_context *context, const pd_model *model, double alpha, const real *direction, double beta,
                              const unsigned char *touching, const real *reach, real *step, real *x, real *offset, double *report);

/* moved = where `offset` puts the free vertices (pd_vertex_position), x at fixed ones.   all B [n,3], m */
pd_status pd_place_at_offset(pd_context *context, const pd_model *model, const pd_step_data *data, const real *x, const real *offset,
                             real *moved);

/* y = x + alpha d at free vertices, for trial points of a line search. */
pd_status pd_add_scaled(pd_context *context, const pd_model *model, const real *x, double alpha, const real *d, real *y);

/* ---- vectors ------------------------------------------------------------------------------------------------------- */

/* out = sum x_i y_i over 3n numbers, in double. */
pd_status pd_dot(pd_context *context, const pd_model *model, const real *x, const real *y, double *out /* B */);

/* Nonlinear conjugate gradients: p = z + beta p, and d = alpha p, over 3n numbers; beta and alpha from sums [PD_CONJUGATE_COUNT]  B, as
 * updates/conjugate_step.h says. */
pd_status pd_conjugate_redirect(pd_context *context, const pd_model *model, const double *sums, const real *z, real *p);
pd_status pd_conjugate_scale(pd_context *context, const pd_model *model, const double *sums, const real *p, real *d);

/* v_i <- P_i v_i for the n rows of v [n,3], P the projectors on the lines and planes that vertices are held in.
 *   subspace  B [n,3,3] */
pd_status pd_project(pd_context *context, int n, const real *subspace, real *v);

/* index = first vertex with a non-finite coordinate, or -1. */
pd_status pd_find_not_finite(pd_context *context, const pd_model *model, const real *x, int *index /* H */);

/* ---- batches of single elements (pdgpu.elements) ----------------------------------------------------------------------- */

enum {
    PD_BATCH_ENERGY,
    PD_BATCH_GRADIENT,
    PD_BATCH_HESSIAN,
    PD_BATCH_PROJECTION,
    PD_BATCH_STRESS, /* dE/dF [3,d] */
    PD_BATCH_BLOCKS  /* pd_NAME_block of every corner, [k,3,3] */
};

/* One quantity of n elements of a kind, each with its own corner positions x [n,k,3]; `filter` is for the Hessian alone.
 * out  B: energy [n] J; gradient [n,k,3] N; hessian [n,3k,3k] N/m; projection and stress dE/dF [n,3,d]; blocks [n,k,3,3] N/m.
 * Errors: PD_ERROR_VALUE for an unknown kind, or the projection of one that has none. */
pd_status pd_element_batch(pd_context *context, int kind, int quantity, pd_hessian_filter filter, int n, const real *x, const real *rest,
                           const real *parameters, real *out);

/* ---- pairs of primitives and their collisions ------------------------------------------------------------------------ */

/* The closest points of n pairs of a kind of geometry/pair.h with k corners, each with its own x [n,k,3], m.
 *   weights  B [n,k]  out        gap  B [n,3]  out  m        normal  B [n,3]  out
 *   distance B [n]    out  m     feature B [n] out */
pd_status pd_pair_closest_batch(pd_context *context, int kind, int n, const real *x, real *weights, real *gap, real *normal, real *distance,
                                int *feature);

/* What pd_pair_batch computes. */
enum {
    PD_PAIR_GRADIENT,         /* of the distance, [n,k,3] */
    PD_PAIR_GRADIENT_SQUARED, /* of its square, m */
    PD_PAIR_HESSIAN,          /* of the distance, [n,3k,3k] 1/m */
    PD_PAIR_HESSIAN_SQUARED,  /* of its square */
    PD_PAIR_BOUND             /* a number that is never above the distance, [n] m */
};

/* One quantity of n pairs; x B [n,k,3] m, out B. */
pd_status pd_pair_batch(pd_context *context, int kind, int quantity, int n, const real *x, real *out);

/* The mollifier of n pairs of edges (geometry/mollifier.h), and where asked for (not NULL) its derivatives.
 *   x, rest  B [n,4,3]  in  m      value  B [n]  out      gradient  B [n,4,3]  out  1/m      hessian  B [n,12,12]  out  1/m^2 */
pd_status pd_mollifier_batch(pd_context *context, int n, const real *x, const real *rest, real *value, real *gradient, real *hessian);

/* The time of impact of n pairs that move along straight lines; kind PD_VERTEX_TRIANGLE or PD_EDGE_EDGE, method of geometry/collision.h.
 *   x_t0, x_t1  B [n_vertices,3]  in  m            corners  B [n,4]  in   rows of x; NULL: pair i has rows 4i .. 4i+3
 *   separation  m, >= 0                            time     B [n]    out  in [0,1], 1 also where there is no contact
 *   iterations  B [n]  out                         reason   B [n]    out  PD_NO_CONTACT, .. of geometry/motion.h */
pd_status pd_collision_times(pd_context *context, int kind, int method, int n, const real *x_t0, const real *x_t1, const int *corners,
                             real separation, real *time, int *iterations, unsigned char *reason);

/* The earliest time of impact of one list or several, and its pair. */
typedef struct pd_earliest {
    double time, before; /* before: the list that is being looked through */
    int index;           /* of the pair; INT_MAX: none was found */
} pd_earliest;

/* Nothing found so far, and nobody asks for what comes later than `time` in [0,1].   earliest [1]  B  out */
pd_status pd_earliest_begin(pd_context *context, real time, pd_earliest *earliest);

/* The earliest of these times that is not later than what was found before, and its pair, pair i being number first + i: the smallest
 * number where several are equal, if lists come in the order of their numbers. Pairs that cannot come first are left early; the result does
 * not depend on the order. Waits for nothing.
 *   count  B [1]  how many of the n pairs there are; NULL: all
 *   radii  B [rows of x]  in  m, added to the separation for both primitives of a pair, equal at all their corners; NULL: zero
 *   earliest [1]  B  in/out */
pd_status pd_earliest_collision(pd_context *context, int kind, int method, int n, const uint64_t *count, const real *x_t0, const real *x_t1,
                                const int *corners, real separation, const real *radii, int first, pd_earliest *earliest);

/* The same of n vertices and a plane through row `plane` of x, with row plane + 1 for its unit normal: only the plane's point moves.
 *   vertices  B [n] rows of x */
pd_status pd_earliest_plane_collision(pd_context *context, int n, const real *x_t0, const real *x_t1, const int *vertices, int plane,
                                      real separation, const real *radii, int first, pd_earliest *earliest);

/* How far each point can go by all its pairs, one after the other in full: the part of every corner of a pair that meets falls to the time
 * of that.
 *   parts  B [rows of x]  in/out  of the way; from 1 on     hits  B [1]  in/out  += pairs that meet, but those that stand still */
pd_status pd_collision_parts(pd_context *context, int kind, int n, const uint64_t *count, const real *x_t0, const real *x_t1,
                             const int *corners, real separation, const real *radii, double *parts, uint64_t *hits);
/* The same of n vertices and a plane. */
pd_status pd_plane_parts(pd_context *context, int n, const real *x_t0, const real *x_t1, const int *vertices, int plane, real separation,
                         const real *radii, double *parts, uint64_t *hits);
/* x_t1 goes to the parts of the way from x_t0, the points from `first` on by the least part of theirs, which `together` B [1] is multiplied
 * by; parts are 1 again, hits 0. */
pd_status pd_shorten_ways(pd_context *context, int n_points, int first, const real *x_t0, real *x_t1, double *parts, uint64_t *hits,
                          double *together);

/* Reads the result: the time as it was to begin with and index -1 where nothing was found.   time, index  H  out */
pd_status pd_earliest_read(pd_context *context, const pd_earliest *earliest, real *time, int *index);

/* ---- colliders -------------------------------------------------------------------------------------------------------- */

typedef struct pd_collider pd_collider; /* geometry/collider.h */

/* What a collider [1] (B, and so are the values of its grid) says of n points.
 *   x       B [n,3]  in   m        distance  B [n]    out  m, negative inside      gradient  B [n,3]  out  of the distance
 *   normal  B [n,3]  out  unit     closest   B [n,3]  out  m */
pd_status pd_collider_batch(pd_context *context, const pd_collider *collider, int n, const real *x, real *distance, real *gradient,
                            real *normal, real *closest);

#ifdef __cplusplus
}
#endif

#endif
