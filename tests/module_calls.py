"""A right call of every function, constructor and method of the compiled modules: what tests that call them directly start from.

Arrays are small and new in every call of a function here, so that a change of one has no effect elsewhere.
"""

import numpy as np

import pdgpu
from pdgpu import _host, shapes
from pdgpu.linear.linear_solvers import linear_settings

BEAM, CLOTH, BALL = shapes.beam((1, 1, 1), cells=(2, 1, 1)), shapes.grid((1, 1), cells=(3, 2)), shapes.sphere(1.0, 0)
CHEBYSHEV = {"rho": 0.5, "start": 2, "under_relaxation": 1.0}
SOLVERS = len(pdgpu.solvers.SOLVERS)
ARGUMENTS = ("masses", "fixed", "elements", "h", "solver", "settings", "threads", "subspace", "contact", "rigid", "arms")  # of Simulation


def host_calls():
    """Name -> arguments of the functions of _host."""
    points, tets, cloth = np.array(BEAM.points), np.array(BEAM.tets), np.array(CLOTH.points)
    triangles, vertices = np.array(CLOTH.triangles), np.arange(len(cloth), dtype=np.int32)
    edges = _host.edges(triangles, len(cloth))
    surface = (triangles, edges, np.zeros(len(edges), np.uint8))
    contacts = np.array([[0, 2, -1, -1], [1, 2, 0, 3]], np.int32)
    ball = (np.array(BALL.points), np.array(BALL.triangles))
    pairs = np.random.default_rng(0).normal(size=(3, 8, 3))
    return {
        "check_elements": (points, tets, "tets"),
        "orient_tets": (points, tets),
        "surface": (tets, len(points)),
        "edges": (tets, len(points)),
        "hinges": (triangles, len(cloth)),
        "measures": (points, tets),
        "lumped_masses": (points, tets, np.ones(len(tets))),
        "colouring": (tets, len(points), "greedy"),
        "curve_order": (points,),
        "rest_shape": (points, "tet", tets),
        "hinge_rest": (np.array([[[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.5, 1.0, 0.2], [0.5, -1.0, 0.1]]]),),
        "missing_instructions": (),
        "dense_factor_seconds": (20,),
        "schur_complement": (
            np.array([0, 1, 3, 5], np.int32),
            np.array([0, 0, 1, 1, 2], np.int32),
            np.array([2.0, -1.0, 2.0, -1.0, 2.0]),
            2,
        ),
        "find_intersections": (cloth, *surface, 1),
        "find_crossings": (cloth, cloth + 0.1, vertices, *surface, 1),
        "smallest_gap": (cloth, vertices, *surface, 1),
        "find_approaches": (cloth, cloth + 0.1, edges, edges, np.zeros(len(edges)), 0.5, np.zeros(len(cloth), np.uint8), True, 1),
        "contact_times": (pairs, 1),
        "pair_pattern": (contacts, 4, 1),
        "check_closed": (ball[1], len(ball[0])),
        "mass_properties": ball,
        "nearest_triangles": (*ball, np.ones((2, 3)), 1),
        "are_inside": (*ball, np.ones((2, 3)), 1),
        "distance_grid": (*ball, (-1.0, -1.0, -1.0), 0.5, (3, 4, 5), 1),
    }


def fill_zeros(quantity, n, F, elements, out):
    """Functions of a material: nothing is stiff."""
    out[:n] = 0.0


def backend_calls(module):
    """Name -> arguments of the functions of a backend module."""
    dtype = real_of(module)
    x, points, rows = BEAM.points[BEAM.tets[:2]].astype(dtype), BEAM.points.astype(dtype), np.array(BEAM.tets[:2])
    kind, *_ = module.KINDS["arap_tet"]
    custom, _, _, count = module.KINDS["custom_tet"]
    rest = _host.rest_shape(BEAM.points, "tet", rows)[0].reshape(2, 9).astype(dtype)
    values = np.linalg.norm(np.mgrid[-1:2, -1:2, -1:2], axis=0).astype(dtype) - dtype(0.5)
    pairs = (np.full(1, 3, np.int32), rows[:1].copy(), *np.full((4, 1), 0.5, dtype), points)
    pattern = _host.pair_pattern(rows[:1], len(points), 1)
    strides = np.diff(pattern[0])[3 * rows[:1]]
    return {
        "devices": (),
        "unavailable": (),
        "versions": (),
        "use_device": (0,),
        "workspace_counts": (),
        "direct_library": (),
        "loop_seconds": (),
        "element_batch": (kind, 1, x, rest, np.ones((2, 1), dtype), 1),
        "material_values": (custom, 7, x, rest, np.ones((2, count), dtype), [("own", 2, True, fill_zeros)]),
        "pair_closest": (2, x, 1),
        "pair_batch": (3, 1, x, 1),
        "mollifier": (x, x.copy(), 1, 1),
        "collision_times": (2, 0, points, points.copy(), rows, 0.0, 1),
        "contact_batch": (0, 1, 1.0, 6, *pairs, 1),
        "contact_sum": (0, 1, 1.0, 6, *pairs, np.zeros(len(pattern[1])), pattern[2], strides, 1),
        "earliest_collision": (2, points, points.copy(), rows, rows[:1], 0.0, 1),
        "collider_query": (4, np.eye(4, 3), np.ones(4), 0.5, values, points, 1),
    }


