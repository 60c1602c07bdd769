# Every target does its own set-up: a fresh clone needs Python 3.11+, make and a package registry.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed

# One for each of two cores, and others whose tests start processes, and wait a lot: a thorough run has more of these.
WORKERS ?= $(if $(VACATE_THOROUGH),5,4)
# Each of these has a control plane of its own for most of its time, and waits for that.
KUBE_WORKERS ?= 4
# make test T=tests/embedded/store K=compaction SEED=7
T    ?= tests
K    ?=
SEED ?=
# make sim SEEDS=5000
SEEDS ?= 5000
PYTEST_FLAGS := $(if $(K),-k "$(K)") $(if $(SEED),--seed $(SEED))

# Many tests start processes: without compiled files each would compile all of the sources again.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help setup demo recording test test-fast sim lint format lock clean kube peers kube-up kube-down test-kube test-node test-fence test-web differential rules fuzz size sbom chart release audit

help: ## List the targets
	@bold=; plain=; test ! -t 1 || { bold='\033[1m'; plain='\033[0m'; }; \
	awk -F ':.*## ' -v bold="$$bold" -v plain="$$plain" \
		'/^[a-z-]+:.*## / { printf "  %s%-12s%s %s\n", bold, $$1, plain, $$2 }' $(MAKEFILE_LIST)
	@printf '\n  One test, one seed: make test T=tests/embedded/store K=compaction SEED=7\n'
	@printf '  Faults:             make sim SEEDS=500 (each scenario), LAB=50 (the whole system), START=1000 (first seed)\n'

setup: $(STAMP) ## Create .venv with the locked dependencies

$(STAMP): requirements/dev.lock pyproject.toml distributions/vacate-embedded/pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Vacate needs Python 3.11 or newer; set PYTHON=/path/to/python3.11" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable . --editable distributions/vacate-embedded
	@touch $@

demo: $(STAMP) ## Drain a node of an embedded cluster, live, and clean up
	@$(BIN)/vacate demo

recording: $(STAMP) ## Record the demo as docs/pictures/demo.svg, the picture of the README
	@PATH="$(BIN):$$PATH" $(BIN)/python -m hack.recording docs/pictures/demo.svg -- vacate demo

