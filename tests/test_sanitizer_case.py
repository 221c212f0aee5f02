"""What the sanitizers are given to run has nothing else wrong with it."""

import pytest
import sanitizer_case

from pdgpu.backends import backend


@pytest.mark.every
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("part", sanitizer_case.PARTS, ids=lambda part: part.__name__)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.timeout(1800)  # kernels on the CPU under a sanitizer take minutes
def test_everything_once(part, device, dtype):
    """If not, the sanitizers see a part of the code alone."""
    try:
        backend(device, dtype)
    except RuntimeError as error:
        pytest.skip(f"{device}: {error}")
    part(device, dtype)
