# `make demo` and `make test` do their own set-up: a virtual environment in .venv, and Java in .java if there is none.
PYTHON ?= python3
BIN := .venv/bin
# What an installation compiles, if there is a compiler: see setup.py.
EXTENSIONS := runtime/connectors/formats/jsonl/alike.c runtime/connectors/topics/batches.c

JAVA = $(BIN)/python -m cedilla.runtime.engines.spark.java
# Installs Java into .java where no Java 17 or newer is found. WITHOUT_JAVA=1: installs none.
WITHOUT_JAVA ?=
ENSURE_JAVA = $(JAVA) > /dev/null 2>&1 || \
	{ [ -z '$(WITHOUT_JAVA)' ] && echo 'No Java 17 or newer found: installing one into .java' && \
	  $(BIN)/pip install --quiet --editable '.[java]' && $(JAVA) --install .java; }
# Runs what follows with JAVA_HOME set to the Java that was found, without it where there is none.
WITH_JAVA = JAVA_HOME="$$($(JAVA) 2> /dev/null)"; export JAVA_HOME;
# The same for tests, which start Java often: in half the time where there is an archive. That costs as much as twelve
# starts from it save, so `test`, which has three, only takes what is there.
WITH_CLASSES = $(WITH_JAVA) CEDILLA_CLASSES="$(CURDIR)/build/classes.jsa" && export CEDILLA_CLASSES &&

.PHONY: demo demo-otel demo-cdc quick test test-rest proof bench bench-full soak mutants lint types reference site serve vscode pictures clean distclean
.DELETE_ON_ERROR:

# The engine of a demo: Spark where there is Java, else Sail, which is installed then. ENGINE=spark asks for Java,
# ENGINE=sail for none.
ENGINE ?=
CHOOSE_ENGINE = engine='$(ENGINE)'; \
	if [ -z "$$engine" ] && ! $(JAVA) > /dev/null 2>&1; then \
	  echo 'No Java 17 or newer found: running on Sail, an engine that needs none'; engine=sail; \
	fi; \
	if [ "$$engine" = sail ]; then $(MAKE) --no-print-directory .venv/sail.stamp; else $(ENSURE_JAVA); fi &&

demo: .venv/demo.stamp
	rm -rf build/weather
	mkdir -p build/weather
	$(BIN)/python queries/weather/prepare.py queries/weather/data
	@$(CHOOSE_ENGINE) set -x; $(BIN)/cedilla run queries/weather.rq --once --files-per-epoch 1 $${engine:+--engine $$engine} \
	  --checkpoint build/weather/checkpoint --sink daily=build/weather/daily
	$(BIN)/python queries/weather/compare.py build/weather/daily
	$(BIN)/python queries/weather/chart.py build/weather/daily build/weather/chart.png build/weather/chart.svg

demo-otel: .venv/demo.stamp
	rm -rf build/otel
	mkdir -p build/otel
	$(BIN)/python queries/otel/prepare.py queries/otel/data
	@$(CHOOSE_ENGINE) set -x; $(BIN)/cedilla run queries/otel.rq --once --files-per-epoch 1 $${engine:+--engine $$engine} \
	  --checkpoint build/otel/checkpoint --sink averages=build/otel/latency
	$(BIN)/python queries/otel/compare.py build/otel/latency

# The first run has no accent yet, and sets aside what came after the rename; it is sent again to the second one.
demo-cdc: .venv/cdc.stamp
	rm -rf build/cdc
	mkdir -p build/cdc
	@$(WITH_JAVA) set -x; $(BIN)/python queries/cdc/database.py build/cdc/orders
	grep -v '^accent' queries/cdc.rq > build/cdc/before.rq
	@$(CHOOSE_ENGINE) set -x; for query in build/cdc/before.rq queries/cdc.rq; do \
	  $(BIN)/cedilla run $$query --once --yes $${engine:+--engine $$engine} --checkpoint build/cdc/checkpoint \
	    --source orders=build/cdc/orders --sink orders=build/cdc/invoices && \
	  { [ $$query = queries/cdc.rq ] || $(BIN)/cedilla replay build/cdc/checkpoint --code RQ541; } || exit; \
	done
	$(BIN)/python queries/cdc/compare.py build/cdc/orders build/cdc/invoices

# For the change at hand: what grammar and compiler are asked, and one run of each operator, format and kind of accent, on
# Sail and by the reference. Laws take a few cases. It starts no Java.
quick: .venv/dev.stamp
	QUICK=1 $(BIN)/pytest -n 2 --dist worksteal -q --durations 5 --durations-min 1 \
	  -m "quick and not long and not rest and not soak and not faults and not spark and not java"

# Three processes, each with one Spark session: two wait for it a fifth of the time. `test` asks every question once,
# `test-rest` in all further cases. Where there is no Java, and none can be installed, tests that require it are left out
# and counted.
test: .venv/dev.stamp
	@$(ENSURE_JAVA) || true
	$(WITH_CLASSES) $(BIN)/pytest -n 3 --dist worksteal --durations 30

