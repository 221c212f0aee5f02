/* pdgpu: implicit time steps of elastic bodies in contact. The C interface.
 *
 *     pdgpu_scene (bodies, materials, pins, contact) + pdgpu_solver (method, options) -> pdgpu_simulation -> pdgpu_simulation_step
 *
 * Units are SI. Arrays are row-major: positions [n,3]. Input arrays are copied, so they may be freed after the call. Output arrays belong
 * to the caller. Numbers of a scene are double. The state of a simulation is pdgpu_real.
 *
 * PRECISION AND DEVICE. PDGPU_REAL (float or double) and PDGPU_DEVICE (cpu or cuda) are defined before this header is included. The default
 * is double and cpu. The imported targets of the package pdgpu define both: pdgpu::cpu_f64, pdgpu::cpu_f32, pdgpu::cuda_f64,
 * pdgpu::cuda_f32. All names carry a suffix such as _cpu_f64, by macro. A source file uses one precision, a program any number.
 *
 * ERRORS are values. A function that can fail returns a pdgpu_status, and writes a message to `error`, which may be NULL. Nothing prints,
 * exits or jumps. After a failed call the handle is unchanged, unless the function says otherwise. Every function returns
 * PDGPU_ERROR_VALUE where a required pointer is NULL, an index is out of range (the message has the index and its value), or a count is
 * negative; PDGPU_ERROR_NOT_FINITE where a number is NaN or infinite; PDGPU_ERROR_MEMORY. Only further errors are listed below.
 *
 * THREADS. Handles are independent of each other. One handle takes one call at a time. Results have the same bits for any number of threads.
 * A child process after fork() must not use the library: OpenMP has no threads there.
 *
 * NOT COMPUTED HERE. The Python package does the following, and a C program does it by itself:
 *   - Check that no surfaces intersect at the start. A barrier keeps surfaces apart only if they are apart.
 *   - Choose the stiffness of a contact, the rho of Chebyshev, and omega of SOR. Each is a number here.
 *   - Join the triangles of plane faces of obstacles. Each triangle and each edge inside a face has its own pairs here.
 *   - Shift the origin. In float, keep the coordinates near zero.
 *   - Refuse pins and obstacles whose prescribed motions meet each other.
 *   - Check that a quasistatic scene (dt = 0) is held. The step fails if its matrix is singular.
 * Rigid bodies, joints, embedded surfaces, rods with bending, shape targets, world boxes, and the other kinds of contact have no C interface. */
#ifndef PDGPU_H
#define PDGPU_H

#ifndef PDGPU_REAL
#define PDGPU_REAL double
#endif
#ifndef PDGPU_DEVICE
#define PDGPU_DEVICE cpu
#endif

/* ---- names with their suffix ---------------------------------------------------------------------------------------------------------- */

#define PDGPU_SUFFIX_float                  f32
#define PDGPU_SUFFIX_double                 f64
#define PDGPU_PASTE_SUFFIX(real)            PDGPU_SUFFIX_##real
#define PDGPU_SUFFIX_OF(real)               PDGPU_PASTE_SUFFIX(real)
#define PDGPU_PASTE_NAME(name, device, end) name##_##device##_##end
#define PDGPU_NAME_OF(name, device, end)    PDGPU_PASTE_NAME(name, device, end)
#define PDGPU_NAME(name)                    PDGPU_NAME_OF(name, PDGPU_DEVICE, PDGPU_SUFFIX_OF(PDGPU_REAL))

