package generate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/thalassa-cloud/thalassa-ccm/src/build"
	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	nodecontroller "github.com/thalassa-cloud/thalassa-ccm/src/controller/node"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/nodeipam"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/nodelifecycle"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/route"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/service"
	"github.com/thalassa-cloud/thalassa-ccm/src/csi/driver"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/client"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa"
)

// metricsFile is the reference page of the program's own metrics.
const metricsFile = "docs/reference/metrics.md"

// metricsPage makes the page from the collectors that also count, so that the page is always complete and correct.
func metricsPage() Generator {
	return Generator{Name: "metrics", Files: func(ctx context.Context, _ string) (map[string][]byte, error) {
		all, err := programCollectors(ctx)
		if err != nil {
			return nil, err
		}
		found, err := describe(all)
		if err != nil {
			return nil, err
		}
		return map[string][]byte{metricsFile: []byte(renderMetrics(found))}, nil
	}}
}

// programCollectors are those of a program that has all metrics: its configuration names files with secrets, which
// nobody uses. That no part of the program is missing is checked by a test, because the whole of it would be much
// to link here.
func programCollectors(ctx context.Context) (all []prometheus.Collector, err error) {
	folder, err := os.MkdirTemp("", "metrics")
	if err != nil {
		return nil, fmt.Errorf("describing metrics: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	settings := "organisation: a\nvpcIdentity: vpc-1\ncluster: a\ncloudCredentials: {directory: " + folder + "}\n"
	for name, text := range map[string]string{"personalAccessToken": "none", "cloud-config.yaml": settings} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			return nil, fmt.Errorf("describing metrics: %w", err)
		}
	}
	options := cloud.Options{ConfigFile: filepath.Join(folder, "cloud-config.yaml")}
	made, err := thalassa.New("")(ctx, options)
	if err != nil {
		return nil, err
	}
	return slices.Concat(made.Collectors, client.Described(), service.Described(), nodecontroller.Described(),
		nodelifecycle.Described(), route.Described(), nodeipam.Described(),
		driver.Described(), []prometheus.Collector{build.Current().Collector("cloud_controller_manager")}), nil
}

// metric is one row of the page.
type metric struct {
	name, kind, help string
	labels           []string
}

// describe returns all metrics of the collectors by name.
func describe(collectors []prometheus.Collector) ([]metric, error) {
	var found []metric
	for _, collector := range collectors {
		descriptions := make(chan *prometheus.Desc)
		go func() {
			defer close(descriptions)
			collector.Describe(descriptions)
		}()
		for description := range descriptions {
			one, err := parseDescription(description.String())
			if err != nil {
				return nil, err
			}
			one.kind = kindOf(collector, one.name)
			found = append(found, one)
		}
	}
	slices.SortFunc(found, func(a, b metric) int { return strings.Compare(a.name, b.name) })
	return found, nil
}

// parseDescription reads what the library describes of a metric, which it does only as text for people.
func parseDescription(text string) (metric, error) {
	parts := regexp.MustCompile(`^Desc\{fqName: ("(?:[^"\\]|\\.)*"), help: ("(?:[^"\\]|\\.)*"), (?:unit: "[^"]*", )?constLabels: \{(.*)\}, variableLabels: \{([^}]*)\}\}$`).FindStringSubmatch(text)
	if parts == nil {
		return metric{},
			fmt.Errorf("reading the description %s: it is written in another way than the library's used to be", text)
	}
	name, err := strconv.Unquote(parts[1])
	if err != nil {
		return metric{}, fmt.Errorf("reading the description %s: %w", text, err)
	}
	help, err := strconv.Unquote(parts[2])
	if err != nil {
		return metric{}, fmt.Errorf("reading the description %s: %w", text, err)
	}
	one := metric{name: name, help: help}
	for _, match := range regexp.MustCompile(`(\w+)="(?:[^"\\]|\\.)*"`).FindAllStringSubmatch(parts[3], -1) {
		one.labels = append(one.labels, match[1])
	}
	if parts[4] != "" {
		one.labels = append(one.labels, strings.Split(parts[4], ",")...)
	}
	return one, nil
}

// grpcPrefix begins the names of the metrics of requests to the CSI driver. One collector of a library has them all.
const grpcPrefix = "grpc_server_"

