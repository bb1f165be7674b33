package kustomizetest

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/thalassa-cloud/thalassa-ccm/ci/overlay"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
	"github.com/thalassa-cloud/thalassa-ccm/tools/bases"
)

// combinations are the lists of components that are meant for a profile: none, each one, and every two, with what they
// need.
func combinations(p bases.Profile) [][]string {
	all := [][]string{nil}
	components := meantFor(p)
	for i, a := range components {
		all = append(all, together(p, a))
		for _, b := range components[i+1:] {
			if !alternatives(a, b) {
				all = append(all, together(p, a, b))
			}
		}
	}
	slices.SortFunc(all, slices.Compare)
	return slices.CompactFunc(all, slices.Equal)
}

// orders are the combinations, and every two components the other way round, too, but for two that have one order.
func orders(p bases.Profile) [][]string {
	all := combinations(p)
	components := meantFor(p)
	for i, a := range components {
		for _, b := range components[i+1:] {
			if !alternatives(a, b) && (a.Name != "controller-accounts" || b.Name != "allocate-node-cidrs") {
				all = append(all, together(p, b, a))
			}
		}
	}
	slices.SortFunc(all, slices.Compare)
	return slices.CompactFunc(all, slices.Equal)
}

// alternatives reports whether only one of two components can be used: they have the same objects, for different
// clouds, or exclude each other.
func alternatives(a, b bases.Component) bool {
	return a.Name == b.Name+"-ironcore" || b.Name == a.Name+"-ironcore" ||
		slices.Contains(excluding(), [2]string{a.Name, b.Name})
}

// excluding are the components of which only one can be used, those with accounts first: both together need other
// permissions than each, or they are for different clouds.
func excluding() [][2]string {
	return [][2]string{{"controller-accounts", "spec-rbac"}, {"controller-accounts-ironcore", "spec-rbac"},
		{"controller-accounts-managed", "allocate-node-cidrs"}, {"controller-accounts", "admission-policy-ironcore"},
		{"controller-accounts-ironcore", "admission-policy"}}
}

// TestAlternatives: an overlay with two components of which only one can be used does not build, in either order.
func TestAlternatives(t *testing.T) {
	for _, p := range bases.Profiles() {
		components := meantFor(p)
		for i, a := range components {
			for _, b := range components[i+1:] {
				if !alternatives(a, b) {
					continue
				}
				for _, names := range [][]string{{a.Name, b.Name}, {b.Name, a.Name}} {
					k := overlay.New(t)
					edit(t, k, p.Name)
					k.Use(t, p.Name, names...)
					_, err := k.TryBuild(overlay.Dir(p.Name))
					if explained := a.Name == b.Name+"-ironcore" ||
						b.Name == a.Name+"-ironcore"; err == nil ||
						!explained && !strings.Contains(err.Error(), "exclude each other, leave one out") {
						t.Errorf("overlay %s with %q: got %v, want an error with the reason", p.Name, names, err)
					}
				}
			}
		}
	}
}

func meantFor(p bases.Profile) []bases.Component {
	return slices.DeleteFunc(bases.Components(), func(c bases.Component) bool {
		_, meant := c.Profiles[p.Name]
		return !meant
	})
}

