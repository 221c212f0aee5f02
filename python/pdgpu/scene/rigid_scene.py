"""Rigid bodies in a scene: their addition, and their description for a simulation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdgpu._internal.arguments import flag
from pdgpu.mesh.mesh import Mesh
from pdgpu.scene.bodies import new_name, share_simulations
from pdgpu.scene.body_masses import one_of
from pdgpu.scene.model_scene import number_rows
from pdgpu.scene.rigid_bodies import RigidBody

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import ArrayLike

__all__ = ["RigidScene"]


class RigidScene:
    """The part of `Scene` for rigid bodies."""

    if TYPE_CHECKING:  # of `Scene`
        bodies: tuple[Any, ...]
        _simulations: Any

        @property
        def n_vertices(self) -> int: ...

        def _keep(self, **values: Any) -> None: ...

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        number_rows(self.bodies)  # pickles of earlier versions count hidden points

    def add_rigid(
        self,
        mesh: Mesh,
        *,
        density: float | None = None,
        masses: ArrayLike | None = None,
        name: str | None = None,
        velocity: ArrayLike = (0.0, 0.0, 0.0),
        spin: ArrayLike = (0.0, 0.0, 0.0),
        collides: bool = True,
    ) -> RigidBody:
        """Add the interior of a closed surface as a rigid body.

        In a step its centre c and rotation R minimise G with all other unknowns, with the inertia m/(2h^2) |c - c*|^2 + 1/(2h^2) tr[(R -
        R*) J (R - R*)^T], c* = c_t + h v_t + h^2 g and the second moments J [Ferguson et al. 2021; Chen et al. 2024, VBD, Sec. 6.2]. R* is
        the free motion from R_t by the midpoint rule on the rotations [Simo and Wong 1991], and a step changes the angular momentum by h
        times the torque. Newton, QuasiNewton, VertexBlockDescent, BlockJacobi and GradientDescent support rigid bodies. Attachments, pins,
        the world box, gravity, external forces and `BarrierContact` with guard="impact" act on them. In contact its vertices are points of
        a surface, without pairs within the body, and the step limiter tests their arcs: a body rotates by at most one radian in an
        iteration, and by less than half a turn in the first guess. A free body keeps its angular momentum. A body on a circle about an
        axis, by joints or attachments, loses the kinetic energy of its centre at the rate 2 h w^2, as all vertices do with implicit Euler.
        A step warns if it rotates such a body by more than 0.02 rad, or any body by more than 1 rad.

        One pinned vertex is a pivot, pinned vertices on a line are an axis, others hold the whole body. Its vertices in the arrays of a
        simulation are those of the mesh (`RigidBody`).

        Parameters
        ----------
        mesh : Mesh
            Triangles around a volume, with outward normals, or tets, whose surface is used.
        density : float
            kg/m^3, greater than 0.
        masses : float or array_like, shape (n,)
            Instead of `density`: points of mass at the vertices of the mesh, kg, greater than 0. They give the mass, the centre and the
            second moments.
        name : str, optional
        velocity : array_like, shape (3,)
            Initial velocity of the centre of mass, m/s.
        spin : array_like, shape (3,)
            Initial angular velocity, rad/s.
        collides : bool
            True if it takes part in contact and in `Simulation.contacts`.

        Returns
        -------
        RigidBody

        Raises
        ------
        ValueError
            A surface that is open, inconsistent or inside out; a density or a mass that is not greater than 0.
        TypeError
            Density and masses, or neither.
        """
        if not isinstance(mesh, Mesh):
            raise TypeError(f"mesh: expected a pdgpu.Mesh, got {mesh!r}")
        collides = flag("collides", collides)
        name = new_name(self, f"rigid{len(self.bodies)}" if name is None else name)
        one_of("density", density, "masses", masses)
        body = RigidBody(name, mesh, self.n_vertices, density, velocity, spin, collides, masses=masses)
        share_simulations(body, self._simulations)
        self._keep(bodies=(*self.bodies, body))
        self._simulations.warn(f"add {name!r}")
        return body

    def rigid(self) -> Any:
        """The description of movable rigid bodies for a model: (first row, rows, two pins or -1) (r, 4) int32, and the arms (n, 3) m of all
        rows from the centre at rest, 0 for others, or None, None; and the rows of all rigid bodies. Of a `model_scene`.
        """
        rows, every, arms = [], [np.zeros(0, np.int64)], np.zeros((self.n_vertices, 3))
        for body in self.bodies:
            if not isinstance(body, RigidBody):
                continue
            every.append(np.arange(body.slice.start, body.slice.stop))
            if (hinges := body.hinges()) is not None:
                rows.append((body.slice.start, len(body.points), *hinges))
                arms[body.slice] = body.arms
        return (*((np.array(rows, np.int32), arms) if rows else (None, None)), np.concatenate(every))
