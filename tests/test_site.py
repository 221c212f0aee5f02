"""The site has an example of every class that runs, and a picture of every example, figure and notebook."""

import doctest
import importlib.util
import inspect
import json
from pathlib import Path

import pytest
import script_modules

import pdgpu

ROOT = Path(__file__).parents[1]


def documents(name):
    """A module of docs, which is no package."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


EXAMPLES = documents("class_examples").examples()
CLASSES = {name: thing for name in pdgpu.__all__ if inspect.isclass(thing := getattr(pdgpu, name))}


def test_every_public_class_has_an_example():
    """If not, the reference of a class says what its arguments are, and not how to use it."""
    own = {name for name, thing in CLASSES.items() if ">>>" in (thing.__doc__ or "")}
    assert len(CLASSES) > 70 and set(CLASSES) <= EXAMPLES.keys() | own
    assert EXAMPLES.keys() - {"set-up"} <= set(CLASSES), "an example of a class that is there no more"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [name for name in EXAMPLES if name != "set-up"])
def test_an_example_of_the_reference_shows_what_it_prints(name):
    """If not, a reader who pastes it gets an error, or something else."""
    if not (pdgpu._host.HAS_GMP and pdgpu._host.HAS_CHOLMOD):
        pytest.skip("this build has no GMP or no direct solver, which examples need")
    text = f"{EXAMPLES['set-up']}\n\n{EXAMPLES[name]}\n"
    said = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    runner.run(doctest.DocTestParser().get_doctest(text, {}, name, None, 0), out=said.append)
    assert runner.tries >= 10 and runner.failures == 0, "".join(said)


def test_the_gallery_has_every_example_figure_and_notebook():
    """If not, a scene is not found, or its picture is a broken link."""
    gallery = documents("gallery_pages")
    index = (ROOT / "docs" / "gallery" / "index.md").read_text()
    groups = {path.stem for path in (ROOT / "docs" / "gallery").glob("*.md")} - {"index"}
    shown = [path for group in groups for path in gallery.scripts(group)]
    there = [*(ROOT / "examples").glob("*.py"), *(ROOT / "examples" / "papers").glob("*.py")]
    assert sorted(shown) == sorted(there) and len(there) > 60
    filled = gallery.filled("gallery/index", index)
    for path in there:
        assert f"/{path.stem}.png" in filled and f"#{gallery.anchor(path)}" in filled
    for path in (ROOT / "notebooks").glob("*.ipynb"):
        assert f"notebooks/{path.stem}.png" in filled and f"../notebooks/{path.stem}\n" in index
    pictures = {path.stem for path in (ROOT / "docs" / "gallery").rglob("*.png")}
    assert pictures == {path.stem for path in [*there, *(ROOT / "notebooks").glob("*.ipynb")]}


def test_a_section_of_the_gallery_has_text_command_and_source():
    """If not, a click leads to a picture that nothing explains."""
    gallery = documents("gallery_pages")
    text = gallery.filled("gallery/lan2022", "<!-- scripts: lan2022 -->")
    assert "## Table 1" in text and "python examples/papers/lan2022_table1.py [--out FOLDER] [--quick]" in text
    assert "literalinclude} ../../examples/papers/lan2022_table1.py" in text and "Two cloths fall over a soft creature" in text
    assert "Limit:" not in text


def test_checks_of_the_site_see_a_fault(tmp_path):
    """If not, a dead link stays, however often the site is built."""
    pytest.importorskip("sphinx")
    checks = documents("site_checks")
    links = '<a href="b.html#there">b</a> <a href="https://example.org/x">c</a> <a href="#here">d</a>'
    (tmp_path / "a.html").write_text(f'{links} <p id="here">')
    (tmp_path / "b.html").write_text('<p id="there"> <a href="a.html#gone">e</a> <img src="none.png">')
    assert checks.broken_links(tmp_path) == ["b.html: a.html#gone", "b.html: none.png"]
    docnames = list(checks.SEARCHES.values())
    terms = {"custom": [0, 1], "solver": 0, "converg": [1], "friction": 3}
    index = {"docnames": docnames, "terms": terms, "titleterms": {"galleri": [3]}}
    (tmp_path / "searchindex.js").write_text(f"Search.setIndex({json.dumps(index)})")
    assert checks.missed_searches(tmp_path) == ["search for 'friction' does not find theory/friction"]


def test_the_script_of_the_pictures_knows_every_picture():
    """If not, a picture of the documentation cannot be made again."""
    jobs = script_modules.load("pictures").jobs()
    made = {place for _, pages, _ in jobs.values() for place in pages.values()}
    docs = ROOT / "docs"
    stored = {path.relative_to(docs).as_posix() for end in ("png", "gif") for path in docs.rglob(f"*.{end}")}
    assert {name for name in stored if not name.startswith(("gallery/", "notebooks/"))} == made
