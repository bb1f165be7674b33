package podcidr

import (
	"errors"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// TestAnotherGives networks while we do: we stop, and tell. What is from elsewhere, or was there when the Node came, is no sign of that.
func TestAnotherGives(t *testing.T) {
	tests := map[string]struct {
		network string
		stops   bool
	}{
		"from ours":      {"10.244.200.0/24", true},
		"from elsewhere": {"192.168.0.0/24", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			inRig(t, "10.244.0.0/16", func(r *rig) {
				r.join("old")
				r.start()
				r.join("restored", "10.244.100.0/24")
				once := true
				r.before = func(name string) {
					if name == "a" && once {
						once = false
						r.change(name, func(n *corev1.Node) { n.Spec.PodCIDRs = []string{tt.network} })
					}
				}
				r.join("a")
				<-time.After(time.Minute)
				r.is("a", r.has("a"), tt.network)
				r.join("b")
				r.settle()
				if !tt.stops {
					r.is("b", r.has("b"), "10.244.2.0/24")
					r.is("events", r.told(), "")
					return
				}
				r.is("b", r.has("b"), "")
				r.is("events", r.told(), reasonRival+" "+reasonRival)
				r.start()
				r.is("b after a start", r.has("b"), "10.244.1.0/24")
			})
		})
	}
}

// TestRivalIsMeasured, once the stock is taken.
func TestRivalIsMeasured(t *testing.T) {
	l := newLedger([]netip.Prefix{prefix("10.244.0.0/16")}, Masks{IPv4: 24}, "")
	node := &corev1.Node{Spec: corev1.NodeSpec{PodCIDRs: []string{"10.244.3.0/24"}}}
	if l.foreign(node) {
		t.Error("what was given before the start counts")
	}
	l.stocked()
	if !l.foreign(node) || testutil.ToFloat64(l.metrics.rival) != 1 {
		t.Error("what another one gave does not count")
	}
}

// TestYoungerNodeStays: a cache that still shows the Node of that name before it takes nothing from it.
func TestYoungerNodeStays(t *testing.T) {
	l := newLedger([]netip.Prefix{prefix("10.244.0.0/16")}, Masks{IPv4: 24}, "")
	at := time.Now()
	made := func(uid types.UID, created time.Time, cidrs ...string) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: uid, CreationTimestamp: metav1.NewTime(created)}, Spec: corev1.NodeSpec{PodCIDRs: cidrs}}
	}
	young := made("young", at, "10.244.3.0/24")
	if _, err := l.settle(young); err != nil {
		t.Fatal(err)
	}
	if freed, err := l.settle(made("old", at.Add(-time.Hour), "10.244.4.0/24")); freed != nil || err != nil {
		t.Errorf("freed %v, error %v", freed, err)
	}
	if _, _, err := l.reserve(made("old", at.Add(-time.Hour))); !errors.Is(err, errBehind) {
		t.Errorf("reserving for the old Node: %v", err)
	}
	if !l.overlaps(prefix("10.244.3.0/24")) || l.overlaps(prefix("10.244.4.0/24")) {
		t.Error("the young Node's network is free, or the old one's is not")
	}
	l.forget("a", []types.UID{"old"})
	if !l.overlaps(prefix("10.244.3.0/24")) {
		t.Error("the network is free when the Node before is gone")
	}
	l.forget("a", []types.UID{"old", "young"})
	if l.overlaps(prefix("10.244.3.0/24")) {
		t.Error("the network stays taken when the Node is gone")
	}
}

// TestReserved networks are not given.
func TestReserved(t *testing.T) {
	inRig(t, "10.244.0.0/16", func(r *rig) {
		r.reserved = []netip.Prefix{prefix("10.244.0.0/20")}
		r.start()
		r.join("a")
		r.settle()
		r.is("a", r.has("a"), "10.244.16.0/24")
	})
}

// TestScattered pools begin anywhere, and give everything.
func TestScattered(t *testing.T) {
	first := map[netip.Prefix]bool{}
	for range 50 {
		p := newPool(prefix("10.244.0.0/16"))
		p.scatter()
		part, _ := p.take(24)
		first[part] = true
		for range 255 {
			if _, found := p.take(24); !found {
				t.Fatal("not everything can be taken")
			}
		}
	}
	if len(first) < 10 {
		t.Errorf("50 pools began at %d places", len(first))
	}
}

// silence is an API server that never answers.
type silence struct{}

func (silence) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// TestWritesEnd before another process may have become the leader.
func TestWritesEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, err := kubernetes.NewForConfig(&rest.Config{Host: "http://127.0.0.1:1", Transport: silence{}})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		err = (&Controller{client: client}).write(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, []netip.Prefix{prefix("10.244.0.0/24")})
		if took := time.Since(began); err == nil || !strings.Contains(err.Error(), "giving node a") || took > writeTimeout {
			t.Errorf("error %v after %v", err, took)
		}
	})
}