// kindOf is the type of a collector's metric. Collectors of our own count when somebody asks, and that are gauges;
// that it is so is compared with a running program by the tests of permissions, and what is said of the metrics of
// requests to the CSI driver by the tests of the driver.
func kindOf(collector prometheus.Collector, name string) string {
	if rest, ok := strings.CutPrefix(name, grpcPrefix); ok {
		if strings.HasSuffix(rest, "_total") {
			return "counter"
		}
		return "histogram"
	}
	switch collector.(type) {
	case *prometheus.HistogramVec, prometheus.Histogram:
		return "histogram"
	case *prometheus.CounterVec:
		return "counter"
	case *prometheus.GaugeVec, prometheus.Gauge:
		return "gauge"
	case prometheus.Counter:
		return "counter"
	}
	return "gauge"
}

const metricsIntroduction = `# Metrics

<!-- Made by "make generate" from the collectors that count: their names, types, labels and help. -->

These are the metrics of the cloud controller manager, and those of [the CSI driver](#the-csi-driver), which
serves its own. Those of the cloud controller manager are served on ` + "`/metrics`" + ` of its secure port, to clients
that the cluster authorizes ([guide](../guides/monitoring.md)). Also served are those of the Kubernetes
libraries: ` + "`workqueue_*` (Services wait in the queue `service`), `rest_client_*`, `leader_election_master_status`, `running_managed_controllers`" + `.
`

// metricsGroups are the tables of the page, by how names begin; the last one takes every name.
func metricsGroups() []struct{ prefix, title, note string } {
	return []struct{ prefix, title, note string }{
		{"cloudprovider_thalassa_api_", "Calls to Thalassa Cloud", "Each attempt of a call is counted."},
		{"cloudprovider_thalassa_secrets_", "Credentials and certificates", "These metrics exist only if the " +
			"configuration refers to files with secrets: `cloudCredentials.directory` or `caBundle`. " +
			"Credentials in the configuration itself are read once, at `process_start_time_seconds`. Those of " +
			"workload identity are tokens that are renewed automatically, and have no timestamp."},
		{"cloudprovider_ironcore_api_", "Requests to the IronCore API", "Only with `--cloud-provider=ironcore`. Each " +
			"attempt of a request is counted."},
		{"cloudprovider_ironcore_secrets_", "Credentials of the IronCore API", "Only with " +
			"`--cloud-provider=ironcore`: the files are the kubeconfig and those that it refers to, such as " +
			"certificates and tokens. What an exec plugin returns is in no file, and has no timestamp."},
		{"cloudprovider_thalassa_quota_", "Quotas", "Only with Thalassa Cloud, on the leader. They are read once an " +
			"hour, if the credentials have the permission. IronCore has no quota of load balancers: its " +
			"ResourceQuota counts machines, volumes and buckets, and the program creates none of these."},
		{"cloudprovider_thalassa_", "Caches", "Only with Thalassa Cloud. A standby process has only the VPC."},
		{"node_controller_", "Initialisation and update of Nodes",
			"Only on the leader. [Nodes](../guides/nodes.md) explains the reasons. The node controller of " +
				"Kubernetes' library has the metrics of delays, too, so that existing dashboards and alerts continue " +
				"to work."},
		{"node_lifecycle_", "The life cycle of Nodes", "Only on the leader. [Why a Node was, or was not, " +
			"removed](../guides/node-removal.md) explains the reasons."},
		{"cloud_node_lifecycle_controller_", "The life cycle of Nodes, with the names of the library",
			"The library's controller has the same metrics. Machines that are part of a list are not counted, " +
				"because they need no call of their own."},
		{"service_lb_", "Services", "Only on the leader. [Services and their load balancers](../guides/services.md) " +
			"explains drift and orphans."},
		{"service_controller_", "Services, with the names of the library", "The service controller of Kubernetes' " +
			"library has the same metrics, so that existing dashboards and alerts continue to work."},
		{grpcPrefix, "The CSI driver", "The controller and the node plug-in of the CSI driver have these metrics. " +
			"The controller also has those of calls to Thalassa Cloud, of credentials and certificates, and of " +
			"the lists of volumes and machines. Both serve `/metrics` by HTTP, without authentication. The sidecars " +
			"in the same pod cannot authenticate clients either. No metric contains a secret. Set " +
			"`networkPolicy.enabled` and `networkPolicy.metricsFrom` (Kustomize: the component " +
			"`network-policy-csi`) to limit who can connect to these ports."},
		{"thalassa_csi_", "The build of the CSI driver", "The controller and the node plug-in of the CSI driver " +
			"have it."},
		{"", "The program", "The version of the program, pod networks and routes."},
	}
}

