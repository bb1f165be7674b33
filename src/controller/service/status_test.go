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
	"k8s.io/cloud-provider/api"
	"k8s.io/cloud-provider/service/helpers"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/service/cluster"
)

// desk is a writer, the cluster it writes to, and a Service there.
type desk struct {
	*testing.T
	writer
	cluster *cluster.Cluster
}

func newDesk(t *testing.T, service *corev1.Service) desk {
	t.Helper()
	d := desk{T: t, cluster: cluster.New()}
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

// now is the Service as the cluster has it.
func (d desk) now() *corev1.Service { return d.cluster.Services()[0] }

// must fails the test unless so many writes were made since the version.
func (d desk) must(err error, what string, since, writes int) {
	d.Helper()
	if made := d.cluster.Version() - since; err != nil || made != writes {
		d.Errorf("%s: error %v, %d writes; want %d", what, err, made, writes)
	}
}

func web() *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web",
		Finalizers: []string{"example.com/other"}}}
}

// TestNothingIsWrittenTwice, although the cache still shows the Service as it was before.
func TestNothingIsWrittenTwice(t *testing.T) {
	d, m := newDesk(t, web()), &memory{}
	stale := d.now()
	addresses := &corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{IP: "192.0.2.1"}}}
	waiting := []metav1.Condition{{Type: conditionProvisioned, Status: metav1.ConditionFalse, Reason: reasonWaiting}}
	serving := []metav1.Condition{{Type: conditionProvisioned, Status: metav1.ConditionTrue, Reason: reasonProvisioned}}

	since := d.cluster.Version()
	d.must(d.protect(t.Context(), m, stale), "the finalizer", since, 1)
	d.must(d.protect(t.Context(), m, stale), "and again", since, 1)
	d.must(d.publish(t.Context(), m, stale, nil, waiting), "a condition", since, 2)
	d.must(d.publish(t.Context(), m, stale, nil, waiting), "and again", since, 2)
	d.must(d.publish(t.Context(), m, stale, addresses, serving), "an address", since, 3)
	d.must(d.publish(t.Context(), m, stale, addresses, serving), "and again", since, 3)
	if got := fmt.Sprint(d.now().Finalizers,
		addressesOf(d.now().Status.LoadBalancer)); got !=
		"[example.com/other service.kubernetes.io/load-balancer-cleanup] [192.0.2.1]" {
		t.Errorf("finalizers and addresses: %s", got)
	}
	if newest := m.newest(stale); !helpers.HasLBFinalizer(newest) || len(stale.Finalizers) != 1 {
		t.Errorf("newest: finalizers %q; those of the stale one: %q", newest.Finalizers, stale.Finalizers)
	}

	// What somebody else wrote after that counts, as soon as it shows.
	if err := d.cluster.Change(stale, func(o cluster.Object) {
		o.(*corev1.Service).Status = corev1.ServiceStatus{}
	}); err != nil {
		t.Fatal(err)
	}
	since = d.cluster.Version()
	d.must(d.publish(t.Context(), m, d.now(), addresses, serving), "what was taken away", since, 1)

	since = d.cluster.Version()
	d.must(d.release(t.Context(), m, stale), "the end", since, 1)
	d.must(d.release(t.Context(), m, stale), "and again", since, 1)
	if got := fmt.Sprint(d.now().Finalizers, d.now().Status); got != fmt.Sprint([]string{"example.com/other"},
		corev1.ServiceStatus{}) {
		t.Errorf("finalizers and status in the end: %s", got)
	}
}

// TestNothingIsWrittenToAnother Service of the same name.
func TestNothingIsWrittenToAnother(t *testing.T) {
	d, m := newDesk(t, web()), &memory{}
	before := d.now()
	if err := d.cluster.Replace(web()); err != nil {
		t.Fatal(err)
	}
	since := d.cluster.Version()
	if err := d.protect(t.Context(), m, before); err == nil ||
		!strings.Contains(err.Error(), "adding the finalizer that keeps Service shop/web") {
		t.Errorf("protecting one that is gone: error %v", err)
	}
	if err := d.publish(t.Context(), m, before,
		&corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{IP: "192.0.2.1"}}}, nil); err == nil {
		t.Error("an address of one that is gone was written")
	}
	if made := d.cluster.Version() - since; made != 0 {
		t.Errorf("%d writes", made)
	}
	// And what was written to one says nothing about the other.
	if err := d.protect(t.Context(), m, d.now()); err != nil {
		t.Fatal(err)
	}
	another := web()
	another.UID, another.ResourceVersion = "another", "1"
	if helpers.HasLBFinalizer(m.newest(another)) {
		t.Error("another Service has the finalizer of this one")
	}
}

