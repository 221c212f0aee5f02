"""An arch of loose blocks, which stands by friction alone: against the theorem of limit analysis."""

import numpy as np
import pytest
from scipy.optimize import linprog

import pdgpu

BLOCKS, INNER, OUTER, GAP = 7, 1.0, 1.3, 9e-4  # m


def can_stand(coefficient):
    """Whether forces within the cones of friction at the ends of every joint can hold all blocks: two components, normal and along, at two
    points of each of BLOCKS + 1 joints [Livesley 1978, Limit analysis of structures formed from rigid blocks]."""
    angle = np.pi / BLOCKS
    area = 0.5 * angle * (OUTER**2 - INNER**2)
    radius = 2.0 / 3.0 * (OUTER**3 - INNER**3) / (OUTER**2 - INNER**2) * np.sin(angle / 2) / (angle / 2)  # of the centre of mass
    n = 4 * (BLOCKS + 1)
    balance, weight = np.zeros((3 * BLOCKS, n)), np.tile([0.0, area, 0.0], BLOCKS)
    for block in range(BLOCKS):
        turn = (block + 0.5) * angle
        centre = radius * np.array([-np.cos(turn), np.sin(turn)])
        for joint, sign in ((block, 1.0), (block + 1, -1.0)):
            normal = np.array([np.sin(joint * angle), np.cos(joint * angle)])
            along = np.array([-np.cos(joint * angle), np.sin(joint * angle)])
            for end, r in enumerate((INNER, OUTER)):
                arm = r * along - centre
                for component, direction in enumerate((normal, along)):
                    force = sign * direction
                    column = 4 * joint + 2 * end + component
                    balance[3 * block : 3 * block + 3, column] = *force, arm[0] * force[1] - arm[1] * force[0]
    cone = np.zeros((n, n))
    for row in range(n):
        point = row // 2
        cone[row, 2 * point], cone[row, 2 * point + 1] = -coefficient, (-1.0) ** row
    bounds = [(0.0, None) if k % 2 == 0 else (None, None) for k in range(n)]
    return linprog(np.zeros(n), A_ub=cone, b_ub=np.zeros(n), A_eq=balance, b_eq=weight, bounds=bounds, method="highs").status == 0


def critical():
    low, high = 0.0, 2.0
    for _ in range(30):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if can_stand(middle) else (middle, high)
    return high


def sinking(coefficient, seconds, rigid=False):
    """How far the keystone comes down, m, of blocks that hardly deform or do not; of these from a quarter of a second on, in
    which they close the gaps that they are built with by 9 mm."""
    scene = pdgpu.Scene()
    angle = np.pi / BLOCKS
    cube = pdgpu.shapes.beam((1.0, 1.0, 1.0), (1, 1, 1))
    for block in range(BLOCKS):
        turn = (block + cube.points[:, 0]) * angle
        radius = INNER + (OUTER - INNER) * cube.points[:, 1]
        points = np.stack([-radius * np.cos(turn), radius * np.sin(turn), 0.3 * cube.points[:, 2]], axis=1)
        middle = (block + 0.5) * angle
        points += GAP / (2.0 * np.sin(angle / 2)) * np.array([-np.cos(middle), np.sin(middle), 0.0]) + [0.0, GAP / 2, 0.0]
        edges = points[cube.tets[:, 1:]] - points[cube.tets[:, :1]]
        tets = np.where((np.linalg.det(edges) < 0.0)[:, None], cube.tets[:, [0, 1, 3, 2]], cube.tets)
        mesh = pdgpu.Mesh(points, tets=tets)
        if rigid:
            scene.add_rigid(mesh, density=2000.0)
        else:
            scene.add_solid(mesh, pdgpu.NeoHookean.from_young(1e8, 0.2), density=2000.0)
    scene.add_obstacle(pdgpu.Plane((0, 0, 0), (0, 1, 0)), name="ground")
    contact = pdgpu.BarrierContact(1e-3, friction=coefficient)
    sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=100, tolerance=1e-6), dt=0.01, contact=contact)
    keystone = scene.bodies[BLOCKS // 2].slice
    if rigid:
        sim.step(25)
    start = sim.positions[keystone, 1].mean()
    sim.step(round(seconds / 0.01))
    return start - sim.positions[keystone, 1].mean()


@pytest.mark.parametrize("rigid", [False, True])
def test_an_arch_stands_above_its_critical_friction_and_falls_below(rigid):
    """If not, friction is a tenth too weak or too strong where forces have to find their way through many contacts."""
    coefficient = critical()
    assert 0.25 < coefficient < 0.35
    assert sinking(1.1 * coefficient, 0.5, rigid) < 3e-3
    assert sinking(0.9 * coefficient, 0.5, rigid) > 0.05


@pytest.mark.stress
def test_an_arch_stands_for_long():
    coefficient = critical()
    assert sinking(1.1 * coefficient, 5.0) < 0.02
    assert sinking(0.95 * coefficient, 1.5) > 0.2
