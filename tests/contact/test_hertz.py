"""An elastic ball pressed on a floor, against Hertz [1882; Johnson 1985, Contact Mechanics, Eqs. 4.22-4.24]."""

import numpy as np
import pytest
from contact_scenes import NO_GRAVITY, positive

import pdgpu

RADIUS, YOUNG, POISSON = 1.0, 1e6, 0.3
CONTACT_RADII = (0.06, 0.068, 0.077, 0.087)  # of the ball's
ELEMENTS = (8, 10, 12)  # in the smallest of them
DISTANCE, STIFFNESS = 2e-4, 1e7


GROWTH = 60.0  # of the size of elements, from the contact to the far side


def quarter(elements):
    """A quarter of the lower half of a ball around the origin, fine at its lowest point: a graded cube made round.

    So many elements lie along the smallest contact radius: the cube's x there is sqrt(2) of the ball's.
    """
    n = round(elements * np.log(GROWTH) / np.log1p((GROWTH - 1.0) * np.sqrt(2.0) * CONTACT_RADII[0]))
    across = (GROWTH ** (np.arange(n + 1) / n) - 1.0) / (GROWTH - 1.0)
    m = 3 * n // 4
    along = (GROWTH ** (np.arange(m + 1) / m) - 1.0) / (GROWTH - 1.0)
    across, along = across / across[-1], along / along[-1]
    mesh = pdgpu.shapes.beam((1.0, 1.0, 1.0), (len(across) - 1, len(along) - 1, len(across) - 1))
    cells = np.round(mesh.points * [len(across) - 1, len(along) - 1, len(across) - 1]).astype(int)
    x, y, z = across[cells[:, 0]], along[cells[:, 1]] - 1.0, across[cells[:, 2]]
    a, b, c = x**2, y**2, z**2
    points = np.column_stack(
        [
            x * np.sqrt(1.0 - b / 2.0 - c / 2.0 + b * c / 3.0),
            y * np.sqrt(1.0 - c / 2.0 - a / 2.0 + c * a / 3.0),
            z * np.sqrt(1.0 - a / 2.0 - b / 2.0 + a * b / 3.0),
        ]
    )
    return positive(RADIUS * points, mesh.tets)


def force_and_approach(elements):
    """Force on the whole ball, N, and approach of its middle, m, for each contact radius."""
    mesh = quarter(elements)
    points = mesh.points + [0.0, RADIUS + 0.9 * DISTANCE, 0.0]
    scene = pdgpu.Scene(NO_GRAVITY)
    material = pdgpu.NeoHookean.from_young(young=YOUNG, poisson=POISSON)
    body = scene.add_solid(pdgpu.Mesh(points, tets=mesh.tets), material, density=1e-3)
    flat = {axis: np.abs(mesh.points[:, axis]) < 1e-12 for axis in range(3)}
    axes = np.eye(3)
    middle = flat[1]
    # in its middle plane, and on both planes of symmetry, the ball moves along the plane; where two meet, along the line
    for where, directions in (
        (flat[0] & flat[1] & flat[2], None),
        (flat[0] & flat[1] & ~flat[2], dict(line=axes[2])),
        (flat[1] & flat[2] & ~flat[0], dict(line=axes[0])),
        (flat[0] & flat[2] & ~flat[1], dict(line=axes[1])),
        (flat[0] & ~flat[1] & ~flat[2], dict(plane=axes[0])),
        (flat[1] & ~flat[0] & ~flat[2], dict(plane=axes[1])),
        (flat[2] & ~flat[0] & ~flat[1], dict(plane=axes[2])),
    ):
        if directions is None:
            body.pin(where)
        else:
            body.slide(where, **directions)
    scene.add_obstacle(pdgpu.Plane((0.0, 0.0, 0.0), (0.0, 1.0, 0.0)), name="floor")
    contact = pdgpu.BarrierContact(DISTANCE, stiffness=STIFFNESS)
    # nearly without mass, and in large steps: at rest after each
    sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=60, tolerance=1e-7, initialization="previous"), dt=10.0, contact=contact)
    found = []
    for radius in CONTACT_RADII:
        x = sim.positions
        height = RADIUS + 0.9 * DISTANCE - radius**2 * RADIUS
        x[:, 1] *= height / x[middle, 1][0]  # all of it, so that nothing goes through the floor
        sim.set_state(positions=x, velocities=np.zeros_like(x))
        sim.step()
        forces = sim.contact_forces()
        gap = forces.distance[np.argmin(np.linalg.norm(forces.points[:, 0, [0, 2]], axis=1))]
        found.append((4.0 * (forces.normal_force * forces.normal[:, 1]).sum(), RADIUS - (height - gap)))
        reached = np.linalg.norm(forces.points[forces.normal_force > 0.0, 0][:, [0, 2]], axis=1).max()
        assert reached < 0.15 * RADIUS
    return np.array(found).T


@pytest.mark.stress
@pytest.mark.timeout(3600)
def test_a_ball_on_a_floor():
    """If it failed, the force of a contact would depend on its size or on the mesh in another way than nature has it."""
    modulus, factors = YOUNG / (1.0 - POISSON**2), []
    for elements in ELEMENTS:
        force, approach = force_and_approach(elements)
        exponent = np.polyfit(np.log(approach), np.log(force), 1)[0]
        hertz = 4.0 / 3.0 * modulus * np.sqrt(RADIUS) * approach**1.5
        factors.append(force[0] / hertz[0])
        print(f"{elements} elements: exponent {exponent:.3f}, force over Hertz's {np.round(force / hertz, 4)}")
        assert abs(exponent - 1.5) < 0.05
        assert abs(factors[-1] - 1.0) < 0.1
    at_zero = np.polyfit(1.0 / np.array(ELEMENTS, dtype=float) ** 2, factors, 1)[1]
    print(f"extrapolated {at_zero:.4f}")
    assert abs(at_zero - 1.0) < 0.05
