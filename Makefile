# Two commands matter: `make demo` and `make test`. Each does all its own set-up.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
MANAGE := $(BIN)/python manage.py

.PHONY: demo test check bench migrate schemas clean

# The virtual environment is remade only when the pinned requirements change.
$(VENV)/.installed: requirements.txt requirements-dev.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	touch $@

# Runs the refund agent 1.2.4 against 1.3.0 on nine scenarios and prints what the tools recorded.
# Status 3 means that the comparison found new failures: exactly what this demo is about.
demo: export DJANGO_DEBUG = 1
demo: $(VENV)/.installed
	@$(MANAGE) migrate --verbosity 0
	@$(MANAGE) seed_demo
	@$(MANAGE) compare support-refund-agent --baseline 1.2.4 --candidate 1.3.0 || test $$? -eq 3

test: $(VENV)/.installed check
	$(BIN)/python -m pytest -q -n 2 --dist loadgroup

check: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(MANAGE) makemigrations --check --dry-run
	$(MANAGE) write_schemas --check

bench: $(VENV)/.installed
	$(BIN)/python -m bench

schemas: $(VENV)/.installed
	$(MANAGE) write_schemas

clean:
	rm -rf $(VENV) var
