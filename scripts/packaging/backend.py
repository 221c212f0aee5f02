"""The build backend of pyproject.toml: scikit-build-core, and in its wheels the licence of the binary.

The licence follows from the libraries that the modules are linked with, so a static `license` of pyproject.toml cannot name it. A wheel
with CHOLMOD is under the GPL as a whole; see NOTICE. Stubs of modules that were not built are left out, and so are links of the README to
files of the repository, which a package index cannot follow.

    python scripts/packaging/backend.py WHEEL [FILE ...]      mark a wheel again, after libraries and their licence files have been added
"""

import base64
import csv
import hashlib
import io
import re
import sys
import zipfile
from pathlib import Path

from scikit_build_core import build as _core
from scikit_build_core.build import *  # noqa: F403  (the hooks of PEP 517 and PEP 660; two of them are replaced below)

PICTURE = re.compile(r"!\[[^\]]*\]\((?!https?:)[^)]*\)\n*")
LINK = re.compile(r"\[([^\]]*)\]\((?!https?:)[^)]*\)")
LICENSES = Path(__file__).parent / "licenses"
SUITESPARSE = ("GPL-3.0-or-later", "LGPL-2.1-or-later", "BSD-3-Clause")
RUNTIME = "GPL-3.0-or-later WITH GCC-exception-3.1"
# library, as a module names it: (its terms in the licence expression, the texts that have to be there)
LIBRARIES = {
    rb"libcholmod": ((*SUITESPARSE, RUNTIME), ("GPL-3.0.txt", "LGPL-2.1.txt")),
    rb"libgmp[.-]": (("LGPL-3.0-or-later",), ("GPL-3.0.txt", "LGPL-3.0.txt")),
    rb"libgomp-[0-9a-f]{8}": ((RUNTIME,), ("GPL-3.0.txt",)),  # bundled by auditwheel
}


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    name = _core.build_wheel(wheel_directory, config_settings, metadata_directory)
    mark(Path(wheel_directory) / name)
    return name


# pip takes the metadata of the wheel itself where this hook is missing: what is linked is known after the build alone
del prepare_metadata_for_build_wheel  # noqa: F821


def mark(wheel, added=()):
    """Writes the licence expression and the licence files of a wheel, and leaves out stubs of modules that are not in it.

    `added` are further licence files. Order and times of the entries stay, so that equal builds are equal files.
    """
    with zipfile.ZipFile(wheel) as archive:
        entries = [(info, archive.read(info)) for info in archive.infolist()]
    names = {info.filename for info, _ in entries}
    folder = next(name for name in names if re.fullmatch(r"[^/]+\.dist-info/METADATA", name)).removesuffix("METADATA")
    modules = b"".join(data for info, data in entries if re.search(r"\.so[.0-9]*$", info.filename))
    found = [terms for pattern, terms in LIBRARIES.items() if re.search(pattern, modules)]
    expression = " AND ".join(dict.fromkeys(["Apache-2.0", *(term for terms, _ in found for term in terms)]))
    texts = sorted({LICENSES / text for _, texts in found for text in texts}) + [Path(path) for path in added]
    record = next(info for info, _ in entries if info.filename == f"{folder}RECORD")
    kept = [
        (info, licensed(data, expression, texts) if info.filename == f"{folder}METADATA" else data)
        for info, data in entries
        if info is not record and info.filename not in {f"{folder}licenses/{text.name}" for text in texts} | absent_stubs(names)
    ]
    for text in texts:
        info = zipfile.ZipInfo(f"{folder}licenses/{text.name}", record.date_time)
        info.external_attr = record.external_attr
        kept.append((info, text.read_bytes()))
    unfinished = wheel.with_suffix(".unfinished")
    with zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED) as archive:
        for info, data in [*kept, (record, recorded(kept, record.filename))]:
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, data)
    unfinished.replace(wheel)


def absent_stubs(names):
    """Stubs of CUDA modules that a build without them has."""
    stubs = {name for name in names if re.fullmatch(r"pdgpu/_cuda_\w+\.pyi", name)}
    return {stub for stub in stubs if not any(name.startswith(stub.removesuffix("pyi")) for name in names - {stub})}


def licensed(metadata, expression, texts):
    """The metadata with a licence expression, a line per further licence file, and a description without relative links."""
    head, separator, body = metadata.decode().partition("\n\n")
    lines = [line for line in head.split("\n") if line not in {f"License-File: {text.name}" for text in texts}]
    lines = [f"License-Expression: {expression}" if line.startswith("License-Expression:") else line for line in lines]
    last = max(k for k, line in enumerate(lines) if line.startswith("License-File:"))
    lines[last + 1 : last + 1] = [f"License-File: {text.name}" for text in texts]
    return ("\n".join(lines) + separator + LINK.sub(r"\1", PICTURE.sub("", body))).encode()


def recorded(entries, name):
    """RECORD: path, hash and size of every entry, its own without the last two."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    for info, data in entries:
        if info.filename.endswith("/"):
            continue
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        writer.writerow((info.filename, f"sha256={digest}", len(data)))
    writer.writerow((name, "", ""))
    return file.getvalue()


if __name__ == "__main__":
    mark(Path(sys.argv[1]), sys.argv[2:])
