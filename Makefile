# Every target explains itself: `make help`. Needs python3 >= 3.11 with venv, and make.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV ?= .venv
workers ?= 2# processes that run tests and notebooks
export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)
export NBDEV_NO_SYNC ?= 1
export PYTHONHASHSEED ?= 0
unexport PYTHONDONTWRITEBYTECODE # tests start some hundred processes: each would compile its imports again
READY := $(VENV)/.last_set_up

.PHONY: help setup lab tutorials test check export refresh docs serve print bench ledger slow course book new wheel clean

help: ## list the targets
	@awk -F':.*## ' '/^[a-z]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(READY) ## make the environment in .venv (done by itself when another target needs it)

$(READY): settings.ini setup.py pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "python3 is $$($(PYTHON) -V 2>&1), but 3.11 or newer is needed; name one with: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 2; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
	  { echo "python3 has no venv module; on Debian and Ubuntu: apt-get install python3-venv"; exit 2; }
	@test -x $(VENV)/bin/python || $(PYTHON) -m venv $(VENV)
	@$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt uv
	@$(VENV)/bin/uv pip install --quiet --compile-bytecode --python $(VENV)/bin/python -c constraints.txt -e '.[dev,docs,course,lab,data]'
	@touch $(READY)

lab: $(READY) ## open the tutorials in JupyterLab
	PYTHONSTARTUP=$(CURDIR)/docs/style.py jupyter lab nbs/index.ipynb

tutorials: $(READY) ## execute every tutorial on its default real data and build the site
	python docs/notebooks.py run --reuse --out build/executed
	@mkdir -p build/pages
	sphinx-build -q -c docs -d build/doctrees -D executed=$(CURDIR)/build/executed build/pages _docs

test: $(READY) ## run everything that .ci/run runs: notebooks, package, site, browser (workers=2 processes)
	python -m pytest -n $(workers) --dist loadscope -m "not slow" $(args)

check: $(READY) ## the look before a commit: export, clean, lint, types, then the pages and tests that the change concerns
	EXTREME_OPT_CACHE=$(CURDIR)/build/cache python tests/tools/check.py --workers $(workers)

export: $(READY) ## write the package from the notebooks
	nbdev-export

refresh: $(READY) ## execute notebooks in place, say how outputs differ (name=30_umax for one)
	python docs/notebooks.py refresh --workers $(workers) $(name)

docs: $(READY) ## build the site into _docs; a second time only what has changed (live=1: pages run in the browser)
	nbdev-export
	@mkdir -p build/pages
	$(if $(live),python docs/live/build.py)
	sphinx-build -q -c docs -d build/doctrees $(if $(live),-D live=1) build/pages _docs

serve: docs ## build the site and serve it on this machine
	python -m http.server --bind 127.0.0.1 --directory _docs 8000

bench: $(READY) ## measure speed, write docs/results: what changed, at most 30 minutes (name=softmax_umax for one, full=1 for all)
	python bench/run.py $(if $(full),--full) $(name)

ledger: $(READY) ## run the checks of random rows of the equation ledger, each with a mutant (n=10 seed=1)
	python docs/ledger.py run --n $(or $(n),10) --seed $(or $(seed),1)

slow: $(READY) ## run slow cells, slow tests, all mutants, long results, within minutes=45; says what it left out, goes on when called again
	python tests/tools/slow.py --workers $(workers) --minutes $(or $(minutes),45)

course: $(READY) ## write problem sets, solutions, rubrics and a class to grade in (out=DIR; seed=7 for other numbers, roster=FILE for each student's own, archive=FILE for an encrypted copy)
	python assignments/make.py $(if $(out),out=$(out)) $(if $(seed),seed=$(seed)) $(if $(roster),roster=$(roster)) $(name) $(if $(parts),parts=$(parts)) $(if $(version),version=$(version)) $(if $(archive),archive=$(archive))

print: docs ## write the lessons and guides as EPUB and as LaTeX, and as PDF where latexmk is at hand, into _print
	@mkdir -p build/printed/pages
	sphinx-build -q -b epub -c docs/printed -d build/printed/epub build/printed/pages _print/epub
	sphinx-build -q -b latex -c docs/printed -d build/printed/latex build/printed/pages _print/latex
	@cp _print/epub/extreme_opt.epub _print && echo _print/extreme_opt.epub
	@if command -v latexmk >/dev/null && command -v xelatex >/dev/null; then \
	  cd _print/latex && latexmk -xelatex -interaction=nonstopmode -silent extreme_opt.tex >/dev/null && \
	  cp extreme_opt.pdf .. && echo _print/extreme_opt.pdf; \
	else echo 'no PDF: xelatex or latexmk is missing (on Debian and Ubuntu: apt-get install latexmk texlive-xetex texlive-latex-extra texlive-fonts-recommended)'; fi

book: docs ## write what students need, without solutions: site, pages, problem sets, wheel (out=DIR; class=DIR for the sets of a class)
	python -m build --wheel --quiet --outdir build/wheel
	python assignments/handout.py $(if $(out),out=$(out)) $(if $(class),class=$(class))

new: $(READY) ## start a notebook from the template: make new name=learn/ordinal/45_momentum
	@test -n '$(name)' || { echo 'no name is given; say for example: make new name=learn/ordinal/45_momentum'; exit 2; }
	python docs/notebooks.py new $(name)

wheel: $(READY) ## build a wheel into dist, twice, and compare: the same bytes
	python tasks.py build dist

clean: ## remove what was built, unless a class with submissions or marks is among it (the environment stays)
	@$(PYTHON) assignments/make.py check
	rm -rf _docs _print _proc jupyter_execute build dist *.egg-info .pytest_cache .ruff_cache .mypy_cache .hypothesis
