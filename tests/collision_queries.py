"""Random and adversarial queries for collision detection, in eleven classes, and the truth about them.

`generate` makes as many queries as asked for from a seed; the same seed gives the same queries everywhere. `Verifier` compiles
collision_truth.c, which needs a C compiler with __float128.
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np

CLASSES = (
    "random",
    "large motion",
    "near contact",
    "translation",
    "static partner",
    "near coplanar",
    "grazing",
    "world offset",
    "slivers and parallel edges",
    "integer lattice",
    "exact feature hits",
)


def _powers(random, n, low, high):
    """10 to a uniform exponent, (n, 1, 1)."""
    return 10.0 ** random.uniform(low, high, (n, 1, 1))


def _weights(random, n, edge_edge):
    """Signed weights of points inside both primitives, (n, 4): gap = sum of weights times corners."""
    if edge_edge:
        s, t = random.uniform(0.05, 0.95, (2, n))
        return np.stack([1 - s, s, t - 1, -t], axis=1)
    w = random.dirichlet((1.0, 1.0, 1.0), n)
    return np.concatenate([np.ones((n, 1)), -w], axis=1)


def _first(edge_edge):
    """The corners of the first primitive."""
    return slice(0, 2) if edge_edge else slice(0, 1)


def _moved_to_gap(x, weights, gap, edge_edge):
    """x with the first primitive moved so that the weighted gap is `gap`, (n, 1, 3)."""
    x = x.copy()
    now = np.einsum("nk,nki->ni", weights, x)[:, None]
    x[:, _first(edge_edge)] += gap - now
    return x


def _normal(x, edge_edge):
    """Unit normals of the plane of the triangle, or of the two edges' directions, (n, 1, 3)."""
    e, f = (x[:, 1] - x[:, 0], x[:, 3] - x[:, 2]) if edge_edge else (x[:, 2] - x[:, 1], x[:, 3] - x[:, 1])
    n = np.cross(e, f)
    return (n / np.maximum(np.linalg.norm(n, axis=1, keepdims=True), 1e-300))[:, None]