#define pdgpu_scene                             PDGPU_NAME(pdgpu_scene)
#define pdgpu_solver                            PDGPU_NAME(pdgpu_solver)
#define pdgpu_simulation                        PDGPU_NAME(pdgpu_simulation)
#define pdgpu_solved                            PDGPU_NAME(pdgpu_solved)
#define pdgpu_version                           PDGPU_NAME(pdgpu_version)
#define pdgpu_status_name                       PDGPU_NAME(pdgpu_status_name)
#define pdgpu_scene_create                      PDGPU_NAME(pdgpu_scene_create)
#define pdgpu_scene_destroy                     PDGPU_NAME(pdgpu_scene_destroy)
#define pdgpu_scene_add_body                    PDGPU_NAME(pdgpu_scene_add_body)
#define pdgpu_scene_add_material                PDGPU_NAME(pdgpu_scene_add_material)
#define pdgpu_scene_add_material_functions      PDGPU_NAME(pdgpu_scene_add_material_functions)
#define pdgpu_scene_set_masses                  PDGPU_NAME(pdgpu_scene_set_masses)
#define pdgpu_scene_set_velocities              PDGPU_NAME(pdgpu_scene_set_velocities)
#define pdgpu_scene_set_damping                 PDGPU_NAME(pdgpu_scene_set_damping)
#define pdgpu_scene_pin                         PDGPU_NAME(pdgpu_scene_pin)
#define pdgpu_scene_attach                      PDGPU_NAME(pdgpu_scene_attach)
#define pdgpu_scene_add_plane                   PDGPU_NAME(pdgpu_scene_add_plane)
#define pdgpu_scene_add_sphere                  PDGPU_NAME(pdgpu_scene_add_sphere)
#define pdgpu_scene_add_capsule                 PDGPU_NAME(pdgpu_scene_add_capsule)
#define pdgpu_scene_add_surface                 PDGPU_NAME(pdgpu_scene_add_surface)
#define pdgpu_scene_add_segments                PDGPU_NAME(pdgpu_scene_add_segments)
#define pdgpu_scene_add_points                  PDGPU_NAME(pdgpu_scene_add_points)
#define pdgpu_scene_set_barrier                 PDGPU_NAME(pdgpu_scene_set_barrier)
#define pdgpu_scene_set_penalty                 PDGPU_NAME(pdgpu_scene_set_penalty)
#define pdgpu_scene_n_vertices                  PDGPU_NAME(pdgpu_scene_n_vertices)
#define pdgpu_scene_first_vertex                PDGPU_NAME(pdgpu_scene_first_vertex)
#define pdgpu_scene_masses                      PDGPU_NAME(pdgpu_scene_masses)
#define pdgpu_solver_create                     PDGPU_NAME(pdgpu_solver_create)
#define pdgpu_solver_destroy                    PDGPU_NAME(pdgpu_solver_destroy)
#define pdgpu_solver_set                        PDGPU_NAME(pdgpu_solver_set)
#define pdgpu_solver_get                        PDGPU_NAME(pdgpu_solver_get)
#define pdgpu_solver_set_linear                 PDGPU_NAME(pdgpu_solver_set_linear)
#define pdgpu_solver_set_functions              PDGPU_NAME(pdgpu_solver_set_functions)
#define pdgpu_solved_iteration                  PDGPU_NAME(pdgpu_solved_iteration)
#define pdgpu_solved_positions                  PDGPU_NAME(pdgpu_solved_positions)
#define pdgpu_solved_start                      PDGPU_NAME(pdgpu_solved_start)
#define pdgpu_solved_inertial_target            PDGPU_NAME(pdgpu_solved_inertial_target)
#define pdgpu_solved_potential                  PDGPU_NAME(pdgpu_solved_potential)
#define pdgpu_solved_gradient                   PDGPU_NAME(pdgpu_solved_gradient)
#define pdgpu_solved_hessian                    PDGPU_NAME(pdgpu_solved_hessian)
#define pdgpu_solved_hessian_product            PDGPU_NAME(pdgpu_solved_hessian_product)
#define pdgpu_solved_diagonal                   PDGPU_NAME(pdgpu_solved_diagonal)
#define pdgpu_solved_local_step                 PDGPU_NAME(pdgpu_solved_local_step)
#define pdgpu_solved_global_solve               PDGPU_NAME(pdgpu_solved_global_solve)
#define pdgpu_solved_limit                      PDGPU_NAME(pdgpu_solved_limit)
#define pdgpu_solved_line_search                PDGPU_NAME(pdgpu_solved_line_search)
#define pdgpu_solved_move                       PDGPU_NAME(pdgpu_solved_move)
#define pdgpu_simulation_create                 PDGPU_NAME(pdgpu_simulation_create)
#define pdgpu_simulation_destroy                PDGPU_NAME(pdgpu_simulation_destroy)
#define pdgpu_simulation_prepare                PDGPU_NAME(pdgpu_simulation_prepare)
#define pdgpu_simulation_step                   PDGPU_NAME(pdgpu_simulation_step)
#define pdgpu_simulation_get_state              PDGPU_NAME(pdgpu_simulation_get_state)
#define pdgpu_simulation_set_state              PDGPU_NAME(pdgpu_simulation_set_state)
#define pdgpu_simulation_set_forces             PDGPU_NAME(pdgpu_simulation_set_forces)
#define pdgpu_simulation_set_attachment_targets PDGPU_NAME(pdgpu_simulation_set_attachment_targets)
#define pdgpu_simulation_set_obstacle_targets   PDGPU_NAME(pdgpu_simulation_set_obstacle_targets)
#define pdgpu_simulation_energies               PDGPU_NAME(pdgpu_simulation_energies)
#define pdgpu_simulation_incremental_potential  PDGPU_NAME(pdgpu_simulation_incremental_potential)
#define pdgpu_simulation_gradient               PDGPU_NAME(pdgpu_simulation_gradient)

