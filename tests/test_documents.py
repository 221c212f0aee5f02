"""README, examples and notebooks run as printed."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted(path.stem for path in (ROOT / "examples").glob("*.py"))


def readme_blocks():
    return re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)


@pytest.mark.parametrize("k", range(6))
def test_readme_blocks_run_when_pasted(k, tmp_path):
    """If not, the first thing a newcomer tries fails."""
    blocks = readme_blocks()
    assert len(blocks) == 6
    environment = {**os.environ, "MPLBACKEND": "Agg"}
    result = subprocess.run([sys.executable, "-c", blocks[k]], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stderr
    if k == 0:
        assert (tmp_path / "comparison.png").stat().st_size > 5000


def test_the_cloth_of_the_readme_hangs():
    """If not, the first motion a newcomer sees is a sheet that stands upright on its lower corners."""
    block = next(block for block in readme_blocks() if "sim.step(record=True)" in block)
    names = {}
    exec(block, names)
    held, x = names["scene"].fixed().astype(bool), names["sim"].positions
    assert held.any() and x[~held, 1].max() < x[held, 1].min() + 0.02
    assert x[~held, 1].mean() < x[held, 1].min() - 0.4
    assert np.ptp(x[:, 2]) > 0.2  # in folds, not in a plane


@pytest.mark.slow
@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_run_and_write_their_picture(name, tmp_path):
    """If not, an example rots."""
    environment = {**os.environ, "MPLBACKEND": "Agg"}
    command = [sys.executable, str(ROOT / "examples" / f"{name}.py"), "--out", str(tmp_path)]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stderr
    assert (tmp_path / f"{name}.png").stat().st_size > 10000


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(path.stem for path in (ROOT / "examples" / "papers").glob("*.py")))
def test_figures_of_papers_are_reproduced(name, tmp_path):
    """If not, a claim of a paper can no longer be held against a measurement."""
    environment = {**os.environ, "MPLBACKEND": "Agg"}
    command = [sys.executable, str(ROOT / "examples" / "papers" / f"{name}.py"), "--quick", "--out", str(tmp_path)]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stderr
    assert re.fullmatch(r"claim: .+\nmeasured: .+\n", result.stdout)
    assert (tmp_path / f"{name}.png").stat().st_size > 10000
    tables = sorted(tmp_path.glob("*.csv"))
    assert tables and all(path.read_text().startswith("# claim: ") for path in tables)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(path.name for path in (ROOT / "notebooks").glob("*.ipynb")))
def test_notebooks_execute(name, monkeypatch):
    """If not, a study cannot be repeated."""
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    monkeypatch.setenv("PDGPU_NOTEBOOK_CELLS", "12")
    notebook = nbformat.read(ROOT / "notebooks" / name, as_version=4)
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
