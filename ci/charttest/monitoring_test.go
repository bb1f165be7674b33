package charttest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// serviceEndpoint and podEndpoint return the one endpoint of the monitor, as YAML.
func serviceEndpoint(t *testing.T, sets ...string) string {
	t.Helper()
	rendered := objects(t, minimal(t, append([]string{"serviceMonitor.enabled=true"}, sets...)...))
	monitor := find[*monitoringv1.ServiceMonitor](t, rendered, "thalassa-ccm")
	want := map[string]string{"k8s.thalassa.cloud/metrics-service": "thalassa-ccm-metrics"}
	if diff := cmp.Diff(metav1.LabelSelector{MatchLabels: want}, monitor.Spec.Selector); diff != "" {
		t.Errorf("selector (-want +got):\n%s", diff)
	}
	service := find[*corev1.Service](t, rendered, "thalassa-ccm-metrics")
	if !labels.SelectorFromSet(want).Matches(labels.Set(service.Labels)) {
		t.Errorf("the Service has the labels %v, which the ServiceMonitor does not select", service.Labels)
	}
	return only(t, monitor.Spec.Endpoints)
}

func podEndpoint(t *testing.T, sets ...string) string {
	t.Helper()
	rendered := objects(t, minimal(t, append([]string{"podMonitor.enabled=true"}, sets...)...))
	monitor := find[*monitoringv1.PodMonitor](t, rendered, "thalassa-ccm")
	if diff := cmp.Diff(*selector(), monitor.Spec.Selector); diff != "" {
		t.Errorf("selector (-want +got):\n%s", diff)
	}
	return only(t, monitor.Spec.PodMetricsEndpoints)
}

func only[T any](t *testing.T, endpoints []T) string {
	t.Helper()
	if len(endpoints) != 1 {
		t.Fatalf("%d endpoints, want 1", len(endpoints))
	}
	data, err := yaml.Marshal(endpoints[0])
	if err != nil {
		t.Fatal(err)
	}
	// Go writes out structs that are empty.
	return strings.NewReplacer("  ca: {}\n", "", "  cert: {}\n", "").Replace(string(data))
}

const (
	endpointStart = "interval: 30s\npath: /metrics\nport: metrics\nscheme: https\n"
	unchecked     = "tlsConfig:\n  insecureSkipVerify: true\n"
	ownToken      = "bearerTokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token\n"
	givenToken    = "authorization:\n  credentials:\n    key: token\n    name: prometheus-token\n  type: Bearer\n"
	checked       = "tlsConfig:\n  ca:\n    secret:\n      key: ca.crt\n      name: certificate\n  serverName: " +
		"thalassa-ccm-metrics.kube-system.svc\n"
	certificate = "  cert:\n    secret:\n      key: tls.crt\n      name: client\n"
	key         = "  keySecret:\n    key: tls.key\n    name: client\n"
)

