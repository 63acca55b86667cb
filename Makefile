# Every target makes what it needs in .venv; nothing is installed outside this folder.
#   make demo     the main loop, for real, in a scratch project; on a terminal, then a page to click
#   make test     the whole suite on SQLite; ARGS="tests/hub -k resolve" narrows it
#   make lint     formatting, lints, types, import rules
#   make docs     write again what is generated in docs/
#   make schema   write again pinbox_site/schema.sql, after a change of the migrations
#   make toolbar  write again the files of the toolbar that are served, after a change of its modules
#   make agents   fetch the real agent programs that tests/agents run offline
#   make bench    measure, against the targets
#   make clean    remove what the other targets made

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
ARGS ?=

RUN := $(VENV)/.run-installed
DEV := $(VENV)/.dev-installed

.DEFAULT_GOAL := help
.PHONY: help venv demo test lint docs schema toolbar agents bench clean

help:
	@sed -n 's/^#   //p' Makefile

# A machine whose python3 comes without ensurepip still has a pip that can fill the environment.
$(RUN): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("Pinbox needs Python 3.11 or newer, $(PYTHON) is " + sys.version.split()[0] if sys.version_info < (3, 11) else 0)'
	@$(PYTHON) -m venv $(VENV) 2>/dev/null || { \
	  $(PYTHON) -m venv --without-pip --clear $(VENV) && \
	  $(PYTHON) -m pip --python $(BIN)/python install --quiet pip; }
	@echo "installing Pinbox into $(VENV)"
	@$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	@$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(DEV): pyproject.toml | $(RUN)
	@echo "installing the tools of the suite into $(VENV)"
	@$(BIN)/python -m pip install --quiet --editable . --group dev
	@touch $@

venv: $(RUN) $(DEV)

demo: $(RUN)
	@$(BIN)/python examples/demo.py

test: $(RUN) $(DEV)
	@$(BIN)/python -m pytest $(ARGS)

lint: $(RUN) $(DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@scratch=$$(mktemp -d); trap 'rm -rf "$$scratch"' EXIT; set -x; \
	  PINBOX_PROJECT=$$scratch PINBOX_SECRET_KEY=types $(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m docs.generate --check

docs: $(RUN) $(DEV)
	$(BIN)/python -m docs.generate

schema: $(RUN)
	$(BIN)/python manage.py dumpschema

toolbar: $(RUN) $(DEV)
	$(BIN)/python -m pinbox_site.toolbar.bundle

agents: $(RUN)
	@$(BIN)/python -m tests.agents.install

bench: $(RUN) $(DEV)
	$(BIN)/python -m bench $(ARGS)

clean:
	rm -rf .venv .venv-* .ci-work .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache dist build
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