// renderMetrics writes a table for each group that has metrics, and one of the labels' values.
func renderMetrics(all []metric) string {
	var page strings.Builder
	page.WriteString(metricsIntroduction)
	for _, group := range metricsGroups() {
		var rows strings.Builder
		all = slices.DeleteFunc(slices.Clone(all), func(one metric) bool {
			if !strings.HasPrefix(one.name, group.prefix) {
				return false
			}
			rows.WriteString(one.row())
			return true
		})
		if rows.Len() > 0 {
			fmt.Fprintf(&page, "\n## %s\n\n%s\n\n| Metric | Type | Labels | Meaning |\n|---|---|---|---|\n%s",
				group.title, group.note, rows.String())
		}
	}
	page.WriteString(metricsLabels)
	return page.String()
}

func (m metric) row() string {
	labels := make([]string, 0, len(m.labels))
	for _, label := range m.labels {
		labels = append(labels, "`"+label+"`")
	}
	return fmt.Sprintf("| `%s` | %s | %s | %s |\n", m.name, m.kind, strings.Join(labels, ", "),
		strings.ReplaceAll(m.help, "|", `\|`))
}

// metricsLabels says what values labels have. A test compares it with the labels there are.
const metricsLabels = `
## Labels

| Label | Values |
|---|---|
| ` + "`request`" + ` | method and path of a request, as in ` + "`GET /v1/loadbalancers/{id}`" + ` |
| ` + "`reason`" + ` | why a request failed: ` + "`not_found`, `conflict`, `quota`, `throttled`, `unauthorised`, `no_permission` (for something that the program can do without), `unavailable`, `malformed`, `refused` or `other`; why a Node is not removed: see [the guide](../guides/node-removal.md#why-this-one-is-still-there); why a Node could not be updated: the [reason of its event](events.md)" + ` |
| ` + "`result`" + ` | of a sync of a Service: ` + "`done`, `waiting` (for the cloud) or `failed`; of a write to the cloud, or of a Node: `done` or `failed`; of new secrets: `adopted`, `refused`, `untried` or `unreadable`; of a removal: `done`, `failed` or `dry_run`; of a request for one machine: `success` (it exists), `instance_not_found`, `error` or `canceled`" + ` |
| ` + "`cause`" + ` | reason of a plan or a write: ` + "`service` (the Service is new or changed, or the program has just started), `nodes` (only its nodes changed), `drift` (nothing changed in Kubernetes) or `removal`" + ` |
| ` + "`verb`" + ` | of a write: ` + "`create`, `update` or `delete`; of a request to the IronCore API: `get`, `list`, `watch`, `create`, `update`, `patch` or `delete`" + ` |
| ` + "`service`, `quota`" + ` | of a quota: the names that the cloud uses, as in ` + "`iaas` and `loadbalancers`" + `; at most 100 quotas |
| ` + "`resource`" + ` | of a request to the IronCore API, as in ` + "`loadbalancers`" + ` |
| ` + "`code`" + ` | of a failed request to the IronCore API: the HTTP status, ` + "`timeout` or `unreachable`" + ` |
| ` + "`kind`" + ` | kind of the object: ` + "`load balancer`, `listener`, `target group`, `security group`, `reserved IP`, `machine`, `machine type`, `VPC` or `route table`; on IronCore `LoadBalancer` or `LoadBalancerRouting`" + ` |
| ` + "`state`" + ` | of a load balancer: its status in the cloud, ` + "`ready`" + ` for example, or ` + "`none`" + `; of a Node: ` + "`ready`, `ready_without_machine`, else its machine's: `running`, `stopped`, `deleting`, `unknown`, `gone` or `no_answer`" + `; of routes: ` + "`in-place`, `missing`, `left-over` or `foreign`" + ` |
| ` + "`outcome`" + ` | of a comparison of routes: ` + "`changed`, `noop` or `error`" + ` |
| ` + "`trigger`" + ` | of a comparison of routes: ` + "`periodic`, `node_change` or `cloud_change`" + ` |
| ` + "`clusterCIDR`" + ` | one of the cluster's networks, as in ` + "`10.244.0.0/16`" + ` |
| ` + "`part`" + ` | ` + "`node` (provider ID, taints, labels) or `status` (addresses, and labels together with them)" + ` |
| ` + "`operation`" + ` | ` + "`instance_exists`" + ` |
| ` + "`grpc_service`, `grpc_method`" + ` | of a request to the CSI driver: the names of the CSI specification, as in ` + "`csi.v1.Controller` and `CreateVolume`" + ` |
| ` + "`grpc_code`" + ` | the result of a request to the CSI driver, as in ` + "`OK` or `Unavailable`" + ` |
| ` + "`grpc_type`" + ` | ` + "`unary`" + ` |
| ` + "`version`, `revision`, `committed`, `go_version`" + ` | of the build |
`
