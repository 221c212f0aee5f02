"""Materials of pdgpu written again in Python: what a user of pdgpu.CustomMaterial may write."""

import numpy as np

import pdgpu

I3 = np.eye(3)
EPSILON = np.zeros((3, 3, 3))
for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
    EPSILON[i, j, k], EPSILON[i, k, j] = 1.0, -1.0


def cofactor(F):
    return 0.5 * np.einsum("abc,ijk,mbj,mck->mai", EPSILON, EPSILON, F, F)


def determinant(F):
    return np.einsum("mi,mi->m", F[:, 0], cofactor(F)[:, 0])


def column(value):
    """A number, or one number of each element, against matrices."""
    return np.asarray(value)[..., None, None]


def neo_hookean_energy(F, mu, lam):
    J = determinant(F)
    return 0.5 * mu * ((F**2).sum((1, 2)) - 3.0) - mu * (J - 1.0) + 0.5 * lam * (J - 1.0) ** 2


def neo_hookean_stress(F, mu, lam):
    J = determinant(F)[:, None, None]
    return column(mu) * F + (column(lam) * (J - 1.0) - column(mu)) * cofactor(F)


def neo_hookean_hessian(F, mu, lam):
    m, C = len(F), cofactor(F).reshape(-1, 9)
    second = np.einsum("abc,ijk,mck->maibj", EPSILON, EPSILON, F).reshape(m, 9, 9)
    J = determinant(F)[:, None, None]
    return column(mu) * np.eye(9) + column(lam) * C[:, :, None] * C[:, None] + (column(lam) * (J - 1.0) - column(mu)) * second


def green(F):
    return 0.5 * (np.einsum("mki,mkj->mij", F, F) - np.eye(F.shape[2]))


def stvk_energy(F, mu, lam):
    E = green(F)
    return mu * (E**2).sum((1, 2)) + 0.5 * lam * np.einsum("mii->m", E) ** 2


def second_piola(F, mu, lam):
    E = green(F)
    return 2.0 * column(mu) * E + column(lam) * np.einsum("mii->m", E)[:, None, None] * np.eye(F.shape[2])


def stvk_stress(F, mu, lam):
    return F @ second_piola(F, mu, lam)


def stvk_hessian(F, mu, lam):
    n = F[0].size
    d = F.shape[2]
    H = np.einsum("ab,mij->maibj", I3, second_piola(F, mu, lam))
    mu, lam = (np.asarray(value)[..., None, None, None, None] for value in (mu, lam))
    H = H + mu * (np.einsum("maj,mbi->maibj", F, F) + np.einsum("mak,mbk,ij->maibj", F, F, np.eye(d)))
    return (H + lam * np.einsum("mai,mbj->maibj", F, F)).reshape(-1, n, n)


NEO_HOOKEAN = (neo_hookean_energy, neo_hookean_stress, neo_hookean_hessian)
STVK = (stvk_energy, stvk_stress, stvk_hessian)


def own_neo_hookean(mu, lam, analytic=True, **options):
    return pdgpu.CustomMaterial(*NEO_HOOKEAN[: 2 + analytic], parameters={"mu": mu, "lam": lam}, **options)


def own_stvk(mu, lam, bodies="solid", analytic=True, **options):
    return pdgpu.CustomMaterial(*STVK[: 2 + analytic], parameters={"mu": mu, "lam": lam}, bodies=bodies, **options)
