"""Bodies as colliders of proxies: the signed distance of a rest shape, carried by deforming tets."""

from __future__ import annotations

import weakref
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING

import numpy as np

from pdgpu._internal.arguments import number
from pdgpu._internal.relative_core import relative_frame
from pdgpu.contact.rest_surface import RestSurface
from pdgpu.linear.linear_solvers import keep
from pdgpu.mesh.mesh import Mesh
from pdgpu.scene.colliders import placed_collider
from pdgpu.scene.embedding import Embedding, find_embedding
from pdgpu.scene.signed_distance_field import SignedDistanceField

if TYPE_CHECKING:
    from typing import Any

__all__ = ["RestField"]

AT_ONCE = 2**15  # tets whose cells are listed together
MOST_CELLS = 2**22
NEAREST = 4  # tets of a surface cell without others next to it

_fields: Any = weakref.WeakKeyDictionary()  # mesh or Embedding -> {spacing: (SignedDistanceField, RestSurface)}


@dataclass(frozen=True)
class RestField:
    """A solid as a collider of proxies, by a signed distance of its rest shape [McAdams et al. 2011; Wang et al. 2021, Localized
    collisions, Sec. 5.1]; for `ProxyContact.field`.

    A proxy in a deformed tet of the solid has barycentric coordinates there, which give a rest point. If that point is inside the rest
    surface, the nearest point of the surface is found. The tet that contains that point at rest carries it. The spring joins two points of
    bodies, y = W_p x and t = W_c x, and pulls both. Of several tets that contain a proxy, that of the largest rest depth counts. Distance
    and nearest point are exact: those of the triangles of the surface. The sign is that of the pseudonormal of the nearest triangle, edge
    or vertex [Baerentzen and Aanaes 2005, Signed distance computation using the angle weighted pseudonormal].

    Parameters
    ----------
    of : str
        A solid, for its surface; or the name of a closed surface embedded in one (`Body.embed`).
    spacing : float, optional
        Of the grid that bounds the distance, m; by default half the mean edge of the solid's tets. It affects the cost, not the result.
    apart : float, optional
        A proxy of the solid itself ignores parts within this rest distance, m; by default twice the mean edge. Narrower folds can
        penetrate.

    Notes
    -----
    "Nearest" refers to the rest shape: in a stretched or sheared body another point may be nearer now. The target follows the proxy between
    two detections without a minimisation, so these springs are not the gradient of an energy; solvers agree on a fixed point. With
    detection="step" pairs and weights are constant in a step, and there is an energy. The rest shape must not touch itself: lips that are
    closed at rest are connected.

    A proxy leaves through the nearest face. At the rim of a body that is flush with a side of another, rounding decides whether it is
    pushed out sideways or is outside. There are several fixed points then, and solvers may end at different ones.

    Examples
    --------
    >>> contact = pdgpu.ProxyContact([0, 1, 2], stiffness=100.0, field=pdgpu.RestField("torso"))
    >>> contact.field[0].of
    'torso'
    """

    of: str
    _: KW_ONLY
    spacing: float | None = None
    apart: float | None = None

    def __post_init__(self):
        keep(self, of=self.of.name if isinstance(self.of, Embedding) else self.of)
        if not isinstance(self.of, str):
            raise TypeError(f"of: expected the name of a solid, or of a surface embedded in one, got {self.of!r}")
        if self.spacing is not None:
            keep(self, spacing=number("spacing", self.spacing, above=0.0))
        if self.apart is not None:
            keep(self, apart=number("apart", self.apart, minimum=0.0))


