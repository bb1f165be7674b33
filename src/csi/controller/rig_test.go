package controller

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/csi/volume"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/openapi/openapitest"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/inventory"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/providerid"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/secret"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/storage"
)

// sidecarTimeout is the timeout of the sidecars' requests, as in the charts.
const sidecarTimeout = time.Minute

// rig is a controller in front of an emulated cloud, with a Node for each machine.
type rig struct {
	testing.TB
	*Controller
	emulator *emulator.Emulator
	nodes    cache.Indexer
	machines map[string]string // identities by the names of the Nodes
	api      Kubernetes        // of the next process; nil: there was no earlier process
	uid      *cloud.ClusterUID // of the next process; nil: it is not known
}

// withRig runs a test in virtual time. The cloud has the Nodes worker-1 and worker-2.
func withRig(t *testing.T, config emulator.Config, test func(*rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(newRig(t, config)) })
}

// conflicts are the statuses by which the cloud may refuse a write on account of an object's state, each with the code
// of an error whose reason the driver does not know.
func conflicts() map[int]codes.Code {
	return map[int]codes.Code{http.StatusConflict: codes.Aborted, http.StatusBadRequest: codes.InvalidArgument,
		http.StatusUnprocessableEntity: codes.InvalidArgument}
}

// withConflicts is withRig for each of the conflicts.
func withConflicts(t *testing.T, config emulator.Config, test func(*rig, codes.Code)) {
	t.Helper()
	for status, code := range conflicts() {
		config.Switches.ConflictStatus = status
		t.Run(http.StatusText(status), func(t *testing.T) { withRig(t, config, func(r *rig) { test(r, code) }) })
	}
}

func newRig(tb testing.TB, config emulator.Config) *rig {
	tb.Helper()
	if len(config.Seed.Organisations) == 0 {
		config.Seed = emulator.DefaultSeed()
	}
	config.Middleware = openapitest.Sampled(tb)
	emulated, err := emulator.New(config)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		emulated.ClearFaults()
		if err := emulated.Close(); err != nil {
			tb.Error(err)
		}
	})
	r := &rig{TB: tb, emulator: emulated, nodes: cache.NewIndexer(cache.MetaNamespaceKeyFunc, nil),
		machines: map[string]string{}}
	for _, name := range []string{"worker-1", "worker-2"} {
		r.machines[name] = must[string](r)(emulated.AddMachine(emulator.MachineSpec{Name: name}))
		r.addNode(name, r.machines[name])
	}
	r.restart()
	return r
}

// addNode adds a Node that runs on the machine, or changes the machine that it runs on.
func (r *rig) addNode(name, machine string) {
	r.Helper()
	node := &corev1.Node{Spec: corev1.NodeSpec{ProviderID: providerid.Of(machine)}}
	node.Name = name
	r.ok(r.nodes.Add(node))
}

// removeNode removes a Node, and not its machine.
func (r *rig) removeNode(name string) {
	r.Helper()
	node := &corev1.Node{}
	node.Name = name
	r.ok(r.nodes.Delete(node))
}

// restart starts a process that knows nothing of what was before.
func (r *rig) restart() { r.restartBy(r.emulator.Transport(), 0) }

// restartBy is restart with another way to the cloud, and a rate of requests; 0 is the default.
func (r *rig) restartBy(network http.RoundTripper, rate int) {
	r.Helper()
	cloud := r.client(network, rate)
	region := func(context.Context) (string, error) { return emulator.DefaultRegion, nil }
	cluster := storage.Cluster{Key: "k8s-test", UID: r.uid}
	r.Controller = New(Options{Storage: storage.New(cloud, cluster, region), Region: region,
		Nodes: ClusterNodes{Lister: listers.NewNodeLister(r.nodes),
			Inventory: inventory.New(cloud, inventory.Scope{VPC: emulator.DefaultVPC})},
		Owner: volume.Owner{Driver: "csi.test", Cluster: "k8s-test"}, Kubernetes: r.api})
}

