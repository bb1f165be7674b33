# The commands of this repository. They run Go programs in tools/ and ci/, and need only a POSIX shell, git and Go
# (and a C compiler for the race detector).

.DEFAULT_GOAL := help
.SUFFIXES:
MAKEFLAGS += --no-builtin-rules --no-print-directory
SHELL := /bin/sh

GO ?= go
# Programs that start the go command themselves find the same one.
ifneq ($(findstring /,$(GO)),)
export PATH := $(dir $(GO)):$(PATH)
endif
# Do not download another toolchain.
export GOTOOLCHAIN := local
# Compile without debug information, which takes a fifth of the compiler's time, and Kubernetes without inlining, which takes an
# eighth. The lab and the programs of a release are compiled alike (tools/repo). Flags of the caller come later, so they win.
quick := -gcflags=all=-dwarf=false '-gcflags=k8s.io/...=-dwarf=false -l'
export GOFLAGS := $(strip $(quick) $(filter-out $(quick),$(shell $(GO) env GOFLAGS 2>/dev/null)))
# Static binaries without a C compiler. The race detector enables cgo itself.
export CGO_ENABLED := 0

# -trimpath removes the name of this folder from the binaries, so that all checkouts share one build cache.
# -buildvcs=false: LINKER sets the version, and a build works if git refuses to read the repository.
GOBUILD := $(GO) build -trimpath -buildvcs=false
# The version for --version and image labels. It is unknown outside of git, or inside of another repository.
git := $(shell git rev-parse --git-dir >/dev/null 2>&1 && test -z "$$(git rev-parse --show-prefix)" && echo git)
ifneq ($(origin VERSION),command line)
VERSION := $(if $(git),$(shell git describe --tags --always --dirty),devel)
endif
REVISION := $(if $(git),$(shell git describe --always --abbrev=40 --dirty --exclude='*'))
COMMITTED := $(if $(git),$(shell TZ=UTC git log -1 --date=format-local:%Y-%m-%dT%H:%M:%SZ --format=%cd))
LINKER = -s -w -X $(STAMP).version=$(VERSION) $(REVISION:%=-X $(STAMP).revision=%) $(COMMITTED:%=-X $(STAMP).committed=%)
IMAGES := thalassa-cloud-controller-manager thalassa-emulator thalassa-csi-driver

.PHONY: help
help: ## list the commands
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' Makefile

# With SUDO=sudo, the ordinary user builds everything, and root runs only the programs that need root. Root has its own caches.
go_settings = GOTOOLCHAIN CGO_ENABLED GOFLAGS GOPROXY GONOPROXY GOSUMDB GONOSUMDB GOPRIVATE GOINSECURE GOVCS
as_root = $(if $(SUDO),$(SUDO) env "PATH=$$PATH" "LAB_KUBERNETES=$$LAB_KUBERNETES" "FULL=$$FULL" $(DEBIAN_MIRROR:%="DEBIAN_MIRROR=%") $(foreach name,$(go_settings),"$(name)=$$($(GO) env $(name))"))

.PHONY: build
build: $(IMAGES:%=bin/%) bin/lab ## build the programs into bin/ (the first time compiles Kubernetes for the lab)

# FULL=1 chooses the full tier of tests.
export FULL := $(filter 1,$(FULL))

# What needs root also depends on the kernel and on programs of the machine, at which Go does not look: ROOT=1 reuses no result.
.PHONY: test
test: bin/test ## run the quick tier of tests, which proves every promise (PACKAGES=... TESTFLAGS=... RACE=1|0 SUDO=sudo)
	@exec $(as_root) bin/test $(if $(RACE),-race=$(RACE)) $(if $(PACKAGES),-packages='$(PACKAGES)') $(if $(ROOT),-root) \
	  $(if $(SUMMARY),-summary='$(SUMMARY)') -- $(if $(ROOT),-count=1) $(TESTFLAGS)

.PHONY: test-full
test-full: ## run all tests: complete matrices, all versions, src with the race detector if there is a C compiler (takes make test's variables)
	@exec $(MAKE) test FULL=1

# A rule in ci/rules checks that this list is complete.
root_packages := ./src/csi/node ./src/emulator/command ./src/emulator/loopdevice ./src/emulator/namespace ./src/emulator/netns ./src/emulator/statefile ./tools/debian ./tools/ironcorenet ./tools/machine