// TestUnprotect takes back what protect wrote, and nothing else.
func TestUnprotect(t *testing.T) {
	d, m := newDesk(t, web()), &memory{}
	before := d.now()
	if err := d.protect(t.Context(), m, before); err != nil {
		t.Fatal(err)
	}
	protected := d.now()
	since := d.cluster.Version()
	d.must(d.unprotect(t.Context(), m, protected), "one that had it already", since, 0)
	d.must(d.unprotect(t.Context(), m, before), "one that had not", since, 1)
	if helpers.HasLBFinalizer(d.now()) || len(d.now().Finalizers) != 1 {
		t.Errorf("finalizers %q", d.now().Finalizers)
	}
}

// TestProvisioned: what the conditions about the load balancer say, by how a look ended. Those that are not named stay
// as they are.
func TestProvisioned(t *testing.T) {
	failed := errors.New("quota exceeded")
	wait := api.NewRetryError("creating", time.Minute)
	tests := map[string]struct {
		state   state
		message string
		want    string
	}{
		"as it should be":   {state{}, "", "Provisioned True Provisioned; Synced True AsWanted"},
		"drift is reported": {state{err: errReported, serving: true}, "", ""},
		"it is waited for":  {state{err: wait}, "", "Provisioned False Waiting creating"},
		"it is waited for, as was said": {state{err: wait, serving: true}, "lb is updating",
			"Provisioned False Waiting lb is updating"},
		"more is to be written": {state{err: wait, serving: true}, "", ""},
		"it fails": {state{err: failed}, "",
			"Provisioned False Failed quota exceeded; Synced False Failed quota exceeded"},
		"it fails while it serves": {state{err: failed, serving: true}, "",
			"Synced False Failed quota exceeded"},
		"something is refused, and it serves": {state{err: failed, partly: true}, "",
			"Provisioned True Provisioned; Synced False Failed quota exceeded"},
		"the cloud is away": {state{err: failed, quiet: true}, "",
			"Provisioned False Failed quota exceeded; Synced False Failed quota exceeded"},
		"the cloud is away while it serves": {state{err: failed, quiet: true, serving: true}, "", ""},
		"the cloud wants to be asked later": {state{err: &retry{RetryError: wait, cause: failed}, serving: true,
			quiet: true}, "", ""},
		"the cloud wants that, and never served": {state{err: &retry{RetryError: wait, cause: failed}, quiet: true}, "",
			"Provisioned False Failed creating; Synced False Failed creating"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			m := &memory{}
			m.message = tt.message
			if got := inWords(m.provisioned(tt.state)); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// inWords are conditions in one line.
func inWords(conditions []metav1.Condition) string {
	words := make([]string, len(conditions))
	for i, one := range conditions {
		words[i] = strings.TrimSpace(fmt.Sprintf("%s %s %s %s", strings.TrimPrefix(one.Type, "LoadBalancer"),
			one.Status, one.Reason, one.Message))
	}
	return strings.Join(words, "; ")
}

// TestConditions: those of notices only when somebody has looked, and the one of drift only when there was any.
func TestConditions(t *testing.T) {
	notices := []cloud.Notice{
		{Topic: cloud.Settings, Reason: "Wrong", Message: "One."}, {Topic: cloud.Nodes, Reason: "Left",
			Message: "Two."},
		{Topic: cloud.Settings, Reason: "Wrong", Message: "Three."},
	}
	drifted := []metav1.Condition{{Type: conditionDrifted, Status: metav1.ConditionTrue}}
	tests := map[string]struct {
		known  knowledge
		before []metav1.Condition
		want   string
	}{
		"nobody has looked": {knowledge{notices: notices}, nil, ""},
		"nothing is wrong": {knowledge{noticed: true}, nil,
			"ConfigValid True AsWanted; TargetsComplete True AsWanted"},
		"notices": {knowledge{noticed: true, notices: notices}, nil,
			"ConfigValid False Wrong One. Three.; TargetsComplete False Left Two."},
		"drift": {knowledge{effort: effort{drift: "ports"}}, nil,
			"Drifted True LoadBalancerDrifted ports"},
		"drift that was": {knowledge{}, drifted, "Drifted False AsWanted"},
		"drift that still is": {knowledge{effort: effort{drift: "ports"}}, drifted,
			"Drifted True LoadBalancerDrifted ports"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			m := &memory{knowledge: tt.known}
			service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Generation: 3},
				Status: corev1.ServiceStatus{Conditions: tt.before}}
			conditions := m.conditions(service, state{err: errReported})
			if got := inWords(conditions); got != tt.want {
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

// TestCut keeps what fits, and never half a character.
func TestCut(t *testing.T) {
	tests := []struct {
		text  string
		limit int
		want  string
	}{{"", 8, ""}, {"12345678", 8, "12345678"}, {"123456789", 8, "1234 …"}, {"ééééé", 8, "éé …"}, {"aéééé", 8, "aé …"}}
	for _, tt := range tests {
		if got := cut(tt.text, tt.limit); got != tt.want || !utf8.ValidString(got) {
			t.Errorf("%q cut to %d bytes: %q, want %q", tt.text, tt.limit, got, tt.want)
		}
	}
}
