# Every target sets up what it needs and prints what it does. `make` alone lists them.
PYTHON ?= python3
export PIP_DISABLE_PIP_VERSION_CHECK = 1

VENV := .venv
VENV_15 := .venv-1.5
VENV_PEERS := .venv-peers

# An environment is up to date when its stamp is newer than what decides its content.
RECIPE := pyproject.toml sqlpriv/version.py
USE := $(VENV)/.stamp-use
DEVELOP := $(VENV)/.stamp-develop
DEVELOP_15 := $(VENV_15)/.stamp-develop
PEERS := $(VENV_PEERS)/.stamp-peers

PYTEST := bin/python -m pytest -q -n auto --dist worksteal

.DEFAULT_GOAL := help
.PHONY: help demo docs test test-1.5 test-peers test-deep lint bench wheel clean
# Two editable installs at once would write the same egg-info.
.NOTPARALLEL:

help: ## List the targets
	@sed -n 's/^\([a-z0-9.-]*\):.*## \(.*\)/\1:\2/p' Makefile | while IFS=: read -r name does; do \
		printf '  make %-11s %s\n' "$$name" "$$does"; done

demo: $(USE) ## Generate a hospital table, check it, and show the report
	@$(VENV)/bin/sqlpriv demo

test: $(DEVELOP) ## Run the tests on the newest DuckDB
	@echo "Testing on $$($(VENV)/bin/python -c 'import duckdb; print("DuckDB", duckdb.__version__)')"
	@$(VENV)/$(PYTEST) -m "not deep"

# The formulas are compared in full on the newest DuckDB; here some of the random tables find what differs, and what does
# not touch DuckDB is left out, and of the attacks all but those that DuckDB's versions answer differently.
ELSEWHERE := tests/test_oracles.py tests/test_lattice_oracle.py tests/test_lattice_oracle_agreement.py \
	tests/test_charts.py tests/test_epsilon_lattice.py tests/test_packaging.py tests/test_docs.py tests/test_init.py \
	tests/test_policy.py tests/test_headers.py tests/test_demo.py tests/test_adult_bars.py tests/test_reference_numbers.py \
	tests/test_benchmarks.py tests/test_coverage.py tests/test_randomized.py tests/test_randomized_guarantees.py \
	tests/test_randomized_estimates.py tests/test_noise_policy.py tests/test_query_refused.py tests/test_plan_and_show.py \
	tests/test_domain_sums.py tests/test_query_joins_coverage.py
ON_15 := $(filter-out $(ELSEWHERE),$(wildcard tests/test_*.py)) $(addprefix tests/attacks/test_,valid_calls.py \
	odd_names.py columns_named_like_ours.py attached_databases.py null_classes.py collations.py \
	view_over_the_same_macro.py policies.py)
test-1.5: $(DEVELOP_15) ## Run the tests on DuckDB 1.5.6, with fewer random tables
	@echo "Testing on $$($(VENV_15)/bin/python -c 'import duckdb; print("DuckDB", duckdb.__version__)')"
	@SQLPRIV_EXAMPLES=$${SQLPRIV_EXAMPLES:-10} $(VENV_15)/$(PYTEST) -m "not deep" -k "not dialects" $(ON_15)

test-peers: $(PEERS) ## Run the tests that compare with other libraries
	@echo "Testing against $$($(VENV_PEERS)/bin/python -m pip freeze | grep -i pycanon)"
	@$(VENV_PEERS)/$(PYTEST) -m "not deep" tests/test_*_agreement.py

test-deep: $(DEVELOP) ## Run every test, with ten times the random tables (minutes)
	@echo "Testing with 2000 random tables for every macro"
	@SQLPRIV_EXAMPLES=2000 $(VENV)/$(PYTEST)

lint: $(DEVELOP) ## ruff and mypy --strict
	@echo "Checking the code: ruff check, ruff format, mypy --strict"
	@$(VENV)/bin/ruff check .
	@$(VENV)/bin/ruff format --check .
	@$(VENV)/bin/mypy --strict

bench: $(PEERS) $(DEVELOP) ## Measure the checks, side by side with other libraries, the search and the releases
	@$(VENV_PEERS)/bin/python -m benchmarks.checks
	@$(VENV)/bin/python -m benchmarks.startup
	@$(VENV)/bin/python -m benchmarks.lattice
	@$(VENV)/bin/python -m benchmarks.epsilon_lattice
	@$(VENV)/bin/python -m benchmarks.estimate
	@$(VENV)/bin/python -m benchmarks.alpha_beta

docs: $(DEVELOP) ## Write the parts of docs/ that come from the code: macros and keys of policies
	@echo "Writing docs/"
	@$(VENV)/bin/python -m sqlpriv.doors.pages docs

wheel: $(DEVELOP) ## Build the wheel and the source archive into dist/
	@echo "Building the source archive, and the wheel from it"
	@rm -rf build dist
	@$(VENV)/bin/python -m build --outdir dist . >/dev/null
	@ls dist

clean: ## Remove everything that these targets made
	@echo "Removing environments, builds and caches"
	@rm -rf $(VENV) $(VENV_15) $(VENV_PEERS) build dist *.egg-info
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

comma := ,