func (r *rig) client(network http.RoundTripper, rate int) *client.Client {
	r.Helper()
	return must[*client.Client](r)(client.New(client.Options{
		Endpoint: "http://cloud.test", Organisation: emulator.DefaultOrganisationSlug, Network: network, Rate: rate,
		Burst:   rate,
		Secrets: secret.Secrets{Credentials: secret.Credentials{PersonalAccessToken: emulator.DefaultToken}},
	}))
}

// must makes a failure of something that returns a value the test's.
func must[T any](tb testing.TB) func(T, error) T {
	tb.Helper()
	return func(value T, err error) T {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
		return value
	}
}

// ok makes a failure the test's.
func (r *rig) ok(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// fails checks that an error has the code, and a message with all texts.
func (r *rig) fails(err error, code codes.Code, texts ...string) {
	r.Helper()
	missing := slices.IndexFunc(texts, func(text string) bool {
		return !strings.Contains(status.Convert(err).Message(), text)
	})
	if status.Code(err) != code || missing >= 0 {
		r.Errorf("error %v, want %s with %q", err, code, texts)
	}
}

// sidecar sends a request as a sidecar does: with a timeout.
func sidecar[Request, Response any](r *rig, call func(context.Context, Request) (Response, error),
	request Request) (Response, error) {
	return within(r, sidecarTimeout, call, request)
}

// within sends a request with a timeout.
func within[Request, Response any](r *rig, timeout time.Duration, call func(context.Context, Request) (Response, error),
	request Request) (Response, error) {
	ctx, cancel := context.WithTimeout(r.Context(), timeout)
	defer cancel()
	return call(ctx, request)
}

// retried sends a request until it succeeds, as a sidecar does, for at most ten minutes.
func retried[Request, Response any](r *rig, call func(context.Context, Request) (Response, error),
	request Request) Response {
	r.Helper()
	for until := time.Now().Add(10 * time.Minute); ; <-time.After(time.Second) {
		response, err := sidecar(r, call, request)
		if err == nil {
			return response
		}
		if !isRetried(err) || time.Now().After(until) {
			r.Fatal(err)
		}
	}
}

// mounted is the capability of volumes with a filesystem.
func mounted() *csi.VolumeCapability {
	return &csi.VolumeCapability{
		AccessMode: &csi.VolumeCapability_AccessMode{Mode: csi.VolumeCapability_AccessMode_SINGLE_NODE_WRITER},
		AccessType: &csi.VolumeCapability_Mount{Mount: &csi.VolumeCapability_MountVolume{}},
	}
}

// wanted is a request for a volume of a number of bytes.
func wanted(name string, bytes int64) *csi.CreateVolumeRequest {
	return &csi.CreateVolumeRequest{Name: name, VolumeCapabilities: []*csi.VolumeCapability{mounted()},
		CapacityRange: &csi.CapacityRange{RequiredBytes: bytes}}
}

// fromSnapshot and fromVolume are requests for a volume with content.
func fromSnapshot(name, snapshot string) *csi.CreateVolumeRequest {
	r := wanted(name, 10*resource.GiB)
	r.VolumeContentSource = &csi.VolumeContentSource{Type: &csi.VolumeContentSource_Snapshot{
		Snapshot: &csi.VolumeContentSource_SnapshotSource{SnapshotId: snapshot}}}
	return r
}

func fromVolume(name, source string) *csi.CreateVolumeRequest {
	r := wanted(name, 10*resource.GiB)
	r.VolumeContentSource = &csi.VolumeContentSource{Type: &csi.VolumeContentSource_Volume{
		Volume: &csi.VolumeContentSource_VolumeSource{VolumeId: source}}}
	return r
}

func publish(id, node string) *csi.ControllerPublishVolumeRequest {
	return &csi.ControllerPublishVolumeRequest{VolumeId: id, NodeId: node, VolumeCapability: mounted()}
}

func unpublish(id, node string) *csi.ControllerUnpublishVolumeRequest {
	return &csi.ControllerUnpublishVolumeRequest{VolumeId: id, NodeId: node}
}

func expand(id string, gibibytes int64) *csi.ControllerExpandVolumeRequest {
	return &csi.ControllerExpandVolumeRequest{VolumeId: id, VolumeCapability: mounted(),
		CapacityRange: &csi.CapacityRange{RequiredBytes: gibibytes * resource.GiB}}
}

// create creates a volume of 10 GiB, and attach attaches one.
func (r *rig) create(name string) string {
	r.Helper()
	return retried(r, r.CreateVolume, wanted(name, 10*resource.GiB)).GetVolume().GetVolumeId()
}

func (r *rig) attach(id, node string) {
	r.Helper()
	retried(r, r.ControllerPublishVolume, publish(id, node))
}

// snapshot creates a snapshot, and waits until it is ready.
func (r *rig) snapshot(name, source string) string {
	r.Helper()
	request := &csi.CreateSnapshotRequest{Name: name, SourceVolumeId: source}
	for range 100 {
		if made := retried(r, r.CreateSnapshot, request).GetSnapshot(); made.GetReadyToUse() {
			return made.GetSnapshotId()
		}
		<-time.After(10 * time.Second)
	}
	r.Fatal("the snapshot is not ready")
	return ""
}

// volumes and snapshots are what the cloud has, without what is being deleted.
func (r *rig) volumes() []resource.Volume {
	r.Helper()
	all := must[[]resource.Volume](r)(r.observer().Volumes(r.Context(), storage.Fresh))
	return slices.DeleteFunc(all, resource.Volume.Deleting)
}

func (r *rig) snapshots() []resource.Snapshot {
	r.Helper()
	all := must[[]resource.Snapshot](r)(r.observer().Snapshots(r.Context(), storage.Fresh))
	return slices.DeleteFunc(all, resource.Snapshot.Deleting)
}

// observer reads the cloud without faults and without a cache.
func (r *rig) observer() *storage.Storage {
	r.emulator.ClearFaults()
	return r.writer()
}

// writer writes to the cloud as somebody else does; faults stay.
func (r *rig) writer() *storage.Storage {
	return storage.New(r.client(r.emulator.Transport(), 0), storage.Cluster{}, r.Region)
}

// only is the one volume that the cloud has.
func (r *rig) only() resource.Volume {
	r.Helper()
	all := r.volumes()
	if len(all) != 1 {
		r.Fatalf("the cloud has %d volumes, want 1: %+v", len(all), all)
	}
	return all[0]
}

// counts checks how many volumes and snapshots the cloud has.
func (r *rig) counts(volumes, snapshots int) {
	r.Helper()
	if v, s := r.volumes(), r.snapshots(); len(v) != volumes || len(s) != snapshots {
		r.Errorf("the cloud has %d volumes and %d snapshots, want %d and %d: %+v %+v", len(v), len(s), volumes,
			snapshots, v, s)
	}
}

// disturb makes the cloud do that to a number of calls like that; 0 is all.
func (r *rig) disturb(operation string, count int, effect fault.Effect) {
	r.Helper()
	must[string](r)(r.emulator.Inject(fault.Rule{Operation: operation, Count: count, Effect: effect}))
}

// written are the operations of the writes of the kind since the counters were reset.
func (r *rig) written(operation string) int { return r.emulator.Counters()[operation] }

// slow is a cloud that takes its time for everything.
func slow(takes time.Duration) emulator.Config {
	return emulator.Config{Delays: emulator.Delays{VolumeCreate: takes, VolumeAttach: takes, VolumeDetach: takes,
		VolumeResize: takes, VolumeDelete: takes, SnapshotCreate: takes, SnapshotDelete: takes}}
}

// failing lets a number of calls pass, and then the process is dead: the next call is sent or not, and no answer
// arrives any more.
type failing struct {
	next   http.RoundTripper
	sent   bool
	writes bool // only writes count

	mu   sync.Mutex
	left int
}

// RoundTrip implements http.RoundTripper.
func (f *failing) RoundTrip(request *http.Request) (*http.Response, error) {
	f.mu.Lock()
	if f.left < 0 || !f.writes || request.Method != http.MethodGet {
		f.left--
	}
	left := f.left
	f.mu.Unlock()
	switch {
	case left >= 0:
		return f.next.RoundTrip(request)
	case left == -1 && f.sent:
		if response, err := f.next.RoundTrip(request); err == nil {
			_ = response.Body.Close()
		}
	}
	return nil, errors.New("the process is dead")
}

// died reports whether the process died.
func (f *failing) died() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.left < 0
}
