package verify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// modules returns the folders of all modules below root, sorted, relative to it. Test data is no module of ours.
func modules(root string) ([]string, error) {
	var dirs []string
	err := walk(root, func(p string) error {
		if filepath.Base(p) == "go.mod" {
			dirs = append(dirs, filepath.Dir(p))
		}
		return nil
	})
	slices.Sort(dirs)
	return dirs, err
}

// walk visits every regular file below root that can be a source, by its path relative to root.
func walk(root string, visit func(p string) error) error {
	return fs.WalkDir(os.DirFS(root), ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("walking %s: %w", root, err)
		}
		if d.IsDir() && (slices.Contains([]string{".git", "bin", "dist"}, p) || d.Name() == "testdata") {
			return fs.SkipDir
		}
		if d.Type().IsRegular() {
			return visit(filepath.FromSlash(p))
		}
		return nil
	})
}

// workspace returns the modules that the go.work at root uses, relative to it.
func workspace(ctx context.Context, root string) ([]string, error) {
	out, err := command{root, nil, []string{"go", "list", "-m", "-f", "{{.Dir}}"}}.run(ctx)
	if err != nil {
		return nil, err
	}
	var dirs []string
	for dir := range strings.Lines(out) {
		rel, err := relative(root, strings.TrimSpace(dir))
		if err != nil {
			return nil, err
		}
		dirs = append(dirs, rel)
	}
	return dirs, nil
}

// relative is filepath.Rel, also when root is reached through a symbolic link.
func relative(root, dir string) (string, error) {
	resolved, err := filepath.EvalSymlinks(root)
	if err != nil {
		return "", fmt.Errorf("resolving %s: %w", root, err)
	}
	return filepath.Rel(resolved, dir)
}

// Tidy checks that `go mod tidy` would change no module. It needs no network once the modules are downloaded.
func Tidy(ctx context.Context, root string) error {
	dirs, err := modules(root)
	if err != nil {
		return err
	}
	var problems []error
	for _, dir := range dirs {
		_, err := command{filepath.Join(root, dir), []string{alone}, []string{"go", "mod", "tidy", "-diff"}}.run(ctx)
		if err != nil {
			problems = append(problems, fmt.Errorf("%w(cd %s && GOWORK=off go mod tidy) mends it", err, dir))
		}
	}
	return errors.Join(problems...)
}

// Workspace checks that `go work sync` would change nothing. It works on a copy, because the command has no dry run.
func Workspace(ctx context.Context, root string) error {
	scratch, err := os.MkdirTemp("", "workspace-")
	if err != nil {
		return fmt.Errorf("making a copy of the workspace: %w", err)
	}
	defer os.RemoveAll(scratch)
	if err := copySources(root, scratch); err != nil {
		return err
	}
	if _, err := (command{scratch, nil, []string{"go", "work", "sync"}}).run(ctx); err != nil {
		return err
	}
	return differences(root, scratch)
}

// copySources copies what the go command reads about modules: Go files, module files, the workspace file.
func copySources(from, to string) error {
	return walk(from, func(p string) error {
		if filepath.Ext(p) != ".go" && !isModuleFile(p) {
			return nil
		}
		content, err := os.ReadFile(filepath.Join(from, p))
		if err != nil {
			return fmt.Errorf("copying the workspace: %w", err)
		}
		target := filepath.Join(to, p)
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return fmt.Errorf("copying the workspace: %w", err)
		}
		return os.WriteFile(target, content, 0o600)
	})
}

// isModuleFile tells whether the go command writes a file.
func isModuleFile(p string) bool {
	return slices.Contains([]string{"go.mod", "go.sum", "go.work", "go.work.sum"}, filepath.Base(p))
}

// differences names the module files of one tree that differ from those of the other.
func differences(root, other string) error {
	var stale []string
	err := walk(other, func(p string) error {
		if !isModuleFile(p) {
			return nil
		}
		want, err := os.ReadFile(filepath.Join(other, p))
		if err != nil {
			return fmt.Errorf("comparing module files: %w", err)
		}
		have, err := os.ReadFile(filepath.Join(root, p))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("comparing module files: %w", err)
		}
		if !bytes.Equal(want, have) {
			stale = append(stale, p)
		}
		return nil
	})
	if err == nil && len(stale) > 0 {
		err = fmt.Errorf("`go work sync` changes %s: run it, and commit the result", strings.Join(stale, ", "))
	}
	return err
}
