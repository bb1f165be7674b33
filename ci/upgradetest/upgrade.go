// Package upgradetest holds the tests that upgrades work: from the old charts (package fixture) to those of today. It
// renders both with the values files that the old chart was tested with. The old values have to work still, or be
// refused with the name of their successor; every object keeps its name, its selector and what cannot be changed; none
// is dropped without a word; and an API server that holds the old objects takes the new ones, without a conflict. Helm
// 3 itself takes a step, too, under the usual name of a release and under another.
package upgradetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chartutil"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	"github.com/thalassa-cloud/thalassa-ccm/tools/chart"
)

// Exception is a break that is meant, which a major version and the chart's CHANGELOG announce.
type Exception struct {
	// Chart is the name of the chart, Values the short name of a values file of the old one.
	Chart, Values string
	// Dropped is an object that is gone, as "Kind namespace/name"; empty when the values are refused.
	Dropped string
	// Refused is what the new chart says about the old values; it names what to use instead.
	Refused string
	// Instead are values in YAML that follow what it says, and replace the old ones; with them the upgrade has to
	// succeed.
	Instead string
	// Reason says why.
	Reason string
}

// Upgrade is the way from one chart to another.
type Upgrade struct {
	// Chart is the name of the chart, Old and New are the folders of the charts.
	Chart, Old, New string
	// Namespace is that of the release.
	Namespace string
}

// Step is an upgrade with one values file: what is rendered before and after.
type Step struct {
	// Values is the short name of the values file.
	Values   string
	Old, New string
}

// Steps renders both charts with every values file of the old one. Problems are sentences about values that the new
// chart refuses; each is an Exception's if one of them contains what it says.
func (u Upgrade) Steps(ctx context.Context,
	exceptions []Exception) (steps []Step, used []Exception, problems []string, err error) {
	files, err := filepath.Glob(filepath.Join(u.Old, "ci", "*-values.yaml"))
	if err != nil || len(files) == 0 {
		return nil, nil, nil, errors.Join(fmt.Errorf("chart %s has no values files below ci/", u.Old), err)
	}
	for _, file := range files {
		step := Step{Values: strings.TrimSuffix(filepath.Base(file), "-values.yaml")}
		if step.Old, err = u.render(ctx, u.Old, file, ""); err != nil {
			return nil, nil, nil, err
		}
		if step.New, err = u.render(ctx, u.New, file, ""); err != nil {
			e, meant := u.refused(exceptions, step.Values, err)
			if !meant {
				problems = append(problems, fmt.Sprintf("the old values %s are refused: %v", step.Values, err))
				continue
			}
			used = append(used, e)
			if e.Instead == "" {
				continue
			}
			if step.New, err = u.render(ctx, u.New, file, e.Instead); err != nil {
				problems = append(problems,
					fmt.Sprintf("the old values %s are refused with what is used instead, too: %v", step.Values, err))
				continue
			}
		}
		steps = append(steps, step)
	}
	return steps, used, problems, nil
}

// refused finds the exception that says that a refusal is meant; none when there is no error.
func (u Upgrade) refused(exceptions []Exception, values string, err error) (Exception, bool) {
	if err == nil {
		return Exception{}, false
	}
	i := slices.IndexFunc(exceptions, func(e Exception) bool {
		return u.concerns(e, values) && e.Refused != "" && strings.Contains(err.Error(), e.Refused)
	})
	if i < 0 {
		return Exception{}, false
	}
	return exceptions[i], true
}

// concerns reports whether an exception is about a values file of the old chart.
func (u Upgrade) concerns(e Exception, values string) bool {
	return e.Chart == u.Chart && e.Values == values
}

func (u Upgrade) render(ctx context.Context, dir, file, instead string) (string, error) {
	values, err := readValues(file, instead)
	if err != nil {
		return "", err
	}
	manifest, _, err := chart.Render(ctx, dir, chart.Release{Name: u.Chart, Namespace: u.Namespace, Values: values})
	return manifest, err
}

// readValues reads a values file, with some of them replaced.
func readValues(file, instead string) (chartutil.Values, error) {
	values, err := chartutil.ReadValuesFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading values: %w", err)
	}
	first, err := chartutil.ReadValues([]byte(instead))
	if err != nil {
		return nil, fmt.Errorf("reading what replaces values: %w", err)
	}
	return chartutil.CoalesceTables(first, values), nil // the first wins, and null removes a value
}

