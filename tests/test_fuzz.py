"""Random garbage at every public entry: an exception that says which argument was wrong, never a crash or a hang.

Two kinds of attack: calls that are right but for one argument, since a call that is wrong everywhere is refused at the first
check and goes no deeper; and files and calls of the compiled modules where everything may be wrong at once. Sizes are either
small or absurd: what lies between is a lawful request for more memory than a test may take. PDGPU_FUZZ=1000, as in
.ci/scheduled, makes more examples.
"""

import os
import warnings
from pathlib import Path

import module_calls as right
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import pdgpu
from pdgpu import _cpu_f32, _cpu_f64, _host, ccd, elements, geometry, shapes
from pdgpu.results.records import COLUMNS

# DivergenceError is a RuntimeError; AttributeError, SystemError and IndexError would be our own mistakes
ALLOWED = (TypeError, ValueError, RuntimeError, MemoryError, OverflowError, OSError)


def profile(examples):
    return settings(
        max_examples=int(os.environ.get("PDGPU_FUZZ", examples)),
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )


# ---- garbage ---------------------------------------------------------------------------------------------------------------

integers = st.one_of(st.integers(-3, 7), st.integers(2**31, 2**70), st.integers(-(2**70), -(2**31)), st.just(10**400), st.just(2**31 - 1))
texts = st.text(st.characters(blacklist_characters="/\0", blacklist_categories=("Cs",)), max_size=4)
scalars = st.one_of(
    st.none(),
    st.booleans(),
    integers,
    st.floats(),
    texts,
    st.binary(max_size=4),
    st.complex_numbers(),
    st.sampled_from(
        [np.float32(1.5), np.int64(3), np.bool_(True), np.complex64(1j), np.datetime64(3, "s"), np.array(2.0), np.array("2.0")]
    ),
    st.sampled_from([object(), len, {}, {1: 2}, {3, 4}, range(3), slice(2), Ellipsis, NotImplemented, np.float64, memoryview(b"abc")]),
)
small = st.integers(0, 5)
shapes_of_arrays = st.one_of(
    st.just(()),
    st.tuples(small),
    st.tuples(small, small),
    st.tuples(small, st.sampled_from([2, 3, 4])),
    st.tuples(small, small, st.just(3)),
)
dtypes = st.sampled_from(["f8", "f4", "f2", "i4", "i8", "i1", "u1", "u8", "c16", "?", ">f8", ">i4", "g", "m8[s]", "S3", "U2"])
values = {"f": st.one_of(st.floats(-2, 2), st.floats(width=32)), "i": st.integers(-2, 6), "u": st.integers(0, 6)}


@st.composite
def any_array(draw):
    kind, shape = draw(dtypes), draw(shapes_of_arrays)
    dtype = np.dtype(kind)
    with np.errstate(all="ignore"):
        if dtype.kind in values:
            flat = draw(st.lists(values[dtype.kind], min_size=int(np.prod(shape)), max_size=int(np.prod(shape))))
            array = np.array(flat, dtype=object).reshape(shape).astype(dtype)
        else:
            array = np.full(shape, draw(st.integers(0, 3)), dtype=dtype)
    return draw(st.sampled_from(LAYOUTS))(array)


LAYOUTS = [
    lambda a: a,
    lambda a: a,
    lambda a: a[::-1] if a.ndim else a,
    lambda a: np.asfortranarray(a),
    lambda a: np.broadcast_to(a, (2, *a.shape)),
    lambda a: np.broadcast_to(a[:1], a.shape) if a.ndim and len(a) else a,
    lambda a: np.ma.array(a, mask=np.arange(a.size).reshape(a.shape) % 2 == 0),
    lambda a: a.astype(object),
    lambda a: a.view(type("Subclass", (np.ndarray,), {})),
    lambda a: a.tolist(),
    lambda a: np.frombuffer(b"\0" + a.tobytes(), np.uint8)[1:].view(a.dtype).reshape(a.shape) if a.size else a,  # misaligned
    lambda a: (a.setflags(write=False), a)[1],
]
# the right shapes with any values: what gets past the first checks
big = st.one_of(st.floats(-1e308, 1e308), st.floats(-10, 10))
well_formed = st.one_of(
    arrays.arrays("f8", (12, 3), elements=big),
    arrays.arrays("f4", (12, 3), elements=st.floats(width=32)),
    arrays.arrays("f8", st.tuples(st.integers(0, 3), st.integers(1, 4), st.just(3)), elements=big),
    arrays.arrays("f8", (3,), elements=big),
    arrays.arrays("f8", (12,), elements=st.floats(1e-300, 1e300)),
    arrays.arrays("i4", st.tuples(st.integers(0, 3), st.integers(2, 4)), elements=st.integers(-1, 12)),
    arrays.arrays("i8", st.integers(0, 5), elements=st.integers(-1, 12)),
    arrays.arrays("?", st.sampled_from([3, 12])),
)
nested = st.recursive(scalars, lambda inner: st.one_of(st.lists(inner, max_size=3), st.tuples(inner, inner)), max_leaves=5)
garbage = st.one_of(scalars, any_array(), nested, well_formed)


