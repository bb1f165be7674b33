package repository

import (
	"bytes"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/thalassa-cloud/thalassa-ccm/tools/repo"
	"github.com/thalassa-cloud/thalassa-ccm/tools/repo/repotest"
)

// assigned matches the variables on the command line of a make that runs this test, in its MAKEFLAGS.
var assigned = regexp.MustCompile(`(?:^| )(\w+)=`)

// makeEnv is the environment of a user who calls make with variables. A make that runs this test hands the variables
// of its command line to all processes below it, and they are not part of it.
func makeEnv(variables ...string) []string {
	drop := []string{"MAKEFLAGS", "MAKEOVERRIDES", "MFLAGS", "MAKELEVEL"}
	for _, match := range assigned.FindAllStringSubmatch(os.Getenv("MAKEFLAGS"), -1) {
		drop = append(drop, match[1])
	}
	kept := slices.DeleteFunc(os.Environ(), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return slices.Contains(drop, name)
	})
	return append(kept, variables...)
}

// TestMakeInsideOfMake: the variables of a make that runs the tests do not change what the tests see.
func TestMakeInsideOfMake(t *testing.T) {
	t.Setenv("MAKEFLAGS", "s -- SUMMARY=/a\\ b/c RACE=1")
	for _, name := range []string{"MAKEOVERRIDES", "SUMMARY", "RACE"} {
		t.Setenv(name, "outer")
	}
	t.Setenv("KEPT", "yes")
	env := makeEnv("RACE=0")
	for variable, want := range map[string]bool{"KEPT=yes": true, "RACE=0": true, "RACE=outer": false,
		"SUMMARY=outer": false, "MAKEOVERRIDES=outer": false} {
		if slices.Contains(env, variable) != want {
			t.Errorf("%s is in the environment: %t, want %t", variable, !want, want)
		}
	}
}

// stamp is what the Makefile in dir says of the sources around it.
func stamp(t *testing.T, dir string, arguments ...string) string {
	t.Helper()
	show := "--eval=show:; @echo 'version=$(VERSION) revision=$(REVISION) committed=$(COMMITTED)'"
	command := exec.CommandContext(t.Context(), "make", append([]string{"--silent", show, "show"}, arguments...)...)
	command.Dir, command.Env = dir, makeEnv("GIT_CONFIG_GLOBAL=/dev/null", "VERSION=from-the-environment")
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	return strings.TrimSpace(string(output))
}

// TestSourcesSayWhatTheyAre: inside git what git says, outside nothing that is made up, not even in a folder of
// another repository.
func TestSourcesSayWhatTheyAre(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(repotest.Root(t), "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	outer := t.TempDir()
	inner := filepath.Join(outer, "unpacked")
	write(t, outer, map[string]string{"Makefile": string(text), "unpacked/Makefile": string(text)})
	unknown := "version=devel revision= committed="
	if got := stamp(t, outer); got != unknown {
		t.Errorf("outside git: %s", got)
	}
	if got := stamp(t, outer, "VERSION=v1.2.3"); got != "version=v1.2.3 revision= committed=" {
		t.Errorf("with a version on the command line: %s", got)
	}
	for _, arguments := range [][]string{{"init", "--quiet"}, {"add", "Makefile"}, {"commit", "--quiet", "--message=x"},
		{"tag", "v9.9.9"}} {
		command := exec.CommandContext(t.Context(), "git",
			append([]string{"-c", "user.name=T", "-c", "user.email=t@example.com"}, arguments...)...)
		command.Dir = outer
		command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
			"GIT_COMMITTER_DATE=2026-11-21T11:00:00+0100")
		if output, err := command.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", arguments, err, output)
		}
	}
	if got := stamp(t, outer); !strings.HasPrefix(got, "version=v9.9.9 revision=") ||
		!strings.HasSuffix(got, "committed=2026-11-21T10:00:00Z") {
		t.Errorf("in a clone: %s", got)
	}
	if got := stamp(t, inner); got != unknown {
		t.Errorf("below another repository: %s", got)
	}
}

// TestClusterIsBuiltByItsUser: root runs the cluster and nothing else, and what is built stays the user's.
func TestClusterIsBuiltByItsUser(t *testing.T) {
	lines := func(arguments ...string) []string {
		t.Helper()
		command := exec.CommandContext(t.Context(), "make", append([]string{"--dry-run"}, arguments...)...)
		command.Dir, command.Env = repotest.Root(t), makeEnv()
		output, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, output)
		}
		return strings.Split(strings.TrimSpace(string(output)), "\n")
	}
	for target, setting := range map[string]struct{ variable, flag string }{
		"cluster":     {"WORKERS=3", "--workers=3"},
		"conformance": {"FOCUS=TCP service", "--focus='TCP service'"},
	} {
		program := "bin/" + target
		all := lines(target, "SUDO=sudo", setting.variable)
		last := len(all) - 1
		if run := all[last]; !strings.HasPrefix(run, "exec sudo env ") ||
			!strings.Contains(run, " "+program+" --built "+setting.flag) {
			t.Errorf("%s runs %s", target, run)
		}
		if all[last-1] != program+" build" {
			t.Errorf("%s: before, it does %s", target, all[last-1])
		}
		if rest := strings.Join(all[:last], "\n"); strings.Contains(rest, "sudo") {
			t.Errorf("%s: root does more:\n%s", target, rest)
		}
		if all = lines(target); strings.Join(strings.Fields(all[len(all)-1]), " ") != "exec "+program+" --built" {
			t.Errorf("%s without SUDO runs %s", target, all[len(all)-1])
		}
	}
}

