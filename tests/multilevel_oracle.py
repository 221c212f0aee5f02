"""Multilevel additive Schwarz in NumPy: its domains, its coarser matrices and M^-1 as a dense matrix, from the definition.

M^-1 = sum over levels of P (sum over domains of R^T (R A R^T)^-1 R) P^T,    A <- T^T A T,    P <- P T
"""

import numpy as np

NODES, NODES_OF_BLOCKS = 32, 16


def grow(neighbours, held, size):
    """Domains of connected nodes, breadth-first: lists of nodes. neighbours [n]: those of each node, in the order of the matrix."""
    domain, order, domains = np.full(len(neighbours), -1), [], []

    def is_free(i):
        return domain[i] < 0 and not held[i]

    while True:
        adjacent = (j for i in order for j in neighbours[i] if is_free(j))
        seed = next(adjacent, next((i for i in range(len(neighbours)) if is_free(i)), None))
        if seed is None:
            return domains, domain
        members, domain[seed] = [seed], len(domains)
        for i in members:  # grows in the loop
            for j in neighbours[i]:
                if is_free(j) and len(members) < size:
                    members.append(j)
                    domain[j] = len(domains)
        order += members
        domains.append(members)


def cross(y):
    """The matrix of w -> w x y."""
    return np.array([[0, y[2], -y[1]], [-y[2], 0, y[0]], [y[1], -y[0], 0]])


def motion(domain, numbers, points):
    """T, whose columns are the motions of the domains, and their centres; held nodes do not move."""
    count, coarser = domain.max() + 1, numbers if points is None else 6
    T = np.zeros((len(domain) * numbers, count * coarser))
    centres = None if points is None else np.array([points[domain == k].mean(axis=0) for k in range(count)])
    for i, k in enumerate(domain):
        if k < 0:
            continue
        T[i * numbers : (i + 1) * numbers, k * coarser : k * coarser + numbers] = np.eye(numbers)
        if points is None:
            continue
        rows = slice(i * numbers, i * numbers + 3)
        T[rows, k * 6 + 3 : k * 6 + 6] = cross(points[i] - centres[k])
    return T, centres


def pattern_of_domains(neighbours, domains, domain):
    """The neighbours of each domain, in the order of discovery."""
    found = []
    for members in domains:
        adjacent = dict.fromkeys(domain[j] for i in members for j in neighbours[i] if domain[j] >= 0)
        found.append(list(adjacent))
    return found


def inverse_of_domain(A, rows, epsilon):
    """The inverse of a block. Its diagonal is raised by the rounding of a stored inverse. Unknowns without stiffness do not move, such as
    the rotation of a domain of one node.
    """
    stiff = rows[np.abs(A[rows, rows]) > 1e-300]
    block = A[np.ix_(stiff, stiff)]
    inverse = np.linalg.inv(block)
    out = np.zeros_like(A)
    out[np.ix_(stiff, stiff)] = inverse + 8 * epsilon * np.diag(np.diag(inverse))
    return out


def preconditioner(A, neighbours, numbers=1, held=None, points=None, epsilon=2.0**-53):
    """M^-1 dense. A dense over all rows; neighbours: those of each node; points [n,3]: with rotations about centres of
    domains; epsilon: of the numbers that store the inverses.
    """
    n = len(neighbours)
    held = np.zeros(n, bool) if held is None else held
    size = NODES if numbers == 1 else NODES_OF_BLOCKS
    total, P = np.zeros_like(A), np.eye(len(A))
    for _ in range(16):
        domains, domain = grow(neighbours, held, size)
        inverse = sum(inverse_of_domain(A, np.add.outer(np.array(d) * numbers, np.arange(numbers)).ravel(), epsilon) for d in domains)
        total += P @ inverse @ P.T
        if len(domains) < 2 or 4 * len(domains) > 3 * sum(map(len, domains)):
            break
        T, points = motion(domain, numbers, points)
        A, P = T.T @ A @ T, P @ T
        neighbours = pattern_of_domains(neighbours, domains, domain)
        numbers = len(A) // len(domains)
        held = np.zeros(len(domains), bool)
    return total
