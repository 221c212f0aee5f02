"""Bodies of a scene, their pins, slides and attachments, and obstacles."""

from __future__ import annotations

import warnings
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pdgpu._internal.arguments import any_array, flag, number, per_item, real_array, vertex_indices
from pdgpu._internal.attributes import GuardedAttributes, keep_attributes, read_only
from pdgpu._internal.counted import counted
from pdgpu._internal.made import made_by
from pdgpu.materials.materials import Bending, HingeBending, RodBending, Spring
from pdgpu.scene.colliders import Collider
from pdgpu.scene.embedding import Embedding, embedded_in
from pdgpu.scene.held_parts import selectable_points
from pdgpu.scene.tethers import FRAME, TARGETS, spread, targets_at

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import ArrayLike

    from pdgpu.materials.material import Material
    from pdgpu.mesh.mesh import Mesh
    from pdgpu.types import Floats, Motion, Placement, Where

__all__ = ["Body", "Obstacle"]


class _Simulations(weakref.WeakSet):
    """The existing simulations of a scene. A copy of the scene, or one from a file, starts with none."""

    def __reduce__(self):
        return _Simulations, ()

    def warn(self, change, stacklevel=3):
        """Warn of a change of the scene while a simulation does not use it. `stacklevel` is that of the user, 1 of the caller."""
        if len(self):
            text = "an existing Simulation of this scene does not use the change; make a new one"
            warnings.warn(f"{change}: {text}", stacklevel=stacklevel)


