package charttest

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/yaml"

	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplanetest"
)

// TestEveryObjectIsAccepted has the API server check every object of every values file, without storing any.
// The kinds of Prometheus Operator are registered without a schema: decoding has checked their fields.
func TestEveryObjectIsAccepted(t *testing.T) {
	warnings := &warnings{}
	config := rest.CopyConfig(controlplanetest.Get(t).Config())
	config.WarningHandler = warnings
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"ServiceMonitor", "PodMonitor", "PrometheusRule"} {
		registerMonitor(t, client, kind)
	}
	mapper := mapperOf(t, config)
	for name, path := range valuesFiles(t) {
		for _, object := range objects(t, readValues(t, path)) {
			if err := dryRun(t.Context(), client, mapper, object); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if got := warnings.String(); got != "" {
		t.Errorf("the API server warns:\n%s", got)
	}
}

// dryRun applies an object without storing it.
func dryRun(ctx context.Context, client dynamic.Interface, mapper meta.RESTMapper, object runtime.Object) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return err
	}
	u := &unstructured.Unstructured{Object: content}
	delete(content, "status")
	kind := u.GroupVersionKind()
	mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return fmt.Errorf("finding %s: %w", kind, err)
	}
	data, err := u.MarshalJSON()
	if err != nil {
		return err
	}
	var resources dynamic.ResourceInterface = client.Resource(mapping.Resource)
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		resources = client.Resource(mapping.Resource).Namespace(u.GetNamespace())
	}
	force := true
	_, err = resources.Patch(ctx, u.GetName(), types.ApplyPatchType, data, metav1.PatchOptions{
		DryRun: []string{metav1.DryRunAll}, FieldManager: "charttest", FieldValidation: metav1.FieldValidationStrict, Force: &force,
	})
	if err != nil {
		return fmt.Errorf("applying %s %s: %w", kind.Kind, u.GetName(), err)
	}
	return nil
}

// mapperOf asks the API server which kinds it has, until it has those of the monitors.
func mapperOf(t *testing.T, config *rest.Config) meta.RESTMapper {
	t.Helper()
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	var mapper meta.RESTMapper
	err = wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		groups, err := restmapper.GetAPIGroupResources(client)
		if err != nil {
			return false, err
		}
		mapper = restmapper.NewDiscoveryRESTMapper(groups)
		return !slices.ContainsFunc([]string{"ServiceMonitor", "PodMonitor", "PrometheusRule"}, func(kind string) bool {
			_, err := mapper.RESTMapping(runtimeschema.GroupKind{Group: "monitoring.coreos.com", Kind: kind}, "v1")
			return err != nil
		}), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return mapper
}

const monitorDefinition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: PLURAL.monitoring.coreos.com
spec:
  group: monitoring.coreos.com
  names: {kind: KIND, plural: PLURAL}
  scope: Namespaced
  versions:
    - name: v1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

// registerMonitor makes the API server know a kind.
func registerMonitor(t *testing.T, client dynamic.Interface, kind string) {
	t.Helper()
	plural := strings.ToLower(kind) + "s"
	data, err := yaml.YAMLToJSON([]byte(strings.NewReplacer("KIND", kind, "PLURAL", plural).Replace(monitorDefinition)))
	if err != nil {
		t.Fatal(err)
	}
	definitions := client.Resource(runtimeschema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	_, err = definitions.Patch(t.Context(), plural+".monitoring.coreos.com", types.ApplyPatchType, data, metav1.PatchOptions{FieldManager: "charttest"})
	if err != nil {
		t.Fatal(err)
	}
}

// warnings collects what the API server says beside its answers.
type warnings struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// HandleWarningHeader implements rest.WarningHandler.
func (w *warnings) HandleWarningHeader(_ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text.WriteString(text + "\n")
}

// String is all warnings, one on each line.
func (w *warnings) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}
