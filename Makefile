# `make demo` and `make test` do all the set-up: a virtual environment in .venv with the pinned versions.
PYTHON ?= python3
BIN := .venv/bin
CGNN := $(BIN)/cgnn
# Hundreds of tests start a process, which would compile the package anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test payments postgres track wheel oldest site soak lint bench bench-commute bench-training bench-command \
	bench-memory bench-scale tune where reproduction docs slow snakemake clean

demo: .venv/installed
	$(CGNN) run

test: .venv/installed
	$(BIN)/python -m pytest -n auto --dist worksteal

# from tables of payments to a page of suspects, three graphs: a ranking that is good enough, and what it is compared with
payments: .venv/installed
	$(BIN)/python -m tests.payments

# imports from a PostgreSQL server of the tests' own and tables written to it; it runs as a user without rights
postgres: .venv/installed
	@ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || command -v initdb >/dev/null || \
	  (timeout 120 apt-get -qq update && DEBIAN_FRONTEND=noninteractive timeout 300 \
	  apt-get -qq install -y --no-install-recommends postgresql) >/dev/null 2>&1 || \
	  echo "PostgreSQL could not be installed: its tests will be skipped" >&2
	$(BIN)/python -m pytest tests/databases/test_postgres.py -m slow -rs

# MLflow and W&B, which are large, and the tests that need them; W&B works offline
track: .venv/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[track]'
	$(BIN)/python -m pytest tests/tracking

slow: .venv/installed
	$(BIN)/python -m pytest -m slow

# the Snakefile of docs/batch-jobs.md under a Snakemake in an environment of its own, for it brings fifty packages
snakemake: .venv/installed
	$(PYTHON) -m venv .venv/snakemake
	.venv/snakemake/bin/pip install --quiet --disable-pip-version-check snakemake
	PATH="$$PATH:$(CURDIR)/.venv/snakemake/bin" $(BIN)/python -m pytest -n 0 -m slow tests/docs/test_batch_jobs.py -k snakemake

# the wheel in empty environments, by pip and by uv
wheel: .venv/installed
	$(BIN)/python -m tests.wheel

# a fast part of the tests with the lowest versions that pyproject.toml supports
oldest: .venv/installed
	$(BIN)/python -m tests.oldest

# the documentation as a site in site/; fails on a broken link, and looks at pages in a browser where there is one
site: .venv/installed
	$(BIN)/python -m tests.site

# 200 trainings while their processes are killed at random; under ten minutes on two cores
soak: .venv/installed
	$(BIN)/python -m tests.faults.soak

lint: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: .venv/installed
	$(BIN)/python benchmarks/startup.py
	$(BIN)/python benchmarks/import_edges.py

# DATA=FOLDER: see docs/benchmarks.md; without it CGNN_TEST_DATA
bench-commute: .venv/installed
	$(BIN)/python benchmarks/commute.py $(if $(DATA),--data $(DATA)) --large

bench-training: .venv/installed
	GOMP_SPINCOUNT=1000 $(BIN)/python benchmarks/training.py $(if $(DATA),--data $(DATA)) --large

# BEFORE=FOLDER: a checkout of the version to compare with; DATA as above
bench-command: .venv/installed
	$(BIN)/python benchmarks/command.py $(if $(DATA),--data $(DATA)) $(if $(BEFORE),--before $(BEFORE)) --large

# estimates of memory against measured peaks; STORE=FOLDER keeps the inputs, EDGES="10000 100000" for a part of it
bench-memory: .venv/installed
	$(BIN)/python benchmarks/memory.py $(if $(STORE),--store $(STORE)) $(if $(EDGES),--edges $(EDGES))

# made graphs of 1, 10 and 100 million edges through all stages before a training; SCRATCH=FOLDER keeps what is done
bench-scale: .venv/installed
	$(BIN)/python benchmarks/out_of_core.py $(if $(SCRATCH),--scratch $(SCRATCH)) $(if $(EDGES),--edges $(EDGES))

# DATA=FOLDER, STORE=FOLDER, MINUTES=60: the search for presets; it goes on where it was stopped
tune: .venv/installed
	$(BIN)/python benchmarks/tune.py --data $(or $(DATA),$(CGNN_TEST_DATA)) $(if $(STORE),--store $(STORE)) \
	  $(if $(MINUTES),--max-minutes $(MINUTES))

# the same: docs/where-it-helps.md and the results behind it
where: .venv/installed
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/where.py --data $(or $(DATA),$(CGNN_TEST_DATA)) \
	  $(if $(STORE),--store $(STORE)) $(if $(MINUTES),--max-minutes $(MINUTES))
	$(BIN)/python docs/make_where.py

# the same, and NAMES="rank ppr": docs/results/NAME of every experiment of `cgnn reproduce --list`, each within MINUTES
reproduction: .venv/installed
	for name in $(or $(NAMES),datasets table1 directed-undirected ppr sym rank rewiring-commute rewiring-density \
	  label-similarity efficiency sensitivity hyperparameters solvers proximity weights ratios); do \
	  $(CGNN) reproduce $$name --mirror $(or $(DATA),$(CGNN_TEST_DATA)) --accept-standin --jobs 0 --quiet \
	    $(if $(STORE),--store $(STORE)) $(if $(MINUTES),--max-minutes $(MINUTES)) --output docs/results/$$name; \
	done

docs: .venv/installed
	$(BIN)/python docs/make_reference.py
	$(BIN)/python docs/make_reliability.py
	$(BIN)/python docs/make_figures.py
	$(BIN)/python docs/make_where.py
	$(BIN)/python docs/make_notebook.py

.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "cgnn needs Python 3.11 or newer")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

clean:
	rm -rf .venv .cgnn build dist site *.egg-info