// together lists components after those they need, each once.
func together(p bases.Profile, components ...bases.Component) []string {
	var names []string
	for _, c := range components {
		for _, name := range append(slices.Clone(c.Profiles[p.Name]), c.Name) {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// notMeant are the overlays that a component is not for, with the reason. It is the table in kustomize/README.md, too.
func notMeant() map[string]map[string]string {
	reasons := map[string]map[string]string{
		"admission-policy": {
			"ironcore":         "it has other annotations: use admission-policy-ironcore",
			"ironcore-managed": "the Services are in the served cluster",
			"managed":          "the Services are in the served cluster",
		},
		"admission-policy-ironcore": {
			"self-managed":     "it has other annotations: use admission-policy",
			"ironcore-managed": "the Services are in the served cluster",
			"managed":          "the Services are in the served cluster",
		},
		"allocate-node-cidrs": {
			"ironcore":         "the network is a flag: see the guide of IronCore",
			"ironcore-managed": "the network is a flag: see the guide of IronCore",
			"managed-tenant":   "no pods of the program there: it is a flag",
		},
		"dashboards": {
			"managed-tenant": "no pods there",
		},
		"deployment": {
			"ironcore-managed": "it is a Deployment already",
			"managed":          "it is a Deployment already",
			"managed-tenant":   "no pods there",
		},
		"high-availability": {
			"managed-tenant": "no pods there",
		},
		"metrics-certificate": {
			"managed-tenant": "no pods there",
		},
		"network-policy": {
			"ironcore":         "a policy has no effect on the host network",
			"ironcore-managed": "another API is called there: use network-policy-ironcore",
			"self-managed":     "a policy has no effect on the host network",
			"managed-tenant":   "no pods there",
		},
		"network-policy-ironcore": {
			"ironcore":       "a policy has no effect on the host network",
			"self-managed":   "a policy has no effect on the host network",
			"managed":        "another API is called there: use network-policy",
			"managed-tenant": "no pods there",
		},
		"private-ca": {
			"ironcore":         "the kubeconfig contains the certificates",
			"ironcore-managed": "the kubeconfig contains the certificates",
			"managed-tenant":   "no pods there",
		},
		"spec-rbac": {
			"ironcore-managed": "no permissions there",
			"managed":          "no permissions there",
		},
		"workload-identity": {
			"ironcore":         "the pods use a kubeconfig",
			"ironcore-managed": "the pods use a kubeconfig",
			"managed-tenant":   "no pods there",
		},
	}
	maps.Copy(reasons, accountsNotMeant())
	maps.Copy(reasons, monitoringNotMeant())
	for _, c := range bases.Components() {
		if reasons[c.Name] == nil {
			reasons[c.Name] = map[string]string{}
		}
		reasons[c.Name]["ironcore-permissions"] = "it has only roles in IronCore"
		if !strings.HasSuffix(c.Name, "-csi") {
			reasons[c.Name][bases.CSI] = "for the cloud controller manager only"
			continue
		}
		for _, p := range bases.Profiles() {
			if p.Name != bases.CSI {
				reasons[c.Name][p.Name] = "for the CSI driver only"
			}
		}
	}
	return reasons
}

// accountsNotMeant is the part of notMeant for the components with an account for each controller.
func accountsNotMeant() map[string]map[string]string {
	return map[string]map[string]string{
		"controller-accounts": {
			"ironcore":         "its account of the cloud has another name: use controller-accounts-ironcore",
			"ironcore-managed": "the accounts are in the served cluster: use controller-accounts-managed",
			"managed":          "the accounts are in the served cluster: use controller-accounts-managed",
		},
		"controller-accounts-ironcore": {
			"self-managed":     "its account of the cloud has another name: use controller-accounts",
			"ironcore-managed": "the accounts are in the served cluster: use controller-accounts-managed",
			"managed":          "the accounts are in the served cluster: use controller-accounts-managed",
		},
		"controller-accounts-managed": {
			"ironcore":       "the accounts are in the same cluster: use controller-accounts-ironcore",
			"self-managed":   "the accounts are in the same cluster: use controller-accounts",
			"managed-tenant": "no pods there: use controller-accounts or controller-accounts-ironcore",
		},
	}
}

// monitoringNotMeant is the part of notMeant for the components with a ServiceMonitor, and for traces.
func monitoringNotMeant() map[string]map[string]string {
	return map[string]map[string]string{
		"monitoring": {
			"ironcore":         "the metrics have other names there: use monitoring-ironcore",
			"ironcore-managed": "the metrics have other names there: use monitoring-ironcore-managed",
			"managed":          "Prometheus authenticates with a certificate there: use monitoring-managed",
			"managed-tenant":   "no pods there: use monitoring-managed-tenant",
		},
		"monitoring-ironcore": {
			"self-managed":     "the metrics have other names there: use monitoring",
			"ironcore-managed": "Prometheus authenticates with a certificate there: use monitoring-ironcore-managed",
			"managed":          "the metrics have other names there: use monitoring-managed",
			"managed-tenant":   "no pods there: use monitoring-managed-tenant",
		},
		"monitoring-ironcore-managed": {
			"self-managed":   "the metrics have other names there: use monitoring",
			"ironcore":       "Prometheus authenticates with its token there: use monitoring-ironcore",
			"managed":        "the metrics have other names there: use monitoring-managed",
			"managed-tenant": "no pods there: use monitoring-managed-tenant",
		},
		"monitoring-managed": {
			"ironcore":         "Prometheus authenticates with its token there: use monitoring-ironcore",
			"ironcore-managed": "the metrics have other names there: use monitoring-ironcore-managed",
			"self-managed":     "Prometheus authenticates with its token there: use monitoring",
			"managed-tenant":   "no pods there: use monitoring-managed-tenant",
		},
		"monitoring-managed-tenant": {
			"ironcore":         "monitoring-ironcore contains it",
			"ironcore-managed": "the permission is for the served cluster",
			"self-managed":     "monitoring contains it",
			"managed":          "the permission is for the served cluster",
		},
		"tracing": {
			"ironcore-managed": "its port must be in the network policy: use tracing-managed",
			"managed":          "its port must be in the network policy: use tracing-managed",
			"managed-tenant":   "no pods there",
		},
		"tracing-managed": {
			"ironcore":       "there is no network policy on the host network: use tracing",
			"self-managed":   "there is no network policy on the host network: use tracing",
			"managed-tenant": "no pods there",
		},
	}
}

// TestEveryComponentKnowsItsOverlays: each is meant for an overlay, or there is a reason why it is not.
func TestEveryComponentKnowsItsOverlays(t *testing.T) {
	reasons := notMeant()
	readme, err := os.ReadFile(checkout.Path(t, "kustomize/README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range bases.Components() {
		for _, p := range bases.Profiles() {
			_, meant := c.Profiles[p.Name]
			reason := reasons[c.Name][p.Name]
			if meant == (reason != "") {
				t.Errorf("component %s with overlay %s: meant is %t, and the reason against it %q", c.Name, p.Name,
					meant, reason)
			}
			if !strings.Contains(string(readme), reason) {
				t.Errorf("kustomize/README.md does not say of component %s and overlay %s: %s", c.Name, p.Name, reason)
			}
		}
		delete(reasons, c.Name)
	}
	for name := range reasons {
		t.Errorf("there is no component %s", name)
	}
}

// TestManagedNamesNoNamespace: the overlay is applied to one that is not known beforehand, with all its components.
func TestManagedNamesNoNamespace(t *testing.T) {
	for _, p := range bases.Profiles() {
		if p.Name != "managed" && p.Name != "ironcore-managed" {
			continue
		}
		for _, components := range combinations(p) {
			if strings.Contains(built(t, p.Name, components...), bases.Namespace) {
				t.Errorf("with components %v it names %s", components, bases.Namespace)
			}
		}
	}
}

// TestEveryComponentIsTested: the folders are those that the generator knows.
func TestEveryComponentIsTested(t *testing.T) {
	var want []string
	for _, c := range bases.Components() {
		want = append(want, c.Name)
	}
	slices.Sort(want)
	folders := map[string]bool{}
	entries, err := os.ReadDir(checkout.Path(t, "kustomize/components"))
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		folders[entry.Name()] = true
	}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(folders))); diff != "" {
		t.Errorf("components (-generated +folders):\n%s", diff)
	}
}

// misuse is a list of components with which an overlay does not build, and what the error has to contain.
type misuse struct {
	overlay    string
	components []string
	want       string
}

// misplaced are the components that are not meant for an overlay, and those before the one that they need.
func misplaced() []misuse {
	const (
		workload = "component high-availability comes after component deployment, list that one first"
		monitor  = "component metrics-certificate comes after component monitoring, monitoring-ironcore, " +
			"monitoring-ironcore-managed or monitoring-managed, list that one first"
		snapshots = "component snapshot-controller-csi comes after component snapshots-csi, list that one first"
	)
	all := []misuse{
		{"self-managed", []string{"high-availability"}, workload},
		{"self-managed", []string{"high-availability", "deployment"}, workload},
		{"self-managed", []string{"metrics-certificate"}, monitor},
		{"self-managed", []string{"metrics-certificate", "monitoring"}, monitor},
		{"managed", []string{"metrics-certificate", "monitoring-managed"}, monitor},
		{"ironcore", []string{"metrics-certificate", "monitoring-ironcore"}, monitor},
		{"ironcore", []string{"high-availability", "deployment"}, workload},
		{"ironcore-managed", []string{"metrics-certificate", "monitoring-ironcore-managed"}, monitor},
		{"self-managed", []string{"allocate-node-cidrs", "controller-accounts"},
			"component allocate-node-cidrs comes after component controller-accounts, list that one first"},
		{"csi", []string{"snapshot-controller-csi"}, snapshots},
		{"csi", []string{"snapshot-controller-csi", "snapshots-csi"}, snapshots},
	}
	for component, overlays := range notMeant() {
		for name := range overlays {
			all = append(all, misuse{name, []string{component}, "component " + component + " is only for overlay "})
		}
	}
	return all
}

// TestMisplacedComponentsAreRefused, instead of building what does nothing there, or harm. The error names the overlay,
// or the component that comes first.
func TestMisplacedComponentsAreRefused(t *testing.T) {
	for _, m := range misplaced() {
		k := overlay.New(t)
		edit(t, k, m.overlay)
		k.Use(t, m.overlay, m.components...)
		manifest, err := k.TryBuild(overlay.Dir(m.overlay))
		if err == nil {
			t.Errorf("overlay %s takes components %q, and has %d objects then", m.overlay, m.components,
				len(decode(t, manifest)))
			continue
		}
		if !strings.Contains(err.Error(), m.want) {
			t.Errorf("%s with %q: got %v, want an error with %q", m.overlay, m.components, err, m.want)
		}
	}
}
