package charttest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

func TestExampleWeb(t *testing.T) {
	decoded, err := Decode(readCheckout(t, "examples/web.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if len(decoded) != 2 {
		t.Errorf("%d objects, want 2", len(decoded))
	}
	deployment := find[*appsv1.Deployment](t, decoded, "web")
	service := find[*corev1.Service](t, decoded, "web")

	template := deployment.Spec.Template
	if got := restrictions(template.Spec); len(got) > 0 {
		t.Errorf("the pods violate %q", got)
	}
	if got := *deployment.Spec.Replicas; got != 2 {
		t.Errorf("%d replicas, want 2", got)
	}
	if template.Spec.Containers[0].Resources.Requests.Cpu().IsZero() {
		t.Error("the container requests no CPU")
	}
	if diff := cmp.Diff(deployment.Spec.Selector.MatchLabels, service.Spec.Selector); diff != "" {
		t.Errorf("selectors of Deployment and Service (-Deployment +Service):\n%s", diff)
	}
	if !labels.SelectorFromSet(service.Spec.Selector).Matches(labels.Set(template.Labels)) {
		t.Errorf("the selector %v does not match the pods %v", service.Spec.Selector, template.Labels)
	}
}

// TestExampleWebService pins the Service of the product's first promise.
func TestExampleWebService(t *testing.T) {
	decoded, err := Decode(readCheckout(t, "examples/web.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	service := find[*corev1.Service](t, decoded, "web")
	if service.Spec.Type != corev1.ServiceTypeLoadBalancer {
		t.Errorf("type %q, want LoadBalancer", service.Spec.Type)
	}
	if got := service.Annotations["loadbalancer.k8s.thalassa.cloud/type"]; got != "public" {
		t.Errorf("annotation type %q, want public", got)
	}
	if len(service.Spec.Ports) != 1 {
		t.Fatalf("ports %v, want one", service.Spec.Ports)
	}
	if port := service.Spec.Ports[0]; port.Port != 80 || port.TargetPort.IntValue() != 8080 {
		t.Errorf("port %d -> %s, want 80 -> 8080", port.Port, port.TargetPort.String())
	}
	container := find[*appsv1.Deployment](t, decoded, "web").Spec.Template.Spec.Containers[0]
	if len(container.Ports) != 1 || container.Ports[0].ContainerPort != 8080 {
		t.Errorf("container ports %v, want 8080", container.Ports)
	}
}

// TestUnpublishedImagesAreSaid names the texts to change once images are published.
func TestUnpublishedImagesAreSaid(t *testing.T) {
	for _, path := range []string{
		"charts/thalassa-ccm/README.md",
		"examples/web.yaml",
	} {
		if !strings.Contains(readCheckout(t, path), "not published yet") {
			t.Errorf("%s does not say that images are not published yet", path)
		}
	}
}