// Compare finds what a step breaks. Objects that are gone may be Exceptions.
func (u Upgrade) Compare(step Step, exceptions []Exception) (used []Exception, problems []string, err error) {
	before, err := objects(step.Old)
	if err != nil {
		return nil, nil, err
	}
	after, err := objects(step.New)
	if err != nil {
		return nil, nil, err
	}
	for _, identity := range slices.Sorted(maps.Keys(before)) {
		if now, there := after[identity]; there {
			problems = append(problems, changes(step.Values, identity, before[identity], now)...)
			problems = append(problems, scraped(step.Values, identity, before, after)...)
			continue
		}
		i := slices.IndexFunc(exceptions, func(e Exception) bool {
			return u.concerns(e, step.Values) && e.Dropped == identity
		})
		if i < 0 {
			problems = append(problems, fmt.Sprintf("%s: %s is dropped", step.Values, identity))
			continue
		}
		used = append(used, exceptions[i])
	}
	return used, problems, nil
}

// lasting are the fields that stay as they are: selectors, because objects would be lost of sight, and what the API
// server does not let anybody change.
func lasting() [][]string {
	return [][]string{
		{"apiVersion"}, {"roleRef"}, {"type"}, {"immutable"},
		{"spec", "selector"}, {"spec", "podSelector"}, {"spec", "clusterIP"}, {"spec", "volumeClaimTemplates"},
		{"spec", "serviceName"},
		{"provisioner"}, {"parameters"}, {"reclaimPolicy"}, {"volumeBindingMode"}, // of a StorageClass
		{"driver"}, {"deletionPolicy"}, // of a VolumeSnapshotClass
		{"spec", "attachRequired"}, {"spec", "volumeLifecycleModes"}, // of a CSIDriver
	}
}

// serviceMonitor is the kind whose selector may change, if it selects the same Services: nothing is lost of sight then.
const serviceMonitor = "ServiceMonitor"

// scraped reports whether a ServiceMonitor selects other Services than before. For other kinds it says nothing.
func scraped(values, identity string, before, after map[string]map[string]any) []string {
	if kind, _, _ := strings.Cut(identity, " "); kind != serviceMonitor {
		return nil
	}
	old, now := services(before[identity], before), services(after[identity], after)
	if len(old) > 0 && slices.Equal(old, now) {
		return nil
	}
	return []string{fmt.Sprintf("%s: %s selected the Services %q and selects %q", values, identity, old, now)}
}

// services are those that a ServiceMonitor selects among the objects of its release.
func services(monitor map[string]any, objects map[string]map[string]any) []string {
	selector, _, _ := unstructured.NestedStringMap(monitor, "spec", "selector", "matchLabels")
	var found []string
	for _, identity := range slices.Sorted(maps.Keys(objects)) {
		o := unstructured.Unstructured{Object: objects[identity]}
		if o.GetKind() == "Service" && len(selector) > 0 &&
			labels.SelectorFromSet(selector).Matches(labels.Set(o.GetLabels())) {
			found = append(found, identity)
		}
	}
	return found
}

// changes returns which immutable fields of an object differ.
func changes(values, identity string, before, after map[string]any) []string {
	var problems []string
	kind, _, _ := strings.Cut(identity, " ")
	for _, fields := range lasting() {
		if kind == serviceMonitor && slices.Equal(fields, []string{"spec", "selector"}) {
			continue // scraped compares what it selects
		}
		old, _, _ := unstructured.NestedFieldNoCopy(before, fields...)
		now, _, _ := unstructured.NestedFieldNoCopy(after, fields...)
		if !reflect.DeepEqual(old, now) {
			problems = append(problems, fmt.Sprintf("%s: %s of %s was %v and is %v", values, strings.Join(fields, "."),
				identity, old, now))
		}
	}
	return problems
}

// objects reads a rendered chart, by "Kind namespace/name".
func objects(manifest string) (map[string]map[string]any, error) {
	named := map[string]map[string]any{}
	for document := range strings.SplitSeq(manifest, "\n---\n") {
		content := map[string]any{}
		if err := yaml.Unmarshal([]byte(document), &content); err != nil {
			return nil, fmt.Errorf("reading a rendered chart: %w", err)
		}
		if len(content) == 0 {
			continue
		}
		o := unstructured.Unstructured{Object: content}
		named[fmt.Sprintf("%s %s/%s", o.GetKind(), o.GetNamespace(), o.GetName())] = content
	}
	return named, nil
}
