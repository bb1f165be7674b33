package command

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/namespace"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/roottest"
)

// Machines are namespaces until the command ends.
func TestNamespaces(t *testing.T) {
	roottest.Need(t, "nft")
	name := "cmd" + strings.ToLower(rand.Text()[:6])
	s := start(t, "--data-plane=netns", "--netns-name="+name, "--machines=1")
	if s.Namespaces != name+"-" || s.Client != namespace.Folder+"/"+name+"-client" ||
		s.Subnet != emulator.DefaultSubnet || s.Network != "" {
		t.Errorf("ready file %+v, want where the namespaces are", s.Ready)
	}
	names, err := namespace.Names(s.Namespaces)
	want := fmt.Sprintf("[%[1]s-client %[1]s-hub %[1]s-machine-00001 %[1]s-vpc1]", name)
	if err != nil || fmt.Sprint(names) != want {
		t.Errorf("namespaces %v, %v, want %s", names, err, want)
	}
	var output, log bytes.Buffer
	if err := execute(t.Context(), t, &output, &log, "clean"); err != nil || strings.Contains(output.String(), name) {
		t.Errorf("clean: %v, %s; want that what runs is not touched", err, output.String())
	}
	printed, err := s.stop()
	if err != nil || !strings.Contains(printed, "Machines are network namespaces: "+name+
		"-NAME. Reach them and load balancers from nsenter --net="+s.Client) {
		t.Errorf("printed %s, %v", printed, err)
	}
	if names, err := namespace.Names(s.Namespaces); err != nil || len(names) != 0 {
		t.Errorf("left at the end: %v, %v", names, err)
	}
}

func TestNamespacesNeedRoot(t *testing.T) {
	for name, tt := range map[string]struct {
		args []string
		want string
	}{
		"serve": {[]string{"--data-plane=netns"}, "only root may make network namespaces"},
		"clean": {[]string{"clean"}, "removing what emulators left: only root may"},
	} {
		var output, log bytes.Buffer
		err := roottest.AsUser(func() error { return execute(t.Context(), t, &output, &log, tt.args...) })
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s as an ordinary user: %v, want %q", name, err, tt.want)
		}
	}
}

// The help has the networks that the data plane takes by itself.
func TestHelpTellsTheClientNetworks(t *testing.T) {
	var output, log bytes.Buffer
	if err := execute(t.Context(), t, &output, &log, "--help"); err != nil ||
		!strings.Contains(output.String(), "(default [198.51.100.0/24,2001:db8:0:ffff::/64])") {
		t.Errorf("%v, %s", err, output.String())
	}
}

func TestNamespacesNeedANameAndAClient(t *testing.T) {
	roottest.Need(t, "nft") // which is checked first
	for flag, want := range map[string]string{
		"--netns-client-networks=x":              `--netns-client-networks: netip.ParsePrefix("x")`,
		"--netns-client-networks=203.0.113.0/31": "client network 203.0.113.0/31",
		"--netns-name=Upper":                     "use a letter and then letters and digits",
		"--netns-client=nobody":                  `opening network namespace "nobody"`,
	} {
		var output, log bytes.Buffer
		if err := execute(t.Context(), t, &output, &log, "--data-plane=netns", flag); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", flag, err, want)
		}
	}
}

// What a killed emulator left is removed.
func TestClean(t *testing.T) {
	roottest.Need(t)
	var output, log bytes.Buffer
	dead := "dead" + strings.ToLower(rand.Text()[:6])
	const runs = "/run/thalassa-emulator"
	if err := errors.Join(os.MkdirAll(runs, 0o755), os.WriteFile(filepath.Join(runs, dead), nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	if _, err := namespace.Create(dead + "-one"); err != nil {
		t.Fatal(err)
	}
	if err := execute(t.Context(), t, &output, &log, "clean"); err != nil {
		t.Fatal(err)
	}
	// Another test's emulator may have been faster, and be at it still.
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.After(timeLimit); ; {
		names, err := namespace.Names(dead)
		if err != nil {
			t.Fatal(err)
		}
		if len(names) == 0 {
			return
		}
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatalf("left: %v; clean printed %q", names, output.String())
		}
	}
}
