package verify

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/thalassa-cloud/thalassa-ccm/tools/repo"
)

// put writes files below a fresh folder and returns it.
func put(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for p, text := range files {
		name := filepath.Join(root, p)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// repository is a small repository in which nothing is wrong, with some files replaced or added.
func repository(t *testing.T, changes map[string]string) string {
	t.Helper()
	files := map[string]string{
		"go.work":           "go 1.26.0\n\nuse (\n\t./src\n\t./tools\n)\n",
		"src/go.mod":        "module example.com/src\n\ngo 1.26.0\n",
		"src/src.go":        "// Package src is an example.\npackage src\n",
		"tools/go.mod":      "module example.com/tools\n\ngo 1.26.0\n\nrequire example.com/src v0.0.0\n\nreplace example.com/src => ../src\n",
		"tools/tools.go":    "// Package tools is an example.\npackage tools\n\nimport _ \"example.com/src\"\n",
		"tools/lab/go.mod":  "module example.com/lab\n\ngo 1.26.0\n",
		"tools/lab/main.go": "// Command lab is an example.\npackage main\n\nfunc main() {}\n",
	}
	maps.Copy(files, changes)
	return put(t, files)
}

// withSources adds this repository's own files that others are generated from.
func withSources(t *testing.T, changes map[string]string) map[string]string {
	t.Helper()
	root, err := repo.Root()
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, folder := range []string{"charts", "kustomize"} {
		err := fs.WalkDir(os.DirFS(root), folder, func(p string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			text, err := os.ReadFile(filepath.Join(root, p))
			files[p] = string(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	maps.Copy(files, changes)
	return files
}

func TestChecks(t *testing.T) {
	t.Setenv("GOFLAGS", "")
	t.Setenv("GOPROXY", "off") // none of this needs a network
	badPrint := "\n\nimport \"fmt\"\n\nfunc f() { fmt.Printf(\"%d\", \"text\") }\n"
	tests := map[string]struct {
		check   func(context.Context, string) error
		changes map[string]string
		want    []string
	}{
		"formatted":           {check: Format},
		"not formatted":       {Format, map[string]string{"src/a.go": "package src\nvar  a int\n", "src/b.go": "package src\n"}, []string{"make fmt", "src/a.go"}},
		"test data is free":   {Format, map[string]string{"src/testdata/a.go": "package  a\n", "bin/b.go": "package  b\n"}, nil},
		"broken source":       {Format, map[string]string{"src/a.go": "packag src\n"}, []string{"src/a.go"}},
		"generated is stale":  {Generated, withSources(t, map[string]string{"docs/reference/annotations.md": "of last year\n"}), []string{"docs/reference/annotations.md", "make generate"}},
		"generated is gone":   {Generated, withSources(t, nil), []string{"docs/reference/annotations.md", "make generate"}},
		"source is gone":      {Generated, nil, []string{"charts/thalassa-ccm/values.yaml"}},
		"tidy":                {check: Tidy},
		"unused requirement":  {Tidy, map[string]string{"tools/tools.go": "package tools\n"}, []string{"-require example.com/src v0.0.0", "(cd tools && GOWORK=off go mod tidy) mends it"}},
		"lab is not tidy":     {Tidy, map[string]string{"tools/lab/go.mod": "module example.com/lab\ngo 1.26.0\n\n\nrequire example.com/x v1.0.0\n"}, []string{"(cd tools/lab && "}},
		"in step":             {check: Workspace},
		"workspace is broken": {Workspace, map[string]string{"go.work": "use ./missing\n"}, []string{"go work sync"}},
		"vetted":              {check: Vet},
		"vet finds":           {Vet, map[string]string{"src/src.go": "package src" + badPrint, "tools/lab/a.go": "package main" + badPrint}, []string{"src.go:5", "tools/lab: exit status 1\n", "a.go:5"}},
		"no rules here":       {Rules, nil, []string{"./ci/repository"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			err := tt.check(t.Context(), repository(t, tt.changes))
			checkError(t, err, tt.want)
		})
	}
}

// checkError compares an error with the parts its text must have; none at all means no error.
func checkError(t *testing.T, err error, want []string) {
	t.Helper()
	if (err != nil) != (len(want) > 0) {
		t.Fatalf("got error %v, want one with %q", err, want)
	}
	for _, s := range want {
		if !strings.Contains(err.Error(), s) {
			t.Errorf("the error lacks %q:\n%v", s, err)
		}
	}
}

func TestCheckingChangesNothing(t *testing.T) {
	t.Setenv("GOFLAGS", "")
	root := repository(t, map[string]string{"src/a.go": "package src\nvar  a int\n", "tools/tools.go": "package tools\n"})
	before := snapshot(t, root)
	for _, c := range []func(context.Context, string) error{Format, Generated, Tidy, Workspace, Vet} {
		_ = c(t.Context(), root) // what is found does not matter here
	}
	if diff := cmp.Diff(before, snapshot(t, root)); diff != "" {
		t.Errorf("checking changed files (-before +after):\n%s", diff)
	}
}

// snapshot reads every file below root.
func snapshot(t *testing.T, root string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := walk(root, func(p string) error {
		text, err := os.ReadFile(filepath.Join(root, p))
		out[p] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// named is a check that gives a fixed result.
func named(name string, err error) Check {
	return Check{Name: name, About: "about " + name, Run: func(context.Context, string) error { return err }}
}

func TestRun(t *testing.T) {
	good, bad := named("good", nil), named("bad", errors.New("line 1\nline 2\n"))
	tests := map[string]struct {
		checks []Check
		says   []string
		want   []string
	}{
		"all pass":       {[]Check{good}, []string{"good", "about good", "ok", "1 checks passed"}, nil},
		"goes on":        {[]Check{bad, good}, []string{"FAILED", "line 1\nline 2\n", "about good"}, []string{"1 of 2 checks failed: bad"}},
		"several failed": {[]Check{bad, good, bad}, nil, []string{"2 of 3 checks failed: bad, bad"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			checkError(t, Run(t.Context(), "", tt.checks, &out), tt.want)
			for _, s := range tt.says {
				if !strings.Contains(out.String(), s) {
					t.Errorf("the report lacks %q:\n%s", s, out.String())
				}
			}
		})
	}
}

func TestRunCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancelling := Check{Name: "first", Run: func(context.Context, string) error { cancel(); return nil }}
	second := Check{Name: "second", Run: func(context.Context, string) error { t.Error("ran after the end"); return nil }}
	err := Run(ctx, "", []Check{cancelling, second}, &strings.Builder{})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want an error that says it was cancelled", err)
	}
}

func TestSelect(t *testing.T) {
	checks := []Check{named("a", nil), named("b", nil), named("c", nil)}
	tests := map[string]struct {
		names []string
		want  string
		err   []string
	}{
		"all":         {nil, "a, b, c", nil},
		"own order":   {[]string{"c", "a"}, "a, c", nil},
		"no such one": {[]string{"a", "x"}, "", []string{`no check is called "x": choose from a, b, c`}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := Select(checks, tt.names)
			checkError(t, err, tt.err)
			if list(got) != tt.want {
				t.Errorf("got %q, want %q", list(got), tt.want)
			}
		})
	}
}

func TestModules(t *testing.T) {
	root := repository(t, map[string]string{"src/testdata/go.mod": "module no\n", "dist/go.mod": "module no\n"})
	got, err := modules(root)
	if diff := cmp.Diff([]string{"src", "tools", "tools/lab"}, got); diff != "" || err != nil {
		t.Errorf("modules differ (-want +got), error %v:\n%s", err, diff)
	}
}

func TestDifferences(t *testing.T) {
	tests := map[string]struct {
		synced map[string]string
		want   []string
	}{
		"nothing":          {map[string]string{"go.work": "work", "src/go.mod": "mod"}, nil},
		"other files":      {map[string]string{"src/src.go": "changed"}, nil},
		"a module":         {map[string]string{"src/go.mod": "changed"}, []string{"`go work sync` changes src/go.mod: run it"}},
		"a new file, also": {map[string]string{"go.work.sum": "new", "src/go.mod": "changed"}, []string{"changes go.work.sum, src/go.mod:"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			root := put(t, map[string]string{"go.work": "work", "src/go.mod": "mod", "src/src.go": "code"})
			checkError(t, differences(root, put(t, tt.synced)), tt.want)
		})
	}
}

func TestPatternsBehindLink(t *testing.T) {
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(repository(t, nil), link); err != nil {
		t.Fatal(err)
	}
	got, err := patterns(t.Context(), link)
	if diff := cmp.Diff([]string{"./src/...", "./tools/..."}, got); diff != "" || err != nil {
		t.Errorf("patterns differ (-want +got), error %v:\n%s", err, diff)
	}
}

// TestLinter holds what Lint relies on; running the linters themselves is the business of `make lint`.
func TestLinter(t *testing.T) {
	root, err := repo.Root()
	if err != nil {
		t.Fatal(err)
	}
	gomod, err := os.ReadFile(filepath.Join(root, "tools", "lint", "go.mod"))
	if err != nil || !strings.Contains(string(gomod), "\ntool "+linter+"\n") {
		t.Errorf("tools/lint/go.mod does not pin %s (error %v)", linter, err)
	}
}

func TestLintEnv(t *testing.T) {
	tests := map[string]struct {
		flags, limit string
		want         []string
	}{
		"nothing set": {"", "", []string{"GOFLAGS=-trimpath", "GOMEMLIMIT=3GiB"}},
		"both set":    {"-mod=mod", "8GiB", []string{"GOFLAGS=-mod=mod -trimpath"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Setenv("GOFLAGS", tt.flags)
			t.Setenv("GOMEMLIMIT", tt.limit)
			if diff := cmp.Diff(tt.want, lintEnv()); diff != "" {
				t.Errorf("environment differs (-want +got):\n%s", diff)
			}
		})
	}
}
