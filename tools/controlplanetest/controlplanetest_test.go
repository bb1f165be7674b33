package controlplanetest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplane"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// innerEnv makes the test binary run only the test whose process TestMainCleansUp checks.
const innerEnv = "CONTROLPLANETEST_INNER"

func TestMain(m *testing.M) {
	Main(m, func(o *controlplane.Options) { o.ServiceCIDR = "10.111.0.0/16" })
}

func TestGetIsShared(t *testing.T) {
	tier.NeedFull(t)
	first := Get(t)
	t.Run("subtest", func(t *testing.T) {
		if Get(t) != first {
			t.Error("a second control plane was started")
		}
	})
}

func TestClient(t *testing.T) {
	tier.NeedFull(t)
	if _, err := Client(t, Get(t)).CoreV1().Namespaces().Get(t.Context(), "kube-system",
		metav1.GetOptions{}); err != nil {
		t.Errorf("the administrator asks for a namespace: %v", err)
	}
}

// The control plane is started with the context of some test and outlives it.
func TestAdjustedAndAlive(t *testing.T) {
	tier.NeedFull(t)
	t.Run("first", func(t *testing.T) { Get(t) })
	client, closeIdle := client(t, Get(t))
	defer closeIdle()
	service, err := client.CoreV1().Services("default").Get(t.Context(), "kubernetes", metav1.GetOptions{})
	if err != nil || service.Spec.ClusterIP != "10.111.0.1" {
		t.Errorf("the API server has the Service address %q, %v; want the adjusted 10.111.0.1", service.Spec.ClusterIP,
			err)
	}
}

func TestNamespaceIsFreshAndGoes(t *testing.T) {
	tier.NeedFull(t)
	var first, second string
	t.Run("Owner/With Odd_Name", func(t *testing.T) { first, second = Namespace(t), Namespace(t) })
	if first == second || !strings.HasPrefix(first, "testnamespaceisfreshandgoes-owner-with-o") {
		t.Errorf("got namespaces %q and %q, want two named after the test", first, second)
	}
	client, closeIdle := client(t, Get(t))
	defer closeIdle()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for _, name := range []string{first, second} {
		for deadline := time.Now().Add(cleanupLimit); ; <-tick.C {
			_, err := client.CoreV1().Namespaces().Get(t.Context(), name, metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("namespace %s is still there: %v", name, err)
			}
		}
	}
}

func TestNamespaceDeletedByItsTest(t *testing.T) {
	tier.NeedFull(t)
	t.Run("test", func(t *testing.T) { remove(t, Get(t), Namespace(t)) })
}

func TestPrefix(t *testing.T) {
	tests := []struct{ name, test, want string }{
		{"plain", "TestIt", "testit-"},
		{"subtest", "TestIt/a_b#01", "testit-a-b-01-"},
		{"long", "Test" + strings.Repeat("Long", 30), "test" + strings.Repeat("long", 9) + "-"},
		{"ends with a cut separator", strings.Repeat("a", 39) + "/b", strings.Repeat("a", 39) + "-"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := prefix(tt.test)
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if errs := validation.IsDNS1123Label(got + "x"); errs != nil {
				t.Errorf("%q begins no name: %v", got, errs)
			}
		})
	}
}

func TestGetWithoutMain(t *testing.T) {
	if _, err := new(shared).get(t.Context()); err == nil || !strings.Contains(err.Error(), "controlplanetest.Main") {
		t.Errorf("got %v, want an error that says what is missing", err)
	}
}

func TestFailedStartIsNotRepeated(t *testing.T) {
	starts := 0
	s := &shared{}
	s.open([]func(*controlplane.Options){func(o *controlplane.Options) { starts++; o.Binary = "/no/such/lab" }})
	for _, start := range []func(context.Context) (*controlplane.ControlPlane, error){s.get, s.get, s.lend} {
		if _, err := start(t.Context()); err == nil {
			t.Fatal("it started without a binary")
		}
	}
	if starts != 1 {
		t.Errorf("it was started %d times, want once", starts)
	}
	if err := s.close(); err != nil {
		t.Error(err)
	}
	if len(s.dirs) != 1 {
		t.Fatalf("it has the folders %q, want one", s.dirs)
	}
	if _, err := os.Stat(s.dirs[0]); !os.IsNotExist(err) {
		t.Errorf("its folder is left: %v", err)
	}
}

