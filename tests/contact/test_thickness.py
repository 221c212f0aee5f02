"""Bodies that are thick: what keeps them apart, and what says whether it did."""

import numpy as np
import pytest
from contact_scenes import SCENES, cloth, sheet, string
from two_way_run import SOLVERS as AFTER
from two_way_run import two_way_case, verified_two_way_run
from verified_run import METHODS, WHOLE_METHODS, solver_case, verified_run

import pdgpu
from pdgpu import _host

needs_gmp = pytest.mark.skipif(not _host.HAS_GMP, reason="this build has no GMP")
BARRIER = pdgpu.BarrierContact(1e-3, stiffness=1e6, area_weighted=False)


def ball(scene, x, radius, velocity=(0.0, 0.0, 0.0), mass=1.0):
    return scene.add_particles([x], mass=mass, velocity=velocity, thickness=2.0 * radius)


@pytest.mark.parametrize("contact", [BARRIER, pdgpu.TwoWayContact(1e-3), pdgpu.ProjectiveContact(1e-3)])
def test_two_grains_touch_where_their_radii_meet(contact):
    """If it failed, grains would overlap, or hover: distances would not count from what is thick."""
    scene = pdgpu.Scene((0.0, 0.0, 0.0))
    ball(scene, (0.0, 0.0, 0.0), 0.01, (1.0, 0.0, 0.0))
    ball(scene, (0.05, 0.0, 0.0), 0.02, mass=3.0)
    solver = pdgpu.ProjectiveDynamics(iterations=20)
    sim = pdgpu.Simulation(scene, solver, dt=1e-3, contact=contact)
    least = np.inf
    for _ in range(40):
        sim.step()
        least = min(least, sim.positions[1, 0] - sim.positions[0, 0])
    assert 0.03 < least < 0.0315
    momentum = sim.masses @ sim.velocities
    assert momentum == pytest.approx([1.0, 0.0, 0.0], abs=2e-2)
    assert sim.velocities[1, 0] > 0.1  # they have met


