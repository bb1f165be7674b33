package charttest

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
)

// flagForm is a well-formed argument; the value may be anything but empty.
var flagForm = regexp.MustCompile(`^--([a-z][a-z0-9-]*)=(.+)$`)

// flags returns the arguments of the container by name. Each is well-formed and
// occurs once.
func flags(t *testing.T, sets ...string) map[string]string {
	t.Helper()
	args := container(t, sets...).Args
	if !slices.IsSorted(args) {
		t.Errorf("arguments %q are not sorted", args)
	}
	found := map[string]string{}
	for _, arg := range args {
		parts := flagForm.FindStringSubmatch(arg)
		if parts == nil {
			t.Fatalf("argument %q is not of the form --name=value", arg)
		}
		if _, twice := found[parts[1]]; twice {
			t.Errorf("flag --%s is given twice", parts[1])
		}
		found[parts[1]] = parts[2]
	}
	return found
}

func TestFlags(t *testing.T) {
	want := map[string]string{
		"authorization-always-allow-paths": "/healthz,/readyz,/livez",
		"bind-address":                     "0.0.0.0",
		"cloud-config":                     "/etc/thalassa-ccm/config/cloud-config.yaml",
		"cloud-provider":                   "thalassacloud",
		"cluster-name":                     "production",
		"concurrent-service-syncs":         "10",
		"leader-elect":                     "true",
		"secure-port":                      "10258",
		"v":                                "2",
	}
	if diff := cmp.Diff(want, flags(t)); diff != "" {
		t.Errorf("flags (-want +got):\n%s", diff)
	}
}

// TestFlagsOfNetworks: nodes are given networks of the sizes in the values, and of the cluster's network in the
// configuration.
func TestFlagsOfNetworks(t *testing.T) {
	got := flags(t, "allocateNodeCIDRs.enabled=true", "allocateNodeCIDRs.maskSizeIPv4=26",
		"cloudConfig.clusterCIDR=10.244.0.0/16")
	for name, want := range map[string]string{"allocate-node-cidrs": "true", "node-cidr-mask-size-ipv4": "26",
		"node-cidr-mask-size-ipv6": "64"} {
		if got[name] != want {
			t.Errorf("--%s=%s, want %s", name, got[name], want)
		}
	}
	if services, there := got["service-cluster-ip-range"]; there {
		t.Errorf("--service-cluster-ip-range=%s, want none", services)
	}
	const both = "10.244.240.0/20,fd00:244:f000::/108"
	set := "allocateNodeCIDRs.serviceClusterIPRange=" + strings.ReplaceAll(both, ",", `\,`)
	if got := flags(t, "allocateNodeCIDRs.enabled=true", set,
		"cloudConfig.clusterCIDR=10.244.0.0/16")["service-cluster-ip-range"]; got != both {
		t.Errorf("--service-cluster-ip-range=%s, want %s", got, both)
	}
	if services, there := flags(t, set)["service-cluster-ip-range"]; there {
		t.Errorf("--service-cluster-ip-range=%s where no networks are allocated", services)
	}
}

// TestTraces: the collector is a flag, and an egress rule of the network policy, which has the port of the endpoint.
func TestTraces(t *testing.T) {
	if got, there := flags(t)["tracing-endpoint"]; there {
		t.Errorf("--tracing-endpoint=%s by default", got)
	}
	got := flags(t, "tracing.endpoint=http://[2001:db8::1]:4318")
	for name, want := range map[string]string{"tracing-endpoint": "http://[2001:db8::1]:4318",
		"tracing-sampling-rate-per-million": "1000000"} {
		if got[name] != want {
			t.Errorf("--%s=%s, want %s", name, got[name], want)
		}
	}
	if rate := flags(t, "tracing.endpoint=a:1",
		"tracing.samplingRatePerMillion=0")["tracing-sampling-rate-per-million"]; rate != "0" {
		t.Errorf("the rate is %s, want 0", rate)
	}
	policy := find[*networkingv1.NetworkPolicy](t, objects(t, minimal(t, "profile=managed", "part=hosting",
		"tenant.kubeconfig.existingSecret=a", "networkPolicy.enabled=true", "tracing.endpoint=collector:4318",
		"networkPolicy.collector.cidrs[0]=10.0.1.0/24")), "thalassa-ccm")
	last := policy.Spec.Egress[len(policy.Spec.Egress)-1]
	if len(last.Ports) != 1 || last.Ports[0].Port.IntValue() != 4318 || last.To[0].IPBlock.CIDR != "10.0.1.0/24" {
		t.Errorf("egress %v", last)
	}
	for _, endpoint := range []string{"collector", "grpc://collector:1", "http://user@collector:1",
		"http://collector:1/path"} {
		if got := refusal(t, minimal(t, "tracing.endpoint="+endpoint)); !strings.Contains(got, "endpoint") {
			t.Errorf("%s: the chart says %q", endpoint, got)
		}
	}
}

func TestExtraArgs(t *testing.T) {
	for name, test := range map[string]struct{ set, flag, want string }{
		"text":              {"extraArgs.node-monitor-period=10s", "node-monitor-period", "10s"},
		"number":            {"extraArgs.kube-api-burst=30", "kube-api-burst", "30"},
		"large number":      {"extraArgs.kube-api-qps=1000000", "kube-api-qps", "1000000"},
		"boolean":           {"extraArgs.profiling=false", "profiling", "false"},
		"list in text":      {`extraArgs.feature-gates=A=true\,B=false`, "feature-gates", "A=true,B=false"},
		"over the chart's":  {"extraArgs.concurrent-service-syncs=20", "concurrent-service-syncs", "20"},
		"with quotes in it": {`extraArgs.tls-cipher-suites="a"`, "tls-cipher-suites", `"a"`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := flags(t, test.set)[test.flag]; got != test.want {
				t.Errorf("--%s=%s, want %s", test.flag, got, test.want)
			}
		})
	}
}

// TestEnvironment wants every $(NAME) in the arguments to be defined: kubelet
// would pass an unknown one on as it stands.
func TestEnvironment(t *testing.T) {
	c := container(t, "bindAddress=$(HOST_IP)")
	defined := map[string]bool{}
	for _, env := range c.Env {
		defined[env.Name] = true
	}
	reference := regexp.MustCompile(`\$\(([A-Z_]+)\)`)
	count := 0
	for _, arg := range c.Args {
		for _, match := range reference.FindAllStringSubmatch(arg, -1) {
			count++
			if !defined[match[1]] {
				t.Errorf("%s uses %s, which is not defined", arg, match[1])
			}
		}
	}
	if count != 1 {
		t.Errorf("%d references in %q, want 1", count, c.Args)
	}
}

func TestAPIServerAddress(t *testing.T) {
	for name, test := range map[string]struct {
		sets []string
		want map[string]string
	}{
		"kubelet's": {nil, map[string]string{}},
		"host": {[]string{"kubernetesServiceHost=10.0.0.1"},
			map[string]string{"KUBERNETES_SERVICE_HOST": "10.0.0.1"}},
		"port": {[]string{"kubernetesServicePort=6443"}, map[string]string{"KUBERNETES_SERVICE_PORT": "6443"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := map[string]string{}
			for _, env := range container(t, test.sets...).Env {
				if env.ValueFrom == nil {
					got[env.Name] = env.Value
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("environment (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCommand(t *testing.T) {
	if got, want := container(t).Command, []string{"/thalassa-cloud-controller-manager"}; !slices.Equal(got, want) {
		t.Errorf("command %q, want %q", got, want)
	}
}