# The minor versions of Kubernetes that the lab can be. Only the command line of make selects one of them with K8S, so that a variable in the
# environment has no effect.
minors = $(sort $(shell sed -n 's|.*k8s\.io/kubernetes v\(1\.[0-9]*\)\..*|\1|p' tools/lab/go.mod tools/lab/k8s-*.mod))
export LAB_KUBERNETES := $(if $(filter command,$(origin K8S)),$(K8S))

.PHONY: lab
lab: bin/lab ## build Kubernetes for the tests and the demo (K8S=1.34; other targets that use it take K8S, too)

# What only renders charts, whatever the version of Kubernetes is, and takes the longest, is left out.
.PHONY: versions
versions: ## run the demo, and the tests of the chart with an API server, on each supported version of Kubernetes (K8S=1.34: on one)
	@for minor in $(or $(LAB_KUBERNETES),$(minors)); do \
	  echo "Kubernetes $$minor"; \
	  $(MAKE) tidy-lab demo K8S=$$minor && \
	  $(MAKE) test FULL=1 K8S=$$minor RACE=0 PACKAGES='./ci/charttest ./ci/policytest ./ci/rbactest' TESTFLAGS='-count=1 -skip=EveryValue' || exit 1; \
	done

.PHONY: test-root
test-root: ## run the tests that make test skips without root and its programs: data planes, machines (root, or SUDO=sudo; make e2e-setup first)
	@exec $(MAKE) test RACE=0 ROOT=1 PACKAGES='$(root_packages)'

.PHONY: fuzz
fuzz: go-version ## run every fuzz target with new inputs (FUZZTIME=10s each; the first run compiles for minutes, not with GUIDED=0)
	@exec sh ci/fuzz.sh $(or $(FUZZTIME),10s) $(if $(filter 0,$(GUIDED)),plain)

lives_time = $(or $(LIVES_TIME),60s)

.PHONY: lives
lives: go-version ## run random fault tests of clusters in each cloud with new seeds (LIVES_TIME=60s; at least 40; a failure prints how to repeat it)
	@seed=$$(od -An -N4 -tu4 /dev/urandom | tr -d ' '); echo "random lives from seed $$seed on, in each cloud for $(lives_time), at least 40"; \
	  for cloud in thalassa ironcore; do \
	    (cd src/$$cloud && TRIAL_SEED=$$seed TRIAL_TIME=$(lives_time) TRIAL_LIVES=40 exec $(GO) test -trimpath -buildvcs=false -vet=off -count=1 \
	    -timeout=$(lives_time)10m -run '^TestLives$$') || exit 1; done

soak_time = $(or $(SOAK_TIME),1h)

.PHONY: soak
soak: bin/lab ## run two programs for hours under random faults, changes and restarts (SOAK_TIME=1h; a failure prints how to repeat it)
	@seed=$${SOAK_SEED:-$$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}; echo "random rounds for $(soak_time): SOAK_SEED=$$seed"; \
	  rm -rf dist/soak && mkdir -p dist/soak && cd ci/slow/soak && SOAK_SEED=$$seed SOAK_TIME=$(soak_time) exec $(GO) test -trimpath -buildvcs=false -vet=off -count=1 \
	  -timeout=$(soak_time)15m -artifacts -outputdir='$(CURDIR)/dist/soak' -run '^TestSoak$$'

# The stages of CI, each as the targets and settings that it makes: .ci/run and GitHub's workflow run these and nothing else.
stage_demo := demo
stage_test := test
stage_test-full := test-full
stage_build := build
# The stage test runs the check named rules.
stage_verify := verify SKIP=rules
stage_bench := bench BENCHTIME=1x
stage_lives := lives LIVES_TIME=30s
# The same rounds for each change; every night others.
stage_soak := soak SOAK_TIME=2m SOAK_SEED=1
stage_fuzz := fuzz FUZZTIME=300x GUIDED=0
stage_test-root := test-root
# Before make e2e-setup root skips tests, too. make test-root counts the same tests again, so this run has no summary.
stage_test-as-root := test RACE=0 PACKAGES='$(root_packages)' TESTFLAGS=-count=1 SUMMARY=
stage_e2e := e2e
# A release is made, published to a registry on loopback and verified, which takes long. CI runs it if its inputs have changed.
stage_release := test FULL=1 RACE=0 PACKAGES='./ci/slow/release ./tools/image ./tools/release'
inputs_release := charts kustomize examples docs src tools ci/slow ci/docs ci/fixture ci/go.mod go.work Makefile LICENSE CHANGELOG.md

