package controlplane

import (
	"net"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

func TestDefaults(t *testing.T) {
	t.Chdir(t.TempDir())
	o, err := Options{Dir: "state", Binary: "lab"}.complete(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !filepath.IsAbs(o.Dir) {
		t.Errorf("the folder %q is not absolute: components run in another one", o.Dir)
	}
	for got, want := range map[string]string{
		o.Address.String(): "127.0.0.1", o.ServiceCIDR: "10.96.0.0/16", o.PodCIDR: "10.244.0.0/16",
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestGivenOptionsStay(t *testing.T) {
	given := Options{
		Dir: t.TempDir(), Binary: "lab", Address: netip.MustParseAddr("127.1.2.3"),
		ServiceCIDR: "10.1.0.0/16", PodCIDR: "10.2.0.0/16",
		NodeMonitorGracePeriod: time.Second,
	}
	got, err := given.complete(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got.Dir != given.Dir || got.Binary != given.Binary || got.Address != given.Address ||
		got.ServiceCIDR != given.ServiceCIDR ||
		got.PodCIDR != given.PodCIDR ||
		got.NodeMonitorGracePeriod != given.NodeMonitorGracePeriod {
		t.Errorf("got %+v, want %+v", got, given)
	}
}

func TestServingHosts(t *testing.T) {
	tests := []struct {
		name, cidr string
		want       []string
		fails      bool
	}{
		{"one range", "10.96.0.0/16", []string{"10.96.0.1"}, false},
		{"not the first address", "10.96.7.7/16", []string{"10.96.0.1"}, false},
		{"two ranges", "10.96.0.0/16, fd00::/112", []string{"10.96.0.1", "fd00::1"}, false},
		{"nonsense", "10.96.0.0", nil, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := servingHosts(netip.MustParseAddr("127.0.0.9"), tt.cidr)
			if (err != nil) != tt.fails {
				t.Fatalf("got error %v", err)
			}
			for _, want := range tt.want {
				if !slices.Contains(got, want) {
					t.Errorf("got %v, want %s among them", got, want)
				}
			}
			if !tt.fails && (!slices.Contains(got, "127.0.0.9") || !slices.Contains(got, "kubernetes.default.svc")) {
				t.Errorf("got %v, which lacks the address or the Service name", got)
			}
		})
	}
}

func TestEndpointsOnlyForReachableServers(t *testing.T) {
	const off = "--endpoint-reconciler-type=none"
	for addr, want := range map[string]bool{"127.0.0.1:1": true, "127.9.9.9:1": true, "10.77.0.1:1": false} {
		flags := apiServerFlags(Options{}, layout{server: netip.MustParseAddrPort(addr)}, &credentials{})
		if got := slices.Contains(flags, off); got != want {
			t.Errorf("%s: endpoints are off: %v, want %v", addr, got, want)
		}
	}
}

func TestNodeMonitorGracePeriod(t *testing.T) {
	const flag = "--node-monitor-grace-period=1m30s"
	if flags := controllerManagerFlags(Options{NodeMonitorGracePeriod: 90 * time.Second}, &credentials{},
		""); !slices.Contains(flags, flag) {
		t.Errorf("%v lacks %s", flags, flag)
	}
	flags := controllerManagerFlags(Options{}, &credentials{}, "")
	if slices.ContainsFunc(flags, func(f string) bool { return len(f) > 20 && f[:20] == flag[:20] }) {
		t.Errorf("%v sets a grace period that was not asked for", flags)
	}
}

// TestOtherNetworkNamespace: in another network namespace the port cannot be chosen, and Dial is required.
func TestOtherNetworkNamespace(t *testing.T) {
	given := Options{Dir: t.TempDir(), Binary: "lab", Enter: []string{"nsenter", "--net=/run/netns/x"}}
	dial := new(net.Dialer).DialContext
	for name, change := range map[string]func(*Options){
		"no port": func(o *Options) { o.Dial = dial }, "no way": func(o *Options) { o.Port = 6443 },
	} {
		o := given
		change(&o)
		if _, err := o.complete(t.Context()); err == nil || !strings.Contains(err.Error(), "Options.Enter needs") {
			t.Errorf("%s: %v", name, err)
		}
	}
	given.Port, given.Dial = 6443, dial
	if _, err := given.complete(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestKubeconfigIsReplacedInOneStep: several nodes of a cluster write the kubeconfig of one user, while programs of
// others read it.
func TestKubeconfigIsReplacedInOneStep(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kubeconfig")
	config := &rest.Config{Host: "https://127.0.0.1:1"}
	if err := WriteKubeconfig(path, config); err != nil {
		t.Fatal(err)
	}
	written := make(chan error, 500)
	go func() {
		defer close(written)
		for range 500 {
			if err := WriteKubeconfig(path, config); err != nil {
				written <- err
			}
		}
	}()
	for {
		select {
		case err, more := <-written:
			if !more {
				return
			}
			t.Error(err)
		default:
			if got, err := clientcmd.LoadFromFile(path); err != nil || len(got.Clusters) != 1 {
				t.Fatalf("a reader sees %d clusters, %v; want 1", len(got.Clusters), err)
			}
		}
	}
}
