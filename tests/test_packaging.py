"""What the build backend writes into a wheel, and the documentation of public properties."""

import importlib.util
import inspect
import re
import shutil
import subprocess
import tomllib
import zipfile
from pathlib import Path

import pytest

import pdgpu

BACKEND = Path(__file__).parent.parent / "scripts" / "packaging" / "backend.py"
METADATA = """Metadata-Version: 2.4
License-Expression: Apache-2.0
License-File: LICENSE

See [the tour](docs/tour.md) and [a page](https://example.org/).

![A picture](docs/a.png)

End.
"""


@pytest.fixture(scope="module")
def backend():
    pytest.importorskip("scikit_build_core")
    spec = importlib.util.spec_from_file_location("backend", BACKEND)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def wheel(path, module, **more):
    entries = {"pdgpu/_host.abi3.so": module, "pdgpu/_cuda_f32.pyi": b"", **more}
    folder = "pdgpu-1.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in entries.items():
            archive.writestr(zipfile.ZipInfo(name), data)
        archive.writestr(zipfile.ZipInfo(f"{folder}/licenses/LICENSE"), "text")
        archive.writestr(zipfile.ZipInfo(f"{folder}/METADATA"), METADATA)
        archive.writestr(zipfile.ZipInfo(f"{folder}/RECORD"), "")
    return path


@pytest.mark.parametrize(
    ("module", "expression", "texts"),
    [
        (b"libc.so.6", "Apache-2.0", []),
        (b"libgmp.so.10", "Apache-2.0 AND LGPL-3.0-or-later", ["GPL-3.0.txt", "LGPL-3.0.txt"]),
        (
            b"libcholmod.so.3",
            "Apache-2.0 AND GPL-3.0-or-later AND LGPL-2.1-or-later AND BSD-3-Clause AND GPL-3.0-or-later WITH GCC-exception-3.1",
            ["GPL-3.0.txt", "LGPL-2.1.txt"],
        ),
    ],
)
def test_the_licence_follows_from_the_libraries(backend, tmp_path, module, expression, texts):
    """If not, a binary under the GPL is passed on as one under the Apache License, without the text of its licence."""
    path = wheel(tmp_path / "pdgpu.whl", module)
    backend.mark(path)
    first = path.read_bytes()
    backend.mark(path)  # as scripts/build_wheel does once more
    assert path.read_bytes() == first
    with zipfile.ZipFile(path) as archive:
        names, metadata = archive.namelist(), archive.read("pdgpu-1.dist-info/METADATA").decode()
        record = archive.read("pdgpu-1.dist-info/RECORD").decode()
    assert f"License-Expression: {expression}\n" in metadata
    assert [name for name in names if name.endswith(".txt")] == [f"pdgpu-1.dist-info/licenses/{text}" for text in texts]
    assert all(f"License-File: {text}\n" in metadata for text in texts)
    assert sorted(line.split(",")[0] for line in record.splitlines()) == sorted(names)
    assert "See the tour and [a page](https://example.org/).\n\nEnd." in metadata


def test_stubs_go_with_their_modules(backend, tmp_path):
    """If not, an editor completes modules that a build without CUDA does not have."""
    for more, expected in (({}, False), ({"pdgpu/_cuda_f32.abi3.so": b""}, True)):
        path = wheel(tmp_path / "pdgpu.whl", b"", **more)
        backend.mark(path)
        with zipfile.ZipFile(path) as archive:
            assert ("pdgpu/_cuda_f32.pyi" in archive.namelist()) == expected


def test_public_properties_are_documented():
    """If not, help() and the reference are silent about what a class gives."""
    classes = {thing for name in pdgpu.__all__ if inspect.isclass(thing := getattr(pdgpu, name))} | {pdgpu.linear.LinearResult}
    for thing in classes:
        for name in dir(thing):
            found = inspect.getattr_static(thing, name)
            if isinstance(found, property) and not name.startswith("_"):
                assert found.fget.__doc__, f"{thing.__name__}.{name}"


