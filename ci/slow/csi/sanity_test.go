package csi

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/kubernetes-csi/csi-test/v5/pkg/sanity"
	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
	"google.golang.org/grpc"
	mount "k8s.io/mount-utils"
	utilexec "k8s.io/utils/exec"
	testingexec "k8s.io/utils/exec/testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/build"
	"github.com/thalassa-cloud/thalassa-ccm/src/csi/controller"
	"github.com/thalassa-cloud/thalassa-ccm/src/csi/driver"
	"github.com/thalassa-cloud/thalassa-ccm/src/csi/node"
	"github.com/thalassa-cloud/thalassa-ccm/src/csi/topology"
	"github.com/thalassa-cloud/thalassa-ccm/src/csi/volume"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/behaviour"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/openapi/openapitest"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/inventory"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/secret"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/storage"
)

// machineName is the name of the Node, and the slug of its machine.
const machineName = "worker-1"

// TestSanity runs csi-sanity of csi-test, whole, with volumes that take the cloud some time. Devices are files, and
// mounts are recorded instead of made, so that it needs no root.
func TestSanity(t *testing.T) {
	emulated := newEmulator(t, emulator.Switches{})
	folder := t.TempDir()
	devices := &devices{sizes: map[string]int64{}, Devices: node.Devices{Sys: filepath.Join(folder, "sys"),
		Nodes: filepath.Join(folder, "dev"), Serials: filepath.Join(folder, "serials")}}
	if err := errors.Join(os.Mkdir(devices.Sys, 0o700), os.Mkdir(devices.Nodes, 0o700)); err != nil {
		t.Fatal(err)
	}
	config := sanity.NewTestConfig()
	config.Address = serve(t, filepath.Join(folder, "csi.sock"), func(s *grpc.Server) {
		csi.RegisterIdentityServer(s, driver.NewIdentity(driver.DefaultName, build.Current().Version, nil))
		csi.RegisterControllerServer(s, newController(t, emulated))
		csi.RegisterNodeServer(s, newNode(devices.Devices))
	}, devices.follow)
	config.TargetPath, config.StagingPath = filepath.Join(folder, "target"), filepath.Join(folder, "staging")
	config.TestNodeVolumeAttachLimit = true
	ginkgo.ReportAfterSuite("skipped specs", checkSkips)
	sanity.Test(t, config)
}

