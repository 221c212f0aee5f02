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


def options_of(solver):
    """The fields of a solver that the C interface has as numbers."""
    fields = pdgpu.solvers.solver_support.settings_of(solver, "cpu")
    return {name: float(value) for name, value in fields.items() if isinstance(value, bool | int | float)}


@built
def test_the_defaults_of_solvers_are_those_of_python(tmp_path):
    """If not, a solver of the same name does something else in C."""
    from pdgpu.solvers.solvers import SOLVERS

    prefix, program = ROOT / "build" / "library" / "prefix", tmp_path / "defaults"
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
    libraries = next(prefix.glob("lib*/libpdgpu_cpu_f64.so")).parent
    command = [os.environ.get("CC", "cc"), "-std=c11", f"-I{prefix}/include", program.with_suffix(".c"), "-o", program]
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
    assert len(declared) > 30 and mapped == declared | {"pdgpu_scene", "pdgpu_solver", "pdgpu_simulation"}
