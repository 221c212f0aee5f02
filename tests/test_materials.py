"""Materials as descriptions: what they print, refuse, convert and become on a body."""

import warnings

import inputs
import numpy as np
import pytest

import pdgpu

HYPERELASTIC = (pdgpu.NeoHookean, pdgpu.LogNeoHookean, pdgpu.FixedCorotated, pdgpu.StVK, pdgpu.Corotated)
TET = np.array([[[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]])
PAIR = np.repeat(TET, 2, axis=0)


def test_from_young_keeps_and_shows_what_was_given():
    """If not, a printed scene no longer tells the modulus it was made with."""
    assert repr(pdgpu.NeoHookean(1e5, 1e6)) == "NeoHookean(mu=100000, lam=1e+06)"
    assert repr(pdgpu.NeoHookean.from_young(1e5, 0.45)) == "NeoHookean.from_young(young=100000, poisson=0.45)"
    assert repr(pdgpu.StVK.from_young([1.0, 2.0], 0.3)) == "StVK.from_young(young=array of 2, poisson=0.3)"
    assert (
        repr(pdgpu.WorldBox([0, -np.inf, 0], [1, 2, np.inf], 5)) == "WorldBox(lower=[0.0, -inf, 0.0], upper=[1.0, 2.0, inf], stiffness=5)"
    )
    assert pdgpu.StVK.from_young(1.0, 0.3) == pdgpu.StVK.from_young(1.0, 0.3) != pdgpu.Corotated.from_young(1.0, 0.3)
    assert pdgpu.StVK(1.0, 0.3) != pdgpu.StVK.from_young(1.0, 0.3)


@pytest.mark.parametrize("kind", HYPERELASTIC)
def test_constants_may_differ_from_element_to_element(kind):
    """If not, a heterogeneous body is simulated as a uniform one."""
    x = PAIR * [1.1, 1.0, 0.95]
    for make, first, second in ((kind, [1.0, 2.0], [5.0, 3.0]), (kind.from_young, [1.0, 2.0], [0.4, 0.2])):
        together = pdgpu.elements.energy(make(first, second), x, PAIR)
        apart = [pdgpu.elements.energy(make(a, b), x[:1], TET)[0] for a, b in zip(first, second, strict=True)]
        np.testing.assert_allclose(together, apart, rtol=1e-14)
        mixed = pdgpu.elements.energy(make(first, second[0]), x, PAIR)
        np.testing.assert_allclose(mixed, [pdgpu.elements.energy(make(a, second[0]), x[:1], TET)[0] for a in first], rtol=1e-14)


def test_young_is_converted_by_the_body_it_meets():
    """If not, a sheet gets the constants of a block: plane stress is lam = E nu/(1 - nu^2)."""
    for kind in (pdgpu.StVK, pdgpu.Corotated):
        material = kind.from_young(2.6, 0.3)
        _, _, solid = material.elements(TET)
        _, _, shell = material.elements(TET[:, :3])
        np.testing.assert_allclose(solid, [[2.0 / 6, 2.6 * 0.3 / (1.3 * 0.4) / 6]])
        np.testing.assert_allclose(shell, [[2.0 / 2, 2.6 * 0.3 / 0.91 / 2]])
        with pytest.raises(ValueError, match=rf"{kind.__name__}\.poisson: must be less than 0.5 for a solid, got 0.5 at 1"):
            kind.from_young(1.0, [0.3, 0.5]).elements(PAIR)
        kind.from_young(1.0, 0.5).elements(TET[:, :3])
    assert pdgpu.NeoHookean.from_young(2.6, 0.3).lame(1, 3) == (pytest.approx(1.0), pytest.approx(2.5))


def test_neo_hookean_says_where_its_rest_shape_is_unstable():
    """If not, a body collapses by itself, and its owner looks for the mistake elsewhere."""
    for mu, lam, words in [
        (3.0, 1.0, ["lam = 1", "mu = 3", "at 0"]),
        ([1.0, 3.0, 9.0], 1.5, ["lam = 1.5", "mu = 9", "at 2"]),
        (0.0, 0.0, ["lam = 0"]),
    ]:
        with pytest.raises(ValueError, match=r"NeoHookean\.lam: must be greater than mu/3") as caught:
            pdgpu.NeoHookean(mu, lam)
        assert all(word in str(caught.value) for word in words)
    with pytest.warns(UserWarning, match=r"NeoHookean\.lam: 2 is less than mu = 3 at 1.*negative") as warned:
        pdgpu.NeoHookean([1.0, 3.0], 2.0)
    assert warned[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pdgpu.NeoHookean(3.0, 3.0)
        pdgpu.NeoHookean.from_young(1.0, 0.0)


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: pdgpu.NeoHookean(-1.0, 5.0), ValueError, ["NeoHookean.mu", "-1"]),
        (lambda: pdgpu.NeoHookean(1.0, [5.0, -5.0]), ValueError, ["NeoHookean.lam", "-5", "at 1"]),
        (lambda: pdgpu.StVK(1.0, -1e-9), ValueError, ["StVK.lam", "-1e-09"]),
        (lambda: pdgpu.Corotated(np.nan, 1.0), ValueError, ["Corotated.mu", "nan"]),
        (lambda: pdgpu.Corotated("soft", 1.0), TypeError, ["Corotated.mu", "soft"]),
        (lambda: pdgpu.StVK([1.0, 2.0], [1.0, 2.0, 3.0]), ValueError, ["StVK.mu", "(3)", "(2,)"]),
        (lambda: pdgpu.StVK.from_young([1.0, 2.0], [0.1, 0.2, 0.3]), ValueError, ["StVK.young", "(3)", "(2,)"]),
        (lambda: pdgpu.NeoHookean.from_young(-1.0, 0.3), ValueError, ["NeoHookean.young", "-1"]),
        (lambda: pdgpu.NeoHookean.from_young(1.0, 0.5), ValueError, ["NeoHookean.poisson", "less than 0.5", "0.5"]),
        (lambda: pdgpu.StVK.from_young(1.0, [0.2, 0.6]), ValueError, ["StVK.poisson", "at most 0.5", "0.6", "at 1"]),
        (lambda: pdgpu.Corotated.from_young(1.0, -0.1), ValueError, ["Corotated.poisson", "-0.1"]),
        (lambda: pdgpu.WorldBox([0, 0], [1, 1, 1], 1.0), ValueError, ["WorldBox.lower", "(2,)"]),
        (lambda: pdgpu.WorldBox([0, 0, 0], [1, 0, 1], 1.0), ValueError, ["WorldBox.lower", "0 and 0", "axis 1"]),
        (lambda: pdgpu.WorldBox([0, 0, np.nan], [1, 1, 1], 1.0), ValueError, ["WorldBox.lower", "nan", "2"]),
        (lambda: pdgpu.WorldBox([np.inf, 0, 0], [np.inf, 1, 1], 1.0), ValueError, ["inf", "axis 0"]),
        (lambda: pdgpu.WorldBox([0, 0, 0], ["a", "b", "c"], 1.0), TypeError, ["WorldBox.upper", "<U1"]),
        (lambda: pdgpu.WorldBox([0, 0, 0], [1, 1, 1], 0.0), ValueError, ["WorldBox.stiffness", "greater than 0"]),
        (lambda: pdgpu.Scene().set_world_box([0, 0, 0], [1, 1, 1], -2.0), ValueError, ["stiffness", "-2"]),
        (lambda: pdgpu.Scene().set_world_box([0, 0, 0], [1, 1, 1], [1.0, 2.0]), TypeError, ["stiffness"]),
    ],
)
def test_bad_constants_are_refused(make, error, words):
    """If not, a slip in a script becomes a wrong number."""
    with pytest.raises(error) as caught:
        make()
    assert all(word in str(caught.value) for word in words), caught.value


