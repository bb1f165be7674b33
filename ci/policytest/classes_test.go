package policytest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"github.com/thalassa-cloud/thalassa-ccm/ci/charttest"
	"github.com/thalassa-cloud/thalassa-ccm/src/csi/driver"
	"github.com/thalassa-cloud/thalassa-ccm/src/csi/volume"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
	"github.com/thalassa-cloud/thalassa-ccm/tools/chart"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplanetest"
	"github.com/thalassa-cloud/thalassa-ccm/tools/sidecar"
)

// csiChartDir is the folder of the chart of the CSI driver.
func csiChartDir(tb testing.TB) string {
	tb.Helper()
	return checkout.Path(tb, "charts/thalassa-csi")
}

// The policies of the CSI driver's chart, by their names.
const (
	storageClasses  = "thalassa-csi-storageclasses"
	snapshotClasses = "thalassa-csi-volumesnapshotclasses"
)

// classObjects are what the chart of the CSI driver renders with one of its values files and the policies.
func classObjects(t *testing.T, file string) []runtime.Object {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]any{}
	if err := yaml.Unmarshal(data, &values); err != nil {
		t.Fatal(err)
	}
	values["admissionPolicy"] = map[string]any{"enabled": true}
	manifest, _, err := chart.Render(t.Context(), csiChartDir(t), chart.Release{Name: "thalassa-csi",
		Namespace: "thalassa-system", Values: values})
	if err != nil {
		t.Fatal(err)
	}
	objects, err := charttest.Decode(manifest)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// classPolicy is one of the policies of the CSI driver's chart.
func classPolicy(t *testing.T, name string) (found policy) {
	t.Helper()
	for _, object := range classObjects(t, csiChartDir(t)+"/ci/minimal-values.yaml") {
		switch object := object.(type) {
		case *admissionv1.ValidatingAdmissionPolicy:
			if object.Name == name {
				found.ValidatingAdmissionPolicy = object
			}
		case *admissionv1.ValidatingAdmissionPolicyBinding:
			if object.Name == name {
				found.binding = object
			}
		}
	}
	if found.ValidatingAdmissionPolicy == nil || found.binding == nil {
		t.Fatalf("the chart renders no policy %s with its binding", name)
	}
	return found
}

// classes asks the API server whether it would store classes.
type classes struct {
	*testing.T
	kubernetes.Interface
	snapshots dynamic.ResourceInterface
}

// newClasses returns a client of an API server with the definitions of snapshots.
func newClasses(t *testing.T) *classes {
	t.Helper()
	plane := controlplanetest.Get(t)
	if err := sidecar.InstallDefinitions(t.Context(), plane.Config()); err != nil {
		t.Fatal(err)
	}
	all, err := dynamic.NewForConfig(plane.Config())
	if err != nil {
		t.Fatal(err)
	}
	return &classes{t, controlplanetest.Client(t, plane), all.Resource(schema.GroupVersionResource{
		Group: "snapshot.storage.k8s.io", Version: "v1", Resource: "volumesnapshotclasses"})}
}

// question asks the API server whether it would store a class of a driver with parameters.
type question func(ctx context.Context, of string, parameters map[string]string) error

// enforce puts a policy in force until the test ends: it waits until the policy refuses an unknown parameter.
func (c *classes) enforce(name string, ask question) {
	c.Helper()
	p := classPolicy(c.T, name)
	put(c.T, c, "", p)
	controlplanetest.Eventually(c, waitTimeout, "the policy is in force", func(ctx context.Context) error {
		err := ask(ctx, driver.DefaultName, map[string]string{"nonsense": ""})
		if !refusedBy(err, name) {
			return fmt.Errorf("an unknown parameter gives %w", err)
		}
		return nil
	})
	wantTypesChecked(c.T, c, p)
}

// refusedBy reports whether an error is a refusal in the words of a policy.
func refusedBy(err error, name string) bool {
	return apierrors.IsInvalid(err) && strings.Contains(err.Error(), "'"+name+"'") &&
		strings.Contains(err.Error(), "denied request: parameter")
}

