"""What a type checker says to a user: nothing of the README, something of what is wrong."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import pdgpu

ROOT = Path(__file__).parent.parent
PUBLIC = ("Simulation", "Scene", "Body", "Mesh", "Comparison", "StepRecord", "History", "Sweep", "LinearResult", "System", "Collider")

WRONG = {
    'pdgpu.Simulation(s, "newton", dt="x")': ('"str"; expected "TimeStepSolver', 'argument "dt" to "Simulation"'),
    "pdgpu.Simulation(s, device='gpu')": ('argument "device" to "Simulation"',),
    "pdgpu.Simulation(s).step(1, record='all')": ('argument "record"',),
    "pdgpu.Simulation(pdgpu.shapes.beam((1.0, 1.0, 1.0), (1, 1, 1)))": ('incompatible type "Mesh"',),
    "pdgpu.compare(s, [pdgpu.Newton()])": ("expected",),
    "pdgpu.compare(s, {'a': 'newton'})": ('incompatible type "str": "str"',),
    "pdgpu.compare(s, {'a': pdgpu.PCG()})": ('incompatible type "str": "PCG"',),
    "pdgpu.sweep(dict, {'a': [1]}, executor=4)": ('argument "executor" to "sweep"',),
    "s.add_solid('bunny.msh', pdgpu.ARAP(1.0), density=1.0)": ('expected "Mesh"',),
    "pdgpu.Newton(iteration=3)": ("Unexpected keyword argument",),
    "pdgpu.linear.solve([[1.0]], [1.0], pdgpu.PCG()).iteration": ('has no attribute "iteration"; maybe "iterations"',),
    "pdgpu.Simulation(s).energy()": ('"Simulation" has no attribute "energy"',),
    "pdgpu.sweep(dict, {'a': [1]}, executer=None)": ("Unexpected keyword argument",),
}
RIGHT = """import pdgpu

scene = pdgpu.Scene()
sim = pdgpu.Simulation(scene)
solvers = {"PD": pdgpu.ProjectiveDynamics(), "Newton": pdgpu.Newton()}
pdgpu.compare(scene, solvers, start=sim.snapshot(3))
pdgpu.compare(scene, {"Newton": pdgpu.Newton()}, start=(sim.positions, None))
"""


@pytest.mark.slow
def test_a_checker_passes_the_readme_and_names_what_is_wrong(tmp_path):
    """If not, an editor underlines what works, or nothing of what does not."""
    pytest.importorskip("mypy")
    texts = [
        path.read_text() for path in (ROOT / "README.md", ROOT / "docs" / "getting_started.md", *(ROOT / "docs" / "guide").glob("*.md"))
    ]
    blocks = ["\n".join(re.findall(r"```python\n(.*?)```", text, re.S)) for text in texts] + [RIGHT]
    right = [tmp_path / f"block{k}.py" for k in range(len(blocks))]
    for path, block in zip(right, blocks, strict=True):
        path.write_text(block)
    wrong = tmp_path / "wrong.py"
    wrong.write_text("import pdgpu\n\ns = pdgpu.Scene()\n" + "\n".join(WRONG) + "\n")
    command = [sys.executable, "-m", "mypy", "--ignore-missing-imports", "--cache-dir", tmp_path / "cache", *right, wrong]
    found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    lines = found.stdout.splitlines()
    assert not [line for line in lines if ": error:" in line and not line.startswith("wrong.py")], found.stdout + found.stderr
    for k, (code, said) in enumerate(WRONG.items()):
        own = [line.lower() for line in lines if line.startswith(f"wrong.py:{k + 4}: error:")]
        for text in said:
            assert any(text.lower() in line for line in own), (code, own)


def functions(body):
    for node in body:
        if isinstance(node, ast.ClassDef) and node.name in PUBLIC:
            yield from ((f"{node.name}.{name}", part) for name, part in functions(node.body))
        elif isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            yield node.name, node


@pytest.mark.parametrize(
    "module",
    [
        *("simulation/simulation", "simulation/motion", "simulation/diagnostics", "simulation/readback", "scene/scene", "mesh/mesh"),
        *("mesh/shapes", "linear/linear", "study/comparison", "study/sweeps", "viz/plotting"),
    ],
)
def test_public_functions_say_what_they_take(module):
    """If not, a checker lets everything pass where a new function is called, and an editor completes nothing of what it returns."""
    tree = ast.parse((Path(pdgpu.__file__).parent / f"{module}.py").read_text())
    parts = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name in ("Motion", "Diagnostics", "ReadBack")]
    named = [*functions(tree.body), *(pair for part in parts for pair in functions(part.body))]
    public = set(pdgpu.__all__) | {"save_convergence", "animate"} | {"solve", "spectral_radius", "beam", "grid", "box", "sphere", "chain"}
    checked = 0
    for name, node in named:
        if "." not in name and name not in public and not parts:
            continue
        arguments = [*node.args.args, *node.args.kwonlyargs, *filter(None, (node.args.vararg, node.args.kwarg))]
        bare = [part.arg for part in arguments if part.annotation is None and part.arg not in ("self", "cls")]
        assert not bare, f"{module}.{name}: {', '.join(bare)}"
        checked += 1
        assert node.returns is not None or any(ast.unparse(d).endswith(".setter") for d in node.decorator_list), f"{module}.{name}"
    assert checked
