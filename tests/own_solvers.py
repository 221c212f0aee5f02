"""Solvers of pdgpu written again in Python, each in at most 25 lines: what a user of pdgpu.CustomSolver may write."""

import numpy as np
import scipy.sparse.linalg

import pdgpu


class OwnProjectiveDynamics(pdgpu.CustomSolver):
    def iterate(self, step):
        step.move(step.global_solve(step.local_step()) - step.x)


class OwnChebyshev(pdgpu.CustomSolver):
    """Wang [2015, Algorithm 1]."""

    rho: float = 0.8
    start: int = 3

    def begin(self, step):
        self.last, self.omega = np.zeros_like(step.x), 1.0

    def iterate(self, step):
        if step.iteration == self.start:
            self.omega = 2.0 / (2.0 - self.rho**2)
        elif step.iteration > self.start:
            self.omega = 4.0 / (4.0 - self.rho**2 * self.omega)
        d = step.global_solve(step.local_step()) - step.x
        move = self.omega * (d + self.last) - self.last
        step.move(move)
        self.last = move


class OwnQuasiNewton(pdgpu.CustomSolver):
    """L-BFGS from the matrix of Projective Dynamics [Liu et al. 2017; Nocedal and Wright 2006, Algorithm 7.4]."""

    history: int = 5

    def begin(self, step):
        self.pairs, self.last = [], None

    def iterate(self, step):
        g = step.gradient()
        if self.last is not None:
            s, y = step.x - self.last[0], g - self.last[1]
            if np.vdot(s, y) > np.finfo(s.dtype).eps * np.linalg.norm(s) * np.linalg.norm(y):
                self.pairs = [*self.pairs, (s, y, np.vdot(s, y))][-self.history :]
        self.last, q, factors = (step.x, g), g, []
        for s, y, s_y in reversed(self.pairs):
            factors.append(np.vdot(s, q) / s_y)
            q = q - factors[-1] * y
        r = step.global_solve(q)
        for (s, y, s_y), factor in zip(self.pairs, reversed(factors), strict=True):
            r = r + (factor - np.vdot(y, r) / s_y) * s
        step.move(-r, step.line_search(-r))


class OwnGradientDescent(pdgpu.CustomSolver):
    def iterate(self, step):
        step.move(-step.gradient() / step.diagonal())


class OwnNewton(pdgpu.CustomSolver):
    """With the factor of SciPy: the exact Hessian, which is positive definite in the scenes it is for."""

    def iterate(self, step):
        free = np.repeat(~step.fixed, 3)
        H = step.hessian(filter="exact")[free][:, free].tocsc()
        d = np.zeros(step.x.size)
        d[free] = -scipy.sparse.linalg.spsolve(H, step.gradient().ravel()[free])
        d = d.reshape(-1, 3)
        step.move(d, step.line_search(d))
