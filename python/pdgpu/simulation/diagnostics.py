"""Diagnostics of the next step: energies, G and its derivatives. They do not change the state."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdgpu import _host
from pdgpu._internal.arguments import flag
from pdgpu._internal.parts import Part
from pdgpu.materials.materials import MATERIAL_OF_KIND
from pdgpu.simulation.readback import gravity_energy, kinetic_energy
from pdgpu.simulation.rigid_hessian import free_hessian, hessian_with_bodies

if TYPE_CHECKING:
    from typing import Any

    import scipy
    from numpy.typing import ArrayLike

    from pdgpu.types import Floats

__all__ = ["Diagnostics"]


class Diagnostics(Part):
    """The part of `Simulation` for the evaluation of G."""

    def _given(self, x: Any) -> Any:
        """Return the argument `x` for the compiled model; None stays None."""
        core = self._core
        return None if x is None else core.cast_positions(core.in_range("x", core.rows_of_model("x", x)))

    def energies(self) -> dict[str, Any]:
        """Energies of the present state, J.

        Returns
        -------
        dict
            "kinetic", "gravity" (-sum m g . x), "elastic" (a dict by material; joints are Spring, Attachment, and Slide and Swing for
            sliders and limits), "damping" (0: at the start of the next step there is no motion yet), "contact", "friction" (the potential
            of the lagged forces, which is no stored energy and not part of the total: at the start of the next step a third of mu lambda
            eps_v dt for each contact), "total".
        """
        core = self._core
        parts = dict(zip(_host.ENERGIES, core.energies(None, False), strict=True))
        x, v = core.state64()
        elastic: dict[str, float] = {}
        for kind in core.kinds:
            if parts[kind] != 0.0 or MATERIAL_OF_KIND[kind] in core.materials:
                elastic[MATERIAL_OF_KIND[kind]] = elastic.get(MATERIAL_OF_KIND[kind], 0.0) + float(parts[kind])
        result: dict[str, Any] = {
            "kinetic": kinetic_energy(core.masses, v),
            "gravity": gravity_energy(core.masses, x, core.gravity),
            "elastic": elastic,
            "damping": float(parts["damping"]),
            "contact": float(parts["contact"]),
            "friction": float(parts["friction"]),
        }
        result["total"] = result["kinetic"] + result["gravity"] + sum(elastic.values()) + result["damping"] + result["contact"]
        return result

    def incremental_potential(self, x: ArrayLike | None = None) -> float:
        """G(x) of the next step, J.

        G(x) = sum over free vertices m_i/(2 h^2) |x_i - y_i|^2 + elastic + damping + contact + friction, y = x_t + h v_t + h^2 (g + f/m).

        Parameters
        ----------
        x : array_like, shape (n, 3), optional
            m; by default the present positions. Rows of pinned vertices are used as given.

        Returns
        -------
        float

        Raises
        ------
        ValueError
            A wrong shape, or a coordinate that is not finite.
        """
        return self._core.incremental_potential(self._given(x))

    def gradient(self, x: ArrayLike | None = None) -> Floats:
        """dG/dx, (n, 3) N, with zero rows at pinned vertices and those of rigid bodies, whose force and torque are `rigid.gradient`. `x`
        and errors as for `incremental_potential`.
        """
        gradient = self._core.gradient(self._given(x))
        gradient[self._core.rigid_rows] = 0.0
        return self._core.rows.of(gradient)

    def hessian(self, x: ArrayLike | None = None, *, psd: bool = False) -> scipy.sparse.csr_matrix:
        """d2G/dx2 over the free degrees of freedom, scipy CSR (3n, 3n) N/m; rows and columns of pinned vertices are empty.

        A scene with r rigid bodies has (3n + 6r, 3n + 6r): rows of their vertices are empty too, and the six of the body ``rigid.names[k]``
        begin at 3n + 6k. These are its translation and its rotation vector, as in `RigidState.gradient`, in N/m, N and N m. A body held by
        pins in a point rotates about it and has no translation; one held in an axis only rotates about that.

        Parameters
        ----------
        psd : bool
            Project every element's Hessian to be positive semidefinite, and omit the curvature of the rotations of rigid bodies.
        """
        if self._core.springs is not None:
            raise ValueError("hessian: ProxyContact changes it in every iteration; proxies() has the active proxies")
        at, psd = self._given(x), flag("psd", psd)
        return hessian_with_bodies(self._core, at, psd) if len(self._core.rigid_rows) else self._core.hessian_of_rows(at, psd)

    def smallest_eigenvalue(self, x: ArrayLike | None = None) -> float:
        """The smallest eigenvalue of d2G/dx2 over the free degrees of freedom, N/m: a test whether a converged state is a local minimum.

        The gradient is zero at a minimum and at a saddle. At a minimum the eigenvalue is positive; a negative value indicates a saddle,
        which a small disturbance leaves. A positive one does not exclude other minima: a mirrored or twisted start may end in one of them.

        Parameters
        ----------
        x : array_like, shape (n, 3), optional
            m; by default the present positions. For the next step, as for `hessian`.

        Returns
        -------
        float
            N/m, by Lanczos iterations (ARPACK) to a relative accuracy of 1e-6. Rotation vectors of rigid bodies are multiplied by their
            radius of gyration.

        Raises
        ------
        ValueError
            As `hessian`; a scene without a free vertex.
        """
        import scipy

        core = self._core
        if len(core.rigid_rows):
            H = free_hessian(core, self._given(x))
        else:
            free = np.repeat(core.fixed == 0, 3)
            H = self.hessian(x)[free][:, free]
        if not H.shape[0]:
            raise ValueError("smallest_eigenvalue: the scene has no free vertex")
        H = (0.5 * (H + H.T)).tocsc()
        if H.shape[0] < 4:  # ARPACK needs more
            return float(np.linalg.eigvalsh(H.toarray())[0])
        rows = np.asarray(abs(H).sum(axis=1)).ravel()
        bound, start = float((H.diagonal() + abs(H.diagonal()) - rows).min()), np.random.default_rng(0).normal(size=H.shape[0])
        # a rough value first: the eigenvalue closest to a shift converges fast, and is the smallest if the shift lies below the spectrum
        try:
            rough = scipy.sparse.linalg.eigsh(H, k=1, which="SA", tol=1e-3, v0=start, maxiter=2000, return_eigenvectors=False)[0]
            shift = float(rough) - 1e-3 * max(abs(float(rough)), 1e-6 * float(rows.max()))
        except scipy.sparse.linalg.ArpackNoConvergence:
            shift = bound  # of Gershgorin's theorem
        return float(scipy.sparse.linalg.eigsh(H, k=1, sigma=shift, which="LM", tol=1e-6, v0=start, return_eigenvectors=False)[0])

    def system_matrix(self, *, free: bool = False) -> scipy.sparse.csr_matrix:
        """Matrix of the Projective Dynamics global step, A = M/h^2 + sum w S^T S, scipy CSR (n, n) float64, N/m.

        Parameters
        ----------
        free : bool
            Only the block of the free vertices, which the solver factorises.

        Raises
        ------
        ValueError
            A scene with rigid bodies, which Projective Dynamics does not support; `hessian` includes them.
        """
        core = self._core
        if len(core.rigid_rows):
            name = next(body.name for body in core.scene.bodies if body.type == "rigid")
            raise ValueError(f"system_matrix: Projective Dynamics has no rigid bodies, and {name!r} is one; hessian() has them")
        return core.system_matrix(flag("free", free))