test-rest: .venv/dev.stamp $(if $(WITHOUT_JAVA),,build/classes.jsa)
	$(WITH_CLASSES) $(BIN)/pytest -n 3 --dist worksteal --durations 30 -m "rest and not soak and not faults"

# The proof of the theory; tests/proof/README.md says what it covers. It needs Coq, and nothing of .venv.
proof:
	$(PYTHON) -m tests.proof.check

# The short form; tests/benchmarks/README.md says what it measures. RUN=NAME goes on with a run that was stopped.
bench: .venv/dev.stamp
	@$(ENSURE_JAVA)
	$(BIN)/python tests/benchmarks/regions.py --most 10000
	$(BIN)/python -m tests.benchmarks.suspect --repeats 1
	$(WITH_JAVA) $(BIN)/python -m tests.benchmarks --short $(if $(RUN),--run $(RUN))

# All suites at all sizes: many hours. Flink is installed into build/bench/flink (this needs `mvn`).
bench-full: .venv/dev.stamp
	@$(ENSURE_JAVA)
	$(BIN)/python tests/benchmarks/regions.py --most 1000000
	$(BIN)/python -m tests.benchmarks.suspect
	$(WITH_JAVA) $(BIN)/python -m tests.benchmarks --limit 7200 --run $(or $(RUN),full)

# New seeds each time; SEED=N runs those of an earlier time again. MARKS="soak or rest" runs the rest with them,
# MARKS=faults the kills and damages of docs/reliability.md.
soak: SEED := $(or $(SEED),$(shell date +%s))
soak: .venv/dev.stamp
	@$(ENSURE_JAVA)
	@echo "SEED=$(SEED)"
	$(WITH_JAVA) SEED=$(SEED) $(BIN)/pytest -m "$(or $(MARKS),soak)" --hypothesis-seed $(SEED)

# Small wrong changes of invariants and accent rules, one after the other: a law must notice each.
mutants: .venv/dev.stamp
	$(BIN)/python -m tests.laws.mutations

# Writes docs/reference and the tables of the operator pages from code.
reference: .venv/dev.stamp
	$(BIN)/python -m tests.docs.reference

# Builds the documentation as a site with search, and the playground, into build/site; the playground needs Node. Search
# and playground need a server, because a browser gives a page of a file neither.
site: .venv/site.stamp
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	$(BIN)/python -m tests.docs.playground build/site/playground
	@if command -v npm > /dev/null; then \
	  mkdir -p build/pyodide && cd build/pyodide && npm install --no-audit --no-fund --silent pyodide@314 && \
	  cp -R node_modules/pyodide ../site/playground/pyodide; \
	else \
	  echo 'No npm found: the playground of this site says that it lacks Pyodide. Install Node and run this again.'; \
	fi
	@echo 'Built in build/site. `make serve` shows it at http://127.0.0.1:$(PORT)/ (PORT=N for another port)'

PORT ?= 8000
serve:
	@test -f build/site/index.html || { echo 'There is no site yet: run `make site` first'; exit 1; }
	@echo 'http://127.0.0.1:$(PORT)/ until Ctrl-C'
	$(PYTHON) -m http.server --bind 127.0.0.1 --directory build/site $(PORT)

# Packs the extension of docs/editors/vscode into build/cedilla.vsix; this needs Node.
vscode:
	rm -rf build/vscode
	mkdir -p build
	cp -R docs/editors/vscode build/vscode
	cp LICENSE build/vscode/LICENSE
	cd build/vscode && npm install --no-audit --no-fund --silent && \
	  npx --yes @vscode/vsce package --allow-missing-repository --out ../cedilla.vsix

# Takes the pictures and films of the documentation from real runs, on Sail and in Chromium. CODE_SERVER=PATH, the
# `code-server` of npm, films VS Code too.
pictures: site vscode .venv/dev.stamp
	$(BIN)/python -m tests.runtime.hosts.ui.screenshots
	$(BIN)/python -m tests.docs.pictures
	$(BIN)/python -m tests.docs.recordings
	$(if $(CODE_SERVER),$(BIN)/python -m tests.docs.vscode)

# Types by pyright, of files that changed since they passed or import what did; PATHS=FOLDER of some only.
types: .venv/dev.stamp
	$(BIN)/python -m tests.type_check $(PATHS)

lint: .venv/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m tests.type_check

build/classes.jsa: .venv/dev.stamp
	@$(ENSURE_JAVA)
	$(WITH_JAVA) $(BIN)/python -m cedilla.runtime.epochs.pipeline.class_archive $@

.venv/cdc.stamp .venv/demo.stamp .venv/dev.stamp .venv/sail.stamp .venv/site.stamp: .venv/%.stamp: pyproject.toml setup.py $(EXTENSIONS) | .venv/created.stamp
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[$*]'
	touch $@

.venv/created.stamp:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is required: make PYTHON=...")'
	$(PYTHON) -m venv .venv
	touch $@

clean:
	rm -rf build dist out queries/otel/data queries/weather/data *.egg-info spark-warehouse artifacts .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +

distclean: clean
	rm -rf .venv .java
