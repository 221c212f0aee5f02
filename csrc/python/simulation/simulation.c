/* The type Simulation of a backend module: NumPy arrays as arguments and results. Every call into the core releases the GIL. */
#include "python/simulation/simulation_object.h"

#include "contact/proxies/proxies.h"
#include "python/binding/errors.h"
#include "python/binding/instance.h"

#include <float.h>
#include <limits.h>
#include <stdlib.h>

int pd_object_enter(pd_simulation_object *self) { return pd_one_call_enter(&self->calls); }

void pd_object_leave(pd_simulation_object *self) { pd_one_call_leave(&self->calls); }

PyObject *pd_object_raise(pd_simulation_object *self, pd_status status) {
    return pd_raise_of((PyObject *)self, status, pd_simulation_error(self->core));
}

int pd_object_call(pd_simulation_object *self, pd_core_function function, const void *given, void *out) {
    pd_status status;
    if (!pd_object_enter(self)) return 0;
    Py_BEGIN_ALLOW_THREADS status = function(self->core, given, out);
    Py_END_ALLOW_THREADS pd_object_leave(self);
    if (status) pd_object_raise(self, status);
    return !status;
}

PyObject *pd_object_fill(pd_simulation_object *self, pd_core_function function, const void *given, PyArrayObject *array) {
    if (array && pd_object_call(self, function, given, PyArray_DATA(array))) return (PyObject *)array;
    Py_XDECREF((PyObject *)array);
    return NULL;
}

PyArrayObject *pd_object_new_vectors(pd_simulation_object *self) {
    npy_intp shape[2] = {pd_simulation_n_vertices(self->core), 3};
    return pd_array_out(PD_NPY_REAL, 2, shape);
}

int pd_object_read_vectors(pd_simulation_object *self, PyObject *object, const char *name, const real **data) {
    npy_intp shape[2] = {pd_simulation_n_vertices(self->core), 3};
    PyArrayObject *array = NULL;
    if (pd_array_in_or_none(&array, object, PD_NPY_REAL, 2, shape, name) < 0) return 0;
    if (array && pd_array_check_finite(array, name) < 0) return 0;
    *data = array ? PyArray_DATA(array) : NULL;
    return 1;
}

static PyObject *simulation_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
    static char *names[] = {"masses",   "fixed",   "elements", "h",    "solver",  "settings", "threads",
                            "subspace", "contact", "rigid",    "arms", "proxies", NULL};
    PyObject *masses, *fixed, *elements, *solver, *dict, *subspace = Py_None, *contact = Py_None, *rigid = Py_None, *arms = Py_None,
                                                         *proxies = Py_None, *kept = NULL, *result = NULL;
    pd_contact_description touching;
    pd_proxies_description springs;
    pd_description description = {0};
    pd_settings settings = {0};
    int threads = 1;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "OOO!dOO|iOOOOO:Simulation", names, &masses, &fixed, &PyList_Type, &elements,
                                     &settings.h, &solver, &dict, &threads, &subspace, &contact, &rigid, &arms, &proxies))
        return NULL;
    if (!(kept = PyList_New(0))) return NULL;
    if (!pd_read_description(kept, masses, fixed, elements, subspace, &description) || !pd_read_rigid(kept, rigid, arms, &description) ||
        !pd_read_settings(kept, solver, dict, &description, &settings) ||
        !pd_read_contact(kept, contact, description.n_vertices, &touching) ||
        !pd_read_proxies(kept, proxies, description.n_vertices, &springs))
        goto done;
    if (contact != Py_None) description.contact = &touching;
    if (proxies != Py_None) description.proxies = &springs;

    pd_simulation_object *self = pd_instance_create(type);
    if (!self) goto done;
    self->iterations = settings.iterations;
    if (touching.friction.extent > 0) self->iterations *= touching.friction.lags;
    if (touching.two_way.steps > 0) self->iterations *= touching.two_way.passes;
    if (!pd_one_call_create(&self->calls, "simulation")) {
        Py_DECREF((PyObject *)self);
        goto done;
    }
    Py_INCREF(kept);
    self->description = kept;
    pd_module_state *state = PyModule_GetState(PyType_GetModule(type));
    pd_error error = {0};
    pd_status status;
    pd_place place = {state->device, threads};
    Py_BEGIN_ALLOW_THREADS status = pd_simulation_create(&self->core, &description, &settings, state->cholesky, place, &error);
    Py_END_ALLOW_THREADS if (status) {
        Py_DECREF((PyObject *)self);
        pd_raise(PyType_GetModule(type), status, &error);
        goto done;
    }
    result = (PyObject *)self;

