"""Rigid bodies in a scene: how they are added, and what a simulation is built from."""

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
    """The part of `Scene` that knows of rigid bodies."""

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
        """Add what a closed surface encloses, as a body that turns and moves and does not deform.

        In a step its centre c and rotation R minimise G with all else, their inertia being m/(2h^2) |c - c*|^2 + 1/(2h^2)
        tr[(R - R*) J (R - R*)^T] with c* = c_t + h v_t + h^2 g and the second moments J [Ferguson et al. 2021; Chen et al. 2024, VBD,
        Sec. 6.2]. R* is the free motion from R_t by the midpoint rule on the rotations [Simo and Wong 1991], and a step changes the angular
        momentum by h times the torque. Newton, QuasiNewton, VertexBlockDescent, BlockJacobi and GradientDescent take rigid bodies:
        attachments, pins, the world box, gravity, external forces and `BarrierContact` with guard="impact" act on them. In
        contact its vertices are points of a surface as all others, there are no pairs within the body, and the guard looks at the arcs
        that they go on: it turns by a radian at most in an iteration, and by less than half a turn in the first guess. A free
        body keeps its spin. One that joints or attachments lead on a circle about an axis loses the kinetic energy of its centre at the
        rate 2 h w^2, as all vertices do with implicit Euler: a step that turns such a body by more than 0.02 rad warns, and one that turns
        any body by more than 1 rad.

        One pinned vertex is a point that it turns about, pinned ones on a line are an axis, others hold it whole. Its vertices in the
        arrays of a simulation are those of the mesh (`RigidBody`).

        Parameters
        ----------
        mesh : Mesh
            Triangles that enclose a volume, normals outward, or tets, whose surface counts.
        density : float
            kg/m^3, greater than 0.
        masses : float or array_like, shape (n,)
            Instead of `density`: points of mass at the vertices of the mesh, kg, greater than 0. They give the mass, the centre and the
            second moments.
        name : str, optional
        velocity : array_like, shape (3,)
            Of the centre of mass at the start, m/s.
        spin : array_like, shape (3,)
            Angular velocity at the start, rad/s.
        collides : bool
            Whether it takes part in contact and in `Simulation.contacts`.

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
        """What a model is told of the rigid bodies that can move: (first row, rows, two pins or -1) (r, 4) int32, and the arms (n, 3) m of
        all rows from the centre at rest, 0 of others, or None, None; and the rows of all rigid bodies. Of a `model_scene`."""
        rows, every, arms = [], [np.zeros(0, np.int64)], np.zeros((self.n_vertices, 3))
        for body in self.bodies:
            if not isinstance(body, RigidBody):
                continue
            every.append(np.arange(body.slice.start, body.slice.stop))
            if (hinges := body.hinges()) is not None:
                rows.append((body.slice.start, len(body.points), *hinges))
                arms[body.slice] = body.arms
        return (*((np.array(rows, np.int32), arms) if rows else (None, None)), np.concatenate(every))
