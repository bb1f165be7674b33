package rules

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

const (
	// vendor is the official client of Thalassa Cloud.
	vendor = " github.com/thalassa-cloud/client-go"
	// ironcore has the API of the second cloud, and its clients.
	ironcore = " github.com/ironcore-dev/ironcore"
)

// Boundary keeps packages apart, however many packages lie between them. depguard knows direct imports only.
type Boundary struct {
	// Why is the reason, which is part of the finding.
	Why string
	// From are the packages it holds for, Except those of them it does not, and Never what they may not reach: folders
	// of this repository, or import paths of others, each with everything below it and separated by blanks.
	From, Except, Never string
	// Tests says that it holds for tests, too.
	Tests bool
}

// Boundaries returns those of this repository.
func Boundaries() []Boundary {
	return slices.Concat(boundariesOfControllers(), boundariesOfClouds(), boundariesOfPrograms(), boundariesOfVolumes())
}

func boundariesOfControllers() []Boundary {
	return []Boundary{{
		Why:   "images must not contain, and not be pinned by, what only builds and tests them",
		From:  "src",
		Never: "tools ci",
		Tests: true,
	}, {
		Why:    "engines and controllers are neutral: a cloud plugs into them, they know none",
		From:   "src",
		Except: "src/cmd src/thalassa src/ironcore src/csi src/emulator",
		Never:  "src/thalassa src/ironcore" + vendor + ironcore,
		Tests:  true,
	}, {
		Why:  "the contract between controllers and clouds depends on neither",
		From: "src/cloud",
		Never: "src/adapter src/annotation src/build src/cmd src/configfile src/controller src/emulator src/event " +
			"src/manager src/ironcore src/reload src/spelling src/thalassa src/tracing" + vendor + ironcore,
	}, {
		Why:   "controllers and the manager know clouds by the contract only",
		From:  "src/controller src/manager",
		Never: "src/adapter src/thalassa src/ironcore" + vendor + ironcore,
	}, {
		Why:   "controllers are chosen one by one: those of nodes serve clouds without load balancers, too",
		From:  "src/controller/node src/controller/nodelifecycle src/controller/nodeipam src/controller/route",
		Never: "src/controller/service",
	}}
}

func boundariesOfClouds() []Boundary {
	const values = "these packages have values only, and call nothing: the same inputs give the same results"
	return []Boundary{{
		Why:   "a cloud, and the adapter that stands for one, know controllers by the contract only",
		From:  "src/adapter src/thalassa src/ironcore",
		Never: "src/controller src/manager",
	}, {
		Why:   "a cloud knows no other cloud",
		From:  "src/thalassa",
		Never: "src/ironcore" + ironcore,
		Tests: true,
	}, {
		Why:   "a cloud knows no other cloud",
		From:  "src/ironcore",
		Never: "src/thalassa" + vendor,
		Tests: true,
	}, {
		Why: values,
		From: "src/thalassa/balancer src/thalassa/cloudconfig src/thalassa/label src/thalassa/providerid " +
			"src/thalassa/resource src/thalassa/secret",
		Never: "src/thalassa/client src/thalassa/inventory src/thalassa/store" + vendor,
		Tests: true,
	}, {
		Why:   values,
		From:  "src/ironcore/balancer src/ironcore/label src/ironcore/providerid",
		Never: "src/ironcore/client src/ironcore/store" + ironcore + "/client-go",
		Tests: true,
	}}
}

func boundariesOfPrograms() []Boundary {
	return []Boundary{{
		Why:    "clouds and tests for tests are in no program",
		From:   "src/adapter src/cmd src/controller src/manager src/ironcore src/thalassa",
		Except: "src/controller/conformance src/controller/service/cluster src/ironcore/simulator",
		Never:  "src/apiserver src/controller/conformance src/controller/service/cluster src/ironcore/simulator",
	}, {
		Why:   "client and server must not share one mistake: the emulator has wire types of its own",
		From:  "src/emulator",
		Never: vendor,
	}, {
		Why:   "only tests compare answers with the OpenAPI document: the emulator contains no validator",
		From:  "src/emulator/cmd src/emulator/command",
		Never: "src/emulator/openapi/openapitest github.com/santhosh-tekuri/jsonschema",
	}}
}

func boundariesOfVolumes() []Boundary {
	return []Boundary{{
		Why:   "what has to be done with volumes is decided by values: the same inputs give the same results",
		From:  "src/csi/volume src/csi/topology",
		Never: "src/thalassa/client src/thalassa/inventory src/thalassa/storage src/thalassa/store" + vendor,
		Tests: true,
	}, {
		Why:   "the node plug-in has no access to the cloud",
		From:  "src/csi/node",
		Never: "src/thalassa/client src/thalassa/cloudconfig" + vendor,
		Tests: true,
	}, {
		Why:   "the CSI driver has a process of its own, and the CCM has no volumes",
		From:  "src/csi",
		Never: "src/controller src/manager/lease src/ironcore" + ironcore,
	}, {
		Why:   "the CSI driver has a process of its own, and the CCM has no volumes",
		From:  "src/thalassa src/manager src/controller",
		Never: "src/csi",
	}}
}

// Crossings finds imports across the boundaries in the workspace at root. It compiles nothing.
func Crossings(ctx context.Context, root string, boundaries []Boundary, patterns ...string) ([]string, error) {
	mode := packages.NeedName | packages.NeedImports | packages.NeedDeps
	loaded, err := packages.Load(&packages.Config{Context: ctx, Dir: root, Mode: mode, Tests: true}, patterns...)
	if err != nil {
		return nil, fmt.Errorf("reading the import graph of %s: %w", root, err)
	}
	if len(loaded) == 0 {
		return nil, fmt.Errorf("reading the import graph of %s: no package matches %q", root, patterns)
	}
	var out []string
	for _, b := range boundaries {
		for _, p := range loaded {
			name := strings.TrimSuffix(p.PkgPath, "_test")
			isTest := p.ID != p.PkgPath // the go command calls it package [package.test], and the program package.test
			if strings.HasSuffix(p.ID, ".test") || isTest && !b.Tests || !below(name, b.From) || below(name, b.Except) {
				continue
			}
			if way := b.wayOut(p); way != nil {
				out = append(out, fmt.Sprintf("%s: imports %s: %s", strings.TrimPrefix(name, ours),
					strings.Join(way, ", which imports "), b.Why))
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// wayOut searches the import graph breadth first for the shortest way over the boundary, if there is one.
func (b Boundary) wayOut(start *packages.Package) []string {
	type step struct {
		pkg *packages.Package
		way []string
	}
	seen := map[string]bool{start.ID: true}
	for queue := []step{{pkg: start}}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		for _, path := range slices.Sorted(maps.Keys(at.pkg.Imports)) {
			next := at.pkg.Imports[path]
			way := append(slices.Clone(at.way), strings.TrimPrefix(path, ours))
			if below(next.PkgPath, b.Never) {
				return way
			}
			if !seen[next.ID] {
				seen[next.ID] = true
				queue = append(queue, step{next, way})
			}
		}
	}
	return nil
}

// below reports whether an import path is one of the folders or import paths, which blanks separate, or inside one.
func below(path, prefixes string) bool {
	path = strings.TrimPrefix(path, ours) + "/"
	for prefix := range strings.FieldsSeq(prefixes) {
		if strings.HasPrefix(path, prefix+"/") {
			return true
		}
	}
	return false
}
