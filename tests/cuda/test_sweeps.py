"""Sweeps over vertices and constraints on CUDA: every iterate against the CPU in float64, and against itself.

The error of an iterate is its distance from the CPU's over the distance the body has moved since the start, |x - x_cpu| / |x_cpu - x_t|.
It may grow by 1e-10 per iteration in float64. In float32 it may reach the floor of correction-form solves in ill-conditioned scenes,
8e-5, and what the size of the coordinates costs when they are stored: 6e-8 |x| / |x_cpu - x_t|. Where a vertex halves its step, rounding
may decide how often: 1e-3 then (on the CPU float32 was seen to be 2.3e-4 from float64).
"""

import dataclasses

import inputs
import numpy as np
import pytest
import scenes
from touching_rods import CONTACT, touching_rods

import pdgpu

pytestmark = pytest.mark.gpu

STEP = 1 / 100
THREADS = ("1", "4", "8", "16", "32")
VBD = pdgpu.VertexBlockDescent(iterations=6)
SEARCH = pdgpu.VertexBlockDescent(iterations=6, line_search=True)
SOLVERS = {
    "vbd": VBD,
    "vbd-chebyshev": pdgpu.VertexBlockDescent(iterations=6, chebyshev=pdgpu.Chebyshev(rho=0.8, start=2)),
    "vbd-search": SEARCH,
    "block-jacobi": pdgpu.BlockJacobi(iterations=10),
    "gradient-descent": pdgpu.GradientDescent(iterations=8, chebyshev=pdgpu.Chebyshev(rho=0.8, start=2)),
    "xpbd": pdgpu.XPBD(iterations=6),
}


# ---- scenes: each returns a scene and a start --------------------------------------------------------------------------------------


def solid(material, damping=0.0, disturbance=0.01, cells=(3, 2, 2), hold=None):
    points, tets = inputs.kuhn_grid(*cells, 0.1)
    scene = pdgpu.Scene(gravity=(0.0, -9.81, 0.0))
    body = scene.add_solid(pdgpu.Mesh(points, tets=tets), material, density=1000.0, damping=damping)
    body.pin([0, 1])
    if hold:
        body.slide(points[:, 0] > 0.25, **{hold: (1.0, 2.0, -0.5)})
    return scene, points * (1.1, 1.0, 0.9) + disturbance * np.random.default_rng(0).normal(size=points.shape)


def cloth(material, bending=1e-3, damping=0.0):
    points, triangles = inputs.cloth(5)
    scene = pdgpu.Scene(gravity=(0.0, 0.0, -9.81))
    shell = scene.add_shell(pdgpu.Mesh(points, triangles=triangles), material, density=0.2, bending=bending, damping=damping)
    shell.pin([0, 5])
    return scene, 1.05 * points + 0.02 * np.random.default_rng(1).normal(size=points.shape)


def held():
    """A rod on attachments, and particles, in a box that they start outside of."""
    scene = pdgpu.Scene(gravity=(0.0, 0.0, -9.81))
    chain = pdgpu.shapes.chain(9)
    rod = scene.add_rod(chain, pdgpu.Spring(200.0), density=0.05, damping=0.002)
    rod.attach([0, 4], (0.0, 0.1, 0.0), stiffness=50.0)
    rng = np.random.default_rng(2)
    scene.add_particles(0.1 * rng.normal(size=(20, 3)), mass=0.01)
    scene.set_world_box((-0.05, -0.02, -np.inf), (0.5, 0.02, 0.01), 500.0)
    rest = scene.rest_positions()
    return scene, rest + 0.03 * rng.normal(size=rest.shape)


def everything():
    """All kinds of elements at once, neo-Hookean tets with and without damping among them."""
    scene, start = scenes.mixed(damping=0.01)
    points, tets = inputs.kuhn_grid(2, 2, 2, 0.1)
    for damping in (0.0, 0.02):
        scene.add_solid(pdgpu.Mesh(points, tets=tets), pdgpu.NeoHookean(2e4, 8e4), density=1000.0, damping=damping).attach(
            [0], (0.0, 0.0, 0.05), stiffness=100.0
        )
        start = np.concatenate([start, points * 1.1])
    return scene, start


def rods():
    """Straight and curled rods that bend."""
    scene, starts = pdgpu.Scene(gravity=(0.0, 0.0, -9.81)), []
    turns = np.linspace(0.0, 2.0, 9)
    for points in (pdgpu.shapes.chain(8).points, 0.1 * np.stack([np.cos(3 * turns), np.sin(3 * turns), 2 + turns], axis=1)):
        mesh = pdgpu.Mesh(points, edges=pdgpu.shapes.chain(8).edges)
        scene.add_rod(mesh, pdgpu.Spring(200.0), density=0.05, bending=1e-2, damping=0.002).pin([0])
        starts.append(points)
    return scene, np.concatenate(starts) + 0.01 * np.random.default_rng(3).normal(size=(18, 3))


