"""Meshes that the scene files of tests/scene_files/fixtures name, and the simulations of both sides of a comparison."""

import warnings
from pathlib import Path

import pdgpu

FIXTURES = Path(__file__).parent / "scene_files" / "fixtures"
BLOCK = pdgpu.shapes.beam((1.0, 0.4, 0.4), cells=(3, 1, 1))
CLOTH = pdgpu.shapes.grid((1.0, 1.0), (2, 2))
TILE = pdgpu.Mesh([[-0.5, 0.0, -0.5], [0.5, 0.0, -0.5], [0.5, 0.0, 0.5], [-0.5, 0.0, 0.5]], triangles=[[0, 2, 1], [0, 3, 2]])


def quiet_read(path, **options):
    """The scene of a file, without the warnings about its notes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pdgpu.read_scene(path, **options)


def written(folder, name, text):
    """A file next to the meshes."""
    path = folder / name
    path.write_text(text)
    return path
