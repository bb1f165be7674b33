package service

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cloud-provider/service/helpers"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/service/cluster"
)

// writerRig is a writer, and the cluster with the Service that it writes to.
type writerRig struct {
	*testing.T
	writer
	cluster *cluster.Cluster
}

func newWriterRig(t *testing.T, service *corev1.Service) writerRig {
	t.Helper()
	d := writerRig{T: t, cluster: cluster.New()}
	if err := d.cluster.Create(service); err != nil {
		t.Fatal(err)
	}
	client, err := cluster.Client(d.cluster.Transport())
	if err != nil {
		t.Fatal(err)
	}
	d.writer = writer{services: client.CoreV1()}
	return d
}

// current returns the Service in the cluster.
func (d writerRig) current() *corev1.Service { return d.cluster.Services()[0] }

// wantWrites fails the test after an error, or unless there were so many writes since the version.
func (d writerRig) wantWrites(err error, what string, since, writes int) {
	d.Helper()
	if made := d.cluster.Version() - since; err != nil || made != writes {
		d.Errorf("%s: error %v, %d writes; want %d", what, err, made, writes)
	}
}

func web() *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web",
		Finalizers: []string{"example.com/other"}}, Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer}}
}

// TestNoWriteIsRepeated: no write is repeated while the cache contains an older version.
func TestNoWriteIsRepeated(t *testing.T) {
	d, s := newWriterRig(t, web()), &serviceState{}
	stale := d.current()
	addresses := &corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{IP: "192.0.2.1"}}}
	waiting := []metav1.Condition{{Type: conditionProvisioned, Status: metav1.ConditionFalse, Reason: reasonWaiting}}
	serving := []metav1.Condition{{Type: conditionProvisioned, Status: metav1.ConditionTrue, Reason: reasonProvisioned}}

	since := d.cluster.Version()
	d.wantWrites(d.addFinalizer(t.Context(), s, stale), "the finalizer", since, 1)
	d.wantWrites(d.addFinalizer(t.Context(), s, stale), "and again", since, 1)
	d.wantWrites(d.writeStatus(t.Context(), s, stale, nil, waiting), "a condition", since, 2)
	d.wantWrites(d.writeStatus(t.Context(), s, stale, nil, waiting), "and again", since, 2)
	d.wantWrites(d.writeStatus(t.Context(), s, stale, addresses, serving), "an address", since, 3)
	d.wantWrites(d.writeStatus(t.Context(), s, stale, addresses, serving), "and again", since, 3)
	if got := fmt.Sprint(d.current().Finalizers,
		addressesOf(d.current().Status.LoadBalancer)); got !=
		"[example.com/other service.kubernetes.io/load-balancer-cleanup] [192.0.2.1]" {
		t.Errorf("finalizers and addresses: %s", got)
	}
	if newest := s.latest(stale); !helpers.HasLBFinalizer(newest) || len(stale.Finalizers) != 1 {
		t.Errorf("newest: finalizers %q; those of the stale one: %q", newest.Finalizers, stale.Finalizers)
	}

	// A later write of another client counts as soon as it is in the cache.
	if err := d.cluster.Change(stale, func(o cluster.Object) {
		o.(*corev1.Service).Status = corev1.ServiceStatus{}
	}); err != nil {
		t.Fatal(err)
	}
	since = d.cluster.Version()
	d.wantWrites(d.writeStatus(t.Context(), s, d.current(), addresses, serving), "what was taken away", since, 1)

	since = d.cluster.Version()
	d.wantWrites(d.release(t.Context(), s, stale, phaseDeleting), "the end", since, 1)
	d.wantWrites(d.release(t.Context(), s, stale, phaseDeleting), "and again", since, 1)
	if got := fmt.Sprint(d.current().Finalizers, d.current().Status); got != fmt.Sprint([]string{"example.com/other"},
		corev1.ServiceStatus{}) {
		t.Errorf("finalizers and status in the end: %s", got)
	}
}

// TestWritesCheckTheUID: a write for one Service does not change another Service with the same name.
func TestWritesCheckTheUID(t *testing.T) {
	d, s := newWriterRig(t, web()), &serviceState{}
	before := d.current()
	if err := d.cluster.Replace(web()); err != nil {
		t.Fatal(err)
	}
	since := d.cluster.Version()
	if err := d.addFinalizer(t.Context(), s, before); err == nil ||
		!strings.Contains(err.Error(), "adding the finalizer that keeps Service shop/web") {
		t.Errorf("protecting one that is gone: error %v", err)
	}
	if err := d.writeStatus(t.Context(), s, before,
		&corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{IP: "192.0.2.1"}}}, nil); err == nil {
		t.Error("an address of one that is gone was written")
	}
	if made := d.cluster.Version() - since; made != 0 {
		t.Errorf("%d writes", made)
	}
	// A write to one Service is not assumed for the other.
	if err := d.addFinalizer(t.Context(), s, d.current()); err != nil {
		t.Fatal(err)
	}
	other := web()
	other.UID, other.ResourceVersion = "another", "1"
	if helpers.HasLBFinalizer(s.latest(other)) {
		t.Error("another Service has the finalizer of this one")
	}
}

