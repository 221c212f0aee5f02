"""The verification of planes: the vertices below a plane, in a frame and between two, with fractions if rounding could decide.

Heights are products of doubles, so a Fraction contains them exactly. A floating-point filter decides all but the vertices within rounding
of the plane and those that are too close, which need a time.
"""

from __future__ import annotations

from fractions import Fraction
from math import isqrt
from typing import NamedTuple

import numpy as np

__all__ = ["PlacedPlane"]

ERROR = 2.0**-48  # of a height, relative to the sum of its terms: a difference, a product and two sums have 2^-51 at most
ABOVE = 1.0 + 2.0**-48
SMALLEST = 2.0**-1070  # more than the loss of products below the range of doubles
BISECTIONS = 40


class PlacedPlane(NamedTuple):
    """A plane in one frame: a point of it, m, and a normal of a length close to 1, both exact to the last bit."""

    point: np.ndarray
    normal: np.ndarray

    def too_near(self, x, separation):
        """Mask (n,) of the points x (n, 3) whose height is less than the separation, or at most 0 for a zero separation. Exact."""
        heights, error = _heights(x, self.point, self.normal)
        limit = separation * np.linalg.norm(self.normal)
        near = ~(heights - error > limit * ABOVE)
        for i in np.flatnonzero(near & ~(heights + error < limit / ABOVE)):
            near[i] = _is_near(_exact_height(x[i], self.point, self.normal), separation, self.normal)
        return near

    def distances(self, x):
        """Heights (n,) of points (n, 3), m, negative below, to rounding."""
        return (x - self.point) @ self.normal / np.linalg.norm(self.normal)


def first_times(x_0, x_1, plane_0, plane_1, separation):
    """Return the first time at which points that move straight from x_0 to x_1 (n, 3) are too close to a plane, (n,) in [0, 1]; -1 without
    one.

    Point and normal of the plane move straight too. With a constant normal the decision is exact: heights are then linear in time. With a
    rotating normal they are quadratic, and the longer of the two normals is used for all times between. So of two frames with sufficient
    distances some may count as too close between them, by the separation times 1 - cos of half the rotation.
    """
    times = np.where(plane_0.too_near(x_0, separation), 0.0, -1.0)
    ends_near = plane_1.too_near(x_1, separation)
    turns = not np.array_equal(plane_0.normal, plane_1.normal)
    open_, longest = ends_near, _length_above(plane_0.normal)
    if turns:
        longest = max(longest, _length_above(plane_1.normal))
        parts = (_heights(x_0, plane_0.point, plane_1.normal), _heights(x_1, plane_1.point, plane_0.normal))
        middle, error = (0.5 * (first + second) for first, second in zip(*parts, strict=True))
        open_ = open_ | ~(middle - error > separation * float(longest) * ABOVE)
    limit = Fraction(separation) * longest
    for i in np.flatnonzero(open_ & (times < 0.0)):
        heights = [_exact_height(x_0[i], plane_0.point, plane_0.normal), None, _exact_height(x_1[i], plane_1.point, plane_1.normal)]
        if turns:
            crossed = _exact_height(x_0[i], plane_0.point, plane_1.normal) + _exact_height(x_1[i], plane_1.point, plane_0.normal)
        else:
            crossed = heights[0] + heights[2]
        heights[1] = crossed / 2
        times[i] = _first_time([height - limit for height in heights], separation == 0.0, bool(ends_near[i]))
    return times


def _heights(x, point, normal):
    """Return heights (n,) times the length of the normal, and their error bounds."""
    with np.errstate(over="ignore", invalid="ignore"):  # NaN is decided by fractions
        to = x - point
        return to @ normal, ERROR * (np.abs(to) @ np.abs(normal)) + SMALLEST


def _exact_height(x, point, normal):
    return sum((Fraction(float(a)) - Fraction(float(p))) * Fraction(float(n)) for a, p, n in zip(x, point, normal, strict=True))


def _is_near(height, separation, normal):
    """Return whether height < separation |normal|, or height <= 0 for a zero separation."""
    if separation == 0.0 or height <= 0:
        return height <= 0
    return height * height < Fraction(separation) ** 2 * sum(Fraction(float(n)) ** 2 for n in normal)


def _length_above(normal):
    """Return the length of a normal, or up to 2^-60 more."""
    square = sum(Fraction(float(n)) ** 2 for n in normal)
    return Fraction(isqrt((square.numerator << 128) // square.denominator) + 1, 1 << 64)


def _first_time(b, touching, ends_near):
    """Return the first time at which the quadratic with Bernstein coefficients b is negative, or zero if that counts: rounded down; -1
    without one.

    `ends_near`: it is too close at the end, even if b, minus an upper bound, does not show it.
    """

    def is_near(t):  # somewhere in [0, t]
        end = (b[0] * (1 - t) + b[1] * t) * (1 - t) + (b[1] * (1 - t) + b[2] * t) * t
        middle = b[0] * (1 - t) + b[1] * t
        bend = b[0] - 2 * middle + end
        lowest = min(b[0], end)
        if bend > 0 and 0 < b[0] - middle < bend:
            lowest = (b[0] * end - middle * middle) / bend
        return lowest <= 0 if touching else lowest < 0

    if b[0] + b[2] == 2 * b[1]:  # linear
        if not ends_near:
            return -1.0
        exact = min(max(b[0] / (b[0] - b[2]), Fraction(0)), Fraction(1)) if b[2] < b[0] else Fraction(1)
        time = float(exact)
        return time if time <= exact else float(np.nextafter(time, 0.0))
    if not is_near(Fraction(1)):
        return 1.0 if ends_near else -1.0
    low, high = Fraction(0), Fraction(1)
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        low, high = (low, middle) if is_near(middle) else (middle, high)
    return float(low)