.PHONY: stage
stage: ## run a stage of CI (STAGE=name; without one it says which there are)
	@exec $(MAKE) $(or $(stage_$(STAGE)),$(error make stage needs STAGE, one of: $(patsubst stage_%,%,$(filter stage_%,$(.VARIABLES)))))

.PHONY: stage-inputs
stage-inputs: bin/test
	@exec bin/test -hash='$(or $(inputs_$(STAGE)),$(error make stage-inputs needs STAGE with inputs))'

.PHONY: bench
bench: bin/bench ## run the benchmarks on this machine, and check the budgets (BENCHTIME=1s each, 1x is the fastest; LARGE=1 adds the largest clusters)
	@exec bin/bench $(BENCHTIME:%=-time=%) $(if $(filter 1,$(LARGE)),-large)

# CLOUD, KEEP, CLUSTER and FOCUS have an effect only on the command line of make, so that a variable in the environment does not select a cluster.
.PHONY: demo
demo: bin/demo ## create, use and delete a load balancer in a demo cluster (CLOUD=ironcore, KEEP=1 leaves it running, CLUSTER=context)
	@exec bin/demo $(if $(filter command,$(origin CLOUD)),--cloud='$(CLOUD)') $(if $(filter command,$(origin KEEP)),--keep) $(if $(filter command,$(origin CLUSTER)),--cluster='$(CLUSTER)')

# With CLIENT=host, this machine gets an interface and routes of the cluster, and can connect to load balancers.
.PHONY: cluster
cluster: bin/cluster ## run a real cluster in an emulated cloud until Ctrl-C (root, or SUDO=sudo; WORKERS=2, CLIENT=host, CLOUD=ironcore; make e2e-setup first)
	@bin/cluster $(if $(filter command,$(origin CLOUD)),--cloud='$(CLOUD)') build
	@exec $(as_root) bin/cluster --built $(WORKERS:%=--workers=%) $(if $(filter command,$(origin CLOUD)),--cloud='$(CLOUD)') $(if $(filter command,$(origin CLIENT)),--client='$(CLIENT)')

.PHONY: e2e-setup
e2e-setup: ## install the packages of the distribution that make cluster and make e2e need (root, or SUDO=sudo)
	@exec $(as_root) bash ci/e2e-setup.sh

.PHONY: e2e
e2e: bin/test bin/cluster bin/lab ## run the tests in a real cluster (root, or SUDO=sudo; make e2e-setup first; logs are in dist/e2e)
	@bin/cluster --cloud=ironcore build
	@exec $(as_root) bin/test -race=0 -packages=./ci/e2etest $(if $(SUMMARY),-summary='$(SUMMARY)') -- -tags=e2e -count=1 -timeout=30m -parallel=2 $(TESTFLAGS)

.PHONY: conformance
conformance: bin/conformance ## run Kubernetes' own tests of load balancers in a real cluster (root, or SUDO=sudo; FOCUS=expression; make e2e-setup first)
	@bin/conformance build
	@exec $(as_root) bin/conformance --built $(if $(filter command,$(origin FOCUS)),--focus='$(FOCUS)')

.PHONY: image
image: bin/image ## build the container images into dist/images, without Docker (OCI layouts, and archives for docker load)
	@exec bin/image --version='$(VERSION)' --revision='$(REVISION)' --committed='$(COMMITTED)'

.PHONY: pin-packages
pin-packages: bin/image ## pin the newest packages of Debian whose files images contain (DEBIAN_MIRROR=https://mirror.example.com)
	@exec bin/image --pin

.PHONY: push
push: image ## upload the images (REGISTRY=registry.example.com/path)
	@exec bin/image --push='$(or $(REGISTRY),$(error make push needs REGISTRY=registry.example.com/path))' --version='$(VERSION)'

.PHONY: release
release: bin/release ## build all artifacts of a release in dist/release/VERSION (VERSION=v1.2.3; signed with RELEASE_KEY or RELEASE_KEY_FILE; DRY_RUN=1)
	@exec bin/release make --version='$(VERSION)' --revision='$(REVISION)' --committed='$(COMMITTED)' $(if $(DRY_RUN),--dry-run)

.PHONY: publish
publish: bin/release ## upload dist/release/VERSION (VERSION=v1.2.3 KEY=cosign.pub REGISTRY=registry.example.com/path)
	@exec bin/release publish --version='$(VERSION)' $(KEY:%=--key='%') $(REGISTRY:%=--registry='%')

.PHONY: verify-release
verify-release: bin/release ## check a release in a registry (VERSION=v1.2.3 KEY=cosign.pub REGISTRY=registry.example.com/path)
	@exec bin/release verify --version='$(VERSION)' $(KEY:%=--key='%') $(REGISTRY:%=--registry='%')

