from pdgpu._cpu_f64 import KINDS as KINDS
from pdgpu._cpu_f64 import Simulation as Simulation
from pdgpu._cpu_f64 import devices as devices
from pdgpu._cpu_f64 import element_batch as element_batch