#if defined(__GNUC__)
#define PDGPU_API __attribute__((visibility("default")))
#else
#define PDGPU_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef PDGPU_REAL pdgpu_real;

/* ---- errors --------------------------------------------------------------------------------------------------------------------------- */

typedef enum pdgpu_status {
    PDGPU_OK,
    PDGPU_ERROR_VALUE,       /* an argument has a value that cannot be used */
    PDGPU_ERROR_TYPE,        /* a combination of arguments that does not fit, such as a solver and a material */
    PDGPU_ERROR_MEMORY,      /* out of memory */
    PDGPU_ERROR_NOT_FINITE,  /* NaN or infinity in an input */
    PDGPU_ERROR_SINGULAR,    /* a matrix that must be positive definite is not */
    PDGPU_ERROR_DEVICE,      /* no device, driver too old, a launch failed */
    PDGPU_ERROR_UNSUPPORTED, /* this build leaves that part out */
    PDGPU_DIVERGED,          /* a step diverged; the state is that before the step */
    PDGPU_CANCELLED          /* cancelled by pdgpu_watch.cancel; the state is that before the step */
} pdgpu_status;

typedef struct pdgpu_error {
    char text[512]; /* a message that names the argument, the index, the value and the cure */
    int iteration;  /* with PDGPU_DIVERGED: the iteration, from 1 */
    int vertex;     /* with PDGPU_DIVERGED: the vertex with the largest or the first non-finite value */
} pdgpu_error;

/* The name of a status, such as "PDGPU_ERROR_VALUE"; "unknown" for another number. */
PDGPU_API const char *pdgpu_status_name(pdgpu_status status);
/* The version of the library, such as "0.2.0". */
PDGPU_API const char *pdgpu_version(void);

/* ---- scene ---------------------------------------------------------------------------------------------------------------------------- */

typedef struct pdgpu_scene pdgpu_scene;

typedef enum pdgpu_body_type {
    PDGPU_SOLID,    /* elements [.,4] tets of positive volume, det(x1-x0, x2-x0, x3-x0) > 0; density kg/m^3 */
    PDGPU_SHELL,    /* elements [.,3] triangles; density kg/m^2 */
    PDGPU_ROD,      /* elements [.,2] edges; density kg/m */
    PDGPU_PARTICLES /* no elements; density: the mass of each particle, kg */
} pdgpu_body_type;

/* V is the volume or area of an element at rest, F its deformation gradient. On solids moduli are in Pa, on shells in N/m. */
typedef enum pdgpu_material {
    PDGPU_SPRING,       /* solids, shells, rods, on every edge: k [N/m]; k/2 (l - L)^2 */
    PDGPU_ARAP,         /* solids, shells: mu; mu V |F - R|^2 */
    PDGPU_VOLUME,       /* solids: k; k V/2 |F - P|^2, P the nearest matrix of determinant 1 */
    PDGPU_AREA,         /* shells: k; the same with the nearest 3x2 matrix of area 1 */
    PDGPU_STRAIN_LIMIT, /* solids, shells: least and greatest stretch, k, 0 <= least <= 1 <= greatest; k V/2 |F - P|^2 */
    PDGPU_NEO_HOOKEAN,  /* solids: mu, lam > mu/3; V (mu/2 (|F|^2 - 3) - mu (J - 1) + lam/2 (J - 1)^2)  [Smith et al. 2018] */
    PDGPU_STVK,         /* solids, shells: mu, lam; V (mu |E|^2 + lam/2 tr(E)^2), E = (F^T F - I)/2 */
    PDGPU_COROTATED,    /* solids, shells: mu, lam; V (mu |F - R|^2 + lam/2 tr(R^T F - I)^2) */
    PDGPU_BENDING,      /* shells, on every hinge: k_b [J]; 3 k_b/(2 (A0 + A1)) |sum c_i x_i|^2  [Bergou et al. 2006] */
    /* Solids whose tets never invert; a state with an inverted one is refused. */
    PDGPU_LOG_NEO_HOOKEAN, /* mu, lam; V (mu/2 (|F|^2 - 3) - mu log J + lam/2 (log J)^2)  [Bonet and Wood 2008, Eq. 6.27] */
    PDGPU_FIXED_COROTATED, /* mu, lam; V (mu |F - R|^2 + lam/2 (J - 1)^2)  [Stomakhin et al. 2012] */
    PDGPU_MATERIAL_COUNT
} pdgpu_material;