.PHONY: announce
announce: ## create the page of a release on GitHub, with its notes and files (VERSION=v1.2.3; needs gh, and the tag pushed)
	@cd 'dist/release/$(VERSION)' && gh release create '$(VERSION)' --verify-tag --notes-file notes.md \
	  $(if $(findstring -,$(VERSION)),--prerelease) $$(cut -c 67- SHA256SUMS) SHA256SUMS SHA256SUMS.sig

.PHONY: mirror
mirror: bin/release ## copy a release by digest (VERSION=v1.2.3 KEY=cosign.pub TO=registry.example.com/path, or FOLDER=release)
	@exec bin/release mirror --version='$(VERSION)' $(KEY:%=--key='%') $(REGISTRY:%=--from='%') \
	  $(or $(FOLDER:%=--to-folder='%'),--to='$(or $(TO),$(error make mirror needs TO=registry.example.com/path or FOLDER=release))')

# The checks of make verify, the fast ones first. Each is the target check-NAME, which changes no file of the repository.
checks := format generate tidy workspace rules workflows lint
# The packages of the workspace. Modules outside of it are the lab, because it links Kubernetes itself, and CoreDNS;
# and tools/conformance/suite, which is built on demand: for the linters 300 more packages would be compiled for one file.
packages := $(shell sed -n 's,^[[:space:]]\(\./.*\),\1/...,p' go.work 2>/dev/null)
lab_modules := tools/lab tools/coredns

.PHONY: verify
verify: go-version ## check formatting, lint, generated files, modules and the repository's rules (SKIP=lint)
	@failed=; for check in $(filter-out $(SKIP),$(checks)); do \
	  printf '%-10s ' "$$check"; began=$$(date +%s); \
	  if output=$$($(MAKE) check-$$check 2>&1); then result=ok; else result=FAILED; failed="$$failed $$check"; fi; \
	  echo "$$result  $$(($$(date +%s) - began))s"; test "$$result" = ok || echo "$$output"; \
	done; test -z "$$failed" || { echo "make verify: these checks failed:$$failed" >&2; exit 1; }

.PHONY: $(checks:%=check-%)
check-format: go-version
	@wrong=$$("$$($(GO) env GOROOT)/bin/gofmt" -l src tools ci) || exit 1; \
	  test -z "$$wrong" || { echo "not formatted, make fmt formats these files:"; echo "$$wrong"; exit 1; }

check-generate: bin/generate
	@bin/generate -check

check-tidy: go-version
	@failed=; for module in $$(find src tools ci -name go.mod ! -path '*/testdata/*'); do \
	  (cd "$${module%/go.mod}" && GOWORK=off $(GO) mod tidy -diff) || \
	    { echo "run: cd $${module%/go.mod} && GOWORK=off go mod tidy"; failed=1; }; \
	done; test -z "$$failed"

# The modules of another minor version of Kubernetes are checked when that one is tested: they are downloads of 100 MB each.
.PHONY: tidy-lab
tidy-lab: go-version
	@file=k8s-$(LAB_KUBERNETES).mod; test ! -e tools/lab/$$file || (cd tools/lab && GOWORK=off $(GO) mod tidy -modfile=$$file -diff) || \
	  { echo "run: cd tools/lab && GOWORK=off go mod tidy -modfile=$$file"; exit 1; }

# go work sync cannot only report, so it runs in a copy of what it reads.
check-workspace: go-version
	@copy=$$(mktemp -d) && trap 'rm -rf "$$copy"' EXIT && trap 'exit 1' INT TERM && \
	  find go.work* src tools ci \( -name '*.go' -o -name 'go.mod' -o -name 'go.sum' -o -name 'go.work*' \) ! -path '*/testdata/*' | \
	    tar -cf - -T - | tar -xf - -C "$$copy" && (cd "$$copy" && $(GO) work sync) || exit 1; \
	  changed=; for file in $$(cd "$$copy" && find . -name 'go.*' ! -name '*.go'); do \
	    cmp -s "$$copy/$$file" "$$file" || changed="$$changed $$file"; \
	  done; test -z "$$changed" || { echo "run go work sync, and commit the result; it changes:$$changed"; exit 1; }

check-rules: go-version
	@$(GO) test -trimpath -count=1 ./ci/rules/...

