"""Scenes: bodies and obstacles, and their arrays for a simulation."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pdgpu._internal.arguments import flag, number, per_item, real_array
from pdgpu._internal.attributes import GuardedAttributes, keep_attributes, read_only
from pdgpu._internal.counted import counted
from pdgpu.materials.hinge_bending import HingeBending
from pdgpu.materials.locking import warn_of_locking
from pdgpu.materials.material import Material, with_bending
from pdgpu.materials.materials import Bending, RodBending, WorldBox
from pdgpu.mesh.mesh import Mesh
from pdgpu.scene.bodies import Body, Obstacle, _Simulations, body_velocities, close, new_name, share_simulations, simulations_of
from pdgpu.scene.body_masses import body_masses, one_of
from pdgpu.scene.colliders import Collider, TriangleMesh
from pdgpu.scene.joints import Joint, JointScene
from pdgpu.scene.rigid_bodies import RigidBody
from pdgpu.scene.rigid_scene import RigidScene
from pdgpu.scene.scene_arrays import SceneArrays
from pdgpu.scene.segments import Segments

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import ArrayLike

    from pdgpu.types import BodyName, Floats, Materials

__all__ = ["Body", "Obstacle", "Scene"]


class Scene(RigidScene, JointScene, SceneArrays, GuardedAttributes):
    """Bodies under gravity, and obstacles.

    A simulation copies the scene when it is made. Later changes affect only later simulations, and warn while the first one exists.

    Parameters
    ----------
    gravity : array_like, shape (3,)
        m/s^2.

    Attributes
    ----------
    gravity : ndarray, shape (3,)
        May be set; its elements may be set until a simulation of the scene is made.
    bodies : tuple of Body
    obstacles : tuple of Obstacle
    world_box : WorldBox or None
    joints : tuple of Joint
    """

    bodies: tuple[Body, ...]
    obstacles: tuple[Obstacle, ...]
    world_box: WorldBox | None
    joints: tuple[Joint, ...]

    _instead_of = {
        "bodies": "call add_solid, add_shell, add_rod, add_particles or add_rigid",
        "obstacles": "call add_obstacle",
        "world_box": "call set_world_box",
        "joints": "call add_joint",
    }

    def __init__(self, gravity: ArrayLike = (0.0, -9.81, 0.0)) -> None:
        self._gravity = real_array("gravity", gravity, (3,))
        self._keep(bodies=(), obstacles=(), world_box=None, joints=())
        self._simulations = _Simulations()

    def __repr__(self):
        obstacles = f", {counted(len(self.obstacles), 'obstacle')}" if self.obstacles else ""
        box = "" if self.world_box is None else f", walls by {self.world_box!r}"
        return f"Scene({counted(len(self.bodies), 'body', 'bodies')}, {counted(self.n_vertices, 'vertex', 'vertices')}{obstacles}{box})"

    def copy(self) -> Scene:
        """A scene with copies of the bodies and with the same obstacles, which do not change."""
        other = Scene(self.gravity)
        keep_attributes(
            other, bodies=tuple(map(Body.copy, self.bodies)), obstacles=self.obstacles, world_box=self.world_box, joints=self.joints
        )
        for body in other.bodies:
            share_simulations(body, simulations_of(other))
        return other

    __copy__ = copy

    @property
    def gravity(self) -> Floats:
        """Acceleration of all bodies, shape (3,), m/s^2. May be set."""
        return self._gravity

    @gravity.setter
    def gravity(self, gravity: ArrayLike) -> None:
        self._gravity = real_array("gravity", gravity, (3,))
        self._simulations.warn("gravity", stacklevel=4)

    @property
    def n_vertices(self) -> int:
        """Number of vertices of all bodies."""
        return sum(len(body.points) for body in self.bodies)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all bodies, then of all obstacles; a tuple of str."""
        return (*(body.name for body in self.bodies), *(obstacle.name for obstacle in self.obstacles))

    def __getitem__(self, name):
        """Return the body or obstacle of that name."""
        if found := [part for part in (*self.bodies, *self.obstacles) if part.name == name]:
            return found[0]
        raise KeyError(f"no body is named {name!r}; there are {list(self.names)}")

    def find(self, body: BodyName) -> Body:
        """Return the body of this scene for a body or a name; ValueError for an unknown name."""
        name = body.name if isinstance(body, Body) else body
        if not isinstance(name, str):
            raise TypeError(f"body: expected a body or its name, got {body!r}")
        for candidate in self.bodies:
            if candidate.name == name:
                return candidate
        raise ValueError(f"body: no body is named {name!r}; there are {[candidate.name for candidate in self.bodies]}")

    def _add_mesh(self, kind, mesh, material, density, masses, name, velocity, damping, collides, thickness):
        if not isinstance(mesh, Mesh):
            raise TypeError(f"mesh: expected a pdgpu.Mesh, got {mesh!r}")
        element_name = {"solid": "tets", "shell": "triangles", "rod": "edges"}[kind]
        rows = getattr(mesh, element_name)
        if not len(rows):
            cure = "; fill the surface by a mesher such as Gmsh, or take add_shell" if kind == "solid" and len(mesh.triangles) else ""
            raise ValueError(f"mesh: a {kind} needs {element_name}, and {mesh!r} has none{cure}")
        materials = list(material) if isinstance(material, list | tuple) else [material]
        for given in materials:
            if not isinstance(given, Material):
                raise TypeError(f"material: expected a material such as pdgpu.ARAP, got {given!r}")
            if kind not in given.bodies:
                raise TypeError(f"material: {type(given).__name__} cannot be given to a {kind}, only to {', '.join(given.bodies)}")
        if len({type(given) for given in materials}) < len(materials):
            raise ValueError("material: a body takes each kind of material once")
        density, masses = body_masses(mesh, element_name, density, masses)
        return add_body(self, kind, mesh.points, mesh, materials, masses, name, velocity, damping, collides, thickness, density)

    def add_solid(
        self,
        mesh: Mesh,
        material: Materials,
        *,
        density: ArrayLike | None = None,
        masses: ArrayLike | None = None,
        name: str | None = None,
        velocity: ArrayLike = (0.0, 0.0, 0.0),
        damping: float = 0.0,
        collides: bool = True,
        thickness: float = 0.0,
    ) -> Body:
        """Add the tets of a mesh.

        Parameters
        ----------
        mesh : Mesh
            Every vertex must belong to a tet.
        material : Material or list of Material
            NeoHookean, LogNeoHookean, FixedCorotated, StVK, Corotated, ARAP, OrthotropicSolid, ShapeTarget, Volume, StrainLimit (Pa),
            Spring (N/m, on the edges). Linear tets lock near incompressibility: a Poisson's ratio of 0.45 or more, of all materials
            together, warns.
        density : float or array_like, shape (tets,)
            kg/m^3, greater than 0. Each vertex gets a quarter of the mass of its tets.
        masses : float or array_like, shape (n,)
            Instead of `density`: of each vertex, kg, greater than 0. Inertia, gravity, energies, cuts and files use them. `Body.density` is
            then their sum over the volume.
        name : str, optional
        velocity : array_like, shape (3,) or (n, 3)
            Initial, m/s.
        damping : float
            Damping time k_d of all its elements, s; rigid motion is not braked.
        collides : bool
            True if it takes part in contact, also with itself.
        thickness : float
            m, at least 0, half of it on each side of triangles, edges and points. Pairs keep half the thickness of both bodies in addition
            to the separation of the contact, within the body also at rest. `PenaltyContact` has its `distance` instead. `certify` tests it.

        Returns
        -------
        Body

        Raises
        ------
        TypeError, ValueError
            A mesh without tets, or with unused vertices; an unsuitable material; numbers out of range; a name in use.
        """
        body = self._add_mesh("solid", mesh, material, density, masses, name, velocity, damping, collides, thickness)
        warn_of_locking(body, stacklevel=2)
        return body

    def add_shell(
        self,
        mesh: Mesh,
        material: Materials,
        *,
        density: ArrayLike | None = None,
        masses: ArrayLike | None = None,
        bending: ArrayLike | Material = 0.0,
        flexural_rigidity: ArrayLike = 0.0,
        name: str | None = None,
        velocity: ArrayLike = (0.0, 0.0, 0.0),
        damping: float = 0.0,
        collides: bool = True,
        thickness: float = 0.0,
    ) -> Body:
        """Add the triangles of a mesh. Result and errors as for `add_solid`.

        Parameters
        ----------
        material : Material or list of Material
            Spring, StVK, Corotated, ARAP, OrthotropicShell, Area, StrainLimit (N/m), Bending, HingeBending (J).
        density : float or array_like, shape (triangles,)
            kg/m^2, greater than 0; or `masses`.
        bending : float or array_like, shape (hinges,)
            Short for adding Bending(bending) to the list, J; 0: none. It is not the flexural rigidity D of a plate: the stiffness of the
            sheet is 3 to 9 times this, by mesh and direction, at any resolution (`Bending`).
        flexural_rigidity : float or array_like, shape (hinges,)
            Short for adding HingeBending(flexural_rigidity) to the list, J; 0: none. It is D = E t^3 / (12 (1 - nu^2)) of a plate, and
            not to be given together with `bending`. How close the sheet comes to D depends on the mesh (`HingeBending`).
        mesh, masses, name, velocity, damping, collides, thickness
            As for `add_solid`.
        """
        materials = with_bending(material, bending, Bending)
        given = len(materials)
        materials = with_bending(materials, flexural_rigidity, HingeBending, "flexural_rigidity")
        if sum(isinstance(one, Bending | HingeBending) for one in materials) > 1 and len(materials) > given:
            raise ValueError(
                "flexural_rigidity: the shell has another bending stiffness; give one of flexural_rigidity, bending, Bending, HingeBending"
            )
        return self._add_mesh("shell", mesh, materials, density, masses, name, velocity, damping, collides, thickness)

    def add_rod(
        self,
        mesh: Mesh,
        material: Materials,
        *,
        density: ArrayLike | None = None,
        masses: ArrayLike | None = None,
        bending: ArrayLike | Material = 0.0,
        name: str | None = None,
        velocity: ArrayLike = (0.0, 0.0, 0.0),
        damping: float = 0.0,
        collides: bool = True,
        thickness: float = 0.0,
    ) -> Body:
        """Add the edges of a mesh, such as hair or a chain. Result and errors as for `add_solid`.

        Parameters
        ----------
        material : Material or list of Material
            Spring (N/m), RodBending (N m^2).
        density : float or array_like, shape (edges,)
            kg/m, greater than 0; or `masses`.
        bending : float or array_like, shape (joints,)
            Short for adding RodBending(bending) to the list, N m^2; 0: none.
        mesh, masses, name, velocity, damping, collides, thickness
            As for `add_solid`.
        """
        materials = with_bending(material, bending, RodBending)
        return self._add_mesh("rod", mesh, materials, density, masses, name, velocity, damping, collides, thickness)

    def add_particles(
        self,
        points: ArrayLike,
        *,
        mass: ArrayLike | None = None,
        masses: ArrayLike | None = None,
        name: str | None = None,
        velocity: ArrayLike = (0.0, 0.0, 0.0),
        damping: float = 0.0,
        collides: bool = True,
        thickness: float = 0.0,
    ) -> Body:
        """Add free points, such as grains of sand: with a `thickness`, balls of that diameter, without rotation. `damping` has no effect.

        Parameters
        ----------
        points : array_like, shape (n, 3)
            m.
        mass : float or array_like, shape (n,)
            kg, greater than 0; `masses` is another name of it.
        name, velocity, damping, collides, thickness
            As for `add_solid`.
        """
        points = real_array("points", points, (None, 3))
        if not len(points):
            raise ValueError("points: there are none")
        given = one_of("mass", mass, "masses", masses)
        masses = per_item("mass" if masses is None else "masses", given, len(points), above=0.0)
        return add_body(self, "particles", points, None, [], masses, name, velocity, damping, collides, thickness)

    def add_obstacle(
        self, mesh_or_shape: Mesh | Collider, motion: Any = None, *, name: str | None = None, collides: bool = True
    ) -> Obstacle:
        """Add an obstacle: bodies collide with it, and do not move it.

        It acts in a simulation with `contact`; without contact bodies pass through it, with a warning at creation. `Simulation.contacts`
        finds its pairs; `set_world_box` makes walls with a restoring force.

        Parameters
        ----------
        mesh_or_shape : Mesh or Collider
            A mesh, whose surface is used, or its edges if it has nothing else; or Plane, Sphere, Capsule, Box, SignedDistanceField,
            TriangleMesh, Segments, Points.
        motion : callable, optional
            For a mesh, Segments and Points: callable(time, rest_points (n, 3)) -> positions (n, 3); for another collider: callable(time) ->
            (rotation (3, 3), translation (3,)). By default the obstacle is at rest, or has the collider's own motion. The time is in s. A
            motion must not call its simulation, see `Simulation.step`.
        name : str, optional
            Unique among bodies and obstacles.
        collides : bool
            True if it takes part in contact.

        Returns
        -------
        Obstacle

        Raises
        ------
        TypeError
            An object that is neither a mesh nor a collider; a motion that is not callable.
        ValueError
            A name in use, a motion for a collider that has one; for a mesh of edges as `Segments`.
        """
        collider: Any = _mesh_collider(mesh_or_shape) if isinstance(mesh_or_shape, Mesh) else mesh_or_shape
        if not isinstance(collider, Collider):
            raise TypeError(f"mesh_or_shape: expected a pdgpu.Mesh or a collider such as pdgpu.Sphere, got {mesh_or_shape!r}")
        if motion is not None:
            if collider.motion is not None:
                raise ValueError("motion: the collider has one already")
            plain: Any = collider
            collider = replace(plain, motion=motion)
        obstacle = Obstacle(
            new_name(self, f"obstacle{len(self.obstacles)}" if name is None else name), collider, flag("collides", collides)
        )
        self._keep(obstacles=(*self.obstacles, obstacle))
        self._simulations.warn("add_obstacle")
        return obstacle

    def set_world_box(self, lower: ArrayLike, upper: ArrayLike, stiffness: float) -> None:
        """Push vertices of all bodies back into a box: energy stiffness/2 |x - clamp(x, lower, upper)|^2 per vertex.

        A unilateral constraint as a potential energy [Chen et al. 2024, VBD, Sec. 3.4]. So a resting body penetrates slightly, by the
        weight on a vertex over the stiffness; only PBD moves every vertex back, for any stiffness. It acts on vertices, not on faces; also
        on vertices that start outside, not on pinned ones; without friction or damping; on the bodies in the scene when a simulation is
        made. It appears in `Simulation.energies` as "WorldBox". A second call replaces the box. The matrix of Projective Dynamics gets
        `stiffness` on the diagonal of every vertex, also inside the box. So a stiffer box makes vertices move less per iteration. Errors as
        for `WorldBox`.

        Parameters
        ----------
        lower, upper : array_like, shape (3,)
            m, lower < upper; a side may be infinite, as in lower=(-inf, 0, -inf), upper=(inf, inf, inf) for a floor.
        stiffness : float
            N/m, greater than 0.
        """
        self._keep(world_box=WorldBox(lower, upper, number("stiffness", stiffness, above=0.0)))
        self._simulations.warn("set_world_box")