def survives(function, /, *arguments, **options):
    """The result, or the exception if it is one of those a caller may expect."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function(*arguments, **options)
        except ALLOWED as error:
            return error


# ---- one wrong argument -----------------------------------------------------------------------------------------------------

BEAM = shapes.beam((1, 1, 1), cells=(2, 1, 1))
CLOTH = shapes.grid((1, 1), cells=(3, 2))
BALL = shapes.sphere(1.0, 0)
CORNERS = BEAM.points[BEAM.tets[:2]]
N = len(BEAM.points)


def scene():
    result = pdgpu.Scene()
    result.add_obstacle(pdgpu.Box((1, 1, 1), rotation=np.eye(3)))
    result.add_obstacle(BALL, name="ball")
    body = result.add_solid(BEAM, pdgpu.ARAP(1e4), density=1.0, name="bar")
    body.pin([0])
    body.attach([5], (0.0, 0.0, 0.0), 10.0)
    return result


def rigid_pair():
    result = pdgpu.Scene()
    for name in ("a", "b"):
        result.add_rigid(BALL, density=1.0, name=name)
    return result


def field():
    return pdgpu.SignedDistanceField(np.linalg.norm(np.mgrid[-1:2, -1:2, -1:2], axis=0) - 0.5, (-1, -1, -1), 1.0)


def simulation():
    return pdgpu.Simulation(scene(), pdgpu.ProjectiveDynamics(iterations=2), threads=1)


def torn():
    """A cloth with everything that a file holds of one, cut from its side to its middle."""
    result = pdgpu.Scene()
    body = result.add_shell(CLOTH, [pdgpu.Spring(1e3), pdgpu.StVK(10.0, 10.0)], density=1.0, bending=0.1, name="cloth")
    body.pin([0])
    body.slide([2, 5], plane=(0.0, 0.0, 1.0))
    body.attach([6], (0.0, 0.0, 0.0), 10.0)
    sim = pdgpu.Simulation(result, pdgpu.VertexBlockDescent(iterations=2), threads=1)
    sim.cut("cloth", [[1, 5]])
    return sim


def set_forces(forces):
    simulation().external_forces = forces


def saved():
    simulation().save("saved")
    return "saved"


SOLVER = pdgpu.ProjectiveDynamics(iterations=2)
MOVES = dict(velocity=(0.0, 0.0, 0.0), damping=0.0, name="b", thickness=0.0)
INNER = dict(iterations=2, tolerance=0.1, chebyshev=None)
MATRIX = np.array([[2.0, -1.0, 0.0], [-1.0, 2.0, -1.0], [0.0, -1.0, 2.0]])
STEPS = dict(tolerance=0.0, initialization="previous", check_every=1)

# name -> (function, arguments that are right); a text in `why` is what a refusal may name instead of the argument
ENTRIES = {
    "Mesh": (pdgpu.Mesh, dict(points=BEAM.points, tets=BEAM.tets, triangles=None, edges=[[0, 1]])),
    "Mesh.write": (BEAM.write, dict(path="beam.vtu")),
    "Mesh.colouring": (BEAM.colouring, dict(method="greedy")),
    "Mesh.reordered": (BEAM.reordered, dict(order=np.arange(len(BEAM.points)))),
    "read_mesh": (pdgpu.read_mesh, dict(path="beam.vtu")),
    "beam": (shapes.beam, dict(size=(1, 1, 1), cells=(1, 2, 1), split=6)),
    "grid": (shapes.grid, dict(size=(1, 1), cells=(1, 2))),
    "sphere": (shapes.sphere, dict(radius=1.0, subdivisions=1)),
    "box": (shapes.box, dict(size=(1, 1, 1))),
    "chain": (shapes.chain, dict(n=3, length=1.0)),
    "ARAP": (pdgpu.ARAP, dict(mu=1.0)),
    "ARAP.from_young": (pdgpu.ARAP.from_young, dict(young=1.0, poisson=0.3)),
    "Spring": (pdgpu.Spring, dict(stiffness=1.0)),
    "Bending": (pdgpu.Bending, dict(stiffness=1.0)),
    "Bending.flexural_rigidity": (pdgpu.Bending, dict(flexural_rigidity=1.0)),
    "HingeBending": (pdgpu.HingeBending, dict(flexural_rigidity=1.0)),
    "RodBending": (pdgpu.RodBending, dict(stiffness=1.0)),
    "Volume": (pdgpu.Volume, dict(stiffness=1.0)),
    "Area": (pdgpu.Area, dict(stiffness=1.0)),
    "Attachment": (pdgpu.Attachment, dict(stiffness=1.0)),
    "StrainLimit": (pdgpu.StrainLimit, dict(minimum=0.9, maximum=1.1, stiffness=1.0)),
    "ShapeTarget": (pdgpu.ShapeTarget, dict(mu=1.0, targets=[np.diag([1.1, 0.9, 1.0])])),
    "biphasic": (pdgpu.biphasic, dict(mu=1.0, stiff=3.0, minimum=0.9, maximum=1.1)),
    "NeoHookean": (pdgpu.NeoHookean, dict(mu=1.0, lam=2.0)),
    "StVK.from_young": (pdgpu.StVK.from_young, dict(young=1.0, poisson=0.3)),
    "Corotated": (pdgpu.Corotated, dict(mu=1.0, lam=2.0)),
    "LogNeoHookean": (pdgpu.LogNeoHookean, dict(mu=1.0, lam=2.0)),
    "FixedCorotated": (pdgpu.FixedCorotated, dict(mu=1.0, lam=2.0)),
    "OrthotropicShell": (pdgpu.OrthotropicShell, dict(warp=3.0, weft=2.0, shear=0.5, poisson=0.2, direction=(1.0, 0.0, 0.0))),
    "OrthotropicSolid": (
        pdgpu.OrthotropicSolid,
        dict(young=(3.0, 2.0, 1.0), poisson=(0.2, 0.3, 0.1), shear=(1.0, 1.0, 0.5), axes=np.eye(3)),
    ),
    "warp_directions": (pdgpu.warp_directions, dict(mesh=CLOTH, uv=CLOTH.points[:, :2])),
    "WorldBox": (pdgpu.WorldBox, dict(lower=(0, 0, 0), upper=(1, 1, np.inf), stiffness=1.0)),
    "Chebyshev": (pdgpu.Chebyshev, dict(rho=0.5, start=2, under_relaxation=1.0)),
    "Anderson": (pdgpu.Anderson, dict(window=3, regularization=1e-8, safeguard="residual")),
    "Jacobi": (pdgpu.Jacobi, dict(weight="auto", **INNER)),
    "SchurDirect": (pdgpu.SchurDirect, dict(region=[[0.0, 1.0, 2.0]], inner=2, distance=0.5, active=1e3)),
    "SchurDirect.cost": (pdgpu.SchurDirect([5, 6]).cost, dict(scene=scene())),
    "linear.schur_complement": (pdgpu.linear.schur_complement, dict(A=MATRIX, region=[1])),
    "AJacobi": (pdgpu.AJacobi, dict(order=2, weight=0.5, variant="power", suppression=None, biased=False, **INNER)),
    "GaussSeidel": (pdgpu.GaussSeidel, dict(order="natural", **INNER)),
    "SOR": (pdgpu.SOR, dict(omega=1.5, order="colour", iterations=2, tolerance=0.1)),
    "PCG": (pdgpu.PCG, dict(preconditioner="jacobi", degree=2, iterations=2, tolerance=0.1)),
    "LinearFunction": (pdgpu.LinearFunction, dict(function=abs, iterations=2, tolerance=0.1)),
    "NonlinearCG": (pdgpu.NonlinearCG, dict(iterations=2, preconditioner="direct", **STEPS)),
    "PBD": (pdgpu.PBD, dict(iterations=2, relaxation=0.1, chebyshev=None, **STEPS)),
    "linear.solve": (
        lambda **a: pdgpu.linear.solve(**a),
        dict(A=MATRIX, b=np.ones(3), solver=pdgpu.PCG(iterations=2), x0=np.zeros(3), record=True, reference=np.ones(3), threads=1),
    ),
    "linear.extreme_eigenvalues": (pdgpu.linear.extreme_eigenvalues, dict(A=MATRIX)),
    "add_diagonal": (lambda **a: pdgpu.linear.System(MATRIX, pdgpu.AJacobi()).add_diagonal(**a), dict(delta=np.ones(3))),
    "ProjectiveDynamics": (pdgpu.ProjectiveDynamics, dict(iterations=2, linear=pdgpu.Direct(), chebyshev=None, **STEPS)),
    "Newton": (pdgpu.Newton, dict(iterations=2, linear=pdgpu.Direct(), hessian="clamp", line_search=True, **STEPS)),
    "QuasiNewton": (pdgpu.QuasiNewton, dict(iterations=2, history=2, linear=pdgpu.Direct(), line_search=True, **STEPS)),
    "ADMM": (pdgpu.ADMM, dict(iterations=2, weight=1.0, **STEPS)),
    "XPBD": (pdgpu.XPBD, dict(iterations=2, **STEPS)),
    "Scene": (pdgpu.Scene, dict(gravity=(0, 0, 0))),
    "add_solid": (lambda **a: scene().add_solid(**a), dict(mesh=BEAM, material=pdgpu.ARAP(1.0), density=1.0, **MOVES)),
    "add_shell": (lambda **a: scene().add_shell(**a), dict(mesh=CLOTH, material=pdgpu.Spring(1.0), density=1.0, bending=1.0, **MOVES)),
    "add_shell with a flexural rigidity": (
        lambda **a: scene().add_shell(**a),
        dict(mesh=CLOTH, material=pdgpu.Spring(1.0), density=1.0, flexural_rigidity=1.0),
    ),
    "add_rod": (
        lambda **a: scene().add_rod(**a),
        dict(mesh=shapes.chain(3), material=pdgpu.Spring(1.0), density=1.0, bending=1.0, **MOVES),
    ),
    "add_particles": (lambda **a: scene().add_particles(**a), dict(points=[[0, 0, 0]], mass=1.0, **MOVES)),
    "add_rigid": (
        lambda **a: scene().add_rigid(**a),
        dict(mesh=BALL, density=1.0, name="x", velocity=(0, 0, 0), spin=(0, 0, 1), collides=True),
    ),
    "add_joint": (
        lambda **a: scene().add_joint(**a),
        dict(kind="spring", first=("bar", 1), second=("bar", 2), length=1.0, stiffness=1.0, name="x"),
    ),
    "add_joint with limits": (
        lambda **a: rigid_pair().add_joint(**a),
        dict(kind="hinge", first="a", second="b", at=(0, 0, 0), axis=(0, 0, 1), arm=0.1, limits=(-1.0, 1.0), limit_stiffness=1.0),
    ),
    "add_joint with a cone": (
        lambda **a: rigid_pair().add_joint(**a),
        dict(kind="ball", first="a", second="b", at=(0, 0, 0), axis=(0, 0, 1), cone=1.0, limit_stiffness=1.0),
    ),
    "pin": (lambda **a: scene()["bar"].pin(**a), dict(where=[1, 2], motion=None)),
    "attach": (lambda **a: scene()["bar"].attach(**a), dict(where=[1, 2], targets=(0, 0, 0), stiffness=1.0)),
    "embed": (lambda **a: scene()["bar"].embed(**a), dict(points=[BEAM.points.mean(axis=0)], name="e", extrapolate=False, collides=False)),
    "RestField": (pdgpu.RestField, dict(of="b", spacing=0.1, apart=0.2)),
    "ProxyContact": (pdgpu.ProxyContact, dict(proxies=[1, 2], stiffness=[1.0, 2.0], field=("b",), detection="step")),
    "set_world_box": (lambda **a: scene().set_world_box(**a), dict(lower=(0, 0, 0), upper=(1, 1, np.inf), stiffness=1.0)),
    "Plane": (pdgpu.Plane, dict(point=(0, 0, 0), normal=(0, 1, 0), motion=None)),
    "Sphere": (pdgpu.Sphere, dict(centre=(0, 0, 0), radius=1.0, motion=None)),
    "Capsule": (pdgpu.Capsule, dict(start=(0, 0, 0), end=(1, 0, 0), radius=1.0, motion=None)),
    "Box": (pdgpu.Box, dict(size=(1, 2, 3), centre=(0, 0, 0), rotation=np.eye(3), motion=None)),
    "SignedDistanceField": (
        pdgpu.SignedDistanceField,
        dict(values=np.ones((2, 2, 2)), origin=(0, 0, 0), spacing=1.0, mesh=None, motion=None, whole=True),
    ),
    "SignedDistanceField.from_mesh": (
        pdgpu.SignedDistanceField.from_mesh,
        dict(mesh=BALL, spacing=0.5, padding=1.0, motion=None, threads=1),
    ),
    "TriangleMesh": (pdgpu.TriangleMesh, dict(mesh=BALL, motion=None)),
    "Segments": (pdgpu.Segments, dict(points=[[0, 0, 0], [1, 0, 0]], edges=[[0, 1]], motion=None)),
    "Points": (pdgpu.Points, dict(points=[[0, 0, 0], [1, 0, 0]], motion=None)),
    "Collider.query": (pdgpu.Box((1, 1, 1)).query, dict(points=[[0.0, 1.0, 2.0]], time=1.0, threads=1)),
    "SignedDistanceField.query": (field().query, dict(points=[[0.0, 1.0, 2.0]], time=1.0, threads=1)),
    "TriangleMesh.query": (pdgpu.TriangleMesh(BALL).query, dict(points=[[0.0, 1.0, 2.0]], time=1.0, threads=1)),
    "displacement": (pdgpu.TriangleMesh(BALL).displacement, dict(points=[[0.0, 1.0, 2.0]], start=1.0, end=2.0)),
    "add_obstacle": (lambda **a: scene().add_obstacle(**a), dict(mesh_or_shape=BALL, motion=None, name="b")),
    "contacts": (lambda **a: simulation().contacts(**a), dict(distance=0.1, bodies=["bar"], self_collision=True, unique=True)),
    "BarrierContact": (
        pdgpu.BarrierContact,
        dict(
            distance=0.1,
            stiffness=1e3,
            separation=0.0,
            area_weighted=True,
            guard="reach",
            friction={("bar", "b"): 0.3},
            friction_velocity=1e-3,
            friction_lags=2,
            weighting="sum",
        ),
    ),
    "TwoWayContact": (
        pdgpu.TwoWayContact,
        dict(
            distance=0.1,
            separation=0.01,
            sweeps=2,
            steps=8,
            edge_limit=1.2,
            multipliers="gauss_seidel",
            lengths="distances",
            friction={("bar", "b"): 0.3},
            every=1,
        ),
    ),
    "Simulation": (
        lambda scene, **a: pdgpu.Simulation(scene() if scene is globals()["scene"] else scene, **a),
        dict(scene=scene, solver=SOLVER, dt=0.1, contact=None, device="cpu", dtype="float32", threads=1, integrator="bdf2"),
    ),
    "set_state": (lambda **a: simulation().set_state(**a), dict(positions=BEAM.points, velocities=BEAM.points)),
    "external_forces": (set_forces, dict(forces=BEAM.points)),
    "step": (lambda n, **a: simulation().step(7 if isinstance(n, int) and 7 < n < 2**31 else n, **a), dict(n=1, record=True)),
    "gradient": (lambda **a: simulation().gradient(**a), dict(x=BEAM.points)),
    "hessian": (lambda **a: simulation().hessian(**a), dict(x=BEAM.points)),
    "incremental_potential": (lambda **a: simulation().incremental_potential(**a), dict(x=BEAM.points)),
    "forces": (lambda **a: simulation().forces(**a), dict(body="bar")),
    "element_energies": (lambda **a: simulation().element_energies(**a), dict(body="bar")),
    "element_forces": (lambda **a: simulation().element_forces(**a), dict(body="bar")),
    "stress": (lambda **a: simulation().stress(**a), dict(body="bar", measure="cauchy")),
    "cut": (lambda **a: torn().cut(**a), dict(body="cloth", edges=[[5, 9]])),
    "save": (lambda **a: simulation().save(**a), dict(path="saved")),
    "load": (lambda **a: pdgpu.Simulation.load(saved() and a.pop("path"), **a), dict(path="saved", motions=None, device="cpu", threads=1)),
    "compare": (
        lambda **a: pdgpu.compare(scene(), **a),
        dict(
            solvers={"a": SOLVER},
            dt=0.1,
            start=(BEAM.points, None),
            reference=BEAM.points,
            initialization="previous",
            device="cpu",
            dtype="float64",
            threads=1,
        ),
    ),
    **{
        f"geometry.{name}": (getattr(geometry, name), dict(x=CORNERS[:, :k], device="cpu", threads=1))
        for name, k in zip(geometry.PAIRS, geometry.CORNERS, strict=True)
    },
    **{
        f"geometry.{function.__name__}": (function, dict(pair="edge_edge", x=CORNERS, device="cpu", threads=1))
        for function in (geometry.gradient, geometry.hessian, geometry.lower_bound)
    },
    "geometry.edge_edge_mollifier": (geometry.edge_edge_mollifier, dict(x=CORNERS, rest=CORNERS, device="cpu", threads=1)),
    **{
        f"ccd.{function.__name__}": (
            function,
            dict(x_t0=CORNERS, x_t1=CORNERS, separation=0.1, method="additive", device="cpu", threads=1),
        )
        for function in (ccd.vertex_triangle, ccd.edge_edge)
    },
    "ccd.earliest": (
        ccd.earliest,
        dict(
            points_t0=BEAM.points,
            points_t1=BEAM.points,
            vertex_triangle=[[0, 1, 2, 3]],
            edge_edge=[[0, 1, 2, 3]],
            separation=0.0,
            method="certified",
            device="cpu",
            threads=1,
        ),
    ),
    **{
        f"elements.{name}": (getattr(elements, name), dict(material=pdgpu.ARAP(1.0), x=CORNERS, rest=CORNERS, threads=1))
        for name in elements.__all__
    },
}
# what a refusal names where it is not the argument: the array of a pair, or a path by its value
ALSO = {
    "start": ("positions", "velocities"),
    "points": ("tets", "triangles", "edges"),
    "forces": ("external_forces",),
    "scene": ("bodies",),
    "rest": ("ARAP",),
    "size": ("tets", "triangles"),  # slivers
    "minimum": ("maximum", "stiffness"),
    "bending": ("Bending.stiffness",),
    "flexural_rigidity": ("HingeBending.flexural_rigidity",),
    "young": ("ARAP.mu", "poisson"),
    "mu": ("lam",),
    "upper": ("lower",),
    "spacing": ("padding",),
}


@pytest.mark.parametrize("entry", ENTRIES)
def test_one_wrong_argument(entry, tmp_path, monkeypatch):
    """If not, a slip in one argument takes the notebook down, or its message sends the reader to another one."""
    monkeypatch.chdir(tmp_path)
    function, right = ENTRIES[entry]
    BEAM.write("beam.vtu")
    assert not isinstance(survives(function, **right), Exception)

    @profile(25)
    @given(st.sampled_from(sorted(right)), garbage)
    def attack(name, value):
        result = survives(function, **{**right, name: value})
        if isinstance(result, Exception) and not isinstance(result, MemoryError | pdgpu.DivergenceError):
            text = str(result)
            named = [name, *ALSO.get(name, ())]
            assert any(word in text for word in named) or (name == "path" and str(value) in text), (name, value, repr(result))

    attack()


@profile(100)
@given(garbage, garbage, garbage, garbage)
def test_meshes(points, tets, triangles, edges):
    """If not, a mesh that was let through breaks in the functions that read it."""
    mesh = survives(pdgpu.Mesh, points, tets=tets, triangles=triangles, edges=edges)
    if isinstance(mesh, pdgpu.Mesh):
        for name in ("surface", "hinges", "unique_edges", "quality", "without_unused_vertices", "colouring", "reordered"):
            survives(lambda name=name: (lambda value: value() if callable(value) else value)(getattr(mesh, name)))


@profile(100)
@given(
    arrays.arrays("f8", (6, 3), elements=big),
    arrays.arrays("i4", st.tuples(st.integers(1, 4), st.just(4)), elements=st.integers(0, 5)),
    arrays.arrays("i4", st.tuples(st.integers(1, 6), st.just(3)), elements=st.integers(0, 5)),
    st.floats(1e-300, 1e300),
    st.sampled_from(["float32", "float64"]),
)
def test_any_mesh_that_is_accepted_can_be_simulated(points, tets, triangles, constant, dtype):
    """If not, slivers, fans, non-manifold or gigantic meshes crash in the core instead of being refused or diverging."""
    for add, rows, materials in (
        ("add_solid", {"tets": tets}, [pdgpu.ARAP(constant), pdgpu.Volume(constant), pdgpu.StrainLimit(0.9, 1.1, constant)]),
        ("add_solid", {"tets": tets}, [pdgpu.NeoHookean(constant, constant), pdgpu.StVK(constant, 1.0), pdgpu.Corotated(1.0, constant)]),
        ("add_solid", {"tets": tets}, [pdgpu.LogNeoHookean(constant, 1.0), pdgpu.FixedCorotated(1.0, constant)]),
        ("add_shell", {"triangles": triangles}, [pdgpu.ARAP(constant), pdgpu.Area(constant), pdgpu.Spring(1.0), pdgpu.Bending(constant)]),
        ("add_shell", {"triangles": triangles}, [pdgpu.StVK(constant, 1.0), pdgpu.HingeBending(constant)]),
        ("add_solid", {"tets": tets}, [pdgpu.OrthotropicSolid((constant, 1.0, 1.0), (0.0, 0.0, 0.4), (1.0, constant, 1.0))]),
        ("add_shell", {"triangles": triangles}, [pdgpu.OrthotropicShell(constant, 1.0, constant, direction=(0.6, 0.0, 0.8))]),
    ):
        mesh = survives(pdgpu.Mesh, points, **rows)
        if not isinstance(mesh, pdgpu.Mesh):
            continue
        whole = pdgpu.Scene()
        if isinstance(survives(getattr(whole, add), mesh.without_unused_vertices(), materials, density=constant), Exception):
            continue
        whole.bodies[0].pin([0])
        for solver in (SOLVER, pdgpu.Newton(iterations=2), pdgpu.ProjectiveDynamics(iterations=2, linear=pdgpu.Jacobi())):
            sim = survives(pdgpu.Simulation, whole, solver, dtype=dtype, threads=1)
            if isinstance(sim, pdgpu.Simulation):
                survives(sim.step, record=True)
                survives(sim.hessian)
                assert np.isfinite(sim.positions).all()


@profile(150)
@given(garbage, garbage, garbage)
def test_a_simulation_survives_its_callers(a, b, c):
    """If not, one bad call spoils a long experiment."""
    whole = scene()
    survives(whole["bar"].pin, a, b)
    survives(whole["bar"].attach, a, b, c)
    sim = pdgpu.Simulation(scene(), SOLVER, threads=1)
    survives(sim.set_state, positions=a, velocities=b)
    survives(setattr, sim, "external_forces", c)
    survives(sim.step, record=True)
    survives(sim.hessian, a, psd=b)
    sim.set_state(positions=BEAM.points, velocities=np.zeros((N, 3)))
    sim.external_forces = None
    sim.step()
    assert np.isfinite(sim.positions).all()


@profile(60)
@given(arrays.arrays("f8", st.tuples(st.integers(1, 2), st.integers(1, 4), st.just(3)), elements=st.floats(-1e308, 1e308)), st.data())
def test_elements_at_any_magnitude(x, data):
    """If not, an iteration over singular values never ends, or indexes by a NaN."""
    rest = data.draw(arrays.arrays("f8", x.shape, elements=big))
    constant = data.draw(st.floats(0, 1e308))
    materials = (pdgpu.ARAP, pdgpu.Spring, pdgpu.Bending, pdgpu.HingeBending, pdgpu.Volume, pdgpu.Area, pdgpu.Attachment)
    several = [pdgpu.StrainLimit(0.5, 2.0, constant), pdgpu.StVK(1.0, constant), pdgpu.Corotated(constant, 1.0)]
    several += [pdgpu.OrthotropicSolid((1.0 + constant, 1.0, 1.0), (0.0, 0.0, 0.4), (1.0 + constant, 1.0, 1.0))]
    several += [pdgpu.OrthotropicShell(1.0 + constant, 1.0, 1.0, direction=(0.6, 0.0, 0.8))]
    several += [pdgpu.NeoHookean(1.0, 1.0 + constant), pdgpu.WorldBox((0, 0, 0), (1, 1, 1), 1.0 + constant)]
    for material in (*(kind(constant) for kind in materials), *several):
        for name in elements.__all__:
            for dtype in (np.float32, np.float64):
                with np.errstate(over="ignore"):
                    survives(getattr(elements, name), material, x.astype(dtype), rest.astype(dtype), threads=1)
        survives(elements.hessian, material, x, x, psd=True, threads=1)


# ---- the compiled modules ---------------------------------------------------------------------------------------------------

# right calls, of which the attacks change a part; test_modules.py sees that every function and method is among them
HOST = right.host_calls()
BACKENDS = [_cpu_f32, _cpu_f64]
CORES = {module: right.simulation_arguments(module) for module in BACKENDS}
CORE = CORES[_cpu_f64]
SET, SETTINGS = CORE[2][0], CORE[5]
CALLS = {module: right.simulation_calls(module, len(CORE[0])) for module in BACKENDS}
SYSTEM = right.linear_arguments(_cpu_f64)
CSR, LINEAR = SYSTEM[0], SYSTEM[3]
SYSTEM_CALLS = {module: right.linear_calls(module, len(CORE[0])) for module in BACKENDS}
SEARCH = right.broad_phase_arguments(_cpu_f64)
POINTS = SEARCH[1]
SEARCH_CALLS = right.broad_phase_calls(_cpu_f64, len(POINTS))
# those that an attack of their own knows more of apart
BATCHES = {
    module: {name: call for name, call in right.backend_calls(module).items() if call and name not in ("element_batch", "collider_query")}
    for module in BACKENDS
}


@profile(150)
@given(st.sampled_from(sorted(HOST)), st.integers(0, 2), garbage, st.lists(garbage, max_size=5))
def test_host_module(name, which, value, everything):
    """If not, a mistake in our own Python layer is a crash instead of an exception."""
    if isinstance(value, int) and 7 < value < 2**31:
        value = 7  # a count of points, and lawful
    arguments = list(HOST[name])
    if which < len(arguments):
        arguments[which] = value
    survives(getattr(_host, name), *arguments)
    survives(
        getattr(_host, name), *(v for v in everything if not isinstance(v, int) or v != 2**31 - 1) if name != "edges" else everything[:1]
    )


@profile(150)
@given(st.integers(0, len(SYSTEM) - 1), st.integers(0, 15), garbage, st.sampled_from(BACKENDS))
def test_backend_linear(which, part, value, module):
    """If not, a matrix or settings that make no sense are read past their ends."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 7:
        value = 7  # counts of iterations
    arguments = list(SYSTEM)
    arguments[which] = value
    systems = [survives(module.Linear, *arguments)]
    arguments = list(SYSTEM)
    arguments[3] = LINEAR | {sorted(LINEAR)[part]: value}
    systems.append(survives(module.Linear, *arguments))
    arguments = list(SYSTEM)
    arguments[0] = tuple(value if k == part % 3 else kept for k, kept in enumerate(CSR))
    systems.append(survives(module.Linear, *arguments))
    for system in systems:
        if isinstance(system, module.Linear):
            for name, call in SYSTEM_CALLS[module].items():
                survives(getattr(system, name), *call)


