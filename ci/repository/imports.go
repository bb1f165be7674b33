package repository

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// vendor is the official client of Thalassa Cloud.
const vendor = "github.com/thalassa-cloud/client-go"

// ironcore has the API of the second cloud, and its clients.
const ironcore = "github.com/ironcore-dev/ironcore"

// Boundary keeps packages apart, however many packages lie between them.
type Boundary struct {
	// Why is the reason, which is part of the error.
	Why string
	// From are the packages it holds for, Except those of them it does not; both by import path prefix.
	From, Except []string
	// Never are the prefixes of what they may not reach.
	Never []string
	// Tests says that it holds for tests, too.
	Tests bool
}

// Boundaries returns those of this repository.
func Boundaries() []Boundary {
	return slices.Concat(boundariesOfControllers(), boundariesOfClouds(), boundariesOfVolumes())
}

func boundariesOfControllers() []Boundary {
	return []Boundary{
		{
			Why:   "images must not contain, and not be pinned by, what only builds and tests them",
			From:  []string{ours + "src"},
			Never: []string{ours + "tools", ours + "ci"},
			Tests: true,
		},
		{
			Why:  "engines and controllers are neutral: a cloud plugs into them, they know none",
			From: []string{ours + "src"},
			Except: []string{
				ours + "src/cmd", ours + "src/thalassa", ours + "src/ironcore", ours + "src/csi", ours + "src/emulator",
			},
			Never: []string{ours + "src/thalassa", ours + "src/ironcore", vendor, ironcore},
			Tests: true,
		},
		{
			Why:  "the contract between controllers and clouds depends on neither",
			From: []string{ours + "src/cloud"},
			Never: []string{
				ours + "src/adapter", ours + "src/annotation", ours + "src/build", ours + "src/cmd", ours +
					"src/config",
				ours + "src/controller", ours + "src/emulator", ours + "src/list", ours + "src/manager",
				ours + "src/ironcore", ours + "src/reload", ours + "src/spelling", ours + "src/thalassa", ours +
					"src/tracing", vendor, ironcore,
			},
		},
		{
			Why:   "controllers and the manager know clouds by the contract only",
			From:  []string{ours + "src/controller", ours + "src/manager"},
			Never: []string{ours + "src/adapter", ours + "src/thalassa", ours + "src/ironcore", vendor, ironcore},
		},
	}
}

func boundariesOfClouds() []Boundary {
	return []Boundary{
		{
			Why:   "a cloud, and the adapter that stands for one, know controllers by the contract only",
			From:  []string{ours + "src/adapter", ours + "src/thalassa", ours + "src/ironcore"},
			Never: []string{ours + "src/controller", ours + "src/manager"},
		},
		{
			Why:   "a cloud knows no other cloud",
			From:  []string{ours + "src/thalassa"},
			Never: []string{ours + "src/ironcore", ironcore},
			Tests: true,
		},
		{
			Why:   "a cloud knows no other cloud",
			From:  []string{ours + "src/ironcore"},
			Never: []string{ours + "src/thalassa", vendor},
			Tests: true,
		},
		{
			Why: "these packages have values only, and call nothing: the same inputs give the same results",
			From: []string{
				ours + "src/thalassa/balancer", ours + "src/thalassa/cloudconfig", ours + "src/thalassa/label",
				ours + "src/thalassa/providerid", ours + "src/thalassa/resource", ours + "src/thalassa/secret",
			},
			Never: []string{
				ours + "src/thalassa/client", ours + "src/thalassa/inventory", ours + "src/thalassa/store", vendor,
			},
			Tests: true,
		},
		{
			Why: "these packages have values only, and call nothing: the same inputs give the same results",
			From: []string{
				ours + "src/ironcore/balancer", ours + "src/ironcore/label", ours + "src/ironcore/providerid",
			},
			Never: []string{ours + "src/ironcore/client", ours + "src/ironcore/store", ironcore + "/client-go"},
			Tests: true,
		},
		{
			Why: "clouds and tests for tests are in no program",
			From: []string{
				ours + "src/adapter", ours + "src/cmd", ours + "src/controller", ours + "src/manager",
				ours + "src/ironcore", ours + "src/thalassa",
			},
			Except: []string{ours + "src/ironcore/simulator"},
			Never: []string{
				ours + "src/cloud/cloudtest", ours + "src/controller/conformance", ours + "src/ironcore/simulator",
			},
		},
		{
			Why: "controllers are chosen one by one: those of nodes serve clouds without load balancers, too",
			From: []string{
				ours + "src/controller/node", ours + "src/controller/nodelifecycle", ours + "src/controller/nodeipam",
				ours + "src/controller/route",
			},
			Never: []string{ours + "src/controller/service"},
		},
		{
			Why:   "client and server must not share one mistake: the emulator has wire types of its own",
			From:  []string{ours + "src/emulator"},
			Never: []string{vendor},
		},
	}
}

