# gc: `make help` lists the targets. Nothing here needs more than Go, git and make.

SHELL       := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

GO        ?= go
BIN       := bin/gc
NAME      ?= gc
PREFIX    ?= /usr/local
VERSION   ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
# The date of the commit: two builds of a commit are the same.
EPOCH     ?= $(shell git log -1 --format=%ct 2>/dev/null || echo 0)
COMMIT    ?= $(shell git rev-parse HEAD 2>/dev/null)
DATE      := $(shell date -u -d @$(EPOCH) +%Y-%m-%dT%H:%M:%SZ 2>/dev/null || date -u -r $(EPOCH) +%Y-%m-%dT%H:%M:%SZ)
LDFLAGS   := -s -w -X main.version=$(VERSION) -X main.commit=$(COMMIT) -X main.date=$(DATE)
# HTTP/2 is not used, and without it every start is 3 % shorter.
TAGS      := nethttpomithttp2
PLATFORMS := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64
FUZZTIME  ?= 30s
BENCHTIME ?= 1s

export CGO_ENABLED := 0

##@ Build

.PHONY: help
help: ## list the targets
	@awk 'BEGIN { FS = ":.*## " } \
	  /^##@ / { printf "\n%s\n", substr($$0, 5) } \
	  /^[a-z0-9-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: build-gc build-k8s ## the static binaries bin/gc, bin/gc-mcp, bin/gc-ui and bin/gc-k8s

.PHONY: build-gc
build-gc: ## bin/gc, bin/gc-mcp and bin/gc-ui alone
	@mkdir -p bin
	$(GO) build -trimpath -tags '$(TAGS)' -ldflags '$(LDFLAGS)' -o $(BIN) ./cmd/gc
	$(GO) build -trimpath -tags '$(TAGS)' -ldflags '$(LDFLAGS)' -o $(BIN)-mcp ./cmd/gc-mcp
	$(GO) build -trimpath -tags '$(TAGS)' -ldflags '$(LDFLAGS)' -o $(BIN)-ui ./cmd/gc-ui

# gc-k8s is gc with a client of Kubernetes, which wants HTTP/2.
.PHONY: build-k8s
build-k8s: ## bin/gc-k8s alone: what gc executes for agents in pods
	@mkdir -p bin
	$(GO) build -trimpath -tags k8s -ldflags '$(LDFLAGS)' -o $(BIN)-k8s ./cmd/gc

# What belongs below share: man pages, completions, the schema of city.toml, units, documents.
.PHONY: share
share: build-gc
	@rm -rf bin/share && mkdir -p bin/share/man
	@SOURCE_DATE_EPOCH=$(EPOCH) $(GO) test -count=1 ./cmd/gc -run '^TestManPages$$' -man '$(CURDIR)/bin/share/man' -name '$(NAME)' > bin/share.log || { cat bin/share.log; exit 1; }
	@contrib/package/share.sh bin/share $(BIN) '$(NAME)' '$(SHAREPREFIX)'

.PHONY: install
install: SHAREPREFIX = $(PREFIX)
install: build share ## install gc below PREFIX (/usr/local) with man pages, completions and a systemd user unit; NAME=gctl installs it as gctl; DESTDIR works
	@rm -rf bin/stage && mkdir -p bin/stage/bin
	@for c in '' -mcp -ui -k8s; do cp $(BIN)$$c "bin/stage/bin/$(NAME)$$c"; done
	@cp -r bin/share bin/stage/share
	@contrib/package/install.sh install bin/stage '$(DESTDIR)' '$(PREFIX)' '$(NAME)'
	@rm -rf bin/stage
	@echo 'installed $(DESTDIR)$(PREFIX)/bin/$(NAME)'

.PHONY: uninstall
uninstall: ## remove everything that make install put below PREFIX; sessions and cities stay
	@contrib/package/install.sh uninstall '$(DESTDIR)' '$(PREFIX)' '$(NAME)'

# Two builds of a commit are the same, byte for byte: make dist-check.
.PHONY: dist
dist: SHAREPREFIX = /usr
dist: share ## binaries for every platform, deb and rpm packages, a container image, and their checksums, in dist/
	@rm -rf dist && mkdir -p dist
	@for p in $(PLATFORMS); do \
	  for c in gc gc-mcp gc-ui; do \
	    out=dist/$${c}_$(VERSION)_$${p%/*}_$${p#*/}; echo $$out; \
	    GOOS=$${p%/*} GOARCH=$${p#*/} $(GO) build -trimpath -tags '$(TAGS)' -ldflags '$(LDFLAGS)' -o $$out ./cmd/$$c; \
	  done; \
	  out=dist/gc-k8s_$(VERSION)_$${p%/*}_$${p#*/}; echo $$out; \
	  GOOS=$${p%/*} GOARCH=$${p#*/} $(GO) build -trimpath -tags k8s -ldflags '$(LDFLAGS)' -o $$out ./cmd/gc; \
	done
	@contrib/package/build.sh dist '$(VERSION)' '$(NAME)' $(EPOCH)
	@cd dist && sha256sum $$(ls | grep -v SHA256SUMS) > SHA256SUMS

