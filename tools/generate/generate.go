// Package generate writes the files of this repository that are made from other files of it, and reports which are
// stale. A generator computes contents and touches nothing, so that checking is the same work as writing, and
// checking never changes a working tree.
package generate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/thalassa-cloud/thalassa-ccm/tools/bases"
)

// Generator makes some files of the repository.
type Generator struct {
	// Name is what the files are, in a word or two, for messages.
	Name string
	// Files computes contents by path below the root, with slashes. It must give the same bytes every time.
	Files func(ctx context.Context, root string) (map[string][]byte, error)
}

// All returns the generators of this repository.
func All() []Generator {
	var all []Generator
	for _, cloud := range annotatedClouds() {
		all = append(all, annotationPage(cloud), admissionPolicy(cloud))
	}
	all = append(all, foreignPage(annotatedClouds()))
	for _, cloud := range configuredClouds() {
		all = append(all, cloudConfigPages(cloud))
	}
	all = append(all, classPolicies())
	for _, name := range charts() {
		all = append(all, chartFiles(name))
	}
	return append(all, sharedTemplates(), permissions(), metricsPage(), budgetPage(), eventMessages(), pluginSchema(),
		emulatorAPI(), Generator{Name: "Kustomize bases", Files: bases.Files})
}

// Write brings every generated file up to date and returns the paths of those it changed, sorted.
func Write(ctx context.Context, root string, generators []Generator) ([]string, error) {
	var changed []string
	err := differing(ctx, root, generators, func(p string, content []byte) error {
		changed = append(changed, p)
		return write(filepath.Join(root, filepath.FromSlash(p)), content)
	})
	slices.Sort(changed)
	return changed, err
}

// Stale returns the paths of generated files that differ from what they should be or are missing, sorted.
func Stale(ctx context.Context, root string, generators []Generator) ([]string, error) {
	var stale []string
	err := differing(ctx, root, generators, func(p string, _ []byte) error {
		stale = append(stale, p)
		return nil
	})
	slices.Sort(stale)
	return stale, err
}

// differing calls visit for every generated file whose content on disk is not what it should be: one generator after
// the other, because what a later one begins with may be made by an earlier one, as the chart's schema is.
func differing(ctx context.Context, root string, generators []Generator,
	visit func(p string, content []byte) error) error {
	taken := map[string]bool{}
	for _, g := range generators {
		made, err := g.make(ctx, root, taken)
		if err != nil {
			return fmt.Errorf("generating %s: %w", g.Name, err)
		}
		for _, p := range slices.Sorted(maps.Keys(made)) {
			have, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(p)))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("reading generated file: %w", err)
			}
			if err == nil && bytes.Equal(have, made[p]) {
				continue
			}
			if err := visit(p, made[p]); err != nil {
				return err
			}
		}
	}
	return nil
}

// make computes the generator's files; no two generators may make the same one.
func (g Generator) make(ctx context.Context, root string, taken map[string]bool) (map[string][]byte, error) {
	made, err := g.Files(ctx, root)
	if err != nil {
		return nil, err
	}
	for p := range made {
		if taken[p] {
			return nil, fmt.Errorf("%s is already made by another generator", p)
		}
		if !filepath.IsLocal(filepath.FromSlash(p)) {
			return nil, fmt.Errorf("%s is outside of the repository", p)
		}
		taken[p] = true
	}
	return made, nil
}

// write puts one file into place, with its folder.
func write(name string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return fmt.Errorf("writing generated file: %w", err)
	}
	if err := os.WriteFile(name, content, 0o644); err != nil {
		return fmt.Errorf("writing generated file: %w", err)
	}
	return nil
}
