"""Scripts of the folder scripts/, which have no suffix, as modules."""

import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

SCRIPTS = Path(__file__).parent.parent / "scripts"


def load(name):
    loader = SourceFileLoader(name, str(SCRIPTS / name))
    module = module_from_spec(spec_from_loader(name, loader))
    sys.modules[name] = module  # dataclasses look their module up
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = before
    return module
