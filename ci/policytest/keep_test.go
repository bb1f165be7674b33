package policytest

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/thalassa-cloud/thalassa-ccm/src/annotation"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplanetest"
)

// old is a Service that was there before the policy, with annotations that it refuses.
type old struct {
	client    kubernetes.Interface
	namespace string
	prefix    string
}

// newOld makes the Service and then puts the policy in force.
func newOld(t *testing.T) old {
	t.Helper()
	client, namespace := cluster(t)
	o := old{client, namespace, thalassa.Annotations().Prefix()}
	bad := map[string]string{o.prefix + "max-connections": "many", o.prefix + "typo": "x", o.prefix + "type": "public",
		"other.example.com/x": "y"}
	if _, err := client.CoreV1().Services(namespace).Create(t.Context(), service(namespace, bad),
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	install(t, client, namespace, rendered(t, "thalassa-ccm"), o.prefix)
	return o
}

// patch changes the Service as `kubectl patch` does.
func (o old) patch(t *testing.T, patch string, subresources ...string) error {
	t.Helper()
	_, err := o.client.CoreV1().Services(o.namespace).Patch(t.Context(), "web", types.MergePatchType, []byte(patch),
		metav1.PatchOptions{}, subresources...)
	return err
}

// annotate is the patch that gives an annotation a value; null removes it.
func (o old) annotate(name, value string) string {
	return fmt.Sprintf(`{"metadata":{"annotations":{%q:%s}}}`, o.prefix+name, value)
}

// TestOldServicesKeepWorking makes every change that leaves a bad annotation alone or makes it better.
func TestOldServicesKeepWorking(t *testing.T) {
	o := newOld(t)
	for _, step := range []struct{ name, patch, subresource string }{
		{"a label", `{"metadata":{"labels":{"a":"b"}}}`, ""},
		{"the spec", `{"spec":{"ports":[{"port":81}]}}`, ""},
		{"another's annotation", `{"metadata":{"annotations":{"other.example.com/x":"z"}}}`, ""},
		{"a finalizer", `{"metadata":{"finalizers":["service.kubernetes.io/load-balancer-cleanup"]}}`, ""},
		{"a finalizer through the status",
			`{"metadata":{"finalizers":["service.kubernetes.io/load-balancer-cleanup","example.com/x"]}}`, "status"},
		{"the status", `{"status":{"conditions":[{"type":"X","status":"True","reason":"X","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`, "status"},
		{"a good annotation", o.annotate("idle-connection-timeout", `"60"`), ""},
		{"an annotation of one port", o.annotate("acl-port-81", `"10.0.0.0/8"`), ""},
		{"the port that it is about", `{"spec":{"ports":[{"port":82}]}}`, ""},
		{"the unknown one removed", o.annotate("typo", `null`), ""},
		{"the bad one repaired", o.annotate("max-connections", `"10"`), ""},
	} {
		var subresources []string
		if step.subresource != "" {
			subresources = append(subresources, step.subresource)
		}
		if err := o.patch(t, step.patch, subresources...); err != nil {
			t.Errorf("changing %s: %v", step.name, err)
		}
	}
}

// TestOldServicesGetNoWorse: what a change sets must be good, whatever was there before.
func TestOldServicesGetNoWorse(t *testing.T) {
	o := newOld(t)
	for name, patch := range map[string]string{
		"another bad value": o.annotate("max-connections", `"more"`),
		"an empty value":    o.annotate("max-connections", `""`),
		"a good one broken": o.annotate("type", `"secret"`),
		"a new bad one":     o.annotate("enable-proxy-protocol", `"maybe"`),
		"a new unknown one": o.annotate("typo2", `"x"`),
		"an unknown one":    o.annotate("typo", `"y"`),
	} {
		err := o.patch(t, patch)
		if !apierrors.IsInvalid(err) {
			t.Errorf("%s gives %v, want a refusal", name, err)
			continue
		}
		if strings.Contains(err.Error(), `"many"`) ||
			strings.Contains(err.Error(), o.prefix+"typo:") && name != "an unknown one" {
			t.Errorf("%s: the refusal %v is about what has not changed", name, err)
		}
	}
	if err := o.patch(t, `{"metadata":{"annotations":null}}`); err != nil {
		t.Errorf("removing all annotations: %v", err)
	}
	if err := o.patch(t, o.annotate("typo", `"x"`)); !apierrors.IsInvalid(err) {
		t.Errorf("an annotation that was removed comes back with %v, want a refusal", err)
	}
}

// TestOldServicesCanGo deletes one that still has a finalizer, whose removal is one more update.
func TestOldServicesCanGo(t *testing.T) {
	o := newOld(t)
	if err := o.patch(t, `{"metadata":{"finalizers":["example.com/x"]}}`); err != nil {
		t.Fatal(err)
	}
	if err := o.client.CoreV1().Services(o.namespace).Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := o.patch(t, `{"metadata":{"finalizers":null}}`); err != nil {
		t.Error(err)
	}
	controlplanetest.Eventually(t, waitTimeout, "the Service has gone", func(ctx context.Context) error {
		_, err := o.client.CoreV1().Services(o.namespace).Get(ctx, "web", metav1.GetOptions{})
		if !apierrors.IsNotFound(err) {
			return fmt.Errorf("reading it gives %w", err)
		}
		return nil
	})
}

// TestServerSideApply: kubectl apply --server-side and GitOps tools use it, to create and to change.
func TestServerSideApply(t *testing.T) {
	o := newOld(t)
	apply := func(name, value string) error {
		object := fmt.Sprintf(`{"apiVersion":"v1","kind":"Service","metadata":{"name":%q,"annotations":{%q:%q}},"spec":{"ports":[{"port":80}]}}`,
			name, o.prefix+"max-connections", value)
		_, err := o.client.CoreV1().Services(o.namespace).Patch(t.Context(), name, types.ApplyPatchType, []byte(object),
			metav1.PatchOptions{FieldManager: "test", Force: new(true)})
		return err
	}
	if err := apply("web", "many"); err != nil {
		t.Errorf("applying what is there: %v", err)
	}
	if err := apply("web", "few"); !apierrors.IsInvalid(err) {
		t.Errorf("applying another bad value gives %v, want a refusal", err)
	}
	if err := apply("new", "many"); !apierrors.IsInvalid(err) {
		t.Errorf("creating by applying gives %v, want a refusal", err)
	}
	if err := apply("new", "5"); err != nil {
		t.Error(err)
	}
}

// fullSize is what a Service can have, less the room for one more annotation: 256 KiB of names and values.
const fullSize = 256<<10 - 200

// crowd is as many annotations under the prefix as the policy judges, but two.
func crowd(prefix, start string) map[string]string {
	annotations := map[string]string{}
	for i := range mostAnnotations - 2 {
		annotations[fmt.Sprintf("%s%s%d", prefix, start, i)] = ""
	}
	return annotations
}

// wide is a Service with many ports, p1 and so on, each with the same number as in its name.
func wide(namespace string, annotations map[string]string) *corev1.Service {
	s := service(namespace, annotations)
	s.Spec.Ports = nil
	for i := range widePorts {
		s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: fmt.Sprintf("p%d", i+1), Port: int32(i + 1)})
	}
	return s
}

