"""Private names of the package, `_name`: who reads those of another object, read from the source.

A class reads its own as `self._name`. What several modules need has a public name on an internal class, or a function in the module that
defines the class.
"""

import ast
from pathlib import Path

import pdgpu

PACKAGE = Path(pdgpu.__file__).parent
TREES = {str(path.relative_to(PACKAGE)): ast.parse(path.read_text()) for path in sorted(PACKAGE.rglob("*.py"))}
# names with an underscore that are public in the libraries that define them
OF_LIBRARIES = {"_replace", "_getframe", "_repr_mimebundle_"}
MOST = 12


def is_private(name):
    return name.startswith("_") and not name.startswith("__") and name not in OF_LIBRARIES


def reads_of_others(tree):
    """`thing._name` for every private name that is read or set on another object than self, cls and super()."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr) and ast.unparse(node.value) not in ("self", "cls", "super()"):
            yield ast.unparse(node)


def classes():
    """Name -> class definition; of two with one name the last."""
    return {node.name: node for tree in TREES.values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}


def own_names(node):
    """Private names that a class defines: its methods and attributes, and what it sets on self and cls."""
    for child in ast.walk(node):
        if isinstance(child, ast.FunctionDef):
            yield child.name
        elif isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
            yield child.id
        elif isinstance(child, ast.Attribute) and isinstance(child.ctx, ast.Store) and ast.unparse(child.value) in ("self", "cls"):
            yield child.attr


def names_read(node):
    """Private names that a class reads on self and cls."""
    for child in ast.walk(node):
        if isinstance(child, ast.Attribute) and is_private(child.attr) and ast.unparse(child.value) in ("self", "cls"):
            yield child.attr


def bases(node):
    return [ast.unparse(base) for base in node.bases]


def test_private_names_are_read_by_their_owner():
    """If not, no class can be changed without a look at all modules that read what it hides."""
    tree = ast.parse("class A:\n    def f(self, other):\n        self._a = other._b\n        other.c._d = super()._e, x._replace()\n")
    assert sorted(reads_of_others(tree)) == ["other._b", "other.c._d"]
    found = {name: list(reads_of_others(tree)) for name, tree in TREES.items()}
    assert sum(map(len, found.values())) <= MOST, {name: reads for name, reads in found.items() if reads}


def test_a_part_of_a_simulation_knows_the_core_and_itself():
    """If not, no part of `Simulation` can be read without the others."""
    known = classes()
    parts = {name: node for name, node in known.items() if "Part" in bases(node)}
    assert len(parts) > 8 and set(bases(known["Simulation"])) <= {*parts, "GuardedAttributes"}
    shared = {"_core", *own_names(known["Part"])}
    for name, node in [*parts.items(), ("Simulation", known["Simulation"])]:
        foreign = set(names_read(node)) - shared - set(own_names(node))
        assert not foreign, f"{name} reads {sorted(foreign)}"


def test_parts_share_no_attribute_but_the_core():
    """If not, a part depends on the order in which others ran."""
    sim = pdgpu.Simulation(scene_of_a_tet())
    sim.step()
    assert set(vars(sim)) == {"_core"}


def scene_of_a_tet():
    scene = pdgpu.Scene()
    scene.add_solid(pdgpu.Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], tets=[[0, 1, 2, 3]]), pdgpu.ARAP(1e4), density=1e3)
    return scene
