"""A time step by Incremental Potential Contact with ipctk: what a step of pdgpu with a barrier is held against.

Li et al. 2020, Algorithm 1: Newton's method with every element and every pair projected, a sparse Cholesky factorisation, a step no longer
than the first impact allows, halved until the potential falls. Inertia, elasticity and damping are those of a simulation without contact;
the barrier, its pairs and the impacts are ipctk's. Every obstacle must be a mesh.
"""

import warnings

import ipctk
import numpy as np
import scipy.sparse
from pdgpu.surface import SceneSurface

import pdgpu

ipctk.set_logger_level(ipctk.LoggerLevel.error)  # an obstacle that is as near as it may come is no news


class IpcStep:
    """Minimises the incremental potential of a scene with a barrier.

    Parameters
    ----------
    scene : pdgpu.Scene
    contact : pdgpu.BarrierContact
        With a number for its stiffness and weighting="sum". No two primitives of one body may be nearer at rest than 10/9 of its
        distance: ipctk reduces no activation distance.
    dt : float
        s.
    """

    def __init__(self, scene, contact, dt):
        if contact.weighting != "sum":
            raise ValueError(f"contact: ipctk weighs edges with the sum of their areas, got weighting={contact.weighting!r}; give 'sum'")
        self.contact, self.dt = contact, dt
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of obstacles that nothing responds to
            self.free_of_contact = pdgpu.Simulation(scene, pdgpu.Newton(), dt=dt, threads=1)
        self.surface = SceneSurface(scene)
        self.n, self.gravity = scene.n_vertices, scene.gravity
        self.free = np.repeat(scene.fixed() == 0, 3)
        used = np.unique(np.concatenate([self.surface.triangles.ravel(), self.surface.edges.ravel(), self.surface.particles]))
        place = np.full(len(self.surface.rest), -1)
        place[used] = np.arange(len(used))
        faces = np.asfortranarray(place[self.surface.triangles], np.int32).reshape(-1, 3)
        edges = np.concatenate([ipctk.edges(faces) if len(faces) else np.zeros((0, 2), np.int32), place[self.surface.edges]])
        self.used = used
        self.mesh = ipctk.CollisionMesh(np.asfortranarray(self.surface.rest[used]), np.asfortranarray(edges, np.int32), faces)
        self.potential = ipctk.BarrierPotential(contact.distance, contact.stiffness, contact.area_weighted)
        self.collisions = ipctk.NormalCollisions()
        self.collisions.use_area_weighting = contact.area_weighted
        rows = np.flatnonzero(np.repeat(used < self.n, 3))
        columns = (3 * used[used < self.n][:, None] + np.arange(3)).ravel()
        shape = (3 * len(used), 3 * self.n)
        self.select = scipy.sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=shape)

    def positions(self, x, driven=None):
        """Of the vertices that ipctk sees; those of the obstacles where they have come to, unless they are given."""
        return np.asfortranarray(np.concatenate([x, self.driven if driven is None else driven])[self.used])

    def energy(self, x):
        """The incremental potential, J."""
        points = self.positions(x)
        self.collisions.build(self.mesh, points, self.contact.distance, self.contact.separation)
        return self.free_of_contact.incremental_potential(x) + self.potential(self.collisions, self.mesh, points)

    def derivatives(self, x):
        """Gradient and projected Hessian over the free degrees of freedom; the pairs are those of the last `energy`."""
        points = self.positions(x)
        gradient = self.select.T @ self.potential.gradient(self.collisions, self.mesh, points)
        hessian = self.potential.hessian(self.collisions, self.mesh, points, ipctk.PSDProjectionMethod.CLAMP)
        hessian = (self.select.T @ hessian @ self.select).tocsr() + self.free_of_contact.hessian(x, psd=True)
        gradient = gradient + self.free_of_contact.gradient(x).ravel()
        return gradient[self.free], hessian[self.free][:, self.free]

    def longest(self, start, end, kept=0.0):
        """Of the way from `start` to `end`, both as `positions` has them, what leaves more than `kept` m between everything."""
        least = self.contact.separation + kept
        return ipctk.compute_collision_free_stepsize(self.mesh, start, end, least, narrow_phase_ccd=ipctk.AdditiveCCD())

    def begin(self, x, velocities, time):
        """The first guess: as far towards the inertial target as nothing touches, while all obstacles stand still."""
        sim = self.free_of_contact
        sim.set_state(positions=x, velocities=velocities)
        self.driven, self.target = self.surface.driven(time), self.surface.driven(time + self.dt)
        inertial = x + self.dt * velocities + self.dt**2 * self.gravity
        inertial = np.where(self.free.reshape(-1, 3), inertial, x)
        return x + self.longest(self.positions(x), self.positions(inertial)) * (inertial - x)

    def drive(self, x):
        """The obstacles go on towards where they should be, and whether they are there.

        They leave a fifth of the activation distance: an iteration doubles a gap at most, and they would halve it faster than that.
        """
        if not np.array_equal(self.driven, self.target):
            part = self.longest(self.positions(x), self.positions(x, self.target), 0.2 * self.contact.distance)
            self.driven = self.target if part == 1.0 else self.driven + part * (self.target - self.driven)
        return np.array_equal(self.driven, self.target)

    def minimise(self, x, velocities, time=0.0, *, iterations=100, tolerance=1e-7):
        """Positions at the end of the step that begins at a state and a time, and how many iterations it took.

        It ends when no vertex would move by more than `tolerance` times the activation distance. Pins stay where they are.
        """
        x = self.begin(x, velocities, time)
        for iteration in range(iterations):
            arrived = self.drive(x)
            energy = self.energy(x)
            gradient, hessian = self.derivatives(x)
            direction = np.zeros(3 * self.n)
            direction[self.free] = -pdgpu.linear.solve(hessian, gradient, pdgpu.Direct(), threads=1).x
            direction = direction.reshape(-1, 3)
            if arrived and np.abs(direction).max() < tolerance * self.contact.distance:
                return x, iteration
            length = self.longest(self.positions(x), self.positions(x + direction))
            for _ in range(40):
                if self.energy(x + length * direction) < energy:
                    break
                length *= 0.5
            else:
                if arrived:
                    return x, iteration  # nothing but rounding is left
            x = x + length * direction
        return x, iterations