@profile(150)
@given(st.integers(-1, 3), st.integers(0, 7), st.integers(0, 3), garbage, st.lists(garbage, max_size=5))
def test_backend_broad_phase(method, which, part, value, everything):
    """If not, a primitive whose corners are no points is read past the end of the positions."""
    arguments = list(SEARCH[1:])
    arguments[which] = 7 if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 7 else value
    phases = [survives(_cpu_f64.BroadPhase, method, *arguments), survives(_cpu_f64.BroadPhase, method % 3, *SEARCH[1:])]
    for phase in phases:
        if isinstance(phase, _cpu_f64.BroadPhase):
            find = list(SEARCH_CALLS["find"])
            survives(phase.find, *find)
            find[part] = value
            survives(phase.find, *find)
            survives(phase.find, *everything)
            extreme = POINTS.copy()
            extreme[part, part % 3] = (np.nan, np.inf, 1e308, -1e308)[which % 4]
            survives(phase.find, extreme, None if part % 2 else POINTS, *find[2:])
            assert len(phase.counts()) == 6 and len(phase.seconds()) == 2


class Shrinking(list):
    """A list whose first entry empties it when it is read as a number."""

    class Kind:
        def __init__(self, owner):
            self.owner = owner

        def __index__(self):
            self.owner.clear()
            return SET[0]

    def __init__(self):
        super().__init__([(self.Kind(self), *SET[1:]), SET])