// widePorts and mostAnnotations are what the policy judges at most.
const (
	widePorts       = 1000
	mostAnnotations = 1000
)

// filled is as many annotations as fit, one for each port, with a value each.
func filled(prefix, start, value string) map[string]string {
	annotations := map[string]string{}
	for size, i := 0, 1; i <= widePorts-2; i++ {
		name := fmt.Sprintf("%s%s%d", prefix, start, i)
		if size += len(name) + len(value); size > fullSize {
			break
		}
		annotations[name] = value
	}
	return annotations
}

// TestLargestServices are judged, too: an evaluation that costs more than the API server allows would let everything
// through.
func TestLargestServices(t *testing.T) {
	tier.NeedFull(t)
	client, namespace := cluster(t)
	prefix := thalassa.Annotations().Prefix()
	install(t, client, namespace, rendered(t, "thalassa-ccm"), prefix)
	good := filled(prefix, "acl-port-p", "")
	if err := create(t.Context(), client, wide(namespace, good)); err != nil {
		t.Errorf("%d annotations of ports: %v", len(good), err)
	}
	for name, annotations := range map[string]map[string]string{
		"one bad among those of ports":  with(good, prefix+"max-connections", "many"),
		"all of one family are bad":     filled(prefix, "acl-port-p", "x"),
		"all of one annotation are bad": filled(prefix, "max-connections.p", "many"), "all unknown": crowd(prefix, "x"),
		"all for other ports": crowd(prefix, "acl-port-x"), "all for one port but about the Service": crowd(prefix,
			"type.x"),
		"all known from others": crowd(prefix, "tls-"),
		"many sources for each port": with(filled(prefix, "acl-port-p", strings.Repeat("::1,", 60)+"::1"), prefix+
			"type", "x"),
		"most sources for some ports": with(filled(prefix, "acl-port-p", strings.Repeat("::,", 5400)+"::1"), prefix+
			"type", "x"),
		"one bad among those of others": with(crowd("", "a"), prefix+"type", "x"),
		"most sources":                  {prefix + "acl-allowed-sources": strings.Repeat("::,", 5400) + "::1"},
		"a long number":                 long("max-connections", "1"), "many sources": long("acl-allowed-sources",
			"::1,"), "many wrong sources": long("acl-allowed-sources", "::1, "),
		"many names": long("security-groups", "a,"), "many labels": long("labels", "a=b,"),
		"a long selector": long("node-selector", "a,"), "a long path": long("health-check-path", "/"),
		"a long name": long("name", "x"), "a long size": long("instance-size", "x."),
		"a long address": long("reserved-ip", "1:"),
	} {
		err := create(t.Context(), client, wide(namespace, with(annotations, prefix+"publish", "x")))
		if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "denied request: annotation ") {
			t.Errorf("%s (%d annotations): %v, want a refusal in the policy's words", name, len(annotations),
				short(err))
		} else if len(err.Error()) > 2000 {
			t.Errorf("%s: a message of %d characters", name, len(err.Error()))
		}
	}
	grow(t, client, namespace, good, prefix)
}

