package manager

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/thalassa-cloud/thalassa-ccm/src/manager/lease"
)

func leaseAddress() address {
	return address{"leases", "kube-system", "cloud-controller-manager"}
}

// holder returns the holder of the lease, "" if there is none.
func holder(api *apiServer) string {
	o := api.get(leaseAddress())
	if o == nil {
		return ""
	}
	name, _ := o["spec"].(object)["holderIdentity"].(string)
	return name
}

func renewed(api *apiServer) string {
	return fmt.Sprint(api.get(leaseAddress())["spec"].(object)["renewTime"])
}

// held is a lease of another process for an hour.
func held(by string) object {
	return object{"spec": object{"holderIdentity": by, "leaseDurationSeconds": 3600,
		"acquireTime": "2020-01-01T00:00:00.000000Z", "renewTime": "2020-01-01T00:00:00.000000Z",
		"leaseTransitions": 1}}
}

func loadBalancer() object {
	return object{"spec": object{"type": "LoadBalancer",
		"ports": []any{object{"port": 80, "nodePort": 30080, "protocol": "TCP"}}}}
}

func TestLeaderWorksAndStopsInOrder(t *testing.T) {
	api, cloud := newAPIServer(t), newTestCloud()
	// Without nodes: the library's service controller has a data race between
	// node and Service events.
	api.put(address{"services", "default", "web"}, loadBalancer())
	api.changed = func(_ string, at address, o object) {
		if at == leaseAddress() && o["spec"].(object)["holderIdentity"] == "" {
			cloud.add("released")
		}
	}
	release := make(chan struct{})
	cloud.drain = func(ctx context.Context) error {
		select {
		case <-release:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}

	r := start(t, api, cloud)
	r.waitFor("/readyz", 200)
	r.waitFor("/livez", 200)
	eventually(t, func() error {
		if calls := api.names("events"); len(calls) == 0 {
			return errors.New("no event has reached the API")
		}
		return nil
	})
	cloud.wait(t, "ensure web")

	r.stop()
	cloud.wait(t, "Drain after stop")
	before := renewed(api)
	eventually(t, func() error { // the lease is kept while the cloud is being drained
		if renewed(api) == before {
			return errors.New("the lease is not renewed")
		}
		return nil
	})
	if status, text := r.get("/livez", ""); status != 200 {
		t.Errorf("/livez while draining: %d %s", status, text)
	}
	close(release)
	if err := r.wait(); err != nil {
		t.Errorf("the process ended with: %v", err)
	}
	if got := holder(api); got != "" {
		t.Errorf("the lease is still held by %q", got)
	}
	want := []string{"SetInformers", "Initialize", "ensure web", "Drain after stop", "drained", "released"}
	if got := cloud.list(); !slices.Equal(got, want) {
		t.Errorf("order of events:\n got %q\nwant %q", got, want)
	}
}

func TestStandbyIsWarmAndReady(t *testing.T) {
	api, cloud := newAPIServer(t), newTestCloud()
	api.put(leaseAddress(), held("another"))
	api.put(address{"nodes", "", "n1"}, object{})

	r := start(t, api, cloud)
	r.waitFor("/readyz", 200)
	r.waitFor("/livez", 200)
	nodes, err := cloud.nodes.List(labels.Everything())
	if err != nil || len(nodes) != 1 {
		t.Errorf("a standby's cache holds %d nodes (error %v), want 1", len(nodes), err)
	}
	if got := cloud.list(); !slices.Equal(got, []string{"SetInformers"}) {
		t.Errorf("a standby did %q, want only SetInformers", got)
	}

	api.put(leaseAddress(), object{"spec": object{"holderIdentity": "", "leaseDurationSeconds": 1}})
	cloud.wait(t, "Initialize")
	if got := holder(api); got == "" || got == "another" {
		t.Errorf("the lease is held by %q, want the new leader", got)
	}
}

func TestStandbyStopsWithoutTouchingTheLease(t *testing.T) {
	api, cloud := newAPIServer(t), newTestCloud()
	api.put(leaseAddress(), held("another"))
	r := start(t, api, cloud)
	r.waitFor("/readyz", 200)
	r.stop()
	if err := r.wait(); err != nil {
		t.Errorf("the process ended with: %v", err)
	}
	if got := holder(api); got != "another" {
		t.Errorf("the lease is held by %q, want it untouched", got)
	}
	if got := cloud.list(); !slices.Equal(got, []string{"SetInformers"}) {
		t.Errorf("a standby did %q, want only SetInformers", got)
	}
}

func TestLostLeaseEndsTheProcess(t *testing.T) {
	api, cloud := newAPIServer(t), newTestCloud()
	r := start(t, api, cloud)
	cloud.wait(t, "Initialize")
	api.put(leaseAddress(), held("thief"))
	err := r.wait()
	if !errors.Is(err, lease.ErrLost) {
		t.Errorf("the process ended with %v, want ErrLost", err)
	}
	if got := holder(api); got != "thief" {
		t.Errorf("the lease is held by %q, want the one who took it", got)
	}
	cloud.wait(t, "Drain after stop")
}

func TestKubernetesAwayAtStart(t *testing.T) {
	api, cloud := newAPIServer(t), newTestCloud()
	api.goAway()
	r := start(t, api, cloud)
	r.waitFor("/livez", 200)
	eventually(t, func() error {
		_, body := r.get("/readyz", "")
		for _, want := range []string{"[-]informer-sync failed", "the Kubernetes API cannot be reached: ", "EOF"} {
			if !strings.Contains(body, want) {
				return fmt.Errorf("/readyz lacks %q:\n%s", want, body)
			}
		}
		return nil
	})
	if got := cloud.list(); slices.Contains(got, "Initialize") {
		t.Errorf("without a lease the process did %q", got)
	}

	api.comeBack()
	r.waitFor("/readyz", 200)
	cloud.wait(t, "Initialize")
	eventually(t, func() error { // what authenticates through the API recovers as well
		if status, body := r.get("/metrics", "reader"); status != 200 {
			return fmt.Errorf("/metrics: %d %s", status, body)
		}
		return nil
	})
}

func TestKubernetesAwayLater(t *testing.T) {
	api, cloud := newAPIServer(t), newTestCloud()
	r := start(t, api, cloud, "--leader-elect=false")
	cloud.wait(t, "Initialize")
	r.waitFor("/readyz", 200)

	api.goAway()
	select {
	case <-r.ended:
		t.Fatalf("the process ended with: %v", r.err)
	case <-time.After(3 * time.Second): // longer than the renewal deadline of a leader
	}
	r.waitFor("/livez", 200)
	r.waitFor("/readyz", 200)

	api.comeBack()
	api.put(address{"services", "default", "late"}, loadBalancer())
	cloud.wait(t, "ensure late")
}

// TestKubernetesAwayForLongerThanALease, as for the minute of an upgrade of the control plane: who cannot renew the
// lease stops working, because another might, and ends. Whoever is started in its place, as kubelet does, waits for the
// API server and goes on.
func TestKubernetesAwayForLongerThanALease(t *testing.T) {
	api, cloud := newAPIServer(t), newTestCloud()
	first := start(t, api, cloud)
	cloud.wait(t, "Initialize")
	first.waitFor("/readyz", 200)

	api.goAway()
	if err := first.wait(); !errors.Is(err, lease.ErrLost) {
		t.Errorf("the process ended with %v, want ErrLost", err)
	}
	if !slices.Contains(cloud.list(), "drained") {
		t.Errorf("what was under way was not finished: %q", cloud.list())
	}

	again := newTestCloud()
	second := start(t, api, again)
	second.waitFor("/livez", 200) // or kubelet would start it again and again
	api.put(address{"services", "default", "meanwhile"}, loadBalancer())
	api.comeBack()
	again.wait(t, "ensure meanwhile")
	second.waitFor("/readyz", 200)
}

func TestCloudOutageIsNotReadyButAlive(t *testing.T) {
	api, cloud := newAPIServer(t), newTestCloud()
	cloud.setReady(errors.New("the cloud answers 503"))
	r := start(t, api, cloud)
	cloud.wait(t, "Initialize")
	if body := r.waitFor("/readyz", 500); !strings.Contains(body, "[-]cloud failed: the cloud answers 503") {
		t.Errorf("/readyz does not say why:\n%s", body)
	}
	r.waitFor("/livez", 200)
	r.waitFor("/healthz", 200)
	cloud.setReady(nil)
	r.waitFor("/readyz", 200)
}

func TestForbiddenCacheIsExplained(t *testing.T) {
	api, cloud := newAPIServer(t), newTestCloud()
	api.forbid("services")
	r := start(t, api, cloud)
	eventually(t, func() error {
		if _, body := r.get("/readyz", ""); !strings.Contains(body, "services is forbidden") {
			return fmt.Errorf("/readyz does not say why:\n%s", body)
		}
		return nil
	})
	r.waitFor("/livez", 200)
}

func TestStopWhileKubernetesIsAway(t *testing.T) {
	api, cloud := newAPIServer(t), newTestCloud()
	r := start(t, api, cloud)
	cloud.wait(t, "Initialize")
	api.goAway()
	r.stop()
	if err := r.wait(); err != nil {
		t.Errorf("the process ended with: %v", err)
	}
	if got := cloud.list(); !slices.Contains(got, "drained") {
		t.Errorf("the cloud was not drained: %q", got)
	}
	if holder(api) == "" {
		t.Error("the lease was given back to an API that is away")
	}
}

func TestHangingCloudKeepsItsLease(t *testing.T) {
	api, cloud := newAPIServer(t), newTestCloud()
	cloud.drain = func(context.Context) error { return errors.New("connection cut") }
	r := start(t, api, cloud)
	cloud.wait(t, "Initialize")
	r.stop()
	if err := r.wait(); !errors.Is(err, lease.ErrBusy) {
		t.Errorf("the process ended with %v, want ErrBusy", err)
	}
	if holder(api) == "" {
		t.Error("the lease was given back while a write may be under way")
	}
}