@made_by("Scene.add_solid and its like")
class Body(GuardedAttributes):
    """One body of a scene; made by `Scene.add_solid`, `add_shell`, `add_rod`, `add_particles`, `add_rigid`.

    A simulation copies the bodies when it is made: later changes affect only later simulations, and warn. The bodies in `Simulation.bodies`
    are read-only.

    Attributes
    ----------
    name : str
    type : str
        "solid", "shell", "rod", "particles" or "rigid".
    points : ndarray, shape (n, 3), float64
        Rest positions, m.
    mesh : Mesh or None
        None for particles.
    masses : ndarray, shape (n,), float64
        Lumped masses, kg, greater than 0. May be set to a number or an array; its elements may be set until a simulation is made.
    velocity : ndarray, shape (n, 3), float64
        Initial velocities, m/s. May be set as the masses, also to one velocity (3,).
    damping : float
        Damping time k_d of its elements, s. May be set.
    materials : tuple of Material
    pins, slides, attachments : tuple
        (vertices, motion or None) of every `pin`, (vertices, projector (3, 3)) of every `slide`, (vertices, targets (k, 3), stiffness (k,))
        of every `attach`.
    attachment_motions : tuple
        Of every `attach`: None, or ("frame" or "targets", callable) for moving targets; those in `attachments` are at 0 s.
    embeddings : tuple of Embedding
        The points and surfaces that its tets carry.
    density : ndarray or None
        One number per tet, triangle or edge, kg/m^3, kg/m^2 or kg/m; None for particles.
    parents : ndarray of int32, shape (n,), or None
        After a cut (`Simulation.cut`): the vertex of the original body from which each vertex descends.
    collides : bool
        True if it takes part in contact.
    thickness : float
        m; in contact half of it is added around triangles, edges and points.
    slice : slice
        Its rows in the arrays of a simulation.
    """

    name: str
    type: str
    points: Floats
    mesh: Mesh  # None: particles
    materials: tuple[Material, ...]
    density: Any
    parents: Floats | None
    slice: Any  # a slice; the attribute hides the built-in name
    pins: tuple[Any, ...]
    slides: tuple[Any, ...]
    attachments: tuple[Any, ...]
    attachment_motions: tuple[Any, ...]
    embeddings: tuple[Embedding, ...]
    collides: bool
    thickness: float
    groups: tuple[Any, ...]
    n_hidden: int = 0  # of `points`, at their end: rows of the compiled model in no public array (scene/model_scene.py)

    _instead = "add another body to another scene"
    _instead_of = {"pins": "call pin", "slides": "call slide", "attachments": "call attach", "embeddings": "call embed"}

    def __init__(self, name, kind, points, mesh, materials, masses, first, velocity, damping, density=None, collides=True, thickness=0.0):
        self._keep(collides=collides, thickness=thickness)
        self._keep(name=name, type=kind, points=points, mesh=mesh, materials=tuple(materials), density=density, parents=None)
        self._keep(slice=slice(first, first + len(points)), pins=(), slides=(), attachments=(), attachment_motions=(), embeddings=())
        # (kind, vertices of this body, rest, parameters) of every material; errors in a rest shape or an array of constants occur here
        self._keep(groups=tuple(group for material in materials for group in self.groups_of(material)))
        self._masses, self._velocity, self._damping = masses, velocity, damping
        self._simulations, self._is_shown = _Simulations(), False  # _is_shown: a copy in `Simulation.bodies`

    def __repr__(self):
        materials = ", ".join(map(repr, self.materials)) or "no material"
        size = counted(len(self.points), "vertex", "vertices")
        return f"<{', '.join([f'{self.type} {self.name!r}: {size}', materials, *self._holds()])}>"

    def _holds(self):
        """Return pins, slides and attachments as text."""
        moved = _count(pin for pin in self.pins if pin[1] is not None)
        for count, word in ((_count(self.pins), "pinned"), (_count(self.slides), "sliding"), (_count(self.attachments), "attached")):
            if count:
                yield f"{count} {word}{f' ({moved} moved by a motion)' if moved and word == 'pinned' else ''}"

    def copy(self) -> Body:
        """A copy of the body; changes of one do not affect the other."""
        other = type(self).__new__(type(self))
        own = {"_masses": self._masses.copy(), "_velocity": self._velocity.copy(), "_simulations": _Simulations()}
        vars(other).update(vars(self) | own)
        return other

    __copy__ = copy

    def _check_not_shown(self, change):
        if self._is_shown:
            raise RuntimeError(
                f"{change}: this is a read-only copy of body {self.name!r} in a Simulation; change the body of the scene, and make "
                "a new Simulation"
            )

    @property
    def masses(self) -> Floats:
        """Lumped masses, shape (n,), kg, greater than 0. May be set to a number or an array."""
        return self._masses

    @masses.setter
    def masses(self, masses: ArrayLike) -> None:
        self._check_not_shown("masses")
        self._masses = per_item("masses", masses, len(self.points), above=0.0)
        self._simulations.warn("masses", stacklevel=4)

    @property
    def velocity(self) -> Floats:
        """Initial velocities, shape (n, 3), m/s. May be set to (n, 3), or to (3,) for all vertices."""
        return self._velocity

    @velocity.setter
    def velocity(self, velocity: ArrayLike) -> None:
        self._check_not_shown("velocity")
        self._velocity = body_velocities(velocity, len(self.points))
        self._simulations.warn("velocity", stacklevel=4)

    @property
    def damping(self) -> float:
        """Damping time k_d of the elements, s, at least 0. May be set."""
        return self._damping

    @damping.setter
    def damping(self, damping: float) -> None:
        self._check_not_shown("damping")
        self._damping = number("damping", damping, minimum=0.0)
        self._simulations.warn("damping", stacklevel=4)

    def _some(self, change, where):
        """Return the selected vertices, at least one."""
        self._check_not_shown(change)
        if isinstance(where, str):
            groups = {} if self.mesh is None else self.mesh.groups
            if where not in groups:
                known = ", ".join(map(repr, groups)) or "none"
                raise ValueError(f"where: the mesh of {self.name!r} has no group {where!r}; its groups: {known}")
            where = groups[where].vertices
        indices = vertex_indices("where", where, selectable_points(self))
        if not len(indices):
            raise ValueError(f"where: it selects none of the {len(self.points)} vertices of {self.name!r}; select one or more")
        return indices

    def pin(self, where: Where, motion: Motion | None = None) -> None:
        """Fix vertices as Dirichlet conditions: they move only by `motion`.

        Parameters
        ----------
        where : array_like of int, or of bool with shape (n,), or callable(points (n, 3)) -> mask, or str
            Vertices of this body; a str is the name of a group in `Mesh.groups`.
        motion : callable(time, rest_points (k, 3)) -> positions (k, 3), optional
            Positions of the pinned vertices at a time (s); `rest_points` are those of the pinned vertices, in ascending order. By default
            they stay at their positions in the state. A motion must not call its simulation, see `Simulation.step`.

        Raises
        ------
        ValueError
            Nothing selected, an index out of range.
        RuntimeError
            A body in `Simulation.bodies`.
        """
        if motion is not None and not callable(motion):
            raise TypeError(f"motion: expected a callable(time, rest_points), got {motion!r}")
        hold(self, "pin", "pins", (read_only(self._some("pin", where)), motion))

    def slide(self, where: Where, *, line: ArrayLike | None = None, plane: ArrayLike | None = None) -> None:
        """Constrain vertices to a line or plane, each through its position in the state; along it they move freely.

        A bilateral constraint in a subspace [Chen et al. 2024, VBD, Sec. 3.4]. Every solver supports it: those that minimise the
        incremental potential minimise it over the subspace, where the matrix A of Projective Dynamics becomes P A P with the projectors P,
        and PBD and XPBD move each vertex only along it. Not supported are the linear solver AJacobi, one product of which is several Jacobi
        steps, and ProjectiveContact, which weighs a pair by isotropic masses; other contacts are supported.

        With Direct, sliding vertices couple the coordinates: the factor has three rows per vertex instead of one. An iteration of
        Projective Dynamics then takes about two to three times as long.

        Parameters
        ----------
        where : as for `pin`
            A vertex slides once; a pin of the same vertex has priority.
        line : array_like, shape (3,)
            Direction of the line. Give `line` or `plane`.
        plane : array_like, shape (3,)
            Normal of the plane.

        Raises
        ------
        ValueError
            A direction of zero length, nothing selected, a vertex that slides already, both or neither of `line` and `plane`.
        RuntimeError
            As for `pin`.
        """
        if (line is None) == (plane is None):
            raise ValueError("slide: give either line, the direction of a line, or plane, the normal of a plane")
        name, given = ("line", line) if plane is None else ("plane", plane)
        direction = real_array(name, given, (3,))
        largest = np.abs(direction).max()
        if largest == 0.0:
            raise ValueError(f"{name}: expected a direction of non-zero length, got {given!r}")
        direction = direction / largest
        direction /= np.sqrt(direction @ direction)
        along = np.outer(direction, direction)
        indices = self._some("slide", where)
        held = np.zeros(len(self.points), dtype=bool)
        for others, _ in self.slides:
            held[others] = True
        if held[indices].any():
            raise ValueError(f"where: vertex {int(indices[np.argmax(held[indices])])} slides already")
        projector = along if plane is None else np.eye(3) - along
        hold(self, "slide", "slides", (read_only(indices), read_only(projector)))

    def attach(
        self,
        where: Where | Embedding,
        targets: ArrayLike | Motion | None = None,
        stiffness: ArrayLike = 1e6,
        *,
        frame: Placement | None = None,
    ) -> None:
        """Attach vertices by springs of rest length zero to targets, which may move; with a frame, to a bone.

        Parameters
        ----------
        where : as for `pin`, or Embedding
            k vertices, in ascending order. For embedded points, with `frame` only, each spring is distributed to the corners of its tet by
            their weights, c w_a at corner a. If the tets move with the frame this equals the spring of the point, otherwise it is at least
            as stiff, c |W x - t|^2 <= sum_a c w_a |x_a - t_a|^2.
        targets : array_like, shape (k, 3) or (3,), or callable(time, rest_points (k, 3)) -> (k, 3)
            m; a callable is called with the time at the end of each step, s, and returns the targets. Moving targets need no new
            factorisation. The callable must not call its simulation, nor must `frame`; see `Simulation.step`.
        stiffness : float or array_like, shape (k,), or one for each embedded point
            N/m.
        frame : callable(time) -> (rotation (3, 3), translation (3,)), instead of targets
            A moving bone: the target of a vertex at the rest position x is rotation x + translation.

        Raises
        ------
        TypeError
            Targets and a frame, or neither.
        ValueError, RuntimeError
            As for `pin`; embedded points outside their tets, or of another body.
        """
        if (targets is None) == (frame is None):
            raise TypeError("attach: expected either targets or a frame")
        how = (TARGETS, targets) if callable(targets) else (FRAME, frame) if frame is not None else None
        if frame is not None and not callable(frame):
            raise TypeError(f"frame: expected a callable(time), got {frame!r}")
        if isinstance(where, Embedding):
            if frame is None:
                raise TypeError("attach: embedded points are attached to a frame")
            self._check_not_shown("attach")
            indices, stiffness = spread(self, where, stiffness)
        else:
            indices = self._some("attach", where)
        if how is not None:
            targets = targets_at(self, indices, how, 0.0)
        elif any_array("targets", targets).ndim == 1:
            targets = np.broadcast_to(real_array("targets", targets, (3,)), (len(indices), 3))
        targets = real_array("targets", targets, (len(indices), 3))
        stiffness = per_item("stiffness", stiffness, len(indices), above=0.0)
        self._keep(attachment_motions=(*self.attachment_motions, how))
        hold(self, "attach", "attachments", tuple(map(read_only, (indices, targets, stiffness))))

    def embed(self, points: ArrayLike | Mesh, *, name: str | None = None, extrapolate: bool = False, collides: bool = False) -> Embedding:
        """Embed points, or a surface, in the tets of a solid.

        The tets need not follow the surface: it may be finer than the mesh. It has no mass and no material. Pictures and files contain it
        instead of the body's surface, and `Simulation.embedded` returns its positions.

        Parameters
        ----------
        points : array_like, shape (k, 3), or Mesh
            At rest, in the frame of the body's points, m; for a mesh its points and its surface.
        name : str, optional
            Unique within the body.
        extrapolate : bool
            Assign points outside all tets to the closest tet, with negative weights: points far from it move far. By default they are an
            error.
        collides : bool
            The surface replaces that of the body in `certify`, `Simulation.contacts` and contact. With BarrierContact and PenaltyContact
            its points, edges and triangles have forces, which act on the vertices by their weights; see also `ProxyContact`. With
            PenaltyContact a body then has no interior: its self-contact uses distances and the earlier side. ProjectiveContact,
            TwoWayContact and XPBD reject the scene, and so do VertexBlockDescent, BlockJacobi and GradientDescent on a GPU.

        Returns
        -------
        Embedding

        Raises
        ------
        TypeError
            A body that is no solid.
        ValueError
            Points outside all tets, with their numbers and positions; no points, a name in use, points without triangles that collide.
        RuntimeError
            As for `pin`.
        """
        self._check_not_shown("embed")
        if self.type != "solid":
            raise TypeError(f"embed: expected a solid, and {self.name!r} is a {self.type}")
        name = f"{self.name}.embedded{len(self.embeddings)}" if name is None else name
        if not isinstance(name, str):
            raise TypeError(f"name: expected a string, got {name!r}")
        if any(part.name == name for part in self.embeddings):
            raise ValueError(f"name: {name!r} is embedded in {self.name!r} already; give another name")
        embedding = embedded_in(self, points, name, flag("extrapolate", extrapolate), flag("collides", collides))
        hold(self, "embed", "embeddings", embedding)
        return embedding

    def element_rows(self, material):
        """Return rows of vertices (of this body) for a material."""
        if isinstance(material, Spring):
            return self.mesh.edges if self.type == "rod" else self.mesh.unique_edges()
        if isinstance(material, Bending | HingeBending):
            return self.mesh.hinges
        if isinstance(material, RodBending):
            return self.mesh.joints
        return {"solid": self.mesh.tets, "shell": self.mesh.triangles}[self.type]

    def groups_of(self, material):
        """Return [(kind, vertices, rest, parameters)] of a material, empty if the mesh has no elements for it."""
        rows = self.element_rows(material)
        if not len(rows):
            return []
        kind, rest, parameters = material.elements(self.points, rows)
        return [(kind, rows, rest, parameters)]