def linear_of(solver=None):
    """The dict of settings a core takes."""
    return linear_settings(solver or pdgpu.Jacobi(weight=0.5), iterations=2)


def simulation_arguments(module, solver=0, body="beam"):
    """ARGUMENTS of one or two small bodies with a set of several kinds of elements; `solver` counts in pdgpu.solvers.SOLVERS."""
    from pdgpu.solvers.solver_support import settings_of
    from pdgpu.solvers.solvers import SOLVERS as CLASSES

    scene = pdgpu.Scene()
    projective = CLASSES[solver] not in (pdgpu.VertexBlockDescent, pdgpu.Newton)
    if body == "beam":
        scene.add_solid(BEAM, pdgpu.ARAP(1e3) if projective else pdgpu.NeoHookean(1e3, 1e3), density=1.0).pin([0])
    else:
        scene.add_shell(CLOTH, pdgpu.Spring(1e3), density=1.0, bending=0.1, damping=0.01).pin([0])
    groups = scene.element_groups()
    n = scene.n_vertices
    own = {"relaxation": 0.1} if CLASSES[solver] is pdgpu.PBD else {}  # a simulation chooses it
    settings = settings_of(CLASSES[solver](iterations=2, **own), "cpu")
    if CLASSES[solver] is pdgpu.VertexBlockDescent:
        settings["colours"] = _host.colouring(_joined_edges(groups, n), n)
    elements = [(module.KINDS[kind][0], *group) for kind, group in groups.items()]
    contact = contact_argument(scene, real_of(module)) if body == "beam" else None
    proxies = proxies_argument(n, real_of(module)) if body == "cloth" and CLASSES[solver] is pdgpu.ProjectiveDynamics else None
    return [scene.masses(), scene.fixed(), elements, 0.01, CLASSES[solver].__name__, settings, 1, None, contact, None, None, proxies]


DRIVEN = 2 + 1 + 2 + 8  # of a plane, a sphere, a capsule, a box


def contact_argument(scene, dtype):
    """What touches, as a Simulation takes it: every kind of obstacle, far away, and bodies that nothing moves apart but a plane, since the
    calls put all vertices in one place."""
    from pdgpu.contact.contact_scene import ContactScene

    scene.add_obstacle(pdgpu.Plane((0, -5, 0), (0, 1, 0)))
    scene.add_obstacle(pdgpu.Sphere((5, 5, 5), 1.0))
    scene.add_obstacle(pdgpu.Capsule((9, 5, 5), (9, 6, 5), 1.0))
    scene.add_obstacle(pdgpu.Box((1, 1, 1), (9, 9, 9)))
    contact = pdgpu.BarrierContact(0.1, stiffness=1.0, friction=0.3)
    found = ContactScene(scene, contact, scene.fixed().astype(bool)).description(contact, dtype, 0.01)
    return found | {name: found[name] | 1 for name in found if name.endswith("_tags")}


