package repository

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/thalassa-cloud/thalassa-ccm/tools/repo/repotest"
)

// workspace writes a small workspace with this repository's Makefile, in which all checks pass, with these changes.
func workspace(t *testing.T, changes map[string]string) string {
	t.Helper()
	root := t.TempDir()
	files := map[string]string{
		"go.work":    "go 1.26.0\n\nuse (\n\t./ci\n\t./src\n\t./tools\n)\n",
		"ci/go.mod":  "module example.com/ci\n\ngo 1.26.0\n",
		"ci/ci.go":   "// Package ci is an example.\npackage ci\n",
		"src/go.mod": "module example.com/src\n\ngo 1.26.0\n",
		"src/src.go": "// Package src is an example.\npackage src\n",
		"tools/go.mod": "module example.com/tools\n\ngo 1.26.0\n\nrequire example.com/src v0.0.0\n\nreplace " +
			"example.com/src => ../src\n",
		"tools/tools.go":   "// Package tools is an example.\npackage tools\n\nimport _ \"example.com/src\"\n",
		"tools/lab/go.mod": "module example.com/lab\n\ngo 1.26.0\n",
		"tools/lab/lab.go": "// Package lab is an example.\npackage lab\n",
	}
	for _, name := range []string{"Makefile", "ci/fuzz.sh"} {
		text, err := os.ReadFile(filepath.Join(repotest.Root(t), name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(text)
	}
	maps.Copy(files, changes)
	write(t, root, files)
	return root
}

// makeIn runs make without a network and returns what it prints.
func makeIn(t *testing.T, root string, arguments ...string) (string, error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "make", append([]string{"--silent"}, arguments...)...)
	command.Dir = root
	command.Env = makeEnv("GOFLAGS=", "GOWORK=", "GOPROXY=off")
	output, err := command.CombinedOutput()
	return string(output), err
}

func TestChecks(t *testing.T) {
	const required = "require example.com/x v1.0.0\n\nreplace example.com/x => ../x\n"
	tests := map[string]struct {
		check   string
		changes map[string]string
		want    []string
	}{
		"formatted": {check: "format"},
		"not formatted": {"format", map[string]string{"src/a.go": "package src\nvar  a int\n"},
			[]string{"make fmt", "src/a.go"}},
		"broken source": {"format", map[string]string{"src/a.go": "packag src\n"}, []string{"src/a.go"}},
		"tidy":          {check: "tidy"},
		"unused requirement": {
			"tidy", map[string]string{"tools/tools.go": "package tools\n"},
			[]string{"-require example.com/src v0.0.0", "run: cd tools && GOWORK=off go mod tidy"},
		},
		"lab is not tidy": {
			"tidy",
			map[string]string{"tools/lab/go.mod": "module example.com/lab\ngo 1.26.0\n\n\nrequire example.com/x " +
				"v1.0.0\n"},
			[]string{"run: cd tools/lab && "},
		},
		"workspace in step": {check: "workspace"},
		"workspace out of step": {
			"workspace", map[string]string{
				"x/go.mod":     "module example.com/x\n\ngo 1.26.0\n",
				"src/x/go.mod": "module example.com/x\n\ngo 1.26.0\n",
				"src/x/x.go":   "package x\n", "src/go.mod": "module example.com/src\n\ngo 1.26.0\n\n" +
					strings.ReplaceAll(required, "../x", "./x"),
				"src/a.go": "package src\n\nimport _ \"example.com/x\"\n",
				"tools/go.mod": "module example.com/tools\n\ngo 1.25.0\n\n" +
					"require example.com/src v0.0.0\n\nreplace (\n" +
					"\texample.com/src => ../src\n\texample.com/x => ../src/x\n)\n",
			}, []string{"run go work sync, and commit the result", "tools/go.mod"},
		},
		"workspace is broken": {"workspace", map[string]string{"go.work": "use ./missing\n"}, []string{"go.work"}},
		"rules fail":          {"rules", nil, []string{"ci/repository"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := workspace(t, tt.changes)
			before := snapshot(t, root)
			output, err := makeIn(t, root, "check-"+tt.check)
			if (err != nil) != (len(tt.want) > 0) {
				t.Fatalf("got error %v, want one with %q:\n%s", err, tt.want, output)
			}
			for _, want := range tt.want {
				if !strings.Contains(output, want) {
					t.Errorf("the output lacks %q:\n%s", want, output)
				}
			}
			if diff := cmp.Diff(before, snapshot(t, root)); diff != "" {
				t.Errorf("checking changed files (-before +after):\n%s", diff)
			}
		})
	}
}

// snapshot reads every file below root.
func snapshot(t *testing.T, root string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(root, func(name string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		files[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestVerifyRunsEveryCheck: also after one has failed, and it names those that failed, with their output.
func TestVerifyRunsEveryCheck(t *testing.T) {
	root := workspace(t, map[string]string{"src/a.go": "package src\nvar  a int\n",
		"tools/tools.go": "package tools\n"})
	output, err := makeIn(t, root, "verify", "checks=format workspace tidy")
	if err == nil {
		t.Error("it passes")
	}
	for _, want := range []string{"format     FAILED", "make fmt", "workspace  ok", "tidy       FAILED",
		"these checks failed: format tidy\n"} {
		if !strings.Contains(output, want) {
			t.Errorf("the output lacks %q:\n%s", want, output)
		}
	}
	if output, err := makeIn(t, workspace(t, nil), "verify", "checks=format tidy"); err != nil {
		t.Errorf("without a problem: %v\n%s", err, output)
	}
}

// TestVerifyCommands checks the commands of the checks that need this repository's tools.
func TestVerifyCommands(t *testing.T) {
	for target, wants := range map[string][]string{
		"check-generate": {"bin/generate -check"},
		"lint": {
			" run --allow-parallel-runners", "./ci/... ./src/... ./src/emulator/... ./tools/...",
			"cd tools/lab && GOWORK=off", "cd tools/coredns && GOWORK=off",
			`GOFLAGS="$GOFLAGS -trimpath"`, `GOMEMLIMIT="${GOMEMLIMIT:-3GiB}"`,
			"github.com/golangci/golangci-lint/v2/cmd/golangci-lint",
		},
	} {
		output, err := makeIn(t, repotest.Root(t), "--dry-run", target)
		if err != nil {
			t.Errorf("%s: %v", target, err)
		}
		for _, want := range wants {
			if !strings.Contains(output, want) {
				t.Errorf("%s lacks %q:\n%s", target, want, output)
			}
		}
	}
	checks, err := makeIn(t, repotest.Root(t), "--dry-run", "verify")
	if want := "for check in format generate tidy workspace rules lint;"; err != nil ||
		!strings.Contains(checks, want) {
		t.Errorf("verify: %v, it lacks %q:\n%s", err, want, checks)
	}
	linters, err := os.ReadFile(filepath.Join(repotest.Root(t), ".golangci.yaml"))
	if err != nil || !strings.Contains(string(linters), "    - govet\n") ||
		!strings.Contains(string(linters), "build-tags: [e2e]\n") {
		t.Errorf(".golangci.yaml does not replace go vet -tags=e2e (error %v)", err)
	}
	gomod, err := os.ReadFile(filepath.Join(repotest.Root(t), "tools", "lint", "go.mod"))
	if err != nil ||
		!strings.Contains(string(gomod), "\ntool github.com/golangci/golangci-lint/v2/cmd/golangci-lint\n") {
		t.Errorf("tools/lint/go.mod does not pin the linters (error %v)", err)
	}
}

const (
	fuzzGood = "package good\n\nimport \"testing\"\n\nfunc FuzzGood(f *testing.F) { f.Fuzz(func(*testing.T, string) " +
		"{}) }\n"
	fuzzBad = "package bad\n\nimport \"testing\"\n\nfunc FuzzBad(f *testing.F) {\n\tf.Add(\"seed\")\n" +
		"\tf.Fuzz(func(t *testing.T, s string) {\n\t\tif s != \"\" {\n\t\t\tt.Fatal(\"no good\")\n\t\t}\n\t})\n}\n"
	// fuzzLate fails as a target that is slow to stop at the end of its time.
	fuzzLate = "package late\n\nimport (\n\t\"fmt\"\n\t\"os\"\n\t\"testing\"\n)\n\nfunc FuzzLate(*testing.F) {\n" +
		"\tfmt.Print(\"--- FAIL: FuzzLate (3.05s)\\n    context deadline exceeded\\nFAIL\\n\")\n\tos.Exit(1)\n}\n"
)

// TestFuzz: every target runs, also after one has failed, and is named if it fails.
func TestFuzz(t *testing.T) {
	for _, guided := range []string{"GUIDED=", "GUIDED=0"} {
		root := workspace(t, map[string]string{
			"src/good/good_test.go": fuzzGood, "src/bad/bad_test.go": fuzzBad, "src/late/late_test.go": fuzzLate,
			"src/bad/testdata/x/x_test.go": "package x\n\nfunc FuzzNot() {}\n",
			"src/bad/bad.go":               "// Package bad is an example.\npackage bad\n\nfunc FuzzNot() {}\n",
		})
		output, err := makeIn(t, root, "fuzz", "FUZZTIME=20x", guided)
		if err == nil || strings.Contains(output, "FuzzNot") {
			t.Errorf("%s: error %v:\n%s", guided, err, output)
		}
		for _, want := range []string{
			"ok    ./src/good FuzzGood", "FAIL  ./src/bad FuzzBad", "no good", "ok    ./src/late FuzzLate",
			"these targets failed: ./src/bad FuzzBad\n",
		} {
			if !strings.Contains(output, want) {
				t.Errorf("%s: the output lacks %q:\n%s", guided, want, output)
			}
		}
	}
	output, err := makeIn(t, workspace(t, nil), "fuzz")
	if err == nil || !strings.Contains(output, "there are no fuzz targets") {
		t.Errorf("without targets: %v:\n%s", err, output)
	}
}

// TestWhatIsFuzzed: packages that read text from outside have a fuzz target.
func TestWhatIsFuzzed(t *testing.T) {
	for _, dir := range []string{"src/config", "src/annotation", "src/thalassa/balancer",
		"src/thalassa/client", "src/thalassa/cloudconfig", "src/thalassa/providerid", "src/emulator"} {
		files, err := filepath.Glob(filepath.Join(repotest.Root(t), dir, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		var all strings.Builder
		for _, name := range files {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			all.Write(text)
		}
		if !strings.Contains(all.String(), "\nfunc Fuzz") {
			t.Errorf("nothing is fuzzed in %s", dir)
		}
	}
}
