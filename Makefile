# make demo     build, then compare eight solvers on a mesh: out/convergence.png, out/convergence.csv, out/scene.png
#               MESH=path (any file meshio reads; the mesh that ships with pdgpu)   OUT=folder (out)   ALL=1 all fourteen solvers
#               A first build is of double precision alone; `make build` adds float32.
# make build    .venv with pdgpu; seconds when nothing changed. The CUDA modules are built where a GPU is to be seen, or with PDGPU_CUDA=ON
# make quick    build, then the tests of tests/quick.py: each subject in two minutes at most on two cores
# make test     build, then the tests             TESTS="tests/elements -k polar" for some of them, JOBS=1 one after the other
# make stress   build, then the tests that are too long for `make test`: long scenes and large meshes; TESTS, JOBS as above
# make lint     formatting and lint of C, CUDA and Python; `make format` puts right what it can
# make sanitize the tests under the address and undefined-behaviour sanitizers; CHOSEN=1 a choice of them, every value of every parameter
# make cuda     build with the CUDA modules, which nvcc has to be there for, and import them
# make cuda-on-host  the CUDA kernels compiled for the CPU, and the tests of the CUDA backend on them; no GPU, no nvcc
# make papers   every script of examples/papers in full, each within PAPERS_SECONDS (120) or the limit it names, into OUT/papers: pictures,
#               tables and what came out; a table of their seconds, and an error that names what failed or took too long
# make docs     the guide and the reference of all classes and functions as HTML: OUT/docs/index.html
# make links    the links of the documents to other sites; needs the internet
# make pictures the pictures of the documents and of their gallery: hours; scripts/pictures NAME for one
# make library  the C library: build it, run its tests, install it into build/library/prefix, build and run the example in C against that
# make golden   the bits of ten steps of every solver against those of tests/golden.csv; WRITE=1 writes them again, CHOSEN=1 leaves out the
#               kernels in single precision
# make compare-speed REF=commit   processor time of the ten cases of tests/iteration_cases.py against another commit, in turns (TURNS=5)
# make coverage  build with gcov, then the tests: which part of the lines of csrc they enter, for each folder; TESTS as above
# make wheel    dist/: a self-contained wheel with SuiteSparse and BLAS inside
# make gpu      on a machine with a GPU: build the CUDA modules, run GPU tests, compute-sanitizer and benchmarks into OUT
#               PARTS="build tests sanitizer benchmarks" for some of them, GPU_SECONDS=570 where a call may not take longer (the next
#               goes on with what did not pass), JOBS processes for the tests
# make gpu-bring fills bring/ with everything that scripts/gpu_lease needs on a machine with a GPU that is lent for minutes; needs nvcc
# make gpu-try  gpu-bring, then the folder unpacked under another Python (GPU_PYTHON) and the whole lease on the CPU with tiny sizes
# make clean    removes build/ and dist/; .venv stays
PYTHON ?= python3
VENV   ?= .venv
OUT    ?= out
MESH   ?=
TESTS  ?=
JOBS   ?= 2
PARTS  ?=
WRITE  ?=
CHOSEN ?=
ALL    ?=
REF    ?=
TURNS  ?= 5
# nvcc takes ten times as long as everything else together, so CUDA modules are built only where a GPU can run them, or where they are
# asked for: PDGPU_CUDA=ON. CUDA_ARCHITECTURES=90-real compiles for one GPU only, in half the time; empty: for all of CMakeLists.txt.
# OFF leaves the direct solver out: PDGPU_CHOLMOD=OFF; the exact intersection tests: PDGPU_GMP=OFF.
ifndef PDGPU_CUDA
PDGPU_CUDA := $(shell nvidia-smi -L >/dev/null 2>&1 && echo AUTO || echo OFF)
endif
CUDA_ARCHITECTURES ?=
PDGPU_CHOLMOD ?= ON
PDGPU_GMP     ?= ON
PDGPU_WERROR  ?= ON
PDGPU_PRECISIONS ?= f32;f64

# pytest keeps the bytecode of the tests with its assertions. Without, each process compiles all of them again, for 10 seconds.
unexport PYTHONDONTWRITEBYTECODE
export PYTHON VENV OUT JOBS WRITE CHOSEN PDGPU_CUDA PDGPU_CHOLMOD PDGPU_GMP
.DELETE_ON_ERROR:
# no rule of make itself: it would link csrc/dynamics/methods, a folder, from methods.c
.SUFFIXES:
.PHONY: always build library quick test stress demo compare-speed coverage wheel lint format sanitize golden cuda cuda-on-host gpu gpu-bring gpu-try papers docs links pictures clean