def generate(name, n, edge_edge, random):
    """x_t0, x_t1 (n, 4, 3) of a class, float64."""
    first = _first(edge_edge)
    x = random.uniform(-1, 1, (n, 4, 3))
    end = random.uniform(-1, 1, (n, 4, 3))
    if name == "random":
        pass
    elif name == "large motion":
        end = end * 10
    elif name in ("near contact", "world offset"):
        weights, normal = _weights(random, n, edge_edge), _normal(x, edge_edge)
        x = _moved_to_gap(x, weights, normal * _powers(random, n, -8, -1), edge_edge)
        end = x + random.normal(size=x.shape) * _powers(random, n, -4, 0)
        if name == "world offset":
            shift = random.uniform(-1, 1, (n, 1, 3)) * _powers(random, n, 2, 5)
            x, end = x + shift, end + shift
    elif name == "translation":  # a rigid motion of one primitive towards the other, which rests: A = B = 0
        weights = _weights(random, n, edge_edge)
        gap = random.normal(size=(n, 1, 3)) * _powers(random, n, -6, 0)
        x = _moved_to_gap(x, weights, gap, edge_edge)
        end = x.copy()
        end[:, first] -= gap * random.uniform(0.5, 2, (n, 1, 1))
    elif name == "static partner":
        end[:, [j for j in range(4) if j not in range(*first.indices(4))]] = x[
            :, [j for j in range(4) if j not in range(*first.indices(4))]
        ]
    elif name == "near coplanar":
        x[..., 2] *= _powers(random, n, -16, -1)[:, 0]
        end[..., 2] *= _powers(random, n, -16, -1)[:, 0]
    elif name == "grazing":  # at t = 1/2 the two are apart by a tiny gap and moving along each other
        weights, normal = _weights(random, n, edge_edge), _normal(x, edge_edge)
        gap = normal * random.choice([-1, 1], (n, 1, 1)) * _powers(random, n, -16, -4)
        middle = _moved_to_gap(x, weights, gap, edge_edge)
        motion = np.zeros_like(middle)
        along = random.normal(size=(n, 1, 3))
        motion[:, first] = along - normal * np.sum(along * normal, axis=2, keepdims=True)
        x, end = middle - 0.5 * motion, middle + 0.5 * motion
    elif name == "slivers and parallel edges":
        thin = _powers(random, n, -15, -1)
        if edge_edge:
            e = x[:, 1] - x[:, 0]
            x[:, 3] = x[:, 2] + e + random.normal(size=(n, 3)) * thin[:, 0]
            end[:, 3] = end[:, 2] + (end[:, 1] - end[:, 0]) + random.normal(size=(n, 3)) * thin[:, 0]
        else:
            for corners in (x, end):
                along = random.uniform(0, 1, (n, 1))
                corners[:, 3] = corners[:, 1] + along * (corners[:, 2] - corners[:, 1]) + random.normal(size=(n, 3)) * thin[:, 0]
        # brought near each other, so that there is something to find
        weights = _weights(random, n, edge_edge)
        x = _moved_to_gap(x, weights, random.normal(size=(n, 1, 3)) * _powers(random, n, -4, 0), edge_edge)
        end = _moved_to_gap(end, weights, random.normal(size=(n, 1, 3)) * _powers(random, n, -4, 0), edge_edge)
    elif name == "integer lattice":
        x, end = random.integers(-2, 3, (2, n, 4, 3)).astype(np.float64)
    elif name == "exact feature hits":  # in dyadic numbers: a corner meets a corner or the middle of a side at t = 1/2, exactly
        x = np.round(x * 64) / 64
        motion = np.round(random.uniform(-1, 1, (n, 4, 3)) * 64) / 64
        target = 1 + random.integers(0, 3, n) if not edge_edge else 2 + random.integers(0, 2, n)
        second = 1 + random.integers(0, 3, n) if not edge_edge else 5 - target
        rows = np.arange(n)
        halfway = random.integers(0, 2, n)[:, None]
        other = np.where(halfway == 1, x[rows, second], x[rows, target])
        other_motion = np.where(halfway == 1, motion[rows, second], motion[rows, target])
        meeting = 0.5 * (x[rows, target] + other) + 0.25 * (motion[rows, target] + other_motion)
        x[:, 0] = meeting - 0.5 * motion[:, 0]
        end = x + motion
    else:
        raise ValueError(name)
    return x, end


@dataclass
class Truth:
    """Arrays over n queries, the last two (m, n) over m times for each."""

    time: np.ndarray  # of the first contact; nan: none
    before: np.ndarray  # distance at the start, m
    contact: np.ndarray  # distance at the contact, m; nan: none
    late: np.ndarray  # bool: the time given is after the contact
    after: np.ndarray  # distance at the time given, at most 1, m


class Verifier:
    """The compiled collision_truth.c."""

    def __init__(self, folder):
        source = Path(__file__).with_name("collision_truth.c")
        self.program = Path(folder) / "collision_truth"
        subprocess.run(
            [os.environ.get("CC", "cc"), "-O2", "-std=gnu11", str(source), "-o", str(self.program), "-lm"], check=True, capture_output=True
        )

    def __call__(self, edge_edge, x_t0, x_t1, t):
        """What is true of n queries, and of the times t (m, n) that m methods return for them: a `Truth`."""
        n, m = len(x_t0), len(t)
        record = np.zeros(n, dtype=[("kind", "<i4"), ("numbers", "<f8", 24 + m)])
        record["kind"] = int(edge_edge)
        record["numbers"][:, :12] = np.reshape(x_t0, (n, 12))
        record["numbers"][:, 12:24] = np.reshape(x_t1, (n, 12))
        record["numbers"][:, 24:] = np.transpose(t)
        data = np.int32([n, m]).tobytes() + record.tobytes()
        output = subprocess.run([str(self.program)], input=data, stdout=subprocess.PIPE, check=True).stdout
        numbers = np.frombuffer(output, dtype=np.float64).reshape(n, 3 + 2 * m).T
        return Truth(*numbers[:3], numbers[3 : 3 + m] != 0, numbers[3 + m :])