done:
    Py_XDECREF(kept);
    free((void *)description.sets);
    free((void *)settings.method_settings);
    free((void *)settings.acceleration.settings);
    return result;
}

static void simulation_dealloc(pd_simulation_object *self) {
    pd_simulation_destroy(self->core);
    pd_one_call_destroy(&self->calls);
    Py_XDECREF(self->description);
    pd_instance_destroy(self);
}

/* ---- the type ----------------------------------------------------------------------------------------------------------------- */

static PyMethodDef simulation_methods[] = {
    {"prepare", (PyCFunction)pd_call_prepare, METH_NOARGS,
     "prepare($self, /)\n--\n\nFactorises and estimates what the solver needs; returns the seconds it took, 0 the second time."},
    {"step", (PyCFunction)pd_call_step, METH_VARARGS,
     "step($self, targets, record, iterates, observer, keep_diverged, guess=None, chosen=None, functions=None, /)\n--\n\n"
     "One time step; returns a dict: status, at_rounding, iteration (the last), solve_seconds, rows (recorded), phases (their seconds), "
     "device_seconds, setup_seconds. chosen (iterations + 1,) uint8: the iterations that the observer gets, next to the last one; None: "
     "all. functions (begin, iterate) of CustomSolver, each called with the iteration from 0."},
    {"solved_vectors", (PyCFunction)pd_call_solved_vectors, METH_O,
     "solved_vectors($self, which, /)\n--\n\nInside a function of CustomSolver, as those that follow: the iterate (0), x_t (1) or the "
     "inertial target (2), (n,3) m."},
    {"solved_potential", (PyCFunction)pd_call_solved_potential, METH_O,
     "solved_potential($self, x, /)\n--\n\nG at x (None: the iterate), J."},
    {"solved_gradient", (PyCFunction)pd_call_solved_gradient, METH_O,
     "solved_gradient($self, x, /)\n--\n\ndG/dx at x (None: the iterate), (n,3) N."},
    {"solved_hessian", (PyCFunction)pd_call_solved_hessian, METH_VARARGS,
     "solved_hessian($self, x, psd, /)\n--\n\n(row_start, columns, blocks) of d2G/dx2 over all rows, blocks (nnz,3,3) N/m."},
    {"solved_product", (PyCFunction)pd_call_solved_product, METH_VARARGS,
     "solved_product($self, v, x, psd, /)\n--\n\nIts product with v, (n,3) N."},
    {"solved_diagonal", (PyCFunction)pd_call_solved_diagonal, METH_VARARGS,
     "solved_diagonal($self, x, psd, /)\n--\n\nIts diagonal, (n,3) N/m."},
    {"solved_local_step", (PyCFunction)pd_call_solved_local_step, METH_O,
     "solved_local_step($self, x, /)\n--\n\nThe right-hand side of the global step of Projective Dynamics, (n,3) N."},
    {"solved_global_solve", (PyCFunction)pd_call_solved_global_solve, METH_O,
     "solved_global_solve($self, b, /)\n--\n\nA^-1 b, (n,3), with the rows of pinned vertices those of the identity."},
    {"solved_limit", (PyCFunction)pd_call_solved_limit, METH_O,
     "solved_limit($self, d, /)\n--\n\nThe part of the move d (n,3) m that the step limiter allows."},
    {"solved_line_search", (PyCFunction)pd_call_solved_line_search, METH_O,
     "solved_line_search($self, d, /)\n--\n\nThe part of d that lowers G enough; 0: none does."},
    {"solved_move", (PyCFunction)pd_call_solved_move, METH_VARARGS,
     "solved_move($self, d, fraction, /)\n--\n\nMoves by fraction d, as far as the step limiter allows; returns the part of d gone."},
    {"steps", (PyCFunction)pd_call_steps, METH_NOARGS, "steps($self, /)\n--\n\nNumber of steps taken."},
    {"set_steps", (PyCFunction)pd_call_set_steps, METH_O,
     "set_steps($self, steps, /)\n--\n\nNumber of steps taken so far, for a resumed run."},
    {"state", (PyCFunction)pd_call_state, METH_NOARGS,
     "state($self, /)\n--\n\nA dict of fresh copies: positions, velocities, and previous_velocities, slopes and rates or None."},
    {"positions", (PyCFunction)pd_call_positions, METH_NOARGS, "positions($self, /)\n--\n\nA fresh copy."},
    {"velocities", (PyCFunction)pd_call_velocities, METH_NOARGS, "velocities($self, /)\n--\n\nA fresh copy."},
    {"set_state", (PyCFunction)(void (*)(void))pd_call_set_state, METH_VARARGS | METH_KEYWORDS,
     "set_state($self, /, positions, velocities, previous_velocities, slopes=None, rates=None)\n--\n\nNone leaves positions or velocities "
     "as they are, and forgets the previous velocities and the history of an integrator."},
    {"device_positions", (PyCFunction)pd_call_device_positions, METH_NOARGS,
     "device_positions($self, /)\n--\n\nThe positions where they lie, as a DeviceArray that keeps this object alive."},
    {"device_velocities", (PyCFunction)pd_call_device_velocities, METH_NOARGS,
     "device_velocities($self, /)\n--\n\nThe velocities where they lie, as a DeviceArray that keeps this object alive."},
    {"counts", (PyCFunction)pd_call_counts, METH_NOARGS,
     "counts($self, /)\n--\n\nSo far: waits of the host for the device, allocations of backend memory, captures and launches of graphs, "
     "captures refused."},
    {"refusal", (PyCFunction)pd_call_refusal, METH_NOARGS,
     "refusal($self, /)\n--\n\nWhy the last capture of a graph was refused; None: none was."},
    {"set_load", (PyCFunction)pd_call_set_load, METH_O,
     "set_load($self, load, /)\n--\n\nAcceleration of gravity and external forces, (n,3) m/s^2."},
    {"set_targets", (PyCFunction)pd_call_set_targets, METH_VARARGS,
     "set_targets($self, first, stretches, /)\n--\n\nWhat shape targets seek from the next step on: the upper triangles (n,6) of rows "
     "first "
     "to first + n - 1."},
    {"set_attachments", (PyCFunction)pd_call_set_attachments, METH_VARARGS,
     "set_attachments($self, first, targets, /)\n--\n\nTargets (n,3) m of attachments from the next step on, of rows first to first + n - "
     "1."},
    {"energies", (PyCFunction)pd_call_energies, METH_VARARGS,
     "energies($self, x, ahead, /)\n--\n\nParts of the incremental potential at x (None: here), J: elastic by kind, inertia, load, "
     "damping, "
     "contact, friction;\nahead: what is driven is where it goes in the step."},
    {"contact_columns", (PyCFunction)pd_call_contact_columns, METH_NOARGS,
     "contact_columns($self, /)\n--\n\nA dict: the pairs that may act at the present positions, and what the law says of them."},
    {"penalty_columns", (PyCFunction)pd_call_penalty_columns, METH_NOARGS,
     "penalty_columns($self, /)\n--\n\nA dict: the pairs with a penalty of the last step, as they are at the present positions."},
    {"projective_columns", (PyCFunction)pd_call_projective_columns, METH_NOARGS,
     "projective_columns($self, /)\n--\n\nA dict: the pairs that the last step froze, what they do at the present positions, and where it "
     "began."},
    {"friction_columns", (PyCFunction)pd_call_friction_columns, METH_NOARGS,
     "friction_columns($self, /)\n--\n\nA dict: the pairs with friction of the last step, and their forces at the present positions."},
    {"set_proxy_colliders", (PyCFunction)pd_call_set_proxy_colliders, METH_O,
     "set_proxy_colliders($self, colliders, /)\n--\n\nShapes and places of the colliders that proxies are kept out of, each a tuple of the "
     "arguments of collider_query, or None: as it is."},
    {"proxy_columns", (PyCFunction)pd_call_proxy_columns, METH_NOARGS,
     "proxy_columns($self, /)\n--\n\nA dict: where the proxies are, their targets, which are active; and how many came and went in the "
     "last step."},
    {"contact_row", (PyCFunction)pd_call_contact_row, METH_VARARGS,
     "contact_row($self, x, first, /)\n--\n\nA dict: what a record says of contact at x (None: here); first: of a record."},
    {"driven", (PyCFunction)pd_call_prescribed, METH_NOARGS, "driven($self, /)\n--\n\nWhere the driven points are, (m,3) m."},
    {"find_pairs_at", (PyCFunction)pd_call_find_pairs_at, METH_O,
     "find_pairs_at($self, x, /)\n--\n\nFrom now on the pairs with a penalty are those of a detection at x, (n,3) m, in all steps and "
     "questions."},
    {"doublings", (PyCFunction)pd_call_doublings, METH_NOARGS,
     "doublings($self, /)\n--\n\nHow often the stiffness of an adaptive law had doubled in the last step, and will have in the next."},
    {"set_doublings", (PyCFunction)pd_call_set_doublings, METH_VARARGS,
     "set_doublings($self, now, next, /)\n--\n\nThe same, for a resumed run."},
    {"set_driven", (PyCFunction)pd_call_set_prescribed, METH_VARARGS,
     "set_driven($self, positions, targets, /)\n--\n\nWhere the driven points are, and go in the next step, (m,3) m; None: as it is."},
    {"gradient", (PyCFunction)pd_call_gradient, METH_O, "gradient($self, x, /)\n--\n\ndG/dx at x (None: here), (n,3) N."},
    {"gradient_rounding", (PyCFunction)pd_call_gradient_rounding, METH_NOARGS,
     "gradient_rounding($self, /)\n--\n\nNorm of dG/dx, N, that rounding the present positions leaves."},
    {"potential_rounding", (PyCFunction)pd_call_potential_rounding, METH_O,
     "potential_rounding($self, magnitude, /)\n--\n\nWhat rounding may change in a potential whose parts add up to magnitude, J."},
    {"unbalanced", (PyCFunction)pd_call_unbalanced, METH_NOARGS,
     "unbalanced($self, /)\n--\n\nForces that contact had to balance at the end of the last step, (n,3) N; None where no step has ended."},
    {"hessian", (PyCFunction)pd_call_hessian, METH_VARARGS,
     "hessian($self, x, psd, of_bodies=False, /)\n--\n\n(row_start, columns, blocks) of d2G/dx2 over all rows, blocks (nnz,3,3) N/m."},
    {"system_matrix", (PyCFunction)pd_call_system_matrix, METH_NOARGS,
     "system_matrix($self, /)\n--\n\n(row_start, columns, values) of the Projective Dynamics matrix over all vertices, N/m."},
    {"constraint_colours", (PyCFunction)pd_call_constraint_colours, METH_NOARGS,
     "constraint_colours($self, /)\n--\n\nColours of the elements in a sweep over constraints; 0 where the solver has none."},
    {"linear_weight", (PyCFunction)pd_call_linear_weight, METH_NOARGS,
     "linear_weight($self, /)\n--\n\nOf a Jacobi or A-Jacobi global step, a dict: weight, and the estimated largest_eigenvalue of D^-1 A; "
     "of others zeros."},
    {"set_diagonal", (PyCFunction)pd_call_set_diagonal, METH_O,
     "set_diagonal($self, added, /)\n--\n\nThe matrix of the global step becomes A_0 + diag(added), kg/s^2; None: A_0."},
    {"schur_cost", (PyCFunction)pd_call_schur_cost, METH_NOARGS,
     "schur_cost($self, /)\n--\n\nOf a Schur complement once prepared, a dict: safe, prone, factor_entries, bytes, factorizations, "
     "sparse_seconds, sigma_seconds, dense_seconds; None without."},
    {"set_linear", (PyCFunction)pd_call_set_linear, METH_VARARGS,
     "set_linear($self, weight, omega, rho, chebyshev, /)\n--\n\nWhat the spectrum of the system matrix tells the linear solver."},
    {"set_chebyshev", (PyCFunction)pd_call_set_chebyshev, METH_O,
     "set_chebyshev($self, chebyshev, /)\n--\n\nAcceleration of the outer iteration: None or a dict of rho, start and under_relaxation."},
    {NULL, NULL, 0, NULL},
};

PD_TYPE_SPEC(simulation, "Simulation", pd_simulation_object,
             "A model and its state on one device in one precision; pdgpu.Simulation is the class to use.");
