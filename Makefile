# Two commands for a fresh machine with Python 3.11+ and make: `make demo` and `make test`.

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
DEMO := .demo

.PHONY: demo test lint docs screenshots fuzz soak clean setup

demo: setup  ## Run the digits study (30 trials, ASHA) to its end, in two minutes or less
	@rm -rf $(DEMO)
	$(BIN)/python -m shoal run examples/digits_mlp.py --trials 30 --data $(DEMO)

test: lint  ## Linters, types, layers, then every test folder within its own time
	$(BIN)/python -m pytest -q tests/unit -p no:hypothesispytest --session-timeout=120
	$(BIN)/python -m pytest -q tests/models --session-timeout=600
	$(BIN)/python -m pytest -q tests/property --session-timeout=600
	$(BIN)/python -m pytest -q tests/contract --session-timeout=600
	$(BIN)/python -m pytest -q tests/layout --session-timeout=600
	$(BIN)/python -m pytest -q tests/process --session-timeout=1500
	$(BIN)/python -m pytest -q tests/docs --session-timeout=900
	$(BIN)/python -m pytest -q tests/browser --session-timeout=600

lint: setup  ## ruff, mypy --strict, import-linter
	$(BIN)/python -m ruff check .
	$(BIN)/python -m mypy
	$(BIN)/python -c 'from importlinter.cli import lint_imports_command; lint_imports_command()'

docs: setup  ## Write docs/command-line.md from the command line itself
	$(BIN)/python -m shoal.service.cli.reference docs/command-line.md

screenshots: setup  ## Run the digits study and take the pictures of the README and the pages anew (needs chromium)
	$(BIN)/python -m docs.screenshots

fuzz: setup  ## A million random events against the scheduling policy
	$(BIN)/python -m benchmarks.fuzz_scheduling --events 1000000

soak: setup  ## A simulated day of 10,000 GPUs whose nodes fail every four hours
	$(BIN)/python -m benchmarks.soak

clean:  ## Remove what the other targets made
	rm -rf .venv .typing $(DEMO) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache *.egg-info

setup: $(READY) .typing/shoal

# the static tools find the root package through this link
.typing/shoal:
	@mkdir -p .typing && ln -sfn .. $@

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; v = sys.version.split()[0]; sys.exit(None if sys.version_info >= (3, 11) else f"shoal needs Python 3.11 or newer, and $(PYTHON) is {v}. Name another: make PYTHON=python3.12")'
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@