@needs_gmp
def test_every_pair_of_thicknesses_is_verified():
    """If it failed, a run would be called clean that is not: pairs of bodies of two thicknesses, in a frame and between two."""
    triangle, edge = [[0.0, 0.0, -1.0], [1.0, 0.0, 1.0], [-1.0, 0.0, 1.0]], [[-1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
    crossing = [[0.0, 0.0, -1.0], [0.0, 0.0, 1.0]]
    for lower, upper in (
        (triangle, [[0.0, 0.0, 0.3]]),
        (edge, [[0.2, 0.0, 0.0]]),
        (edge, crossing),
        ([[0.0, 0.0, 0.0]], [[0.0, 0.0, 0.0]]),
    ):
        for thick, other in ((0.1, 0.0), (0.0, 0.1), (0.08, 0.02), (0.05, 0.05)):
            scene = pdgpu.Scene()
            for points, thickness in ((lower, thick), (upper, other)):
                given = dict(density=1.0, thickness=thickness)
                if len(points) == 3:
                    scene.add_shell(pdgpu.Mesh(points, triangles=[[0, 1, 2]]), pdgpu.Spring(1.0), **given)
                elif len(points) == 2:
                    scene.add_rod(pdgpu.Mesh(points, edges=[[0, 1]]), pdgpu.Spring(1.0), **given)
                else:
                    scene.add_particles(points, mass=1.0, thickness=thickness)
            raised = np.zeros((scene.n_vertices, 3))
            raised[-len(upper) :, 1] = 1.0
            high, just_free, just_met, low = (scene.rest_positions() + height * raised for height in (0.2, 0.0501, 0.0499, -0.2))
            assert pdgpu.certify([high, just_free], scene, gap=False).clean
            assert pdgpu.certify([just_met], scene, gap=False).intersections
            through = pdgpu.certify([high, low], scene, gap=False)
            assert through.crossings[0].time == pytest.approx(0.375, abs=1e-9)
            assert not pdgpu.certify([high], scene, gap=False, separation=0.151).clean
            assert pdgpu.certify([high], scene, gap=False, separation=0.149).clean


@needs_gmp
@pytest.mark.parametrize("obstacle", [pdgpu.Plane((0, 0, 0), (0, 1, 0)), pdgpu.Sphere((0, -1, 0), 1.0), pdgpu.Box((1, 1, 1), (0, -0.5, 0))])
def test_obstacles_are_verified_from_the_thickness(obstacle):
    """If it failed, what is thick could sink into an obstacle by half of that."""
    scene = pdgpu.Scene()
    scene.add_particles([[0.0, 0.5, 0.0]], mass=1.0)
    ball(scene, (0.1, 1.0, 0.0), 0.2)
    scene.add_obstacle(obstacle, name="obstacle")
    top = 0.0 if not isinstance(obstacle, pdgpu.Sphere) else np.sqrt(1.2**2 - 0.1**2) - 1.0 - 0.2
    for height, clean in ((0.2001, True), (0.1999, False)):
        frame = [[0.0, 1e-3, 0.0], [0.1, top + height, 0.0]]
        assert pdgpu.certify([frame], scene, gap=False).clean is clean
        assert pdgpu.certify([scene.rest_positions(), frame], scene, gap=False).clean is clean


@needs_gmp
@pytest.mark.slow
@pytest.mark.parametrize("method", ["Newton", "vertex block descent", "PD, direct", "nonlinear CG", "gradient descent", "ADMM"])
def test_the_path_of_every_step_is_clean(method):
    """If it failed, a solver would know of contact without thickness alone."""
    assert set(METHODS | WHOLE_METHODS) >= {method}
    case, solver = solver_case(method, "thick bodies")
    found = verified_run(case, "float32" if method == "vertex block descent" else "float64", steps=4, **solver)
    assert found.intersections == 0 and found.contacts > 10


@needs_gmp
@pytest.mark.slow
@pytest.mark.parametrize(("solver", "dtype"), [pytest.param("PD", "float64", marks=pytest.mark.stress), ("VBD", "float32")])
def test_every_state_of_a_two_way_update_is_clean(solver, dtype):
    """If it failed, grains, hairs, cloth and volumes could not be in one scene and in one list of pairs."""
    found = verified_two_way_run(two_way_case("thick bodies", steps=10), AFTER[solver], dtype, steps=2)
    assert found.intersections == 0 and found.contacts > 10


def test_what_falls_on_a_thick_ball_comes_to_where_it_should():
    """If it failed, a closest point that slides when an edge tilts would rock a cloth on a ball without end."""
    scene = pdgpu.Scene((0.0, -9.8, 0.0))
    cloth(scene, sheet(0.1, 0.1, 5, 0.052), cells=5, velocity=(0.0, -1.0, 0.0), thickness=2e-3)
    for k, z in enumerate((-0.015, -0.005, 0.005, 0.015)):
        points = np.stack([np.linspace(-0.05, 0.05, 13), np.full(13, 0.059 + 1e-3 * (k % 2)), np.full(13, z)], axis=1)
        others = dict(density=0.01, bending=1e-6, velocity=(0.0, -1.5, 0.0), thickness=1.5e-3)
        scene.add_rod(string(points), pdgpu.Spring(500.0), **others)
    scene.add_obstacle(pdgpu.Sphere((0.0, 0.0, 0.0), 0.05), name="ball")
    contact = pdgpu.TwoWayContact(1e-3, separation=1e-5, steps=128)
    sim = pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics(iterations=10), dt=1 / 200, contact=contact)
    for _ in range(3):
        sim.step()
        assert sim.last_step.update.status == "converged"
    assert sim.last_step.update.rows > 50


def test_a_thickness_survives_a_file_and_a_copy(tmp_path):
    """If it failed, a run that goes on would let grains overlap."""
    case = SCENES["thick bodies"](False)
    sim = case.simulation()
    sim.step()
    sim.save(tmp_path / "run.pdgpu")
    resumed = pdgpu.Simulation.load(tmp_path / "run.pdgpu")
    assert [body.thickness for body in resumed.bodies] == [body.thickness for body in case.scene.bodies]
    for each in (sim, resumed):
        each.step(2)
    assert np.array_equal(sim.positions, resumed.positions)


@needs_gmp
def test_what_is_too_thick_is_refused():
    """If it failed, a body would start inside itself, or a thickness would be ignored."""
    scene = pdgpu.Scene()
    ball(scene, (0.0, 0.0, 0.0), 0.01)
    ball(scene, (0.025, 0.0, 0.0), 0.02)
    with pytest.raises(ValueError, match=r"'particles0' and 'particles1' start intersecting: vertex 0 and vertex 1 are -0\.005 m apart"):
        pdgpu.Simulation(scene, pdgpu.Newton(), dt=0.01, contact=BARRIER)
    hair = pdgpu.Scene()
    hair.add_rod(pdgpu.shapes.chain(4, 0.1), pdgpu.Spring(1.0), density=1.0, thickness=0.03, name="hair")
    with pytest.raises(ValueError, match="'hair' at rest"):
        pdgpu.Simulation(hair, pdgpu.Newton(), dt=0.01, contact=BARRIER)
    with pytest.raises(ValueError, match=r"'particles0' has a thickness of 0\.02 m, which PenaltyContact"):
        pdgpu.Simulation(scene, pdgpu.VertexBlockDescent(), dt=0.01, contact=pdgpu.PenaltyContact(1e4, stiffness=1e-3))
    for bad, error in ((-1e-3, ValueError), (np.nan, ValueError), ("thin", TypeError)):
        with pytest.raises(error, match="thickness"):
            scene.add_particles([[0.0, 0.0, 0.0]], mass=1.0, thickness=bad)
