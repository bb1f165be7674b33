//go:build linux

package netns

import (
	"bufio"
	"crypto/rand"
	"errors"
	"io/fs"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/namespace"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/roottest"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/traffic/traffictest"
)

// unused is a name that no other run of these tests has.
func unused(kind string) string { return kind + strings.ToLower(rand.Text()[:6]) }

// lent is a namespace that is not the plane's.
func lent(t *testing.T) *space {
	t.Helper()
	s, err := newSpace(unused("lent"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.remove() })
	return s
}

// interfaces are the names of the interfaces in a namespace.
func interfaces(t *testing.T, s *space) (names []string) {
	t.Helper()
	links, err := s.netlink.LinkList()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range links {
		names = append(names, l.Attrs().Name)
	}
	return names
}

// left are the namespaces of a run.
func left(t *testing.T, name string) []string {
	t.Helper()
	names, err := namespace.Names(name + "-")
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// elsewhere starts an emulator in another process.
func elsewhere(t *testing.T, name, client string) *exec.Cmd {
	t.Helper()
	return elsewhereIn(t, (*exec.Cmd).Start, name, client)
}

func elsewhereIn(t *testing.T, start func(*exec.Cmd) error, name, client string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), named+"="+name, named+"_CLIENT="+client)
	output, err := cmd.StdoutPipe()
	if err == nil {
		err = start(cmd)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // if it has not been yet
		_ = cmd.Wait()
		if _, err := Clean(); err != nil {
			t.Error(err)
		}
	})
	if line, err := bufio.NewReader(output).ReadString('\n'); err != nil || line != "started: <nil>\n" {
		t.Fatalf("the other emulator says %q, %v", line, err)
	}
	return cmd
}

func TestKilledEmulatorsAreCleanedUp(t *testing.T) {
	asRoot(t, func(*cloud) {
		client := lent(t)
		// Somebody else's, who has chosen an colliding name.
		other, err := namespace.Create(unused("other") + "-one")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = other.Remove() }()
		dead, alive := unused("dead"), unused("live")
		killed := elsewhere(t, dead, client.Name())
		elsewhere(t, alive, "")
		want := []string{dead + "-hub", dead + "-one", dead + "-vpc1"}
		if got := left(t, dead); !slices.Equal(got, want) {
			t.Fatalf("namespaces %v, want %v", got, want)
		}
		if _, err := New(Options{Name: dead}); err == nil ||
			!strings.Contains(err.Error(), "an emulator with this name is running") {
			t.Errorf("a second emulator of that name: %v", err)
		}
		// once it is dead, another test's emulator may clean up
		if got := interfaces(t, client); !slices.Contains(got, dead) {
			t.Fatalf("the client has %v, want the emulator's link", got)
		}
		if err := killed.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = killed.Wait() // it was killed
		if _, err := Clean(); err != nil {
			t.Fatal(err)
		}
		// Another test's emulator may have been faster, and be at it still.
		traffictest.Eventually(t, "nothing is left", func() bool {
			return len(left(t, dead)) == 0 && slices.Equal(interfaces(t, client), []string{loopback})
		})
		if got := left(t, alive); len(got) != 4 {
			t.Errorf("of the running emulator only %v are left", got)
		}
		if _, err := os.Stat(other.Path()); err != nil {
			t.Errorf("somebody else's namespace: %v", err)
		}
		traffictest.Eventually(t, "the dead run's file is gone", func() bool {
			_, err := os.Stat(filepath.Join(runs, dead))
			return errors.Is(err, fs.ErrNotExist)
		})
	})
}

