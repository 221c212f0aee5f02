"""One batch of elements of every kind, and its deformation by definition; shared by the tests of elements."""

import numpy as np

import pdgpu
from pdgpu.materials.joint_elements import Slide, Swing

TET = np.array([[0.0, 0.0, 0.0], [1.0, 0.1, 0.0], [0.2, 0.9, 0.1], [0.1, 0.2, 1.1]])
UNIT = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])  # F = the matrix applied to it
HINGE = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.4, 0.9, 0.0], [0.6, -1.1, 0.0]])
BENT = HINGE + [[0, 0, 0], [0, 0, 0], [0, 0, 0.4], [0, 0, 0.3]]
STRAIGHT = np.array([[0.1, 0.0, 0.0], [1.0, 0.0, 0.0], [-0.5, 0.0, 0.0]])
JOINED = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.1, 0.2, 1.1], [0.1, 1.2, 1.1]])
SWUNG = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.3, 0.0], [0.5, 0.5, 0.0]])
TURNED = np.linalg.qr(np.array([[1.0, 0.4, -0.3], [0.2, -1.0, 0.5], [0.7, 0.3, 0.9]]))[0]  # the axes of an orthotropic solid
ORTHOTROPIC = pdgpu.OrthotropicSolid((90.0, 60.0, 20.0), (0.3, 0.5, 0.4), (25.0, 40.0, 8.0), axes=TURNED)
WOVEN = pdgpu.OrthotropicShell(90.0, 40.0, 12.0, 0.5, direction=(0.3, 1.0, 0.2))
CASES = {
    "spring": (pdgpu.Spring(30.0), TET[:2]),
    "arap tet": (pdgpu.ARAP(50.0), TET),
    "arap triangle": (pdgpu.ARAP(50.0), TET[:3]),
    "bending, flat": (pdgpu.Bending(2.0), HINGE),
    "bending, curved": (pdgpu.Bending(2.0), BENT),
    "rod bending, straight": (pdgpu.RodBending(2.0), STRAIGHT),
    "rod bending, curved": (pdgpu.RodBending(2.0), TET[:3]),
    "volume": (pdgpu.Volume(40.0), TET),
    "area": (pdgpu.Area(40.0), TET[:3]),
    "strain limit tet": (pdgpu.StrainLimit(0.9, 1.1, 70.0), TET),
    "strain limit triangle": (pdgpu.StrainLimit(0.9, 1.1, 70.0), TET[:3]),
    "shape target": (pdgpu.ShapeTarget(40.0, [[1.3, 0.2, 0.0], [-0.4, 0.8, 0.1], [0.0, 0.3, 1.1]]), TET),
    "attachment": (pdgpu.Attachment(20.0), TET[:1]),
    "world box": (pdgpu.WorldBox([-0.2, -np.inf, -0.1], [0.3, 0.25, np.inf], 20.0), TET[:1]),
    "neo-Hookean tet": (pdgpu.NeoHookean(30.0, 90.0), TET),
    "stvk tet": (pdgpu.StVK(30.0, 50.0), TET),
    "stvk triangle": (pdgpu.StVK(30.0, 50.0), TET[:3]),
    "corotated tet": (pdgpu.Corotated(30.0, 50.0), TET),
    "corotated triangle": (pdgpu.Corotated(30.0, 50.0), TET[:3]),
    "log neo-Hookean tet": (pdgpu.LogNeoHookean(30.0, 50.0), TET),
    "fixed corotated tet": (pdgpu.FixedCorotated(30.0, 50.0), TET),
    "orthotropic tet": (ORTHOTROPIC, TET),
    "orthotropic triangle": (WOVEN, TET[:3]),
    "hinge, flat": (pdgpu.HingeBending(2.0), HINGE),
    "hinge, curved": (pdgpu.HingeBending(2.0), BENT),
    "slide": (Slide(20.0, 30.0, -0.4, 0.6), JOINED),
    "world slide": (Slide(20.0, 30.0, -0.4, 0.6, (0.6, 0.0, 0.8)), TET[:1]),
    "swing": (Swing(20.0, 0.5), SWUNG),
    "world swing": (Swing(20.0, 0.5, (1.0, 0.0, 0.0)), SWUNG[:2]),
}
PROJECTIVE = [name for name, (material, _) in CASES.items() if material.projective]
FLAT = ("bending, flat", "rod bending, straight")
BENT_AT_REST = ("bending, curved", "rod bending, curved")
ELSEWHERE = ("shape target",)  # these seek another shape than that at rest
HELD = ("attachment", "world box", "world slide", "world swing")  # these hold a place or a direction in space