// A package whose tests need no control plane pays nothing for Main.
func TestUnusedStartsNothing(t *testing.T) {
	s := &shared{}
	s.open([]func(*controlplane.Options){func(*controlplane.Options) { t.Error("something was started") }})
	if err := s.close(); err != nil {
		t.Error(err)
	}
	if len(s.dirs) > 0 {
		t.Errorf("folders were made: %q", s.dirs)
	}
}

func TestClosedIsClosed(t *testing.T) {
	s := &shared{}
	s.open(nil)
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
	for _, start := range []func(context.Context) (*controlplane.ControlPlane, error){s.get, s.lend} {
		if _, err := start(t.Context()); err == nil {
			t.Error("a control plane was started after the end of Main")
		}
	}
}

// TestOwnIsNobodyElses until its test has ended. Then another one gets it, without the namespaces of the test.
func TestOwnIsNobodyElses(t *testing.T) {
	tier.NeedFull(t)
	var first, second *controlplane.ControlPlane
	var namespace string
	t.Run("two at the same time", func(t *testing.T) {
		first, second = Own(t), Own(t)
		if all := Get(t); first == second || first == all || second == all {
			t.Error("one control plane is handed out twice")
		}
		namespace = NamespaceIn(t, first)
		for plane, want := range map[*controlplane.ControlPlane]bool{first: true, second: false, Get(t): false} {
			_, err := Client(t, plane).CoreV1().Namespaces().Get(t.Context(), namespace, metav1.GetOptions{})
			if (err == nil) != want || err != nil && !apierrors.IsNotFound(err) {
				t.Errorf("reading the namespace: %v; want it there: %v", err, want)
			}
		}
	})
	t.Run("afterwards", func(t *testing.T) {
		if again := Own(t); again != first && again != second {
			t.Error("a third control plane was started")
		}
	})
	left, err := Client(t, first).CoreV1().Namespaces().Get(t.Context(), namespace, metav1.GetOptions{})
	if !apierrors.IsNotFound(err) && (err != nil || left.DeletionTimestamp == nil) {
		t.Errorf("the namespace of a test that has ended: %+v, %v", left, err)
	}
}

// TestInner is what TestMainCleansUp runs in a process of its own: it fails, on purpose.
func TestInner(t *testing.T) {
	if os.Getenv(innerEnv) == "" {
		return
	}
	fmt.Println("kubeconfig:", Get(t).Kubeconfig())
	fmt.Println("kubeconfig:", Own(t).Kubeconfig())
	t.Error("on purpose")
}

func TestMainCleansUp(t *testing.T) {
	tier.NeedFull(t)
	tests := []struct {
		name, keep string
		kept       bool
	}{
		{"removed", "", false},
		{"kept", "1", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inner := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^TestInner$")
			inner.Env = append(os.Environ(), innerEnv+"=1", KeepEnv+"="+tt.keep, "TMPDIR="+t.TempDir())
			out, err := inner.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "on purpose") {
				t.Fatalf("the failed test did not fail its binary: %v\n%s", err, out)
			}
			found := regexp.MustCompile("kubeconfig: (.*)").FindAllStringSubmatch(string(out), -1)
			if len(found) != 2 {
				t.Fatalf("it says of %d control planes where they are, want 2:\n%s", len(found), out)
			}
			for _, match := range found {
				wantLeft(t, match[1], tt.kept)
			}
		})
	}
}

// wantLeft wants nothing left of a control plane but its folder, if that is kept.
func wantLeft(t *testing.T, kubeconfig string, kept bool) {
	t.Helper()
	if _, err := os.Stat(kubeconfig); (err == nil) != kept {
		t.Errorf("reading %q afterwards: %v; want it kept: %v", kubeconfig, err, kept)
	}
	if processes := usersOf(t, kubeconfig); processes != nil {
		t.Errorf("processes are left: %q", processes)
	}
}

// usersOf lists the command lines of processes whose arguments name the folder of path.
func usersOf(t *testing.T, path string) []string {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	dir := strings.TrimSuffix(path, "/kubeconfig")
	var found []string
	for _, e := range entries {
		args, err := os.ReadFile("/proc/" + e.Name() + "/cmdline")
		if err == nil && dir != "" && strings.Contains(string(args), dir) {
			found = append(found, string(args))
		}
	}
	return found
}
