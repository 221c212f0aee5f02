"""Meshes in near contact that slip, for tests of friction and for the stored numbers of ipctk.

ipctk gives nearly parallel edges no friction; here they have that of their mollified force. In these meshes there are none.
"""

import numpy as np
from contact_meshes import MESHES, joined

import pdgpu
from pdgpu import _host, shapes

FRICTION = _host.ENERGIES.index("friction")
COEFFICIENT, EXTENT, DT = 0.4, 1e-3, 0.01  # mu; e, m; s
SLIPS = {"sticking": 3e-5, "both": 1e-3, "slipping": 1e-2}  # m
FORMS = {"plain": (False, 1e8), "area-weighted and physical": (True, 1e4)}


def turned_layers(cells=10, seed=0):
    """Two sheets of cloth over each other, turned by half a radian: edges cross edges."""
    rng, distance = np.random.default_rng(seed), 0.02
    sheet = shapes.grid((1, 1), cells=(cells, cells))
    points = np.array(sheet.points) - [0.5, 0.5, 0.0]
    c, s = np.cos(0.5), np.sin(0.5)
    upper = points @ np.array([[c, s, 0], [-s, c, 0], [0, 0, 1]]) + [0.003, 0.002, 0.6 * distance]
    rest, triangles = joined((points, sheet.triangles), (upper, sheet.triangles))
    return rest + 0.05 * distance * rng.normal(size=rest.shape), triangles, None, rest, distance


CASES = {"turned layers": turned_layers, **{name: MESHES[name] for name in ("ball on box", "crossing boxes", "nested balls")}}


def slipped(x, slip):
    """Where the points of x are after each has slid on its own."""
    return x + slip * np.sin(1.0 + 1.3 * np.arange(x.size)).reshape(x.shape)


def ours(x_t, x, triangles, rest, distance, form):
    """Energy, gradient (n, 3) and Hessian (CSR) of friction alone."""
    area_weighted, stiffness = FORMS[form]
    sims = []
    for friction in (COEFFICIENT, 0.0):
        scene = pdgpu.Scene((0.0, 0.0, 0.0))
        scene.add_shell(pdgpu.Mesh(rest, triangles=triangles), pdgpu.Spring(1e-6), density=1e-6)
        settings = {"area_weighted": area_weighted, "weighting": "sum", "friction": friction, "friction_velocity": EXTENT / DT}
        contact = pdgpu.BarrierContact(distance, stiffness=stiffness, **settings)
        sims.append(pdgpu.Simulation(scene, pdgpu.Newton(), dt=DT, contact=contact))
        sims[-1].set_state(positions=x_t)
    rubs, slides = sims
    energy = rubs._core.energies(x, True)[FRICTION]
    return energy, rubs.gradient(x) - slides.gradient(x), rubs.hessian(x) - slides.hessian(x)


def of_ipctk(x_t, x, triangles, rest, distance, form):
    """The same of ipctk."""
    import ipctk

    area_weighted, stiffness = FORMS[form]
    faces, x_t = np.asfortranarray(triangles, np.int32), np.asfortranarray(x_t)
    mesh = ipctk.CollisionMesh(np.asfortranarray(rest), np.asfortranarray(ipctk.edges(faces), np.int32), faces)
    collisions, rubbing = ipctk.NormalCollisions(), ipctk.TangentialCollisions()
    collisions.use_area_weighting = area_weighted
    collisions.build(mesh, x_t, distance, 0.0)
    rubbing.build(mesh, x_t, collisions, ipctk.BarrierPotential(distance, stiffness, area_weighted), COEFFICIENT)
    assert len(rubbing) == len(collisions)  # no edges that are nearly parallel
    potential, move = ipctk.FrictionPotential(EXTENT), np.asfortranarray(x - x_t)
    hessian = potential.hessian(rubbing, mesh, move, ipctk.PSDProjectionMethod.NONE).tocsr()
    return potential(rubbing, mesh, move), potential.gradient(rubbing, mesh, move).reshape(-1, 3), hessian


def configurations():
    """(name, form, slip) -> (x_t, x, triangles, rest, distance)."""
    for name, make in CASES.items():
        x_t, triangles, _, rest, distance = make()
        for form in FORMS:
            for slip, length in SLIPS.items():
                yield (name, form, slip), (x_t, slipped(x_t, min(length, 0.1 * distance)), triangles, rest, distance)