MATERIALS = {
    "neo-hookean": lambda: solid(pdgpu.NeoHookean(2e4, 1e5)),
    "neo-hookean damped": lambda: solid(pdgpu.NeoHookean(2e4, 1e5), damping=0.02),
    "stvk": lambda: solid(pdgpu.StVK(2e4, 3e4)),
    "orthotropic": lambda: solid(pdgpu.OrthotropicSolid((9e4, 5e4, 2e4), (0.3, 0.5, 0.4), (2e4, 3e4, 8e3)), damping=0.01),
    "corotated": lambda: solid(pdgpu.Corotated(2e4, 3e4), damping=0.01),
    "arap": lambda: solid(pdgpu.ARAP(2e4)),
    "targets": lambda: solid(pdgpu.ShapeTarget(2e4, np.eye(3) + 0.2 * np.random.default_rng(4).normal(size=(72, 3, 3)))),
    "springs": lambda: solid(pdgpu.Spring(300.0)),
    "bending": lambda: cloth(pdgpu.Spring(100.0), bending=1e-2),
    "rods": rods,
    "stvk shell": lambda: cloth(pdgpu.StVK(100.0, 50.0)),
    "orthotropic shell": lambda: cloth(pdgpu.OrthotropicShell(300.0, 100.0, 30.0, 0.4, direction=(1.0, 1.0, 0.2))),
    "corotated shell": lambda: cloth(pdgpu.Corotated(100.0, 50.0), damping=0.01),
    "attachments and box": held,
    "everything": everything,
}


# ---- comparing ---------------------------------------------------------------------------------------------------------------------


def run(device, dtype, solver, scene, start, steps=1, dt=STEP):
    sim = pdgpu.Simulation(scene, solver, dt=dt, device=device, dtype=dtype)
    sim.set_state(positions=start)
    sim.step(steps, record="positions")
    return sim


def assert_same_iterates(dtype, solver, scene, start, dt=STEP):
    gpu, cpu = (run(*where, solver, scene, start, dt=dt).last_step.positions for where in (("cuda", dtype), ("cpu", "float64")))
    assert np.isfinite(cpu).all()
    floor = 1e-3 if solver is SEARCH else 8e-5
    for k, (a, b) in enumerate(zip(gpu, cpu, strict=False)):  # the CPU looks more often whether anything still moves
        moved = max(np.linalg.norm(b - start), np.linalg.norm(cpu[-1] - start))
        allowed = 1e-10 * (k + 1) * moved + 1e-15 if dtype == "float64" else floor * moved + 6e-8 * np.linalg.norm(b) + 1e-9
        assert np.linalg.norm(a - b) <= allowed, f"iteration {k}"


@pytest.mark.parametrize("material", [pdgpu.NeoHookean(2e4, 1e5), pdgpu.ARAP(2e4), pdgpu.Corotated(2e4, 3e4)], ids=repr)
def test_an_attachment_changes_no_other_vertex(material, dtype):
    """If not, one attachment sends all vertices to another kernel, or an update reads what belongs to another one."""
    points, tets = inputs.kuhn_grid(3, 2, 2, 0.1)
    start, attached, found = points * (1.1, 1.0, 0.9), 17, []
    for stiffness in (None, 300.0):
        scene = pdgpu.Scene(gravity=(0.0, -9.81, 0.0))
        body = scene.add_solid(pdgpu.Mesh(points, tets=tets), material, density=1000.0)
        body.pin([0, 1])
        if stiffness:
            body.attach([attached], (0.0, 0.1, 0.0), stiffness=stiffness)
        found.append([run(device, dtype, pdgpu.BlockJacobi(iterations=1), scene, start).positions for device in ("cuda", "cpu")])
    for free, held in zip(*found, strict=True):
        np.testing.assert_array_equal(np.flatnonzero((free != held).any(axis=1)), [attached])


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("material", MATERIALS)
def test_iterates(material, solver, dtype):
    """If not, a solver on the GPU is another method than on the CPU."""
    assert_same_iterates(dtype, SOLVERS[solver], *MATERIALS[material]())


