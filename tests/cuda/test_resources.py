"""What ptxas says of the kernels: those of an iteration keep nothing in local memory, in any precision or architecture of the build.

A build with nvcc leaves the report beside each object file (scripts/keep_resource_usage); without one there is nothing to look at.
"""

import os
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
BUILDS = [Path(os.environ["PDGPU_BUILD"])] if "PDGPU_BUILD" in os.environ else [ROOT / "build" / "make", ROOT / "build" / "gpu" / "cmake"]

# Every kernel not listed here has neither a stack frame nor spills. (kernels, precision or "": both): the most bytes of either, None for
# any number, and why.
ALLOWED = {
    (r"\w+_(batch|project)_kernel", ""): (None, "single elements for pdgpu.elements, in no step at all; their large functions are calls"),
    (r"(closest|pair)_kernel", ""): (400, "corners and weights indexed by the kind of a pair; for pdgpu.geometry, in no step so far"),
    (r"(bound_moves|truncate)_kernel", ""): (480, "the planes that a move ends on, indexed by loops; once a step or a round"),
    (r"(support|measure|describe|lag|feature|linearise|slab|plane)_kernel", ""): (
        400,
        "closest points, whose corners are indexed by the sides of a triangle; once a refresh of the pairs",
    ),
    (r"(detect|freeze)_kernel", ""): (None, "closest points and times of impact of what may touch; once a detection"),
    (r"contact(_hessian|_blocks)?_kernel", ""): (None, "5 x 5 and 9 x 9 matrices by rotations, corners by kind; only pairs that are near"),
    (r"penalty_kernel", "f64"): (
        100,
        "the numbers of a Hessian, by the index of a loop; in matrices of all vertices and when it is read back",
    ),
    (r"(collision|earliest)_kernel", ""): (32, "the ends of a cubic's monotone pieces, at most three, in a loop"),
    (r"(slide|swing)_(hessian|admm)_kernel", ""): (None, "eigenvectors of 6 x 6 matrices by rotations; of joints with limits alone"),
    (r"hinge_(hessian|admm)_kernel", ""): (None, "eigenvectors of 9 x 9 matrices, once per linear solve or local step"),
    (r"orthotropic_\w+_(hessian|admm)_kernel", ""): (None, "eigenvectors of 9 x 9 and 6 x 6 matrices, once per linear solve or local step"),
    (r"\w+_hessian_kernel", ""): (256, "of tets: what 81 second derivatives leave no registers for; once per linear solve"),
    (r"\w+_admm_kernel", ""): (600, "a Newton minimisation inside every element; its systems are indexed by loops"),
    (r"body_(place|gather|spread|go|bend|stretch|arms)_kernel", ""): (
        40,
        "what sin and cos of the runtime need for angles that no body turns by",
    ),
    # the driver reserves a stack for every thread that the device can hold: 1 GB for each 3.7 KB on 132 multiprocessors
    (r"sweep_bodies_kernel", "f32"): (3600, "6x6 blocks, and the matrices of any element and pair; a thread to each body of a colour"),
    (r"sweep_bodies_kernel", "f64"): (6800, "the same"),
    (r"corner_update_kernel", ""): (
        800,
        "calls a function for every kind of element, for pairs and for bounded steps; neo-Hookean tets alone have group_update_kernel",
    ),
}


def reports():
    """{(module, source): text} of the newest build that has any."""
    for build in BUILDS:
        found = sorted(build.glob("CMakeFiles/pdgpu_core_cuda_f??.dir/**/*.resources"))
        if found:
            return {(path.parts[len(build.parts) + 1][16:19], path.name.split(".")[0]): path for path in found}
    return {}


def plain_name(mangled):
    """The kernel's own name out of a mangled one, in which each name stands behind its length."""
    for match in re.finditer(r"\d+", mangled):
        name = mangled[match.end() : match.end() + int(match[0])]
        if name.endswith("_kernel"):
            return name
    return mangled


def kernels(path):
    """[(architecture, name, stack bytes, spilled bytes)] of a report."""
    rows, name, architecture = [], None, None
    for line in path.read_text().splitlines():
        if match := re.search(r"Compiling entry function '(\w+)' for '(\w+)'", line):
            name, architecture = plain_name(match[1]), match[2]
        elif name and (match := re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", line)):
            rows.append((architecture, name, int(match[1]), int(match[2]) + int(match[3])))
            name = None
    return rows


def allowances(name, module):
    return [bytes for (pattern, real), (bytes, _) in ALLOWED.items() if real in ("", module) and re.fullmatch(pattern, name)]


def current():
    """The reports, or a reason to skip."""
    found = reports()
    if not found:
        pytest.skip("no build with nvcc has left its report: registers and spills are not checked")
    files = {file.stem: file for file in (ROOT / "csrc" / "cuda").rglob("*.cu")}
    for (_, source), path in found.items():
        if source not in files or files[source].stat().st_mtime > path.stat().st_mtime:
            pytest.skip(f"the report of {source}.cu is older than the file: registers and spills are not checked")
    return found


def assembled():
    """The reports of a build for a GPU, or a reason to skip."""
    found = current()
    if not any("ptxas info" in path.read_text() for path in found.values()):
        pytest.skip("the build stops at PTX (CUDA_ARCHITECTURES): registers and spills are not checked")
    return found


def test_kernels_keep_nothing_in_local_memory():
    """If not, a kernel that is bound by memory moves bytes that are not counted."""
    faults, seen = set(), 0
    for (module, _), path in assembled().items():
        for architecture, name, stack, spilled in kernels(path):
            seen += 1
            allowed = allowances(name, module)
            if None not in allowed and max(stack, spilled) > max(allowed, default=0):
                faults.add(
                    f"{module} {architecture} {name}: {stack} bytes of stack frame, {spilled} spilled, {max(allowed, default=0)} allowed"
                )
    assert not faults, "\n".join(sorted(faults))
    assert seen > 100, f"only {seen} kernels were found in the reports"


def test_no_kernel_computes_with_an_undefined_number():
    """If not, the compiler has taken a number that is there for undefined, and a Hessian on the GPU is NaN."""
    found = [path.with_suffix(".undefined") for path in current().values()]
    if not all(path.exists() for path in found):
        pytest.skip("the build is older than this report")
    assert not {path.name: path.read_text() for path in found if path.read_text()}


def test_every_allowance_is_used():
    """If not, the table allows what no kernel needs any more, and hides the next regression."""
    found = {(module, name) for (module, _), path in assembled().items() for _, name, *sizes in kernels(path) if max(sizes) > 0}
    for pattern, real in ALLOWED:
        assert any(re.fullmatch(pattern, name) and real in ("", module) for module, name in found), f"{pattern!r} {real} is not needed"


def test_names_come_out_of_mangled_ones():
    """If not, the table is held against names that no kernel has."""
    assert plain_name("_Z11turn_kernel8pd_model15pd_vertex_sweep") == "turn_kernel"
    assert plain_name("_ZN46_INTERNAL_f0ea2ea2_15_vertex_sweep_cu_25537c7a19group_update_kernelILi8EEEv8pd_model") == "group_update_kernel"
