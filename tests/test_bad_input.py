"""Every refusal names the argument and the value, and leaves everything as it was."""

import tempfile
from pathlib import Path

import numpy as np
import pytest
import scenes

import pdgpu

BEAM = pdgpu.shapes.beam((1.0, 1.0, 1.0), cells=(2, 1, 1))
CLOTH = pdgpu.shapes.grid((1.0, 1.0), cells=(3, 3))
CHAIN = pdgpu.shapes.chain(4)
LOOSE = pdgpu.Mesh(np.concatenate([BEAM.points, [[9.0, 9.0, 9.0]]]), tets=BEAM.tets)
SOFT = pdgpu.ARAP(1e4)


def body():
    return pdgpu.Scene().add_solid(BEAM, SOFT, density=1.0)


def sim(solver=None, **options):
    scene = pdgpu.Scene()
    scene.add_solid(BEAM, SOFT, density=1.0).pin([0])
    return pdgpu.Simulation(scene, solver, **options)


def load(motions=None, **options):
    """Saves a simulation whose body "bar" has one scripted pin, and loads it."""
    scene = pdgpu.Scene()
    scene.add_solid(BEAM, SOFT, density=1.0, name="bar").pin([0], lambda time, rest: rest)
    with tempfile.TemporaryDirectory() as folder:
        pdgpu.Simulation(scene, threads=1).save(f"{folder}/saved")
        return pdgpu.Simulation.load(f"{folder}/saved", motions=motions, **options)


def held():
    scene = pdgpu.Scene()
    scene.add_solid(BEAM, SOFT, density=1.0).pin([0])
    return scene


def shell(**options):
    scene = pdgpu.Scene()
    scene.add_shell(CLOTH, pdgpu.Spring(1.0), density=1.0, **options)
    return scene


def unheld():
    scene = held()
    scene.add_rod(CHAIN, pdgpu.Spring(1.0), density=1.0, name="loose")
    return scene


def far():
    scene = pdgpu.Scene()
    scene.add_particles([[1e39, 0.0, 0.0]], mass=1.0)
    return scene


def read(name, content):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        path.write_bytes(content)
        return pdgpu.read_mesh(path)


TET = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
X = np.array([TET], dtype=float)
RAGGED = [[1.0, 2.0], [3.0]]
MASKED = np.ma.array([1.0, 2.0], mask=[True, False])
HUGE = 10**400  # more than any float
N = len(BEAM.points)
NAN = np.full((N, 3), np.nan)

