package document_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/ci/document"
	"github.com/thalassa-cloud/thalassa-ccm/tools/repo/repotest"
)

// maxExceptions bounds the commands that no test executes.
const maxExceptions = 10

// execution is a command that another test, or a stage of CI, executes. The files contain the texts.
type execution struct {
	command string
	files   map[string][]string
}

// stage is a command that a stage of CI executes: the target of make with the stage's name, with these settings.
// TestStages runs ci/run.sh, and wants it to run all stages that the Makefile has.
func stage(command, name, settings string) execution {
	line := strings.TrimSpace("stage_" + name + " := " + name + " " + settings)
	return execution{command, map[string][]string{"Makefile": {"\n" + line + "\n"},
		"ci/repository/run_test.go": {"\nfunc TestStages("}}}
}

// elsewhere are the commands that are executed elsewhere.
func elsewhere() []execution {
	const cluster = "ci/e2etest/program_test.go"
	return []execution{
		stage("make demo", "demo", ""),
		stage("make test", "test", "TESTFLAGS=-count=1"),
		stage("make build", "build", ""),
		stage("make fuzz", "fuzz", "FUZZTIME=300x GUIDED=0"),
		stage("make stage STAGE=fuzz", "fuzz", "FUZZTIME=300x GUIDED=0"),
		stage("make lives", "lives", "LIVES_TIME=30s"),
		stage("make bench", "bench", "BENCHTIME=1x"),
		stage("make verify", "verify", "SKIP=rules"), // which the stage test runs
		// As root, ci/run.sh runs ci/e2e-setup.sh itself, which TestFreshMachineFirst wants.
		stage("make e2e-setup e2e SUDO=sudo", "e2e", ""),
		stage("make e2e-setup test-root SUDO=sudo", "test-root", "TESTFLAGS=-count=1"),
		{"make generate", map[string][]string{"Makefile": {"\ncheck-generate: bin/generate\n\t@bin/generate -check\n",
			"\ngenerate: bin/generate ## generate all generated files\n\t@exec bin/generate\n"}}},
		{".ci/run", map[string][]string{".ci/run": {"\nexec bash ci/run.sh\n"},
			"ci/repository/run_test.go": {`"ci/run.sh": `}}},
		{"make cluster SUDO=sudo", map[string][]string{
			"Makefile": {"\t@bin/cluster build\n\t@exec $(as_root) bin/cluster --built "},
			cluster:    {`p.must(t, "build")`, `Args: []string{"--built", `}}},
		{"export KUBECONFIG=$PWD/dist/cluster/kubeconfig", map[string][]string{
			"tools/cluster/statefile.go": {`{ return filepath.Join(root, "dist", "cluster") }`},
			cluster:                      {`want := filepath.Join(p.state, "kubeconfig")`}}},
		{"bin/cluster add-node worker-3", map[string][]string{cluster: {`p.must(t, "add-node", "worker-`}}},
		{"sudo bin/cluster load-image image.tar", map[string][]string{
			cluster: {`p.must(t, "load-image", p.archive(t))`}}},
	}
}

// documentsElsewhere are the documents whose commands another test reads and executes, by the test.
func documentsElsewhere() map[string]string {
	return map[string]string{
		"src/emulator/README.md":            "src/emulator/readme_test.go",
		"docs/guides/emulator-ci.md":        "src/emulator/readme_test.go",
		"docs/guides/emulator-cli.md":       "src/emulator/readme_test.go",
		"docs/guides/emulator-faults.md":    "src/emulator/readme_test.go",
		"docs/guides/emulator-terraform.md": "src/emulator/readme_test.go",
		"docs/tutorials/demo.md":            "ci/document/tutorial_test.go",
		"docs/guides/verify-a-release.md":   "ci/releasetest/guides_test.go",
		"docs/guides/without-internet.md":   "ci/releasetest/guides_test.go",
	}
}

// excluded reports whether a command of a document is not executed with the others.
func excluded(command string) bool {
	if _, is := document.Exceptions()[command]; is {
		return true
	}
	return slices.ContainsFunc(elsewhere(), func(e execution) bool { return e.command == command })
}

// TestElsewhere: every command that is said to be executed elsewhere is, every exception is needed, and there are few.
func TestElsewhere(t *testing.T) {
	root := repotest.Root(t)
	commands := map[string]bool{}
	for path := range documents(t, root) {
		for _, block := range blocks(t, root, path) {
			for _, command := range document.Lines(block.Script) {
				commands[command] = true
			}
		}
	}
	for _, e := range elsewhere() {
		if !commands[e.command] {
			t.Errorf("no document has the command %q any more: remove it from elsewhere", e.command)
		}
		for file, texts := range e.files {
			contains(t, filepath.Join(root, file), texts...)
		}
	}
	for command, reason := range document.Exceptions() {
		if !commands[command] {
			t.Errorf("no document has the command %q any more, which is not executed because it %s", command, reason)
		}
	}
	if len(document.Exceptions()) > maxExceptions {
		t.Errorf("%d commands are not executed, at most %d may be", len(document.Exceptions()), maxExceptions)
	}
	for path, test := range documentsElsewhere() {
		contains(t, filepath.Join(root, test), filepath.Base(path))
	}
}

// contains wants a file to contain texts.
func contains(t *testing.T, file string, texts ...string) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range texts {
		if !strings.Contains(string(content), text) {
			t.Errorf("%s does not contain %q", file, text)
		}
	}
}