test: $(STAMP) ## Run the tests (T=path K=expression SEED=n)
	@$(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal $(PYTEST_FLAGS) $(T)

test-fast: $(STAMP) ## Run only the pure and the simulated tests
	@$(BIN)/python -m pytest -q -n 2 -m "unit or sim" $(PYTEST_FLAGS) $(T)

# make sim SEEDS=1000 START=7000 LAB=200: so many seeds of each, from which one on, and of the whole system.
# A tenth as many of the whole system, unless LAB says so: each is a cluster with nodes, fencing and volumes.
START ?= 0
LAB   ?= $(shell echo $$(( ($(SEEDS) + 9) / 10 )))
sim: $(STAMP) ## Simulate evictions, and the whole system under faults, in virtual time (SEEDS=n START=n LAB=n)
	@test $(SEEDS) = 0 || PYTHONPATH=tests $(BIN)/python -m support.eviction_scenarios.run --start $(START) --seeds $(SEEDS)
	@test $(SEEDS) = 0 || PYTHONPATH=tests $(BIN)/python -m support.eviction_scenarios.run --mixed --start $(START) --seeds $$(( ($(SEEDS) + 4) / 5 ))
	@test $(SEEDS) = 0 || PYTHONPATH=tests $(BIN)/python -m support.matrix.run --start $(START) --seeds $(SEEDS)
	@test $(LAB) = 0 || PYTHONPATH=tests $(BIN)/python -m support.laboratory.run --start $(START) --seeds $(LAB)

rules: $(STAMP) ## Remove each rule in turn and check that its tests fail (15 minutes)
	@$(BIN)/python -m hack.rules.check --workers 2

# make kube KUBE=1.33.13: of another release than the pinned one. The same with all that start one.
KUBE ?=
$(if $(KUBE),$(eval export VACATE_KUBE_RELEASE := $(KUBE)))
kube: $(STAMP) ## Obtain a real control plane (built once, in minutes) and print its folder (KUBE=release)
	@$(BIN)/python -m hack.kubelab.obtain

peers: $(STAMP) ## Obtain Helm, cert-manager and Prometheus (built once, in minutes) and print their folder
	@$(BIN)/python -m hack.kubelab.peers

kube-up: $(STAMP) ## Start a real control plane with simulated nodes
	@$(BIN)/python -m hack.kubelab.up up

kube-down: $(STAMP) ## Remove what kube-up started
	@$(BIN)/python -m hack.kubelab.up down

# Without controllers, as the embedded server of the conformance tests; the end-to-end tests start them. The pinned release
# serves lifecycle.k8s.io there.
test-kube: $(STAMP) ## Run conformance, end-to-end and kubectl tests on a real control plane (T, K)
	@peers="$$($(BIN)/python -m hack.kubelab.peers)" && VACATE_PEERS="$$peers" \
		$(BIN)/python -m hack.kubelab.session --without-controllers $(if $(KUBE),,--lifecycle) -- \
		$(BIN)/python -m pytest -q -n $(KUBE_WORKERS) --dist loadgroup -m kube $(PYTEST_FLAGS) $(if $(filter tests,$(T)),tests/conformance tests/realcluster tests/e2e/kubectl tests/e2e/eviction,$(T))

# As root on Debian or a relative of it; says what is missing elsewhere.
# Those of traffic have two nodes. With K, a folder in which it selects nothing is no failure (code 5).
NODE_TESTS := $(if $(filter tests,$(T)),tests/e2e/node tests/e2e/traffic tests/e2e/podsafety,$(T))
# ARCHIVE=dist/0.1.0/vacate-0.1.0-amd64.oci.tar: the image of a release, in place of one that is made for this.
$(if $(ARCHIVE),$(eval export VACATE_NODE_ARCHIVE := $(abspath $(ARCHIVE))))
test-node: $(STAMP) ## Run Vacate as pods on nodes with real kubelets and containers (T, K, ARCHIVE=image of a release)
	@for tests in $(NODE_TESTS); do \
		case $$tests in *traffic*|*podsafety*) nodes=2;; *) nodes=1;; esac; code=0; \
		$(BIN)/python -m hack.nodelab.session --nodes $$nodes -- $(BIN)/python -m pytest -q $(PYTEST_FLAGS) $$tests || code=$$?; \
		test $$code = 0 || test "$(if $(K),5)" = $$code || exit $$code; done

# On Debian or a relative of it; says what is missing elsewhere. Nothing is installed on the machine.
test-fence: $(STAMP) ## Fence with Debian's fence_redfish and a real Redfish service (K)
	@$(BIN)/python -m hack.fencelab.session -- $(BIN)/python -m pytest -q $(PYTEST_FLAGS) tests/e2e/redfish

# On Debian or a relative of it; says what is missing elsewhere. Nothing is installed on the machine.
PICTURES ?= .cache/web
test-web: $(STAMP) ## Drive the pages of vacate web in a real browser, with pictures of each (K, PICTURES=folder)
	@programs="$$($(BIN)/python -m hack.kubelab.obtain)" && KUBEBUILDER_ASSETS="$$programs" \
		VACATE_WEB_PICTURES="$(PICTURES)" $(BIN)/python -m hack.weblab.session -- \
		$(BIN)/python -m pytest -q -n 2 $(PYTEST_FLAGS) tests/web/browser
	@echo "Pictures of every page: $(PICTURES)"

