//go:build linux

package realnode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/renameio/v2"
)

// Where things are on a machine. /var/lib and /run are its own, and so these are the places where
// all programs expect them.
const (
	socket    = "/run/containerd/containerd.sock"
	cniConfig = "/var/lib/cni/net.d"
	// ownFiles are ours, beside what the programs keep.
	ownFiles = "/var/lib/lab"
	// images is containerd's namespace of what Kubernetes uses.
	images = "k8s.io"
	// snapshotter copies instead of overlaying, which works on every file system.
	snapshotter = "native"
)

// cniFolders are where distributions have the programs of CNI.
func cniFolders() []string { return []string{"/usr/lib/cni", "/opt/cni/bin", "/usr/libexec/cni"} }

// containerdConfig lets containers be no less likely to be killed for their memory than containerd itself: in a
// container or a virtual machine of CI, root may lack the capability for that, and then no pod starts.
func containerdConfig(sandboxImage, cniFolder string) string {
	return fmt.Sprintf(`version = 2
root = "/var/lib/containerd"
state = "/run/containerd"
[grpc]
  address = %q
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = %q
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = %q
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = %q
    conf_dir = %q
`, socket, sandboxImage, snapshotter, cniFolder, cniConfig)
}

func (n *Node) startContainerd(ctx context.Context) error {
	p, err := n.run(ctx, "containerd", "containerd", "--config", ownFiles+"/containerd.toml")
	if err != nil {
		return err
	}
	return n.await(ctx, "containerd answers", p, func(ctx context.Context) error {
		return ctr(ctx, n.options.Dir, "version")
	})
}

// ctr runs a command of containerd's own client, which is on the host and finds the machine's socket
// below its folder.
func ctr(ctx context.Context, dir string, args ...string) error {
	output, err := exec.CommandContext(ctx, "ctr",
		append([]string{"--address", filepath.Join(dir, socket), "--namespace", images}, args...)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ctr %s: %w\n%s", strings.Join(args, " "), err, output)
	}
	return nil
}

func (n *Node) importImages(ctx context.Context) error {
	for _, archive := range n.options.Images {
		if err := Import(ctx, n.options.Dir, archive); err != nil {
			return err
		}
	}
	return nil
}

// Import makes the images of an archive known to the node whose machine has its files in dir: an
// archive as `make image` and `docker save` write it.
func Import(ctx context.Context, dir, archive string) error {
	version, err := exec.CommandContext(ctx, "ctr", "--version").CombinedOutput()
	if err != nil {
		return fmt.Errorf("asking ctr for its version: %w\n%s", err, version)
	}
	arguments, err := importArguments(string(version))
	if err == nil {
		err = ctr(ctx, dir, append(arguments, archive)...)
	}
	if err != nil {
		return fmt.Errorf("importing %s into node %s: %w", archive, filepath.Base(dir), err)
	}
	return nil
}

// majorVersion finds the first number of the version in what `ctr --version` says.
var majorVersion = regexp.MustCompile(`\sv?(\d+)\.\d+`)

// importArguments are the command that imports an archive. From version 2 on, containerd itself would unpack it, and
// for that it knows only the snapshotter of its own configuration (issue 11228 of containerd); asked to do it locally,
// ctr does it as before. Version 1.6 does not know the word.
func importArguments(version string) ([]string, error) {
	found := majorVersion.FindStringSubmatch(version)
	if found == nil {
		return nil, fmt.Errorf("ctr --version says %q, which has no version", strings.TrimSpace(version))
	}
	major, err := strconv.Atoi(found[1])
	if err != nil {
		return nil, fmt.Errorf("reading the version of ctr: %w", err)
	}
	arguments := []string{"images", "import", "--snapshotter", snapshotter}
	if major >= 2 {
		arguments = append(arguments, "--local")
	}
	return arguments, nil
}

// SetPodCIDRs sets the networks of the pods of the node, which makes it Ready: at most one network of each
// family. What they had before is gone.
func (n *Node) SetPodCIDRs(cidrs ...string) error {
	config, err := cniConfiguration(cidrs)
	if err == nil {
		err = replace(filepath.Join(n.options.Dir, "lib/cni/net.d/10-pods.conflist"), config)
	}
	if err != nil {
		return fmt.Errorf("configuring node %s with its pods' network: %w", n.options.Name, err)
	}
	return nil
}

// cniConfiguration connects pods to a bridge of their machine, which routes them.
func cniConfiguration(cidrs []string) ([]byte, error) {
	if len(cidrs) == 0 {
		return nil, errors.New("it has none")
	}
	type object = map[string]any
	var ranges [][]object
	var routes []object
	for _, cidr := range cidrs {
		all := "0.0.0.0/0"
		if strings.Contains(cidr, ":") {
			all = "::/0"
		}
		ranges, routes = append(ranges, []object{{"subnet": cidr}}), append(routes, object{"dst": all})
	}
	return json.MarshalIndent(object{
		"cniVersion": "0.4.0", "name": "pods", "plugins": []object{{
			// A pod may reach itself through a Service.
			"type": "bridge", "bridge": "cni0", "isGateway": true, "ipMasq": false, "hairpinMode": true,
			"ipam": object{"type": "host-local", "ranges": ranges, "routes": routes},
		}},
	}, "", "  ")
}

// replace writes a file in one step. The temporary file is in the same folder, because containerd, which watches the
// folder of CNI's configuration, ignores files that are created there, and reads it again when one is renamed there.
func replace(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return renameio.WriteFile(path, content, 0o644, renameio.WithTempDir(filepath.Dir(path)))
}

// cniFolder finds the programs of CNI.
func cniFolder(exists func(string) bool) (string, error) {
	folders := cniFolders()
	i := slices.IndexFunc(folders, func(folder string) bool {
		return exists(filepath.Join(folder, "bridge")) && exists(filepath.Join(folder, "host-local"))
	})
	if i < 0 {
		return "", fmt.Errorf("the CNI plug-ins bridge and host-local are in none of %s", strings.Join(folders, ", "))
	}
	return folders[i], nil
}
