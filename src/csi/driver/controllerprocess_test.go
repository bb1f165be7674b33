package driver

import (
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/build"
	"github.com/thalassa-cloud/thalassa-ccm/src/csi/topology"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/openapi/openapitest"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
)

// cloudConfig is a configuration for the emulated cloud whose credentials are those of a workload identity.
const cloudConfig = `organisation: ` + emulator.DefaultOrganisation + `
vpcIdentity: ` + emulator.DefaultVPC + `
cluster: k8s-1
endpoint: http://cloud.test
api: {callTimeout: 7}
inventory: {machineAge: 300}
cloudCredentials:
  workloadIdentity:
    serviceAccountID: ` + emulator.DefaultServiceAccount + `
    organisationID: ` + emulator.DefaultOrganisation + `
    subjectTokenFile: TOKEN
`

// kubeconfig is that of a cluster that does not answer.
const kubeconfig = `apiVersion: v1
kind: Config
clusters: [{name: a, cluster: {server: "http://127.0.0.1:1"}}]
contexts: [{name: a, context: {cluster: a}}]
current-context: a
`

// files writes files, and returns their paths by name.
func files(t *testing.T, contents map[string]string) map[string]string {
	t.Helper()
	paths := map[string]string{}
	for name, content := range contents {
		paths[name] = filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(paths[name], []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return paths
}

// newProcess returns the process of the controller in front of an emulated cloud, with a token of the pod.
func newProcess(t *testing.T, emulated *emulator.Emulator, token string) *controllerProcess {
	t.Helper()
	paths := files(t, map[string]string{"token": token, "kubeconfig": kubeconfig})
	config := files(t, map[string]string{"config": strings.ReplaceAll(cloudConfig, "TOKEN", paths["token"])})["config"]
	process, err := newControllerProcess(
		Environment{Build: build.Current(), Getenv: noEnvironment, Network: emulated.Transport()},
		common{name: DefaultName, kubeconfig: paths["kubeconfig"]}, config)
	if err != nil {
		t.Fatal(err)
	}
	return process
}

// withCloud runs a test in virtual time, in front of an emulated cloud.
func withCloud(t *testing.T, test func(*testing.T, *emulator.Emulator)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		emulated, err := emulator.New(emulator.Config{Seed: emulator.DefaultSeed(),
			Middleware: openapitest.Sampled(t)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := emulated.Close(); err != nil {
				t.Error(err)
			}
		})
		test(t, emulated)
	})
}