/* An empty scene. gravity [3] in m/s^2. */
PDGPU_API pdgpu_status pdgpu_scene_create(pdgpu_scene **out, const double *gravity, pdgpu_error *error);
PDGPU_API void pdgpu_scene_destroy(pdgpu_scene *scene); /* NULL is allowed */

/* Adds a body at rest, without a material. Its vertices follow those of the bodies before it.
 *   points [n_points,3]  in  m, at rest and at the start      elements [n_elements,k]  in  indices of its points
 *   density > 0      body  out  its number, from 0; may be NULL
 * Masses are lumped: each element gives its mass in equal parts to its vertices.
 * Errors: PDGPU_ERROR_VALUE for a flat or negative element, for one that names a vertex twice, and for a vertex of no element. */
PDGPU_API pdgpu_status pdgpu_scene_add_body(pdgpu_scene *scene, pdgpu_body_type type, const double *points, int n_points,
                                            const int *elements, int n_elements, double density, int *body, pdgpu_error *error);

/* Gives a material to all elements of a body; each material once, any number of materials.
 *   constants [n_rows,c]  in  in the order of the list above; n_rows is 1, or the number of elements that the material makes
 * The rows of springs belong to the unique edges, and those of bending to the hinges, both in lexicographic order of their vertices.
 * Errors: PDGPU_ERROR_TYPE for a material that does not go with the body; PDGPU_ERROR_VALUE for constants out of range. */
PDGPU_API pdgpu_status pdgpu_scene_add_material(pdgpu_scene *scene, int body, pdgpu_material material, const double *constants, int n_rows,
                                                pdgpu_error *error);

/* A material of your own: batched functions of the deformation gradients F [n,3,d] of n elements, d = 3 on solids and 2 on shells, whose
 * numbers in their body are elements [n]. All are double in both precisions. They run on the thread that calls the simulation, and call no
 * function of it. A status other than PDGPU_OK ends the call with it; of a step the state is then that before it. */
typedef struct pdgpu_material_functions {
    void *user;
    /* Psi, J per volume or area at rest, out [n], 0 at rest; infinite where F is not admissible: a line search shortens the move then */
    pdgpu_status (*energy)(void *user, int n, const int *elements, const double *F, double *out);
    /* dPsi/dF, out [n,3,d] */
    pdgpu_status (*stress)(void *user, int n, const int *elements, const double *F, double *out);
    /* d2Psi/dF2, out [n,3d,3d], row d a + b for entry (a,b) of F. NULL: central differences of the stress */
    pdgpu_status (*hessian)(void *user, int n, const int *elements, const double *F, double *out);
} pdgpu_material_functions;

/* Gives it to all elements of a solid or shell, once. The functions are called at F = 1 here, and their derivatives are not compared.
 * `user` must outlive the scene and its simulations. Newton, QuasiNewton, NonlinearCG, VertexBlockDescent without a line search,
 * BlockJacobi, GradientDescent and CustomSolver support it. Errors: PDGPU_ERROR_NOT_FINITE for a result that is not finite, here and in
 * every later call; those of the functions. */
PDGPU_API pdgpu_status pdgpu_scene_add_material_functions(pdgpu_scene *scene, int body, const pdgpu_material_functions *functions,
                                                          pdgpu_error *error);

/* In place of the lumped masses: masses [n_points] in kg, > 0. */
PDGPU_API pdgpu_status pdgpu_scene_set_masses(pdgpu_scene *scene, int body, const double *masses, pdgpu_error *error);
/* At the start: velocities [n_points,3] in m/s. Default: zero. */
PDGPU_API pdgpu_status pdgpu_scene_set_velocities(pdgpu_scene *scene, int body, const double *velocities, pdgpu_error *error);
/* The damping time of all elements of a body, s, >= 0. Default: 0. */
PDGPU_API pdgpu_status pdgpu_scene_set_damping(pdgpu_scene *scene, int body, double seconds, pdgpu_error *error);
/* Pins vertices [n] of a body: they follow the targets of a step, or stay. */
PDGPU_API pdgpu_status pdgpu_scene_pin(pdgpu_scene *scene, int body, const int *vertices, int n, pdgpu_error *error);
/* Springs of rest length zero from vertices [n] of a body to targets [n,3] m, of a stiffness in N/m, > 0.
 *   first  out  number of the first of them, for pdgpu_simulation_set_attachment_targets; may be NULL */
