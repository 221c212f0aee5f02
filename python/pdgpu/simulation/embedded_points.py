"""The embedded points of a simulation: their positions, and their derivative."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdgpu._internal.parts import Part
from pdgpu.scene.embedding import Embedding, find_embedding, weight_matrix

if TYPE_CHECKING:
    from typing import Any

    from pdgpu.types import Floats

__all__ = ["EmbeddedPoints"]


class EmbeddedPoints(Part):
    """The part of `Simulation` for embedded points."""

    @property
    def embeddings(self) -> tuple[Embedding, ...]:
        """The embeddings of all bodies, in the order of the bodies."""
        return tuple(part for body in self._core.scene.bodies for part in body.embeddings)

    def embedded(self, name: Embedding | str) -> Floats:
        """Positions of embedded points: y = W x.

        Parameters
        ----------
        name : Embedding or str

        Returns
        -------
        ndarray, shape (k, 3)
            m, in the dtype of `positions`, computed in float64.

        Raises
        ------
        ValueError
            An unknown name, or one of two bodies.
        """
        core = self._core
        body, embedding = find_embedding(core.scene, name)
        return core.cast_positions(embedding.matrix @ core.state64()[0][body.slice])

    def embedding_matrix(self, name: Embedding | str) -> Any:
        """W over all vertices of the simulation, scipy CSR of shape (k, n), float64: the derivative of `embedded` by `positions`.

        Parameters
        ----------
        name : Embedding or str

        Raises
        ------
        ValueError
            An unknown name, or one of two bodies.
        """
        scene = self._core.public_scene
        body, embedding = find_embedding(scene, name)
        return weight_matrix(embedding.vertices + body.slice.start, embedding.weights, scene.n_vertices)
