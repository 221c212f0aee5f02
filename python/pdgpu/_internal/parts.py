"""The base of the parts that `Simulation` is composed of."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Self

    from pdgpu.simulation.core import SimulationCore

__all__ = ["Part", "core_of"]


class Part:
    """The methods of `Simulation` on one subject. All parts share the core. A part calls only public methods of another part."""

    _core: SimulationCore

    @classmethod
    def _of(cls, core: SimulationCore) -> Self:
        """Return a simulation with this core."""
        self = cls.__new__(cls)
        self._core = core
        return self


def core_of(simulation: Part) -> SimulationCore:
    """Return the core of a simulation, for other modules of the package. `set_state`, `cut` and `step` may replace it."""
    return simulation._core
