"""G, its gradient and its Hessian with contacts against differences, where the nearest features change too."""

import numpy as np
import pytest
from contact_scenes import NO_GRAVITY, cloth, cube, moved, sheet, solid, turned

import pdgpu

DISTANCE = 4e-3
ALONG, ACROSS = 1e-7, 1e-9  # m; of differences of G and of its gradient, whose slope jumps where the nearest feature changes


def corner_over_an_edge():
    """A corner above an edge of a pinned cube and its two faces; moved sideways it passes from face to edge to face."""
    scene = pdgpu.Scene(NO_GRAVITY)
    lower = turned(cube(0.1, 1, (0.0, 0.0, 0.0)), (1.0, 0.0, 0.0), np.pi / 4)
    lower = moved(lower, [0.0, -lower.points[:, 1].max(), 0.0])
    solid(scene, lower).pin(np.arange(4))
    upper = turned(cube(0.06, 1, (0.0, 0.0, 0.0)), (1.0, 0.3, 1.0), 0.9)
    upper = moved(upper, np.array([0.011, 0.4 * DISTANCE, 0.0]) - upper.points[upper.points[:, 1].argmin()])
    solid(scene, upper)
    return scene


def edges_over_edges():
    """A cloth above another, its edges nearly parallel to those beneath: the mollifier acts."""
    scene = pdgpu.Scene(NO_GRAVITY)
    cloth(scene, sheet(0.1, 0.1, 2), cells=2)
    upper = turned(sheet(0.1, 0.1, 2, 0.5 * DISTANCE), (0.1, 1.0, 0.05), 0.02)
    cloth(scene, upper, cells=2)
    return scene


def near_a_floor():
    """A cube above a plane, a sphere and a mesh, turned so that its corners are at several heights."""
    scene = pdgpu.Scene(NO_GRAVITY)
    mesh = turned(cube(0.1, 1, (0.0, 0.0, 0.0)), (1.0, 0.0, 0.4), 0.01)
    solid(scene, moved(mesh, [0.0, 0.3 * DISTANCE - mesh.points[:, 1].min(), 0.0]))
    scene.add_obstacle(pdgpu.Plane((0.0, 0.0, 0.0), (0.0, 1.0, 0.0)), name="floor")
    scene.add_obstacle(pdgpu.Sphere((0.1505, 0.05, 0.0), 0.1), name="ball")
    scene.add_obstacle(moved(cube(0.1, 1, (0.0, 0.0, 0.0)), [0.0, 0.05, 0.1015]), name="box")
    return scene


def grains():
    """Particles near each other and near a rod."""
    scene = pdgpu.Scene(NO_GRAVITY)
    scene.add_particles([[0.0, 0.0, 0.0], [0.3 * DISTANCE, 0.5 * DISTANCE, 0.1 * DISTANCE], [0.0, 0.0, 0.6 * DISTANCE]], mass=1e-3)
    scene.add_rod(
        pdgpu.Mesh([[-0.05, 0.4 * DISTANCE, 0.001], [0.05, 0.45 * DISTANCE, -0.002]], edges=[[0, 1]]), pdgpu.Spring(10.0), density=0.1
    )
    return scene


SCENES = {"corner over an edge": corner_over_an_edge, "edges over edges": edges_over_edges, "near a floor": near_a_floor, "grains": grains}


@pytest.mark.filterwarnings("ignore:obstacles")  # of the one without contact, that is compared with
@pytest.mark.parametrize("separation", [0.0, 2e-4])
@pytest.mark.parametrize("area_weighted", [True, False])
@pytest.mark.parametrize("name", SCENES)
def test_gradient_and_hessian(name, area_weighted, separation):
    """If it failed, Newton's method would go where the potential does not fall, or converge slowly for no reason that is to be seen."""
    if name == "grains" and area_weighted:
        stiffness = 0.1
    else:
        stiffness = 1e4 if area_weighted else 1e9
    contact = pdgpu.BarrierContact(DISTANCE, stiffness=stiffness, separation=separation, area_weighted=area_weighted)
    sim = pdgpu.Simulation(SCENES[name](), pdgpu.Newton(), dt=0.01, contact=contact, threads=1)
    free = sim._core.scene.fixed() == 0
    rng = np.random.default_rng(1)
    steps, active = 0, 0
    for k in range(24):
        # along a line, so that nearest features change on it, with a little noise
        way = 1e-3 * np.linspace(-1.0, 1.0, 24)[k] * np.outer(np.linspace(1.0, 0.0, len(free)), [0.3, 0.0, 1.0])
        x = sim.positions + free[:, None] * way
        x += free[:, None] * 2e-5 * rng.standard_normal(x.shape)
        along = free[:, None] * rng.standard_normal(x.shape)
        if not np.isfinite(sim.incremental_potential(x)):
            continue
        steps += 1
        slope = (sim.incremental_potential(x + ALONG * along) - sim.incremental_potential(x - ALONG * along)) / (2.0 * ALONG)
        gradient = sim.gradient(x)
        size = np.linalg.norm(gradient) * np.linalg.norm(along)
        assert abs(slope - (gradient * along).sum()) < 1e-5 * size
        curved = ((sim.gradient(x + ACROSS * along) - sim.gradient(x - ACROSS * along)) / (2.0 * ACROSS)).ravel()
        product = sim.hessian(x) @ along.ravel()
        assert np.linalg.norm(curved - product) < 1e-5 * np.linalg.norm(product)
        plain = pdgpu.Simulation(sim._core.scene, pdgpu.Newton(), dt=0.01, threads=1)
        active += np.abs(gradient - plain.gradient(x)).max() > 0.0
    assert steps > 12 and active > 6
