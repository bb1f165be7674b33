package charttest

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
	"github.com/thalassa-cloud/thalassa-ccm/tools/chart"
	"helm.sh/helm/v3/pkg/chartutil"
)

func TestSchemaOpenObjects(t *testing.T) {
	want := []string{
		// Maps of names to texts that are the user's.
		"cloudConfig.additionalLabels", "commonAnnotations", "commonLabels", "dashboards.annotations",
		"dashboards.labels", "extraArgs", "metrics.service.annotations",
		"nodeSelector",
		"podAnnotations", "podLabels", "rules.alertLabels", "rules.annotations", "rules.labels", "scrape.annotations",
		"scrape.labels",
		"serviceAccount.annotations", "serviceAccount.labels",
		// Parts of Kubernetes objects, which the API server checks.
		"affinity", "dnsConfig", "envFrom[0]", "extraContainers[0]", "extraEnv[0]", "initContainers[0]",
		"extraVolumeMounts[0]", "extraVolumes[0]", "networkPolicy.extraEgress[0]", "networkPolicy.metricsFrom[0]",
		"podSecurityContext", "resources", "scrape.metricRelabelings[0]", "scrape.relabelings[0]", "securityContext",
		"tolerations[0]",
		"topologySpreadConstraints[0]", "updateStrategy",
		// Whole Kubernetes objects.
		"extraObjects[0]",
		// Other charts' values.
		"global",
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, objectPaths(t, chartDir(t), false)); diff != "" {
		t.Errorf("objects that accept any key (-want +got); close them, or say here why not:\n%s", diff)
	}
}

func TestSchemaRefusesTypos(t *testing.T) {
	paths := objectPaths(t, chartDir(t), true)
	if len(paths) < 5 {
		t.Fatalf("only %d closed objects: %q", len(paths), paths)
	}
	for _, path := range paths {
		t.Run("in "+path, func(t *testing.T) {
			_, _, err := render(t, chartDir(t), release(minimal(t, strings.TrimPrefix(path+".tpyo=1", "."))))
			if want := "additional properties 'tpyo' not allowed"; err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want one with %q", err, want)
			}
		})
	}
}

func TestSchemaRefusesBadValues(t *testing.T) {
	for _, set := range []string{
		"securePort=https", "securePort=0", "securePort=70000", "logVerbosity=-1", "hostNetwork=maybe",
		"image.digest=latest", "image.pullPolicy=Sometimes", "image.repository=", "bindAddress=",
		"dnsPolicy=Cluster", "cloudConfig.cluster=7",
		"cloudConfig.loadBalancer.creationPollInterval=0", "cloudConfig.loadBalancer.creationPollTimeout=5m",
		"cloudConfig.additionalLabels.team=7", "extraArgs.--profiling=false", "extraArgs.profiling={a,b}",
		"cloudConfig.loadBalancer.driftPeriod=-1", "cloudConfig.loadBalancer.drift=fix",
		"cloudConfig.loadBalancer.class=a b", "cloudConfig.loadBalancer.onlyClass=some",
		"cloudConfig.loadBalancer.defaults.max-connections=20000", "cloudConfig.loadBalancer.defaults.publish=all",
		"cloudConfig.loadBalancer.defaults.adopt=lb-1", "cloudConfig.loadBalancer.maxTargets=-1",
		"scrape.interval=30", "scrape.interval=", "scrape.timeout=1s1m", "advanced.inventory.machineAge=0",
		"advanced.inventory.balancerAge=5m",
		"cloudConfig.api.callTimeout=0", "cloudConfig.api.requestsPerSecond=1001", "advanced.api.burst=many",
		"advanced.api.burst=0",
		"podDisruptionBudget.minAvailable=half", "podDisruptionBudget.maxUnavailable=0", "revisionHistoryLimit=-1",
		"minReadySeconds=-1",
		"extraContainers[0].name=a", "initContainers[0].image=a", "extraObjects[0].kind=ConfigMap",
		"hostAliases[0].ip=10.0.0.10",
		"credentials.workloadIdentity.enabled=yes", "credentials.workloadIdentity.lifetime=59",
		"credentials.workloadIdentity.audience=",
		"caBundle.existing.kind=Pod", "caBundle.existing.key=",
		"admissionPolicy.enabled=maybe", "admissionPolicy.validationActions=Deny",
		"admissionPolicy.validationActions={Refuse}",
		"admissionPolicy.validationActions={Warn,Warn}", "admissionPolicy.validationActions[0]=",
	} {
		t.Run(set, func(t *testing.T) {
			got := refusal(t, minimal(t, set))
			if want := "values don't meet the specifications of the schema"; !strings.Contains(got, want) {
				t.Errorf("error %q, want one with %q", got, want)
			}
		})
	}
}

