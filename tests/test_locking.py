"""Linear tets lock near incompressibility, and who adds such a body is told."""

import warnings
from pathlib import Path

import numpy as np
import pytest

import pdgpu
from pdgpu import elements
from pdgpu.materials.locking import poisson_ratio

YOUNG = 1e5
BEAM = pdgpu.shapes.beam((1.0, 0.1, 0.1), cells=(10, 2, 2))
TET = np.array([[[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]])


def with_ratio(kind, ratio):
    """Materials with Young's modulus YOUNG and a Poisson's ratio."""
    if kind is not pdgpu.Volume:
        return kind.from_young(YOUNG, ratio)
    mu = YOUNG / (2.0 * (1.0 + ratio))
    return [pdgpu.ARAP(mu), pdgpu.Volume(3.0 * 2.0 * mu * ratio / (1.0 - 2.0 * ratio))]


def tip(materials):
    """How far the tip of a cantilever sinks under its weight in balance, m."""
    scene = pdgpu.Scene(gravity=(0.0, 0.0, -9.81))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scene.add_solid(BEAM, materials, density=100.0).pin(BEAM.points[:, 0] == 0.0)
    sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=100), dt=None)
    sim.step()
    end = BEAM.points[:, 0] == 1.0
    return (BEAM.points - sim.positions)[end, 2].mean()


def test_tets_lock_as_the_page_says():
    """If not, the figures of the page are not those of pdgpu. A beam's tip owes its place to Young's modulus, and nearly nothing to the
    ratio; that of tets does not."""
    soft, locked = tip(with_ratio(pdgpu.NeoHookean, 0.3)), tip(with_ratio(pdgpu.NeoHookean, 0.499))
    page = " ".join((Path(__file__).parent.parent / "docs" / "limits.md").read_text().split())
    assert f"sinks {soft:.2f} m with a Poisson's ratio of 0.3 and {locked:.3f} m with 0.499" in page
    for kind in (pdgpu.StVK, pdgpu.Corotated, pdgpu.Volume):
        assert tip(with_ratio(kind, 0.499)) == pytest.approx(locked, rel=0.1)


def test_triangles_do_not_lock():
    """If they did, shells would need the warning too: a strip is bent within its plane."""
    mesh = pdgpu.shapes.grid((1.0, 0.1), cells=(10, 2))
    end = np.flatnonzero(mesh.points[:, 0] == 1.0)

    def bent(ratio):
        scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
        strip = scene.add_shell(mesh, pdgpu.StVK.from_young(YOUNG, ratio), density=1.0)
        strip.pin(mesh.points[:, 0] == 0.0)
        strip.slide(mesh.points[:, 0] > 0.0, plane=(0, 0, 1))
        sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=50), dt=None)
        forces = np.zeros_like(mesh.points)
        forces[end, 1] = 2.0 / len(end)
        sim.external_forces = forces
        sim.step()
        return (sim.positions - mesh.points)[end, 1].mean()

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert bent(0.5) == pytest.approx(bent(0.3), rel=0.02)


@pytest.mark.parametrize(
    "material",
    [
        pdgpu.NeoHookean(3.0, 40.0),
        pdgpu.NeoHookean.from_young(3.0, 0.45),
        pdgpu.StVK(3.0, 40.0),
        pdgpu.StVK.from_young(3.0, 0.45),
        pdgpu.Corotated(3.0, 40.0),
        pdgpu.ARAP(3.0),
        pdgpu.ShapeTarget(3.0, np.eye(3)),
        pdgpu.Volume(40.0),
    ],
    ids=repr,
)
def test_small_strains(material):
    """If not, a ratio is taken for another one: mu |e|^2 + lam/2 tr(e)^2 is the energy of a small strain e."""
    mu, lam = (float(np.ravel(constant)[0]) for constant in material.small_strain(1))
    rng = np.random.default_rng(2)
    for strain in (np.eye(3), *(a + a.T for a in rng.standard_normal((4, 3, 3)))):
        small = 1e-4 * strain / np.linalg.norm(strain)
        found = 6.0 * elements.energy(material, TET @ (np.eye(3) + small), TET)[0]
        expected = mu * np.sum(small**2) + 0.5 * lam * np.trace(small) ** 2
        assert found == pytest.approx(expected, rel=2e-3, abs=1e-3 * (mu + lam) * 1e-8)


def test_the_ratio():
    assert poisson_ratio(1.0, 1.0) == 0.25 and poisson_ratio(0.0, 0.0) == 0.0 and poisson_ratio(0.0, 2.0) == 0.5
    np.testing.assert_allclose(poisson_ratio([1e308, 1e-308, 1.0], [1e308, 1e-308, -0.5]), [0.25, 0.25, -0.5], rtol=1e-14)


def warned(materials):
    """The warnings of adding a solid and of a simulation of it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        scene = pdgpu.Scene()
        scene.add_solid(BEAM, materials, density=100.0, name="bar")
        pdgpu.Simulation(scene, pdgpu.Newton(), dt=0.01)
    return caught


@pytest.mark.parametrize("kind", [pdgpu.NeoHookean, pdgpu.StVK, pdgpu.Corotated, pdgpu.Volume])
def test_who_adds_such_a_body_is_told_once(kind):
    """If not, a body is ten times too stiff without a word."""
    for ratio in (0.45, 0.499):
        (warning,) = warned(with_ratio(kind, ratio))
        names = "ARAP and Volume" if kind is pdgpu.Volume else kind.__name__
        expected = f"material: {names} of body 'bar' has a Poisson's ratio of {ratio}; linear tets lock from 0.45 on, "
        assert str(warning.message).startswith(expected) and "take a lower ratio, or a finer mesh" in str(warning.message)
        assert warning.category is UserWarning and warning.filename == __file__
    assert not warned(with_ratio(kind, 0.449))


def test_constants_of_their_own():
    ratio = np.full(len(BEAM.tets), 0.3)
    ratio[[3, 7]] = 0.46, 0.47
    (warning,) = warned(pdgpu.NeoHookean.from_young(YOUNG, ratio))
    assert f"a Poisson's ratio of 0.47 in 2 of {len(ratio)} tets; " in str(warning.message)
    # (lam - mu) / (2 lam) of this energy, not lam / (2 (lam + mu))
    assert not warned(pdgpu.NeoHookean(1.0, 9.5)) and warned(pdgpu.NeoHookean(1.0, 10.0)) and warned(pdgpu.StVK(1.0, 9.5))


def test_what_does_not_lock_says_nothing():
    """If not, the warning is learnt to be ignored."""
    assert not warned(pdgpu.ARAP.from_young(YOUNG, 0.499))  # its ratio is 0: only the shear modulus is taken
    assert not warned([pdgpu.NeoHookean.from_young(YOUNG, 0.46), pdgpu.ARAP(YOUNG)])  # together they have a lower one
    assert not warned([pdgpu.Spring(100.0), pdgpu.Volume(YOUNG)])
    assert not warned(pdgpu.StVK(0.0, 0.0)) and not warned(pdgpu.StrainLimit(0.9, 1.1, YOUNG))


def test_a_body_out_of_a_file_is_not_told_of_again(tmp_path):
    """If not, a run that goes on repeats what was said when it began."""
    scene = pdgpu.Scene()
    with pytest.warns(UserWarning, match="Poisson's ratio of 0.49;"):
        scene.add_solid(BEAM, pdgpu.NeoHookean.from_young(YOUNG, 0.49), density=100.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pdgpu.Simulation(scene, pdgpu.Newton(), dt=0.01).save(tmp_path / "run")
        pdgpu.Simulation.load(tmp_path / "run")
