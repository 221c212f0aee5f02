"""Intersections by brute force in Python's fractions, by clipping: no orientation predicate, no filter, no code of the package."""

from fractions import Fraction


def vector(p, q):
    return [b - a for a, b in zip(p, q, strict=True)]


def dot(a, b):
    return sum(x * y for x, y in zip(a, b, strict=True))


def cross(a, b):
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def clip(interval, start, slope):
    """The part of an interval (or None) where start + slope t >= 0."""
    if interval is None:
        return None
    low, high = interval
    if slope == 0:
        return interval if start >= 0 else None
    t = Fraction(-start) / slope
    low, high = (max(low, t), high) if slope > 0 else (low, min(high, t))
    return (low, high) if low <= high else None


def clip_to_zero(interval, start, slope):
    return clip(clip(interval, start, slope), -start, -slope)


def segment_in_segment(p, q, a, b):
    """The t in [0, 1] for which p + t (q - p) lies on segment ab, as an interval or None."""
    d, side, to = vector(p, q), vector(a, b), vector(a, p)
    interval = (Fraction(0), Fraction(1))
    if not any(side):
        for start, slope in zip(to, d, strict=True):
            interval = clip_to_zero(interval, start, slope)
        return interval
    for start, slope in zip(cross(to, side), cross(d, side), strict=True):
        interval = clip_to_zero(interval, start, slope)
    interval = clip(interval, dot(to, side), dot(d, side))
    return clip(interval, dot(side, side) - dot(to, side), -dot(d, side))


def segment_in_triangle(p, q, a, b, c):
    """The t in [0, 1] for which p + t (q - p) lies in triangle abc: a list of intervals."""
    normal = cross(vector(a, b), vector(a, c))
    if not any(normal):
        found = [segment_in_segment(p, q, *side) for side in ((a, b), (b, c), (c, a))]
        return [interval for interval in found if interval]
    d = vector(p, q)
    interval = clip_to_zero((Fraction(0), Fraction(1)), dot(normal, vector(a, p)), dot(normal, d))
    for u, v in ((a, b), (b, c), (c, a)):
        inward = cross(normal, vector(u, v))
        interval = clip(interval, dot(inward, vector(u, p)), dot(inward, d))
    return [interval] if interval else []


def beyond(intervals, end):
    """Whether some t other than `end` is in one of the intervals; end None: whether there is any."""
    return any(end is None or interval != (end, end) for interval in intervals)


def intersections(points, triangles, edges, alone):
    """(edge, triangle) and (edge, edge) pairs with more in common than a vertex they share."""
    x = [[Fraction(float(value)) for value in point] for point in points]
    edge_triangle, edge_edge = [], []
    for i, (p, q) in enumerate(edges.tolist()):
        for j, triangle in enumerate(triangles.tolist()):
            shared = {p, q} & set(triangle)
            if len(shared) == 2 or (shared and (p == q or x[p] == x[q])):
                continue
            end = None if not shared else Fraction(0 if p in shared else 1)
            if beyond(segment_in_triangle(x[p], x[q], *(x[v] for v in triangle)), end):
                edge_triangle.append((i, j))
        for j, (a, b) in enumerate(edges.tolist()):
            if i >= j or not (alone[i] and alone[j]):
                continue
            shared = {p, q} & {a, b}
            if len(shared) == 2 or (shared and (p == q or x[p] == x[q])):
                continue
            end = None if not shared else Fraction(0 if p in shared else 1)
            interval = segment_in_segment(x[p], x[q], x[a], x[b])
            if interval and beyond([interval], end):
                edge_edge.append((i, j))
    return edge_triangle, edge_edge


def squared_point_segment(p, a, b):
    side, to = vector(a, b), vector(a, p)
    square, along = dot(side, side), dot(side, to)
    share = min(max(Fraction(along) / square, Fraction(0)), Fraction(1)) if square else Fraction(0)
    gap = [t - share * s for s, t in zip(side, to, strict=True)]
    return dot(gap, gap)


def squared_distance(first, second):
    """Of a point or a segment from a segment or a triangle, lists of points: the least over sides and, with a foot inside, the plane."""
    sides = [second] if len(second) == 2 else [(second[i], second[(i + 1) % 3]) for i in range(3)]
    found = [squared_point_segment(p, *side) for p in first for side in sides]
    if len(first) == 2:
        found += [squared_point_segment(p, *first) for p in second]
        u, v, to = vector(*first), vector(*second), vector(first[0], second[0])
        normal = cross(u, v)
        feet = [dot(cross(to, other), normal) for other in (v, u)]
        inside = all(0 <= foot <= dot(normal, normal) for foot in feet)
    else:
        to = vector(second[0], first[0])
        normal = cross(vector(second[0], second[1]), vector(second[0], second[-1]))
        inside = all(dot(cross(normal, vector(a, b)), vector(a, first[0])) >= 0 for a, b in sides)
    square = dot(normal, normal)
    if square and inside:
        found.append(dot(normal, to) ** 2 / Fraction(square))
    return min(found)