def _mesh_collider(mesh):
    """Return the collider of a mesh: its surface, or its edges if it has no triangles and no tets."""
    return TriangleMesh(mesh) if len(mesh.tets) or len(mesh.triangles) else Segments(mesh.points, mesh.edges)


def add_body(scene, kind, points, mesh, materials, masses, name, velocity, damping, collides, thickness, density=None):
    """Add a body to a scene."""
    collides, thickness = flag("collides", collides), number("thickness", thickness, minimum=0.0)
    name = new_name(scene, f"{kind}{len(scene.bodies)}" if name is None else name)
    velocity, damping = body_velocities(velocity, len(points)), number("damping", damping, minimum=0.0)
    points = read_only(points) if mesh is None else mesh.points
    body = Body(name, kind, points, mesh, materials, masses, scene.n_vertices, velocity, damping, density, collides, thickness)
    simulations = simulations_of(scene)
    share_simulations(body, simulations)
    keep_attributes(scene, bodies=(*scene.bodies, body))
    simulations.warn(f"add {name!r}", stacklevel=5 if mesh is not None else 4)
    return body


def checked_copy(scene):
    """Return a copy for a simulation, after checks of the writable arrays."""
    real_array("gravity", scene.gravity, (3,))
    for body in scene.bodies:
        if not isinstance(body, RigidBody):
            per_item(f"masses of {body.name!r}", body.masses, len(body.points), above=0.0)
        real_array(f"velocity of {body.name!r}", body.velocity, body.points.shape)
    return scene.copy()


def take_note(scene, simulation):
    """Register a simulation of the scene, which does not use its later changes."""
    simulations_of(scene).add(simulation)
    scene.gravity.flags.writeable = False
    for body in scene.bodies:
        close(body)
