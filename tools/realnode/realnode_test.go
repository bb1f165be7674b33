//go:build linux

package realnode

import (
	"encoding/json"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/thalassa-cloud/thalassa-ccm/tools/process"
)

func TestCNIFolder(t *testing.T) {
	there := func(folder string) func(string) bool {
		return func(path string) bool { return filepath.Dir(path) == folder }
	}
	for _, folder := range cniFolders() {
		if got, err := cniFolder(there(folder)); err != nil || got != folder {
			t.Errorf("got %s and %v, want %s", got, err, folder)
		}
	}
	half := func(path string) bool { return filepath.Base(path) == "bridge" }
	if got, err := cniFolder(half); err == nil {
		t.Errorf("half of the plug-ins are there, got %s", got)
	}
}

// TestImportArguments: the arguments with which each version of containerd's client unpacks an archive with our
// snapshotter.
func TestImportArguments(t *testing.T) {
	for version, want := range map[string]string{
		"ctr github.com/containerd/containerd 1.6.20~ds1\n": "images import --snapshotter native",
		"ctr containerd.io 1.7.27\n":                        "images import --snapshotter native",
		"ctr github.com/containerd/containerd v1.7.2":       "images import --snapshotter native",
		"ctr github.com/containerd/containerd/v2 v2.0.5\n":  "images import --snapshotter native --local",
		"ctr github.com/containerd/containerd/v2 2.1.4+ds2": "images import --snapshotter native --local",
		"ctr github.com/containerd/containerd/v10 v10.0.0":  "images import --snapshotter native --local",
	} {
		if got, err := importArguments(version); err != nil || strings.Join(got, " ") != want {
			t.Errorf("%q: %v and %v, want %s", version, got, err, want)
		}
	}
	if got, err := importArguments("ctr github.com/containerd/containerd/v2 unknown"); err == nil ||
		!strings.Contains(err.Error(), "unknown") {
		t.Errorf("got %v and %v, want what it says", got, err)
	}
}

func TestCNIConfiguration(t *testing.T) {
	text, err := cniConfiguration([]string{"10.244.1.0/24", "fd00:10:244::/64"})
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		Plugins []struct {
			Type string
			IPAM struct {
				Ranges [][]struct{ Subnet string }
				Routes []struct{ Dst string }
			}
		}
	}
	if err := json.Unmarshal(text, &config); err != nil {
		t.Fatal(err)
	}
	ipam := config.Plugins[0].IPAM
	if len(ipam.Ranges) != 2 || ipam.Ranges[0][0].Subnet != "10.244.1.0/24" ||
		ipam.Ranges[1][0].Subnet != "fd00:10:244::/64" {
		t.Errorf("pods are in %+v", ipam.Ranges)
	}
	if len(ipam.Routes) != 2 || ipam.Routes[0].Dst != "0.0.0.0/0" || ipam.Routes[1].Dst != "::/0" {
		t.Errorf("they reach %+v", ipam.Routes)
	}
	if _, err := cniConfiguration(nil); err == nil {
		t.Error("a node without a network for its pods has one")
	}
}

func TestSetPodCIDRs(t *testing.T) {
	n := &Node{options: Options{Name: "worker-1", Dir: t.TempDir()}}
	for _, cidr := range []string{"10.244.1.0/24", "10.244.2.0/24"} {
		if err := n.SetPodCIDRs(cidr); err != nil {
			t.Fatal(err)
		}
	}
	files, err := filepath.Glob(filepath.Join(n.options.Dir, "lib/cni/net.d/*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("files %v and %v, want one", files, err)
	}
	if content, err := os.ReadFile(files[0]); err != nil || !strings.Contains(string(content), "10.244.2.0/24") {
		t.Errorf("got %s and %v, want the second network", content, err)
	}
}

func TestKubeletConfig(t *testing.T) {
	read := func(o Options) (config map[string]any) {
		t.Helper()
		text, err := kubeletConfig(o)
		if err == nil {
			err = yaml.Unmarshal(text, &config)
		}
		if err != nil {
			t.Fatal(err)
		}
		return config
	}
	worker := read(Options{Cgroup: "run.worker-1."})
	if worker["cgroupRoot"] != "/run.worker-1." {
		t.Errorf("the cgroup is %v", worker["cgroupRoot"])
	}
	if worker["registerWithTaints"] != nil {
		t.Errorf("a worker has the taints %v", worker["registerWithTaints"])
	}
	if worker["clusterDNS"] != nil || worker["clusterDomain"] != nil {
		t.Errorf("without a name server: %v in %v", worker["clusterDNS"], worker["clusterDomain"])
	}
	named := read(Options{DNS: netip.MustParseAddr("10.96.0.10"), Domain: "cluster.local"})
	if !cmp.Equal(named["clusterDNS"], []any{"10.96.0.10"}) || named["clusterDomain"] != "cluster.local" {
		t.Errorf("the name server is %v, for %v", named["clusterDNS"], named["clusterDomain"])
	}
	if anonymous := worker["authentication"].(map[string]any)["anonymous"]; !cmp.Equal(anonymous,
		map[string]any{"enabled": false}) {
		t.Errorf("anybody may ask the kubelet: %v", anonymous)
	}
	control := read(Options{Taints: []corev1.Taint{{Key: "mine", Effect: corev1.TaintEffectNoSchedule}}})
	if want := []any{map[string]any{"key": "mine", "effect": "NoSchedule"}}; !cmp.Equal(want,
		control["registerWithTaints"]) {
		t.Errorf("got the taints %v", control["registerWithTaints"])
	}
}

func TestAddresses(t *testing.T) {
	if got := addresses([]netip.Addr{netip.MustParseAddr("10.0.0.5"),
		netip.MustParseAddr("fd00::5")}); got != "10.0.0.5,fd00::5" {
		t.Errorf("got %q", got)
	}
}

func TestLongFolder(t *testing.T) {
	_, err := Start(t.Context(), Options{Name: "worker-1", Dir: "/" + strings.Repeat("x", 100),
		Cgroup: "thalassa-test-that-is-not-there."})
	if err == nil || !strings.Contains(err.Error(), "choose a shorter one") {
		t.Errorf("got %v, want what to do", err)
	}
}

// TestErr: Err reports a program that has ended by itself, until the machine is switched off.
func TestErr(t *testing.T) {
	for script, why := range map[string]string{"exit 3": "3", "exit 0": "ended well", "exec sleep 60": ""} {
		p, err := process.Start(t.Context(), process.Spec{
			Name: "containerd", Path: "/bin/sh", Args: []string{"-c", script}, LogPath: filepath.Join(t.TempDir(),
				"log"),
		})
		if err != nil {
			t.Fatal(err)
		}
		n := &Node{options: Options{Name: "worker-1", Cgroup: "thalassa-test-that-is-not-there."},
			components: []*process.Process{p}}
		if why != "" {
			<-p.Done()
		}
		err = n.Err()
		if (err == nil) != (why == "") || err != nil && (!strings.Contains(err.Error(), "worker-1") ||
			!strings.Contains(err.Error(), why)) {
			t.Errorf("%s: %v, want %q", script, err, why)
		}
		if err := n.Stop(); err != nil {
			t.Error(err)
		}
		if err := n.Err(); err != nil {
			t.Errorf("%s: of a machine that is off, %v", script, err)
		}
		if err := p.Stop(time.Second); err != nil && why == "" {
			t.Error(err)
		}
	}
}