// TestMonitors lists what Prometheus is configured with, for each way to identify itself and to recognise the port.
func TestMonitors(t *testing.T) {
	const token, tls, client = "scrape.token.existingSecret=prometheus-token", "metrics.tlsSecret=certificate",
		"scrape.clientCertificate.existingSecret=client"
	withClient := "tlsConfig:\n" + certificate + "  insecureSkipVerify: true\n" + key
	for name, test := range map[string]struct{ got, want string }{
		"service, as it is":    {serviceEndpoint(t), ownToken + endpointStart + unchecked},
		"service, token":       {serviceEndpoint(t, token), givenToken + endpointStart + unchecked},
		"service, certificate": {serviceEndpoint(t, client), endpointStart + withClient},
		"service, port's own":  {serviceEndpoint(t, tls), ownToken + endpointStart + checked},
		"service, managed": {serviceEndpoint(t, hosting(client, "metrics.clientCA.existingSecret=ca")...),
			endpointStart + withClient},
		"pod, token":                {podEndpoint(t, token), givenToken + endpointStart + unchecked},
		"pod, certificate":          {podEndpoint(t, client), endpointStart + withClient},
		"pod, token and port's own": {podEndpoint(t, token, tls), givenToken + endpointStart + checked},
		"service, another authority": {serviceEndpoint(t, tls, "scrape.ca.existingSecret=certificate"), ownToken +
			endpointStart + checked},
	} {
		if diff := cmp.Diff(test.want, test.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestMetricsService wants a ServiceMonitor to find the port by its name.
func TestMetricsService(t *testing.T) {
	service := find[*corev1.Service](t, objects(t, minimal(t, "serviceMonitor.enabled=true", "securePort=20258")),
		"thalassa-ccm-metrics")
	if service.Spec.ClusterIP != corev1.ClusterIPNone || !service.Spec.PublishNotReadyAddresses {
		t.Errorf("Service %+v, want a headless one that also knows pods that are not ready", service.Spec)
	}
	if diff := cmp.Diff(selector().MatchLabels, service.Spec.Selector); diff != "" {
		t.Errorf("selector (-want +got):\n%s", diff)
	}
	if port := service.Spec.Ports[0]; port.Name != "metrics" || port.Port != 20258 ||
		port.TargetPort.String() != "metrics" {
		t.Errorf("port %+v, want metrics", port)
	}
	for name, sets := range map[string][]string{"no monitor": nil, "a PodMonitor": {"podMonitor.enabled=true",
		"scrape.token.existingSecret=a"}} {
		for _, object := range objects(t, minimal(t, sets...)) {
			if _, is := object.(*corev1.Service); is {
				t.Errorf("%s: a Service is rendered", name)
			}
		}
	}
}

// TestMetricsTLS follows the flags to the files that are mounted.
func TestMetricsTLS(t *testing.T) {
	tls, mount := volume(t, "tls", "metrics.tlsSecret=certificate")
	if tls.Secret == nil || tls.Secret.SecretName != "certificate" || *tls.Secret.DefaultMode&0o007 != 0 {
		t.Errorf("volume %+v, want Secret certificate, closed to others", tls)
	}
	got := flags(t, "metrics.tlsSecret=certificate")
	if got["tls-cert-file"] != mount.MountPath+"/tls.crt" || got["tls-private-key-file"] != mount.MountPath+"/tls.key" {
		t.Errorf("flags %v, want the files in %s", got, mount.MountPath)
	}
}

func TestNetworkPolicy(t *testing.T) {
	policy := find[*networkingv1.NetworkPolicy](t,
		objects(t, minimal(t, "hostNetwork=false", "networkPolicy.enabled=true",
			"networkPolicy.apiServer.cidrs[0]=10.0.0.0/24")), "thalassa-ccm")
	if diff := cmp.Diff(*selector(), policy.Spec.PodSelector); diff != "" {
		t.Errorf("selector (-want +got):\n%s", diff)
	}
	got, err := yaml.Marshal(map[string]any{"types": policy.Spec.PolicyTypes, "in": policy.Spec.Ingress,
		"out": policy.Spec.Egress})
	if err != nil {
		t.Fatal(err)
	}
	const want = `in:
- ports:
  - port: metrics
    protocol: TCP
out:
- ports:
  - port: 53
    protocol: UDP
  - port: 53
    protocol: TCP
- ports:
  - port: 443
    protocol: TCP
  - port: 6443
    protocol: TCP
  to:
  - ipBlock:
      cidr: 10.0.0.0/24
- ports:
  - port: 443
    protocol: TCP
types:
- Ingress
- Egress
`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("policy (-want +got):\n%s", diff)
	}
}

// kindsOf counts the objects by kind.
func kindsOf(objects []runtime.Object) map[string]int {
	found := map[string]int{}
	for _, object := range objects {
		found[object.GetObjectKind().GroupVersionKind().Kind]++
	}
	return found
}

// TestMonitoringIsOptIn: without the operator its kinds do not exist.
func TestMonitoringIsOptIn(t *testing.T) {
	for kind := range kindsOf(objects(t, minimal(t))) {
		switch kind {
		case "ServiceMonitor", "PodMonitor", "PrometheusRule", "NetworkPolicy", "Service":
			t.Errorf("%s is rendered", kind)
		}
	}
}