func boundariesOfVolumes() []Boundary {
	return []Boundary{
		{
			Why:  "what has to be done with volumes is decided by values: the same inputs give the same results",
			From: []string{ours + "src/csi/volume", ours + "src/csi/topology"},
			Never: []string{
				ours + "src/thalassa/client", ours + "src/thalassa/inventory", ours + "src/thalassa/storage",
				ours + "src/thalassa/store", vendor,
			},
			Tests: true,
		},
		{
			Why:   "the node plug-in has no access to the cloud",
			From:  []string{ours + "src/csi/node"},
			Never: []string{ours + "src/thalassa/client", ours + "src/thalassa/cloudconfig", vendor},
			Tests: true,
		},
		{
			Why:   "the CSI driver has a process of its own, and the CCM has no volumes",
			From:  []string{ours + "src/csi"},
			Never: []string{ours + "src/controller", ours + "src/manager/lease", ours + "src/ironcore", ironcore},
		},
		{
			Why:   "the CSI driver has a process of its own, and the CCM has no volumes",
			From:  []string{ours + "src/thalassa", ours + "src/manager", ours + "src/controller"},
			Never: []string{ours + "src/csi"},
		},
	}
}

// Crossings finds imports across the boundaries in the workspace at root.
func Crossings(ctx context.Context, root string, boundaries []Boundary, patterns ...string) ([]Finding, error) {
	var found []Finding
	for _, tests := range []bool{false, true} {
		var loaded []*packages.Package
		for _, b := range boundaries {
			if b.Tests != tests {
				continue
			}
			if loaded == nil {
				var err error
				if loaded, err = load(ctx, root, tests, patterns); err != nil {
					return nil, err
				}
			}
			for _, p := range loaded {
				found = append(found, b.crossings(p)...)
			}
		}
	}
	return slices.Compact(sorted(found)), nil
}

// load reads the import graph; it does not compile anything.
func load(ctx context.Context, root string, tests bool, patterns []string) ([]*packages.Package, error) {
	mode := packages.NeedName | packages.NeedImports | packages.NeedDeps
	loaded, err := packages.Load(&packages.Config{Context: ctx, Dir: root, Mode: mode, Tests: tests}, patterns...)
	if err != nil {
		return nil, fmt.Errorf("reading the import graph of %s: %w", root, err)
	}
	if len(loaded) == 0 {
		return nil, fmt.Errorf("reading the import graph of %s: no package matches %q", root, patterns)
	}
	return loaded, nil
}

// crossings gives the shortest way from one package over the boundary, if there is one.
func (b Boundary) crossings(p *packages.Package) []Finding {
	if strings.HasSuffix(p.PkgPath, ".test") {
		return nil // made by the go command, to run tests that are checked themselves
	}
	name := strings.TrimSuffix(p.PkgPath, "_test")
	if !below(name, b.From) || below(name, b.Except) {
		return nil
	}
	way := b.wayOut(p)
	if way == nil {
		return nil
	}
	return []Finding{{strings.TrimPrefix(name, ours), 0,
		fmt.Sprintf("imports %s: %s", strings.Join(way, ", which imports "), b.Why)}}
}

// wayOut searches the import graph breadth first.
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
			way := append(slices.Clone(at.way), path)
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

// below reports whether an import path is one of the prefixes or inside one.
func below(path string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(prefix string) bool {
		return path == prefix || strings.HasPrefix(path, prefix+"/")
	})
}
