//go:build e2e

package e2etest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chartutil"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/thalassa-cloud/thalassa-ccm/ci/kubectl"
	"github.com/thalassa-cloud/thalassa-ccm/tools/chart"
	"github.com/thalassa-cloud/thalassa-ccm/tools/cluster"
	"github.com/thalassa-cloud/thalassa-ccm/tools/process"
)

const (
	// ownToken is where a pod of Prometheus has the token of its ServiceAccount.
	ownToken = "/var/run/secrets/kubernetes.io/serviceaccount/token"
	// watcher is the ServiceAccount of Prometheus.
	watcher = "prometheus-k8s"
	// monitorPath is the path of the chart's ServiceMonitor in the API.
	monitorPath = "/apis/monitoring.coreos.com/v1/namespaces/" + cluster.Namespace + "/servicemonitors/" +
		cluster.Release
)

// prometheusAt is where Prometheus listens, in the client's namespace.
func prometheusAt() netip.AddrPort { return netip.MustParseAddrPort("127.0.0.1:9090") }

// scraped proves that a real Prometheus reads the metrics of what the chart's ServiceMonitor selects, as it says: by
// its selector and port, with its path and TLS settings, and the token that it names, while Argo CD tracks objects by
// label. Finding the pods, which Debian's Prometheus is built without, is done here.
func scraped(t *testing.T, l *lab) {
	t.Helper()
	program, err := exec.LookPath("prometheus")
	if err != nil {
		t.Fatalf("%v: it is in the package prometheus; ci/e2e-setup.sh installs it", err)
	}
	namespace := l.namespace(t)
	l.monitored(t, namespace)
	folder, m := t.TempDir(), l.monitor(t)
	instance := netip.AddrPortFrom(netip.MustParseAddr(l.manager(t).Status.PodIP), 10258).String()
	selected := l.selected(t, m)
	if !slices.Equal(selected, []string{instance}) {
		t.Fatalf("the ServiceMonitor selects %v, want %s", selected, instance)
	}
	configuration, err := scrapeConfiguration(m, selected, filepath.Join(folder, "token"))
	if err == nil {
		err = errors.Join(
			os.WriteFile(filepath.Join(folder, "prometheus.yaml"), configuration, 0o600),
			os.WriteFile(filepath.Join(folder, "token"), []byte(l.token(t, namespace)), 0o600),
		)
	}
	if err != nil {
		t.Fatal(err)
	}
	p, err := process.Start(t.Context(), process.Spec{
		Name: "Prometheus", Path: "nsenter", LogPath: l.report.file("prometheus.log"),
		Args: []string{
			"--net=" + l.Client().Path(), "--", program, "--config.file=" + filepath.Join(folder, "prometheus.yaml"),
			"--storage.tsdb.path=" + filepath.Join(folder, "data"), "--web.listen-address=" + prometheusAt().String(),
			"--log.level=debug",
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Stop(process.DefaultGrace) })

	for _, query := range []string{`up`, `leader_election_master_status`,
		`cloudprovider_thalassa_secrets_adopted_timestamp_seconds > bool 0`} {
		l.measures(t, p, query, instance)
	}
}

// monitored gives the cluster monitors, and has the chart make one, until the test ends.
func (l *lab) monitored(t *testing.T, namespace string) {
	t.Helper()
	if err := kubectl.New(l.Kubeconfig()).DefineMonitors(t.Context()); err != nil {
		t.Fatal(err)
	}
	release := func(more map[string]any) chart.Release {
		return chart.Release{Name: cluster.Release, Namespace: cluster.Namespace, Values: chartutil.MergeTables(more,
			l.Values())}
	}
	folder := filepath.Join(l.root, "charts", "thalassa-ccm")
	more := map[string]any{
		"serviceMonitor": map[string]any{"enabled": true}, "scrape": map[string]any{"interval": "1s"},
		"metrics": map[string]any{"readers": []any{map[string]any{"kind": "ServiceAccount", "name": watcher,
			"namespace": namespace}}},
	}
	if _, err := chart.Upgrade(t.Context(), l.Config(), folder, release(more), nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := chart.Upgrade(context.WithoutCancel(t.Context()), l.Config(), folder, release(map[string]any{}),
			nil); err != nil {
			t.Error(err)
		}
	})
	l.trackByLabel(t)
}

// trackByLabel overwrites the label of the Service and the ServiceMonitor that Argo CD overwrites when it tracks
// objects by label. Selectors and pods keep the name of the release, as with Argo CD.
func (l *lab) trackByLabel(t *testing.T) {
	t.Helper()
	const label = `{"metadata": {"labels": {"app.kubernetes.io/instance": "my-application"}}}`
	for _, path := range []string{
		"/api/v1/namespaces/" + cluster.Namespace + "/services/" + cluster.Release + "-metrics", monitorPath,
	} {
		client := l.API().Discovery().RESTClient()
		if err := client.Patch(types.MergePatchType).AbsPath(path).Body([]byte(label)).Do(t.Context()).
			Error(); err != nil {
			t.Fatalf("overwriting the label of %s: %v", path, err)
		}
	}
}