class RestShape:
    """A RestField in a scene."""

    def __init__(self, scene: Any, field: RestField, threads: int) -> None:
        solids = {body.name: body for body in scene.bodies if body.type == "solid"}
        surfaces = [part.name for body in scene.bodies for part in body.embeddings if len(part.triangles)]
        if field.of in solids:
            self.body, source = solids[field.of], solids[field.of].mesh
            surface = Mesh(self.body.points, triangles=source.surface)
        elif field.of in surfaces:
            self.body, source = find_embedding(scene, field.of)
            surface = Mesh(source.points, triangles=source.triangles)
        else:
            known = [obstacle.name for obstacle in scene.obstacles]
            raise ValueError(
                f"field: no obstacle, solid or embedded surface is named {field.of!r}; there are {known}, {list(solids)}, {surfaces}"
            )
        self.tets = self.body.mesh.tets
        corners = self.body.points[self.tets]
        first, second = np.triu_indices(4, 1)
        edge = float(np.linalg.norm(corners[:, first] - corners[:, second], axis=2).mean())
        spacing = 0.5 * edge if field.spacing is None else field.spacing
        self.apart = 2.0 * edge if field.apart is None else field.apart
        made = _fields.setdefault(source, {})
        if spacing not in made:
            try:
                grid = SignedDistanceField.from_mesh(surface, spacing=spacing, threads=threads)
                made[spacing] = grid, RestSurface(surface, grid.origin)
            except ValueError as error:
                raise ValueError(f"field: {field.of!r}: {error}") from None
        self.distance, self.surface = made[spacing]
        self._list_cells(corners)

    def _list_cells(self, corners):
        """The box of the grid in cells about two tets wide, and the tets next to each."""
        import scipy

        low, high = corners.min(axis=1), corners.max(axis=1)
        spacing, origin = self.distance.spacing, np.array(self.distance.origin)
        size = spacing * (np.array(self.distance.values.shape) - 1)
        self.cell = max(2.0 * float((high - low).mean()), float(np.cbrt(np.prod(size) / MOST_CELLS)))
        self.cells = np.maximum(np.ceil(size / self.cell), 1).astype(np.int32)
        wide = max(spacing, 0.25 * self.cell)
        first = np.floor((low - wide - origin) / self.cell).astype(np.int64)
        last = np.floor((high + wide - origin) / self.cell).astype(np.int64)
        inside = np.flatnonzero(((last >= 0) & (first < self.cells)).all(axis=1))
        first, last = np.clip(first, 0, self.cells - 1), np.clip(last, 0, self.cells - 1)
        numbers, rows = [], []
        for part in np.array_split(inside, -(-len(inside) // AT_ONCE) or 1):
            across = last[part] - first[part] + 1
            counts = across.prod(axis=1)
            which = np.repeat(np.arange(len(part)), counts)
            k = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
            z, k = k % across[which, 2], k // across[which, 2]
            y, x = k % across[which, 1], k // across[which, 1]
            numbers.append(self._number(first[part][which] + np.stack([x, y, z], axis=1)))
            rows.append(part[which])
        # an embedded surface may lie outside of all tets
        near = np.argwhere(np.abs(self.distance.values) < 2.0 * spacing)
        touched = np.unique(self._number(np.clip(np.floor(near * (spacing / self.cell)).astype(np.int64), 0, self.cells - 1)))
        bare = np.setdiff1d(touched, np.concatenate(numbers))
        if len(bare):
            most = min(NEAREST, len(corners))
            centres = origin + self.cell * (np.stack(np.unravel_index(bare, self.cells), axis=1) + 0.5)
            _, nearest = scipy.spatial.cKDTree(corners.mean(axis=1)).query(centres, k=[*range(1, most + 1)])
            numbers.append(np.repeat(bare, most))
            rows.append(nearest.ravel())
        number, row = np.concatenate(numbers), np.concatenate(rows)
        order = np.lexsort((row, number))
        self.listed = row[order].astype(np.int32)
        self.start = np.searchsorted(number[order], np.arange(int(self.cells.astype(np.int64).prod()) + 1)).astype(np.int32)

    def _number(self, cell):
        return (cell[:, 0] * int(self.cells[1]) + cell[:, 1]) * int(self.cells[2]) + cell[:, 2]


def rest_description(scene: Any, shapes: list[RestShape], rows: Any, weights: Any, dtype: Any, origin: Any) -> dict[str, Any] | None:
    """The description of shapes for the core, for proxies of `rows` and `weights` (k, 4), with places relative to an origin (3,) m."""
    if not shapes:
        return None
    rest = scene.rest_positions() - origin
    number = {id(body): k for k, body in enumerate(scene.bodies)}
    owner = np.repeat(np.arange(len(scene.bodies)), [len(body.points) for body in scene.bodies]).astype(np.int32)
    before, fields = 0, []
    for shape in shapes:
        fields.append(
            {
                "distance": relative_frame(placed_collider(shape.distance, dtype, 0.0), origin),
                "body": np.array([number[id(shape.body)]], np.int32),
                "apart": shape.apart,
                "cell": shape.cell,
                "cells": shape.cells,
                "start": shape.start,
                "tets": shape.listed + np.int32(before),
                "surface": shape.surface.description(dtype),
            }
        )
        before += len(shape.tets)
    return {
        "fields": fields,
        "tets": np.concatenate([shape.tets + shape.body.slice.start for shape in shapes]).astype(np.int32),
        "field_of": np.repeat(np.arange(len(shapes)), [len(shape.tets) for shape in shapes]).astype(np.int32),
        "rest": np.ascontiguousarray(rest, dtype),
        "body": owner[rows[:, 0]],
        "place": np.ascontiguousarray(np.einsum("kj,kjc->kc", np.where(rows >= 0, weights, 0.0), rest[rows]), dtype),
    }
