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

// exceptions are the commands that no test executes, with the reason.
func exceptions() map[string]string {
	return map[string]string{
		`docker cp "$(docker create IMAGE)":/thalassa-cloud-controller-manager kubectl-thalassa`: "needs Docker",
		"kubectl krew install --manifest-url=https://github.com/thalassa-cloud/thalassa-ccm/releases/download/v1.2.3/" +
			"thalassa.yaml": "needs a release on GitHub",
		"make pin-packages": "changes what images contain, and needs a mirror of Debian",
	}
}

// execution is a command that another test, or a stage of CI, executes. The files contain the texts.
type execution struct {
	command string
	files   map[string][]string
}

// stage is a target of make that a stage of CI makes.
func stage(command, target string) execution {
	return execution{command, map[string][]string{"Makefile": {"\nstage_" + target + " := " + target},
		"ci/run.sh": {`make stage "STAGE=$name"`, target}}}
}

// release is a command about a release. The test of a release does the same with the program that make starts.
func release(command, recipe, test string) execution {
	return execution{command, map[string][]string{"Makefile": {recipe}, "ci/releasetest/published_test.go": {test}}}
}

// elsewhere are the commands that are executed elsewhere.
func elsewhere() []execution {
	const cluster, published = "ci/e2etest/program_test.go", "ci/releasetest/published_test.go"
	const mirror, verify = "bin/release mirror --version=", "bin/release verify --version="
	return append(releases(mirror, verify, published), []execution{
		stage("make demo", "demo"),
		stage("make test", "test"),
		stage("make build", "build"),
		stage("make fuzz", "fuzz"),
		stage("make lives", "lives"),
		stage("make bench", "bench"),
		stage("make verify", "verify"),
		{"make test PACKAGES=./src/config/ TESTFLAGS=-run=Decode", map[string][]string{
			"Makefile": {"\nstage_test-as-root := test RACE=0 PACKAGES='$(root_packages)' TESTFLAGS=-count=1 "}}},
		{"TRIAL_SEED=5 TRIAL_LIVES=100 go test -run TestLives ./src/thalassa", map[string][]string{
			"Makefile": {"TRIAL_SEED=$$seed TRIAL_TIME=$(lives_time) TRIAL_LIVES=40 exec $(GO) test ",
				"'^TestLives$$'"}}},
		{"make stage STAGE=fuzz", map[string][]string{"ci/run.sh": {`make stage "STAGE=$name"`, " fuzz; do"}}},
		{"make generate", map[string][]string{"Makefile": {"check-generate: bin/generate\n\t@bin/generate -check\n",
			"generate: bin/generate ## generate all generated files\n\t@exec bin/generate\n"}}},
		{"make e2e-setup e2e SUDO=sudo", map[string][]string{"Makefile": {"\nstage_e2e := e2e\n"},
			"ci/run.sh": {"bash ci/e2e-setup.sh\n", "stage e2e\n"}}},
		{"make e2e-setup test-root SUDO=sudo", map[string][]string{"Makefile": {"\nstage_test-root := test-root "},
			"ci/run.sh": {"bash ci/e2e-setup.sh\n", "stage test-root\n"}}},
		{".ci/run", map[string][]string{".ci/run": {"exec bash ci/run.sh\n"},
			"ci/repository/run_test.go": {`"ci/run.sh": `}}},
		{"make cluster SUDO=sudo", map[string][]string{"Makefile": {"bin/cluster --built "}, cluster: {`"--built"`}}},
		{"export KUBECONFIG=$PWD/dist/cluster/kubeconfig", map[string][]string{cluster: {"clientcmd."}}},
		{"bin/cluster add-node worker-3", map[string][]string{cluster: {`"add-node", "worker-`}}},
		{"sudo bin/cluster load-image image.tar", map[string][]string{cluster: {`"load-image", p.archive(t)`}}},
	}...)
}

// releases are the commands about releases. A release is made of images for all platforms, so one test makes one.
func releases(mirror, verify, published string) []execution {
	all := []execution{
		release("make mirror VERSION=v1.2.3 KEY=cosign.pub TO=registry.example.com/thalassa-ccm", mirror,
			`"mirror", "--from="+p.base, "--to="+mirror`),
		release("make verify-release VERSION=v1.2.3 KEY=cosign.pub REGISTRY=registry.example.com/thalassa-ccm", verify,
			`"verify", "--registry="+mirror, "--key="`),
		release("make verify-release VERSION=v1.2.3 KEY=cosign.pub", verify,
			`"verify", "--registry="+p.base, "--key="`),
		release("make mirror VERSION=v1.2.3 KEY=cosign.pub FOLDER=thalassa-ccm-1.2.3", mirror,
			`"mirror", "--from="+p.base, "--to-folder="`),
		release("git checkout v1.2.3 && make release VERSION=v1.2.3 DRY_RUN=1", "bin/release make --version=",
			`"make", "--dry-run", "--revision="`),
	}
	for command, text := range map[string]string{
		"cp bin/release cosign.pub thalassa-ccm-1.2.3/": `there.write(t, "cosign.pub", p.key)`,
		"cd thalassa-ccm-1.2.3":                         "there.sources = t.TempDir()",
		"./release publish --folder=. --key=cosign.pub --registry=registry.example.com/thalassa-ccm": `"publish", ` +
			`"--folder="+folder`,
		"./release verify --version=v1.2.3 --key=cosign.pub " +
			"--registry=registry.example.com/thalassa-ccm": `there.run(t, nil, "verify", "--registry="+other)`,
		"cat dist/release/v1.2.3/images.txt": `p.file("images.txt")`,
		"cosign verify --key cosign.pub --insecure-ignore-tlog -a artifact=cloud-controller-manager -a version=1.2.3 " +
			"ghcr.io/thalassa-cloud/thalassa-ccm/cloud-controller-manager:1.2.3": "cosign.VerifyImageSignatures(",
		"cosign verify --key cosign.pub --insecure-ignore-tlog -a artifact=charts/thalassa-ccm -a version=1.2.3 " +
			"ghcr.io/thalassa-cloud/thalassa-ccm/charts/thalassa-ccm:1.2.3": `Annotations: map[string]any{"artifact": `,
		"helm install thalassa-ccm oci://registry.example.com/thalassa-ccm/charts/thalassa-ccm --version 1.2.3 " +
			"--namespace kube-system --set image.registry=registry.example.com --set " +
			"image.repository=thalassa-ccm/cloud-controller-manager --values " +
			"my-values.yaml": `t.Run("helm 4", p.testHelm4)`,
	} {
		all = append(all, execution{command, map[string][]string{published: {text}}})
	}
	return all
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
	}
}

// excluded reports whether a command of a document is not executed with the others.
func excluded(command string) bool {
	if _, is := exceptions()[command]; is {
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
	for command, reason := range exceptions() {
		if !commands[command] {
			t.Errorf("no document has the command %q any more, which is not executed because it %s", command, reason)
		}
	}
	if len(exceptions()) > maxExceptions {
		t.Errorf("%d commands are not executed, at most %d may be", len(exceptions()), maxExceptions)
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