# make differential N=5000
N ?= 1000
differential: $(STAMP) ## Send the same random requests to the embedded and a real server, and compare (N sequences)
	@VACATE_DIFFERENTIAL=$(N) $(BIN)/python -m hack.kubelab.session --without-controllers -- \
		$(BIN)/python -m pytest -q -s -m kube tests/realcluster/test_differential.py

# make fuzz F="patches json" SECONDS=600; atheris has wheels for Linux on x86_64 only.
F       ?=
SECONDS ?= 30
fuzz: $(STAMP) ## Fuzz all readers, guided by coverage (F=targets SECONDS=n for each)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r requirements/fuzz.lock
	@$(BIN)/python -m hack.fuzz --seconds $(SECONDS) $(F)

size: $(STAMP) ## Print how much code each package has, without blank lines, imports and comments
	@$(BIN)/python -m hack.size

lint: $(STAMP) ## Check style and types
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

format: $(STAMP) ## Format the sources
	@$(BIN)/ruff check --fix-only .
	@$(BIN)/ruff format .

lock: ## Resolve the dependencies anew (needs uv)
	uv pip compile --quiet --universal --generate-hashes --no-header --python-version 3.11 --extra speed --extra node --group dev pyproject.toml -o requirements/dev.lock
	uv pip compile --quiet --universal --generate-hashes --no-header --python-version 3.11 --extra speed --extra node pyproject.toml -o requirements/runtime.lock
	uv pip compile --quiet --universal --generate-hashes --no-header --python-version 3.11 requirements/build.in -o requirements/build.lock
	uv pip compile --quiet --universal --generate-hashes --no-header --python-version 3.11 requirements/audit.in -o requirements/audit.lock
	uv pip compile --quiet --universal --generate-hashes --no-header --python-version 3.11 requirements/redfish.in -o requirements/redfish.lock
	uv pip compile --quiet --universal --generate-hashes --no-header --python-version 3.11 requirements/web.in -o requirements/web.lock

chart: $(STAMP) ## Write the Helm chart to dist/chart/vacate
	@$(BIN)/python -m hack.gen_deploy --chart dist/chart/vacate
	@echo dist/chart/vacate

sbom: $(STAMP) ## Write the image's bill of materials (CycloneDX) from the lock to dist/vacate.cdx.json
	@mkdir -p dist
	@$(BIN)/python -m hack.sbom > dist/vacate.cdx.json
	@echo dist/vacate.cdx.json

# What is in the parts is committed: DIRTY=1 is for trials. IMAGE=1 adds the images for all architectures, on Debian or a
# relative of it. PUSH=1 reads REGISTRY_USER and REGISTRY_PASSWORD where the registry wants them.
release: $(STAMP) ## Write wheel, sdist, chart, manifests, bill of materials and checksums to dist/VERSION (REGISTRY=host/path IMAGE=1 DOWNLOADS=https://… FOLDER=dist/VERSION PUSH=1)
	@test -n "$(REGISTRY)" || { echo "release: set REGISTRY to where the images will be, as make release REGISTRY=registry.example.com/team" >&2; exit 2; }
	@$(BIN)/python -m hack.release --registry "$(REGISTRY)" $(if $(IMAGE),--image) $(if $(DOWNLOADS),--downloads "$(DOWNLOADS)") $(if $(PUSH),--push) $(if $(DIRTY),--dirty) $(FOLDER)

# make audit STRICT=--strict fails where no database of vulnerabilities can be reached. The tool is no part of .venv.
AUDIT_VENV := .cache/audit
audit: $(STAMP) ## Check the locked dependencies for known vulnerabilities and yanked releases
	@test -x $(AUDIT_VENV)/bin/python || $(PYTHON) -m venv $(AUDIT_VENV)
	@$(AUDIT_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/audit.lock
	@$(BIN)/python -m hack.audit $(STRICT) $(AUDIT_VENV)/bin/pip-audit requirements/runtime.lock requirements/build.lock requirements/dev.lock

clean: ## Remove the virtual environment and caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis dist
