"""The check of prose in the documentation (scripts/prose)."""

import subprocess

import pytest
import script_modules

SHORT = "A solver lowers the potential in every iteration. "


@pytest.fixture(scope="module")
def prose():
    return script_modules.load("prose")


def faults(prose, tmp_path, text):
    page = tmp_path / "page.md"
    page.write_text(text)
    return prose.faults(page)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (" ".join(["word"] * 19) + ".", "median"),
        ((SHORT + "\n\n") * 4 + " ".join(["word"] * 26) + ".", "90th percentile"),
        ((SHORT + "\n\n") * 20 + " ".join(["word"] * 31) + ".", "a sentence of 31 words"),
        ("The list is sorted anew.", "'anew'"),
        ("The energy stands in\nthe place of a law.", "'in the place of'"),
        ("What is near is listed.", "begins with 'What'"),
        ("word " * 21, "more than 100 characters: 1"),
        ("```python\nx = " + "1 + " * 30 + "1\n```", "more than 100 characters: 2"),
    ],
)
def test_a_fault_is_found(prose, tmp_path, text, said):
    """If not, a page that has to be read twice passes."""
    assert any(said in fault for fault in faults(prose, tmp_path, text))


@pytest.mark.parametrize(
    "text",
    [
        SHORT * 2,
        "# What a heading has is no sentence of the page\n\n" + SHORT,
        "| a table | " + "wide " * 40 + "|",
        "[A link](" + "x" * 120 + ")",
        "What is near?",
        "`pd_one` starts. `pd_two` follows. " * 2,
        "```text\n" + "output " * 30 + "\n```",
        "$$\n" + r"x = y \qquad" + "\n$$\n\n" + SHORT,
        "The list:\n\n- " + "\n- ".join([SHORT] * 8),
    ],
)
def test_a_plain_page_passes(prose, tmp_path, text):
    """If not, a writer is told to change what is in order."""
    assert faults(prose, tmp_path, text) == []


def test_an_exception_that_passes_is_an_error(prose, tmp_path, monkeypatch, capsys):
    """If not, the list of exceptions never gets shorter."""
    page = tmp_path / "page.md"
    monkeypatch.setattr(prose, "ROOT", tmp_path)
    monkeypatch.setattr(prose, "pages", lambda: [page])
    monkeypatch.setattr(prose, "phrases_in_code", list)
    monkeypatch.setattr(prose, "EXCEPTIONS", {"page.md": "not yet rewritten"})
    page.write_text("The list is sorted anew.")
    assert prose.main([]) == 0
    page.write_text(SHORT)
    assert prose.main([]) == 1 and "remove it" in capsys.readouterr().out


def test_the_pages_are_in_order(prose):
    """If not, the documentation is no longer in plain language."""
    assert prose.main([]) == 0


def test_a_phrase_in_code_is_found(prose, tmp_path, monkeypatch):
    """If not, comments go back to a language of their own."""
    monkeypatch.setattr(prose, "ROOT", tmp_path)
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    phrase = "no" + "body"
    (tmp_path / "one.c").write_text(f"int n; /* counted\n * by {phrase} */\n")
    assert prose.phrases_in_code() == [f"one.c: line 2: '{phrase}'"]
