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
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
)

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

<!-- Generated from the chart's rules and the comments above them, by the tests in ci/rbactest. -->

The chart grants the program these permissions, with default values unless a section names others. A controller that is disabled needs
fewer permissions, and gets fewer. No rule contains a wildcard. The program has no access to Secrets. It can read one ConfigMap by
name, which Kubernetes publishes.

Tests compare these rules with what the program does. They run the program against a real API server with shared accounts, with an
account for every controller, and with profile managed, each with every set of controllers, and make it do everything that it can do.
They then compare the requests in the audit log with the rules: a request without a rule and a rule without a request are failures. If
a client other than the program uses one of its accounts, the test also fails.
One rule has an exception. With profile managed and readers that authenticate with certificates, the program uses ` + "`tokenreviews`" + ` only
if a client sends a token.

The RoleBinding whose name ends with ` + "`-authentication-reader`" + ` refers to the Role ` + "`extension-apiserver-authentication-reader`" + `,
which Kubernetes creates. It permits reading the certificate authorities of API clients, with which the HTTPS port authenticates its
clients. With profile managed, this RoleBinding does not exist. The port then trusts the certificate authority in
` + "`metrics.clientCA`" + `.
`

// pageSection is a table of the page: the rules of the roles whose names end with role, with these values, or with the
// values file of the chart.
type pageSection struct{ title, note, values, role, file string }

// manifest is what the chart makes with the values of the section.
func (s pageSection) manifest(t *testing.T) string {
	t.Helper()
	if s.file == "" {
		c := &cluster{cloud: cloud.Cloud{URL: "https://cloud.example.com"}}
		return manifest(t, c.values(t, s.values))
	}
	values, err := chartutil.ReadValuesFile(filepath.Join(chartDir(t), "ci", s.file))
	if err != nil {
		t.Fatal(err)
	}
	return manifest(t, values)
}

func pageSections() []pageSection {
	return []pageSection{
		{"Minimal", "The default.", "", "", ""},
		{
			"An account for every controller",
			"This table is for `useServiceAccountCredentials.enabled: true`, " +
				"`cloudConfig.loadBalancer.removeOrphans: true` and\n" +
				"`cloudConfig.routes.enabled: true`. Only with `removeOrphans`, the account `service-controller` may " +
				"list `services`. Only with\n" +
				"`routes`, there is an account `route-controller`. With a workload identity and without a CA bundle, " +
				"there is no account\n" +
				"`cloud-provider-thalassa`: it creates only events about files with secrets, and there are then no " +
				"such files.\n\n" +
				"The accounts are in kube-system. In most clusters, kube-controller-manager also uses the accounts " +
				"`node-controller`,\n" +
				"`route-controller` and `service-controller`. Kubernetes binds them to roles such as " +
				"`system:controller:node-controller`, which\n" +
				"grant more permissions, for example to delete pods.",
			accounts + "cloudConfig: {clusterCIDR: 10.244.0.0/16, loadBalancer: {removeOrphans: true}, routes: " +
				"{enabled: true}}\n", "", "",
		},
		{
			"As specified",
			"This table is for `rbac.mode: spec`. It contains the rules of the\n" +
				"[specification](https://kubernetes.io/docs/concepts/architecture/cloud-controller/#authorization) " +
				"of Kubernetes, and the rules that\n" +
				"the program needs in addition. The program does not use all rules of the specification. With an " +
				"account for every controller, the\n" +
				"role of the program's own account contains the specification.",
			"rbac: {mode: spec}", "", "",
		},
		{
			"Readers of metrics", "This role is for the subjects in `metrics.readers`, not for the program.",
			"metrics: {readers: [{kind: ServiceAccount, name: prometheus-k8s, namespace: monitoring}]}",
			"-metrics-reader", "",
		},
		{
			"The account of IronCore",
			"With `cloud: ironcore` and an account for every controller, this role takes the place of that of " +
				"`cloud-provider-thalassa`. All\nother roles are the same for both clouds, except for the name of " +
				"this account.",
			"", "-cloud-provider-ironcore", "ironcore-values.yaml",
		},
		{
			"In IronCore",
			"These are the permissions of the kubeconfig in the API of IronCore. Part `cloud` of the chart contains " +
				"them, here for namespace\n`production`: the name of the ClusterRole ends with the namespace. Tests " +
				"run the program with these permissions against an API server\nwith the kinds of IronCore, and " +
				"compare them with its audit log: see [the guide](../guides/ironcore.md#permissions-in-ironcore).",
			"", "", "ironcore-permissions-values.yaml",
		},
	}
}

// page is the whole reference page.
func page(t *testing.T) string {
	t.Helper()
	var text strings.Builder
	text.WriteString(pageBegin)
	for _, section := range pageSections() {
		fmt.Fprintf(&text, "\n## %s\n\n%s\n\n| Role | Resource | Verbs | Why |\n|---|---|---|---|\n", section.title,
			section.note)
		for _, rule := range documented(t, section.manifest(t)) {
			if strings.HasSuffix(rule.role, section.role) {
				text.WriteString(rule.row())
			}
		}
	}
	text.WriteString(csiPage(t))
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
	want, pagePath := page(t), checkout.Path(t, "docs/reference/rbac.md")
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
	files, err := filepath.Glob(filepath.Join(chartDir(t), "ci", "*-values.yaml"))
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
	got := commentsOf("kind: Role\nmetadata:\n  # not this\nrules:\n  # One,\n  # and more.\n  - apiGroups: [a]\n    " +
		"verbs: [get]\n  - apiGroups: [b]\n  # Two.\n  - nonResourceURLs: [/]\n")
	if diff := cmp.Diff([]string{"One, and more.", "", "Two."}, got); diff != "" {
		t.Errorf("comments (-want +got):\n%s", diff)
	}
}
