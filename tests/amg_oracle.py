"""Smoothed aggregation in NumPy, dense and from its definition: strengths, aggregates, prolongations, coarser matrices and the cycle.

s_ij = |D_i^-1/2 A_ij D_j^-1/2|_4,    S = (g D)^-1, g_i = sum_j s_ij,    P = (I - omega_P S A) T,    A <- P^T A P
"""

import multilevel_oracle
import numpy as np

# of single rows, and of blocks: strong entries, omega_P, omega
STEPS = 4096.0  # of a strength
THRESHOLD, SMOOTHING, RELAXATION = {True: 0.08, False: 0.12}, {True: 1.4, False: 2.2}, {True: 1.6, False: 1.9}


def kept_unknowns(block, least):
    """The unknowns whose pivot is above this part of their diagonal, in the order of elimination."""
    rest, kept = block.copy(), []
    for p in range(len(block)):
        if rest[p, p] > least * abs(block[p, p]):
            rest = rest - np.outer(rest[:, p], rest[p]) / rest[p, p]
            kept.append(p)
    return kept


def inverse_of_block(block, least):
    """The inverse of D_i. With a null pivot it is half that of the other unknowns, and half the inverse of a bound of D_i for the rest."""
    n, kept, out = len(block), kept_unknowns(block, least), np.zeros_like(block)
    left = [p for p in range(n) if p not in kept and block[p, p] > 0]
    out[np.ix_(kept, kept)] = (0.5 if left else 1.0) * np.linalg.inv(block[np.ix_(kept, kept)])
    for p in left:
        out[p, p] = 0.5 / (n * block[p, p])
    return out


def blocks_of(A, numbers):
    """A as [n,n,numbers,numbers]."""
    n = len(A) // numbers
    return A.reshape(n, numbers, n, numbers).transpose(0, 2, 1, 3)


def root(B):
    """R with B = R R^T of a positive semidefinite block."""
    values, vectors = np.linalg.eigh(B)
    return vectors * np.sqrt(np.maximum(values, 0))


def strengths_of(A, neighbours, numbers, inverses):
    """s [n,n] of neighbours, 0 elsewhere."""
    parts, roots = blocks_of(A, numbers), [root(B) for B in inverses]
    s = np.zeros((len(neighbours),) * 2)
    for i, row in enumerate(neighbours):
        for j in row:
            singular = np.linalg.svd(roots[i].T @ parts[i, j] @ roots[j], compute_uv=False)
            s[i, j] = 1.0 if i == j else (singular**4).sum() ** 0.25
    return s


def aggregates(neighbours, s, threshold):
    """The aggregate of each node, and their number [Vanek, Mandel, Brezina 1996, Algorithm 2]."""
    s = np.floor(s * STEPS + 0.5) / STEPS
    strong = [[j for j in row if j != i and s[i, j] > threshold] for i, row in enumerate(neighbours)]
    of, count = {}, 0

    def gather(i, k):
        of.update({j: k for j in [i, *strong[i]] if j not in of})

    for i, near in enumerate(strong):
        if near and not any(j in of for j in [i, *near]):
            gather(i, count)
            count += 1
    first = dict(of)
    for i, near in enumerate(strong):
        joined = [j for j in near if j in first]
        if i not in of and joined:
            of[i] = first[max(joined, key=lambda j: s[i, j])]
    for i in range(len(neighbours)):
        if i not in of:
            gather(i, count)
            count += 1
    return np.array([of[i] for i in range(len(neighbours))]), count


def block_diagonal(inverses):
    n, b = len(inverses), inverses[0].shape[0]
    out = np.zeros((n * b, n * b))
    for i, B in enumerate(inverses):
        out[i * b : i * b + b, i * b : i * b + b] = B
    return out


def levels_of(A, neighbours, numbers=1, points=None, epsilon=2.0**-53):
    """Of every level except the last one A, S and P, and the last C. A dense over all rows; neighbours: those of each node, ascending."""
    found, scalar, least = [], numbers == 1, 4 * epsilon
    threshold, size = THRESHOLD[scalar], multilevel_oracle.NODES if scalar else multilevel_oracle.NODES_OF_BLOCKS
    while len(neighbours) > size:
        parts = blocks_of(A, numbers)
        inverses = [inverse_of_block(parts[i, i], least) for i in range(len(neighbours))]
        s = strengths_of(A, neighbours, numbers, inverses)
        S = block_diagonal([B / g for B, g in zip(inverses, s.sum(axis=1), strict=True)])
        of, count = aggregates(neighbours, s, threshold)
        if 4 * count > 3 * len(neighbours):
            break
        T, centres = multilevel_oracle.motion(of, numbers, points)
        P = T - SMOOTHING[numbers == 1] * S @ A @ T
        found.append((A, S, P, RELAXATION[numbers == 1]))
        # the pattern of P^T A P
        near = np.zeros((len(neighbours), count), bool)
        for i, row in enumerate(neighbours):
            near[i, of[row]] = True
        reached = np.array([near[row].any(axis=0) for row in neighbours])
        pattern = near.T.astype(int) @ reached > 0
        neighbours = [list(np.flatnonzero(row)) for row in pattern]
        A, points, threshold, least = P.T @ A @ P, centres, threshold / 2, max(1e-10, 8 * epsilon)
        numbers = len(A) // count
    domains, _ = multilevel_oracle.grow(neighbours, np.zeros(len(neighbours), bool), size)
    unknowns = (np.add.outer(np.array(d) * numbers, np.arange(numbers)).ravel() for d in domains)
    return found, sum(multilevel_oracle.inverse_of_domain(A, rows, epsilon) for rows in unknowns)


def cycle(levels, last, r):
    """z = M^-1 r."""
    if not levels:
        return last @ r
    A, S, P, omega = levels[0]
    z = omega * S @ r
    z = z + P @ cycle(levels[1:], last, P.T @ (r - A @ z))
    return z + omega * S @ (r - A @ z)


def preconditioner(A, neighbours, numbers=1, points=None, epsilon=2.0**-53):
    """M^-1 as a dense matrix."""
    levels, last = levels_of(A, neighbours, numbers, points, epsilon)
    return cycle(levels, last, np.eye(len(A)))
