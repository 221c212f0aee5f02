"""The C library against the Python package: the example in C has the numbers that the same scene has in Python.

`make library` builds and installs the library, runs its tests (tests/c) with ctest, and builds the example against the installed package.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from c_library import PREFIX, Barrier, CProgram, Penalty

import pdgpu

ROOT = Path(__file__).parents[1]
HEADER = ROOT / "csrc" / "include" / "pdgpu.h"
EXAMPLE = ROOT / "build" / "library" / "example" / "beam"
CELLS, SIDE, STEPS = (8, 2, 2), 0.05, 30
ORDERS = ((0, 1, 2), (1, 2, 0), (2, 0, 1), (0, 2, 1), (2, 1, 0), (1, 0, 2))
built = pytest.mark.skipif(not EXAMPLE.exists(), reason="the C library is not built: run `make library`")


def beam():
    """Points and tets of examples/c/beam.c."""
    shape = tuple(n + 1 for n in CELLS)
    grid = np.stack(np.meshgrid(*map(np.arange, shape), indexing="ij"), axis=-1).reshape(-1, 3)
    tets = []
    for corner in grid[(grid < CELLS).all(axis=1)]:
        for place, order in enumerate(ORDERS):
            path = corner + np.cumsum([np.zeros(3, int), *(np.eye(3, dtype=int)[axis] for axis in order)], axis=0)
            rows = np.ravel_multi_index(path.T, shape)
            tets.append(rows if place < 3 else rows[[0, 1, 3, 2]])
    return SIDE * grid + [0.0, 0.1, 0.0], np.array(tets)


@built
def test_the_example_in_c_has_the_numbers_of_python():
    """If not, a scene that is built in C is another one than the same scene in Python."""
    printed = subprocess.run([EXAMPLE], capture_output=True, text=True, check=True).stdout
    number = r"(-?[\d.]+e[-+]\d+)"
    steps = re.findall(rf"step +(\d+) +iterations +(\d+) +energy {number} J +elastic {number} J +lowest {number} m", printed)
    rows = re.findall(rf"iteration +(\d+) +potential {number} J +gradient {number} N +pairs (\d+)", printed)
    points, tets = beam()
    scene = pdgpu.Scene()
    body = scene.add_solid(pdgpu.Mesh(points, tets=tets), pdgpu.NeoHookean(2e4, 1e5), density=1000.0)
    body.pin(np.flatnonzero(points[:, 0] == 0.0))
    scene.add_obstacle(pdgpu.Plane((0.0, 0.0, 0.0), (0.0, 1.0, 0.0)))
    contact = pdgpu.BarrierContact(0.01, stiffness=1e6)
    sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=50, tolerance=1e-8), dt=0.01, contact=contact, dtype="float64")
    assert len(steps) == STEPS
    for step, iterations, total, elastic, lowest in steps:
        sim.step(record=True)
        record = sim.last_step
        energies = sim.energies()
        assert record.iteration == int(iterations), step
        expected = energies["total"], energies["elastic"]["NeoHookean"], sim.positions[:, 1].min()
        np.testing.assert_allclose([float(total), float(elastic), float(lowest)], expected, rtol=1e-9, err_msg=f"step {step}")
    assert len(rows) == len(record["incremental_potential"])
    for row, (_, potential, gradient, pairs) in enumerate(rows):
        assert float(potential) == pytest.approx(record["incremental_potential"][row], rel=1e-9)
        assert float(gradient) == pytest.approx(record["gradient_norm"][row], rel=1e-3, abs=1e-10)
        assert int(pairs) == record["active_contacts"][row]


def cube(height, shift=0.0):
    mesh = pdgpu.shapes.beam((0.3, 0.2, 0.2), cells=(3, 2, 2))
    return mesh.points + [shift, height, 0.0], mesh.tets


def line(height):
    """Ten points and the edges between them."""
    return np.array([[0.02 * i, height, 0.001 * i] for i in range(10)]), np.array([[i, i + 1] for i in range(9)])


def cloth(height):
    mesh = pdgpu.shapes.grid((0.4, 0.4), (5, 5))
    points = mesh.points - mesh.points.mean(axis=0)
    flat = points[:, np.argsort(np.ptp(points, axis=0))]  # the flat axis first
    return np.stack([flat[:, 1], flat[:, 0] + height, flat[:, 2]], axis=1), mesh.triangles


CLOTH = {"friction": 0.3, "friction_velocity": 1e-2}
# name: bodies (type, mesh, density, {material: constants}, damping s), obstacles, contact, solver, options
SCENES = {
    "cloth on a sphere": (
        [("shell", cloth(0.005), 0.3, {"StVK": (500.0, 300.0), "Bending": (1e-4,)}, 0.002)],
        [("sphere", (0.0, -0.1, 0.0), 0.1)],
        ("barrier", {"distance": 0.004, "stiffness": 1e5, **CLOTH}),
        ("Newton", {"iterations": 30, "tolerance": 1e-9}),
    ),
    "two solids": (
        [
            ("solid", cube(0.02), 1000.0, {"ARAP": (2e4,), "Volume": (1e5,)}, 0.0),
            ("solid", cube(0.24, 0.05), 500.0, {"StrainLimit": (0.95, 1.05, 3e4), "Spring": (300.0,)}, 0.003),
        ],
        [("plane", (0.0, 0.0, 0.0), (0.0, 1.0, 0.0))],
        ("barrier", {"distance": 0.01, "stiffness": 1e6, "separation": 0.001, "by_reach": 1}),
        ("ProjectiveDynamics", {"iterations": 30}),
    ),
    "hair and grains": (
        [
            ("rod", line(0.03), 0.01, {"Spring": (50.0,)}, 0.0),
            ("particles", (np.array([[0.05, 0.05, 0.004], [0.11, 0.06, 0.006]]), np.zeros((0, 1), int)), 0.002, {}, 0.0),
        ],
        [("capsule", (0.1, 0.0, -0.2), (0.1, 0.0, 0.2), 0.02)],
        ("barrier", {"distance": 0.004, "stiffness": 100.0, "unweighted": 1}),
        ("VertexBlockDescent", {"iterations": 30}),
    ),
    "hair and grains on needles and points": (
        [
            ("rod", line(0.02), 0.01, {"Spring": (50.0,)}, 0.0),
            ("shell", (lambda points, rows: (points + [0.0, 0.05, 0.0], rows))(*cloth(0.03)), 0.3, {"ARAP": (300.0,)}, 0.0),
            ("particles", (np.array([[0.05, 0.012, 0.0024], [0.11, 0.06, 0.006]]), np.zeros((0, 1), int)), 0.002, {}, 0.0),
        ],
        [
            ("plane", (0.0, -0.2, 0.0), (0.0, 1.0, 0.0)),
            ("points", np.array([[0.1, 0.011, 0.0051], [0.3, 0.066, 0.41], [0.61, 0.068, 0.33]])),
            ("segments", np.array([[0.05, 0.0, -0.2], [0.06, 0.001, 0.2], [0.13, 0.0, -0.2]]), np.array([[0, 1], [1, 2]])),
        ],
        ("barrier", {"distance": 0.004, "stiffness": 100.0, "separation": 0.001, "unweighted": 1}),
        ("VertexBlockDescent", {"iterations": 30}),
    ),
    "penalty": (
        [
            ("solid", cube(0.01), 1000.0, {"Corotated": (2e4, 4e4)}, 0.0),
            ("shell", cloth(0.25), 0.3, {"Area": (500.0,), "ARAP": (300.0,)}, 0.0),
        ],
        [("surface", *(lambda mesh: (mesh.points - [0.5, 0.4, 0.5], mesh.surface))(pdgpu.shapes.beam((1.0, 0.4, 1.0), cells=(2, 1, 2))))],
        ("penalty", {"thickness": 0.01, "stiffness": 500.0, "depth": 0.02, "detection_interval": 5, **CLOTH}),
        ("VertexBlockDescent", {"iterations": 20}),
    ),
}


def in_python(bodies, obstacles, contact, solver):
    scene = pdgpu.Scene()
    for kind, (points, elements), density, materials, damping in bodies:
        made = [getattr(pdgpu, name)(*constants) for name, constants in materials.items()]
        rows = {"solid": "tets", "shell": "triangles", "rod": "edges"}
        if kind == "particles":
            scene.add_particles(points, mass=density)
        else:
            mesh = pdgpu.Mesh(points, **{rows[kind]: elements})
            getattr(scene, f"add_{kind}")(mesh, made, density=density, damping=damping)
    shapes = {"plane": pdgpu.Plane, "sphere": pdgpu.Sphere, "capsule": pdgpu.Capsule, "segments": pdgpu.Segments, "points": pdgpu.Points}
    for kind, *numbers in obstacles:
        scene.add_obstacle(shapes[kind](*numbers) if kind in shapes else pdgpu.Mesh(numbers[0], triangles=numbers[1]))
    kind, fields = contact
    fields = {"detection_interval": 0, **fields} if kind == "penalty" else {**fields}
    if kind == "barrier":
        fields["guard"] = "reach" if fields.pop("by_reach", 0) else "impact"
        fields["area_weighted"] = not fields.pop("unweighted", 0)
    law = (pdgpu.BarrierContact if kind == "barrier" else pdgpu.PenaltyContact)(**fields)
    name, options = solver
    return pdgpu.Simulation(scene, getattr(pdgpu, name)(**options), dt=0.01, contact=law, dtype="float64", threads=1)


def in_c(bodies, obstacles, contact, solver):
    program = CProgram()
    for kind, (points, elements), density, materials, damping in bodies:
        body = program.add_body(kind, points, elements, density)
        for name, constants in materials.items():
            program.add_material(body, name, *constants)
        program.call("scene_set_damping", program.scene, body, damping)
    for kind, *numbers in obstacles:
        if kind == "surface":
            points, triangles = numbers
            numbers = [points, len(points), triangles, len(triangles)]
        elif kind == "segments":
            points, edges = numbers
            numbers = [points, len(points), edges, len(edges)]
        elif kind == "points":
            numbers = [*numbers, len(numbers[0])]
        program.call(f"scene_add_{kind}", program.scene, *numbers, None)
    kind, fields = contact
    program.call(f"scene_set_{kind}", program.scene, (Barrier if kind == "barrier" else Penalty)(**fields))
    program.simulate(*solver, 0.01, sum(len(body[1][0]) for body in bodies))
    return program


@built
@pytest.mark.parametrize("name", SCENES)
def test_scenes_in_c_move_as_in_python(name):
    """If not, a material, an obstacle or a contact has other numbers in C."""
    sim, program = in_python(*SCENES[name]), in_c(*SCENES[name])
    start, touched = sim.positions.copy(), False
    for _ in range(8):
        sim.step(record=True)
        touched |= sim.last_step["active_contacts"].max() > 0
        np.testing.assert_allclose(program.step(), sim.positions, rtol=0.0, atol=1e-11)
    program.close()
    assert touched and np.abs(sim.positions - start).max() > 1e-3


def options_of(solver):
    """The fields of a solver that the C interface has as numbers."""
    fields = pdgpu.solvers.solver_support.settings_of(solver, "cpu")
    return {name: float(value) for name, value in fields.items() if isinstance(value, bool | int | float)}


@built
def test_the_defaults_of_solvers_are_those_of_python(tmp_path):
    """If not, a solver of the same name does something else in C."""
    from pdgpu.solvers.solvers import SOLVERS

    program = tmp_path / "defaults"
    expected = {(cls.__name__, name): value for cls in SOLVERS for name, value in options_of(cls()).items()}
    asks = "\n".join(f'    ask("{solver}", "{name}");' for solver, name in expected)
    program.with_suffix(".c").write_text(
        "#include <pdgpu.h>\n#include <stdio.h>\n"
        "static void ask(const char *name, const char *option) {\n"
        "    pdgpu_solver *solver;\n    double value;\n    pdgpu_error error;\n"
        "    pdgpu_solver_create(&solver, name, &error);\n"
        "    if (pdgpu_solver_get(solver, option, &value, &error)) puts(error.text);\n"
        '    else printf("%s %s %.17g\\n", name, option, value);\n    pdgpu_solver_destroy(solver);\n}\n'
        f"int main(void) {{\n{asks}\n    return 0;\n}}\n"
    )
    libraries = next(PREFIX.glob("lib*/libpdgpu_cpu_f64.so")).parent
    command = [os.environ.get("CC", "cc"), "-std=c11", f"-I{PREFIX}/include", program.with_suffix(".c"), "-o", program]
    subprocess.run([*command, f"-L{libraries}", f"-Wl,-rpath,{libraries}", "-lpdgpu_cpu_f64"], check=True)
    lines = subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()
    found = {tuple(line.split()[:2]): float(line.split()[2]) for line in lines if len(line.split()) == 3}
    relaxation = {("PBD", "relaxation"): 0.0}  # found from the scene in both
    assert found | relaxation == expected | relaxation


@pytest.mark.parametrize(("language", "standard"), [("c", "c11"), ("c++", "c++17")])
def test_the_header_stands_alone(language, standard):
    """If not, a program that includes it first, or in C++, does not compile."""
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if not compiler:
        pytest.skip("there is no C compiler: the header is not compiled")
    for real in ("float", "double"):
        command = [compiler, "-x", language, f"-std={standard}", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"]
        subprocess.run([*command, f"-DPDGPU_REAL={real}", HEADER], check=True)


def test_every_function_has_its_suffix():
    """If not, two precisions in one program share a function, and one of them gets numbers of the other's size."""
    text = HEADER.read_text()
    declared = set(re.findall(r"^PDGPU_API [^;(]*?\b(pdgpu_\w+)\(", text, re.MULTILINE))
    mapped = set(re.findall(r"^#define (pdgpu_\w+) +PDGPU_NAME\(\1\)", text, re.MULTILINE))
    assert len(declared) > 30 and mapped == declared | {"pdgpu_scene", "pdgpu_solver", "pdgpu_simulation", "pdgpu_solved"}