// monitor is a ServiceMonitor: those of its fields that the chart sets without further values.
type monitor struct {
	Selector  struct{ MatchLabels map[string]string }
	Endpoints []struct {
		Port, Path, Scheme, Interval, BearerTokenFile string
		TLSConfig                                     struct{ InsecureSkipVerify bool }
	}
}

// monitor reads the ServiceMonitor of the chart. A field that has no effect here is an error.
func (l *lab) monitor(t *testing.T) (m monitor) {
	t.Helper()
	text, err := l.API().Discovery().RESTClient().Get().AbsPath(monitorPath).DoRaw(t.Context())
	var object struct{ Spec json.RawMessage }
	if err == nil {
		err = json.Unmarshal(text, &object)
	}
	if err == nil {
		err = yaml.UnmarshalStrict(object.Spec, &m)
	}
	if err != nil || len(m.Endpoints) != 1 || m.Endpoints[0].BearerTokenFile != ownToken {
		t.Fatalf("reading the ServiceMonitor: %v; it is %s", err, object.Spec)
	}
	return m
}

// selected are the addresses that a ServiceMonitor is about: those behind the port of that name of all Services with
// its labels.
func (l *lab) selected(t *testing.T, m monitor) (addresses []string) {
	t.Helper()
	eventually(t, "the ServiceMonitor selects something", func(ctx context.Context) error {
		addresses = nil
		selector := labels.SelectorFromSet(m.Selector.MatchLabels).String()
		services, err := l.API().CoreV1().Services(cluster.Namespace).List(ctx,
			metav1.ListOptions{LabelSelector: selector})
		if err != nil {
			return err
		}
		for _, service := range services.Items {
			found, err := l.API().DiscoveryV1().EndpointSlices(service.Namespace).List(ctx,
				metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=" + service.Name})
			if err != nil {
				return err
			}
			for _, slice := range found.Items {
				addresses = append(addresses, addressesIn(slice, m.Endpoints[0].Port)...)
			}
		}
		if len(addresses) == 0 {
			return fmt.Errorf("%d Services have the labels %s", len(services.Items), selector)
		}
		return nil
	})
	return addresses
}

// addressesIn are the addresses of a slice at its port of that name.
func addressesIn(slice discoveryv1.EndpointSlice, name string) (addresses []string) {
	for _, port := range slice.Ports {
		if *port.Name != name {
			continue
		}
		for _, endpoint := range slice.Endpoints {
			addresses = append(addresses, net.JoinHostPort(endpoint.Addresses[0], fmt.Sprint(*port.Port)))
		}
	}
	return addresses
}

// scrapeConfiguration is what Prometheus Operator makes of a ServiceMonitor.
func scrapeConfiguration(m monitor, targets []string, tokenFile string) ([]byte, error) {
	type object = map[string]any
	endpoint := m.Endpoints[0]
	return yaml.Marshal(object{"scrape_configs": []object{{
		"job_name": cluster.Release, "scrape_interval": endpoint.Interval, "scrape_timeout": endpoint.Interval,
		"metrics_path": endpoint.Path, "scheme": strings.ToLower(endpoint.Scheme),
		"tls_config":     object{"insecure_skip_verify": endpoint.TLSConfig.InsecureSkipVerify},
		"authorization":  object{"credentials_file": tokenFile},
		"static_configs": []object{{"targets": targets}},
	}}})
}

// token is one of the ServiceAccount of Prometheus, which it makes.
func (l *lab) token(t *testing.T, namespace string) string {
	t.Helper()
	accounts := l.API().CoreV1().ServiceAccounts(namespace)
	_, err := accounts.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: watcher}},
		metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	made, err := accounts.CreateToken(t.Context(), watcher, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return made.Status.Token
}

// measures waits until Prometheus has 1 as the answer to a query, about one instance and no other.
func (l *lab) measures(t *testing.T, p *process.Process, query, instance string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context,
		network, _ string) (net.Conn, error) {
		return l.Client().DialContext(ctx, network, prometheusAt().String())
	}}}
	eventually(t, "Prometheus measures "+query, func(ctx context.Context) error {
		select {
		case <-p.Done():
			t.Fatal(p.Err())
		default:
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://prometheus/api/v1/query?query="+
			url.QueryEscape(query), nil)
		if err != nil {
			return err
		}
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		defer closeQuietly(response.Body)
		var answer struct {
			Data struct {
				Result []struct {
					Metric struct{ Instance string }
					Value  [2]any
				}
			}
		}
		if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
			return err
		}
		if got := answer.Data.Result; len(got) != 1 || got[0].Metric.Instance != instance || got[0].Value[1] != "1" {
			return fmt.Errorf("it measures %+v, want 1 at %s", got, instance)
		}
		return nil
	})
}