def deformation(material, x, rest):
    """F (m,3,d) by its definition, from the rest gradients."""
    if rest.shape[1] == 1:
        return (x - rest)[:, 0, :, None]
    gradients, _ = material.rest_shape(np.ascontiguousarray(rest, dtype=np.float64))
    return np.einsum("mic,mid->mcd", x[:, 1:] - x[:, :1], gradients.reshape(len(x), rest.shape[1] - 1, -1))


def beyond_limits(case, F):
    """By how much (m,) the nearest limit of a joint is passed; there the Hessian jumps."""
    one = F[:, :, 0]
    other = {"world slide": [0.6, 0.0, 0.8], "world swing": [1.0, 0.0, 0.0]}.get(case)
    along = np.einsum("mc,mc->m", one, F[:, :, 1] if other is None else np.broadcast_to(other, one.shape))
    if "swing" in case:
        return np.cos(0.5) - along
    return np.where(along < 0.1, -0.4 - along, along - 0.6)


def samples(case, seed=0, n=60):
    """Deformed copies of the rest shape: near rest, strongly sheared, inverted; away from the points where F has no derivative."""
    material, rest = CASES[case]
    rng = np.random.default_rng(seed)
    rest = np.broadcast_to(rest, (n, *rest.shape)).copy()
    x = rest + rng.normal(size=rest.shape) * rng.choice([0.05, 0.3, 1.0], size=(n, 1, 1))
    if "curved" not in case:
        x[: n // 4, :, 2] *= -1.0  # mirrored: tets inverted
    s = np.linalg.svd(deformation(material, x, rest), compute_uv=False)
    fine = s[:, -1] > 0.05  # flat elements and zero lengths have tests of their own
    if s.shape[1] == 3:
        inverted = np.linalg.det(deformation(material, x, rest)) < 0
        fine &= np.where(inverted, s[:, 1] - s[:, 2] > 0.05, True)
        fine &= np.abs(s[:, 0] - s[:, 1]) > 0.02
    if case == "log neo-Hookean tet":
        fine &= np.linalg.det(deformation(material, x, rest)) > 0.05  # infinite elsewhere
    if "strain" in case:
        fine &= np.all(np.abs(np.abs(s)[:, :, None] - [0.9, 1.1]) > 0.01, axis=(1, 2))
    if case == "world box":
        sides = np.stack([material._constants["lower"], material._constants["upper"]])
        fine &= np.all(np.abs((x - rest)[:, 0, None] - sides) > 1e-3, axis=(1, 2))
    if "slide" in case or "swing" in case:
        fine &= np.abs(beyond_limits(case, deformation(material, x, rest))) > 1e-3
    if "volume" in case or "area" in case:
        fine &= np.prod(s, axis=1) < 1.8  # below the fork where the nearest point jumps
    return material, x[fine], rest[fine]


def rotations(n, rng):
    """n random rotations."""
    q = np.linalg.qr(rng.normal(size=(n, 3, 3)))[0]
    q[:, :, 0] *= np.sign(np.linalg.det(q))[:, None]
    return q


def central_differences(function, x, delta=1e-6):
    """Derivative of function(x (m,k,3)) -> (m, ...) by every coordinate of each row, (m, ..., 3k)."""
    columns = []
    for i in range(x.shape[1]):
        for c in range(3):
            step = np.zeros_like(x)
            step[:, i, c] = delta
            columns.append((function(x + step) - function(x - step)) / (2 * delta))
    return np.stack(columns, axis=-1)
