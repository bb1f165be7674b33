package plugin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/thalassa-cloud/thalassa-ccm/src/plugin/workload"
)

// rates are how often the cloud controller manager calls the cloud. It remembers the samples of the last minute.
type rates struct {
	workload *workload.Workload
	samples  []sample
}

// sample is the sum of the counters of all pods at one time.
type sample struct {
	at            time.Time
	calls, writes float64
	started       time.Time // of the first process that runs
}

// rateWindow is the time that rates are the average of.
const rateWindow = time.Minute

// read reads the metrics of all pods. The error is why they are not known.
func (r *rates) read(ctx context.Context, client kubernetes.Interface, now time.Time) (*Calls, error) {
	latest, err := r.sum(ctx, client, now)
	if err != nil {
		r.samples = nil
		return nil, err
	}
	return r.add(latest), nil
}

// add adds a sample and returns the averages: since the oldest sample of the last minute, or for the first one, since
// the process started.
func (r *rates) add(latest sample) *Calls {
	before := sample{at: latest.started}
	for len(r.samples) > 1 && latest.at.Sub(r.samples[1].at) >= rateWindow {
		r.samples = r.samples[1:]
	}
	if len(r.samples) > 0 && r.samples[0].calls <= latest.calls {
		before = r.samples[0]
	} else {
		r.samples = nil // a process started again
	}
	r.samples = append(r.samples, latest)
	window := latest.at.Sub(before.at)
	if window <= 0 {
		return nil
	}
	return &Calls{Window: window.Seconds(), PerMinute: (latest.calls - before.calls) / window.Minutes(),
		WritesPerMinute: (latest.writes - before.writes) / window.Minutes()}
}

// sum returns the sum of the counters of all pods.
func (r *rates) sum(ctx context.Context, client kubernetes.Interface, now time.Time) (sample, error) {
	total := sample{at: now, started: now}
	if r.workload == nil {
		return total, errors.New("the cloud controller manager is not in this cluster")
	}
	selector, err := metav1.LabelSelectorAsSelector(r.workload.Selector)
	if err != nil {
		return total, fmt.Errorf("the selector of %s: %w", r.workload, err)
	}
	pods, err := client.CoreV1().Pods(r.workload.Namespace).List(ctx,
		metav1.ListOptions{LabelSelector: selector.String()})
	if err != nil {
		return total, fmt.Errorf("listing the pods of %s: %w", r.workload, err)
	}
	found := false
	for i := range pods.Items {
		pod := &pods.Items[i]
		if pod.Status.Phase != corev1.PodRunning {
			continue
		}
		metrics, err := readMetrics(ctx, client, pod, r.port())
		if err != nil {
			return total, err
		}
		found = true
		total.count(metrics)
	}
	if !found {
		return total, fmt.Errorf("no pod of %s runs", r.workload)
	}
	return total, nil
}

// port is the port of the metrics.
func (r *rates) port() string {
	for _, one := range r.workload.Container.Ports {
		if one.Name == "metrics" {
			return strconv.Itoa(int(one.ContainerPort))
		}
	}
	return "10258"
}

// maxMetrics is the largest size of the metrics of a pod, in bytes.
const maxMetrics = 16 << 20

// readMetrics reads the metrics of a pod through the API server.
func readMetrics(ctx context.Context, client kubernetes.Interface, pod *corev1.Pod,
	port string) (map[string]*dto.MetricFamily, error) {
	text, err := client.CoreV1().Pods(pod.Namespace).ProxyGet("https", pod.Name, port, "metrics", nil).Stream(ctx)
	switch {
	case apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err):
		return nil, fmt.Errorf("reading the metrics of pod %s is not permitted (kubectl thalassa top --help)", pod.Name)
	case err != nil:
		return nil, fmt.Errorf("reading the metrics of pod %s: %w", pod.Name, err)
	}
	defer text.Close()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(io.LimitReader(text, maxMetrics))
	if err != nil {
		return nil, fmt.Errorf("reading the metrics of pod %s: they have another format", pod.Name)
	}
	return families, nil
}

// count adds the counters of a process. The names of metrics of calls contain the name of the cloud.
func (r *sample) count(families map[string]*dto.MetricFamily) {
	for name, family := range families {
		switch {
		case strings.HasPrefix(name, "cloudprovider_") && strings.HasSuffix(name, "_api_request_duration_seconds"):
			for _, metric := range family.GetMetric() {
				r.calls += float64(metric.GetHistogram().GetSampleCount())
			}
		case name == "service_lb_writes_total" || name == "node_route_writes_total":
			for _, metric := range family.GetMetric() {
				r.writes += metric.GetCounter().GetValue()
			}
		case name == "process_start_time_seconds" && len(family.GetMetric()) > 0:
			seconds := family.GetMetric()[0].GetGauge().GetValue()
			if started := time.UnixMilli(int64(seconds * 1000)); started.Before(r.started) {
				r.started = started
			}
		}
	}
}
