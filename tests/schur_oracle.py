"""Wang et al. 2021 (Localized collisions), Algorithm 1, a second time: in NumPy, with sums, matrices and factors of its own."""

import numpy as np


def no_contact(x):
    return np.zeros((0, len(x))), np.zeros(0), np.zeros((0, 3))


def algorithm_1(sim, scene, prone, x, iterations, inner, corrected=True, detect=no_contact):
    """Iterates, quasistatic, tets of ARAP: steps 3.2, 4.3 to 4.7 and 5 as corrected; the last as printed where `corrected` is not set.

    sim : a simulation of the scene, for its matrix without contact.

    detect : callable(x) -> (W (k, n), c (k,), t (k, 3))
        The zero-length springs that are active at x.
    """
    A = sim.system_matrix()
    free, rest = scene.fixed() == 0, scene.rest_positions()
    load = scene.masses()[:, None] * scene.gravity
    tets = np.concatenate([body.mesh.tets + body.slice.start for body in scene.bodies])
    mu = np.concatenate([np.full(len(body.mesh.tets), body.materials[0].constant("mu", 1)[0]) for body in scene.bodies])
    is_prone = np.zeros(len(rest), dtype=bool)
    is_prone[prone] = True
    beta = (is_prone | ~free)[tets].all(axis=1) & is_prone[tets].any(axis=1)
    safe = np.flatnonzero(free & ~is_prone)
    inverse = np.linalg.inv((rest[tets[:, 1:]] - rest[tets[:, :1]]).swapaxes(1, 2))
    weight = 2.0 * mu / np.abs(np.linalg.det(inverse)) / 6.0
    gradients = np.concatenate([-inverse.sum(axis=1, keepdims=True), inverse], axis=1)  # (m, 4, 3)

    def rotations(x, chosen):
        F = np.einsum("mai,maj->mij", x[tets[chosen]], gradients[chosen])
        U, _, V = np.linalg.svd(F)
        U[:, :, 2] *= np.sign(np.linalg.det(U @ V))[:, None]
        return U @ V

    def forces(x, R, chosen):
        F = np.einsum("mai,maj->mij", x[tets[chosen]], gradients[chosen])
        f = np.zeros_like(x)
        np.add.at(f, tets[chosen], np.einsum("m,mij,maj->mai", weight[chosen], R - F, gradients[chosen]))
        return f

    A22_beta = np.zeros((len(rest),) * 2)
    for tet, w, g in zip(tets[beta], weight[beta], gradients[beta], strict=True):
        A22_beta[np.ix_(tet, tet)] += w * g @ g.T
    A22_beta = A22_beta[np.ix_(prone, prone)]
    A11, A21, A22 = (A[rows][:, columns].toarray() for rows, columns in ((safe, safe), (prone, safe), (prone, prone)))
    from_prone = np.linalg.solve(A11, A21.T)
    sigma_alpha = A22 - A22_beta - A21 @ from_prone
    iterates, x = [x], x.copy()
    for _ in range(iterations):
        f = forces(x, rotations(x, ~beta), ~beta) + load
        from_safe = np.linalg.solve(A11, f[safe])
        y = f[prone] - A21 @ from_safe  # 3.2
        moved = np.zeros((len(prone), 3))
        for _ in range(inner):
            W, c, t = detect(x)  # 4.1
            pull = forces(x, rotations(x, beta), beta)[prone] - (W.T @ (c[:, None] * (W @ x - t)))[prone]  # 4.2, 4.4
            A22_col = W[:, prone].T @ (c[:, None] * W[:, prone])  # 4.3
            u = np.linalg.solve(sigma_alpha + A22_beta + A22_col, y + pull)  # 4.5
            x[prone] += u  # 4.6
            moved += u
            y = y - sigma_alpha @ u  # 4.7
        x[safe] += from_safe - from_prone @ (moved if corrected else 0.0 * moved)  # 5
        iterates.append(x.copy())
    return np.array(iterates)