PDGPU_API pdgpu_status pdgpu_scene_attach(pdgpu_scene *scene, int body, const int *vertices, int n, const double *targets, double stiffness,
                                          int *first, pdgpu_error *error);

PDGPU_API int pdgpu_scene_n_vertices(const pdgpu_scene *scene);             /* of all bodies; 0 for NULL */
PDGPU_API int pdgpu_scene_first_vertex(const pdgpu_scene *scene, int body); /* of a body; -1: there is no such body */
/* The masses of all vertices: masses [n_vertices] out, kg. */
PDGPU_API pdgpu_status pdgpu_scene_masses(const pdgpu_scene *scene, double *masses, pdgpu_error *error);

/* ---- contact -------------------------------------------------------------------------------------------------------------------------- */

/* Obstacles act only in a scene with a contact. obstacle  out  its number, from 0; may be NULL. Lengths are in m. A normal has any
 * length except zero, and points to the side of the bodies. Radii are > 0. A surface has points [n_points,3] and triangles
 * [n_triangles,3], segments have points and edges [n_edges,2] of non-zero length. Segments and points have no thickness. */
PDGPU_API pdgpu_status pdgpu_scene_add_plane(pdgpu_scene *scene, const double *point, const double *normal, int *obstacle,
                                             pdgpu_error *error);
PDGPU_API pdgpu_status pdgpu_scene_add_sphere(pdgpu_scene *scene, const double *centre, double radius, int *obstacle, pdgpu_error *error);
PDGPU_API pdgpu_status pdgpu_scene_add_capsule(pdgpu_scene *scene, const double *start, const double *end, double radius, int *obstacle,
                                               pdgpu_error *error);
PDGPU_API pdgpu_status pdgpu_scene_add_surface(pdgpu_scene *scene, const double *points, int n_points, const int *triangles,
                                               int n_triangles, int *obstacle, pdgpu_error *error);
PDGPU_API pdgpu_status pdgpu_scene_add_segments(pdgpu_scene *scene, const double *points, int n_points, const int *edges, int n_edges,
                                                int *obstacle, pdgpu_error *error);
PDGPU_API pdgpu_status pdgpu_scene_add_points(pdgpu_scene *scene, const double *points, int n_points, int *obstacle, pdgpu_error *error);

/* A barrier between all surfaces, which keeps all distances above `separation` [Li et al. 2020, Incremental Potential Contact]. */
typedef struct pdgpu_barrier {
    double distance;          /* m, > 0: activation distance, measured from the separation */
    double stiffness;         /* > 0; Pa, or J/m^4 with unweighted */
    double separation;        /* m, >= 0 */
    double friction;          /* coefficient of all pairs, >= 0 */
    double friction_velocity; /* m/s, > 0 with friction: slower surfaces stick, or creep */
    int friction_lags;        /* passes of a step, each with the normal forces of the previous one; 0 stands for 1 */
    int unweighted;           /* 1: pairs are not weighted by their areas */
    int by_reach;             /* 0: a common step limit by the time of impact; 1: a displacement bound per vertex */
} pdgpu_barrier;

/* A quadratic penalty below a thickness. Surfaces can pass through each other [Chen et al. 2024, VBD, Sec. 3.5]. */
typedef struct pdgpu_penalty {
    double thickness;         /* m, > 0 */
    double stiffness;         /* N/m, > 0, of every pair */
    double depth;             /* m, >= 0: search depth inside solids */
    double friction;          /* as above */
    double friction_velocity; /* as above */
    int detection_interval;   /* iterations between two detections of a step; 0: one detection */
} pdgpu_penalty;

/* The contact of the scene, between all bodies and obstacles, and of each body with itself. The last call counts; NULL: no contact. */
PDGPU_API pdgpu_status pdgpu_scene_set_barrier(pdgpu_scene *scene, const pdgpu_barrier *barrier, pdgpu_error *error);
PDGPU_API pdgpu_status pdgpu_scene_set_penalty(pdgpu_scene *scene, const pdgpu_penalty *penalty, pdgpu_error *error);

/* ---- solver --------------------------------------------------------------------------------------------------------------------------- */

typedef struct pdgpu_solver pdgpu_solver;

/* A solver with default options: "ProjectiveDynamics", "Newton", "NonlinearCG", "PBD", "VertexBlockDescent", "BlockJacobi",
 * "GradientDescent", "QuasiNewton", "XPBD", "ADMM", "CustomSolver". The defaults are those of the Python classes of these names.
 * Errors: PDGPU_ERROR_VALUE for another name; the message lists them. */