def test_bodies_and_solvers_a_material_fits():
    """If not, neo-Hookean cloth or a local step of StVK is computed from formulas that do not exist."""
    beam = pdgpu.shapes.beam((1, 1, 1), cells=(1, 1, 1))
    cloth = pdgpu.Mesh(inputs.cloth(1)[0], triangles=inputs.cloth(1)[1])
    with pytest.raises(TypeError, match="NeoHookean cannot be given to a shell, only to solid"):
        pdgpu.Scene().add_shell(cloth, pdgpu.NeoHookean(1.0, 2.0), density=1.0)
    with pytest.raises(TypeError, match="WorldBox cannot be given to a solid"):
        pdgpu.Scene().add_solid(beam, pdgpu.WorldBox([0, 0, 0], [1, 1, 1], 1.0), density=1.0)
    capabilities = pdgpu.capabilities()
    for kind in HYPERELASTIC:
        scene = pdgpu.Scene()
        scene.add_solid(beam, [kind(1.0, 2.0), pdgpu.ARAP(1.0)], density=1.0)
        for solver in (pdgpu.ProjectiveDynamics(), pdgpu.PBD(), pdgpu.NonlinearCG()):
            with pytest.raises(TypeError, match=f"{type(solver).__name__} does not take the material {kind.__name__}"):
                pdgpu.Simulation(scene, solver)
            assert kind.__name__ not in capabilities[type(solver).__name__]["materials"]
        for solver in (pdgpu.Newton(iterations=1), pdgpu.VertexBlockDescent(iterations=1)):
            pdgpu.Simulation(scene, solver).step()
            assert kind.__name__ in capabilities[type(solver).__name__]["materials"]