# Folders are in the list too: their time changes when a file in them is removed.
SOURCES := $(shell find csrc python -name __pycache__ -prune -o -print) pyproject.toml CMakeLists.txt README.md LICENSE NOTICE
BIN     := $(VENV)/bin
# read where it is used (=): `make cuda` sets PDGPU_CUDA for what it needs
OPTIONS = -C build-dir=build/make -C cmake.define.PDGPU_WERROR=$(PDGPU_WERROR) \
    -C "cmake.define.PDGPU_PRECISIONS=$(PDGPU_PRECISIONS)" \
    -C cmake.define.PDGPU_CUDA=$(PDGPU_CUDA) -C cmake.define.PDGPU_CHOLMOD=$(PDGPU_CHOLMOD) -C cmake.define.PDGPU_GMP=$(PDGPU_GMP) \
    -C "cmake.define.CMAKE_CUDA_ARCHITECTURES=$(CUDA_ARCHITECTURES)"

build: $(VENV)/.built

# the virtual environment with what builds pdgpu; cmake and ninja from PyPI, since a system's are often too old
$(VENV)/.tools: scripts/system_packages
	scripts/system_packages
	$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip "scikit-build-core>=0.10" "numpy>=2" "cmake>=3.26" ninja
	touch $@

# written again only when the options differ from those of the last build
$(VENV)/.options: always | $(VENV)/.tools
	@echo '$(OPTIONS)' | cmp -s - $@ || echo '$(OPTIONS)' > $@

# An ordinary installation, as a user has it, out of a kept CMake folder: only what changed is compiled again. The stamp bears the
# time of the start, so that a file saved during the build is not missed.
$(VENV)/.built: $(SOURCES) $(VENV)/.tools $(VENV)/.options
	touch $@.new
	$(BIN)/python -m pip install --quiet --no-build-isolation $(OPTIONS) ".[viz]"
	mv $@.new $@

# what tests and lint need beside pdgpu itself
$(VENV)/.development: pyproject.toml $(VENV)/.tools
	PDGPU_EGL=ON scripts/system_packages
	$(BIN)/python -m pip install --quiet --group test --group lint
	touch $@

# The processes share the cores: teams that wait for each other took a fifth of the processor time. Bits are the same for any number.
quick test stress: export OMP_NUM_THREADS ?= $(shell n=$$(( $$(nproc) / $(JOBS) )); echo $$(( n > 0 ? n : 1 )))
quick: build $(VENV)/.development
	$(BIN)/python -m pytest -q -n $(JOBS) --dist worksteal --quick $(TESTS)

test: build $(VENV)/.development
	$(BIN)/python -m pytest -q -n $(JOBS) --dist worksteal $(TESTS)

stress: build $(VENV)/.development
	$(BIN)/python -m pytest -q -n $(JOBS) --dist worksteal --stress $(TESTS)

# What is built stays: only a first build leaves float32 out.
demo: PDGPU_PRECISIONS := $(if $(wildcard $(VENV)/.built),$(if $(shell grep -s 'PRECISIONS=f64"' $(VENV)/.options),f64,f32;f64),f64)
demo: build
	$(BIN)/python -m pdgpu compare $(MESH) $(if $(ALL),--all) --out $(OUT)

papers: build
	$(BIN)/python scripts/papers --out $(OUT)/papers

docs: build
	$(BIN)/python -m pip install --quiet --group docs
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs $(OUT)/docs

links: build
	$(BIN)/python -m pip install --quiet --group docs
	$(BIN)/python -m sphinx -q -b linkcheck docs build/links

pictures: build $(VENV)/.development
	$(BIN)/python scripts/pictures

compare-speed: build
	scripts/compare_speed "$(REF)" --turns $(TURNS)

coverage: build $(VENV)/.development
	scripts/c_coverage $(TESTS)

wheel: build
	scripts/build_wheel $(OPTIONS)
	scripts/check_wheel

lint: build $(VENV)/.development
	scripts/check

format: build $(VENV)/.development
	scripts/check --fix

sanitize: build $(VENV)/.development
	scripts/sanitize $(TESTS)

# The import must work where the toolkit is but no GPU: a missing driver is an error of device="cuda", not of the import.
cuda: PDGPU_CUDA = ON
cuda: build
	cd $(VENV) && bin/python -c "import pdgpu._cuda_f32, pdgpu._cuda_f64; print('cuda: both modules import')"

cuda-on-host: build $(VENV)/.development
	scripts/cuda_on_host $(TESTS)

library: build
	scripts/c_library

golden: build $(VENV)/.development
	scripts/golden $(TESTS)

gpu:
	scripts/gpu $(PARTS)

# The modules that travel are compiled here, for one architecture.
gpu-bring gpu-try: PDGPU_CUDA = ON
gpu-bring gpu-try: CUDA_ARCHITECTURES := $(or $(CUDA_ARCHITECTURES),90-real)
gpu-bring: wheel
	scripts/gpu_bring

gpu-try: gpu-bring $(VENV)/.development
	scripts/gpu_try

clean:
	rm -rf build dist
	rm -f $(VENV)/.built