@pytest.mark.parametrize("solver", [name for name in SOLVERS if name != "xpbd"])
@pytest.mark.parametrize("hold", ["line", "plane"])
def test_vertices_on_lines_and_in_planes(hold, solver, dtype):
    """If not, a held vertex leaves its line or plane on the GPU."""
    scene, start = solid(pdgpu.NeoHookean(2e4, 1e5), hold=hold)
    assert_same_iterates(dtype, SOLVERS[solver], scene, start)


def test_quasistatic(dtype):
    """If not, the load plays another part on the GPU."""
    assert_same_iterates(dtype, VBD, *solid(pdgpu.NeoHookean(2e4, 1e5)), dt=None)


@pytest.mark.parametrize("name", ["clamp", "absolute", "exact"])
@pytest.mark.parametrize("material", ["neo-hookean damped", "stvk", "corotated shell", "attachments and box", "everything"])
@pytest.mark.parametrize("solver", ["vbd", "block-jacobi"])
def test_filtered_blocks(solver, material, name, dtype):
    """If not, the blocks of another filter, or of none, move the vertices on the GPU."""
    scene, start = MATERIALS[material]()
    filtered = dataclasses.replace(SOLVERS[solver], hessian=name, initialization="previous")
    if (material, name, dtype) == ("everything", "exact", "float32"):  # whether a block is definite is up to rounding
        assert np.isfinite(run("cuda", dtype, filtered, scene, start).positions).all()
    else:
        assert_same_iterates(dtype, filtered, scene, start)


@pytest.mark.parametrize("name", ["clamp", "absolute", "exact"])
@pytest.mark.parametrize("kind", [pdgpu.VertexBlockDescent, pdgpu.BlockJacobi])
def test_filtered_blocks_in_contact(kind, name, dtype):
    """If not, the curvature of a pair across its normal is another one on the GPU."""
    scene, _, _, start = touching_rods()
    solver = kind(iterations=4, hessian=name, initialization="previous")
    found = []
    for device, precision in (("cuda", dtype), ("cpu", "float64")):
        sim = pdgpu.Simulation(scene, solver, dt=1 / 500, device=device, dtype=precision, contact=CONTACT)
        sim.set_state(positions=start)
        sim.step()
        found.append(sim.positions - start)
    moved = np.abs(found[1]).max()
    assert moved > 1e-5
    np.testing.assert_allclose(*found, rtol=0, atol=(1e-9 if dtype == "float64" else 2e-3) * moved)


STARTS = {
    "flat": lambda points: points * (1.0, 0.0, 1.0),
    "inverted": lambda points: points * (-1.0, 1.0, 1.0),
    "one point": lambda points: np.zeros_like(points) + 0.25,
    "scrambled": lambda points: points + 0.2 * np.random.default_rng(5).normal(size=points.shape),
}


@pytest.mark.parametrize("solver", ["vbd", "vbd-search", "block-jacobi", "xpbd"])
@pytest.mark.parametrize("start", STARTS)
def test_degenerate_starts(start, solver, dtype):
    """If not, a body that collapsed or turned inside out moves differently on the GPU, or to NaN."""
    scene, points = solid(pdgpu.NeoHookean(2e4, 1e5), disturbance=0.0)
    if (solver, start, dtype) == ("xpbd", "one point", "float32"):  # which way a point unfolds is up to rounding
        assert np.isfinite(run("cuda", dtype, SOLVERS[solver], scene, STARTS[start](points)).positions).all()
    else:
        assert_same_iterates(dtype, SOLVERS[solver], scene, STARTS[start](points))


# ---- shapes of a sweep -------------------------------------------------------------------------------------------------------------


def fan():
    """Tets that all meet in one vertex: 120 corners there."""
    angles, heights = np.arange(12) * np.pi / 6, (-0.8, -0.4, 0.0, 0.3, 0.6, 0.9)
    shell = [(np.cos(a) * np.sqrt(1 - z * z), np.sin(a) * np.sqrt(1 - z * z), z) for z in heights for a in angles]
    tets = []
    for ring in range(5):
        for i in range(12):
            a, b, c, d = 1 + 12 * ring + i, 1 + 12 * ring + (i + 1) % 12, 13 + 12 * ring + i, 13 + 12 * ring + (i + 1) % 12
            tets += [(0, a, b, c), (0, b, d, c)]
    points, tets = 0.1 * np.array([(0.0, 0.0, 0.0), *shell]), np.array(tets)
    assert np.bincount(tets.ravel())[0] == 120
    flat = np.linalg.det(points[tets[:, 1:]] - points[tets[:, :1]]) < 0
    tets[flat] = tets[flat][:, (0, 2, 1, 3)]
    return points, tets


