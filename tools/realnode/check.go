//go:build linux

package realnode

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/thalassa-cloud/thalassa-ccm/tools/cgroup"
)

// programs are those that a node needs of the distribution, and the packages of Debian that have them.
func programs() map[string]string {
	return map[string]string{
		"containerd": "containerd", "containerd-shim-runc-v2": "containerd", "ctr": "containerd", "runc": "runc",
		"nsenter": "util-linux", "mount": "mount", "umount": "mount", "nft": "nftables", "conntrack": "conntrack", "ip": "iproute2",
	}
}

// requirements find out what a machine lacks.
type requirements struct {
	user   int
	find   func(program string) (path string, err error)
	exists func(path string) bool
}

// Check says what nodes cannot do without and this machine lacks, all of it at once; nil is nothing.
func Check() error {
	if err := (requirements{os.Geteuid(), exec.LookPath, exists}).check(); err != nil {
		return err
	}
	_, err := cgroup.Hierarchies()
	return err
}

func (r requirements) check() error {
	var lacks []string
	if r.user != 0 {
		lacks = append(lacks, "they need root: run it with sudo")
	}
	packages := map[string][]string{}
	for program, pack := range programs() {
		if _, err := r.find(program); err != nil {
			packages[pack] = append(packages[pack], program)
		}
	}
	for _, pack := range slices.Sorted(maps.Keys(packages)) {
		slices.Sort(packages[pack])
		lacks = append(lacks, fmt.Sprintf("%s (package %s) is not installed", strings.Join(packages[pack], ", "), pack))
	}
	if _, err := cniFolder(r.exists); err != nil {
		lacks = append(lacks, err.Error()+" (package containernetworking-plugins)")
	}
	if len(lacks) == 0 {
		return nil
	}
	return fmt.Errorf("this machine cannot run real nodes: %w; ci/e2e-setup.sh installs what a distribution has", errors.New(strings.Join(lacks, "; ")))
}