// storageClass asks about a StorageClass with parameters.
func (c *classes) storageClass(ctx context.Context, provisioner string, parameters map[string]string) error {
	_, err := c.StorageV1().StorageClasses().Create(ctx, &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: "asked"}, Provisioner: provisioner, Parameters: parameters,
	}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	return err
}

// snapshotClassWith returns a VolumeSnapshotClass with parameters.
func snapshotClassWith(of string, parameters map[string]string) *unstructured.Unstructured {
	given := map[string]any{}
	for name, value := range parameters {
		given[name] = value
	}
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "snapshot.storage.k8s.io/v1",
		"kind": "VolumeSnapshotClass", "metadata": map[string]any{"name": "asked"}, "driver": of,
		"deletionPolicy": "Delete", "parameters": given}}
}

// snapshotClass asks about a VolumeSnapshotClass with parameters.
func (c *classes) snapshotClass(ctx context.Context, of string, parameters map[string]string) error {
	_, err := c.snapshots.Create(ctx, snapshotClassWith(of, parameters),
		metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	return err
}

// ofDriver is what the driver and csi-provisioner say of the parameters of a StorageClass.
func ofDriver(parameters map[string]string) error {
	given := 0
	for _, name := range volume.FilesystemNames() {
		if value, ok := parameters[name]; ok {
			given++
			if err := volume.CheckFilesystem(value); err != nil {
				return err
			}
		}
	}
	if given > 1 {
		return errors.New("csi-provisioner refuses two filesystems")
	}
	_, err := volume.ParseParameters(parameters)
	return err
}

// TestStorageClassPolicyAgreesWithDriver asks both about the same parameters.
func TestStorageClassPolicyAgreesWithDriver(t *testing.T) {
	c := newClasses(t)
	c.enforce(storageClasses, c.storageClass)
	c.wantAgreement(storageClasses, c.storageClass, ofDriver)
	c.wantDocumented()
	c.wantChartAccepted()
}

// wantAgreement compares the verdicts of a policy with those of the driver. Classes of another driver are accepted.
func (c *classes) wantAgreement(name string, ask question, ofDriver func(map[string]string) error) {
	c.Helper()
	accepted, refused := 0, 0
	for _, parameters := range someParameters() {
		want := ofDriver(parameters)
		err := ask(c.Context(), driver.DefaultName, parameters)
		switch {
		case err == nil && want == nil:
			accepted++
		case refusedBy(err, name) && want != nil:
			refused++
		default:
			c.Errorf("%v: the API server says %v, the driver %v", parameters, err, want)
		}
		if err := ask(c.Context(), "other.example.com", parameters); err != nil {
			c.Errorf("%v of another driver: %v", parameters, err)
		}
	}
	if accepted < 10 || refused < 10 {
		c.Errorf("accepted %d, refused %d: these parameters test too little", accepted, refused)
	}
}

// wantDocumented checks that the guide has the message about an unknown parameter, which names all that are known.
func (c *classes) wantDocumented() {
	c.Helper()
	guide, err := os.ReadFile(checkout.Path(c, "docs/guides/admission-policy.md"))
	if err != nil {
		c.Fatal(err)
	}
	err = c.storageClass(c.Context(), driver.DefaultName, map[string]string{"volume_type": "block"})
	want := `parameter "volume_type" is not known; the parameters are ` + strings.Join(volume.ParameterNames(), ", ")
	if err == nil || !strings.HasSuffix(err.Error(), "denied request: "+want) {
		c.Errorf("an unknown parameter gives %v, want %q at the end", err, want)
	}
	if !strings.Contains(string(guide), "denied request:\n"+want+"\n") {
		c.Errorf("the guide does not show %q", want)
	}
}

// someParameters are parameters of classes, right and wrong.
func someParameters() []map[string]string {
	all := []map[string]string{nil, {}, {volume.ParameterType: "a", "csi.storage.k8s.io/fstype": "xfs"},
		{volume.ParameterFilesystem: "ext4", "csi.storage.k8s.io/fstype": "ext4"},
		{volume.ReservedPrefix + "snapshotter-secret-name": "a"}, {"csi.storage.k8s.io/fstype": "EXT4"},
		{volume.ParameterType: "a", "size": "1"}, many(500)}
	for _, name := range volume.ParameterNames() {
		for _, value := range append(volume.Filesystems(), "", "ext2", "btrfs", "Premium Block", "vol-1") {
			all = append(all, map[string]string{name: value})
		}
		all = append(all, map[string]string{strings.ToUpper(name): "ext4"}, map[string]string{name + "s": "ext4"},
			map[string]string{strings.ReplaceAll(name, "-", "_") + "_": "ext4"})
	}
	return all
}

// many are unknown parameters, nearly as long as they can be.
func many(count int) map[string]string {
	all := map[string]string{}
	for i := range count {
		all[fmt.Sprintf("%s%d", strings.Repeat("é", 200), i)] = ""
	}
	return all
}

// wantChartAccepted asks about all StorageClasses that the chart renders with its values files.
func (c *classes) wantChartAccepted() {
	c.Helper()
	files, err := filepath.Glob(csiChartDir(c) + "/ci/*.yaml")
	if err != nil {
		c.Fatal(err)
	}
	asked := 0
	for _, file := range append(files, c.guideValues()) {
		for _, object := range classObjects(c.T, file) {
			if class, ok := object.(*storagev1.StorageClass); ok {
				asked++
				if err := c.storageClass(c.Context(), class.Provisioner, class.Parameters); err != nil {
					c.Errorf("%s: StorageClass %s: %v", file, class.Name, err)
				}
			}
		}
	}
	if asked < 5 {
		c.Errorf("%d StorageClasses were asked about", asked)
	}
}

// guideValues returns the path of a values file with the StorageClasses of the guide.
func (c *classes) guideValues() string {
	c.Helper()
	guide, err := os.ReadFile(checkout.Path(c, "docs/guides/volumes.md"))
	if err != nil {
		c.Fatal(err)
	}
	_, block, found := strings.Cut(string(guide), "```yaml\nstorageClasses:\n")
	block, _, _ = strings.Cut(block, "```")
	minimal, err := os.ReadFile(csiChartDir(c) + "/ci/minimal-values.yaml")
	if err != nil || !found {
		c.Fatalf("the guide has StorageClasses: %t, the values file: %v", found, err)
	}
	path := filepath.Join(c.TempDir(), "values.yaml")
	if err := os.WriteFile(path, []byte(string(minimal)+"\nstorageClasses:\n"+block), 0o600); err != nil {
		c.Fatal(err)
	}
	return path
}

// TestSnapshotClassPolicyAgreesWithDriver asks both about the same parameters. A class keeps what it had.
func TestSnapshotClassPolicyAgreesWithDriver(t *testing.T) {
	c := newClasses(t)
	stored := snapshotClassWith(driver.DefaultName, map[string]string{"old": "x"})
	stored.SetName("stored")
	stored, err := c.snapshots.Create(t.Context(), stored, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		err := c.snapshots.Delete(context.WithoutCancel(t.Context()), stored.GetName(), metav1.DeleteOptions{})
		if err != nil {
			t.Error(err)
		}
	})
	c.enforce(snapshotClasses, c.snapshotClass)
	c.wantAgreement(snapshotClasses, c.snapshotClass, volume.CheckSnapshotParameters)
	c.wantKept(stored)
}

// wantKept changes a class with a parameter that is not known: only the parameters that it had are accepted.
func (c *classes) wantKept(stored *unstructured.Unstructured) {
	c.Helper()
	for name, test := range map[string]struct {
		parameters map[string]any
		refused    bool
	}{
		"the same":      {map[string]any{"old": "x"}, false},
		"none":          {map[string]any{}, false},
		"another value": {map[string]any{"old": "y"}, true},
		"one more":      {map[string]any{"old": "x", "new": "x"}, true},
	} {
		changed := stored.DeepCopy()
		changed.SetLabels(map[string]string{"a": "b"})
		changed.Object["parameters"] = test.parameters
		_, err := c.snapshots.Update(c.Context(), changed, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
		if test.refused != refusedBy(err, snapshotClasses) || !test.refused && err != nil {
			c.Errorf("%s: %v, want a refusal: %t", name, err, test.refused)
		}
	}
}
