"""Checks of the built site: links within it lead somewhere, and a search finds what users look for. A fault ends the build."""

import json
import re
from html import unescape
from pathlib import Path
from urllib.parse import unquote, urlsplit

from sphinx.errors import ExtensionError
from sphinx.search.en import SearchEnglish

# what a reader types: a page that the search has to find
SEARCHES = {"custom solver": "own_solvers", "convergence": "guide/comparing", "friction": "theory/friction", "gallery": "gallery/index"}
LINK = re.compile(r'\s(?:href|src)="([^"]*)"')
NAME = re.compile(r'\s(?:id|name)="([^"]*)"')


def check_site(app, error):
    """At the end of a build of HTML."""
    if error is None and app.builder.format == "html":
        folder = Path(app.outdir)
        if faults := [*broken_links(folder), *missed_searches(folder)]:
            raise ExtensionError("the site is not in order:\n" + "\n".join(faults))


def broken_links(folder):
    """ "page: link" for each link to a page, a place of a page or a file that is not there."""
    # links from a source back to its reference name classes by the module that imports them: they open the page, at its top
    pages = {path: re.sub(r'<a class="viewcode-back"[^>]*>', "", path.read_text()) for path in folder.rglob("*.html")}
    places = {path: {*NAME.findall(text), ""} for path, text in pages.items()}
    faults = []
    for path, text in pages.items():
        for link in sorted({unescape(link) for link in LINK.findall(text)}):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or not link:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path.resolve()
            target = target / "index.html" if target.is_dir() else target
            if not target.exists() or (target in places and unquote(parts.fragment) not in places[target]):
                faults.append(f"{path.relative_to(folder)}: {link}")
    return faults


def missed_searches(folder):
    """ "words: page" for each search that does not find its page by every word."""
    text = (folder / "searchindex.js").read_text()
    index = json.loads(text[text.index("(") + 1 : text.rindex(")")])
    stem = SearchEnglish({}).stem
    faults = []
    for words, page in SEARCHES.items():
        number = index["docnames"].index(page)
        for word in words.split():
            found = [index[table].get(stem(word), []) for table in ("terms", "titleterms")]
            if not any(number in (entry if isinstance(entry, list) else [entry]) for entry in found):
                faults.append(f"search for {word!r} does not find {page}")
    return faults
