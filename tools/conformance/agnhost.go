//go:build linux

package conformance

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/thalassa-cloud/thalassa-ccm/tools/image"
)

// commands are the programs that tests start in a pod, and the packages of Debian that have them. Kubernetes' own image
// has them from Alpine; this one has those of this machine.
func commands() map[string]string {
	return map[string]string{"sh": "dash", "curl": "curl", "nc": "netcat-openbsd", "seq": "coreutils", "wget": "wget"}
}

// agnhost makes the image of agnhost, with programs that tests start beside it. It runs as root, as the tests expect.
func agnhost(executable string, programs []image.File) (v1.Image, error) {
	files := append([]image.File{
		{Path: "/agnhost", Mode: 0o755, Source: executable},
		{Path: "/uploads", Mode: fs.ModeDir | 0o777}, {Path: "/tmp", Mode: fs.ModeDir | 0o777},
		{Path: "/etc/passwd", Mode: 0o644, Content: "root:x:0:0:root:/:/bin/sh\n"},
		// As wget of Alpine: the one of Debian tries 20 times, for minutes where no answer is expected.
		{Path: "/etc/wgetrc", Mode: 0o644, Content: "tries = 1\n"},
	}, programs...)
	made := time.Unix(0, 0)
	layer, err := image.NewLayer(files, made)
	if err != nil {
		return nil, fmt.Errorf("making the image of agnhost: %w", err)
	}
	agnhost, err := image.FromLayers(v1.Platform{OS: "linux", Architecture: runtime.GOARCH}, made,
		v1.Config{Entrypoint: []string{"/agnhost"}, Cmd: []string{"pause"}, Env: []string{"PATH=/bin"}}, layer)
	if err != nil {
		return nil, fmt.Errorf("making the image of agnhost: %w", err)
	}
	return agnhost, nil
}

// programFiles are programs of this machine and the libraries that they need.
func programFiles(ctx context.Context, programs map[string]string) ([]image.File, error) {
	files := map[string]image.File{}
	var missing []error
	for name, pack := range programs {
		path, err := exec.LookPath(name)
		if err != nil {
			missing = append(missing, fmt.Errorf("%s is not installed; install the package %s", name, pack))
			continue
		}
		files["/bin/"+name] = image.File{Path: "/bin/" + name, Mode: 0o755, Source: path}
		libraries, err := libraries(ctx, path)
		if err != nil {
			return nil, err
		}
		for _, library := range libraries {
			files[library] = image.File{Path: library, Mode: 0o755, Source: library}
		}
	}
	return slices.Collect(maps.Values(files)), errors.Join(missing...)
}

// libraries are the paths of the shared libraries that a program needs, and of its loader.
func libraries(ctx context.Context, program string) ([]string, error) {
	output, err := exec.CommandContext(ctx, "ldd", program).Output()
	if err != nil {
		return nil, fmt.Errorf("finding the libraries of %s: %w", program, err)
	}
	var paths []string
	for word := range strings.FieldsSeq(string(output)) {
		if filepath.IsAbs(word) {
			paths = append(paths, word)
		}
	}
	return paths, nil
}

// agnhostImage is the name of the image that the suite runs in pods.
func agnhostImage(ctx context.Context, suite string) (string, error) {
	output, err := exec.CommandContext(ctx, suite, "agnhost-image").Output()
	if err != nil {
		return "", fmt.Errorf("asking the tests for the name of their image: %w", err)
	}
	return strings.TrimSpace(string(output)), nil
}
