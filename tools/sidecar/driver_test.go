package sidecar

import (
	"context"
	"net"
	"path/filepath"
	"sync"
	"testing"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// driverName is what StorageClasses and CSINodes call the driver.
const driverName = "memory.csi.example.com"

// volume is a volume in memory.
type volume struct {
	size     int64
	node     string // that it is attached to
	snapshot string // that it was made of
	claim    string // the name of the claim, which --extra-create-metadata adds
}

// driver is a CSI driver whose volumes and snapshots are entries of maps. A volume's ID is its name.
type driver struct {
	csi.UnimplementedIdentityServer
	csi.UnimplementedControllerServer

	mu        sync.Mutex
	volumes   map[string]volume
	snapshots map[string]string // the volume of each
}

// startDriver serves a driver at a socket until the test ends.
func startDriver(t *testing.T) (d *driver, socket string) {
	t.Helper()
	socket = filepath.Join(t.TempDir(), "csi.sock")
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	d = &driver{volumes: map[string]volume{}, snapshots: map[string]string{}}
	server := grpc.NewServer()
	csi.RegisterIdentityServer(server, d)
	csi.RegisterControllerServer(server, d)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return d, socket
}

// state returns the volume of a claim, and how many volumes and snapshots there are.
func (d *driver) state(claim string) (of volume, volumes, snapshots int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, v := range d.volumes {
		if v.claim == claim {
			of = v
		}
	}
	return of, len(d.volumes), len(d.snapshots)
}

func (d *driver) GetPluginInfo(context.Context, *csi.GetPluginInfoRequest) (*csi.GetPluginInfoResponse, error) {
	return &csi.GetPluginInfoResponse{Name: driverName, VendorVersion: "1"}, nil
}

func (d *driver) Probe(context.Context, *csi.ProbeRequest) (*csi.ProbeResponse, error) {
	return &csi.ProbeResponse{Ready: wrapperspb.Bool(true)}, nil
}

func (d *driver) GetPluginCapabilities(context.Context, *csi.GetPluginCapabilitiesRequest) (
	*csi.GetPluginCapabilitiesResponse, error) {
	return &csi.GetPluginCapabilitiesResponse{Capabilities: []*csi.PluginCapability{
		{Type: &csi.PluginCapability_Service_{Service: &csi.PluginCapability_Service{
			Type: csi.PluginCapability_Service_CONTROLLER_SERVICE}}},
		{Type: &csi.PluginCapability_VolumeExpansion_{VolumeExpansion: &csi.PluginCapability_VolumeExpansion{
			Type: csi.PluginCapability_VolumeExpansion_ONLINE}}},
	}}, nil
}

func (d *driver) ControllerGetCapabilities(context.Context, *csi.ControllerGetCapabilitiesRequest) (
	*csi.ControllerGetCapabilitiesResponse, error) {
	answer := &csi.ControllerGetCapabilitiesResponse{}
	for _, can := range []csi.ControllerServiceCapability_RPC_Type{
		csi.ControllerServiceCapability_RPC_CREATE_DELETE_VOLUME,
		csi.ControllerServiceCapability_RPC_PUBLISH_UNPUBLISH_VOLUME,
		csi.ControllerServiceCapability_RPC_CREATE_DELETE_SNAPSHOT,
		csi.ControllerServiceCapability_RPC_EXPAND_VOLUME,
	} {
		answer.Capabilities = append(answer.Capabilities, &csi.ControllerServiceCapability{
			Type: &csi.ControllerServiceCapability_Rpc{Rpc: &csi.ControllerServiceCapability_RPC{Type: can}}})
	}
	return answer, nil
}

func (d *driver) CreateVolume(_ context.Context, r *csi.CreateVolumeRequest) (*csi.CreateVolumeResponse, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	snapshot := r.GetVolumeContentSource().GetSnapshot().GetSnapshotId()
	if _, exists := d.snapshots[snapshot]; snapshot != "" && !exists {
		return nil, status.Errorf(codes.NotFound, "there is no snapshot %q", snapshot)
	}
	size := r.GetCapacityRange().GetRequiredBytes()
	d.volumes[r.GetName()] = volume{size: size, snapshot: snapshot,
		claim: r.GetParameters()["csi.storage.k8s.io/pvc/name"]}
	return &csi.CreateVolumeResponse{Volume: &csi.Volume{
		VolumeId: r.GetName(), CapacityBytes: size, ContentSource: r.GetVolumeContentSource()}}, nil
}

func (d *driver) DeleteVolume(_ context.Context, r *csi.DeleteVolumeRequest) (*csi.DeleteVolumeResponse, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.volumes, r.GetVolumeId())
	return &csi.DeleteVolumeResponse{}, nil
}

// change changes a volume that exists.
func (d *driver) change(id string, how func(*volume)) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	v, exists := d.volumes[id]
	if !exists {
		return status.Errorf(codes.NotFound, "there is no volume %q", id)
	}
	how(&v)
	d.volumes[id] = v
	return nil
}

func (d *driver) ControllerPublishVolume(_ context.Context, r *csi.ControllerPublishVolumeRequest) (
	*csi.ControllerPublishVolumeResponse, error) {
	return &csi.ControllerPublishVolumeResponse{PublishContext: map[string]string{"device": "vdb"}},
		d.change(r.GetVolumeId(), func(v *volume) { v.node = r.GetNodeId() })
}

func (d *driver) ControllerUnpublishVolume(_ context.Context, r *csi.ControllerUnpublishVolumeRequest) (
	*csi.ControllerUnpublishVolumeResponse, error) {
	return &csi.ControllerUnpublishVolumeResponse{}, d.change(r.GetVolumeId(), func(v *volume) { v.node = "" })
}

func (d *driver) ControllerExpandVolume(_ context.Context, r *csi.ControllerExpandVolumeRequest) (
	*csi.ControllerExpandVolumeResponse, error) {
	size := r.GetCapacityRange().GetRequiredBytes()
	return &csi.ControllerExpandVolumeResponse{CapacityBytes: size},
		d.change(r.GetVolumeId(), func(v *volume) { v.size = size })
}

func (d *driver) CreateSnapshot(_ context.Context, r *csi.CreateSnapshotRequest) (*csi.CreateSnapshotResponse, error) {
	var size int64
	if err := d.change(r.GetSourceVolumeId(), func(v *volume) { size = v.size }); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.snapshots[r.GetName()] = r.GetSourceVolumeId()
	return &csi.CreateSnapshotResponse{Snapshot: &csi.Snapshot{SnapshotId: r.GetName(), ReadyToUse: true,
		SourceVolumeId: r.GetSourceVolumeId(), SizeBytes: size, CreationTime: timestamppb.Now()}}, nil
}

func (d *driver) DeleteSnapshot(_ context.Context, r *csi.DeleteSnapshotRequest) (*csi.DeleteSnapshotResponse, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.snapshots, r.GetSnapshotId())
	return &csi.DeleteSnapshotResponse{}, nil
}