def test_the_sweeps_say_that_they_run_on_cuda():
    """If not, a reader of capabilities() looks elsewhere for a solver that runs on his GPU."""
    capabilities = pdgpu.capabilities()
    for name in ("VertexBlockDescent", "BlockJacobi", "GradientDescent", "XPBD"):
        assert capabilities[name]["devices"] == ["cpu", "cuda"]
    takers = {"Newton", "QuasiNewton", "VertexBlockDescent", "BlockJacobi", "GradientDescent"}
    assert {name for name, entry in capabilities.items() if entry["rigid"]} == takers


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_saved_scene_keeps_its_materials(dtype, tmp_path):
    """If not, a run that is resumed continues with other constants, or without its walls."""
    scene = pdgpu.Scene()
    beam = pdgpu.shapes.beam((1, 0.5, 0.5), cells=(2, 1, 1))
    scene.add_solid(beam, pdgpu.NeoHookean.from_young(np.linspace(1e4, 2e4, len(beam.tets)), 0.4), density=500.0, damping=0.01)
    cloth = pdgpu.Mesh(*inputs.cloth(2)[:1], triangles=inputs.cloth(2)[1])
    rigidity = np.linspace(0.1, 0.2, len(cloth.hinges))
    scene.add_shell(cloth, [pdgpu.StVK(50.0, 20.0), pdgpu.Corotated(5.0, 3.0)], density=0.2, flexural_rigidity=rigidity)
    scene.add_shell(cloth, [pdgpu.StVK(50.0, 20.0), pdgpu.Bending(flexural_rigidity=rigidity)], density=0.2)
    scene.set_world_box((-np.inf, -0.01, -5), (np.inf, np.inf, 0.45), 2e3)
    through, stopped = (pdgpu.Simulation(scene, pdgpu.VertexBlockDescent(iterations=4), dt=1 / 60, dtype=dtype) for _ in range(2))
    through.step(4)
    stopped.step(2)
    stopped.save(tmp_path / "half")
    resumed = pdgpu.Simulation.load(tmp_path / "half")
    resumed.step(2)
    assert resumed.positions.tobytes() == through.positions.tobytes()
    assert resumed.energies() == through.energies()
    assert set(resumed.energies()["elastic"]) == {"NeoHookean", "StVK", "Corotated", "HingeBending", "Bending", "WorldBox"}


def test_a_refusal_names_the_solvers_that_can():
    """If not, a user tries one solver after the other."""
    scene = pdgpu.Scene()
    scene.add_solid(pdgpu.shapes.beam((1, 1, 1), cells=(1, 1, 1)), [pdgpu.StVK(1.0, 1.0), pdgpu.Volume(1.0)], density=1.0)
    for solver in (pdgpu.ProjectiveDynamics(), pdgpu.PBD(), pdgpu.NonlinearCG()):
        with pytest.raises(TypeError, match=f"{type(solver).__name__} does not take the material StVK; ") as caught:
            pdgpu.Simulation(scene, solver)
        named = str(caught.value).split("; ")[1].removesuffix(" take all materials of the scene").split(", ")
        able = [name for name, entry in pdgpu.capabilities().items() if {"StVK", "Volume"} <= set(entry["materials"])]
        assert named == able and len(able) >= 5
        for name in named:
            pdgpu.Simulation(scene, getattr(pdgpu, name)())
