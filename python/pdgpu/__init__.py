"""pdgpu: Projective Dynamics and other solvers, compared with common measures.

Scenes of deformable bodies, solvers for their time steps, and the energies and residuals that show the convergence of each.
"""

from pdgpu._internal.old_paths import install
from pdgpu._internal.openmp import short_spinning

install()
with short_spinning():
    from pdgpu import _host  # noqa: F401  (loads the OpenMP runtime)

from pdgpu import collision, contact, linear, materials, solvers
from pdgpu.collision import ccd, geometry
from pdgpu.contact.barrier_contact import BarrierContact
from pdgpu.contact.penalty_contact import PenaltyContact
from pdgpu.contact.projective_contact import ProjectiveContact
from pdgpu.contact.proxy_contact import ProxyContact, RestField
from pdgpu.contact.two_way_contact import ContactUpdate, TwoWayContact
from pdgpu.errors import DivergenceError, SceneFileError
from pdgpu.linear import linear_solvers
from pdgpu.linear.linear_solvers import *  # noqa: F403  (as of materials and solvers: a new one is named there alone)
from pdgpu.linear.schur import SchurDirect
from pdgpu.materials import elements
from pdgpu.materials.joint_elements import JointForce
from pdgpu.materials.material import Material
from pdgpu.materials.material_frames import warp_directions
from pdgpu.materials.materials import *  # noqa: F403
from pdgpu.materials.skin import biphasic
from pdgpu.mesh import shapes
from pdgpu.mesh.mesh import Mesh, read_mesh
from pdgpu.results.histories import History
from pdgpu.results.rates import Rate
from pdgpu.results.records import StepRecord
from pdgpu.scene import surface
from pdgpu.scene.bodies import Body, Obstacle
from pdgpu.scene.colliders import Box, Capsule, Collider, Plane, Sphere, TriangleMesh
from pdgpu.scene.embedding import Embedding
from pdgpu.scene.joints import Joint
from pdgpu.scene.rigid_bodies import RigidBody
from pdgpu.scene.scene import Scene
from pdgpu.scene.segments import Points, Segments
from pdgpu.scene.signed_distance_field import SignedDistanceField
from pdgpu.simulation.contacts import Contacts
from pdgpu.simulation.cutting import Cut
from pdgpu.simulation.motion import Momentum
from pdgpu.simulation.rigid_state import RigidState
from pdgpu.simulation.scene_files.loaded_scene import LoadedScene
from pdgpu.simulation.scene_files.notes import SceneNote
from pdgpu.simulation.scene_files.read_scene import read_scene
from pdgpu.simulation.simulation import Simulation
from pdgpu.simulation.snapshots import Snapshot
from pdgpu.simulation.solver_step import SolverStep
from pdgpu.solvers.custom_solver import CustomSolver
from pdgpu.solvers.solvers import *  # noqa: F403
from pdgpu.study.comparison import Comparison, compare
from pdgpu.study.profiles import Profile, profile
from pdgpu.study.sweeps import Sweep, sweep
from pdgpu.verify.certificate import Certificate, certify
from pdgpu.viz.viewers import viewer

__version__ = "0.2.0"

__all__ = [
    "BarrierContact",
    "Body",
    "Box",
    "Capsule",
    "Certificate",
    "Collider",
    "Comparison",
    "ContactUpdate",
    "Contacts",
    "CustomSolver",
    "Cut",
    "DivergenceError",
    "Embedding",
    "History",
    "Joint",
    "JointForce",
    "LoadedScene",
    "Material",
    "Mesh",
    "Momentum",
    "Obstacle",
    "PenaltyContact",
    "Plane",
    "Points",
    "Profile",
    "ProjectiveContact",
    "ProxyContact",
    "Rate",
    "RestField",
    "RigidBody",
    "RigidState",
    "Scene",
    "SceneFileError",
    "SceneNote",
    "SchurDirect",
    "Segments",
    "SignedDistanceField",
    "Simulation",
    "Snapshot",
    "SolverStep",
    "Sphere",
    "StepRecord",
    "Sweep",
    "TriangleMesh",
    "TwoWayContact",
    "biphasic",
    "ccd",
    "certify",
    "collision",
    "compare",
    "contact",
    "elements",
    "geometry",
    "linear",
    "profile",
    "read_mesh",
    "read_scene",
    "shapes",
    "surface",
    "sweep",
    "viewer",
    "warp_directions",
]
__all__ += linear_solvers.__all__ + materials.__all__ + solvers.__all__


def __dir__() -> list[str]:
    return sorted([*__all__, *(name for name in globals() if name.startswith("__") and name.endswith("__"))])