// TestProvisionedConditions: the conditions about the load balancer depend on the outcome. Conditions that are not
// returned do not change.
func TestProvisionedConditions(t *testing.T) {
	failed := errors.New("quota exceeded")
	wait := cloud.Busy("creating", time.Minute)
	later := cloud.Reason{Err: failed, Until: time.Minute}
	tests := map[string]struct {
		outcome outcome
		message string
		want    string
	}{
		"as it should be":   {outcome{}, "", "Provisioned True Provisioned; Synced True AsWanted"},
		"drift is reported": {outcome{err: errDriftReported, serving: true}, "", ""},
		"it is waited for":  {outcome{err: wait}, "", "Provisioned False Waiting creating"},
		"it is waited for, as was said": {outcome{err: wait, serving: true}, "lb is updating",
			"Provisioned False Waiting lb is updating"},
		"more is to be written": {outcome{err: wait, serving: true}, "", ""},
		"it fails": {outcome{err: failed}, "",
			"Provisioned False Failed quota exceeded; Synced False Failed quota exceeded"},
		"it fails while it serves": {outcome{err: failed, serving: true}, "",
			"Synced False Failed quota exceeded"},
		"something is refused, and it serves": {outcome{err: failed, partlyInSync: true}, "",
			"Provisioned True Provisioned; Synced False Failed quota exceeded"},
		"the cloud is away": {outcome{err: failed, transient: true}, "",
			"Provisioned False Failed quota exceeded; Synced False Failed quota exceeded"},
		"the cloud is away while it serves": {outcome{err: failed, transient: true, serving: true}, "", ""},
		"the cloud requests a later retry":  {outcome{err: later, serving: true, transient: true}, "", ""},
		"the cloud requests that, and never served": {outcome{err: later, transient: true}, "",
			"Provisioned False Failed quota exceeded; Synced False Failed quota exceeded"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := &serviceState{}
			s.wait.message = tt.message
			if got := conditionTexts(s.provisionedConditions(tt.outcome)); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// conditionTexts returns conditions as one line.
func conditionTexts(conditions []metav1.Condition) string {
	words := make([]string, len(conditions))
	for i, one := range conditions {
		words[i] = strings.TrimSpace(fmt.Sprintf("%s %s %s %s", strings.TrimPrefix(one.Type, "LoadBalancer"),
			one.Status, one.Reason, one.Message))
	}
	return strings.Join(words, "; ")
}

// TestConditions: the conditions of notices are written only after a diff, and the condition of drift only if there was
// drift.
func TestConditions(t *testing.T) {
	notices := []cloud.Notice{
		{Topic: cloud.Settings, Reason: "Wrong", Message: "One."}, {Topic: cloud.Nodes, Reason: "Left",
			Message: "Two."},
		{Topic: cloud.Settings, Reason: "Wrong", Message: "Three."},
	}
	drifted := []metav1.Condition{{Type: conditionDrifted, Status: metav1.ConditionTrue}}
	tests := map[string]struct {
		compared bool
		notices  []cloud.Notice
		drift    string
		before   []metav1.Condition
		want     string
	}{
		"before the first comparison": {false, notices, "", nil, ""},
		"nothing is wrong":            {true, nil, "", nil, "ConfigValid True AsWanted; TargetsComplete True AsWanted"},
		"notices": {true, notices, "", nil,
			"ConfigValid False Wrong One. Three.; TargetsComplete False Left Two."},
		"drift":               {false, nil, "ports", nil, "Drifted True LoadBalancerDrifted ports"},
		"drift that was":      {false, nil, "", drifted, "Drifted False AsWanted"},
		"drift that still is": {false, nil, "ports", drifted, "Drifted True LoadBalancerDrifted ports"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Generation: 3},
				Status: corev1.ServiceStatus{Conditions: tt.before}}
			s := &serviceState{}
			s.notices, s.drift.summary = tt.notices, tt.drift
			if tt.compared {
				s.service = service
			}
			conditions := s.conditions(service, outcome{err: errDriftReported})
			if got := conditionTexts(conditions); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			for _, one := range conditions {
				if one.ObservedGeneration != 3 {
					t.Errorf("condition %s is of generation %d", one.Type, one.ObservedGeneration)
				}
			}
		})
	}
}

// TestTruncate: truncate keeps whole characters.
func TestTruncate(t *testing.T) {
	tests := []struct {
		text  string
		limit int
		want  string
	}{{"", 8, ""}, {"12345678", 8, "12345678"}, {"123456789", 8, "1234 …"}, {"ééééé", 8, "éé …"}, {"aéééé", 8, "aé …"}}
	for _, tt := range tests {
		if got := truncate(tt.text, tt.limit); got != tt.want || !utf8.ValidString(got) {
			t.Errorf("%q cut to %d bytes: %q, want %q", tt.text, tt.limit, got, tt.want)
		}
	}
}
