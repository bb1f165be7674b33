//go:build linux

package realnode

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
)

func TestRequirements(t *testing.T) {
	all := requirements{
		func() error {
			return nil
		}, func(string) (string, error) { return "/bin/x", nil }, func(string) bool { return true },
		func() ([]string, error) { return []string{"/sys/fs/cgroup"}, nil },
	}
	if err := all.check(); err != nil {
		t.Errorf("nothing is missing, and it says %v", err)
	}
	none := requirements{
		func() error {
			return errors.New("only root may make network namespaces")
		}, func(string) (string, error) { return "", errors.New("not found") },
		func(string) bool { return false }, func() ([]string, error) { return nil, errors.New("no cgroups") },
	}
	says(t, none.check(), "only root", "no cgroups", "containerd, containerd-shim-runc-v2, ctr (package containerd)",
		"runc (package runc)",
		"package conntrack", "package containernetworking-plugins", "ci/e2e-setup.sh")
}

func says(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("everything is missing, and it says nothing")
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%v\ndoes not say %q", err, part)
		}
	}
}

// TestCheckSaysAllAtOnce has no program: one error names those of the network and those of a node.
func TestCheckSaysAllAtOnce(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	says(t, Check(), "package nftables", "package containerd", "package iproute2")
}

// TestSetUpBringsWhatIsNeeded keeps ci/e2e-setup.sh and what nodes ask for the same.
func TestSetUpBringsWhatIsNeeded(t *testing.T) {
	content, err := os.ReadFile(checkout.Path(t, "ci/e2e-setup.sh"))
	if err != nil {
		t.Fatal(err)
	}
	wanted := maps.Clone(programs())
	wanted["nft"] = "nftables"          // of the network, and of kube-proxy
	wanted["prometheus"] = "prometheus" // of the tests
	wanted["mkfs.ext4"] = "e2fsprogs"   // of the tests of the CSI driver
	wanted["mkfs.xfs"] = "xfsprogs"
	wanted["chromium"] = "chromium" // of the test of the emulator's page
	script := "\n" + string(content)
	for program, pack := range wanted {
		if line := fmt.Sprintf("\nneed %s %s\n", program, pack); !strings.Contains(script, line) {
			t.Errorf("the script lacks the line %q", strings.TrimSpace(line))
		}
	}
	if found := strings.Count(script, "\nneed "); found != len(wanted) {
		t.Errorf("the script brings %d programs, and nodes want %d", found, len(wanted))
	}
	for _, part := range append(cniFolders(), "bridge", "host-local", "containernetworking-plugins") {
		if !strings.Contains(script, part) {
			t.Errorf("the script does not check %s", part)
		}
	}
}