PDGPU_API pdgpu_status pdgpu_solver_create(pdgpu_solver **out, const char *name, pdgpu_error *error);
PDGPU_API void pdgpu_solver_destroy(pdgpu_solver *solver); /* NULL is allowed */

/* Sets an option. Counts and flags are whole numbers.
 *   all solvers          iterations, tolerance (of the gradient norm, relative to its first value; 0: all iterations), step_tolerance (m/s),
 *                        check_every, initialization (0 previous, 1 inertia, 2 inertial_target, 3 adaptive), lower_guess (0, 1),
 *                        integrator (0 implicit_euler, 1 bdf2, 2 trapezoidal, 3 newmark, the same as 2)
 *   of single solvers    line_search (0, 1), reuse (0, 1: Newton's conjugate gradients by blocks, then by the last factor, for steps
 *                        without a step_tolerance), hessian (of Newton, VertexBlockDescent, BlockJacobi, GradientDescent: 0 auto, 1 clamp,
 *                        2 absolute, 3 adaptive, 4 exact; 3 of Newton only), history, weight, relaxation (0: found from the scene), inner,
 *                        active
 *   "linear."            iterations, tolerance, check_every, weight, omega, rho, natural, preconditioner (0 jacobi, 1 block, 2 chebyshev,
 *                        3 multilevel, 4 amg), degree (of chebyshev), order, ..
 *   "chebyshev."         rho (< 1), start, under_relaxation: acceleration of the outer iteration, off until rho is set
 *   "anderson."          window (1 to 30), regularization, safeguard (0 automatic, 1 potential, 2 residual, 3 none): another acceleration
 *                        of the outer iteration, off until window is set
 *   "linear.chebyshev."  the same of a linear solver, as "linear.anderson."
 * Errors: PDGPU_ERROR_VALUE for a name that the solver does not have, and for a value out of range. */
PDGPU_API pdgpu_status pdgpu_solver_set(pdgpu_solver *solver, const char *option, double value, pdgpu_error *error);
PDGPU_API pdgpu_status pdgpu_solver_get(const pdgpu_solver *solver, const char *option, double *value, pdgpu_error *error);
/* The linear solver, with default options: "direct", "jacobi", "gauss_seidel", "symmetric_gauss_seidel", "sor", "pcg", "a_jacobi". For
 * NonlinearCG that of its preconditioner, "jacobi" or "direct".
 * Errors: PDGPU_ERROR_VALUE for another name; PDGPU_ERROR_TYPE for one that the solver does not take. */
PDGPU_API pdgpu_status pdgpu_solver_set_linear(pdgpu_solver *solver, const char *name, pdgpu_error *error);

/* ---- a solver of your own ------------------------------------------------------------------------------------------------------------- */

/* The step being solved, as the functions of a "CustomSolver" get it. It ends with their call. */
typedef struct pdgpu_solved pdgpu_solved;

/* They run on the thread that calls pdgpu_simulation_step, within its timing. A status other than PDGPU_OK ends the step, which returns
 * it and restores the state before the step. They call no function of the simulation except those below. */
typedef struct pdgpu_functions {
    void *user;
    pdgpu_status (*begin)(void *user,
                          pdgpu_solved *step); /* once a step, after the first guess, and for each lag of friction; may be NULL */
    pdgpu_status (*iterate)(void *user, pdgpu_solved *step); /* once an iteration: moves the iterate by pdgpu_solved_move */
} pdgpu_functions;

/* The functions of a solver "CustomSolver". `user` must outlive its simulations. Errors: PDGPU_ERROR_TYPE for another solver. */
PDGPU_API pdgpu_status pdgpu_solver_set_functions(pdgpu_solver *solver, const pdgpu_functions *functions, pdgpu_error *error);

/* Vectors are [n_vertices,3]. x NULL: the iterate. exact 0: negative eigenvalues of elements and pairs are set to 0, 1: they stay. */
PDGPU_API int pdgpu_solved_iteration(const pdgpu_solved *step);                                                   /* from 0; -1 for NULL */
PDGPU_API pdgpu_status pdgpu_solved_positions(const pdgpu_solved *step, pdgpu_real *x, pdgpu_error *error);       /* the iterate, m */
PDGPU_API pdgpu_status pdgpu_solved_start(const pdgpu_solved *step, pdgpu_real *x, pdgpu_error *error);           /* x_t, m */
PDGPU_API pdgpu_status pdgpu_solved_inertial_target(const pdgpu_solved *step, pdgpu_real *y, pdgpu_error *error); /* m */
PDGPU_API pdgpu_status pdgpu_solved_potential(pdgpu_solved *step, const pdgpu_real *x, double *potential, pdgpu_error *error); /* J */
PDGPU_API pdgpu_status pdgpu_solved_gradient(pdgpu_solved *step, const pdgpu_real *x, pdgpu_real *gradient, pdgpu_error *error);
/* The Hessian: row_start [n_vertices+1], columns [nnz], blocks [nnz,3,3] N/m, valid until the next call. Pinned vertices have blocks. */
PDGPU_API pdgpu_status pdgpu_solved_hessian(pdgpu_solved *step, const pdgpu_real *x, int exact, const int **row_start, const int **columns,
                                            const pdgpu_real **blocks, pdgpu_error *error);