def hold(body: Body, change: str, name: str, entry: Any) -> None:
    """Add an entry to `pins`, `slides`, `attachments` or `embeddings` of a body. A warning of the `change` names the caller's caller."""
    keep_attributes(body, **{name: (*getattr(body, name), entry)})
    simulations_of(body).warn(change, stacklevel=4)


def close(body: Body) -> None:
    """Make the arrays read-only. They can still be replaced, which warns of simulations that do not use the change."""
    for array in (body.masses, body.velocity):
        array.flags.writeable = False


def shown(body: Body) -> Body:
    """Return a read-only copy for `Simulation.bodies`."""
    other = body.copy()
    close(other)
    other._is_shown = True
    return other


def simulations_of(thing: Any) -> _Simulations:
    """Return the simulations that do not use a change of a body or a scene."""
    return thing._simulations


def share_simulations(body: Body, simulations: _Simulations) -> None:
    """Make a body warn of changes that these simulations do not use: those of its scene."""
    body._simulations = simulations


@made_by("Scene.add_obstacle")
@dataclass(frozen=True)
class Obstacle:
    """A collider of a scene; made by `Scene.add_obstacle`.

    Attributes
    ----------
    name : str
    collider : Collider
        With its motion.
    collides : bool
        True if it takes part in contact.
    """

    name: str
    collider: Collider
    collides: bool = True


def new_name(scene: Any, name: str) -> str:
    """Return the name if the scene does not use it; ValueError otherwise."""
    if not isinstance(name, str):
        raise TypeError(f"name: expected a string, got {name!r}")
    for what, parts in (("a body", scene.bodies), ("an obstacle", scene.obstacles)):
        if any(part.name == name for part in parts):
            raise ValueError(f"name: there is {what} named {name!r} already; give another name")
    return name


def _count(held):
    """Return the number of vertices in entries of pins, slides or attachments."""
    return len(set().union(*(indices.tolist() for indices, *_ in held)))


def body_velocities(velocity, n):
    """Return one velocity, or one for each of n vertices, as (n, 3)."""
    given = any_array("velocity", velocity)
    velocity = real_array("velocity", given, (3,) if given.ndim < 2 else (n, 3))
    return np.broadcast_to(velocity, (n, 3)).copy()
