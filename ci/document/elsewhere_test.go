package document_test

import (
	"os"
	"path/filepath"
	"regexp"
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

// staged returns a function that reports whether stages of CI make all targets of a command of make, with its settings.
// TestStages wants ci/run.sh to run all stages that the Makefile has.
func staged(t *testing.T, root string) func(command string) bool {
	t.Helper()
	made := [][]string{{"e2e-setup"}} // as root, which TestFreshMachineFirst wants
	contains(t, filepath.Join(root, "ci/run.sh"), "\n\tbash ci/e2e-setup.sh\n")
	contains(t, filepath.Join(root, "Makefile"), "\n\t@exec $(as_root) bash ci/e2e-setup.sh\n")
	contains(t, filepath.Join(root, "ci/repository/run_test.go"), "\nfunc TestStages(")
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range regexp.MustCompile(`(?m)^stage_(\S+) := (.+)$`).FindAllStringSubmatch(string(makefile), -1) {
		made = append(made, strings.Fields(found[2]), []string{"stage", "STAGE=" + found[1]})
	}
	return func(command string) bool {
		all := words(command)
		targets := slices.DeleteFunc(slices.Clone(all[1:]), isSetting)
		settings := slices.DeleteFunc(all[1:], func(word string) bool {
			return !isSetting(word) || word == "SUDO=sudo"
		})
		return all[0] == "make" && len(targets) > 0 && !slices.ContainsFunc(targets, func(target string) bool {
			return !slices.ContainsFunc(made, func(words []string) bool {
				return words[0] == target && !slices.ContainsFunc(settings, func(setting string) bool {
					return !slices.Contains(words, setting)
				})
			})
		})
	}
}

func isSetting(word string) bool { return strings.Contains(word, "=") }

// elsewhere are the commands that are executed elsewhere.
func elsewhere() []execution {
	const cluster, releases = "ci/e2etest/program_test.go", "ci/releasetest/published_test.go"
	const demo, page = "tools/demo/external_test.go", "ci/e2etest/page_test.go"
	by := func(command, file string, texts ...string) execution {
		return execution{command, map[string][]string{file: texts}}
	}
	return []execution{
		{"make generate", map[string][]string{"Makefile": {"\ncheck-generate: bin/generate\n\t@bin/generate -check\n",
			"\ngenerate: bin/generate ## generate all generated files\n\t@exec bin/generate\n"}}},
		by("go work sync", "Makefile", `(cd "$$copy" && $(GO) work sync)`),
		by("GOWORK=off go mod tidy", "Makefile", "GOWORK=off $(GO) mod tidy -diff"),
		{".ci/run", map[string][]string{".ci/run": {"\nexec bash ci/run.sh\n"},
			"ci/repository/run_test.go": {`"ci/run.sh": `}}},
		by("make cut CHART=thalassa-csi", "ci/repository/makefile_test.go", `"make", "cut", "CHART=page"`),
		{"make bench LARGE=1", map[string][]string{
			"tools/bench/bench_test.go": {"\nfunc TestCheckOfTheLargestClusters("},
			"Makefile":                  {"\t@exec bin/bench ", " $(if $(filter 1,$(LARGE)),-large)\n"}}},
		by("make soak SOAK_SEED=5 SOAK_ROUND=17", "ci/repository/makefile_test.go",
			`"soak", "SOAK_SEED=5", "SOAK_ROUND=17"`),
		by("make versions", "ci/repository/makefile_test.go", `run("--dry-run", "versions")`),
		{"make lab K8S=1.34", map[string][]string{
			"ci/repository/makefile_test.go":   {`run("--silent", show, "show", "K8S=1.34")`},
			"tools/controlplane/build_test.go": {`{"1.98", "lab-1.98", `}}},
		{"make image", map[string][]string{"Makefile": {"\n\t@exec bin/image --version='$(VERSION)' --revision="},
			"tools/image/image_test.go": {`repotest.Command(t, "image"), "--version="`}}},
		{"make push REGISTRY=registry.example.com/path", map[string][]string{
			"Makefile":                  {"@exec bin/image --push='$("},
			"tools/cmd/image/main.go":   {"image.PushAll("},
			"tools/image/image_test.go": {"PushAll(t.Context(), folder,"}}},
		by("make release VERSION=v1.2.3", releases, `"make release VERSION=v1.2.3"`),
		by("make publish VERSION=v1.2.3 KEY=cosign.pub", releases, `"make publish VERSION=v1.2.3 KEY=cosign.pub"`),
		by("git tag --annotate --message=v1.2.3 v1.2.3", releases, `"git tag --annotate --message=v1.2.3 v1.2.3"`),
		by("kubectl krew install --manifest-url=https://github.com/thalassa-cloud/thalassa-ccm/releases/download/"+
			"v1.2.3/thalassa.yaml", "ci/releasetest/plugin_test.go", `p.guide(t, "docs/guides/kubectl.md", `,
			"blocks[0]"),
		by("make demo CLUSTER=<context>", demo, "\nfunc TestInTheUsersOwnCluster("),
		{"make cluster SUDO=sudo", map[string][]string{
			"Makefile": {"\t@bin/cluster build\n\t@exec $(as_root) bin/cluster --built ",
				"\t@bin/cluster build\n\t@exec $(as_root) bin/gotest -race=0 -packages=./ci/e2etest "},
			cluster: {`Args: []string{"--built", `}}},
		{"make cluster CLOUD=ironcore", map[string][]string{
			"tools/cmd/cluster/main.go":   {`o.IronCore = name == "ironcore"`},
			"ci/e2etest/ironcore_test.go": {"cluster.Options{IronCore: true, "}}},
		{"make conformance SUDO=sudo", map[string][]string{
			"ci/repository/makefile_test.go": {`"conformance": {"FOCUS=`},
			".github/workflows/nightly.yaml": {"run: make e2e-setup conformance SUDO=sudo"}}},
		{"bin/cluster --own-networks --bare", map[string][]string{
			"ci/e2etest/killed_test.go": {`Args: []string{"--bare", `},
			"tools/cmd/cluster/main.go": {"o.Networks = cluster.OwnNetworks"}, "ci/e2etest/main_test.go": {"o.Bare, "},
			"ci/e2etest/volumes_test.go": {"Networks: cluster.OwnNetworks}"}}},
		{"export KUBECONFIG=$PWD/dist/cluster/kubeconfig", map[string][]string{
			"tools/cluster/statefile.go": {`{ return filepath.Join(root, "dist", "cluster") }`},
			cluster:                      {`want := filepath.Join(p.state, "kubeconfig")`}}},
		by("bin/cluster add-node worker-3", cluster, `p.must(t, "add-node", "worker-`),
		by("sudo bin/cluster load-image image.tar", cluster, `p.must(t, "load-image", p.archive(t))`),
		by("make e2e TESTFLAGS='-run TestCluster/Prometheus'", "ci/e2etest/main_test.go", "\nfunc TestCluster(",
			`proof{"Prometheus `),
		by("make e2e TESTFLAGS='-run TestPage' PICTURE=1", page, "\nfunc TestPage(", `os.Getenv(newPicture) != ""`),
		{"ctr --namespace k8s.io images import ARCHIVE", map[string][]string{cluster: {`p.must(t, "load-image", `},
			"tools/realnode/containerd.go": {`"--namespace", images}`, `[]string{"images", "import", `}}},
		by("thalassa-emulator health", "src/emulator/command/environment_test.go",
			`append([]string{"health"}, args...)`),
		by("thalassa-emulator clean", "src/emulator/command/netns_linux_test.go", `&output, &log, "clean")`),
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

// excluded returns a function that reports whether a command of a document is not executed with the others.
func excluded(t *testing.T, root string) func(command string) bool {
	t.Helper()
	staged := staged(t, root)
	return func(command string) bool {
		_, is := document.Exceptions()[command]
		return is || staged(command) ||
			slices.ContainsFunc(elsewhere(), func(e execution) bool { return e.command == command })
	}
}

// TestStaged: a command of make that a stage does not make so is not executed by CI.
func TestStaged(t *testing.T) {
	staged := staged(t, repotest.Root(t))
	for command, want := range map[string]bool{"make demo": true, "make test verify": true,
		"make e2e-setup e2e SUDO=sudo": true, "make stage STAGE=fuzz": true, "make stage STAGE=other": false,
		"make demo CLOUD=ironcore": false, "make test push": false, "make": false, "go test": false} {
		if staged(command) != want {
			t.Errorf("%q is made by stages: %t, want %t", command, !want, want)
		}
	}
}

// TestElsewhere: every command that is said to be executed elsewhere is, every exception is needed, and there are few.
func TestElsewhere(t *testing.T) {
	root := repotest.Root(t)
	commands := blockCommands(t, root)
	for command := range inline(t, root) {
		commands[command] = true
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