// subjectToken returns a token for the service account of the cloud that is valid for some time.
func subjectToken(t *testing.T, emulated *emulator.Emulator, ttl time.Duration) string {
	t.Helper()
	token, err := emulated.SubjectToken("", "", "", ttl)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// The cloud gives a token for that of the pod, and refuses one that has expired.
func TestDefect17_ControllerHasTimeoutsAndWorkloadIdentity(t *testing.T) {
	withCloud(t, func(t *testing.T, emulated *emulator.Emulator) {
		t.Helper()
		process := newProcess(t, emulated, subjectToken(t, emulated, time.Hour))
		if got := process.cloud.DrainTimeout(); got != 7*time.Second {
			t.Errorf("calls to the cloud take at most %s, want 7s", got)
		}
		if _, err := process.controller.ListVolumes(t.Context(), &csi.ListVolumesRequest{}); err != nil {
			t.Errorf("with a token of the pod: %v", err)
		}
		if n := emulated.Counters()["POST /oidc/token"]; n != 1 {
			t.Errorf("%d exchanges of a token, want 1; calls %v", n, emulated.Counters())
		}
		process = newProcess(t, emulated, subjectToken(t, emulated, -time.Minute))
		_, err := process.controller.ListVolumes(t.Context(), &csi.ListVolumesRequest{})
		if status.Code(err) != codes.PermissionDenied ||
			!strings.Contains(err.Error(), emulator.DefaultServiceAccount) {
			t.Errorf("with a token that has expired: %v, want PermissionDenied with the service account", err)
		}
	})
}

// A list of machines is as old as inventory.machineAge permits.
func TestMachineAgeIsConfigured(t *testing.T) {
	withCloud(t, func(t *testing.T, emulated *emulator.Emulator) {
		t.Helper()
		if _, err := emulated.AddMachine(emulator.MachineSpec{Name: "worker-1"}); err != nil {
			t.Fatal(err)
		}
		process := newProcess(t, emulated, subjectToken(t, emulated, time.Hour))
		node := &corev1.Node{} // without provider ID
		node.Name = "worker-1"
		if err := process.nodes.GetIndexer().Add(node); err != nil {
			t.Fatal(err)
		}
		for _, want := range []int{1, 1, 2} {
			names, err := process.controller.Nodes.Names(t.Context())
			if err != nil || len(names) != 1 {
				t.Errorf("machines of Nodes %v, %v; want that of worker-1", names, err)
			}
			if _, err := process.controller.Nodes.Machine(t.Context(), "worker-1"); err != nil {
				t.Error(err)
			}
			if n := emulated.Counters()[http.MethodGet+" /v1/machines"]; n != want {
				t.Errorf("%d lists of machines, want %d", n, want)
			}
			<-time.After(200 * time.Second)
		}
	})
}

// A permission to read the UID of the cluster that is given after the start is used, and what was read before is read
// again: a volume of another cluster with the same name is recognised.
func TestUIDThatIsPermittedLater(t *testing.T) {
	withCloud(t, func(t *testing.T, emulated *emulator.Emulator) {
		t.Helper()
		maker := newProcess(t, emulated, subjectToken(t, emulated, time.Hour))
		maker.uid.Set("another-cluster")
		<-time.After(2 * time.Minute) // an earlier process can have created nothing any more
		if _, err := maker.controller.CreateVolume(t.Context(), &csi.CreateVolumeRequest{Name: "pvc-1",
			VolumeCapabilities: []*csi.VolumeCapability{{AccessMode: &csi.VolumeCapability_AccessMode{
				Mode: csi.VolumeCapability_AccessMode_SINGLE_NODE_WRITER},
				AccessType: &csi.VolumeCapability_Block{Block: &csi.VolumeCapability_BlockVolume{}}}}}); err != nil {
			t.Fatal(err)
		}
		process := newProcess(t, emulated, subjectToken(t, emulated, time.Hour))
		cluster := fake.NewClientset(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
			Name: metav1.NamespaceSystem, UID: "this-cluster"}})
		var permitted atomic.Bool
		cluster.PrependReactor("get", "namespaces", func(clienttesting.Action) (bool, runtime.Object, error) {
			forbidden := apierrors.NewForbidden(corev1.Resource("namespaces"), metav1.NamespaceSystem, nil)
			return !permitted.Load(), nil, forbidden
		})
		process.cluster = cluster
		if !process.identify(t.Context()) {
			t.Error("the process does not start without the UID")
		}
		want := func(cluster string) {
			t.Helper()
			all, err := process.volumes.Volumes(t.Context(), time.Hour)
			if err != nil || len(all) != 1 || all[0].Labels[label.CSICluster] != cluster {
				t.Errorf("volumes %v, error %v, want one of %q", all, err, cluster)
			}
		}
		want("k8s-1")
		permitted.Store(true)
		<-time.After(time.Minute + time.Second)
		want(label.WithUID("k8s-1", "another-cluster"))
	})
}

func TestDefect18_KubeconfigIsUsed(t *testing.T) {
	for _, cmd := range command().Commands() {
		if f := cmd.Flags().Lookup("kubeconfig"); f == nil || f.DefValue != "" {
			t.Errorf("%s has the flag %v, want --kubeconfig, whose default is that of the pod", cmd.Name(), f)
		}
	}
	path := files(t, map[string]string{"kubeconfig": kubeconfig})["kubeconfig"]
	place, err := nodeFlags{common: common{kubeconfig: path}, node: "worker-1"}.place()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := place(t.Context()); err == nil || !strings.Contains(err.Error(), "reading Node worker-1") ||
		!strings.Contains(err.Error(), "127.0.0.1:1") {
		t.Errorf("%v, want an error from the cluster of the kubeconfig", err)
	}
}

// The examples that the documents about volumes name exist.
func TestDefect18_ExamplesExist(t *testing.T) {
	example := regexp.MustCompile(`\bexamples/[\w./-]+\w`)
	found := 0
	for _, page := range []string{"README.md", "charts/thalassa-csi/README.md", "docs/guides/volumes.md",
		"docs/guides/migrate-csi.md", "docs/guides/gitops.md"} {
		text := read(t, page)
		for _, name := range example.FindAllString(text, -1) {
			found++
			if _, err := os.Stat(checkout.Path(t, name)); err != nil {
				t.Errorf("%s names %s: %v", page, name, err)
			}
		}
	}
	if found == 0 {
		t.Error("the documents name no examples")
	}
	if !strings.Contains(read(t, "docs/guides/volumes.md"), "(../../examples/volume.yaml)") {
		t.Error("docs/guides/volumes.md does not lead to examples/volume.yaml")
	}
}

