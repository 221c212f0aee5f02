"""Materials in Python: the built-in ones written again, on single elements; what is checked where one is made."""

import pickle
import sys

import numpy as np
import own_materials
import pytest
from element_cases import UNIT

import pdgpu
from pdgpu import elements

RNG = np.random.default_rng(3)
TETS = UNIT + 0.2 * RNG.normal(size=(40, 4, 3))
STRETCHED = TETS @ np.diag([1.3, 1.2, 1.1]) + 0.05 * RNG.normal(size=TETS.shape)
TRIANGLES, PULLED = TETS[:, :3], 1.2 * STRETCHED[:, :3]
MU, LAM = RNG.uniform(1e3, 2e3, 40), RNG.uniform(3e3, 4e3, 40)
PAIRS = {
    "neo-hookean": (own_materials.own_neo_hookean(MU, LAM), pdgpu.NeoHookean(MU, LAM), TETS, STRETCHED),
    "stvk": (own_materials.own_stvk(MU, LAM), pdgpu.StVK(MU, LAM), TETS, STRETCHED),
    "stvk of a shell": (own_materials.own_stvk(MU, LAM, "shell"), pdgpu.StVK(MU, LAM), TRIANGLES, PULLED),
    "numbers": (own_materials.own_neo_hookean(1e3, 4e3), pdgpu.NeoHookean(1e3, 4e3), TETS, STRETCHED),
}
QUANTITIES = {
    "energy": elements.energy,
    "gradient": elements.gradient,
    "hessian": elements.hessian,
    "psd": lambda *arguments: elements.hessian(*arguments, psd=True),
}


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 1e-5)])
@pytest.mark.parametrize("quantity", QUANTITIES)
@pytest.mark.parametrize("name", PAIRS)
def test_a_built_in_material_written_again_has_its_numbers(name, quantity, dtype, tolerance):
    """If not, F, a parameter, the chain rule or the order of the entries of a Hessian is another one for functions in Python."""
    own, built_in, rest, x = PAIRS[name]
    rest, x = rest.astype(dtype), x.astype(dtype)
    found, expected = (QUANTITIES[quantity](material, x, rest) for material in (own, built_in))
    assert found.dtype == dtype
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=tolerance * np.abs(expected).max())


def test_blocks_are_those_on_the_diagonal_and_never_indefinite():
    """If not, Vertex Block Descent moves by another matrix than the one of the energy, or up."""
    own, built_in, rest, x = PAIRS["neo-hookean"]
    np.testing.assert_allclose(elements.blocks(own, x, rest), elements.blocks(built_in, x, rest), rtol=1e-9, atol=1e-9 * MU.max())
    crushed = UNIT[None] * [0.3, 0.4, 0.3]
    own = own_materials.own_stvk(1e3, 1e3)
    blocks, hessian = elements.blocks(own, crushed, UNIT[None])[0], elements.hessian(own, crushed, UNIT[None])[0]
    exact = np.array([hessian[3 * i : 3 * i + 3, 3 * i : 3 * i + 3] for i in range(4)])
    assert np.linalg.eigvalsh(exact).min() < -100.0
    assert np.linalg.eigvalsh(blocks).min() > -1e-9 and np.linalg.eigvalsh(blocks - exact).min() > -1e-9


@pytest.mark.parametrize("bodies", ["solid", "shell"])
def test_without_a_hessian_it_is_that_of_central_differences(bodies):
    """If not, Newton's method converges to the right answer slowly, or not at all."""
    rest, x = (TETS, STRETCHED) if bodies == "solid" else (TRIANGLES, PULLED)
    for scale in (1.0, 50.0):  # the step follows the size of F
        exact, found = (elements.hessian(own_materials.own_stvk(MU, LAM, bodies, analytic), scale * x, rest) for analytic in (True, False))
        np.testing.assert_allclose(found, exact, rtol=0.0, atol=2e-9 * np.abs(exact).max())
        assert (found == np.swapaxes(found, 1, 2)).all()


