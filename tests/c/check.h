/* What the tests of the C interface share: the list of tests, checks that end a test, and small scenes. */
#ifndef PD_TESTS_C_CHECK_H
#define PD_TESTS_C_CHECK_H

#include <pdgpu.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* TEST(name) for each: a function void test_NAME(void), and a test of ctest. */
#define TESTS(TEST)               \
    TEST(free_fall)               \
    TEST(free_fall_of_a_solid)    \
    TEST(spring_step)             \
    TEST(integrators)             \
    TEST(forces)                  \
    TEST(pinned_targets)          \
    TEST(hanging_mass)            \
    TEST(uniform_stretch)         \
    TEST(inverted_state)          \
    TEST(gradients)               \
    TEST(energies)                \
    TEST(lumped_masses)           \
    TEST(one_answer)              \
    TEST(anderson)                \
    TEST(every_solver)            \
    TEST(threads)                 \
    TEST(convergence_record)      \
    TEST(set_state)               \
    TEST(barrier)                 \
    TEST(friction)                \
    TEST(penalty)                 \
    TEST(moving_obstacle)         \
    TEST(touching_start)          \
    TEST(null_pointers)           \
    TEST(indices)                 \
    TEST(not_finite)              \
    TEST(values)                  \
    TEST(solver_options)          \
    TEST(combinations)            \
    TEST(cancel)                  \
    TEST(divergence)              \
    TEST(calls_within_a_step)     \
    TEST(functions)               \
    TEST(questions_of_a_function) \
    TEST(functions_that_fail)     \
    TEST(materials)               \
    TEST(materials_that_fail)     \
    TEST(memory)

#define DECLARE_TEST(name) void test_##name(void);
TESTS(DECLARE_TEST)
#undef DECLARE_TEST

/* Ends the program with a message. */
_Noreturn void fail_at(const char *file, int line, const char *format, ...) __attribute__((format(printf, 3, 4)));

#define FAIL(...) fail_at(__FILE__, __LINE__, __VA_ARGS__)
#define CHECK(condition)                               \
    do {                                               \
        if (!(condition)) FAIL("not so: " #condition); \
    } while (0)
#define CHECK_NEAR(value, expected, tolerance)                                                                       \
    do {                                                                                                             \
        double found_ = (value), wanted_ = (expected);                                                               \
        if (!(fabs(found_ - wanted_) <= (tolerance))) FAIL(#value ": expected %.17g, found %.17g", wanted_, found_); \
    } while (0)
/* A call that must succeed; `error` is a variable of the place. */
#define OK(call)                                                                     \
    do {                                                                             \
        pdgpu_error error;                                                           \
        pdgpu_status status_ = (call);                                               \
        if (status_) FAIL(#call ": %s: %s", pdgpu_status_name(status_), error.text); \
    } while (0)
/* A call that must fail with that status and a text that holds `part`. */
#define REFUSED(call, expected, part)                                                                            \
    do {                                                                                                         \
        pdgpu_error error;                                                                                       \
        pdgpu_status status_ = (call);                                                                           \
        if (status_ != (expected)) FAIL(#call ": expected %s, found %s", #expected, pdgpu_status_name(status_)); \
        if (!strstr(error.text, part)) FAIL(#call ": expected \"%s\" in \"%s\"", part, error.text);              \
    } while (0)

enum { CUBE_POINTS = 27, CUBE_TETS = 48 };

/* A cube of 0.2 m, of eight cells with six tets each, its lowest corner at `corner`. */
typedef struct cube {
    double points[CUBE_POINTS][3];
    int tets[CUBE_TETS][4];
} cube;
void make_cube(cube *out, double x, double y, double z);

/* A scene under gravity along -y with one such cube, neo-Hookean unless a material is given. */
pdgpu_scene *cube_scene(double height);
/* constants NULL: without a material. */
pdgpu_scene *cube_scene_of(pdgpu_material material, const double *constants, double height);
/* Particles at the origin, the first of 1 kg. */
pdgpu_scene *one_particle(const double *gravity);
/* A solver with iterations and a tolerance. */
pdgpu_solver *solver_of(const char *name, double iterations, double tolerance);
/* A simulation of both, which are destroyed. */
pdgpu_simulation *simulate(pdgpu_scene *scene, pdgpu_solver *solver, double dt, int threads);
double lowest(pdgpu_simulation *simulation, int n);

#endif
