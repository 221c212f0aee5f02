"""Pictures: convergence curves (matplotlib, extra `viz`) and bodies (pyvista, extra `viz3d`). Both are imported when first used."""

from pdgpu.viz.body_plotting import collider_surface, draw_contacts, draw_lines, draw_points, draw_simulation, draw_surface
from pdgpu.viz.plotting import animate, plot_comparison, save_convergence, save_states

__all__ = [
    "animate",
    "collider_surface",
    "draw_contacts",
    "draw_lines",
    "draw_points",
    "draw_simulation",
    "draw_surface",
    "plot_comparison",
    "save_convergence",
    "save_states",
]