CASES = [
    # meshes
    (lambda: pdgpu.Mesh([[0, 0], [1, 1]], edges=[[0, 1]]), ValueError, ["points", "(2, 2)"]),
    (lambda: pdgpu.Mesh([], edges=[[0, 1]]), ValueError, ["points", "(0,)"]),
    (lambda: pdgpu.Mesh(np.zeros((0, 3)), edges=[]), ValueError, ["points", "give one or more"]),
    (lambda: pdgpu.Mesh(TET), ValueError, ["mesh", "4 points"]),
    (lambda: pdgpu.Mesh([[0, 0, np.nan], [1, 0, 0]], edges=[[0, 1]]), ValueError, ["points", "nan", "row 0", "column 2"]),
    (lambda: pdgpu.Mesh(["a", "b"], edges=[[0, 1]]), TypeError, ["points", "<U1"]),
    (lambda: pdgpu.Mesh(np.zeros((2, 3), complex), edges=[[0, 1]]), TypeError, ["points", "complex128"]),
    (lambda: pdgpu.Mesh([[0, 0, None]], edges=[[0, 1]]), TypeError, ["points", "object"]),
    (lambda: pdgpu.Mesh(RAGGED, edges=[[0, 1]]), ValueError, ["points"]),
    (lambda: pdgpu.Mesh(TET, tets=[[0, 1, 2, 4]]), ValueError, ["tets", "4", "row 0", "4 points"]),
    (lambda: pdgpu.Mesh(TET, triangles=[[0, 1, 2], [0, 1, -1]]), ValueError, ["triangles", "-1", "row 1"]),
    (lambda: pdgpu.Mesh(TET, edges=[[0, 2**40]]), ValueError, ["edges", str(2**40), "row 0"]),
    (lambda: pdgpu.Mesh(TET, tets=[[0, 1, 2, 2]]), ValueError, ["tets", "row 0", "vertex 2"]),
    (lambda: pdgpu.Mesh(TET, tets=[[0.0, 1.0, 2.0, 3.0]]), TypeError, ["tets", "float64"]),
    (lambda: pdgpu.Mesh(TET, tets=[[0, 1, 2]]), ValueError, ["tets", "(1, 3)"]),
    (lambda: pdgpu.Mesh([*TET[:3], [1, 1, 1e-13]], tets=[[0, 1, 2, 3]]), ValueError, ["tets", "row 0", "zero volume"]),
    (lambda: pdgpu.Mesh(TET, tets=[[0, 1, 3, 2]], strict=True), ValueError, ["tets", "1 of 1", "row 0", "-0.166667"]),
    (lambda: BEAM.colouring("rainbow"), ValueError, ["method", "rainbow"]),
    (lambda: BEAM.colouring(3), TypeError, ["method", "3"]),
    (lambda: BEAM.write("beam.xyz"), ValueError, ["beam.xyz", "unknown"]),
    (lambda: BEAM.write("beam.stl"), ValueError, ["beam.stl", "tets"]),
    (lambda: BEAM.write(None), TypeError, ["path", "None"]),
    # mesh files
    (lambda: pdgpu.read_mesh("no such file.msh"), FileNotFoundError, ["no such file.msh"]),
    (lambda: pdgpu.read_mesh("mesh.xyz"), ValueError, ["mesh.xyz", "unknown", ".msh"]),
    (lambda: pdgpu.read_mesh(3), TypeError, ["path", "3"]),
    (lambda: read("cut.msh", b"$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n4\n1 0 0"), ValueError, ["cut.msh", "truncated"]),
    (lambda: read("empty.vtu", b""), ValueError, ["empty.vtu", "truncated"]),
    (lambda: read("far.obj", b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 9\n"), ValueError, ["far.obj", "triangles", "8", "row 0"]),
    # shapes
    (lambda: pdgpu.shapes.beam((1, 1), cells=(1, 1, 1)), ValueError, ["size", "(1, 1)"]),
    (lambda: pdgpu.shapes.beam((1, 1, -1), cells=(1, 1, 1)), ValueError, ["size", "-1"]),
    (lambda: pdgpu.shapes.beam((1, 1, 1), cells=(1, 0, 1)), ValueError, ["cells", "0"]),
    (lambda: pdgpu.shapes.beam((1, 1, 1), cells=(1, 1.5, 1)), ValueError, ["cells", "1.5"]),
    (lambda: pdgpu.shapes.beam((1, 1, 1), cells=(2**20,) * 3), ValueError, ["cells", "1048576", "32-bit"]),
    (lambda: pdgpu.shapes.beam((1, 1, 1), cells=(1, 1, 1), split=7), ValueError, ["split", "7"]),
    (lambda: pdgpu.shapes.grid((1, np.inf), cells=(1, 1)), ValueError, ["size", "inf"]),
    (lambda: pdgpu.shapes.sphere(0.0, 1), ValueError, ["radius", "0"]),
    (lambda: pdgpu.shapes.sphere(1.0, 13), ValueError, ["subdivisions", "13"]),
    (lambda: pdgpu.shapes.box("big"), ValueError, ["size", "big"]),
    (lambda: pdgpu.shapes.chain(0), ValueError, ["n", "0"]),
    (lambda: pdgpu.shapes.chain(3, length=-1.0), ValueError, ["length", "-1"]),
    # single elements
    (lambda: pdgpu.elements.energy("ARAP", X, X), TypeError, ["material", "ARAP"]),
    (lambda: pdgpu.elements.energy(SOFT, X[0], X), ValueError, ["x", "(4, 3)"]),
    (lambda: pdgpu.elements.gradient(SOFT, X, X[:, :3]), ValueError, ["rest", "(1, 3, 3)", "(1, 4, 3)"]),
    (lambda: pdgpu.elements.hessian(SOFT, X * np.nan, X), ValueError, ["x", "nan", "(0, 0, 0)"]),
    (lambda: pdgpu.elements.projection(SOFT, X, 0 * X), ValueError, ["rest", "row 0", "zero volume"]),
    (lambda: pdgpu.elements.energy(SOFT, X[:, :2], X[:, :2]), TypeError, ["ARAP", "2 vertices"]),
    (lambda: pdgpu.elements.energy(pdgpu.ARAP([1.0, 2.0]), X, X), ValueError, ["ARAP.mu", "(2,)"]),
    (lambda: pdgpu.elements.energy(SOFT, X, X, threads=10**6), ValueError, ["threads", "1000000"]),
    # scenes and bodies
    (lambda: pdgpu.Scene(gravity=(0, 1)), ValueError, ["gravity", "(2,)"]),
    (lambda: pdgpu.Scene(gravity=(0, np.inf, 0)), ValueError, ["gravity", "inf", "1"]),
    (lambda: pdgpu.Scene().add_solid(BEAM, SOFT, density=-1.0), ValueError, ["density", "-1"]),
    (lambda: pdgpu.Scene().add_solid(BEAM, SOFT, density=[1.0] * 11 + [0.0]), ValueError, ["density", "0", "11"]),
    (lambda: pdgpu.Scene().add_solid(BEAM, SOFT, density=[1.0]), ValueError, ["density", "(1,)"]),
    (lambda: pdgpu.Scene().add_solid(BEAM.points, SOFT, density=1.0), TypeError, ["mesh"]),
    (lambda: pdgpu.Scene().add_solid(CLOTH, SOFT, density=1.0), ValueError, ["mesh", "tets"]),
    (lambda: pdgpu.Scene().add_solid(BEAM, 1e5, density=1.0), TypeError, ["material", "100000"]),
    (lambda: pdgpu.Scene().add_solid(BEAM, pdgpu.Bending(1.0), density=1.0), TypeError, ["Bending", "solid"]),
    (lambda: pdgpu.Scene().add_solid(BEAM, [SOFT, SOFT], density=1.0), ValueError, ["material"]),
    (lambda: pdgpu.Scene().add_solid(BEAM, pdgpu.ARAP([1.0, 2.0]), density=1.0), ValueError, ["ARAP.mu", "(2,)"]),
    (lambda: pdgpu.Scene().add_solid(LOOSE, SOFT, density=1.0), ValueError, ["vertex 12", "without_unused_vertices"]),
    (lambda: pdgpu.Scene().add_solid(BEAM, SOFT, density=1.0, velocity=(1, 2)), ValueError, ["velocity", "(2,)"]),
    (lambda: pdgpu.Scene().add_solid(BEAM, SOFT, density=1.0, damping=-0.1), ValueError, ["damping", "-0.1"]),
    (lambda: pdgpu.Scene().add_solid(BEAM, SOFT, density=1.0, name=3), TypeError, ["name", "3"]),
    (lambda: pdgpu.Scene().add_shell(CLOTH, pdgpu.Spring(1.0), density=1.0, bending=-1.0), ValueError, ["bending", "-1"]),
    (lambda: shell(flexural_rigidity=-1.0), ValueError, ["flexural_rigidity", "-1"]),
    (lambda: shell(flexural_rigidity=1.0, bending=1.0), ValueError, ["flexural_rigidity", "bending"]),
    (lambda: shell(flexural_rigidity=[1.0]), ValueError, ["HingeBending.flexural_rigidity", "(1,)"]),
    (lambda: pdgpu.Simulation(shell(flexural_rigidity=1.0), pdgpu.PBD()), TypeError, ["PBD", "HingeBending", "Newton"]),
    (lambda: pdgpu.Scene().add_rod(CHAIN, SOFT, density=1.0), TypeError, ["ARAP", "rod"]),
    (lambda: pdgpu.Scene().add_particles([[0, 0]], mass=1.0), ValueError, ["points", "(1, 2)"]),
    (lambda: pdgpu.Scene().add_particles(np.zeros((0, 3)), mass=1.0), ValueError, ["points"]),
    (lambda: pdgpu.Scene().add_particles([[0, 0, 0]], mass=0.0), ValueError, ["mass", "0"]),
    (lambda: pdgpu.Scene().add_solid(BEAM, SOFT, density=RAGGED), ValueError, ["density"]),
    (lambda: pdgpu.Scene().add_solid(CLOTH, SOFT, density=1.0), ValueError, ["mesh", "solid needs tets", "add_shell"]),
    (lambda: pdgpu.Scene().add_solid(BEAM, SOFT, density=5e-324), ValueError, ["density", "vertex 0", "0.0 kg"]),
    (lambda: pdgpu.Scene().add_solid(BEAM, SOFT, density=1.0, velocity=RAGGED), ValueError, ["velocity"]),
    (lambda: pdgpu.Scene().add_solid(BEAM, SOFT, density=1.0, damping=HUGE), ValueError, ["damping"]),
    (lambda: pdgpu.Scene().add_shell(CLOTH, pdgpu.Spring(1.0), density=1.0, bending="stiff"), TypeError, ["bending", "stiff"]),
    (lambda: pdgpu.Scene().add_particles(np.eye(3)[:2], mass=MASKED), ValueError, ["mass", "masked"]),
    (lambda: pdgpu.Scene()["nobody"], KeyError, ["nobody"]),
    # materials
    (lambda: pdgpu.ARAP(-1.0), ValueError, ["ARAP.mu", "-1"]),
    (lambda: pdgpu.ARAP("soft"), TypeError, ["mu", "soft"]),
    (lambda: pdgpu.ARAP(np.nan), ValueError, ["mu", "nan"]),
    (lambda: pdgpu.Spring([1.0, np.inf]), ValueError, ["stiffness", "inf", "1"]),
    (lambda: pdgpu.StrainLimit(1.2, 1.1, 1.0), ValueError, ["minimum", "1.2"]),
    (lambda: pdgpu.StrainLimit(0.9, 0.95, 1.0), ValueError, ["maximum", "0.95"]),
    (lambda: pdgpu.ARAP.from_young(1e5, 0.7), ValueError, ["poisson", "0.7"]),
    (lambda: pdgpu.ARAP(HUGE), ValueError, ["ARAP.mu", "finite"]),
    (lambda: pdgpu.ARAP(["1", "2"]), TypeError, ["ARAP.mu", "<U1"]),
    (lambda: pdgpu.ARAP([1 + 2j]), TypeError, ["ARAP.mu", "complex128"]),
    (lambda: pdgpu.ARAP(RAGGED), ValueError, ["ARAP.mu"]),
    (lambda: pdgpu.ARAP(MASKED), ValueError, ["ARAP.mu", "masked"]),
    (lambda: pdgpu.Volume([[1.0]]), ValueError, ["Volume.stiffness", "(1, 1)"]),
    (lambda: pdgpu.Area(True), TypeError, ["Area.stiffness", "True"]),
    (lambda: pdgpu.Bending(None), TypeError, ["Bending.stiffness", "None"]),
    (lambda: pdgpu.Bending(1.0, flexural_rigidity=2.0), TypeError, ["Bending.stiffness", "flexural_rigidity", "1.0", "2.0"]),
    (lambda: pdgpu.Bending(flexural_rigidity=-1.0), ValueError, ["Bending.flexural_rigidity", "-1"]),
    (lambda: pdgpu.HingeBending([1.0, -1.0]), ValueError, ["HingeBending.flexural_rigidity", "-1", "at 1"]),
    (lambda: pdgpu.ARAP.from_young("stiff", 0.3), TypeError, ["young", "stiff"]),
    (lambda: pdgpu.ARAP.from_young(1e5, [0.3, np.nan]), ValueError, ["poisson", "nan", "1"]),
    # pins and attachments
    (lambda: body().pin(RAGGED), ValueError, ["where"]),
    (lambda: body().pin(lambda x: RAGGED), ValueError, ["where"]),
    (lambda: body().pin(np.ma.array([0, 1], mask=[True, False])), ValueError, ["where", "masked"]),
    (lambda: body().pin([[0], [1]]), ValueError, ["where", "(2, 1)"]),
    (lambda: body().attach([0], RAGGED), ValueError, ["targets"]),
    (lambda: body().attach([0], (0, np.nan, 0)), ValueError, ["targets", "nan", "1"]),
    (lambda: body().attach([0, 1], (0, 0, 0), stiffness=[1.0, -2.0]), ValueError, ["stiffness", "-2.0", "1"]),
    (lambda: body().pin([0, 99]), ValueError, ["where", "99", "1"]),
    (lambda: body().pin([-1]), ValueError, ["where", "-1"]),
    (lambda: body().pin(np.ones(5, bool)), ValueError, ["where", "(5,)"]),
    (lambda: body().pin([0.5]), TypeError, ["where", "float64"]),
    (lambda: body().pin(lambda x: x[:, 0]), TypeError, ["where", "mask"]),
    (lambda: body().pin([0], motion=3.0), TypeError, ["motion", "3.0"]),
    (lambda: body().attach([0, 1], np.zeros((3, 3))), ValueError, ["targets", "(3, 3)"]),
    (lambda: body().attach([0], (0, 0, 0), stiffness=0.0), ValueError, ["stiffness", "0"]),
    # solvers
    (lambda: pdgpu.ProjectiveDynamics(iterations=0), ValueError, ["iterations", "0"]),
    (lambda: pdgpu.ProjectiveDynamics(iterations=2.5), TypeError, ["iterations", "2.5"]),
    (lambda: pdgpu.ProjectiveDynamics(iteration=3), TypeError, ["iteration"]),
    (lambda: pdgpu.ProjectiveDynamics(tolerance=-1.0), ValueError, ["tolerance", "-1"]),
    (lambda: pdgpu.ProjectiveDynamics(linear="direct"), TypeError, ["linear", "direct"]),
    (lambda: pdgpu.ProjectiveDynamics(chebyshev=0.9), TypeError, ["chebyshev", "0.9"]),
    (lambda: pdgpu.ProjectiveDynamics(initialization="zero"), ValueError, ["initialization", "zero"]),
    (lambda: pdgpu.Newton(linear=pdgpu.Jacobi()), TypeError, ["linear", "Jacobi"]),
    (lambda: pdgpu.Newton(linear="pcg"), TypeError, ["linear", "pcg"]),
    (lambda: pdgpu.QuasiNewton(linear=pdgpu.PCG()), TypeError, ["linear", "PCG"]),
    (lambda: pdgpu.QuasiNewton(history=-1), ValueError, ["history", "-1"]),
    (lambda: pdgpu.QuasiNewton(history=10**6), ValueError, ["history", "1000000"]),
    (lambda: pdgpu.QuasiNewton(history=2.0), TypeError, ["history", "2.0"]),
    (lambda: pdgpu.QuasiNewton(line_search=1), TypeError, ["line_search", "1"]),
    (lambda: pdgpu.Newton(line_search="yes"), TypeError, ["line_search", "yes"]),
    (lambda: pdgpu.NonlinearCG(preconditioner="ilu"), ValueError, ["preconditioner", "ilu"]),
    (lambda: pdgpu.PBD(relaxation=0.0), ValueError, ["relaxation", "0"]),
    (lambda: pdgpu.Chebyshev(rho=1.0), ValueError, ["rho", "1.0"]),
    (lambda: pdgpu.Chebyshev(rho="best"), ValueError, ["rho", "best"]),
    (lambda: pdgpu.Chebyshev(rho=0.9, start=0), ValueError, ["start", "0"]),
    (lambda: pdgpu.Jacobi(weight=0.0), ValueError, ["weight", "0"]),
    (lambda: pdgpu.Jacobi(weight="best"), ValueError, ["weight", "best"]),
    (lambda: pdgpu.Jacobi(weight=np.complex64(1)), TypeError, ["weight"]),
    (lambda: pdgpu.Jacobi(iterations=10**7), ValueError, ["iterations", "10000000"]),
    (lambda: pdgpu.Jacobi(chebyshev="fast"), TypeError, ["chebyshev", "fast"]),
    (lambda: pdgpu.Chebyshev(rho=HUGE), ValueError, ["rho"]),
    (lambda: pdgpu.Chebyshev(rho=0.9, under_relaxation=0.0), ValueError, ["under_relaxation", "0"]),
    (lambda: pdgpu.Newton(iterations=10**5000), ValueError, ["iterations", "bits"]),
    (lambda: pdgpu.Newton(iterations=True), TypeError, ["iterations", "True"]),
    (lambda: pdgpu.Newton(check_every=0), ValueError, ["check_every", "0"]),
    (lambda: pdgpu.Newton(tolerance=np.nan), ValueError, ["tolerance", "nan"]),
    (lambda: pdgpu.Direct(iterations=1), TypeError, ["iterations"]),
    # simulations
    (lambda: pdgpu.Simulation(pdgpu.Scene()), ValueError, ["scene"]),
    (lambda: pdgpu.Simulation(BEAM), TypeError, ["scene"]),
    (lambda: sim(solver="PD"), TypeError, ["solver", "PD"]),
    (lambda: sim(dt=0.0), ValueError, ["dt", "0"]),
    (lambda: sim(dt=-0.1), ValueError, ["dt", "-0.1"]),
    (lambda: sim(dt=np.nan), ValueError, ["dt", "nan"]),
    (lambda: pdgpu.Simulation(held(), pdgpu.PBD(), dt=None), ValueError, ["dt", "None", "PBD"]),
    (lambda: pdgpu.Simulation(held(), pdgpu.XPBD(), dt=None), ValueError, ["dt", "None", "XPBD"]),
    (lambda: pdgpu.ADMM(iterations=0), ValueError, ["iterations", "0"]),
    (lambda: pdgpu.ADMM(weight=0.0), ValueError, ["weight", "0"]),
    (lambda: pdgpu.ADMM(linear=pdgpu.PCG()), TypeError, ["linear", "Direct"]),
    (lambda: pdgpu.XPBD(iterations=0), ValueError, ["iterations", "0"]),
    (lambda: pdgpu.XPBD(linear=pdgpu.Direct()), TypeError, ["linear"]),
    (lambda: sim(device="tpu"), ValueError, ["device", "tpu"]),
    (lambda: sim(dtype="float16"), ValueError, ["dtype", "float16"]),
    (lambda: sim(dtype="nonsense"), ValueError, ["dtype", "nonsense"]),
    (lambda: sim(dt=HUGE), ValueError, ["dt"]),
    (lambda: sim(dt=np.array([0.1])), TypeError, ["dt", "array([0.1])"]),
    (lambda: sim(device=0), TypeError, ["device", "0"]),
    (lambda: sim(dtype=0), ValueError, ["dtype", "0"]),
    (lambda: sim(dtype=">f8"), ValueError, ["dtype", ">f8"]),
    (lambda: sim(dtype=(int, -1)), ValueError, ["dtype", "-1"]),
    (lambda: sim(threads=2**31 - 1), ValueError, ["threads", "2147483647"]),
    (lambda: sim(threads=1.0), TypeError, ["threads", "1.0"]),
    (lambda: sim(solver=pdgpu.Newton), TypeError, ["solver", "Newton"]),
    (lambda: pdgpu.Simulation(held(), dt=None).set_state(velocities=[1]), ValueError, ["velocities", "(1,)"]),
    (lambda: pdgpu.Simulation(unheld(), dt=None), ValueError, ["dt", "'loose'", "held"]),
    (lambda: pdgpu.Simulation(far(), dtype="float32"), ValueError, ["points", "1e+39", "float32"]),
    (lambda: sim(threads=-1), ValueError, ["threads", "-1"]),
    (lambda: sim(contact="barrier"), TypeError, ["contact", "barrier"]),
    (lambda: sim().set_state(positions=NAN), ValueError, ["positions", "nan", "(0, 0)"]),
    (lambda: sim().set_state(positions=np.zeros((2, 3))), ValueError, ["positions", "(2, 3)"]),
    (lambda: sim().set_state(velocities=np.zeros((N, 3), complex)), TypeError, ["velocities", "complex"]),
    (lambda: sim(dtype="float32").set_state(positions=np.full((N, 3), 1e300)), ValueError, ["positions", "float32"]),
    (lambda: setattr(sim(), "external_forces", np.zeros(3)), ValueError, ["external_forces", "(3,)"]),
    (lambda: sim().step(0), ValueError, ["n", "0"]),
    (lambda: sim().step(1.5), TypeError, ["n", "1.5"]),
    (lambda: setattr(sim(dtype="float32"), "external_forces", np.full((N, 3), 1e300)), ValueError, ["external_forces", "float32"]),
    (lambda: sim().step(2**31), ValueError, ["n", "2147483648"]),
    (lambda: sim().step(record=np.zeros(3)), TypeError, ["record", "array"]),
    (lambda: sim().system_matrix(True), TypeError, ["positional"]),
    (lambda: sim().save(None), TypeError, ["path", "None"]),
    (lambda: sim().save("no such folder/saved"), FileNotFoundError, ["path", "no such folder"]),
    (lambda: pdgpu.Simulation.load(None), TypeError, ["path", "None"]),
    (lambda: load(["motion"]), TypeError, ["motions", "['motion']"]),
    (lambda: load({"baar": []}), ValueError, ["motions", "'baar'", "'bar'"]),
    (lambda: load({"bar": abs}), TypeError, ["motions", "'bar'", "abs"]),
    (lambda: load({"bar": [3]}), TypeError, ["motions", "'bar'", "3"]),
    (lambda: load({"bar": [abs, abs]}), ValueError, ["motions", "'bar'", "2 motions"]),
    (lambda: load({"bar": [abs]}, device="tpu"), ValueError, ["device", "tpu"]),
    (lambda: load({"bar": [abs]}, threads=-1), ValueError, ["threads", "-1"]),
    (lambda: sim().step(record="all"), ValueError, ["record", "all"]),
    (lambda: sim().gradient(NAN), ValueError, ["x", "nan"]),
    (lambda: sim().hessian(np.zeros(4)), ValueError, ["x", "(4,)"]),
    (lambda: sim().incremental_potential("here"), TypeError, ["x"]),
    # comparisons
    (lambda: pdgpu.compare(pdgpu.Scene(), [pdgpu.Newton()]), TypeError, ["solvers"]),
    (lambda: pdgpu.compare(held(), {}), TypeError, ["solvers", "{}"]),
    (lambda: pdgpu.compare(held(), {"a": 3}), TypeError, ["solvers", "'a'", "3"]),
    (lambda: pdgpu.compare(held(), {"a": pdgpu.Direct()}), TypeError, ["solvers", "'a'", "Direct"]),
    (lambda: pdgpu.compare(held(), {7: pdgpu.Newton()}), TypeError, ["solvers", "7"]),
    (lambda: pdgpu.compare(held(), {"a": pdgpu.Newton()}, initialization="zero"), ValueError, ["initialization", "zero"]),
    (lambda: pdgpu.compare(held(), {"a": pdgpu.Newton()}, dt=-1.0), ValueError, ["dt", "-1"]),
    (lambda: pdgpu.compare(held(), {"a": pdgpu.Newton()}, rows_per_decade=0), ValueError, ["rows_per_decade", "0"]),
    (lambda: pdgpu.compare(held(), {"a": pdgpu.Newton()}, rows_per_decade=2.5), TypeError, ["rows_per_decade", "2.5"]),
    (lambda: pdgpu.compare(held(), {"a": pdgpu.Newton()}, start=(NAN, None)), ValueError, ["positions", "nan"]),
    (lambda: pdgpu.compare(sim, {"a": pdgpu.Newton()}), TypeError, ["scene"]),
    (lambda: pdgpu.compare(scenes.mixed()[0], {"a": pdgpu.Newton()}, reference="exact"), ValueError, ["reference", "exact"]),
    (lambda: pdgpu.compare(scenes.mixed()[0], {"a": pdgpu.Newton()}, start=np.zeros((3, 3))), ValueError, ["start"]),
    (lambda: pdgpu.compare(scenes.mixed()[0], {"a": pdgpu.Newton()}, reference=np.zeros((1, 3))), ValueError, ["reference", "(1, 3)"]),
]


@pytest.mark.parametrize(("call", "error", "words"), CASES, ids=[str(k) for k in range(len(CASES))])
def test_is_refused_with_argument_and_value(call, error, words):
    """If not, a slip in a script becomes a crash, a NaN or a wrong number."""
    with pytest.raises(error) as caught:
        call()
    for word in words:
        assert word in str(caught.value), str(caught.value)


def test_a_refused_body_leaves_the_scene_as_it_was():
    """If not, a caught mistake stays in the scene."""
    scene = pdgpu.Scene()
    with pytest.raises(ValueError, match=r"ARAP\.mu"):
        scene.add_solid(BEAM, pdgpu.ARAP([1.0, 2.0]), density=1.0)
    assert scene.n_vertices == 0
    scene.add_solid(BEAM, SOFT, density=1.0, name="beam")
    with pytest.raises(ValueError, match="'beam' already"):
        scene.add_solid(BEAM, SOFT, density=1.0, name="beam")
    assert scene.n_vertices == N


REFUSED_BY_A_SCENE = [
    lambda scene: scene.add_solid(LOOSE, SOFT, density=1.0),
    lambda scene: scene.add_solid(BEAM, SOFT, density=-1.0),
    lambda scene: scene.add_solid(BEAM, [SOFT, pdgpu.Volume([1.0])], density=1.0),
    lambda scene: scene.add_solid(BEAM, SOFT, density=1.0, velocity=NAN),
    lambda scene: scene.add_solid(BEAM, SOFT, density=1.0, damping="much"),
    lambda scene: scene.add_shell(CLOTH, pdgpu.Spring(1.0), density=1.0, bending=[1.0]),
    lambda scene: scene.add_shell(CLOTH, pdgpu.Volume(1.0), density=1.0),
    lambda scene: scene.add_rod(CHAIN, pdgpu.Spring([1.0]), density=1.0),
    lambda scene: scene.add_particles([[0, 0, np.inf]], mass=1.0),
    lambda scene: scene.add_particles([[0, 0, 0]], mass=[1.0, 2.0]),
    lambda scene: scene["bar"].pin([0, N]),
    lambda scene: scene["bar"].pin([0], motion="up"),
    lambda scene: scene["bar"].attach([0], NAN),
    lambda scene: scene["bar"].attach([0], (0, 0, 0), stiffness=-1.0),
]


@pytest.mark.parametrize("mistake", REFUSED_BY_A_SCENE, ids=[str(k) for k in range(len(REFUSED_BY_A_SCENE))])
def test_a_mistake_leaves_nothing_in_the_scene(mistake):
    """If not, the corrected second try builds another scene than the one that was meant."""
    scene = pdgpu.Scene()
    bar = scene.add_solid(BEAM, SOFT, density=1.0, name="bar")
    bar.pin([0])
    bar.attach([1], (0.0, 0.0, 0.0))
    with pytest.raises((TypeError, ValueError)):
        mistake(scene)
    assert len(scene.bodies) == 1 and scene.n_vertices == N
    assert [list(indices) for indices, _ in bar.pins] == [[0]]
    assert [list(indices) for indices, _, _ in bar.attachments] == [[1]]
    pdgpu.Simulation(scene, threads=1).step()


REFUSED_BY_A_SIMULATION = [
    lambda s: s.set_state(positions=s.positions + 1.0, velocities=NAN),
    lambda s: s.set_state(positions=np.full((N, 3), 1e39), velocities=s.velocities + 1.0),
    lambda s: setattr(s, "external_forces", np.full((N, 3), 1e39)),
    lambda s: setattr(s, "external_forces", "none"),
    lambda s: s.step(record="everything"),
    lambda s: s.step(-1),
    lambda s: s.gradient(NAN),
    lambda s: s.hessian(NAN),
    lambda s: s.incremental_potential(NAN),
    lambda s: s.save("no such folder/saved"),
]


@pytest.mark.parametrize("mistake", REFUSED_BY_A_SIMULATION, ids=[str(k) for k in range(len(REFUSED_BY_A_SIMULATION))])
def test_a_mistake_leaves_the_simulation_as_it_was(mistake):
    """If not, half of a bad update is in the state, and every later step is another one."""
    forces = np.random.default_rng(0).normal(size=(N, 3))
    simulation, untouched = sim(dtype="float32", threads=1), sim(dtype="float32", threads=1)
    for s in (simulation, untouched):
        s.external_forces = forces
        s.step(2)
    with pytest.raises((TypeError, ValueError, FileNotFoundError)):
        mistake(simulation)
    np.testing.assert_array_equal(simulation.external_forces, forces)
    for s in (simulation, untouched):
        s.step()
    assert simulation.positions.tobytes() == untouched.positions.tobytes()
    assert simulation.velocities.tobytes() == untouched.velocities.tobytes()
    assert simulation.time == untouched.time


def test_what_overflows_is_a_divergence():
    """If not, a step from an absurd state returns as if it had solved something, or ends in an IndexError."""
    for solver in (pdgpu.ProjectiveDynamics(), pdgpu.Newton()):
        for record in (False, True):
            simulation = sim(solver, threads=1)
            absurd = 1e200 * simulation.positions
            simulation.set_state(positions=absurd)
            with pytest.raises(pdgpu.DivergenceError, match="finite") as caught:
                simulation.step(record=record)
            assert caught.value.solver == solver and 0 <= caught.value.vertex < N
            assert len(caught.value.records["iteration"] if record else [0]) >= 1
            np.testing.assert_array_equal(simulation.positions, absurd)
            assert simulation.time == 0.0
    scene = held()
    comparison = pdgpu.compare(scene, {"a": pdgpu.ProjectiveDynamics()}, start=(1e200 * scene.rest_positions(), None), reference=None)
    assert comparison["a"].status == "diverged" and len(comparison["a"]["iteration"]) == 1
    assert "diverged" in comparison.table()
    with pytest.warns(RuntimeWarning, match="reference: Newton ended diverged.*reference="):
        comparison = pdgpu.compare(scene, {"a": pdgpu.Newton()}, start=(1e200 * scene.rest_positions(), None))
    assert comparison.reference is None and "relative_loss" not in comparison["a"]


def test_inverted_tets_are_counted_in_one_warning():
    """If not, a mesh with the other orientation passes unnoticed, or floods the screen."""
    with pytest.warns(UserWarning, match="tets: 2 of 3 are inverted, the first at row 1") as caught:
        pdgpu.Mesh(TET, tets=[[0, 1, 2, 3], [0, 1, 3, 2], [0, 2, 1, 3]])
    assert len(caught) == 1 and caught[0].filename == __file__


def test_a_bad_motion_is_named_and_the_step_is_not_taken():
    """If not, a broken handle script moves the body to nowhere."""
    scene = pdgpu.Scene()
    scene.add_solid(BEAM, SOFT, density=1.0, name="bar").pin([0, 1], lambda time, rest: rest * np.nan)
    simulation = pdgpu.Simulation(scene)
    before = simulation.positions
    with pytest.raises(ValueError, match="motion of 'bar': value nan at"):
        simulation.step()
    np.testing.assert_array_equal(simulation.positions, before)
    assert simulation.time == 0.0


def test_returned_arrays_are_copies():
    """If not, writing into a result changes the simulation."""
    simulation = sim()
    simulation.positions[:] = 7.0
    assert not (simulation.positions == 7.0).all()
    with pytest.raises(ValueError, match="read-only"):
        simulation.masses[:] = 7.0