.PHONY: dist-check
dist-check: ## make dist twice, and compare
	$(MAKE) dist
	@cp dist/SHA256SUMS bin/first.sums
	$(MAKE) dist
	diff bin/first.sums dist/SHA256SUMS && echo 'two builds are identical'

.PHONY: notices
notices: ## generate the notices of third-party software, which gc version --licenses prints
	$(GO) test -count=1 ./internal/thirdparty -run '^TestNotices$$' -update

.PHONY: clean
clean: ## remove bin/ and dist/ (`make demo-stop` first, if the demo runs)
	@if [ -S bin/demo/mux.sock ]; then echo 'the demo is there: make demo-stop' >&2; exit 1; fi
	rm -rf bin dist

##@ Check

.PHONY: check
check: fmt vet staticcheck imports docs-check site cross ## static checks: format, vet, staticcheck, imports, sizes, docs, other platforms

.PHONY: fmt
fmt:
	@bad=$$(gofmt -l .); if [ -n "$$bad" ]; then echo "gofmt these:" $$bad >&2; exit 1; fi

.PHONY: vet
vet:
	$(GO) vet ./...
	$(GO) vet -tags e2e ./...
	$(GO) vet -tags agents ./test/agents
	$(GO) vet -tags suites ./test/suites
	$(GO) vet -tags k8s ./cmd/gc/... ./internal/registry
	$(GO) vet -tags k8s,e2e ./test
	$(GO) vet -tags k8s,e2e ./internal/testenv/k8snode ./runtime/k8s/...

.PHONY: staticcheck
staticcheck:
	$(GO) tool -modfile=tools/go.mod staticcheck -tags e2e,agents ./...
	$(GO) tool -modfile=tools/go.mod staticcheck -tags e2e,k8s ./internal/registry ./internal/testenv/k8snode ./runtime/k8s/... ./cmd/gc/... ./test

# The table of imports, the deny-list of cmd/gc, and the limits of files and functions (500 and 80 lines).
.PHONY: imports
imports:
	$(GO) test -count=1 .

.PHONY: docs
docs: ## generate docs/cli from the commands, and docs/city-toml.md from internal/config
	$(GO) test -count=1 ./cmd/gc -run '^TestDocs$$' -update
	$(GO) test -count=1 ./internal/config/reference -run '^TestDocs$$' -update

.PHONY: site
site: ## a static site of the documents, in bin/site
	@rm -rf bin/site
	cd tools && $(GO) run ./site .. ../bin/site
	@echo bin/site/index.html

.PHONY: docs-check
docs-check:
	$(GO) test -count=1 ./cmd/gc -run '^TestDocs$$'
	$(GO) test -count=1 ./internal/config/reference ./internal/thirdparty

.PHONY: cross
cross:
	GOOS=darwin GOARCH=arm64 $(GO) build ./...
	GOOS=darwin GOARCH=arm64 $(GO) vet ./...
	GOOS=linux GOARCH=arm64 $(GO) build ./...
	GOOS=linux GOARCH=arm64 $(GO) vet ./...

.PHONY: xterm
xterm: ## fetch the files of xterm.js anew from npm, as internal/web/assets/vendor/PINS lists them
	internal/web/assets/vendor/fetch.sh

##@ Test

# Only the race detector needs a C compiler on Linux. The scripts of cmd/gc start gc
# thousands of times, and client-go is large: with the race detector both are in test-race.
.PHONY: test
test: ## every test, packages with the race detector; no setup
	@packages=$$($(GO) list ./... | grep -v '/cmd/gc$$'); \
	if command -v $${CC:-gcc} >/dev/null; then cgo=1 race=-race; \
	else cgo=0 race=; echo 'no C compiler here: testing without the race detector' >&2; fi; \
	set -ex; CGO_ENABLED=$$cgo GORACE=atexit_sleep_ms=0 $(GO) test $$race -timeout 10m $$packages; \
	$(GO) test -timeout 10m ./cmd/gc; $(GO) test -tags k8s -timeout 10m ./runtime/k8s/...

.PHONY: suites
suites: ## public suites of terminals, with the table of docs/vt-differences.md (libvterm's and xterm.js's come from Debian, once)
	$(GO) test -tags suites -count=1 -v ./test/suites

.PHONY: test-race
test-race: ## what test runs without the race detector, with it (minutes)
	CGO_ENABLED=1 GORACE=atexit_sleep_ms=0 $(GO) test -race -timeout 20m ./cmd/gc
	CGO_ENABLED=1 $(GO) test -race -tags k8s -timeout 20m ./runtime/k8s/...

