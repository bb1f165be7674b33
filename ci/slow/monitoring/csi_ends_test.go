package monitoring

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/thalassa-cloud/thalassa-ccm/ci/charttest"
	"github.com/thalassa-cloud/thalassa-ccm/src/build"
	"github.com/thalassa-cloud/thalassa-ccm/src/csi/driver"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplanetest"
)

// csiAlertsOfEnds are the alerts about processes of the driver that have ended: they do not answer.
func csiAlertsOfEnds() []string {
	return []string{"ThalassaCSIControllerDown", "ThalassaCSINodePluginMissing"}
}

// csiProcess is a process of the driver as others see it: by HTTP.
type csiProcess struct {
	*testing.T
	url string
	end func() // and wait until it has ended
}

// startCSI runs a command of the driver until the test ends, and waits until it answers.
func startCSI(t *testing.T, arguments ...string) *csiProcess {
	t.Helper()
	free := httptest.NewServer(nil)
	address := free.Listener.Addr().String()
	free.Close()
	cmd := driver.NewCommand(driver.Environment{Build: build.Current(), Getenv: func(string) string { return "" }})
	cmd.SetArgs(append(arguments, "--http-endpoint="+address, "--csi-endpoint=unix://"+
		filepath.Join(t.TempDir(), "csi.sock")))
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- cmd.ExecuteContext(ctx) }()
	p := &csiProcess{T: t, url: "http://" + address, end: func() {
		stop()
		err := <-ended
		if ended <- err; err != nil {
			t.Errorf("%s ended with %v", arguments[0], err)
		}
	}}
	t.Cleanup(func() { p.end() })
	controlplanetest.Eventually(t, time.Minute, arguments[0]+" answers", func(context.Context) error {
		_, err := p.get("/livez")
		return err
	})
	return p
}

// get returns the metrics on a page, if there are any. An error is that the process does not answer, or not well.
func (p *csiProcess) get(path string) (map[string]*dto.MetricFamily, error) {
	request, err := http.NewRequestWithContext(p.Context(), http.MethodGet, p.url+path, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", path, response.Status)
	}
	if path != "/metrics" {
		return nil, nil
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	return parser.TextToMetricFamilies(response.Body)
}

// Gather implements prometheus.Gatherer as Prometheus does: it adds whether the process answered.
func (p *csiProcess) Gather() ([]*dto.MetricFamily, error) {
	found, err := p.get("/metrics")
	up := prometheus.NewGauge(prometheus.GaugeOpts{Name: "up"})
	if err == nil {
		up.Set(1)
	}
	own := prometheus.NewRegistry()
	own.MustRegister(up)
	all, err := own.Gather()
	for _, family := range found {
		all = append(all, family)
	}
	return all, err
}

// csiDaemonSet returns the metrics that kube-state-metrics has of the node plug-in if the kubelets get the answers of
// these processes to their readiness probes.
func csiDaemonSet(t *testing.T, processes []*csiProcess) prometheus.Gatherer {
	t.Helper()
	rendered := charttest.CSI.Objects(t, charttest.CSI.Minimal(t))
	node := charttest.Find[*appsv1.DaemonSet](t, rendered, "thalassa-csi-node").Spec.Template.Spec
	probe := node.Containers[0].ReadinessProbe.HTTPGet.Path
	labels := prometheus.Labels{"namespace": "thalassa-system", "daemonset": "thalassa-csi-node"}
	registry := prometheus.NewRegistry()
	for name, count := range map[string]func() float64{
		"desired_number_scheduled": func() float64 { return float64(len(processes)) },
		"number_ready": func() (ready float64) {
			for _, p := range processes {
				if _, err := p.get(probe); err == nil {
					ready++
				}
			}
			return ready
		},
	} {
		registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "kube_daemonset_status_" + name,
			ConstLabels: labels}, count))
	}
	return registry
}

// TestCSIAlertsOfEnds: the alerts about the driver's processes fire when a process ends that Prometheus and the kubelet
// reached before. What is between them and the alert is not run here: the status of the DaemonSet is counted by
// Kubernetes, and kube-state-metrics makes a metric of it.
func TestCSIAlertsOfEnds(t *testing.T) {
	folder := t.TempDir()
	config, kubeconfig := filepath.Join(folder, "config.yaml"), filepath.Join(folder, "kubeconfig")
	writeFile(t, config, "organisation: a\nvpcIdentity: vpc-1\ncluster: k8s-1\nendpoint: http://127.0.0.1:1\n"+
		"cloudCredentials: {personalAccessToken: "+emulator.DefaultToken+"}\n")
	writeFile(t, kubeconfig, "apiVersion: v1\nkind: Config\ncurrent-context: a\n"+
		"contexts: [{name: a, context: {cluster: a}}]\n"+
		"clusters: [{name: a, cluster: {server: 'http://127.0.0.1:1'}}]\n")
	controller := startCSI(t, "controller", "--cloud-config="+config, "--kubeconfig="+kubeconfig)
	var nodes []*csiProcess
	for range 3 {
		nodes = append(nodes, startCSI(t, "node", "--node-name=a", "--region=r", "--zone=z"))
	}
	pod, state := newRecording("thalassa-csi-controller-6d5f7c9b84-x7k2p"), newRecording("kube-state-metrics-0")
	pod.namespace, pod.container = "thalassa-system", "thalassa-csi-driver"
	daemonSet := csiDaemonSet(t, nodes)
	for at := step; at <= workingTime+faultTime; at += step {
		if at == workingTime {
			controller.end()
			nodes[1].end()
		}
		pod.scrape(t, virtualStart().Add(at), controller, prometheus.Gatherers{})
		state.scrape(t, virtualStart().Add(at), daemonSet, prometheus.Gatherers{})
	}
	alertFault{alerts: csiAlertsOfEnds()}.wantAlerts(t, alertingOf(t, charttest.CSI.RuleGroups(t)), pod, state)
}
