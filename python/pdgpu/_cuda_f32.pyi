from pdgpu._cpu_f64 import *  # noqa: F403  (the same names in every backend module)