// TestStageRuns: a stage is a target with the sizes of CI.
func TestStageRuns(t *testing.T) {
	current := "exec env " + repo.CurrentEnv + "='" + repotest.Root(t) + "' "
	for stage, want := range map[string]string{
		"test":         current + `bin/gotest \ -summary='out' -- -count=1`,
		"test-as-root": current + `bin/gotest -race=0 -packages='./src/csi/node ./src/emulator/`,
		"lives": `TRIAL_TIME=30s TRIAL_LIVES=40 exec go test -trimpath -buildvcs=false -vet=off -count=1 \ ` +
			`-timeout=30s10m -run '^TestLives$'`,
		"soak": `SOAK_TIME=2m LAB_IS_CURRENT_IN='` + repotest.Root(t) + `' exec go test -trimpath -buildvcs=false ` +
			`-vet=off -count=1 \ -timeout=2m15m -artifacts -outputdir='` + repotest.Root(t) + `/dist/soak' ` +
			`-run '^TestSoak$'`,
		"fuzz":    `exec sh ci/fuzz.sh 300x plain`,
		"bench":   `exec bin/bench -time=1x`,
		"unknown": `make stage needs STAGE, one of: `,
	} {
		command := exec.CommandContext(t.Context(), "make", "--dry-run", "stage", "STAGE="+stage, "SUMMARY=out")
		command.Dir, command.Env = repotest.Root(t), makeEnv()
		output, err := command.CombinedOutput()
		text := strings.Join(strings.Fields(string(output)), " ")
		if (err != nil) != (stage == "unknown") || !strings.Contains(text, want) {
			t.Errorf("%s: %v, and it runs %s, want %s", stage, err, text, want)
		}
		if stage == "test-as-root" && strings.Contains(text, "-summary") {
			t.Errorf("%s counts tests that test-root counts, too: %s", stage, text)
		}
	}
}

// TestSoakRepeats: a seed and a round on the command line of make are those of the test. Without them each run has a
// seed of its own.
func TestSoakRepeats(t *testing.T) {
	stub := filepath.Join(t.TempDir(), "go")
	text := "#!/bin/sh\n[ \"$1\" != version ] || echo go version go1.26.0\n" +
		"[ \"$1\" != test ] || echo \"$SOAK_SEED, $SOAK_ROUND, $SOAK_TIME\"\n"
	if err := os.WriteFile(stub, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	run := func(arguments ...string) string {
		t.Helper()
		command := exec.CommandContext(t.Context(), "make",
			append([]string{"--silent", "--old-file=bin/lab", "GO=" + stub}, arguments...)...)
		command.Dir, command.Env = repotest.Root(t), makeEnv()
		output, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, output)
		}
		return string(output)
	}
	if got := run("soak", "SOAK_SEED=5", "SOAK_ROUND=17"); !strings.HasSuffix(got, "SOAK_SEED=5\n5, 17, 1h\n") {
		t.Errorf("with a seed and a round: %q", got)
	}
	one, other := run("soak", "SOAK_TIME=3m"), run("soak", "SOAK_TIME=3m")
	if one == other || !strings.HasSuffix(one, ", , 3m\n") {
		t.Errorf("without: %q and %q, want two seeds", one, other)
	}
}

// TestVersions: the demo and the tests of the chart run on each supported version of Kubernetes, or on one.
func TestVersions(t *testing.T) {
	run := func(arguments ...string) string {
		t.Helper()
		command := exec.CommandContext(t.Context(), "make", arguments...)
		command.Dir, command.Env = repotest.Root(t), makeEnv("K8S=1.2")
		output, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, output)
		}
		return strings.Join(strings.Fields(string(output)), " ")
	}
	all, one := run("--dry-run", "versions"), run("--dry-run", "versions", "K8S=1.34")
	const tests = "bin/gotest -race=0 -packages='./ci/charttest ./ci/policytest ./ci/rbactest' \\ -- -count=1 "
	if demos := strings.Count(all, "exec bin/demo"); demos != 5 || strings.Count(all, tests) != demos {
		t.Errorf("%d demos, want 5, each followed by %q: %s", demos, tests, all)
	}
	if !strings.Contains(one, "Kubernetes 1.34") || strings.Count(one, tests) != 1 {
		t.Errorf("with one version: %s", one)
	}
	show := "--eval=show:; @echo \"lab=$$LAB_KUBERNETES of $(minors)\""
	const minors = " of 1.33 1.34 1.35 1.36 1.37"
	if got := run("--silent", show, "show"); got != "lab="+minors {
		t.Errorf("without K8S on the command line: %s", got)
	}
	if got := run("--silent", show, "show", "K8S=1.34"); got != "lab=1.34"+minors {
		t.Errorf("with K8S on the command line: %s", got)
	}
}

