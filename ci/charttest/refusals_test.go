package charttest

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/tools/chart"
)

// refusals are values for which the chart says one sentence each, on top of the minimal ones.
func refusals() [][]string {
	return slices.Concat(combinations(), ironRefusals(), singleValues())
}

// combinations are refused because of another value, or because a value is missing.
func combinations() [][]string {
	created := []string{"credentials.existingSecret=", "credentials.create.enabled=true"}
	identity := []string{"credentials.workloadIdentity.enabled=true",
		"credentials.workloadIdentity.serviceAccountID=sa-1"}
	whole := []string{"cloudConfig.organisation=", "cloudConfig.vpcIdentity=", "cloudConfig.cluster=",
		"cloudConfig.existing.name=all"}
	const pem = "caBundle.pem=-----BEGIN CERTIFICATE-----"
	return [][]string{
		{"fullnameOverride=9ccm"}, {"nameOverride=CCM"}, {"namespaceOverride=a.b"}, {"dnsPolicy=None"},
		{"podDisruptionBudget.minAvailable=1", "podDisruptionBudget.maxUnavailable=1"},
		{"podDisruptionBudget.minAvailable=2"},
		{"profile=managed"}, {"part=tenant"}, hosting("kind=DaemonSet"), {"networkPolicy.enabled=true"},
		hosting("tenant.kubeconfig.existingSecret="), tenant("tenant.subject.name="),
		tenant("tenant.subject.kind=ServiceAccount"), tenant("tenant.subject.namespace=a"),
		{"tenant.kubeconfig.existingSecret=a"}, {"tenant.subject.name=a"}, hosting("kubernetesServiceHost=a"),
		append(whole, "cloudConfig.project=a"), {"cloudConfig.organisation="}, {"cloudConfig.vpcIdentity="},
		{"cloudConfig.cluster="},
		{"cloudConfig.routes.enabled=true"}, {"cloudConfig.routes.exclusive=true"}, {"allocateNodeCIDRs.enabled=true"},
		{"cloudConfig.loadBalancer.drift=false"}, {"cloudConfig.loadBalancer.onlyClass=true"},
		{"cloudConfig.loadBalancer.removeOrphans=true", "cloudConfig.loadBalancer.driftPeriod=0"},
		{"cloudConfig.loadBalancer.drift=report", "cloudConfig.loadBalancer.driftPeriod=0"},
		{"credentials.existingSecret="}, identity, append(created[1:], "credentials.create.personalAccessToken=a"),
		append(append(created, identity...), "credentials.create.personalAccessToken=a"),
		append(created[:1:1], identity[0]), created,
		append(created, "credentials.create.personalAccessToken=a", "credentials.create.clientID=b",
			"credentials.create.clientSecret=c"),
		append(created, "credentials.create.clientID=b"), {"credentials.create.personalAccessToken=a"},
		{pem, "caBundle.existing.name=a"}, append(whole, pem), {"cloudConfig.insecure=true", pem},
		{"serviceAccount.create=false"},
		{"serviceMonitor.enabled=true", "podMonitor.enabled=true", "scrape.token.existingSecret=a"},
		{"scrape.token.existingSecret=a", "scrape.clientCertificate.existingSecret=b"},
		hosting("serviceMonitor.enabled=true"), {"podMonitor.enabled=true"}, hosting("scrape.token.existingSecret=a"),
		hosting("serviceMonitor.enabled=true", "scrape.clientCertificate.existingSecret=a"),
		{"metrics.readers[0].kind=ServiceAccount", "metrics.readers[0].name=a"},
		{"metrics.readers[0].kind=User", "metrics.readers[0].name=a", "metrics.readers[0].namespace=b"},
		{"rules.alertLabels.severity=page"},
		{"kind=Deployment", "updateStrategy.type=RollingUpdate"}, {"updateStrategy.rollingUpdate.maxSurge=1"},
		{"hostNetwork=false", "networkPolicy.enabled=true", "kubernetesServiceHost=a", "kubernetesServicePort=7443"},
		{"hostNetwork=false", "networkPolicy.enabled=true", "cloudConfig.endpoint=https://api.example.com:8443"},
		{"extraEnv[0].name=POD_NAME"}, {"extraVolumeMounts[0].name=a",
			"extraVolumeMounts[0].mountPath=/etc/thalassa-ccm/credentials/"},
		{"extraVolumes[0].name=a", "extraVolumes[1].name=a"}, {"extraContainers[0].name=cloud-controller-manager",
			"extraContainers[0].image=a"},
		{"commonLabels.k8s-app=a"}, {"podAnnotations.checksum/config=a"},
		{"admissionPolicy.validationActions={Deny,Warn}"}, {"extraArgs.v=4"},
		{"rbac=null"}, {"image.pullPolicy=null"}, {`cloudConfig.additionalLabels.k8s\.thalassa\.cloud/cluster=a`},
	}
}

