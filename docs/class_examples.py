"""The examples of the reference: `reference/class_examples.txt` has one for each public class; a test runs them."""

import re
from pathlib import Path

FILE = Path(__file__).resolve().parent / "reference" / "class_examples.txt"


def examples():
    """Name of a class -> its example; "set-up" is what all of them start from."""
    parts = re.split(r"^== (.+?) ==\n", FILE.read_text(), flags=re.MULTILINE)[1:]
    return {name: text.strip() for name, text in zip(parts[::2], parts[1::2], strict=True)}


def add_example(app, what, name, thing, options, lines):
    """Append the example of a class to its docstring."""
    if what == "class" and (example := examples().get(name.rpartition(".")[2])) and not any(">>>" in line for line in lines):
        lines += ["", ".. rubric:: Example", "", *example.splitlines(), ""]
