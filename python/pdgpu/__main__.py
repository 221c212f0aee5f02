"""python -m pdgpu: see command_line.py."""

import sys

from pdgpu.command_line import main

if __name__ == "__main__":
    sys.exit(main())