// sayings are the sentences in the chart's own words, as patterns: what is in braces may be anything.
func sayings(t *testing.T, dir string) []string {
	t.Helper()
	var found []string
	var templates strings.Builder
	files, err := filepath.Glob(filepath.Join(dir, "templates", "_validate*.tpl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		templates.WriteString(readFile(t, file))
	}
	for line := range strings.Lines(
		regexp.MustCompile(`(?s)\{\{-? *dict\b.*?\}\}|\{\{-?[^{]*:= (?:dict|list)\n.*?\}\}|\{\{/\*.*?\*/\}\}`).
			ReplaceAllString(templates.String(), "")) {
		line = strings.TrimSpace(line)
		text := strings.TrimSpace(regexp.MustCompile(`\{\{.*?\}\}`).ReplaceAllString(line, "\x00"))
		if strings.Trim(text, "\x00 ") == "" {
			continue
		}
		found = append(found, strings.ReplaceAll(regexp.QuoteMeta(text), "\x00", ".+"))
	}
	return found
}

// TestEveryRefusalIsSaid: each sentence of the chart appears in an error, alone, with either major of Helm.
// Two options that exclude each other are both named, and what is required comes with an example.
func TestEveryRefusalIsSaid(t *testing.T) {
	wantSaid(t, chartDir(t), refusals(), func(sets ...string) chart.Release { return release(minimal(t, sets...)) })
}

// wantSaid wants one sentence for each of sets, and all sentences of the chart in dir to be among them.
func wantSaid(t *testing.T, dir string, refused [][]string, with func(sets ...string) chart.Release) {
	t.Helper()
	seen := map[string]bool{}
	for engine, render := range engines(t) {
		for _, sets := range refused {
			_, _, err := render(dir, with(sets...))
			if err == nil {
				t.Errorf("%s accepts %q", engine, sets)
				continue
			}
			said := sentences(t, err.Error())
			if len(said) != 1 {
				t.Errorf("%s with %q: %d sentences, want one: %q", engine, sets, len(said), said)
			}
			seen[said[0]] = true
		}
	}
	wantAllSeen(t, sayings(t, dir), seen)
}

// wantAllSeen wants a sentence for each pattern. Two options that exclude each other are both named, and what is
// required comes with an example.
func wantAllSeen(t *testing.T, all []string, seen map[string]bool) {
	t.Helper()
	if len(all) < 30 {
		t.Fatalf("only %d sentences were found in the chart: %q", len(all), all)
	}
	for _, pattern := range all {
		matches := regexp.MustCompile("^" + pattern + "$")
		// TestRemovedValuesNameTheirSuccessors has those
		found := strings.Contains(pattern, "not a value of this chart")
		for sentence := range seen {
			found = found || matches.MatchString(sentence)
		}
		if !found {
			t.Errorf("nothing makes the chart say %s", pattern)
		}
	}
	for sentence := range seen {
		about, _, _ := strings.Cut(sentence, ":")
		if strings.Contains(about, "exclude each other") && !strings.Contains(about, " and ") {
			t.Errorf("it does not name the two: %s", sentence)
		}
		if strings.Contains(about, " is required") && !strings.Contains(sentence, "for example --set") {
			t.Errorf("it has no example: %s", sentence)
		}
	}
}
