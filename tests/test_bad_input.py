"""Every refusal names the argument and the value, and leaves everything as it was."""

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


N = len(BEAM.points)
NAN = np.full((N, 3), np.nan)

CASES = [
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
    (lambda: pdgpu.Scene().add_rod(CHAIN, SOFT, density=1.0), TypeError, ["ARAP", "rod"]),
    (lambda: pdgpu.Scene().add_particles([[0, 0]], mass=1.0), ValueError, ["points", "(1, 2)"]),
    (lambda: pdgpu.Scene().add_particles(np.zeros((0, 3)), mass=1.0), ValueError, ["points"]),
    (lambda: pdgpu.Scene().add_particles([[0, 0, 0]], mass=0.0), ValueError, ["mass", "0"]),
    (lambda: pdgpu.Scene()["nobody"], KeyError, ["nobody"]),
    # materials
    (lambda: pdgpu.ARAP(-1.0), ValueError, ["ARAP.mu", "-1"]),
    (lambda: pdgpu.ARAP("soft"), TypeError, ["mu", "soft"]),
    (lambda: pdgpu.ARAP(np.nan), ValueError, ["mu", "nan"]),
    (lambda: pdgpu.Spring([1.0, np.inf]), ValueError, ["stiffness", "inf", "1"]),
    (lambda: pdgpu.StrainLimit(1.2, 1.1, 1.0), ValueError, ["minimum", "1.2"]),
    (lambda: pdgpu.StrainLimit(0.9, 0.95, 1.0), ValueError, ["maximum", "0.95"]),
    (lambda: pdgpu.ARAP.from_young(1e5, 0.7), ValueError, ["poisson", "0.7"]),
    # pins and attachments
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
    (lambda: pdgpu.Newton(line_search="yes"), TypeError, ["line_search", "yes"]),
    (lambda: pdgpu.Chebyshev(rho=1.0), ValueError, ["rho", "1.0"]),
    (lambda: pdgpu.Chebyshev(rho="auto"), ValueError, ["rho", "auto"]),
    (lambda: pdgpu.Chebyshev(rho=0.9, start=0), ValueError, ["start", "0"]),
    (lambda: pdgpu.Jacobi(weight=0.0), ValueError, ["weight", "0"]),
    (lambda: pdgpu.Jacobi(weight="best"), ValueError, ["weight", "best"]),
    # simulations
    (lambda: pdgpu.Simulation(pdgpu.Scene()), ValueError, ["scene"]),
    (lambda: pdgpu.Simulation(BEAM), TypeError, ["scene"]),
    (lambda: sim(solver="PD"), TypeError, ["solver", "PD"]),
    (lambda: sim(dt=0.0), ValueError, ["dt", "0"]),
    (lambda: sim(dt=-0.1), ValueError, ["dt", "-0.1"]),
    (lambda: sim(dt=np.nan), ValueError, ["dt", "nan"]),
    (lambda: sim(device="tpu"), ValueError, ["device", "tpu"]),
    (lambda: sim(dtype="float16"), ValueError, ["dtype", "float16"]),
    (lambda: sim(dtype="nonsense"), ValueError, ["dtype", "nonsense"]),
    (lambda: sim(threads=-1), ValueError, ["threads", "-1"]),
    (lambda: sim(contact="barrier"), TypeError, ["contact", "barrier"]),
    (lambda: sim().set_state(positions=NAN), ValueError, ["positions", "nan", "(0, 0)"]),
    (lambda: sim().set_state(positions=np.zeros((2, 3))), ValueError, ["positions", "(2, 3)"]),
    (lambda: sim().set_state(velocities=np.zeros((N, 3), complex)), TypeError, ["velocities", "complex"]),
    (lambda: sim(dtype="float32").set_state(positions=np.full((N, 3), 1e300)), ValueError, ["positions", "float32"]),
    (lambda: setattr(sim(), "external_forces", np.zeros(3)), ValueError, ["external_forces", "(3,)"]),
    (lambda: sim().step(0), ValueError, ["n", "0"]),
    (lambda: sim().step(1.5), TypeError, ["n", "1.5"]),
    (lambda: sim().step(record="all"), ValueError, ["record", "all"]),
    (lambda: sim().gradient(NAN), ValueError, ["x", "nan"]),
    (lambda: sim().hessian(np.zeros(4)), ValueError, ["x", "(4,)"]),
    (lambda: sim().incremental_potential("here"), TypeError, ["x"]),
    # comparisons
    (lambda: pdgpu.compare(pdgpu.Scene(), [pdgpu.Newton()]), TypeError, ["solvers"]),
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


def test_a_refused_state_leaves_the_simulation_as_it_was():
    """If not, half of a bad update is in the state."""
    simulation = sim()
    before = simulation.positions
    with pytest.raises(ValueError, match="velocities"):
        simulation.set_state(positions=before + 1.0, velocities=NAN)
    np.testing.assert_array_equal(simulation.positions, before)


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
    simulation.masses[:] = 7.0
    assert not (simulation.positions == 7.0).all() and not (simulation.masses == 7.0).all()