.PHONY: e2e
e2e: build-gc ## real programs compared with tmux, and a detached xterm.js (tmux, vim, less, python3, node, npm; with CI=true a missing one fails)
	GC_E2E_BIN=$(CURDIR)/$(BIN) $(GO) test -tags e2e -count=1 -timeout 10m $$($(GO) list -tags e2e ./test/... | grep -v '/test/web$$')
	$(GO) test -tags e2e -count=1 -run Tmux ./mux/keys ./vt
	$(GO) test -tags e2e -count=1 -run XtermJS ./mux/server

.PHONY: e2e-web
e2e-web: build-gc ## gc web in real Chromium (chromium; RUN=TestDay for one test; GC_WEB_PICTURES=DIR writes screenshots)
	GC_E2E_BIN=$(CURDIR)/$(BIN) $(GO) test -tags e2e -count=1 -timeout 5m $(if $(RUN),-v -run '$(RUN)') ./test/web

.PHONY: e2e-agents
e2e-agents: build-gc ## real agents from npm without a network, on a terminal and over ACP (AGENT=claude for one, REPORT=docs/agents.md writes the table)
	GC_E2E_BIN=$(CURDIR)/$(BIN) $(GO) test -tags agents -count=1 -timeout 30m -v -run '^Test(Bare|Delays|Agents|Fresh|Recipes|Resumed|Stuck|Limited|Team|ACP|ACPClientTools)$$$(if $(AGENT),/^$(AGENT)$$)' ./test/agents $(if $(REPORT),-report $(abspath $(REPORT)))

.PHONY: e2e-agents-far
e2e-agents-far: build-gc ## real agents on another machine over a real sshd, with the hooks that gc installs there (root, openssh-server; AGENT=claude for one)
	GC_E2E_BIN=$(CURDIR)/$(BIN) $(GO) test -tags agents -count=1 -timeout 30m -v -run '^TestFar$$$(if $(AGENT),/^$(AGENT)$$)' ./test/agents -far

.PHONY: e2e-k8s
e2e-k8s: build ## a real Kubernetes node (root; containerd, runc, containernetworking-plugins, busybox-static, iproute2; its first build takes 15 minutes of CPU)
	GC_E2E_BIN=$(CURDIR)/$(BIN) $(GO) test -tags k8s,e2e -count=1 -p 1 -timeout 60m ./internal/testenv/k8snode ./runtime/k8s/internal/podspec ./runtime/k8s/internal/pods ./runtime/k8s
	GC_E2E_BIN=$(CURDIR)/$(BIN) $(GO) test -tags k8s,e2e -count=1 -timeout 20m -run '^TestPods$$' ./test

.PHONY: soak-k8s
soak-k8s: build ## a real node: 2,000 nudges to a pod, with every connection cut during each, and a minute without the API server (see e2e-k8s)
	GC_SOAK_NUDGES=2000 GC_E2E_BIN=$(CURDIR)/$(BIN) $(GO) test -tags k8s,e2e -count=1 -timeout 60m -v -run '^TestNode$$/^Faults$$/^(Cuts|APIServerAway)$$' ./runtime/k8s

.PHONY: soak
soak: build-gc ## long-running tests: kills of the server and of controllers, 10,000 nudges from eight writers, 200 MB of every hostile output (minutes)
	GC_SOAK=1 GC_SOAK_KILLS=200 GC_E2E_BIN=$(CURDIR)/$(BIN) $(GO) test -tags e2e -count=1 -timeout 30m -v -run '^(TestSoak|TestControllerKilled|TestFarAgentIsHeardOnce|TestFarCommandsWakeOnce|TestNudgesOverCutSSH|TestAttachOverCutSSH|Test(Questions|Messages)OutliveKills)' ./test
	GC_SOAK=1 GC_SOAK_KILLS=200 $(GO) test -count=1 -timeout 30m -v -run '^(TestScale|TestNoByteIsLost|TestHostileOutput)' ./mux/server
	GC_SOAK=1 $(GO) test -count=1 -timeout 30m -v -run '^TestHostileOutput' ./vt
	GC_SOAK=1 $(GO) test -count=1 -timeout 30m -v -run '^TestFloods' ./internal/acp/host
	GC_SOAK=1 $(GO) test -count=1 -timeout 30m -v -run '^TestNudgesOverCuts' ./runtime/native
	GC_SOAK=1 $(GO) test -count=5 -timeout 30m -v -run '^TestMessagesOutliveKills' ./cmd/gc/internal/away
	GC_SOAK_RUNS=1000 $(GO) test -count=1 -timeout 60m -v -run '^TestExecRandomKills' ./mux/server
	GC_SOAK_RUNS=1000 GC_E2E_BIN=$(CURDIR)/$(BIN) $(GO) test -tags e2e -count=1 -timeout 60m -v -run '^TestControllerKilledWhileItNotifies' ./test

