/* The Python object of a simulation, and the declarations shared by the files of its type. Each file has one part of its methods
 * (simulation.c lists them). */
#ifndef PD_PYTHON_SIMULATION_SIMULATION_OBJECT_H
#define PD_PYTHON_SIMULATION_SIMULATION_OBJECT_H

#include "python/binding/backend_module.h"

#include "contact/potential/contact.h"
#include "dynamics/callback.h"
#include "dynamics/step/simulation.h"
#include "python/binding/one_call.h"

typedef struct pd_simulation_object {
    PyObject_HEAD pd_simulation *core;
    pd_one_call calls;
    PyObject *description; /* the arrays that the core borrows: copies of the caller's, in a list */
    long long iterations;  /* maximum per step */
    long long steps;       /* completed; counted with the GIL held, before Python code can run, so that the count and the state agree
                            * after a Ctrl-C */

    /* Of a step with Python functions (simulation_functions.c). NULL and 0 otherwise. */
    PyObject *begin, *iterate; /* borrowed from the arguments of the step */
    PyThreadState *thread;     /* saved while the core runs */
    pd_callback_step *solved;  /* the current step, while a function runs */
    unsigned long owner;       /* the thread that it runs on */
    int querying;              /* a query of the function is running */
} pd_simulation_object;

/* One call at a time. A second one, from another thread or from an observer, is an error and does not wait: an observer that waited for
 * its own step would be a deadlock.
 * Returns 0 with an exception set. */
int pd_object_enter(pd_simulation_object *self);
void pd_object_leave(pd_simulation_object *self);
/* The exception of a status of the core; returns NULL. */
PyObject *pd_object_raise(pd_simulation_object *self, pd_status status);

/* (row_start, columns, values) of a sparse matrix, as fresh arrays. Takes the reference to values. */
PyObject *pd_build_csr(const pd_csr *matrix, PyArrayObject *values);

/* A function of the core: `given` has its arguments, `out` its results. */
typedef pd_status (*pd_core_function)(pd_simulation *core, const void *given, void *out);

/* Enters, runs `function` without the GIL, leaves. Returns 0 with an exception set. */
int pd_object_call(pd_simulation_object *self, pd_core_function function, const void *given, void *out);
/* The same for a result that is an array. Takes `array`, a new one or NULL with an exception set. Returns it filled, or NULL with an
 * exception set. */
PyObject *pd_object_fill(pd_simulation_object *self, pd_core_function function, const void *given, PyArrayObject *array);

/* A new array (n,3) of the module's precision. */
PyArrayObject *pd_object_new_vectors(pd_simulation_object *self);
/* A finite (n,3) argument or None; *data = NULL for None. Returns 0 with an exception set. */
int pd_object_read_vectors(pd_simulation_object *self, PyObject *object, const char *name, const real **data);

/* simulation_description.c: the arrays of a simulation, checked, and kept by a list as long as the core. The caller frees `out->sets`,
 * after a failure too. Returns 0 with an exception set. */
int pd_read_description(PyObject *kept, PyObject *masses, PyObject *fixed, PyObject *elements, PyObject *subspace, pd_description *out);
/* Rigid bodies, (r,4) int32: first row, number of rows, up to two pins after it; and the arms (n,3) of their rows. None: there are none.
 * Called after pd_read_description.
 * Returns 0 with an exception set. */
int pd_read_rigid(PyObject *kept, PyObject *bodies, PyObject *arms, pd_description *description);
/* Vertex colours [n]. The creation of the method checks that the vertices of an element differ. Returns 0 with an exception set. */
int pd_read_colours(PyObject *kept, PyObject *object, const pd_description *description, const int **colours);
/* A selection of vertices, (n,) of 0 and 1, or None: NULL. */
int pd_read_vertices(PyObject *kept, PyObject *object, const pd_description *description, const char *name, const unsigned char **marks);

/* simulation_settings.c: the name of a solver and the dict of its settings; out->h is already set. The caller frees
 * `out->method_settings` and `out->acceleration.settings`, after a failure too. Returns 0 with an exception set. */
int pd_read_settings(PyObject *kept, PyObject *solver, PyObject *dict, const pd_description *description, pd_settings *out);
/* The accelerator of that name with the settings in a dict; for None *out is unchanged. `out->settings` and errors as above. */
int pd_read_acceleration(PyObject *value, const char *name, pd_acceleration *out);

/* simulation_contact.c: a dict of the contact (python/pdgpu/contact/contact_scene.py), or None. Returns 0 with an exception set. */
int pd_read_contact(PyObject *kept, PyObject *object, int n_vertices, pd_contact_description *out);
PyObject *pd_call_contact_columns(pd_simulation_object *self, PyObject *unused);
PyObject *pd_call_friction_columns(pd_simulation_object *self, PyObject *unused);
PyObject *pd_call_penalty_columns(pd_simulation_object *self, PyObject *unused);
PyObject *pd_call_projective_columns(pd_simulation_object *self, PyObject *unused);
PyObject *pd_call_contact_row(pd_simulation_object *self, PyObject *arguments);
PyObject *pd_call_prescribed(pd_simulation_object *self, PyObject *unused);
PyObject *pd_call_find_pairs_at(pd_simulation_object *self, PyObject *object);
PyObject *pd_call_doublings(pd_simulation_object *self, PyObject *unused);
PyObject *pd_call_set_doublings(pd_simulation_object *self, PyObject *arguments);
PyObject *pd_call_set_prescribed(pd_simulation_object *self, PyObject *arguments);