/* Its product with v over the free vertices, and its diagonal. */
PDGPU_API pdgpu_status pdgpu_solved_hessian_product(pdgpu_solved *step, const pdgpu_real *v, const pdgpu_real *x, int exact,
                                                    pdgpu_real *product, pdgpu_error *error);
PDGPU_API pdgpu_status pdgpu_solved_diagonal(pdgpu_solved *step, const pdgpu_real *x, int exact, pdgpu_real *diagonal, pdgpu_error *error);
/* The right-hand side b of the global step of Projective Dynamics, and u = A^-1 b, with the rows of pinned vertices those of the identity.
 * The first call factorises A. Errors of local_step: PDGPU_ERROR_TYPE for a material without a projection. */
PDGPU_API pdgpu_status pdgpu_solved_local_step(pdgpu_solved *step, const pdgpu_real *x, pdgpu_real *b, pdgpu_error *error);
PDGPU_API pdgpu_status pdgpu_solved_global_solve(pdgpu_solved *step, const pdgpu_real *b, pdgpu_real *u, pdgpu_error *error);
/* The fraction of a move d, m: that the step limiter allows, 1 without contact; and that the line search accepts, 0 if none lowers the
 * potential enough. Errors of line_search: PDGPU_ERROR_VALUE if d is no direction of descent. */
PDGPU_API pdgpu_status pdgpu_solved_limit(pdgpu_solved *step, const pdgpu_real *d, double *part, pdgpu_error *error);
PDGPU_API pdgpu_status pdgpu_solved_line_search(pdgpu_solved *step, const pdgpu_real *d, double *part, pdgpu_error *error);
/* Moves the iterate by fraction d, or by the part that the step limiter allows: *gone d; `gone` may be NULL. */
PDGPU_API pdgpu_status pdgpu_solved_move(pdgpu_solved *step, const pdgpu_real *d, double fraction, double *gone, pdgpu_error *error);

/* ---- simulation ----------------------------------------------------------------------------------------------------------------------- */

typedef struct pdgpu_simulation pdgpu_simulation;

/* A simulation at its start. It copies the scene and the solver, which may be changed or destroyed afterwards.
 *   dt  s, 0: quasistatic      device  number of the GPU, 0 on the CPU      threads  of the host; 0: as many as OpenMP allows
 * Errors: PDGPU_ERROR_VALUE for a scene without bodies; PDGPU_ERROR_TYPE for a material or a contact that the solver does not take, and for
 * friction with dt = 0; PDGPU_ERROR_DEVICE. */
PDGPU_API pdgpu_status pdgpu_simulation_create(pdgpu_simulation **out, const pdgpu_scene *scene, const pdgpu_solver *solver, double dt,
                                               int device, int threads, pdgpu_error *error);
PDGPU_API void pdgpu_simulation_destroy(pdgpu_simulation *simulation); /* NULL is allowed */

/* Factorises, and allocates the memory of all steps. Otherwise the first step calls it.
 * Errors: PDGPU_ERROR_SINGULAR; PDGPU_ERROR_UNSUPPORTED for a direct solver in a build without CHOLMOD. */
PDGPU_API pdgpu_status pdgpu_simulation_prepare(pdgpu_simulation *simulation, pdgpu_error *error);

/* One row of the convergence record of a step. */
typedef struct pdgpu_row {
    int iteration;                /* 0: the first guess */
    double seconds;               /* of all iterations so far, without the record */
    double incremental_potential; /* G, J */
    double gradient_norm;         /* |dG/dx| over the free vertices, N: the residual of the step */
    double step_norm;             /* of the last move, m */
    double step_limit;            /* the part of it that contact allowed; 1: all */
    double contact_potential;     /* J */
    double smallest_distance;     /* of contact pairs, m; infinite without pairs */
    int active_contacts;          /* pairs that act */
} pdgpu_row;

/* Functions that a step calls; each may be NULL, and both get `user`. They may call pdgpu_simulation_get_state of the simulation, and no
 * other function of it. */