# Without programs that not every machine has.
check-workflows: bin/actionlint
	@bin/actionlint -shellcheck= -pyflakes= .github/workflows/*.yaml

# The linters share the build cache of make build. Their first run takes more than 5 GB without a limit.
lint_run = env GOFLAGS="$$GOFLAGS -trimpath" GOMEMLIMIT="$${GOMEMLIMIT:-3GiB}" '$(CURDIR)/bin/golangci-lint' run \
  --allow-parallel-runners --show-stats=false --config='$(CURDIR)/.golangci.yaml'

# staticcheck and exhaustive read every dependency, which takes 10 GB for the one small file of the lab. Its modules have nearly no code.
check-lint: bin/golangci-lint
	@failed=; $(lint_run) $(packages) || failed=1; \
	  $(foreach module,$(lab_modules),(cd $(module) && GOWORK=off $(lint_run) --disable=staticcheck,exhaustive ./...) || failed=1;) test -z "$$failed"

bin/golangci-lint: go-version FORCE
	@cd tools/lint && GOWORK=off $(GOBUILD) -o '$(CURDIR)/$@' github.com/golangci/golangci-lint/v2/cmd/golangci-lint

bin/actionlint: go-version FORCE
	@cd tools/lint && GOWORK=off $(GOBUILD) -o '$(CURDIR)/$@' github.com/rhysd/actionlint/cmd/actionlint

.PHONY: generate
generate: bin/generate ## generate all generated files
	@exec bin/generate

.PHONY: lint
lint: check-lint ## run the linters

.PHONY: fmt
fmt: go-version ## format the Go sources
	@"$$($(GO) env GOROOT)/bin/gofmt" -w src tools ci

.PHONY: clean
clean: ## remove built files (not the caches of Go)
	rm -rf bin dist

.PHONY: FORCE
FORCE:

# Reads the output of `go build -v`, prints the number of packages instead of their names, prints all other lines, and exits with its status.
define count
{ n=0; while IFS= read -r line; do case "$$line" in \
  'exit '*) exit "$${line#exit }" ;; \
  *[\ :]*) echo "$$line" ;; \
  *) n=$$((n + 1)); test $$((n % 100)) -ne 0 || echo "  $$n packages compiled" ;; \
esac; done; }
endef

# The module of a program, and the package whose variables the linker sets.
bin/thalassa-cloud-controller-manager: private MODULE := src
bin/thalassa-cloud-controller-manager: private STAMP := github.com/thalassa-cloud/thalassa-ccm/src/build
bin/thalassa-csi-driver: private MODULE := src
bin/thalassa-csi-driver: private STAMP := github.com/thalassa-cloud/thalassa-ccm/src/build
bin/thalassa-emulator: private MODULE := src/emulator
bin/thalassa-emulator: private STAMP := main

# Go determines what is up to date, so it builds every program each time. The tag is explained in tools/image/compile.go.
$(IMAGES:%=bin/%): bin/%: go-version FORCE
	@echo "building $@"
	@cd $(MODULE) && GOWORK=off $(GOBUILD) -tags=grpcnotrace -ldflags '$(LINKER)' -o '$(CURDIR)/$@' ./cmd/$*

# These contain the Kubernetes and Helm libraries.
bin/cluster bin/conformance bin/controlplane bin/demo bin/release: note := , which takes minutes at first and seconds later

bin/bench bin/cluster bin/conformance bin/controlplane bin/demo bin/generate bin/image bin/release bin/test: bin/%: go-version FORCE
	@test -e $@ || echo "building $@$(note)"
	@{ $(GOBUILD) -v -o $@ ./tools/cmd/$* 2>&1; echo "exit $$?"; } | $(count)

bin/lab: bin/controlplane FORCE
	@bin/controlplane build lab

# The programs of Kubernetes that drive a CSI driver. tools/sidecars pins them.
bin/sidecars: bin/controlplane FORCE
	@bin/controlplane build sidecars

# The API server and the controller manager of IronCore. tools/lab/ironcore pins them.
bin/ironcore: bin/controlplane FORCE
	@bin/controlplane build ironcore

.PHONY: go-version
go-version:
	@command -v $(GO) >/dev/null || { \
	  echo 'make: Go 1.26 or newer is needed and "$(GO)" was not found: see https://go.dev/doc/install' >&2; exit 1; }
	@minor=$$(cd / && $(GO) version | sed -n 's/.*go1\.\([0-9]*\).*/\1/p'); test "$${minor:-0}" -ge 26 || { \
	  echo "make: Go 1.26 or newer is needed, this is $$(cd / && $(GO) version): see https://go.dev/doc/install" >&2; exit 1; }