// TestLargerServicesAreNotJudged: it would keep the API server busy for half a minute. The controller manager reads
// their annotations.
func TestLargerServicesAreNotJudged(t *testing.T) {
	tier.NeedFull(t)
	client, namespace := cluster(t)
	prefix := thalassa.Annotations().Prefix()
	install(t, client, namespace, rendered(t, "thalassa-ccm"), prefix)
	more := wide(namespace, map[string]string{prefix + "type": "x"})
	more.Spec.Ports = append(more.Spec.Ports, corev1.ServicePort{Name: "more", Port: 65535})
	for name, s := range map[string]*corev1.Service{
		"ports": more,
		"annotations": service(namespace, with(with(with(crowd(prefix, "x"), prefix+"one", ""), prefix+"two", ""),
			prefix+"three", "")),
	} {
		if err := create(t.Context(), client, s); err != nil {
			t.Errorf("more than %d %s: %v", widePorts, name, short(err))
		}
	}
}

// with is the annotations and one more.
func with(annotations map[string]string, name, value string) map[string]string {
	more := maps.Clone(annotations)
	more[name] = value
	return more
}

// long is one annotation as long as it can be.
func long(name, repeated string) map[string]string {
	return map[string]string{thalassa.Annotations().Prefix() + name: strings.Repeat(repeated,
		(fullSize-200)/len(repeated))}
}

// short is the end of an error, which may repeat the longest Service.
func short(err error) string {
	text := fmt.Sprint(err)
	return text[max(0, len(text)-500):]
}

// TestManyKnownAnnotations: there may be more annotations one day, and still the largest Service is judged.
func TestManyKnownAnnotations(t *testing.T) {
	tier.NeedFull(t)
	client, namespace := cluster(t)
	registry := annotation.NewRegistry("many.example.com/")
	all := map[string]string{}
	for i := range 40 {
		name := fmt.Sprintf("an-annotation-with-a-long-name-%d", i)
		annotation.Register(registry, annotation.Definition{Name: name, PerPort: i%2 == 0},
			annotation.Int(1, 1<<30, "connections"), 1)
		all[registry.Prefix()+name] = "many"
	}
	install(t, client, namespace, generated(t, "many", registry), registry.Prefix())
	for name := range crowd(registry.Prefix(), "and-more-") {
		if len(all) < mostAnnotations {
			all[name] = ""
		}
	}
	err := create(t.Context(), client, service(namespace, all))
	if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "denied request: annotation ") {
		t.Errorf("%d annotations: %v, want a refusal in the policy's words", len(all), err)
	}
}

// grow spoils a large Service that exists, for which the annotations from before are compared, too.
func grow(t *testing.T, client kubernetes.Interface, namespace string, annotations map[string]string, prefix string) {
	t.Helper()
	stored, err := client.CoreV1().Services(namespace).Create(t.Context(), wide(namespace, annotations),
		metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	update := func(s *corev1.Service) error {
		_, err := client.CoreV1().Services(namespace).Update(t.Context(), s,
			metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}
	stored.Labels = map[string]string{"a": "b"}
	if err := update(stored); err != nil {
		t.Errorf("a label of a large Service: %v", err)
	}
	stored.Annotations[prefix+"type"] = "x"
	if err := update(stored); !apierrors.IsInvalid(err) {
		t.Errorf("a bad annotation on a large Service: %v", err)
	}
}
