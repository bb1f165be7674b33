package charttest

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"github.com/thalassa-cloud/thalassa-ccm/ci/kubectl"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplanetest"
	"github.com/thalassa-cloud/thalassa-ccm/tools/sidecar"
)

// minimalAndFull returns these values files, or all in the full tier.
func minimalAndFull(files map[string]string) map[string]string {
	return tier.Pick(map[string]string{"minimal": files["minimal"], "full": files["full"]}, files)
}

// TestEveryObjectIsAccepted has the API server check every object of values files, without storing any.
// The kinds of Prometheus Operator are defined as its own releases define them.
func TestEveryObjectIsAccepted(t *testing.T) {
	warnings := &warnings{}
	config := rest.CopyConfig(controlplanetest.Get(t).Config())
	config.WarningHandler = warnings
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	kube := kubectl.New(controlplanetest.Get(t).Kubeconfig())
	if err := kube.DefineMonitors(t.Context()); err != nil {
		t.Fatal(err)
	}
	// The permissions in IronCore are for this one.
	if _, err := kube.Apply("apiVersion: v1\nkind: Namespace\nmetadata: {name: production}\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := kube.Apply("apiVersion: v1\nkind: Namespace\nmetadata: {name: thalassa-system}\n"); err != nil {
		t.Fatal(err)
	}
	if err := sidecar.InstallDefinitions(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	rendered := map[string][]runtime.Object{}
	for name, path := range minimalAndFull(valuesFiles(t)) {
		rendered[name] = objects(t, readValues(t, path))
	}
	for name, path := range minimalAndFull(CSI.ValuesFiles(t)) {
		rendered[csiGolden(name)] = csiObjectsOf(t, readValues(t, path))
	}
	mapper := mapperOf(t, config)
	for name, all := range rendered {
		for _, object := range all {
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
		DryRun: []string{metav1.DryRunAll}, FieldManager: "charttest", FieldValidation: metav1.FieldValidationStrict,
		Force: &force,
	})
	if err != nil {
		return fmt.Errorf("applying %s %s: %w", kind.Kind, u.GetName(), err)
	}
	return nil
}

// mapperOf asks the API server which kinds it has.
func mapperOf(t *testing.T, config *rest.Config) meta.RESTMapper {
	t.Helper()
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	groups, err := restmapper.GetAPIGroupResources(client)
	if err != nil {
		t.Fatal(err)
	}
	return restmapper.NewDiscoveryRESTMapper(groups)
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
