//go:build linux

package realnode

import (
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/netns"
	"github.com/thalassa-cloud/thalassa-ccm/tools/cgroup"
)

// programs are those that a node needs of the distribution, and the packages of Debian that have them. What its network
// needs is known by netns.
func programs() map[string]string {
	return map[string]string{
		"containerd": "containerd", "containerd-shim-runc-v2": "containerd", "ctr": "containerd", "runc": "runc",
		"nsenter": "util-linux", "mount": "mount", "umount": "mount", "losetup": "mount",
		"conntrack": "conntrack", "ip": "iproute2",
	}
}

// requirements find out what a machine lacks.
type requirements struct {
	network func() error
	find    func(program string) (path string, err error)
	exists  func(path string) bool
	cgroups func() ([]string, error)
}

// Check says what nodes and their network cannot do without and this machine lacks, all of it at once; nil is nothing.
func Check() error {
	return requirements{netns.Check, exec.LookPath, exists, cgroup.Hierarchies}.check()
}

func (r requirements) check() error {
	_, cgroups := r.cgroups()
	lacks := errors.Join(r.network(), r.programs(), r.plugins(), cgroups)
	if lacks == nil {
		return nil
	}
	return fmt.Errorf("this machine cannot run real nodes; ci/e2e-setup.sh installs what a distribution has:\n%w",
		lacks)
}

func (r requirements) programs() error {
	packages := map[string][]string{}
	for program, pack := range programs() {
		if _, err := r.find(program); err != nil {
			packages[pack] = append(packages[pack], program)
		}
	}
	var lacks []error
	for _, pack := range slices.Sorted(maps.Keys(packages)) {
		slices.Sort(packages[pack])
		lacks = append(lacks, fmt.Errorf("%s (package %s) is not installed", strings.Join(packages[pack], ", "), pack))
	}
	return errors.Join(lacks...)
}

func (r requirements) plugins() error {
	if _, err := cniFolder(r.exists); err != nil {
		return fmt.Errorf("%w (package containernetworking-plugins)", err)
	}
	return nil
}
