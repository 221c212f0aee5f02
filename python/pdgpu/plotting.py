"""Pictures: convergence curves and shaded bodies. matplotlib (extra `viz`) is imported only when first used."""

from pdgpu.viz.plotting import animate, collider_surface, draw_contacts, draw_simulation, draw_surface, plot_comparison

__all__ = ["animate", "collider_surface", "draw_contacts", "draw_simulation", "draw_surface", "plot_comparison"]
