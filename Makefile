# make demo     build, then compare every solver on a mesh: out/convergence.png, out/convergence.csv, out/scene.png
#               MESH=path (any file meshio reads; the mesh that ships with pdgpu)   OUT=folder (out)
# make build    .venv with pdgpu and what its tests need; seconds when nothing changed
# make test     build, then the tests             TESTS="tests/elements -k polar" for some of them, JOBS=1 one after the other
# make lint     formatting and lint of C, CUDA and Python; `make format` puts right what it can
# make sanitize the tests under the address and undefined-behaviour sanitizers
# make cuda     build with the CUDA modules, which nvcc has to be there for, and import them
# make cuda-on-host  the CUDA kernels compiled for the CPU, and the tests of the CUDA backend on them; no GPU, no nvcc
# make papers   every script of examples/papers in full, each within PAPERS_SECONDS (120) or the limit it names, into OUT/papers: pictures,
#               tables and what came out; a table of their seconds, and an error that names what failed or took too long
# make wheel    dist/: a self-contained wheel with SuiteSparse and BLAS inside
# make gpu      on a machine with a GPU: build the CUDA modules, run GPU tests, compute-sanitizer and benchmarks into OUT
#               PARTS="build tests sanitizer benchmarks" for some of them, GPU_SECONDS=570 where a call may not take longer; `make gpu-bring`
#               fills the folder bring/ with what such a machine needs when it has no network
# make clean    removes build/ and dist/; .venv stays
PYTHON ?= python3
VENV   ?= .venv
OUT    ?= out
MESH   ?=
TESTS  ?=
JOBS   ?= 2
PARTS  ?=
# AUTO: the CUDA modules are built where nvcc and csrc/cuda/*.cu are. OFF leaves the direct solver out: PDGPU_CHOLMOD=OFF;
# the exact intersection tests: PDGPU_GMP=OFF.
PDGPU_CUDA    ?= AUTO
PDGPU_CHOLMOD ?= ON
PDGPU_GMP     ?= ON
PDGPU_WERROR  ?= ON

export PYTHON VENV OUT JOBS PDGPU_CHOLMOD PDGPU_GMP
.DELETE_ON_ERROR:
.PHONY: always build test demo wheel lint format sanitize cuda cuda-on-host gpu gpu-bring papers clean

# Folders are in the list too: their time changes when a file in them is removed.
SOURCES := $(shell find csrc python -name __pycache__ -prune -o -print) pyproject.toml CMakeLists.txt README.md LICENSE NOTICE
BIN     := $(VENV)/bin
OPTIONS := PDGPU_CUDA=$(PDGPU_CUDA) PDGPU_CHOLMOD=$(PDGPU_CHOLMOD) PDGPU_GMP=$(PDGPU_GMP) PDGPU_WERROR=$(PDGPU_WERROR)

build: $(VENV)/.built

# the virtual environment with what builds pdgpu; cmake and ninja from PyPI, since a system's are often too old
$(VENV)/.tools: scripts/system_packages
	scripts/system_packages
	$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip "scikit-build-core>=0.10" "numpy>=2" "cmake>=3.26" ninja
	touch $@

# written again only when the options differ from those of the last build
$(VENV)/.options: always | $(VENV)/.tools
	@echo "$(OPTIONS)" | cmp -s - $@ || echo "$(OPTIONS)" > $@

# An ordinary installation, as a user has it, out of a kept CMake folder: only what changed is compiled again. The stamp bears the
# time of the start, so that a file saved during the build is not missed.
$(VENV)/.built: $(SOURCES) $(VENV)/.tools $(VENV)/.options
	touch $@.new
	$(BIN)/python -m pip install --quiet --no-build-isolation \
	    -C build-dir=build/make -C cmake.define.PDGPU_WERROR=$(PDGPU_WERROR) \
	    -C cmake.define.PDGPU_CUDA=$(PDGPU_CUDA) -C cmake.define.PDGPU_CHOLMOD=$(PDGPU_CHOLMOD) \
	    -C cmake.define.PDGPU_GMP=$(PDGPU_GMP) ".[viz,test,lint]"
	mv $@.new $@

test: build
	$(BIN)/python -m pytest -q -n $(JOBS) --dist worksteal $(TESTS)

demo: build
	$(BIN)/python -m pdgpu compare $(MESH) --out $(OUT)

papers: build
	$(BIN)/python scripts/papers --out $(OUT)/papers

wheel: build
	scripts/build_wheel
	scripts/check_wheel

lint: build
	scripts/check

format: build
	scripts/check --fix

sanitize: build
	scripts/sanitize $(TESTS)

# The import must work where the toolkit is but no GPU: a missing driver is an error of device="cuda", not of the import.
cuda: PDGPU_CUDA = ON
cuda: build
	cd $(VENV) && bin/python -c "import pdgpu._cuda_f32, pdgpu._cuda_f64; print('cuda: both modules import')"

cuda-on-host: build
	scripts/cuda_on_host $(TESTS)

gpu:
	scripts/gpu $(PARTS)

gpu-bring: wheel
	scripts/gpu_bring

clean:
	rm -rf build dist
	rm -f $(VENV)/.built