.PHONY: fuzz
fuzz: ## every fuzz target for FUZZTIME (30s) each
	@for pkg in $$($(GO) list ./...); do \
	  for f in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
	    echo "$$pkg $$f"; $(GO) test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) $$pkg; \
	  done; \
	done

##@ Measure

.PHONY: bench
bench: bench-vt bench-city bench-tmux ## every measurement

.PHONY: bench-vt
bench-vt: ## throughput and memory of the terminal engine
	$(GO) test -run '^$$' -bench . -benchtime $(BENCHTIME) ./vt

.PHONY: bench-city
bench-city: build-gc ## the first hour (default city, stop of 20 shells, the demo), reconcile of 1000 agents, reading a city of 100
	GC_E2E_BIN=$(CURDIR)/$(BIN) $(GO) test -run '^$$' -bench '^BenchmarkFirstHour$$' -benchtime 5x ./test/bench
	$(GO) test -run '^$$' -bench '^BenchmarkDemo$$' -benchtime 1x ./test/bench
	$(GO) test -run '^$$' -bench . -benchtime $(BENCHTIME) ./internal/controller

.PHONY: bench-tmux
bench-tmux: build-gc ## start-up, peek, restart, cities and ingest compared with tmux, in one run
	GC_E2E_BIN=$(CURDIR)/$(BIN) $(GO) test -run '^$$' -bench . -benchtime $(BENCHTIME) -timeout 20m ./test/...

.PHONY: bench-ui
bench-ui: build-gc ## pictures of gc ui; gc web with 100 agents: CPU, frames of the page, echo beside gc attach (chromium); what viewers cost a flooding agent; idle pages; gc ui, gc web and /v1/city with 100 and 500
	$(GO) test -run '^$$' -bench . -benchtime $(BENCHTIME) ./internal/tui
	GC_E2E_BIN=$(CURDIR)/$(BIN) $(GO) test -tags e2e -run '^$$' -bench . -benchtime 1x -timeout 30m ./test/web
	GC_E2E_FLEET=500 GC_E2E_BIN=$(CURDIR)/$(BIN) $(GO) test -tags e2e -v -run '^TestCityAPICosts$$' ./test
	GC_E2E_FLEET=100 GC_E2E_BIN=$(CURDIR)/$(BIN) $(GO) test -tags e2e -v -run '^TestCityAPICosts$$' ./test

.PHONY: bench-detect
bench-detect: build-gc ## how soon gc detects that an agent asks or is done
	GC_E2E_BIN=$(CURDIR)/$(BIN) $(GO) test -run '^$$' -bench '^BenchmarkDetect$$' -benchtime 1x ./test/bench

.PHONY: bench-hooks
bench-hooks: build-gc ## hooks of 100 agents: how soon gc events shows a call, and its CPU beside the call; one call beside an empty Go program
	GC_E2E_BIN=$(CURDIR)/$(BIN) $(GO) test -run '^$$' -bench '^Benchmark(Hooks|Report)$$' -benchtime 1x ./test/bench

.PHONY: bench-acp
bench-acp: build-gc ## agents over ACP: the host's memory, 20,000 updates at once, a message, a question, what a killed host leaves
	GC_E2E_BIN=$(CURDIR)/$(BIN) $(GO) test -run '^$$' -bench '^BenchmarkACP$$' -benchtime 1x ./test/bench

.PHONY: bench-far
bench-far: build-gc ## another machine over a real sshd: a call, the echo of a key, idle CPU of 50 agents, beside ssh host tmux (openssh-server)
	GC_E2E_BIN=$(CURDIR)/$(BIN) $(GO) test -run '^$$' -bench '^BenchmarkFar' -benchtime 1x ./test/bench

.PHONY: bench-k8s
bench-k8s: build-gc ## pods on a real node: a call over the held stream beside kubectl exec, the state of 300 pods without a request, memory (see e2e-k8s)
	GC_E2E_BIN=$(CURDIR)/$(BIN) $(GO) test -tags k8s,e2e -run '^$$' -bench '^BenchmarkPods' -benchtime 1x -timeout 40m ./runtime/k8s

##@ Release

.PHONY: state
state: build-gc ## save the state of this version for TestStates, at a release: VERSION=0.2.0
	test/states/make.sh "$(VERSION)" $(BIN)

##@ Demo

.PHONY: demo
demo: build-gc ## start examples/demo and show what gc does
	@examples/demo/run.sh start

.PHONY: demo-stop
demo-stop: ## stop the demo and remove every trace
	@examples/demo/run.sh stop