def proxies_argument(n, dtype):
    """Two proxies, a collider and the rest shape of a tet, as a Simulation takes them."""
    rows = np.array([[0, 1, 2, -1], [n - 1, -1, -1, -1]], np.int32)
    weights = np.array([[0.5, 0.25, 0.25, 0.0], [1.0, 0.0, 0.0, 0.0]], dtype)
    field = {
        "distance": (4, np.vstack([np.eye(3), np.zeros(3)]), np.zeros(4), 0.5, np.ones((2, 3, 2), dtype)),
        "body": np.zeros(1, np.int32),
        "apart": 0.1,
        "cell": 0.5,
        "cells": np.array([1, 2, 1], np.int32),
        "start": np.array([0, 1, 1], np.int32),
        "tets": np.zeros(1, np.int32),
        "surface": {
            "skip": np.array([3, 2, 3], np.int32),
            "first": np.array([0, 0, 1, 2], np.int32),
            "boxes": np.tile(np.array([0, 0, 0, 1, 1, 1], dtype), (3, 1)),
            "corners": np.tile(np.array([0, 0, 0, 1, 0, 0, 0, 1, 0], dtype), (2, 1)),
            "normals": np.tile(np.array([0, 0, 1], dtype), (2, 7)),
            "scale": 0.5,
        },
    }
    rest = {
        "fields": [field],
        "tets": np.array([[0, 1, 2, n - 1]], np.int32),
        "field_of": np.zeros(1, np.int32),
        "rest": np.ones((n, 3), dtype),
        "body": np.zeros(2, np.int32),
        "place": np.ones((2, 3), dtype),
    }
    return {"rows": rows, "weights": weights, "stiffness": np.ones(2, dtype), "n_colliders": 1, "per_step": 0, "rest": rest}


PARTS = ("rigid", "projective", "two_way", "penalty", "carriers", "proxies")


def parts_argument(module, arguments, *parts):
    """The arguments of a Simulation of a beam with these of PARTS in its scene, as one that looks for none of them would be given."""
    given = dict(zip((*ARGUMENTS, "proxies"), arguments, strict=True))
    n, dtype, contact = len(given["masses"]), real_of(module), dict(given["contact"])
    if "rigid" in parts:
        given["rigid"] = np.array([[0, n, -1, -1]], np.int32)
        given["arms"] = BEAM.points - BEAM.points.mean(axis=0)
    if "projective" in parts:
        names = ("stiffness", "tolerance", "restitution", "rest_speed", "outer", "inner", "blocks", "target", "hits_alone", "cut_back")
        contact["projective"] = dict(zip(names, (1.0, 0.1, 0.0, 0.0, 5, 5, 0, 0, 0, 0), strict=True)) | {"printed": 0}
    if "two_way" in parts:
        numbers = {"steps": 5, "sweeps": 5, "patience": 0, "every": 0, "multipliers": 0, "lengths_by": 0, "filtered": 0, "strength": 1.0}
        numbers |= {"passes": 1, "recovery": 1.0}
        edges = {"edges": np.array([[0, 1]], np.int32), "lengths": np.ones(1, dtype)}
        contact["two_way"] = numbers | edges | {"repulsion": 1.0, "edge_limit": 2.0, "farthest": 1.0}
    if "penalty" in parts:
        contact["detection_interval"] = 0
    if "carriers" in parts:  # the first driven point is carried instead
        contact["carriers"] = np.array([[0, 1, -1, -1]], np.int32)
        contact["carrier_weights"] = np.array([[0.5, 0.5, 0.0, 0.0]], dtype)
        contact["planes"] = contact["planes"] + 1
    given["contact"] = contact
    if "proxies" in parts:
        given["proxies"] = proxies_argument(n, dtype)
    return list(given.values())


def _joined_edges(groups, n):
    """Every pair of vertices of an element."""
    parts = [_host.edges(np.ascontiguousarray(group[0]), n) for group in groups.values() if group[0].shape[1] > 1]
    return np.unique(np.concatenate(parts), axis=0)


def solved_calls(module, n):
    """The same of the methods of a Simulation that answer only while a function of a solver in Python runs."""
    ones = np.ones((n, 3), real_of(module))
    return {
        "solved_vectors": (0,),
        "solved_potential": (ones,),
        "solved_gradient": (ones,),
        "solved_hessian": (ones, 1),
        "solved_product": (ones, ones, 1),
        "solved_diagonal": (ones, 1),
        "solved_local_step": (ones,),
        "solved_global_solve": (ones,),
        "solved_limit": (ones,),
        "solved_line_search": (ones,),
        "solved_move": (ones, 1.0),
    }


