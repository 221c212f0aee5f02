"""The tests of `make quick`: each subject in two minutes at most on two cores.

An entry is a file, or a file and the name of a test with or without its parameters. conftest.py selects them under --quick, and
test_quick.py holds that each file is there and each entry selects something.
"""

GOLDEN = "tests/test_golden.py::test_ten_steps_are_what_they_were"

QUICK = {
    "closed forms": (
        "tests/elements/test_closed_forms.py",
        "tests/elements/test_bending_stiffness.py",
        "tests/elements/contact/test_barrier.py",
        "tests/dynamics/test_closed_forms.py",
        "tests/mesh/test_mass_properties.py",
    ),
    "derivatives": (
        "tests/elements/test_derivatives.py",
        "tests/elements/test_own_materials.py",
        "tests/elements/test_projections.py",
        "tests/elements/test_hinge.py",
        "tests/elements/test_orthotropic.py",
        "tests/dynamics/test_derivatives.py",
        "tests/geometry/test_derivatives.py",
        "tests/contact/test_potential_derivatives.py",
        "tests/elements/test_pair_motion.py",
    ),
    "convergence": (
        "tests/test_iteration_counts.py",
        "tests/dynamics/test_convergence.py::test_fewer_rows_are_those_of_a_whole_record",
        "tests/dynamics/test_counts.py::test_newton_with_a_factor",
        "tests/test_profiles.py::test_performance_profiles",
        "tests/dynamics/test_stopping.py",
        "tests/dynamics/test_integrators.py::test_linear_oscillator_by_hand",
        "tests/linear/test_added_diagonal.py",
        "tests/linear/test_anderson.py",
    ),
    "golden": tuple(f"{GOLDEN}[{run}]" for run in ("tets-cpu-float64", "neo-Hookean-cpu-float32", "cloth-cpu-float64", "rod-cpu-float32")),
    "contact": (
        "tests/contact/test_contact_step.py::test_the_energy_is_that_of_the_mesh",
        "tests/contact/test_contact_step.py::test_the_record",
        "tests/contact/test_contact_step.py::test_a_moving_wall_pushes",
        "tests/contact/test_contact_step.py::test_refused_numbers",
        "tests/contact/test_mesh_contact.py",
        "tests/contact/test_momentum.py",
        "tests/contact/test_newton_converges.py",
        "tests/contact/test_driven.py::test_the_verification_finds_an_obstacle_that_goes_through_the_block",
        "tests/contact/test_thin_obstacles.py::test_a_bar_on_two_wires_is_a_lever",
        "tests/contact/test_thin_obstacles.py::test_moving_wires_carry_a_block",
        "tests/geometry/test_thin_colliders.py::test_the_verifier_finds_what_passes_between_two_frames",
        "tests/ccd/test_unit_cases.py",
    ),
    "inversion": ("tests/dynamics/test_orientation.py",),
    "friction": (
        "tests/contact/test_friction_numbers.py",
        "tests/contact/test_friction.py::test_gradient_and_hessian",
        "tests/contact/test_friction.py::test_forces_of_a_pair",
        "tests/contact/test_friction.py::test_a_box_slides_with_every_solver",
        "tests/contact/test_friction.py::test_only_named_pairs_rub",
    ),
    "scene files": (
        "tests/scene_files/test_read_scene.py::test_blocks_on_the_ground",
        "tests/scene_files/test_refused_scenes.py::test_faults_of_scripts",
    ),
    "structure": (
        "tests/test_structure.py",
        "tests/test_imports.py",
        "tests/test_private_names.py",
        "tests/test_names.py",
        "tests/test_stubs.py",
        "tests/test_quick.py",
    ),
    "types": ("tests/test_types.py",),
    "checkpoints": ("tests/test_checkpoint.py", "tests/test_atomic_files.py"),
}


def entries():
    return [entry for chosen in QUICK.values() for entry in chosen]


def files():
    return {entry.split("::")[0] for entry in entries()}


def selects(entry, nodeid):
    """Whether an entry selects a test: the entry itself, or with tests or parameters after it."""
    return nodeid == entry or (nodeid.startswith(entry) and nodeid[len(entry)] in ":[")
