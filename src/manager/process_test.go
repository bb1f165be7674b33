package manager

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	"github.com/thalassa-cloud/thalassa-ccm/src/apiserver"
	"github.com/thalassa-cloud/thalassa-ccm/src/manager/lease"
)

// lease returns the lease of the leader, and whether there is one.
func (s *apiServer) lease() (lease *coordinationv1.Lease, exists bool) {
	s.Do(func(objects apiserver.State) {
		lease, exists = apiserver.Find[*coordinationv1.Lease](objects, apiserver.NameOf(held("")))
	})
	return lease, exists
}

// holder returns the holder of the lease, "" if there is none.
func holder(api *apiServer) string {
	lease, exists := api.lease()
	if !exists {
		return ""
	}
	return ptr.Deref(lease.Spec.HolderIdentity, "")
}

func renewed(api *apiServer) time.Time {
	lease, _ := api.lease()
	return lease.Spec.RenewTime.Time
}

// held is a lease of another process for an hour.
func held(by string) *coordinationv1.Lease {
	long := metav1.NewMicroTime(time.Now())
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: componentName},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: &by, LeaseDurationSeconds: ptr.To[int32](3600),
			AcquireTime: &long, RenewTime: &long, LeaseTransitions: ptr.To[int32](1)}}
}

func loadBalancer(name string) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer,
			Ports: []corev1.ServicePort{{Port: 80, NodePort: 30080, Protocol: corev1.ProtocolTCP}}}}
}

func TestLeaderWorksAndStopsInOrder(t *testing.T) {
	api, cloud := newAPIServer(t), newTestCloud()
	// Without nodes: the library's service controller has a data race between
	// node and Service events.
	api.put(loadBalancer("web"))
	api.changed = func(o apiserver.Object) {
		if lease, is := o.(*coordinationv1.Lease); is && *lease.Spec.HolderIdentity == "" {
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
		if calls := namesOf[*corev1.Event](api); len(calls) == 0 {
			return errors.New("no event has reached the API")
		}
		return nil
	})
	cloud.wait(t, "ensure web")

	r.stop()
	cloud.wait(t, "Drain after stop")
	before := renewed(api)
	eventually(t, func() error { // the lease is kept while the cloud is being drained
		if renewed(api).Equal(before) {
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
	api.put(held("another"))
	api.put(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}})

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

	released := held("")
	released.Spec.LeaseDurationSeconds = ptr.To[int32](1)
	api.put(released)
	cloud.wait(t, "Initialize")
	if got := holder(api); got == "" || got == "another" {
		t.Errorf("the lease is held by %q, want the new leader", got)
	}
}

func TestLostLeaseEndsTheProcess(t *testing.T) {
	api, cloud := newAPIServer(t), newTestCloud()
	r := start(t, api, cloud)
	cloud.wait(t, "Initialize")
	api.put(held("thief"))
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
	api.put(loadBalancer("late"))
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
	api.put(loadBalancer("meanwhile"))
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
	api.forbid("services", true)
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

// TestHangingCloudKeepsItsLease: the lease is not given back while a write may be under way.
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

// TestStandbyStopsWithoutTouchingTheLease: a standby that is stopped ends without an error.
func TestStandbyStopsWithoutTouchingTheLease(t *testing.T) {
	api, cloud := newAPIServer(t), newTestCloud()
	api.put(held("another"))
	r := start(t, api, cloud)
	r.waitFor("/readyz", 200)
	r.stop()
	if err, got := r.wait(), holder(api); err != nil || got != "another" {
		t.Errorf("the process ended with %v, and the lease is held by %q", err, got)
	}
}
