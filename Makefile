# Two commands matter: `make demo` and `make test`. Each does all its own set-up.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
MANAGE := $(BIN)/python manage.py
PORT ?= 8000
# Hundreds of processes are started by the tests: none of them is to compile again what another one has.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test unit check bench browser schemas clean

# The virtual environment is remade only when the pinned requirements change.
$(VENV)/.installed: requirements.txt requirements-dev.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -r requirements-dev.txt
	touch $@

# Runs the refund agent 1.2.4 against 1.3.0 on nine scenarios, prints what the tools recorded, then serves the
# pages with these comparisons on the loopback address until Ctrl-C. Status 3 of `compare` means that the
# candidate fails where the baseline did not: exactly what this demo is about. A port that is taken is said
# before anything is run.
demo: $(VENV)/.installed
	@$(MANAGE) serve --port $(PORT) --check
	@$(MANAGE) migrate --verbosity 0
	@$(MANAGE) seed_demo
	@$(MANAGE) compare support-refund-agent --baseline 1.2.4 --candidate 1.3.0 || test $$? -eq 3
	@$(MANAGE) demo_accounts
	@$(MANAGE) serve --port $(PORT)

# The static checks mostly wait for one processor, the tests for all: they go side by side.
test: $(VENV)/.installed
	@$(MAKE) --no-print-directory -j 2 check unit
	$(BIN)/python -m pytest -q -n 3 --dist loadfile tests/browser

unit: $(VENV)/.installed
	$(BIN)/python -m pytest -q -n 4 --dist loadfile --no-loadscope-reorder --ignore tests/browser

check: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(MANAGE) makemigrations --check --dry-run
	$(MANAGE) write_schemas --check

# A Chromium for the browser tests, where none is found: Debian's package as root, else Playwright's download.
browser: $(VENV)/.installed
	@if $(BIN)/python -m tests.pages.browser; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; \
	then apt-get update -qq && apt-get install -y -qq chromium-headless-shell || apt-get install -y -qq chromium; \
	else $(BIN)/python -m playwright install chromium; fi

bench: $(VENV)/.installed
	$(BIN)/python -m bench

schemas: $(VENV)/.installed
	$(MANAGE) write_schemas

clean:
	rm -rf $(VENV) var
