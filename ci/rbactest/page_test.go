package rbactest

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/chartutil"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/thalassa-cloud/thalassa-ccm/ci/cloud"
)

const pagePath = "../../docs/reference/rbac.md"

// documentedRule is a rule of a manifest with the comment above it.
type documentedRule struct {
	rbacv1.PolicyRule
	role    string // kind and name
	comment string
}

func (r documentedRule) hasSource() bool { return strings.Contains(r.comment, "Needed by ") }

// documented reads the rules of all roles of a manifest.
func documented(t *testing.T, manifest string) []documentedRule {
	t.Helper()
	var found []documentedRule
	for document := range strings.SplitSeq(manifest, "\n---\n") {
		var role rbacv1.ClusterRole
		if err := yaml.Unmarshal([]byte(document), &role); err != nil || len(role.Rules) == 0 {
			continue
		}
		comments := commentsOf(document)
		if len(comments) != len(role.Rules) {
			t.Fatalf("%s %s: %d comments for %d rules", role.Kind, role.Name, len(comments), len(role.Rules))
		}
		for i, rule := range role.Rules {
			found = append(found, documentedRule{rule, role.Kind + " " + role.Name, comments[i]})
		}
	}
	return found
}

// commentsOf returns the comment above each rule of a role.
func commentsOf(document string) []string {
	_, rules, _ := strings.Cut(document, "\nrules:\n")
	var comments, lines []string
	for line := range strings.Lines(rules) {
		line = strings.TrimSpace(line)
		if text, ok := strings.CutPrefix(line, "# "); ok {
			lines = append(lines, text)
		} else if strings.HasPrefix(line, "- apiGroups:") || strings.HasPrefix(line, "- nonResourceURLs:") {
			comments, lines = append(comments, strings.Join(lines, " ")), nil
		}
	}
	return comments
}

const pageBegin = `# Permissions in Kubernetes

<!-- Made from the chart's rules and the comments above them, by the tests in ci/rbactest. -->

What the chart permits the program, with the default values but for those named. Controllers that are off need less, and are given
less. There are no wildcards, and no access to Secrets or, but for one by name that Kubernetes publishes, ConfigMaps.

That the rules are what the program uses is proven by its tests: with accounts shared, with an account for every controller, and as
the managed profile, it is run with each set of controllers, also with none, and with what else changes the rules, against a real API
server and does everything it can do. What its accounts did by the audit log is compared with the rules, in both directions; whoever
else used one of them fails the test.
One rule is left over: with profile managed, where readers of metrics show certificates, ` + "`tokenreviews`" + ` is used only if somebody
shows a token.

The RoleBinding whose name ends in ` + "`-authentication-reader`" + ` binds Kubernetes' own Role
` + "`extension-apiserver-authentication-reader`" + `: the certificate authorities of API clients, so that the HTTPS port recognises who asks.
With profile managed there is none: the port trusts the authority it is given.
`

// page is the whole reference page.
func page(t *testing.T) string {
	t.Helper()
	c := &cluster{cloud: cloud.Cloud{URL: "https://cloud.example.com"}}
	var text strings.Builder
	text.WriteString(pageBegin)
	for _, section := range []struct{ title, note, values, role string }{
		{"Minimal", "The default.", "", ""},
		{"An account for every controller", "`useServiceAccountCredentials.enabled: true`, and `cloudConfig.loadBalancer.removeOrphans: true`, for which alone its account may list\n" +
			"`services`, and `cloudConfig.routes.enabled: true`, for which alone there is the account `route-controller`. There is no account `cloud-provider-thalassa` with a workload identity and without a CA bundle: then no file has secrets, of\n" +
			"which the cloud could have something to say. The accounts are in kube-system. Where kube-controller-manager runs with accounts of its own,\n" +
			"as in most clusters, it has the accounts `node-controller`, `route-controller` and `service-controller`, too, and Kubernetes binds them to\n" +
			"roles like `system:controller:node-controller` and `system:controller:service-controller`, which permit more: deleting pods, for example.", accounts + "cloudConfig: {clusterCIDR: 10.244.0.0/16, loadBalancer: {removeOrphans: true}, routes: {enabled: true}}\n", ""},
		{"As specified", "`rbac.mode: spec`. It is the [specification](https://kubernetes.io/docs/concepts/architecture/cloud-controller/#authorization)\n" +
			"of Kubernetes, parts of which the program does not use, and what it needs beyond. With an account for every controller, the\n" +
			"specification is in the role of the program's own account.", "rbac: {mode: spec}", ""},
		{"Readers of metrics", "`metrics.readers` names them. This is for them and not for the program, beside what it is permitted.",
			"metrics: {readers: [{kind: ServiceAccount, name: prometheus-k8s, namespace: monitoring}]}", "-metrics-reader"},
	} {
		fmt.Fprintf(&text, "\n## %s\n\n%s\n\n| Role | Resource | Verbs | Why |\n|---|---|---|---|\n", section.title, section.note)
		for _, rule := range documented(t, manifest(t, c.values(t, section.values))) {
			if strings.HasSuffix(rule.role, section.role) {
				text.WriteString(rule.row())
			}
		}
	}
	return text.String()
}

// row is a line of the table.
func (r documentedRule) row() string {
	var resources []string
	for _, path := range r.NonResourceURLs {
		resources = append(resources, "`"+path+"`")
	}
	for _, group := range r.APIGroups {
		for _, resource := range r.Resources {
			if group != "" {
				resource += "." + group
			}
			resources = append(resources, "`"+resource+"`")
		}
	}
	what := strings.Join(resources, ", ")
	for i, name := range r.ResourceNames {
		what += map[bool]string{true: " named ", false: ", "}[i == 0] + "`" + name + "`"
	}
	return fmt.Sprintf("| %s | %s | %s | %s |\n", r.role, what, strings.Join(r.Verbs, ", "), r.comment)
}

func TestPage(t *testing.T) {
	want := page(t)
	if flag.Lookup(updateFlag).Value.String() == "true" {
		if err := os.WriteFile(pagePath, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(pagePath)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("docs/reference/rbac.md is stale (-want +got); run the test with -update:\n%s", diff)
	}
}

// TestPageHasEveryRole that the chart makes with any of the values it is tested with.
func TestPageHasEveryRole(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(chartDir, "ci", "*-values.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("values files %v, error %v", files, err)
	}
	text := page(t)
	for _, file := range files {
		values, err := chartutil.ReadValuesFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, rule := range documented(t, manifest(t, values)) {
			if !strings.Contains(text, "\n| "+rule.role+" |") {
				t.Errorf("%s: the page has no %s", filepath.Base(file), rule.role)
			}
		}
	}
}

func TestCommentsOf(t *testing.T) {
	got := commentsOf("kind: Role\nmetadata:\n  # not this\nrules:\n  # One,\n  # and more.\n  - apiGroups: [a]\n    verbs: [get]\n  - apiGroups: [b]\n  # Two.\n  - nonResourceURLs: [/]\n")
	if diff := cmp.Diff([]string{"One, and more.", "", "Two."}, got); diff != "" {
		t.Errorf("comments (-want +got):\n%s", diff)
	}
}