def test_large_batches_come_in_parts():
    """If not, the elements behind the first 16,384 get the numbers of others."""
    n = 20000
    mu = np.linspace(1.0, 2.0, n)
    sizes = []

    def energy(F, mu):
        sizes.append(len(F))
        return mu * own_materials.stvk_energy(F, 1.0, 0.0)

    own = pdgpu.CustomMaterial(energy, lambda F, mu: mu[:, None, None] * own_materials.stvk_stress(F, 1.0, 0.0), parameters={"mu": mu})
    rest = np.broadcast_to(UNIT, (n, 4, 3))
    x = rest * np.linspace(1.0, 1.5, n)[:, None, None]
    sizes.clear()
    np.testing.assert_allclose(elements.energy(own, x, rest), mu * elements.energy(pdgpu.StVK(1.0, 0.0), x, rest), rtol=1e-12, atol=1e-15)
    assert sizes == [1 << 14, n - (1 << 14)]


def test_an_energy_may_be_infinite_and_a_stress_not():
    def energy(F):
        J = own_materials.determinant(F)
        return np.where(J > 0.0, 0.5 * ((F**2).sum((1, 2)) - 3.0) - np.log(np.where(J > 0.0, J, 1.0)), np.inf)

    def stress(F):
        return F - own_materials.cofactor(F) / own_materials.determinant(F)[:, None, None]

    own = pdgpu.CustomMaterial(energy, stress)
    inverted = UNIT[None] * [-1.0, 1.0, 1.0]
    assert elements.energy(own, inverted, UNIT[None])[0] == np.inf
    with pytest.raises(ValueError, match=r"CustomMaterial: stress is -?(inf|nan) at element 1, entry \(0, 0\)"), np.errstate(all="ignore"):
        elements.gradient(own, np.stack([UNIT, UNIT * [0.0, 1.0, 1.0]]), np.stack([UNIT, UNIT]))


# ---- what is checked where one is made --------------------------------------------------------------------------------------------------


def changed(which, change, **options):
    """A neo-Hookean material one of whose functions is changed."""
    functions = list(own_materials.NEO_HOOKEAN)
    right = functions[which]
    functions[which] = lambda F, mu, lam: change(right(F, mu, lam), F)
    return pdgpu.CustomMaterial(*functions, parameters={"mu": 1e3, "lam": 4e3}, **options)


def added(value, *index):
    def change(found, F):
        found = found.copy()
        found[(slice(None), *index)] += value * (F[:, 0, 1] if index else 1.0)
        return found

    return change