// read returns the content of a file of the repository.
func read(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(checkout.Path(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// The table of docs/guides/credentials.md has the requests that the driver sends to the cloud, and no others.
func TestRequestsAreDocumented(t *testing.T) {
	page := read(t, "docs/guides/credentials.md")
	_, section, _ := strings.Cut(page, "### Permissions of the CSI driver")
	section, _, _ = strings.Cut(section, "\n## ")
	var documented []string
	for _, one := range regexp.MustCompile("`([A-Z]+ /v1/[^`]+)`").FindAllStringSubmatch(section, -1) {
		documented = append(documented, one[1])
	}
	withCloud(t, func(t *testing.T, emulated *emulator.Emulator) {
		t.Helper()
		sent := requestsOfAllWork(t, emulated)
		slices.Sort(documented)
		if !slices.Equal(sent, documented) {
			t.Errorf("requests %q\nare documented as %q", sent, documented)
		}
	})
}

// requestsOfAllWork returns the kinds of requests that are sent when everything is done that the driver offers.
func requestsOfAllWork(t *testing.T, emulated *emulator.Emulator) []string {
	t.Helper()
	if _, err := emulated.AddMachine(emulator.MachineSpec{Name: "worker-1"}); err != nil {
		t.Fatal(err)
	}
	p := newProcess(t, emulated, subjectToken(t, emulated, time.Hour))
	<-time.After(2 * time.Minute) // an earlier process can have created nothing any more
	ctx, c := t.Context(), p.controller
	if err := p.machines.Probe(ctx); err != nil { // as /readyz does
		t.Error(err)
	}
	capability := &csi.VolumeCapability{
		AccessMode: &csi.VolumeCapability_AccessMode{Mode: csi.VolumeCapability_AccessMode_SINGLE_NODE_WRITER},
		AccessType: &csi.VolumeCapability_Mount{Mount: &csi.VolumeCapability_MountVolume{}}}
	create := func(name string, source *csi.VolumeContentSource, parameters map[string]string) string {
		t.Helper()
		made, err := c.CreateVolume(ctx, &csi.CreateVolumeRequest{Name: name, VolumeContentSource: source,
			VolumeCapabilities: []*csi.VolumeCapability{capability}, Parameters: parameters,
			AccessibilityRequirements: &csi.TopologyRequirement{Requisite: []*csi.Topology{
				{Segments: topology.Of(emulator.DefaultRegion, "nl-01a")}}}})
		if err != nil {
			t.Fatal(err)
		}
		return made.GetVolume().GetVolumeId()
	}
	id := create("pvc-1", nil, nil)
	clone := create("pvc-2", &csi.VolumeContentSource{Type: &csi.VolumeContentSource_Volume{
		Volume: &csi.VolumeContentSource_VolumeSource{VolumeId: id}}}, nil)
	for name, err := range map[string]error{
		"attach": second(c.ControllerPublishVolume(ctx, &csi.ControllerPublishVolumeRequest{VolumeId: id,
			NodeId: "worker-1", VolumeCapability: capability})),
		"expand": second(c.ControllerExpandVolume(ctx, &csi.ControllerExpandVolumeRequest{VolumeId: clone,
			CapacityRange: &csi.CapacityRange{RequiredBytes: 1 << 40}})),
		"get": second(c.ControllerGetVolume(ctx, &csi.ControllerGetVolumeRequest{VolumeId: id})),
		"snapshot": second(c.CreateSnapshot(ctx, &csi.CreateSnapshotRequest{Name: "snapshot-1",
			SourceVolumeId: clone})),
		"list": second(c.ListVolumes(ctx, &csi.ListVolumesRequest{})),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, err := range map[string]error{
		"detach":      second(c.ControllerUnpublishVolume(ctx, &csi.ControllerUnpublishVolumeRequest{VolumeId: id})),
		"delete":      second(c.DeleteVolume(ctx, &csi.DeleteVolumeRequest{VolumeId: clone})),
		"delete none": second(c.DeleteSnapshot(ctx, &csi.DeleteSnapshotRequest{SnapshotId: "snap-0"})),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	counters := emulated.Counters()
	delete(counters, "POST /oidc/token")
	return slices.Sorted(maps.Keys(counters))
}

// second returns the error of a call.
func second[T any](_ T, err error) error { return err }