// TestCut: a copy of a chart is kept under its version, without its pages, and never changes.
func TestCut(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(repotest.Root(t), "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	cut := func() (string, error) {
		command := exec.CommandContext(t.Context(), "make", "cut", "CHART=page")
		command.Dir, command.Env = root, makeEnv()
		output, err := command.CombinedOutput()
		return string(output), err
	}
	write(t, root, map[string]string{"Makefile": string(text), "charts/page/README.md": "[a](../../a.md)\n",
		"charts/page/Chart.yaml": "version: 1.2.3\n", "charts/page/.helmignore": "ci/\n",
		"charts/page/templates/a.yaml": "a\n"})
	if output, err := cut(); err != nil || output != "kept ci/released/page/1.2.3\n" {
		t.Fatalf("%v\n%s", err, output)
	}
	write(t, root, map[string]string{"charts/page/templates/a.yaml": "b\n"})
	if output, err := cut(); err == nil || !strings.Contains(output, "a released version does not change") {
		t.Errorf("the second time: %v\n%s", err, output)
	}
	kept, released := map[string]string{}, os.DirFS(filepath.Join(root, "ci/released/page/1.2.3"))
	err = fs.WalkDir(released, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(released, name)
		kept[name] = string(content)
		return err
	})
	want := map[string]string{"Chart.yaml": "version: 1.2.3\n", ".helmignore": "ci/\n", "templates/a.yaml": "a\n"}
	if diff := cmp.Diff(want, kept); diff != "" || err != nil {
		t.Errorf("kept (-want +got), %v:\n%s", err, diff)
	}
}

// TestGoFlags: make compiles as the lab and the programs of a release are compiled, so no package is compiled twice. It
// keeps the flags of its caller, which may be make itself.
func TestGoFlags(t *testing.T) {
	flags := repo.CompilerFlags()
	for i, flag := range flags {
		if strings.Contains(flag, " ") {
			flags[i] = "'" + flag + "'"
		}
	}
	ours := strings.Join(flags, " ")
	for _, given := range []string{"", "-mod=mod", ours + " -mod=mod"} {
		show := "--eval=show:; @echo \"$$GOFLAGS\""
		command := exec.CommandContext(t.Context(), "make", "--silent", show, "show")
		command.Dir, command.Env = repotest.Root(t), makeEnv("GOENV=off", "GOFLAGS="+given)
		output, err := command.CombinedOutput()
		want := ours
		if given != "" {
			want += " -mod=mod"
		}
		if got := strings.TrimSpace(string(output)); err != nil || got != want {
			t.Errorf("GOFLAGS=%q: %v, and go gets %q, want %q", given, err, got, want)
		}
	}
}

// TestTestFlags: what runs go test beside make test compiles as it does, so that no package is compiled twice.
func TestTestFlags(t *testing.T) {
	flags := " " + strings.Join(repo.TestFlags(), " ") + " "
	// lives and soak; with and without guidance
	for file, want := range map[string]int{"Makefile": 2, "ci/fuzz.sh": 2} {
		text, err := os.ReadFile(filepath.Join(repotest.Root(t), file))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(string(text), flags); got != want {
			t.Errorf("%s has the flags%s%d times, want %d", file, flags, got, want)
		}
	}
}

// TestPackagesOfRoot checks that make test-root runs all packages with tests that need root.
func TestPackagesOfRoot(t *testing.T) {
	root := os.DirFS(repotest.Root(t))
	asking := map[string]bool{}
	for _, top := range []string{"ci", "src", "tools"} {
		err := fs.WalkDir(root, top, func(name string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(name, "_test.go") {
				return err
			}
			text, err := fs.ReadFile(root, name)
			if bytes.Contains(text, []byte("roottest.Ne"+"ed(t")) {
				asking["./"+path.Dir(name)] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	makefile, err := fs.ReadFile(root, "Makefile")
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^root_packages := (.*)$`).FindSubmatch(makefile)
	if line == nil {
		t.Fatal("the Makefile has no root_packages")
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(asking)), strings.Fields(string(line[1]))); diff != "" {
		t.Errorf("root_packages of the Makefile (-want +got):\n%s", diff)
	}
}