@profile(150)
@given(st.integers(0, len(CORE) - 1), st.integers(0, 4), garbage, st.sampled_from(BACKENDS))
def test_backend_simulation(which, part, value, module):
    """If not, arrays that do not fit together are read past their ends."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 7:
        value = 7  # counts of iterations
    arguments = list(CORES[module])
    arguments[which] = value
    simulations = [survives(module.Simulation, *arguments)]
    arguments = list(CORES[module])
    arguments[5] = SETTINGS | {[*SETTINGS, "linear", "colours"][which]: value}
    simulations.append(survives(module.Simulation, *arguments))
    arguments = list(CORES[module])
    arguments[2] = [tuple(value if k == part else kept for k, kept in enumerate(SET)), value]
    survives(module.Simulation, *arguments)
    arguments[2] = arguments[2][:1]
    simulations.append(survives(module.Simulation, *arguments))
    for sim in simulations:
        if isinstance(sim, module.Simulation):
            for name, call in CALLS[module].items():
                survives(getattr(sim, name), *call)


def test_the_backend_keeps_what_it_borrows():
    """If not, reading a number that runs Python code leaves the constructor with freed arrays."""
    for module in BACKENDS:
        arguments = list(CORES[module])
        arguments[2] = Shrinking()
        with pytest.raises(ValueError, match="given twice"):
            module.Simulation(*arguments)
        for wrong in ([3], [None], [[1, 2]]):
            arguments[2] = wrong
            with pytest.raises(TypeError, match="elements: expected tuples"):
                module.Simulation(*arguments)
        arguments[2], arguments[5] = [SET], SETTINGS | {"chebyshev": 0.9}
        with pytest.raises(TypeError, match="chebyshev"):
            module.Simulation(*arguments)
        arguments[5], arguments[6] = SETTINGS, 2**31 - 1
        with pytest.raises(ValueError, match="threads: must be at most 1024, got 2147483647"):
            module.Simulation(*arguments)
        arguments[5], arguments[6] = SETTINGS | {"iterations": 2**31 - 1}, 1
        with pytest.raises(ValueError, match=rf"record: expected float64 array of shape \(2147483648, {len(COLUMNS)}\)"):
            module.Simulation(*arguments).step(None, np.zeros((3, len(COLUMNS))), None, None, False)


class Clearing:
    """A number that empties the dict it is in when it is read."""

    def __init__(self, settings):
        self.settings = settings

    def __float__(self):
        self.settings.clear()
        return 0.0


def test_settings_that_change_while_they_are_read():
    """If not, a value is used after it has been freed."""
    settings = dict(SETTINGS)
    settings["tolerance"] = Clearing(settings)
    with pytest.raises(TypeError, match="settings: ProjectiveDynamics needs 'step_tolerance'"):
        _cpu_f64.Simulation(*CORE[:5], settings, 1, None)


@profile(150)
@given(st.sampled_from(sorted(CALLS[_cpu_f64])), st.integers(0, 4), garbage, st.lists(garbage, max_size=5), st.sampled_from(BACKENDS))
def test_backend_methods(name, which, value, everything, module):
    """If not, a wrong array given to a method of the core is written past its end."""
    sim = module.Simulation(*CORES[module])
    arguments = list(CALLS[module][name])
    if which < len(arguments):
        arguments[which] = value
    survives(getattr(sim, name), *arguments)
    survives(getattr(sim, name), *everything)
    survives(sim.step, *CALLS[module]["step"])


@profile(150)
@given(
    st.sampled_from(sorted(BATCHES[_cpu_f64])),
    st.integers(0, 7),
    garbage,
    st.lists(garbage, max_size=8),
    st.sampled_from(BACKENDS),
)
def test_backend_batches(name, which, value, everything, module):
    """If not, an index reads past the points, or a batch of the wrong shape memory that is not its own."""
    arguments = list(BATCHES[module][name])
    if which < len(arguments):
        arguments[which] = value
    survives(getattr(module, name), *arguments)
    survives(getattr(module, name), *everything)


@profile(150)
@given(st.integers(-2, 12), st.integers(-2, 7), st.integers(0, 5), garbage, st.sampled_from(BACKENDS))
def test_backend_element_batch(kind, quantity, which, value, module):
    """If not, a batch of the wrong shape reads memory that is not its own."""
    arguments = list(right.backend_calls(module)["element_batch"])
    survives(module.element_batch, kind, quantity, *arguments[2:])
    if which < 5:
        arguments[which] = value
    survives(module.element_batch, *arguments)


@profile(100)
@given(st.integers(-2, 6), st.integers(0, 6), garbage, st.sampled_from(BACKENDS))
def test_backend_collider_query(shape, which, value, module):
    """If not, a grid of the wrong shape is read past its end."""
    dtype = np.float32 if module is _cpu_f32 else np.float64
    frame, size, values = np.ones((4, 3)), np.ones(4), np.ones((2, 3, 2), dtype)
    for number, grid in ((shape, None), (4, values), (shape, values)):
        arguments = [number, frame, size, 0.5, grid, np.ones((5, 3), dtype), 1]
        survives(module.collider_query, *arguments)
        if which < 6:
            arguments[which] = value
        survives(module.collider_query, *arguments)


# ---- files ------------------------------------------------------------------------------------------------------------------


def mutate(data, content):
    """A few bytes changed, a piece cut out or repeated, or the end cut off."""
    content = bytearray(content)
    for _ in range(data.draw(st.integers(1, 4))):
        if not content:
            break
        at, length = data.draw(st.integers(0, len(content) - 1)), data.draw(st.integers(1, 30))
        action = data.draw(st.sampled_from(["byte", "byte", "digit", "cut", "repeat", "end"]))
        if action == "byte":
            content[at] = data.draw(st.integers(0, 255))
        elif action == "digit":
            digits = [k for k, byte in enumerate(content[:20000]) if 48 <= byte <= 57] or [at]
            content[digits[at % len(digits)]] = data.draw(st.sampled_from(b"0123456789-.ex"))
        elif action == "cut":
            del content[at : at + length]
        elif action == "repeat":
            content[at:at] = content[at : at + length]
        else:
            del content[at:]
    return bytes(content)


@pytest.mark.parametrize("suffix", ["msh", "vtk", "vtu", "mesh", "npz", "obj", "ply", "stl", "off", "node", "t", "seg", "inp", "msh.gz"])
def test_damaged_mesh_files(suffix, tmp_path):
    """If not, a file that was cut off in transfer is a crash, a hang or a traceback from somebody else's reader."""
    path = tmp_path / f"mesh.{suffix}"
    if suffix in ("t", "seg", "inp"):
        path.write_text(
            {
                "t": "Vertex 0 0 0 0\nVertex 1 1 0 0\nVertex 2 0 1 0\nVertex 3 0 0 1\nTet 0 0 1 2 3\n",
                "seg": "v 0 0 0\nv 1 0 0\ns 1 2\n",
                "inp": "*NODE\n1, 0, 0, 0\n2, 1, 0, 0\n3, 0, 1, 0\n*ELEMENT, TYPE=S3\n1, 1, 2, 3\n",
            }[suffix]
        )
    else:
        (CLOTH if suffix in ("obj", "ply", "stl", "off") else BEAM).write(path)
    content = path.read_bytes()
    assert isinstance(pdgpu.read_mesh(path), pdgpu.Mesh)

    @profile(40)
    @given(st.data())
    def attack(data):
        path.write_bytes(data.draw(st.binary(max_size=200)) if data.draw(st.integers(0, 9)) == 0 else mutate(data, content))
        result = survives(pdgpu.read_mesh, path)
        if isinstance(result, Exception):
            assert isinstance(result, ValueError) and str(result).startswith(str(path)), repr(result)

    attack()


