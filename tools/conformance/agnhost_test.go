//go:build linux

package conformance

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/thalassa-cloud/thalassa-ccm/tools/image"
)

// TestAgnhost: the image runs agnhost as root, and has programs of this machine with all of their libraries.
func TestAgnhost(t *testing.T) {
	executable := filepath.Join(t.TempDir(), "agnhost")
	if err := os.WriteFile(executable, []byte("agnhost"), 0o600); err != nil {
		t.Fatal(err)
	}
	programs, err := programFiles(t.Context(), map[string]string{"sh": "dash"})
	if err != nil {
		t.Fatal(err)
	}
	made, err := agnhost(executable, programs)
	if err != nil {
		t.Fatal(err)
	}
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	needed, err := libraries(t.Context(), shell)
	if err != nil || len(needed) == 0 {
		t.Fatalf("sh needs %v, error %v", needed, err)
	}
	for path, source := range map[string]string{"/agnhost": executable, "/bin/sh": shell, needed[0]: needed[0]} {
		want, err := os.ReadFile(source)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := image.Extract(made, path); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s differs from %s, error %v", path, source, err)
		}
	}
	config, err := made.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	got := []string{config.OS, config.Architecture, config.Config.User, strings.Join(config.Config.Entrypoint, " ")}
	if diff := cmp.Diff([]string{"linux", runtime.GOARCH, "", "/agnhost"}, got); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
}

// TestBuildSaysFirstWhatIsMissing: nothing is compiled before.
func TestBuildSaysFirstWhatIsMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	err := Build(t.Context(), t.TempDir(), func(line string) { t.Error("it does", line) })
	for name, pack := range commands() {
		if want := name + " is not installed; install the package " + pack; !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// TestSuiteArguments: ginkgo selects the tests, and the tests get the cluster.
func TestSuiteArguments(t *testing.T) {
	f := filesOf("/repo")
	all := suiteArguments(f, "TCP", "/kubeconfig")
	i := slices.Index(all, "/repo/bin/suite/e2e.test")
	if i < 0 || all[i+1] != "--" {
		t.Fatalf("got %q", all)
	}
	for _, want := range []string{"--focus=TCP", "--label-filter=Feature: containsAny LoadBalancer",
		"--json-report=report.json", "--output-dir=/repo/dist/conformance"} {
		if !slices.Contains(all[:i], want) {
			t.Errorf("ginkgo lacks %q: %q", want, all[:i])
		}
	}
	for _, want := range []string{"--kubeconfig=/kubeconfig", "--kubectl-path=/repo/bin/suite/kubectl",
		"--num-nodes=2"} {
		if !slices.Contains(all[i+2:], want) {
			t.Errorf("the tests lack %q: %q", want, all[i+2:])
		}
	}
}
