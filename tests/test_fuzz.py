"""Random garbage at every public entry: an exception, never a crash, a hang or something that is no exception of Python."""

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import pdgpu
from pdgpu import _cpu_f32, _cpu_f64, _host, elements, shapes
from pdgpu.mesh_files import read_arrays

ALLOWED = (TypeError, ValueError, RuntimeError, MemoryError, OverflowError, OSError, KeyError, AttributeError)
profile = settings(
    max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)

small = st.integers(0, 5)
dtypes = st.sampled_from(["f8", "f4", "i4", "i8", "u1", "c16", "?", "O", "S3", ">f8", "f2"])
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=4),
    st.binary(max_size=4),
    st.complex_numbers(),
    st.just(object()),
)
shaped = st.one_of(
    st.tuples(small), st.tuples(small, small), st.tuples(small, st.sampled_from([2, 3, 4])), st.tuples(small, small, st.just(3))
)


@st.composite
def any_array(draw):
    kind, shape = draw(dtypes), draw(shaped)
    if kind in ("O", "S3"):
        return np.full(shape, draw(st.sampled_from([None, 1, "a"])), dtype=kind)
    array = draw(arrays.arrays(kind, shape, fill=st.nothing()) if np.prod(shape) < 20 else st.just(np.ones(shape, kind)))
    if array.ndim and draw(st.booleans()):
        array = array[::-1]
    return array


good_points = arrays.arrays("f8", (5, 3), elements=st.floats(-10, 10))
good_tets = arrays.arrays("i4", st.tuples(st.integers(1, 3), st.just(4)), elements=st.integers(-1, 5))
garbage = st.one_of(
    scalars, any_array(), st.lists(st.one_of(scalars, st.lists(st.floats(), max_size=4)), max_size=4), good_points, good_tets
)


def survives(function, *arguments, **options):
    try:
        with np.errstate(all="ignore"):
            return function(*arguments, **options)
    except ALLOWED:
        return None


@profile
@given(garbage, garbage, garbage, garbage)
def test_meshes(points, tets, triangles, edges):
    """If not, a broken mesh takes the notebook down with it."""
    mesh = survives(pdgpu.Mesh, points, tets=tets, triangles=triangles, edges=edges)
    if mesh is not None:
        for name in ("surface", "hinges", "unique_edges", "quality", "without_unused_vertices", "colouring"):
            survives(lambda name=name: (lambda value: value() if callable(value) else value)(getattr(mesh, name)))


@profile
@given(garbage, garbage, garbage)
def test_shapes_and_materials(a, b, c):
    """If not, a wrong argument of a small helper is a crash."""
    for function in (shapes.beam, shapes.grid, shapes.box, shapes.chain):
        if not isinstance(a, int) or abs(a) < 1000:
            survives(function, a, b if not isinstance(b, int) or abs(b) < 50 else 3)
    for material in (pdgpu.ARAP, pdgpu.Spring, pdgpu.Bending, pdgpu.Volume, pdgpu.Area, pdgpu.Attachment):
        survives(material, a)
    survives(pdgpu.StrainLimit, a, b, c)
    survives(pdgpu.Chebyshev, rho=a, start=b, under_relaxation=c)
    survives(pdgpu.ProjectiveDynamics, iterations=a, linear=b, chebyshev=c)


@profile
@given(garbage, garbage, garbage)
def test_scenes(a, b, c):
    """If not, building a scene from bad data is a crash."""
    mesh = shapes.beam((1, 1, 1), cells=(1, 1, 1))
    scene = survives(pdgpu.Scene, a) or pdgpu.Scene()
    survives(scene.add_solid, mesh, pdgpu.ARAP(1.0), density=a, velocity=b, damping=c)
    survives(scene.add_solid, a, b, density=c)
    survives(scene.add_particles, a, mass=b, velocity=c)
    body = scene.add_solid(mesh, pdgpu.ARAP(1.0), density=1.0)
    survives(body.pin, a, b)
    survives(body.attach, a, b, c)
    simulation = survives(pdgpu.Simulation, scene, dt=0.1, threads=1)
    if simulation is not None:
        survives(simulation.step)


