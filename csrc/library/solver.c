/* Solvers of the C interface: defaults, and options by the names of the core (base/option.h). */
#include "library/solver_object.h"

#include "dynamics/methods.h"
#include "library/scene_object.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Anderson acceleration until a window is set. */
static const pd_anderson_settings UNUSED = {0, 1e-10, PD_SAFEGUARD_AUTOMATIC};

#define BIT(kind) (1U << (kind))
enum {
    DIRECT = BIT(PD_LINEAR_DIRECT),
    SWEEPS = BIT(PD_LINEAR_JACOBI) | BIT(PD_LINEAR_GAUSS_SEIDEL) | BIT(PD_LINEAR_SYMMETRIC_GAUSS_SEIDEL) | BIT(PD_LINEAR_SOR) |
             BIT(PD_LINEAR_A_JACOBI)
};

static const pd_solver_traits SOLVERS[] = {
    {.name = "ProjectiveDynamics",
     .iterations = 10,
     .initialization = PD_GUESS_INERTIAL_TARGET,
     .linear = PD_LINEAR_DIRECT,
     .linears = DIRECT | SWEEPS | BIT(PD_LINEAR_PCG),
     .projective = 1,
     .chebyshev = 1,
     .anderson = 1,
     .barrier = 1,
     .penalty = 1},
    {.name = "Newton",
     .iterations = 20,
     .initialization = PD_GUESS_INERTIAL_TARGET,
     .lower_guess = 1,
     .line_search = 1,
     .linear = PD_LINEAR_DIRECT,
     .linears = DIRECT | BIT(PD_LINEAR_PCG),
     .whole = 1,
     .barrier = 1,
     .penalty = 1},
    {.name = "NonlinearCG",
     .iterations = 10,
     .initialization = PD_GUESS_INERTIAL_TARGET,
     .lower_guess = 1,
     .linear = PD_LINEAR_JACOBI,
     .linears = DIRECT | BIT(PD_LINEAR_JACOBI),
     .projective = 1,
     .barrier = 1,
     .penalty = 1},
    {.name = "PBD",
     .iterations = 10,
     .initialization = PD_GUESS_INERTIAL_TARGET,
     .linear = -1,
     .projective = 1,
     .chebyshev = 1,
     .anderson = 1},
    {.name = "VertexBlockDescent",
     .iterations = 20,
     .initialization = PD_GUESS_ADAPTIVE,
     .linear = -1,
     .chebyshev = 1,
     .anderson = 1,
     .barrier = 1,
     .penalty = 1},
    {.name = "BlockJacobi",
     .iterations = 20,
     .initialization = PD_GUESS_INERTIAL_TARGET,
     .line_search = 1,
     .linear = -1,
     .chebyshev = 1,
     .anderson = 1,
     .barrier = 1,
     .penalty = 1},
    {.name = "GradientDescent",
     .iterations = 20,
     .initialization = PD_GUESS_INERTIAL_TARGET,
     .line_search = 1,
     .linear = -1,
     .chebyshev = 1,
     .anderson = 1,
     .barrier = 1,
     .penalty = 1},
    {.name = "QuasiNewton",
     .iterations = 20,
     .initialization = PD_GUESS_INERTIAL_TARGET,
     .lower_guess = 1,
     .line_search = 1,
     .linear = PD_LINEAR_DIRECT,
     .linears = DIRECT,
     .barrier = 1,
     .penalty = 1},
    {.name = "XPBD", .iterations = 20, .initialization = PD_GUESS_INERTIAL_TARGET, .linear = -1, .anderson = 1, .penalty = 1},
    {.name = "ADMM",
     .iterations = 20,
     .initialization = PD_GUESS_INERTIAL_TARGET,
     .linear = PD_LINEAR_DIRECT,
     .linears = DIRECT,
     .anderson = 1,
     .barrier = 1},
    {.name = "CustomSolver", .iterations = 10, .initialization = PD_GUESS_INERTIAL_TARGET, .linear = -1, .barrier = 1, .penalty = 1},
};
enum { SOLVER_COUNT = sizeof SOLVERS / sizeof SOLVERS[0] };

static const char *const LINEAR_NAMES[] = {
#define LINEAR_NAME(KIND, name) [KIND] = #name,
    PD_LINEAR_TABLE(LINEAR_NAME)
#undef LINEAR_NAME
};

/* A list of names for a message: "Newton, PBD, ..". */
static void list_names(char *text, size_t size, const char *(*name_at)(int), int n) {
    size_t used = 0;
    for (int i = 0; i < n && used < size; i++) {
        if (!name_at(i)) continue;
        int written = snprintf(text + used, size - used, "%s%s", used ? ", " : "", name_at(i));
        used += written > 0 ? (size_t)written : 0;
    }
}