// newEmulator returns a cloud with one machine, in which everything takes some time.
func newEmulator(t *testing.T, switches emulator.Switches) *emulator.Emulator {
	t.Helper()
	const delay = 20 * time.Millisecond
	emulated, err := emulator.New(emulator.Config{Seed: emulator.DefaultSeed(), Delays: behaviour.Delays{
		VolumeCreate: delay, VolumeAttach: delay, VolumeDetach: delay, VolumeResize: delay, VolumeDelete: delay,
		SnapshotCreate: delay, SnapshotDelete: delay}, Switches: switches,
		Middleware: openapitest.Sampled(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := emulated.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := emulated.AddMachine(emulator.MachineSpec{Name: machineName}); err != nil {
		t.Fatal(err)
	}
	return emulated
}

// newClient returns a client of the cloud.
func newClient(t *testing.T, emulated *emulator.Emulator) *client.Client {
	t.Helper()
	cloud, err := client.New(client.Options{
		Endpoint: "http://cloud.test", Organisation: emulator.DefaultOrganisationSlug, Network: emulated.Transport(),
		Secrets: secret.Secrets{Credentials: secret.Credentials{PersonalAccessToken: emulator.DefaultToken}},
		Rate:    1000, Burst: 1000,
	})
	if err != nil {
		t.Fatal(err)
	}
	return cloud
}

// nodeLabels are the labels of the Node, whose keys are the topology keys of the driver.
func nodeLabels() map[string]string {
	return topology.OfNode(emulator.DefaultRegion, "", emulator.DefaultRegion)
}

// serve serves the CSI services on a socket until the test ends.
func serve(t *testing.T, socket string, register func(*grpc.Server), follow grpc.UnaryServerInterceptor) string {
	t.Helper()
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(grpc.UnaryInterceptor(follow))
	register(server)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return socket
}

func newController(t *testing.T, emulated *emulator.Emulator) *controller.Controller {
	t.Helper()
	cloud := newClient(t, emulated)
	region := func(context.Context) (string, error) { return emulator.DefaultRegion, nil }
	return controller.New(controller.Options{Storage: storage.New(cloud, storage.Cluster{}, region), Region: region,
		Nodes: controller.ClusterNodes{Inventory: inventory.New(cloud, inventory.Scope{VPC: emulator.DefaultVPC})},
		Owner: volume.Owner{Driver: driver.DefaultName, Cluster: "k8s-test"}, Poll: 10 * time.Millisecond})
}

func newNode(devices node.Devices) *node.Node {
	// Every volume is formatted already, so that only mounts are made.
	formatted := &testingexec.FakeExec{DisableScripts: true}
	return node.New(node.Options{Name: machineName, Devices: devices,
		Mounter: mount.NewSafeFormatAndMount(mount.NewFakeMounter(nil), formattedExec{formatted}),
		Place: func(context.Context) (node.Place, error) {
			return node.Place{Region: emulator.DefaultRegion, Limit: driver.DefaultVolumeLimit}, nil
		}})
}

// formattedExec runs no programs; what asks for a filesystem gets ext4.
type formattedExec struct{ utilexec.Interface }

// Command implements utilexec.Interface.
func (formattedExec) Command(name string, _ ...string) utilexec.Cmd {
	output := "0"
	if name == "blkid" {
		output = "DEVNAME=x\nTYPE=ext4\n"
	}
	return &testingexec.FakeCmd{CombinedOutputScript: []testingexec.FakeAction{
		func() ([]byte, []byte, error) { return []byte(output), nil, nil }}}
}

// devices makes a sparse file for each volume that is attached, and describes it as the kernel does a disk.
type devices struct {
	node.Devices
	mu    sync.Mutex
	sizes map[string]int64 // of volumes, in bytes
}

// follow makes, resizes and removes the file of a volume after the controller has answered.
func (d *devices) follow(ctx context.Context, request any, _ *grpc.UnaryServerInfo,
	handle grpc.UnaryHandler) (any, error) {
	response, err := handle(ctx, request)
	if err != nil {
		return response, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch r := request.(type) {
	case *csi.CreateVolumeRequest:
		created := response.(*csi.CreateVolumeResponse).GetVolume()
		d.sizes[created.GetVolumeId()] = created.GetCapacityBytes()
	case *csi.ControllerExpandVolumeRequest:
		d.sizes[r.GetVolumeId()] = response.(*csi.ControllerExpandVolumeResponse).GetCapacityBytes()
	case *csi.ControllerPublishVolumeRequest:
		err = d.attach(r.GetVolumeId())
	case *csi.ControllerUnpublishVolumeRequest:
		err = errors.Join(os.RemoveAll(filepath.Join(d.Sys, r.GetVolumeId())),
			os.RemoveAll(filepath.Join(d.Nodes, r.GetVolumeId())))
	}
	return response, err
}

func (d *devices) attach(id string) error {
	file, description := filepath.Join(d.Nodes, id), filepath.Join(d.Sys, id)
	return errors.Join(os.WriteFile(file, nil, 0o600), os.Truncate(file, d.sizes[id]),
		os.MkdirAll(description, 0o700), os.WriteFile(filepath.Join(description, "serial"), []byte(id), 0o600))
}

// notOffered are the reasons for which specs are skipped: each is a capability that the cloud does not have.
func notOffered() []string {
	return []string{
		"GetCapacity not supported", "GroupControllerService not supported", "NodeGetStorageHealth not supported",
		"Modify volume not supported", "Modify Volume not supported", "ControllerModifyVolume not supported",
		"ControllerPublishVolume.readonly field not supported", "SNAPSHOT_ACCESSIBILITY_CONSTRAINTS not supported",
	}
}

// checkSkips fails the suite if a spec is skipped for another reason.
func checkSkips(report ginkgo.Report) {
	passed := 0
	for _, spec := range report.SpecReports {
		if spec.State == types.SpecStatePassed {
			passed++
		}
		if spec.State == types.SpecStateSkipped && !slices.Contains(notOffered(), spec.Failure.Message) {
			ginkgo.Fail(spec.FullText() + " is skipped: " + spec.Failure.Message)
		}
	}
	if passed < minPassed {
		ginkgo.Fail(fmt.Sprintf("%d specs passed, want at least %d", passed, minPassed))
	}
}

// minPassed is the number of specs that csi-test v5.6.0 has for the capabilities of the driver.
const minPassed = 84
