"""Extended lists of neighbour pairs on a CUDA device, against the CPU."""

import neighbour_scenes
import pytest

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("dtype")]


@pytest.mark.parametrize("name", [name for name in neighbour_scenes.SCENES if "panel" in name])  # embedded points: on the CPU only
def test_an_extended_list_has_the_pairs_of_a_new_one(name, dtype):
    """If not, the kernels leave out pairs or panels when they extend a list, and a body comes to rest somewhere else."""
    rounding, most = (1e-14, 1e-5) if dtype == "float64" else (1e-5, 1e-3)
    assert len(list(neighbour_scenes.descents(name, rounding, most, device="cuda", dtype=dtype))) == 2