@profile
@given(garbage, garbage, garbage)
def test_simulations(a, b, c):
    """If not, one bad call kills a long experiment."""
    scene = pdgpu.Scene()
    scene.add_solid(shapes.beam((1, 1, 1), cells=(1, 1, 1)), pdgpu.ARAP(1.0), density=1.0).pin([0])
    survives(pdgpu.Simulation, scene, a, dt=b, dtype=c)
    survives(pdgpu.Simulation, scene, dt=a, device=b, threads=c if not isinstance(c, int) else min(abs(c), 4))
    simulation = pdgpu.Simulation(scene, threads=1)
    survives(simulation.set_state, positions=a, velocities=b)
    survives(setattr, simulation, "external_forces", a)
    survives(simulation.incremental_potential, a)
    survives(simulation.gradient, b)
    survives(simulation.hessian, c)
    survives(simulation.step, a if not isinstance(a, int) else min(a, 3), record=b)
    survives(pdgpu.compare, scene, a, start=b, reference=c)
    simulation.set_state(positions=scene.rest_positions(), velocities=np.zeros((8, 3)))
    simulation.external_forces = None
    simulation.step()
    assert np.isfinite(simulation.positions).all()


@profile
@given(garbage, garbage)
def test_elements(x, rest):
    """If not, a batch of the wrong shape reads memory that is not its own."""
    for material in (pdgpu.ARAP(1.0), pdgpu.Spring(2.0), pdgpu.Bending(1.0), pdgpu.Attachment(1.0)):
        for function in (elements.energy, elements.gradient, elements.hessian, elements.projection):
            survives(function, material, x, rest)


@profile
@given(st.lists(garbage, min_size=0, max_size=7), st.integers(-3, 12), st.integers(-3, 9))
def test_modules(arguments, kind, quantity):
    """If not, a mistake in our own Python layer is a crash instead of an exception."""
    for name in dir(_host):
        function = getattr(_host, name)
        if callable(function):
            for k in range(len(arguments) + 1):
                survives(function, *arguments[:k])
    for module in (_cpu_f32, _cpu_f64):
        survives(module.element_batch, *arguments)
        survives(module.element_batch, kind, quantity, *arguments[:3], 1)
        survives(module.Simulation, *arguments)
        survives(
            module.Simulation,
            np.ones(2),
            np.zeros(2, np.uint8),
            [tuple(arguments[:5])],
            0.1,
            0,
            1,
            0.0,
            1,
            0,
            False,
            None,
            0,
            1,
            0.0,
            None,
            1,
        )
        simulation = module.Simulation(np.ones(2), np.zeros(2, np.uint8), [], 0.1, 0, 1, 0.0, 1, 0, False, None, 1, 1, 0.0, None, 1)
        for name in ("prepare", "step", "state", "set_state", "set_load", "energies", "gradient", "hessian", "system_matrix"):
            for k in range(len(arguments) + 1):
                survives(getattr(simulation, name), *arguments[:k])


@profile
@given(st.binary(max_size=300), st.sampled_from(["msh", "vtk", "vtu", "obj", "ply", "stl", "mesh", "t", "npz", "node", "xyz", "msh.gz"]))
def test_mesh_files(tmp_path, content, suffix):
    """If not, a damaged file is a crash or a traceback from somebody else's reader."""
    path = tmp_path / f"file.{suffix}"
    path.write_bytes(content)
    survives(read_arrays, path)
    survives(pdgpu.read_mesh, path)


@profile
@given(st.data())
def test_saved_simulations(tmp_path, data):
    """If not, a damaged checkpoint crashes, or loads as something else."""
    path = tmp_path / "saved"
    scene = pdgpu.Scene()
    scene.add_solid(shapes.beam((1, 1, 1), cells=(1, 1, 1)), pdgpu.ARAP(1.0), density=1.0).pin([0])
    pdgpu.Simulation(scene, threads=1).save(path)
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content[: data.draw(st.sampled_from([len(content), len(content) // 2, 10]))])
    survives(pdgpu.Simulation.load, path, threads=1)
