"""Fills the pages of the gallery: thumbnails that `scripts/pictures` makes, and a section for each script from its docstring."""

import ast
import json
import os
import re
from pathlib import Path

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
COMMAND = re.compile(r"^(python examples/|Limit: )")


def filled(page, text):
    """The text of a page (its name without the ending) with its comments replaced by what they name."""
    text = re.sub(r"<!-- thumbnails: (\w+) -->", lambda found: thumbnails(found[1], page), text)
    return re.sub(r"<!-- scripts: (\w+) -->", lambda found: "\n".join(section(path, page) for path in scripts(found[1])), text)


def scripts(group):
    """The scripts of a group, in the order of the figures."""
    if group == "examples":
        return sorted((ROOT / "examples").glob("*.py"))
    found = (ROOT / "examples" / "papers").glob(f"{group}_*.py")
    return sorted(found, key=lambda path: [int(part) for part in re.findall(r"\d+", path.stem)])


def described(path):
    """The title of a script, the paragraphs of its docstring, and its commands."""
    title, _, rest = ast.get_docstring(ast.parse(path.read_text())).partition("\n")
    parts = [part for part in rest.strip().split("\n\n") if part]
    commands = [line for part in parts for line in part.splitlines() if line.startswith("python examples/")]
    return title.rstrip("."), [part for part in parts if not COMMAND.match(part)], commands


def label(path):
    """Figure 11 of chen2024_figure11.py; otherwise the name in words."""
    if found := re.fullmatch(r"\w+?\d{4}_(figure|table|section)(\d+)(\w*)", path.stem):
        return f"{found[1].capitalize()} {found[2]}{found[3].replace('_', ', ')}"
    return path.stem.replace("_", " ").capitalize()


def thumbnails(group, page):
    """A grid of pictures, each a link to its section or its notebook."""
    if group == "notebooks":
        entries = [
            (f"../notebooks/{path.stem}.html", path.stem, json.loads(path.read_text())["cells"][0]["source"][0].strip("# \n"))
            for path in sorted((ROOT / "notebooks").glob("*.ipynb"))
        ]
    else:
        entries = [(f"{group}.html#{anchor(path)}", path.stem, label(path)) for path in scripts(group)]
    folder = f"gallery/{group}"
    there = {path.stem for path in (DOCS / folder).glob("*.png")}
    figures = []
    for target, name, title in entries:
        if name not in there:
            raise ValueError(f"docs/{folder}/{name}.png: no thumbnail; scripts/pictures makes it")
        figures.append(f"```{{figure}} {group}/{name}.png\n:target: {target}\n:alt: {title}\n\n{title}\n```")
    return "\n\n".join(["````{container} gallery", *figures, "````"])


def anchor(path):
    return path.stem.replace("_", "-")


def section(path, page):
    """Heading, picture, description, commands and source of a script."""
    title, parts, commands = described(path)
    source = os.path.relpath(path, (DOCS / page).parent)
    return "\n\n".join(
        [
            f"({anchor(path)})=\n## {label(path)}",
            f"{title}.",
            f"![{title}]({Path(page).name}/{path.stem}.png)",
            *(part.replace("<", "&lt;") for part in parts),
            "```sh\n" + "\n".join(commands) + "\n```",
            f"```{{raw}} html\n<details><summary>{path.name}</summary>\n```",
            f"```{{literalinclude}} {source}\n:language: python\n```",
            "```{raw} html\n</details>\n```",
            "",
        ]
    )