// The next emulator removes what a dead one left, of the same name or not.
func TestNextStartCleansUp(t *testing.T) {
	asRoot(t, func(*cloud) {
		for _, same := range []bool{true, false} {
			dead, client := unused("dead"), lent(t)
			killed := elsewhere(t, dead, client.Name())
			_ = killed.Process.Kill()
			_ = killed.Wait()
			// The client's interface and routes must be gone at once.
			next := Options{Client: client.Name()}
			if same {
				next.Name = dead
			}
			plane, err := New(next)
			if err != nil {
				t.Fatal(err)
			}
			traffictest.Eventually(t, "nothing is left of the dead emulator", func() bool {
				return !slices.Contains(left(t, dead), dead+"-one")
			})
			if err := plane.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestForeignNamesAreRespected(t *testing.T) {
	asRoot(t, func(*cloud) {
		name := unused("taken")
		other, err := namespace.Create(name + "-one")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = other.Remove() }()
		if _, err := New(Options{Name: name}); err == nil || !strings.Contains(err.Error(), "not an emulator's") {
			t.Errorf("New: %v, want that the name is taken", err)
		}
		if got := left(t, name); len(got) != 1 {
			t.Errorf("namespaces %v, want the other's alone", got)
		}
	})
}

func TestNames(t *testing.T) {
	for _, name := range []string{"Upper", "with-hyphen", "1st", "longerthantwelve", "a/b"} {
		if _, err := begin(t.TempDir(), name); err == nil || !strings.Contains(err.Error(), "use a letter") {
			t.Errorf("%s: %v, want what names are like", name, err)
		}
	}
	folder := t.TempDir()
	one, err := begin(folder, "")
	if err != nil {
		t.Fatal(err)
	}
	two, err := begin(folder, "")
	if err != nil {
		t.Fatal(err)
	}
	if one.name == two.name || len(one.name) > maxName {
		t.Errorf("names %s and %s", one.name, two.name)
	}
	if removed, err := clean(folder); err != nil || len(removed) != 0 {
		t.Errorf("clean: %v, %v", removed, err)
	}
	for _, r := range []*run{one, two} {
		if err := r.end(); err != nil {
			t.Errorf("a running emulator's file was removed: %v", err)
		}
	}
	if removed, err := clean(filepath.Join(folder, "none")); err != nil || removed != nil {
		t.Errorf("clean without a folder: %v, %v", removed, err)
	}
}

// Two planes at once, with the same addresses, for two clients.
func TestTwoPlanes(t *testing.T) {
	asRoot(t, func(one *cloud) {
		first := one.machine("one", "")
		one.serve(first, 8080)
		asRoot(t, func(two *cloud) {
			second := two.machine("one", "")
			if first.v4 != second.v4 {
				t.Errorf("addresses %s and %s, want the same", first.v4, second.v4)
			}
			one.reaches(one.plane.Client(), first.v4, 8080, true)
			two.reaches(two.plane.Client(), second.v4, 8080, false)
		})
	})
}

// A client's namespace that the plane was given gets what it needs, and nothing
// stays.
func TestLentClient(t *testing.T) {
	roottest.Need(t, "nft")
	client := lent(t)
	asRoot(t, func(c *cloud) {
		one := c.machine("one", "")
		c.serve(one, 8080)
		_, v4, v6 := c.balancer("web", nil, one)
		for _, addr := range []netip.Addr{v4, v6} {
			c.reaches(client.Namespace, addr, 80, true)
		}
		c.reaches(client.Namespace, one.v4, 8080, true)
		// A way to some of the addresses is there already.
		taken := Options{Client: client.Name()}
		if _, err := New(taken); err == nil ||
			!strings.Contains(err.Error(), "has a route to 198.51.100.0/24 already") {
			t.Errorf("a second plane for the client: %v, want that it has routes", err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if got := interfaces(t, client); !slices.Equal(got, []string{loopback}) {
			t.Errorf("the client has %v, want its own alone", got)
		}
	}, func(_ *emulator.Config, o *Options) { o.Client = client.Name() })
}

// What is outside of the plane's namespaces stays as it is.
func TestHostIsUntouched(t *testing.T) {
	asRoot(t, func(c *cloud) {
		one := c.machine("one", "")
		c.serve(one, 8080)
		_, v4, _ := c.balancer("web", nil, one)
		c.reaches(c.plane.Client(), v4, 80, true)
		here, err := namespace.Current()
		if err != nil {
			t.Fatal(err)
		}
		host, err := enter(here)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = host.leave() }()
		for _, name := range interfaces(t, host) {
			if slices.Contains([]string{c.plane.Name(), clientLink, uplink, bridge(1), downlink(1), "p1"}, name) {
				t.Errorf("the host has interface %s", name)
			}
		}
		ways := hub{client: host}
		for _, network := range append(c.plane.options.ClientNetworks, nets("10.0.0.2/32", "198.18.0.0/15",
			"fd00:7a1a::/56")...) {
			if err := ways.checkFree(network); err != nil {
				t.Error(err)
			}
		}
	})
}

// An emulator may be its own client: the namespace where it runs.
func TestHostAsClient(t *testing.T) {
	asRoot(t, func(c *cloud) {
		host, name := lent(t), unused("own")
		elsewhereIn(t, host.Start, name, Host)
		if got := interfaces(t, host); !slices.Contains(got, name) {
			t.Errorf("the emulator's own namespace has %v, want the link %s", got, name)
		}
		if got, want := left(t, name), []string{name + "-hub", name + "-one", name + "-vpc1"}; !slices.Equal(got,
			want) {
			t.Errorf("namespaces %v, want %v", got, want)
		}
		machine, err := namespace.Open(name + "-one")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = machine.Close() }()
		c.serve(&box{sockets: sockets{machine}}, 8080)
		c.reaches(host.Namespace, netip.MustParseAddr("10.0.0.2"), 8080, true)
	})
}

// TestGoneBalancersStayHere: what a client with a default route sends to a load balancer that is gone is refused.
func TestGoneBalancersStayHere(t *testing.T) {
	roottest.Need(t, "nft")
	client := lent(t)
	if err := errors.Join(client.addBridge("elsewhere"), client.up("elsewhere")); err != nil {
		t.Fatal(err)
	}
	for _, all := range nets("0.0.0.0/0", "::/0") {
		if err := client.addRoute(route{table: mainTable, to: all, link: "elsewhere"}); err != nil {
			t.Fatal(err)
		}
	}
	asRoot(t, func(c *cloud) {
		one := c.machine("one", "")
		c.serve(one, 8080)
		lb, v4, v6 := c.balancer("web", nil, one)
		both := func(want bool) {
			t.Helper()
			for _, addr := range []netip.Addr{v4, v6} {
				c.reaches(client.Namespace, addr, 80, want)
				if got := way(t, client, addr); got != c.plane.Name() {
					t.Errorf("what is sent to %s leaves by %q, want %q", addr, got, c.plane.Name())
				}
			}
		}
		both(true)
		if err := c.api.DeleteLoadbalancer(t.Context(), lb); err != nil {
			t.Fatal(err)
		}
		both(false)
		if got := way(t, client, netip.MustParseAddr("192.0.2.1")); got != "elsewhere" {
			t.Errorf("what is sent to another address leaves by %q", got)
		}
		// The next load balancers get addresses as before, also those that were used.
		_, v4, v6 = c.balancer("next", nil, one)
		both(true)
	}, func(_ *emulator.Config, o *Options) { o.Client = client.Name() })
}

// way is the interface by which packets to an address leave a namespace.
func way(t *testing.T, in *space, to netip.Addr) (name string) {
	t.Helper()
	routes, err := in.netlink.RouteGet(to.AsSlice())
	if err != nil || len(routes) == 0 {
		t.Fatalf("the way to %s: %v, %v", to, routes, err)
	}
	link, err := in.netlink.LinkByIndex(routes[0].LinkIndex)
	if err != nil {
		t.Fatal(err)
	}
	return link.Attrs().Name
}

// A client that is gone before the plane takes nothing else along.
func TestClientGoesFirst(t *testing.T) {
	asRoot(t, func(*cloud) {
		client := lent(t)
		plane, err := New(Options{Client: client.Name()})
		if err != nil {
			t.Fatal(err)
		}
		if err := client.removeLink(plane.Name()); err != nil {
			t.Fatal(err)
		}
		if err := plane.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		if got := left(t, plane.Name()); len(got) != 0 {
			t.Errorf("left: %v", got)
		}
	})
}

func TestUnknownClient(t *testing.T) {
	asRoot(t, func(*cloud) {
		name := unused("none")
		_, err := New(Options{Name: name, Client: "nobody"})
		if err == nil ||
			!strings.Contains(err.Error(), `the client's network namespace: opening network namespace "nobody"`) {
			t.Errorf("New: %v", err)
		}
		if got := left(t, name); len(got) != 0 {
			t.Errorf("left by a plane that could not start: %v", got)
		}
	})
}