def simulation_calls(module, n):
    """Name -> arguments of the methods of a Simulation of n vertices."""
    dtype = real_of(module)
    ones = np.ones((n, 3), dtype)
    return {
        "prepare": (),
        "set_state": (ones, ones.copy(), None),
        "set_load": (ones.copy(),),
        "set_targets": (0, np.ones((0, 6), dtype)),
        "set_attachments": (0, np.ones((0, 3), dtype)),
        "step": (None, None, None, None, False),
        "steps": (),
        "set_steps": (3,),
        "state": (),
        "energies": (ones.copy(), True),
        "contact_row": (ones.copy(), False),
        "contact_columns": (),
        "friction_columns": (),
        "penalty_columns": (),
        "projective_columns": (),
        "set_proxy_colliders": ([],),
        "proxy_columns": (),
        "driven": (),
        "doublings": (),
        "set_doublings": (0, 0),
        "find_pairs_at": (ones.copy(),),
        "set_driven": (np.ones((DRIVEN, 3), dtype), np.zeros((DRIVEN, 3), dtype)),
        "gradient": (ones.copy(),),
        "gradient_rounding": (),
        "potential_rounding": (1.0,),
        "unbalanced": (),
        "hessian": (ones.copy(), False),
        "system_matrix": (),
        "constraint_colours": (),
        "linear_weight": (),
        "schur_cost": (),
        "set_diagonal": (np.ones(n),),
        "set_linear": (0.5, 1.0, 0.5, None),
        "set_chebyshev": (dict(CHEBYSHEV),),
        "positions": (),
        "velocities": (),
        "device_positions": (),
        "device_velocities": (),
        "counts": (),
        "refusal": (),
    }


def linear_arguments(module, solver=None):
    """Arguments of Linear: matrix, bending, width, settings, threads."""
    matrix = (np.array([0, 2, 4], np.int32), np.array([0, 1, 0, 1], np.int32), np.array([2.0, -1.0, -1.0, 2.0]))
    return [matrix, None, 3, linear_of(solver), 1]


def linear_calls(module, n):
    vectors = np.ones((2, 3), real_of(module))
    return {
        "weight": (),
        "colours": (),
        "cost": (),
        "counts": (),
        "set": (0.5, 1.0, 0.5, None),
        "prepare": (),
        "set_diagonal": (np.ones(2),),
        "solve": (vectors, None, vectors.copy(), np.zeros((3, 4)), 1, False),
    }


def broad_phase_arguments(module, method=0):
    """Arguments of BroadPhase: method, rest, vertices, edges, triangles, their tags, threads, and a simulation for the first method."""
    points = np.random.default_rng(0).random((6, 3)).astype(real_of(module))
    corners = ([[0], [1], [2], [3], [4], [5]], [[0, 1], [1, 2], [3, 4]], [[0, 1, 2], [3, 4, 5]])
    corners = [np.array(part, np.int32) for part in corners]
    simulation = None if method else module.Simulation(*simulation_arguments(module))
    return [method, points, *corners, *(np.full(len(part), 2, np.int32) for part in corners), 1, simulation]


def broad_phase_calls(module, n):
    points = np.random.default_rng(1).random((6, 3)).astype(real_of(module))
    end = points + real_of(module)(0.1)
    return {
        "find": (points, end, 0.1, True),
        "search": (points.copy(), end.copy(), 0.1, False),  # the second search; the next ones ask about its pairs
        "pairs": (2,),
        "earliest": (2, 0, 0.01),
        "collisions": (2, 2, 0, 0.01),
        "closest": (2, 3),
        "counts": (),
        "seconds": (),
    }


def proximity_arguments(module, weighted=False):
    """Arguments of Proximity: a broad phase, vertices, owner, tested points, owners of colliders, and rows and weights or None."""
    phase = module.BroadPhase(*broad_phase_arguments(module))
    rows, weights = (np.tile(np.array(row), (4, 1)) for row in ([0, 1, -1, -1], [0.5, 0.5, 0.0, 0.0]))
    owner, tested, owners = np.zeros(6, np.int32), np.arange(4, dtype=np.int32), np.array([1, 2], np.int32)
    return [phase, 4, owner, tested, owners, *((rows.astype(np.int32), weights.astype(real_of(module))) if weighted else (None, None))]


def proximity_calls(module, n):
    points = np.random.default_rng(1).random((6, 3)).astype(real_of(module))
    values = np.linalg.norm(np.mgrid[-1:2, -1:2, -1:2], axis=0).astype(real_of(module)) - real_of(module)(0.5)
    return {
        "set_collider": (1, 4, np.eye(4, 3), np.ones(4), 0.5, values),
        "update": (points[:4], points[4:], 0.1, 0.2),
        "find": (points[:4].copy(), points[4:].copy(), 0.5, True),
        "active": (),
        "incidence": (),
        "counts": (),
    }


def device_array_calls(module, n):
    return {"__dlpack__": (), "__dlpack_device__": (), "__array_interface__": None, "__cuda_array_interface__": None, "shape": None}


def real_of(module):
    """The dtype of `real` in a backend module."""
    return np.float32 if module.__name__.endswith("f32") else np.float64
