"""The folder of scene files and their meshes that the tests here read."""

import shutil

import pytest
from scene_file_meshes import BLOCK, CLOTH, FIXTURES, TILE


@pytest.fixture(scope="session")
def scenes_folder(tmp_path_factory):
    """A folder with the fixtures and their meshes."""
    folder = tmp_path_factory.mktemp("scenes")
    for path in FIXTURES.iterdir():
        shutil.copy(path, folder)
    BLOCK.write(folder / "block.msh")
    CLOTH.write(folder / "cloth.obj")
    TILE.write(folder / "tile.obj")
    (folder / "wire.seg").write_text("v 0 0 0\nv 1 0 0\ns 1 2\n")
    (folder / "dots.obj").write_text("v 0 0 0\nv 1 0 0\n")
    for name in ("pointer.obj", "pointer.pt"):
        (folder / name).write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0123\nsize 9\n")
    (folder / "flat.obj").write_text("v 0 0\nv 1 0\n")
    for name in ("nothing.obj", "nothing.pt"):
        (folder / name).write_text("# no points\n")
    return folder
