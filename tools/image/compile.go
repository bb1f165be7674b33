package image

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/thalassa-cloud/thalassa-ccm/tools/repo"
)

// withoutTemplates leaves out the tracing pages of gRPC. They execute HTML templates, and for a program that executes a
// template the linker keeps all methods of all types: the cloud controller manager has 77 MB with them and 48 MB
// without.
const withoutTemplates = "-tags=grpcnotrace"

// Compile builds a program of the repository at root for a platform, as a static executable at target, without debug
// information. The workspace is left out, so that the project's tools do not raise the versions of what the program is
// made of; so are settings of the environment that change what comes out.
func Compile(ctx context.Context, root string, p Program, on v1.Platform, s Stamp, target string) error {
	linker := []string{"-s", "-w", "-buildid="}
	for name, value := range map[string]string{"version": s.Version, "revision": s.Revision,
		"committed": s.committed()} {
		if value != "" {
			linker = append(linker, fmt.Sprintf("-X %s.%s=%s", p.Stamped, name, value))
		}
	}
	slices.Sort(linker[3:])
	build := exec.CommandContext(ctx, "go", slices.Concat(
		[]string{"build", "-trimpath", "-buildvcs=false", withoutTemplates}, repo.CompilerFlags(),
		[]string{"-ldflags", strings.Join(linker, " "), "-o", target, "./cmd/" + p.Name})...)
	build.Dir = filepath.Join(root, filepath.FromSlash(p.Module))
	settings, err := downloads(ctx)
	if err != nil {
		return fmt.Errorf("building %s for %s: %w", p.Name, on, err)
	}
	build.Env = slices.Concat(slices.DeleteFunc(os.Environ(), changesOutput), settings, []string{
		"GOOS=" + on.OS, "GOARCH=" + on.Architecture, "GOENV=off", "GOWORK=off", "CGO_ENABLED=0", "GOFLAGS=",
		"GOAMD64=v1", "GOARM64=v8.0",
		"GOEXPERIMENT=", "GOFIPS140=off",
	})
	var trouble bytes.Buffer
	build.Stdout, build.Stderr = &trouble, &trouble
	if err := build.Run(); err != nil {
		return fmt.Errorf("building %s for %s: %w\n%s", p.Name, on, err, trouble.Bytes())
	}
	return nil
}

// changesOutput reports whether a variable of the environment is one that compile sets itself.
func changesOutput(variable string) bool {
	name, _, _ := strings.Cut(variable, "=")
	return slices.Contains([]string{
		"GOOS", "GOARCH", "GOENV", "GOWORK", "CGO_ENABLED", "GOFLAGS", "GOAMD64", "GOARM64", "GOEXPERIMENT",
		"GOFIPS140",
	}, name)
}

// downloads are the settings that say where modules come from and where they are kept, as NAME=value. Whoever sets them
// with `go env -w` sets them in a file that the build itself does not read, because other settings in there would
// change what comes out.
func downloads(ctx context.Context) ([]string, error) {
	names := []string{"GOPROXY", "GOSUMDB", "GONOPROXY", "GONOSUMDB", "GOPRIVATE", "GOINSECURE", "GOVCS", "GOAUTH",
		"GOCACHE", "GOMODCACHE", "GOTOOLCHAIN"}
	output, err := exec.CommandContext(ctx, "go", append([]string{"env", "-json"}, names...)...).Output()
	if err != nil {
		return nil, fmt.Errorf("asking go env: %w", err)
	}
	var values map[string]string
	if err := json.Unmarshal(output, &values); err != nil {
		return nil, fmt.Errorf("asking go env: %w", err)
	}
	settings := make([]string, 0, len(names))
	for _, name := range names {
		settings = append(settings, name+"="+values[name])
	}
	return settings, nil
}