static const char *solver_name(int i) { return SOLVERS[i].name; }
static const char *linear_name(int i) { return i == PD_LINEAR_SCHUR || i == PD_LINEAR_FUNCTION ? NULL : LINEAR_NAMES[i]; }

static const pd_option *find_option(const pd_option *options, const char *name) {
    for (; options->name; options++)
        if (strcmp(options->name, name) == 0) return options;
    return NULL;
}

static pd_linear_settings *linear_of(const pdgpu_solver *self) {
    const pd_option *option = find_option(self->settings.method->options, "linear");
    return option ? (pd_linear_settings *)(void *)((char *)self->method_settings + option->offset) : NULL;
}

/* An option by its path, such as "linear.tolerance", and its address. NULL: no such option. */
static const pd_option *resolve(pdgpu_solver *self, const char *path, char **slot) {
    static const char linear[] = "linear.", chebyshev[] = "chebyshev.", anderson[] = "anderson.";
    const pd_option *found;
    pd_linear_settings *solver = linear_of(self);
    if (solver && strncmp(path, linear, sizeof linear - 1) == 0) {
        path += sizeof linear - 1;
        if (strncmp(path, chebyshev, sizeof chebyshev - 1) == 0) {
            *slot = (char *)&solver->chebyshev;
            return find_option(pd_chebyshev_options, path + sizeof chebyshev - 1);
        }
        if (strncmp(path, anderson, sizeof anderson - 1) == 0) {
            *slot = (char *)&solver->anderson;
            return find_option(pd_anderson_options, path + sizeof anderson - 1);
        }
        *slot = (char *)solver;
        return strcmp(path, "kind") == 0 || strcmp(path, "biased") == 0 ? NULL : find_option(pd_linear_options, path);
    }
    if (self->traits->chebyshev && strncmp(path, chebyshev, sizeof chebyshev - 1) == 0) {
        *slot = (char *)&self->outer;
        return find_option(pd_chebyshev_options, path + sizeof chebyshev - 1);
    }
    if (self->traits->anderson && strncmp(path, anderson, sizeof anderson - 1) == 0) {
        *slot = (char *)&self->anderson;
        return find_option(pd_anderson_options, path + sizeof anderson - 1);
    }
    *slot = (char *)&self->settings;
    if ((found = find_option(pd_frame_options, path))) return found;
    *slot = self->method_settings;
    return find_option(self->settings.method->options, path);
}

static pd_status find_number(const pdgpu_solver *self, const char *path, const pd_option **option, char **slot, pd_error *error) {
    // reads and writes share the search; only pdgpu_solver_set writes through `self`
    *option = resolve((pdgpu_solver *)(uintptr_t)self, path, slot);
    if (*option && (*option)->type <= PD_OPTION_NUMBER) return PD_OK;
    return pd_fail(error, PD_ERROR_VALUE, "option: %s has none of the name \"%s\"", self->traits->name, path);
}

static pd_status write_option(pdgpu_solver *self, const char *path, double value, pd_error *error) {
    const pd_option *option;
    char *slot;
    pd_status status = find_number(self, path, &option, &slot, error);
    if (status) return status;
    // this interface has no functions as options
    double most = strcmp(path, "linear.preconditioner") == 0 ? PD_NAMED_PRECONDITIONER_COUNT - 1 : option->most;
    if (!(value >= option->least && value <= most))
        return pd_fail(error, value == value ? PD_ERROR_VALUE : PD_ERROR_NOT_FINITE, "%s: must be between %g and %g, got %g", path,
                       option->least, most, value);
    if (option->type != PD_OPTION_NUMBER && value != floor(value))
        return pd_fail(error, PD_ERROR_VALUE, "%s: must be a whole number, got %g", path, value);
    if (option->type == PD_OPTION_NUMBER)
        *(double *)(void *)(slot + option->offset) = value;
    else
        *(int *)(void *)(slot + option->offset) = (int)value;
    if (strcmp(path, "chebyshev.rho") == 0) self->outer.enabled = 1;
    if (strcmp(path, "linear.chebyshev.rho") == 0) linear_of(self)->chebyshev.enabled = 1;
    return PD_OK;
}

/* A readback is cheap on the CPU, and synchronises a GPU. */
static int check_every(void) { return strcmp(PD_LIBRARY_DEVICE, "cpu") == 0 ? 1 : 8; }

static void set_linear(pdgpu_solver *self, int kind) {
    pd_linear_settings *linear = linear_of(self);
    if (!linear) return;
    *linear = (pd_linear_settings){.kind = kind,
                                   .iterations = self->traits->whole ? 1000 : 1,
                                   .check_every = check_every(),
                                   .weight = strcmp(self->traits->name, "NonlinearCG") == 0 && kind == PD_LINEAR_JACOBI,
                                   .omega = 1.0,
                                   .rho = 0.5,
                                   .degree = 4,
                                   .order = kind == PD_LINEAR_A_JACOBI ? 2 : 1,
                                   .anderson = UNUSED,
                                   .chebyshev = {0, 0.0, 10, 1.0}};
}

