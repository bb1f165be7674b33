package repotest

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// AllPlatforms is the variable of the environment that makes tests of releases compile whole programs for every
// platform.
const AllPlatforms = "ALL_PLATFORMS"

// LimitPlatforms makes the programs in a copy of the sources compile whole for the platform of this machine only. For
// others they do nothing, because compiling Kubernetes takes minutes for each platform. It reports false and changes
// nothing if ALL_PLATFORMS is 1.
func LimitPlatforms(tb testing.TB, sources string) (limited bool) {
	tb.Helper()
	if os.Getenv(AllPlatforms) == "1" {
		return false
	}
	files, err := filepath.Glob(filepath.Join(sources, "src", "cmd", "*", "*.go"))
	if err != nil {
		tb.Fatal(err)
	}
	more, err := filepath.Glob(filepath.Join(sources, "src", "emulator", "cmd", "*", "*.go"))
	if err != nil {
		tb.Fatal(err)
	}
	for _, file := range append(files, more...) {
		limitPlatform(tb, file)
	}
	return true
}

// limitPlatform gives a file of a program a constraint, and the program a file for other platforms.
func limitPlatform(tb testing.TB, file string) {
	tb.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		tb.Fatal(err)
	}
	if strings.HasSuffix(file, "_test.go") || !strings.Contains("\n"+string(content), "\npackage main\n") {
		return
	}
	here := runtime.GOOS + " && " + runtime.GOARCH
	for name, text := range map[string]string{
		file: fmt.Sprintf("//go:build %s\n\n%s", here, content),
		filepath.Join(filepath.Dir(file), "otherplatform.go"): fmt.Sprintf(
			"//go:build !(%s)\n\npackage main\n\nfunc main() {}\n", here),
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
}
