# `make TARGET` is `python tasks.py TARGET` with the environment made first; `make help` lists them.
# Needs python3 >= 3.11 with venv, and make.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV ?= .venv
export VENV
export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)
READY := $(VENV)/.last_set_up
TARGETS := lab tutorials test check export refresh docs serve print bench ledger slow course book new wheel
# what stands on the command line, in quotes for the shell
GIVEN = $(foreach one,$(.VARIABLES),$(if $(findstring command line,$(origin $(one))),$(one)='$(subst ','\'',$($(one)))'))

.PHONY: help setup clean python $(TARGETS)

$(TARGETS): $(READY)
	@python tasks.py $@ $(GIVEN)

help clean: python
	@$(PYTHON) tasks.py $@

setup: $(READY)

$(READY): pyproject.toml setup.py .ci/hashes.txt | python
	@$(PYTHON) tasks.py setup

python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "python3 is $$($(PYTHON) -V 2>&1), but 3.11 or newer is needed; name one with: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 2; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
	  { echo "python3 has no venv module; on Debian and Ubuntu: apt-get install python3-venv"; exit 2; }