@pytest.mark.parametrize("material", [pdgpu.NeoHookean(2e4, 1e5), pdgpu.StVK(2e4, 3e4)], ids=["groups", "corners"])
@pytest.mark.parametrize("solver", ["vbd", "block-jacobi", "xpbd"])
def test_a_vertex_of_many_elements(solver, material, dtype):
    """If not, what lies beyond a warp's width of a vertex's elements is lost."""
    points, tets = fan()
    scene = pdgpu.Scene()
    scene.add_solid(pdgpu.Mesh(points, tets=tets), material, density=1000.0).pin([5])
    assert_same_iterates(dtype, SOLVERS[solver], scene, points * 1.05)


@pytest.mark.parametrize("solver", SOLVERS)
def test_particles_without_elements(solver, dtype):
    """If not, a vertex that no element holds does not fall, or a sweep without elements reads what is not there."""
    for n in (1, 70):
        scene = pdgpu.Scene(gravity=(0.0, 0.0, -9.81))
        scene.add_particles(np.arange(3.0 * n).reshape(n, 3) / 100, mass=0.1, velocity=(0.5, 0.0, 0.0))
        start = scene.rest_positions()
        assert_same_iterates(dtype, SOLVERS[solver], scene, start)
        free = pdgpu.Simulation(scene, SOLVERS[solver], dt=STEP, device="cuda", dtype=dtype)
        free.step()
        expected = start + STEP * np.array([0.5, 0.0, -9.81 * STEP])
        np.testing.assert_allclose(free.positions, expected, atol=1e-14 if dtype == "float64" else 2e-7)


@pytest.mark.parametrize("solver", SOLVERS)
def test_everything_is_pinned(solver, dtype):
    """If not, a sweep without turns ends in an error of the launch."""
    points, tets = inputs.kuhn_grid(1, 1, 1, 0.1)
    scene = pdgpu.Scene()
    scene.add_solid(pdgpu.Mesh(points, tets=tets), pdgpu.NeoHookean(2e4, 1e5), density=1000.0).pin(np.arange(len(points)))
    sim = pdgpu.Simulation(scene, SOLVERS[solver], dt=STEP, device="cuda", dtype=dtype)
    sim.step()
    np.testing.assert_array_equal(sim.positions, points.astype(dtype))


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("case", ["neo-hookean", "everything", "search"])
def test_threads_of_an_update(threads, case, dtype, monkeypatch):
    """If not, the number of threads that share a vertex, a matter of speed, decides the result."""
    monkeypatch.setenv("PDGPU_UPDATE_THREADS", threads)
    solver, material = (SEARCH, "everything") if case == "search" else (VBD, case)
    assert_same_iterates(dtype, solver, *MATERIALS[material]())


@pytest.mark.parametrize("threads", ["2", "0", "-8", "64", "many", "8 "])
def test_threads_of_an_update_that_are_none(threads, dtype, monkeypatch):
    """If not, a measurement runs with another number of threads than its table says."""
    monkeypatch.setenv("PDGPU_UPDATE_THREADS", threads)
    with pytest.raises(ValueError, match=rf"PDGPU_UPDATE_THREADS: expected 1, 4, 8, 16 or 32, got '{threads}'"):
        pdgpu.Simulation(solid(pdgpu.NeoHookean(2e4, 1e5))[0], VBD, dt=STEP, device="cuda", dtype=dtype).step()


@pytest.mark.parametrize("solver", SOLVERS)
def test_same_bits_from_run_to_run(solver, dtype):
    """If not, a result on the GPU cannot be reproduced."""
    runs = [run("cuda", dtype, SOLVERS[solver], *everything(), steps=2) for _ in range(3)]
    assert len({sim.positions.tobytes() for sim in runs}) == 1


@pytest.mark.parametrize("threads", THREADS)
def test_same_bits_for_every_number_of_threads(threads, dtype, monkeypatch):
    """If not, a turn of few threads is another one in every run."""
    monkeypatch.setenv("PDGPU_UPDATE_THREADS", threads)
    scene, start = solid(pdgpu.NeoHookean(2e4, 1e5))
    assert len({run("cuda", dtype, VBD, scene, start).positions.tobytes() for _ in range(2)}) == 1


@pytest.mark.large
@pytest.mark.parametrize("solver", ["vbd", "xpbd"])
def test_a_large_beam(solver, dtype):
    """If not, a mesh of many blocks and colours gives another result than a small one."""
    scene, start = solid(pdgpu.NeoHookean(2e4, 1e5), cells=(120, 30, 30), disturbance=0.005)
    assert_same_iterates(dtype, SOLVERS[solver], scene, start)
