package rules

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
)

// libraries lists the modules that the packages of a folder link, with their versions. Each folder's own go.mod
// decides.
func libraries(t *testing.T, folder, pkg string) map[string]string {
	t.Helper()
	const format = `{{with .Module}}{{.Path}} {{with .Replace}}{{.Version}}{{else}}{{.Version}}{{end}}{{end}}`
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", format, pkg)
	cmd.Dir = filepath.Join(checkout.Path(t, checkout.Everything), folder)
	cmd.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0")
	output, err := cmd.Output()
	if err != nil {
		t.Fatalf("listing what %s links in %s: %v", pkg, folder, err)
	}
	versions := map[string]string{}
	for line := range strings.Lines(string(output)) {
		if module, version, found := strings.Cut(strings.TrimSpace(line), " "); found {
			versions[module] = version
		}
	}
	return versions
}

// TestLabSharesLibraries: the control plane of tests, CoreDNS and the program have most of their packages in common.
// With other versions, a new machine would compile 900 of them twice, which takes minutes.
func TestLabSharesLibraries(t *testing.T) {
	program := libraries(t, "src", "./cmd/thalassa-cloud-controller-manager")
	for pkg, least := range map[string]int{"tools/lab": 50, "tools/coredns": 45,
		"tools/conformance/suite/e2e.test": 50} {
		folder, shared := filepath.Dir(pkg), 0
		for module, version := range libraries(t, pkg, ".") {
			switch want, ok := program[module]; {
			case ok && want != version:
				t.Errorf("%s/go.mod has %s %s and src/go.mod %s: run go get in the older one", folder, module,
					version, want)
			case ok:
				shared++
			}
		}
		if shared < least {
			t.Errorf("%s shares %d modules, want at least %d: is this the right program?", folder, shared, least)
		}
	}
}