typedef struct pdgpu_watch {
    void *user;
    void (*record)(void *user, const pdgpu_row *row); /* at the first guess and after each iteration; makes the step slower */
    int (*cancel)(void *user);                        /* between iterations; nonzero ends the step with PDGPU_CANCELLED */
} pdgpu_watch;

/* How a step ended. STALLED: no move lowers the potential, and the gradient is larger than the tolerance or rounding allows. */
typedef enum pdgpu_stop { PDGPU_ITERATION_CAP, PDGPU_CONVERGED, PDGPU_STALLED } pdgpu_stop;

typedef struct pdgpu_result {
    pdgpu_stop stop;
    int at_rounding;   /* 1: converged, and the gradient is at the level of rounding */
    int iterations;    /* that ran */
    double seconds;    /* spent in them */
    double target_lag; /* m: distance of pins and obstacles from their targets, if contact held them back */
} pdgpu_result;

/* One time step.
 *   targets [n_vertices,3]  in  m: positions of pinned vertices, other rows are not read; NULL: they stay
 *   watch  may be NULL      result  out; may be NULL
 * Errors: PDGPU_DIVERGED, PDGPU_CANCELLED, PDGPU_ERROR_SINGULAR, PDGPU_ERROR_DEVICE, those of pdgpu_simulation_prepare;
 * PDGPU_ERROR_VALUE if surfaces touch at the start under a barrier, or a tet is inverted that must not be. The state before the step is
 * then restored. */
PDGPU_API pdgpu_status pdgpu_simulation_step(pdgpu_simulation *simulation, const pdgpu_real *targets, const pdgpu_watch *watch,
                                             pdgpu_result *result, pdgpu_error *error);

/* The state: positions [n_vertices,3] m and velocities [n_vertices,3] m/s; NULL: not read, or unchanged. After a change the next step of
 * another integrator than implicit_euler is a first one. */
PDGPU_API pdgpu_status pdgpu_simulation_get_state(pdgpu_simulation *simulation, pdgpu_real *positions, pdgpu_real *velocities,
                                                  pdgpu_error *error);
PDGPU_API pdgpu_status pdgpu_simulation_set_state(pdgpu_simulation *simulation, const pdgpu_real *positions, const pdgpu_real *velocities,
                                                  pdgpu_error *error);
/* External forces from the next step on: forces [n_vertices,3] N; NULL: none. */
PDGPU_API pdgpu_status pdgpu_simulation_set_forces(pdgpu_simulation *simulation, const double *forces, pdgpu_error *error);
/* Targets of attachments first .. first + n - 1 from the next step on: targets [n,3] m. */
PDGPU_API pdgpu_status pdgpu_simulation_set_attachment_targets(pdgpu_simulation *simulation, int first, int n, const double *targets,
                                                               pdgpu_error *error);
/* The target of an obstacle for the next step, which then stays: targets [k,3] m, the point of a plane, the centre of a sphere, the ends
 * of a capsule, all points of a surface, of segments or of points. Contact may stop it before its target (pdgpu_result.target_lag).
 * Errors: PDGPU_ERROR_VALUE in a scene without contact. */
PDGPU_API pdgpu_status pdgpu_simulation_set_obstacle_targets(pdgpu_simulation *simulation, int obstacle, const double *targets,
                                                             pdgpu_error *error);

/* Energies of the present state, J. `friction` is a potential of lagged forces and no part of the total. */
typedef struct pdgpu_energies {
    double kinetic, gravity, elastic, contact, friction, total;
} pdgpu_energies;
PDGPU_API pdgpu_status pdgpu_simulation_energies(pdgpu_simulation *simulation, pdgpu_energies *energies, pdgpu_error *error);

/* The incremental potential of the step about to be solved, and its gradient, at x [n_vertices,3] m; NULL: at the present positions.
 *     G(x) = sum over free vertices m/(2 dt^2) |x - y|^2 + elastic + damping + contact + friction,    y = x_t + dt v_t + dt^2 (g + f/m)
 *   potential  out  J      gradient [n_vertices,3]  out  N, zero rows at pinned vertices */
PDGPU_API pdgpu_status pdgpu_simulation_incremental_potential(pdgpu_simulation *simulation, const pdgpu_real *x, double *potential,
                                                              pdgpu_error *error);
PDGPU_API pdgpu_status pdgpu_simulation_gradient(pdgpu_simulation *simulation, const pdgpu_real *x, pdgpu_real *gradient,
                                                 pdgpu_error *error);

#ifdef __cplusplus
}
#endif

#endif
