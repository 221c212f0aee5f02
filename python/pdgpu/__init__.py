"""pdgpu: Projective Dynamics and its rivals, compared on equal terms.

Scenes of deformable bodies, solvers for their time steps, and the energies and residuals that tell how fast each converges.
"""

from pdgpu.openmp import short_spinning

with short_spinning():
    from pdgpu import _host  # noqa: F401  (loads the OpenMP runtime)

from pdgpu import ccd, collision, contact, elements, geometry, linear, linear_solvers, materials, shapes, solvers, surface
from pdgpu.bodies import Body, Obstacle
from pdgpu.certificate import Certificate, certify
from pdgpu.colliders import Box, Capsule, Collider, Plane, Sphere, TriangleMesh
from pdgpu.comparison import Comparison, compare
from pdgpu.contact import BarrierContact
from pdgpu.contacts import Contacts
from pdgpu.cutting import Cut
from pdgpu.embedding import Embedding
from pdgpu.errors import DivergenceError
from pdgpu.histories import History
from pdgpu.joint_elements import JointForce
from pdgpu.joints import Joint
from pdgpu.linear_solvers import *  # noqa: F403  (as of materials and solvers: a new one is named there alone)
from pdgpu.material import Material
from pdgpu.materials import *  # noqa: F403
from pdgpu.mesh import Mesh, read_mesh
from pdgpu.motion import Momentum
from pdgpu.penalty_contact import PenaltyContact
from pdgpu.projective_contact import ProjectiveContact
from pdgpu.proxy_contact import ProxyContact, RestField
from pdgpu.rates import Rate
from pdgpu.records import StepRecord
from pdgpu.rigid_bodies import RigidBody
from pdgpu.rigid_state import RigidState
from pdgpu.scene import Scene
from pdgpu.schur import SchurDirect
from pdgpu.signed_distance_field import SignedDistanceField
from pdgpu.simulation import Simulation
from pdgpu.skin import biphasic
from pdgpu.snapshots import Snapshot
from pdgpu.solvers import *  # noqa: F403
from pdgpu.sweeps import Sweep, sweep
from pdgpu.two_way_contact import ContactUpdate, TwoWayContact
from pdgpu.viewers import viewer

__version__ = "0.1.0"

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
    "Cut",
    "DivergenceError",
    "Embedding",
    "History",
    "Joint",
    "JointForce",
    "Material",
    "Mesh",
    "Momentum",
    "Obstacle",
    "PenaltyContact",
    "Plane",
    "ProjectiveContact",
    "ProxyContact",
    "Rate",
    "RestField",
    "RigidBody",
    "RigidState",
    "Scene",
    "SchurDirect",
    "SignedDistanceField",
    "Simulation",
    "Snapshot",
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
    "read_mesh",
    "shapes",
    "surface",
    "sweep",
    "viewer",
]
__all__ += linear_solvers.__all__ + materials.__all__ + solvers.__all__