/* simulation_proxies.c: a dict of proxies (python/pdgpu/contact/proxy_contact.py), or None: NULL. Returns 0 with an exception set. */
int pd_read_proxies(PyObject *kept, PyObject *object, int n_vertices, struct pd_proxies_description *out);
/* simulation_rest.c: the rest shapes of bodies that proxies are kept out of. Returns 0 with an exception set. */
struct pd_rest_description;
int pd_read_rest(PyObject *kept, PyObject *dict, int n_vertices, int n_proxies, const struct pd_rest_description **out);
PyObject *pd_call_set_proxy_colliders(pd_simulation_object *self, PyObject *object);
PyObject *pd_call_proxy_columns(pd_simulation_object *self, PyObject *unused);

/* simulation_state.c */
PyObject *pd_call_state(pd_simulation_object *self, PyObject *unused);
PyObject *pd_call_positions(pd_simulation_object *self, PyObject *unused);
PyObject *pd_call_velocities(pd_simulation_object *self, PyObject *unused);
PyObject *pd_call_set_state(pd_simulation_object *self, PyObject *arguments, PyObject *keywords);
PyObject *pd_call_set_load(pd_simulation_object *self, PyObject *object);
PyObject *pd_call_set_targets(pd_simulation_object *self, PyObject *arguments);
PyObject *pd_call_set_attachments(pd_simulation_object *self, PyObject *arguments);
PyObject *pd_call_device_positions(pd_simulation_object *self, PyObject *unused);
PyObject *pd_call_device_velocities(pd_simulation_object *self, PyObject *unused);
PyObject *pd_call_counts(pd_simulation_object *self, PyObject *unused);
PyObject *pd_call_refusal(pd_simulation_object *self, PyObject *unused);
PyObject *pd_call_steps(pd_simulation_object *self, PyObject *unused);
PyObject *pd_call_set_steps(pd_simulation_object *self, PyObject *object);

/* simulation_diagnostics.c */
PyObject *pd_call_energies(pd_simulation_object *self, PyObject *arguments);
PyObject *pd_call_gradient(pd_simulation_object *self, PyObject *object);
PyObject *pd_call_gradient_rounding(pd_simulation_object *self, PyObject *unused);
PyObject *pd_call_potential_rounding(pd_simulation_object *self, PyObject *object);
PyObject *pd_call_unbalanced(pd_simulation_object *self, PyObject *unused);
PyObject *pd_call_hessian(pd_simulation_object *self, PyObject *arguments);
PyObject *pd_call_system_matrix(pd_simulation_object *self, PyObject *unused);

/* simulation_solver.c */
PyObject *pd_call_prepare(pd_simulation_object *self, PyObject *unused);
PyObject *pd_call_constraint_colours(pd_simulation_object *self, PyObject *unused);
PyObject *pd_call_linear_weight(pd_simulation_object *self, PyObject *unused);
PyObject *pd_call_set_diagonal(pd_simulation_object *self, PyObject *object);
PyObject *pd_call_schur_cost(pd_simulation_object *self, PyObject *unused);
PyObject *pd_call_set_linear(pd_simulation_object *self, PyObject *arguments);
PyObject *pd_call_set_chebyshev(pd_simulation_object *self, PyObject *object);

/* simulation_functions.c: (begin, iterate) of a step, or None, while the step runs. pd_functions_end is called before its arguments are
 * released. The thread is saved in between. Returns 0 with an exception set. */
int pd_functions_begin(pd_simulation_object *self, PyObject *functions, pd_callback *callback);
void pd_functions_end(pd_simulation_object *self);
PyObject *pd_call_solved_vectors(pd_simulation_object *self, PyObject *object);
PyObject *pd_call_solved_potential(pd_simulation_object *self, PyObject *object);
PyObject *pd_call_solved_gradient(pd_simulation_object *self, PyObject *object);
PyObject *pd_call_solved_hessian(pd_simulation_object *self, PyObject *arguments);
PyObject *pd_call_solved_product(pd_simulation_object *self, PyObject *arguments);
PyObject *pd_call_solved_diagonal(pd_simulation_object *self, PyObject *arguments);
PyObject *pd_call_solved_local_step(pd_simulation_object *self, PyObject *object);
PyObject *pd_call_solved_global_solve(pd_simulation_object *self, PyObject *object);
PyObject *pd_call_solved_limit(pd_simulation_object *self, PyObject *object);
PyObject *pd_call_solved_line_search(pd_simulation_object *self, PyObject *object);
PyObject *pd_call_solved_move(pd_simulation_object *self, PyObject *arguments);

/* simulation_step.c */
PyObject *pd_call_step(pd_simulation_object *self, PyObject *arguments);

#endif