def test_damaged_saved_simulations(tmp_path, monkeypatch):
    """If not, a damaged checkpoint crashes, or loads as something else."""
    monkeypatch.chdir(tmp_path)
    sim = simulation()
    sim.step()
    sim.save("whole")
    content = Path("whole").read_bytes()

    @profile(150)
    @given(st.data())
    def attack(data):
        Path("damaged").write_bytes(mutate(data, content))
        result = survives(pdgpu.Simulation.load, "damaged", threads=1)
        if isinstance(result, Exception):
            assert isinstance(result, ValueError) and str(result).startswith("path: damaged "), repr(result)
        else:
            assert result.positions.tobytes() == sim.positions.tobytes()

    attack()


@pytest.mark.parametrize("made", [simulation, torn])
def test_saved_simulations_with_another_header(made, tmp_path, monkeypatch):
    """If not, a file that was edited, or written by somebody else, reaches the core unchecked."""
    import json

    monkeypatch.chdir(tmp_path)
    made().save("whole")
    with np.load("whole") as archive:
        right = dict(archive)
    header = json.loads(bytes(right.pop("header")))
    json_values = st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-3, 7),
        st.floats(),
        st.sampled_from(["", "array0", "Material", "np", "cuda", "float32", "solid"]),
    )
    json_garbage = st.one_of(json_values, st.lists(json_values, max_size=3), st.dictionaries(st.sampled_from(["type", "mu"]), json_values))

    def places(value, path=()):
        yield path
        inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for key, part in inner:
            yield from places(part, (*path, key))

    everywhere = [path for path in places(header) if path]

    @profile(100)
    @given(st.sampled_from(everywhere), json_garbage, st.sampled_from([None, *sorted(right)]), garbage)
    def attack(path, value, name, array):
        changed = json.loads(json.dumps(header))
        inner = changed
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = value
        arrays_now = dict(right)
        if name is not None:
            given_array = survives(np.asarray, array)
            if isinstance(given_array, np.ndarray) and given_array.dtype != object:
                arrays_now[name] = given_array
        np.savez("changed.npz", header=np.frombuffer(json.dumps(changed).encode(), np.uint8), **arrays_now)
        result = survives(pdgpu.Simulation.load, "changed.npz", threads=1)
        if isinstance(result, pdgpu.Simulation):
            survives(result.step)
        elif isinstance(result, ValueError):
            assert str(result).startswith(("path: changed.npz ", "motions: ")), repr(result)
        else:
            assert isinstance(result, RuntimeError) and "'cuda' is not available" in str(result), repr(result)

    attack()