ROOT = Path(__file__).parent.parent


def test_extras_are_named_as_they_can_be_had():
    """If not, a message or a page tells users to install pdgpu from an index that does not have it."""
    files = [ROOT / "README.md"]
    files += [
        path for folder in ("python", "docs", "notebooks") for path in (ROOT / folder).rglob("*") if path.suffix in {".py", ".md", ".ipynb"}
    ]
    assert not [str(path) for path in files if re.search(r"pip install \W*pdgpu\b", path.read_text())]


def test_a_part_that_is_left_out_is_named_by_its_option():
    """If not, tests/conftest.py does not know why a test fails in a build without CHOLMOD or GMP, and a user not what to change."""
    texts = [text for path in (ROOT / "csrc").rglob("*.c") for text in re.findall(r'"[^"\n]*this build[^"\n]*"', path.read_text())]
    refusals = [text for text in texts if re.search("GMP|CHOLMOD|LAPACK", text)]
    assert len(refusals) >= 4 and all(re.search("PDGPU_(CHOLMOD|GMP)=OFF", text) for text in refusals), refusals


def test_the_version_is_the_same_everywhere():
    """If not, a paper cites another version than it used."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert pdgpu.__version__ == project["version"]
    assert f"version: {pdgpu.__version__}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"## [{pdgpu.__version__}] - " in (ROOT / "CHANGELOG.md").read_text()
    packaging = ROOT / "scripts" / "packaging"
    assert (packaging / "debian" / "changelog").read_text().startswith(f"pdgpu ({pdgpu.__version__}-")
    assert f'version: "{pdgpu.__version__}"' in (packaging / "conda" / "recipe.yaml").read_text()


def test_the_authors_are_the_same_everywhere():
    """If not, a citation and a package name other authors."""
    (author,) = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["authors"]
    assert f'- name: "{author["name"]}"\n' in (ROOT / "CITATION.cff").read_text()
    debian = ROOT / "scripts" / "packaging" / "debian"
    (contact,) = re.findall(r"^Maintainer: (.*)$", (debian / "control").read_text(), re.MULTILINE)
    assert contact.startswith(f"{author['name']} <") and f"\n -- {contact}  " in (debian / "changelog").read_text()


def test_the_hooks_before_a_commit_have_the_versions_of_lint():
    """If not, a hook formats a file in a way that `make lint` refuses."""
    lint = dict(line.split("==") for line in tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]["lint"])
    hooks = re.findall(r"repo: \S+/(\S+)\n\s+rev: v(\S+)", (ROOT / ".pre-commit-config.yaml").read_text())
    assert dict(hooks) == {"ruff-pre-commit": lint["ruff"], "mirrors-clang-format": lint["clang-format"], "typos": lint["typos"]}


@pytest.mark.parametrize(
    ("subject", "passes"),
    [
        ("contact: count a pair once", True),
        ("Contact counts a pair once", False),
        ("contact: count a pair once.", False),
        (f"contact: count {'a pair ' * 9}once", False),
    ],
)
def test_subjects_of_commits_are_checked(subject, passes, tmp_path):
    """If not, the history reads as prose again."""
    (tmp_path / "scripts").mkdir()
    shutil.copy(ROOT / "scripts" / "commit_subjects", tmp_path / "scripts")
    settings = ["-c", "user.name=a", "-c", "user.email=a@b"]
    (tmp_path / "pyproject.toml").write_text('version = "1"\n')
    for command in (["init", "-q"], ["add", "."], [*settings, "commit", "-qm", "Start"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    subprocess.run(["git", *settings, "commit", "-q", "--allow-empty", "-m", subject], cwd=tmp_path, check=True)
    found = subprocess.run(["scripts/commit_subjects"], cwd=tmp_path, capture_output=True, text=True)
    assert (found.returncode == 0) == passes, found.stderr