pdgpu_status pdgpu_solver_create(pdgpu_solver **out, const char *name, pdgpu_error *error) {
    static const struct {
        const char *name;
        double value;
    } defaults[] = {{"history", 5}, {"weight", 1}, {"relaxation", 0}, {"inner", 1}, {"active", 0}};
    pd_error found = {0};
    pd_status status = PD_OK;
    pdgpu_solver *self = NULL;
    const pd_solver_traits *traits = NULL;
    char names[256] = "";
    PD_TRY(pd_need(out, "out", &found));
    *out = NULL;
    PD_TRY(pd_need(name, "name", &found));
    for (int i = 0; i < SOLVER_COUNT && !traits; i++)
        if (strcmp(SOLVERS[i].name, name) == 0) traits = &SOLVERS[i];
    list_names(names, sizeof names, solver_name, SOLVER_COUNT);
    if (!traits) PD_TRY(pd_fail(&found, PD_ERROR_VALUE, "name: there is no solver \"%s\"; there are %s", name, names));
    if (!(self = calloc(1, sizeof *self))) PD_TRY(pd_fail(&found, PD_ERROR_MEMORY, "out of memory for a solver"));
    self->traits = traits;
    self->settings = (pd_settings){.method = pd_method_find(name),
                                   .iterations = traits->iterations,
                                   .check_every = check_every(),
                                   .initialization = traits->initialization,
                                   .lower_guess = traits->lower_guess};
    self->outer = (pd_chebyshev){0, 0.0, 10, 1.0};
    self->anderson = UNUSED;
    if (!(self->method_settings = calloc(1, self->settings.method->settings_size + 1)))
        PD_TRY(pd_fail(&found, PD_ERROR_MEMORY, "out of memory for a solver"));
    set_linear(self, traits->linear);
    for (size_t i = 0; i < sizeof defaults / sizeof defaults[0]; i++)
        if (find_option(self->settings.method->options, defaults[i].name))
            PD_TRY(write_option(self, defaults[i].name, defaults[i].value, &found));
    if (find_option(self->settings.method->options, "line_search")) PD_TRY(write_option(self, "line_search", traits->line_search, &found));
    *out = self;
done:
    if (status) pdgpu_solver_destroy(self);
    return pd_report(status, &found, error);
}

void pdgpu_solver_destroy(pdgpu_solver *solver) {
    if (!solver) return;
    free(solver->method_settings);
    free(solver);
}

pdgpu_status pdgpu_solver_set(pdgpu_solver *solver, const char *option, double value, pdgpu_error *error) {
    pd_error found = {0};
    pd_status status = PD_OK;
    PD_TRY(pd_need(solver, "solver", &found));
    PD_TRY(pd_need(option, "option", &found));
    PD_TRY(write_option(solver, option, value, &found));
done:
    return pd_report(status, &found, error);
}

pdgpu_status pdgpu_solver_get(const pdgpu_solver *solver, const char *option, double *value, pdgpu_error *error) {
    pd_error found = {0};
    pd_status status = PD_OK;
    const pd_option *declared;
    char *slot;
    PD_TRY(pd_need(solver, "solver", &found));
    PD_TRY(pd_need(option, "option", &found));
    PD_TRY(pd_need(value, "value", &found));
    PD_TRY(find_number(solver, option, &declared, &slot, &found));
    *value = declared->type == PD_OPTION_NUMBER ? *(double *)(void *)(slot + declared->offset) : *(int *)(void *)(slot + declared->offset);
done:
    return pd_report(status, &found, error);
}

pdgpu_status pdgpu_solver_set_linear(pdgpu_solver *solver, const char *name, pdgpu_error *error) {
    pd_error found = {0};
    pd_status status = PD_OK;
    char names[128] = "";
    int kind = -1;
    PD_TRY(pd_need(solver, "solver", &found));
    PD_TRY(pd_need(name, "name", &found));
    for (int i = 0; i < PD_LINEAR_COUNT; i++)
        if (linear_name(i) && strcmp(linear_name(i), name) == 0) kind = i;
    list_names(names, sizeof names, linear_name, PD_LINEAR_COUNT);
    if (kind < 0) PD_TRY(pd_fail(&found, PD_ERROR_VALUE, "name: there is no linear solver \"%s\"; there are %s", name, names));
    if (!(solver->traits->linears & BIT(kind)))
        PD_TRY(pd_fail(&found, PD_ERROR_TYPE, "name: %s does not take the linear solver \"%s\"", solver->traits->name, name));
    set_linear(solver, kind);
done:
    return pd_report(status, &found, error);
}