WRONG = {
    "a wrong stress": (lambda: changed(1, added(10.0, 2, 1)),
        ValueError, r"stress is not the derivative of energy: it is .* at entry \(2, 1\) at F = .* and central differences of energy give"),
    "a wrong hessian": (lambda: changed(2, added(10.0, 3, 7)),
        ValueError, r"hessian is not the derivative of stress: it is .* at entry \(3, 7\) at F"),
    "a stress of the other sign": (lambda: changed(1, lambda P, F: -P),
        ValueError, r"stress is not the derivative of energy"),
    "a transposed stress": (lambda: changed(1, lambda P, F: np.swapaxes(P, 1, 2)),
        ValueError, r"entry \(0, 1\)"),
    "not zero at rest": (lambda: changed(0, lambda E, F: E + 5.0),
        ValueError, r"energy must be 0 at rest, got 5 .*subtract"),
    "no number at rest": (lambda: changed(1, lambda P, F: np.where(F == 0.0, np.nan, P)),
        ValueError, r"stress is nan at entry \(0, 1\) at F = .*must be finite"),
    "the energy of all": (lambda: changed(0, lambda E, F: np.full(len(E), E.sum())),
        ValueError, r"depends on the others of its batch"),
    "one energy": (lambda: changed(0, lambda E, F: E.sum()),
        ValueError, r"energy must have shape \(7,\) for F of shape \(7, 3, 3\), got \(\)"),
    "a flat stress": (lambda: changed(1, lambda P, F: P.reshape(-1, 9)),
        ValueError, r"stress must have shape \(7, 3, 3\).*got \(7, 9\)"),
    "a hessian of four axes": (lambda: changed(2, lambda H, F: H.reshape(-1, 3, 3, 3, 3)),
        ValueError, r"hessian must have shape \(7, 9, 9\)"),
    "complex": (lambda: changed(0, lambda E, F: E + 0j),
        TypeError, r"energy must be real numbers, got .*complex"),
    "nothing": (lambda: changed(1, lambda P, F: None),
        TypeError, r"stress must be real numbers, got NoneType"),
    "ragged": (lambda: changed(0, lambda E, F: [[1.0], [1.0, 2.0]]),
        ValueError, r"energy cannot be read as an array"),
    "written to": (lambda: changed(0, lambda E, F: F.__setitem__(0, 0.0)),
        ValueError, r"read-only"),
    "no function": (lambda: pdgpu.CustomMaterial(1.0, own_materials.stvk_stress),
        TypeError, r"CustomMaterial\.energy: expected a function of F, got 1\.0"),
    "no hessian": (lambda: pdgpu.CustomMaterial(*own_materials.NEO_HOOKEAN[:2], 3.0),
        TypeError, r"CustomMaterial\.hessian: expected a function"),
    "a rod": (lambda: own_materials.own_stvk(1.0, 1.0, "rod"),
        ValueError, r"CustomMaterial\.bodies: expected one of 'solid', 'shell'"),
    "a parameter that is missing": (lambda: pdgpu.CustomMaterial(*own_materials.STVK, parameters={"mu": 1.0}),
        TypeError, r"lam"),
    "a parameter that is no number": (lambda: own_materials.own_stvk(np.nan, 1.0),
        ValueError, r"CustomMaterial\.mu: must be finite"),
    "a parameter of no name": (lambda: pdgpu.CustomMaterial(*own_materials.STVK, parameters={1: 2.0}),
        TypeError, r"expected names"),
    "parameters of two lengths": (lambda: own_materials.own_stvk(np.ones(3), np.ones(4)),
        ValueError, r"lengths .*3.*4"),
    "parameters that are no dict": (lambda: pdgpu.CustomMaterial(*own_materials.STVK, parameters=3.0),
        TypeError, r"expected a dict"),
    "a name that is none": (lambda: own_materials.own_stvk(1.0, 1.0, name=3),
        TypeError, r"CustomMaterial\.name"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_named(name):
    """If not, a wrong derivative shows as a solver that does not converge, after hours."""
    make, kind, words = WRONG[name]
    with pytest.raises(kind, match=words):
        make()


def test_messages_have_the_name_and_the_function():
    with pytest.raises(ValueError, match=r"^CustomMaterial 'rubber': stress is not the derivative"):
        changed(1, added(1.0, 0, 0), name="rubber")
    with pytest.raises(ZeroDivisionError) as raised:
        changed(2, lambda H, F: 1 / 0, name="rubber")
    assert raised.value.__notes__ == ["in hessian of CustomMaterial 'rubber', called with F of shape (7, 3, 3)"]


def test_what_goes_with_it_is_said():
    own = own_materials.own_stvk(1e3, 2e3, "shell", name="cloth")
    assert repr(own) == "CustomMaterial('cloth', mu=1000, lam=2000, \"shell\")"
    assert own == own_materials.own_stvk(1e3, 2e3, "shell") and own != own_materials.own_stvk(1e3, 3e3, "shell")
    assert own != own_materials.own_stvk(1e3, 2e3) and own != pdgpu.StVK(1e3, 2e3)
    with pytest.raises(TypeError, match=r"no energy on elements of 4 vertices, only of \[3\]"):
        elements.energy(own, UNIT[None], UNIT[None])
    with pytest.raises(TypeError, match="has no projection"):
        elements.projection(own, PULLED, TRIANGLES)
    with pytest.raises(ValueError, match=r"CustomMaterial\.mu: expected shape \(1\)"):
        elements.energy(own_materials.own_stvk(np.ones(3), 1.0), UNIT[None], UNIT[None])
    mesh = pdgpu.shapes.beam((1.0, 1.0, 1.0), cells=(1, 1, 1))
    with pytest.raises(TypeError, match="cannot be given to a solid, only to shell"):
        pdgpu.Scene().add_solid(mesh, own, density=1.0)
    copied = pickle.loads(pickle.dumps(own))
    assert copied == own and copied.label == own.label
    with pytest.raises((pickle.PicklingError, AttributeError), match="lambda"):
        pickle.dumps(changed(0, lambda E, F: E))


# ---- derived by SymPy -------------------------------------------------------------------------------------------------------------------


def symbolic(columns, name="saint venant", **parameters):
    sympy = pytest.importorskip("sympy", reason="SymPy is not installed: densities are not derived")
    F = sympy.Matrix(3, columns, lambda a, b: sympy.Symbol(f"F{a}{b}"))
    mu, lam = sympy.symbols("mu lam")
    E = (F.T * F - sympy.eye(columns)) / 2
    density = mu * sum(entry**2 for entry in E) + lam / 2 * E.trace() ** 2
    return pdgpu.CustomMaterial.from_sympy(density, F, parameters={"mu": MU, "lam": LAM} | parameters, name=name)


@pytest.mark.parametrize("columns", [3, 2])
@pytest.mark.parametrize("quantity", QUANTITIES)
def test_derived_functions_are_those_by_hand(quantity, columns):
    """If not, an entry of a derived stress or Hessian is in another place."""
    own = symbolic(columns)
    rest, x = (TETS, STRETCHED) if columns == 3 else (TRIANGLES, PULLED)
    expected = QUANTITIES[quantity](pdgpu.StVK(MU, LAM), x, rest)
    np.testing.assert_allclose(QUANTITIES[quantity](own, x, rest), expected, rtol=0.0, atol=1e-12 * np.abs(expected).max())
    copied = pickle.loads(pickle.dumps(own))
    assert copied == own and (QUANTITIES[quantity](copied, x, rest) == QUANTITIES[quantity](own, x, rest)).all()


def test_what_cannot_be_derived_is_named():
    sympy = pytest.importorskip("sympy", reason="SymPy is not installed: densities are not derived")
    F = sympy.Matrix(3, 3, lambda a, b: sympy.Symbol(f"F{a}{b}"))
    make = pdgpu.CustomMaterial.from_sympy
    with pytest.raises(ValueError, match="the density has the symbol 'mu', which is neither in F nor a parameter"):
        make(sympy.Symbol("mu") * (F[0, 0] - 1) ** 2, F)
    with pytest.raises(ValueError, match=r"symbols: expected shape \(3, 3\) or \(3, 2\), got \(2, 3\)"):
        make(F[0, 0], F[:2, :])
    with pytest.raises(TypeError, match=r"symbols: expected different symbols, got F00 at \(0, 1\)"):
        make(F[0, 0], [[F[0, 0], F[0, 0], F[0, 2]], F[1, :], F[2, :]])
    with pytest.raises(TypeError, match="symbols: expected different symbols"):
        make(F[0, 0], np.eye(3))
    with pytest.raises(TypeError, match="density: expected a scalar SymPy expression"):
        make(F, F)


def test_without_sympy_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "sympy", None)
    with pytest.raises(ImportError, match=r"from_sympy needs SymPy, which is not installed: pip install sympy"):
        pdgpu.CustomMaterial.from_sympy(0, 0)
