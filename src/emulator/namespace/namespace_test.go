//go:build linux

package namespace

import (
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/vishvananda/netlink"
	"go.uber.org/goleak"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/roottest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// asRoot runs a test with a namespace of its own, in which the loopback interface
// is up. It needs root.
func asRoot(t *testing.T, test func(n *Namespace)) {
	t.Helper()
	roottest.Need(t)
	name := "test" + strings.ToLower(rand.Text()[:8])
	n, err := Create(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Remove(); err != nil {
			t.Error(err)
		}
	})
	err = n.Do(func() error {
		lo, err := netlink.LinkByName("lo")
		if err != nil {
			return err
		}
		return netlink.LinkSetUp(lo)
	})
	if err != nil {
		t.Fatal(err)
	}
	test(n)
}

func TestCreateNeedsRoot(t *testing.T) {
	err := roottest.AsUser(func() error {
		_, err := Create("test" + strings.ToLower(rand.Text()[:8]))
		return err
	})
	if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "it needs root") {
		t.Errorf("Create for an ordinary user: %v, want that it needs root", err)
	}
}

// where is the namespace that a goroutine is in.
func where(t *testing.T) string {
	t.Helper()
	link, err := os.Readlink(current)
	if err != nil {
		t.Fatal(err)
	}
	return link
}

func TestDo(t *testing.T) {
	asRoot(t, func(n *Namespace) {
		home := where(t)
		inside := ""
		failure := errors.New("failed")
		err := n.Do(func() error {
			inside = where(t)
			return failure
		})
		if !errors.Is(err, failure) || inside == home || where(t) != home {
			t.Errorf("Do: %v in %s, then in %s; want the failure in another than %s, and back", err, inside, where(t),
				home)
		}
		// No thread stays behind, whoever gets to run on it.
		var running sync.WaitGroup
		for range 100 {
			running.Go(func() { _ = n.Do(func() error { return nil }) })
			running.Go(func() {
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
				if got := where(t); got != home {
					t.Errorf("a goroutine outside is in %s, want %s", got, home)
				}
			})
		}
		running.Wait()
	})
}

func TestConnections(t *testing.T) {
	asRoot(t, func(n *Namespace) {
		for _, local := range []string{"127.0.0.1:0", "[::1]:0"} {
			listener, err := n.Listen(t.Context(), "tcp", local)
			if err != nil {
				t.Fatal(err)
			}
			at := listener.Addr().String()
			go func() {
				if conn, err := listener.Accept(); err == nil {
					_, _ = io.WriteString(conn, "inside")
					_ = conn.Close()
				}
			}()
			if _, err := new(net.Dialer).DialContext(t.Context(), "tcp", at); !errors.Is(err, syscall.ECONNREFUSED) {
				t.Errorf("%s from outside: %v, want that no program listens there", at, err)
			}
			conn, err := n.DialContext(t.Context(), "tcp", at)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := io.ReadAll(conn); err != nil || string(got) != "inside" {
				t.Errorf("%s from inside: %q, %v", at, got, err)
			}
			_ = conn.Close()
			_ = listener.Close()
		}
	})
}

func TestDatagrams(t *testing.T) {
	asRoot(t, func(n *Namespace) {
		var packets net.PacketConn
		err := n.Do(func() (err error) {
			packets, err = new(net.ListenConfig).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = packets.Close() }()
		conn, err := n.DialContext(t.Context(), "udp", packets.LocalAddr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		if _, err := io.WriteString(conn, "packet"); err != nil {
			t.Fatal(err)
		}
		buffer := make([]byte, 10)
		if size, _, err := packets.ReadFrom(buffer); err != nil || string(buffer[:size]) != "packet" {
			t.Errorf("received %q, %v", buffer[:size], err)
		}
	})
}

func TestNamesAreNotResolved(t *testing.T) {
	asRoot(t, func(n *Namespace) {
		_, dialed := n.DialContext(t.Context(), "tcp", "localhost:80")
		_, listened := n.Listen(t.Context(), "tcp", "localhost:0")
		for _, err := range []error{dialed, listened} {
			if err == nil || !strings.Contains(err.Error(), "no names are resolved") ||
				!strings.Contains(err.Error(), n.Name()) {
				t.Errorf("a name: %v, want that it is refused", err)
			}
		}
	})
}

func TestStart(t *testing.T) {
	asRoot(t, func(n *Namespace) {
		var output strings.Builder
		cmd := exec.Command("readlink", "/proc/self/ns/net")
		cmd.Stdout = &output
		if err := n.Start(cmd); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Fatal(err)
		}
		inside := ""
		_ = n.Do(func() error { inside = where(t); return nil })
		if got := strings.TrimSpace(output.String()); got != inside {
			t.Errorf("the program ran in %s, want %s", got, inside)
		}
	})
}

func TestNamesAndPaths(t *testing.T) {
	asRoot(t, func(n *Namespace) {
		if _, err := Create(n.Name()); !errors.Is(err, fs.ErrExist) {
			t.Errorf("Create with a name that is taken: %v", err)
		}
		if names, err := Names(n.Name()); err != nil || !slices.Equal(names, []string{n.Name()}) {
			t.Errorf("Names: %v, %v", names, err)
		}
		again, err := Open(n.Path())
		if err != nil {
			t.Fatal(err)
		}
		first, second := "", ""
		_ = n.Do(func() error { first = where(t); return nil })
		_ = again.Do(func() error { second = where(t); return nil })
		if first != second {
			t.Errorf("%s and %s, want that name and path are of one namespace", first, second)
		}
		if err := again.Close(); err != nil {
			t.Error(err)
		}
		if err := again.Do(func() error {
			return nil
		}); err == nil || !strings.Contains(err.Error(), "entering network namespace") {
			t.Errorf("Do after Close: %v", err)
		}
	})
}

func TestCurrent(t *testing.T) {
	asRoot(t, func(*Namespace) {
		here, err := Current()
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = here.Close() }()
		inside := ""
		if err := here.Do(func() error { inside = where(t); return nil }); err != nil || inside != where(t) {
			t.Errorf("the current namespace is %s, %v, want %s", inside, err, where(t))
		}
	})
}

func TestImpossibleNames(t *testing.T) {
	for _, name := range []string{"a/b", "..", ".", ""} {
		if _, err := Create(name); err == nil || !strings.Contains(err.Error(), "the name must be one of a file") {
			t.Errorf("Create(%q): %v", name, err)
		}
	}
	if _, err := Open("nobody"); !errors.Is(err, fs.ErrNotExist) ||
		!strings.Contains(err.Error(), `opening network namespace "nobody"`) {
		t.Errorf("Open of what is not there: %v", err)
	}
	if err := Remove("nobody"); err == nil {
		t.Error("what is not there was removed")
	}
}