// TestSchemaAcceptsDurations of Prometheus, of several units as well.
func TestSchemaAcceptsDurations(t *testing.T) {
	for _, duration := range []string{"30s", "1m30s", "500ms", "1h", "1d12h"} {
		got := serviceEndpoint(t, "scrape.interval="+duration, "scrape.timeout="+duration)
		if !strings.Contains(got, "interval: "+duration+"\n") || !strings.Contains(got, "scrapeTimeout: "+duration+
			"\n") {
			t.Errorf("%s: the endpoint is\n%s", duration, got)
		}
	}
}

// TestSchemaAcceptsNull on top of the minimal values. TestEveryValueMayBeNull has more values below the others.
func TestSchemaAcceptsNull(t *testing.T) {
	tier.NeedFull(t)
	for _, path := range []string{
		"cloudConfig.project", "cloudConfig.defaultSubnet", "cloudConfig.endpoint", "cloudConfig.additionalLabels",
		"cloudConfig.loadBalancer", "cloudConfig.loadBalancer.defaults",
		"cloudConfig.instancesV2", "cloudConfig.api", "advanced", "advanced.inventory", "advanced.api",
		"nameOverride", "namespaceOverride", "podDisruptionBudget",
		"credentials.workloadIdentity", "caBundle", "caBundle.pem", "caBundle.existing", "caBundle.existing.name",
		"image.registry", "image.tag", "image.digest",
		"imagePullSecrets", "fullnameOverride", "extraArgs", "kubernetesServiceHost", "kubernetesServicePort",
		"priorityClassName", "resources", "nodeSelector", "affinity", "tolerations", "serviceAccount.name",
		"admissionPolicy", "admissionPolicy.validationActions",
	} {
		t.Run(path, func(t *testing.T) {
			objects(t, minimal(t, path+"=null"))
		})
	}
}

// defaults returns values.yaml.
func defaults(t *testing.T) map[string]any {
	t.Helper()
	return readValues(t, filepath.Join(chartDir(t), chartutil.ValuesfileName))
}

// TestChartAsDependency: a chart includes it with values of its own, and switches it off.
func TestChartAsDependency(t *testing.T) {
	dir := Umbrella(t)
	platform := func(values map[string]any) (string, error) {
		text, _, err := chart.Render(t.Context(), dir, chart.Release{Name: "platform", Namespace: "kube-system",
			Values: values})
		return text, err
	}
	values := map[string]any{"global": map[string]any{"region": "somewhere"},
		"thalassa-ccm": minimal(t, "enabled=true")}
	text, err := platform(values)
	if want := "name: \"platform-thalassa-ccm\"\n"; err != nil || !strings.Contains(text, want) {
		t.Errorf("error %v, and the manifest lacks %q", err, want)
	}
	values["thalassa-ccm"] = map[string]any{"enabled": false}
	if text, err := platform(values); err != nil || strings.TrimSpace(text) != "" {
		t.Errorf("a disabled dependency gives error %v and the manifest %q", err, text)
	}
	for name, path := range valuesFiles(t) {
		values["thalassa-ccm"] = readValues(t, path)
		if text, err := platform(values); err != nil || !strings.Contains(text, "/thalassa-ccm/templates/") {
			t.Errorf("with the values %s: error %v", name, err)
		}
	}
}
