package controller

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/thalassa-cloud/client-go/iaas"
	"google.golang.org/grpc/codes"
	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/csi/volume"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/storage"
)

// A pod moves: the volume is attached to the other Node after it was detached from the first one.
func TestVolumeMoves(t *testing.T) {
	withRig(t, slow(10*time.Second), func(r *rig) {
		id := r.create("pvc-1")
		published := retried(r, r.ControllerPublishVolume, publish(id, "worker-1")).GetPublishContext()
		if published["csi.test/volume-name"] != "pvc-1" {
			t.Errorf("publish context %v, want the name of the volume", published)
		}
		retried(r, r.ControllerPublishVolume, publish(id, "worker-1"))
		_, err := sidecar(r, r.ControllerPublishVolume, publish(id, "worker-2"))
		r.fails(err, codes.FailedPrecondition, "attached to machine "+r.machines["worker-1"], "one machine at a time",
			"is that of Node worker-1")
		_, err = sidecar(r, r.DeleteVolume, &csi.DeleteVolumeRequest{VolumeId: id})
		r.fails(err, codes.FailedPrecondition, "attached to machine "+r.machines["worker-1"])
		retried(r, r.ControllerUnpublishVolume, unpublish(id, "worker-2"))
		r.attached("worker-1")
		_, err = within(r, 9*time.Second, r.ControllerUnpublishVolume, unpublish(id, "worker-1"))
		r.fails(err, codes.DeadlineExceeded, `"detaching"`)
		retried(r, r.ControllerPublishVolume, publish(id, "worker-2"))
		r.attached("worker-2")
		retried(r, r.ControllerUnpublishVolume, unpublish(id, "worker-1"))
		r.attached("worker-2")
	})
}

// renamed is a cloud in which the serial numbers of devices are not the identities of their volumes: the prefix
// precedes them. Without a prefix, the cloud names none.
type renamed struct {
	cloud  http.RoundTripper
	prefix string
}

func (c renamed) RoundTrip(request *http.Request) (*http.Response, error) {
	plain := request.Clone(request.Context())
	plain.Header.Set("Accept-Encoding", "identity")
	answer, err := c.cloud.RoundTrip(plain)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(answer.Body)
	if err = errors.Join(err, answer.Body.Close()); err != nil {
		return nil, err
	}
	value := regexp.MustCompile(`"serial":"[^"]*"`)
	changed := value.ReplaceAllFunc(body, func(found []byte) []byte {
		if c.prefix == "" {
			return []byte(`"serial":""`)
		}
		return bytes.Replace(found, []byte(`:"`), []byte(`:"`+c.prefix), 1)
	})
	answer.Body, answer.ContentLength = io.NopCloser(bytes.NewReader(changed)), int64(len(changed))
	answer.Header.Del("Content-Length")
	return answer, nil
}

// The node plug-in gets the serial number that the cloud names for the device, which need not be the identity.
func TestSerialNumberIsPublished(t *testing.T) {
	for _, prefix := range []string{" disk-", ""} {
		withRig(t, slow(time.Second), func(r *rig) {
			r.restartBy(renamed{r.emulator.Transport(), prefix}, 0)
			id := r.create("pvc-1")
			want := ""
			if prefix != "" {
				want = "disk-" + id
			}
			for range 2 {
				published := retried(r, r.ControllerPublishVolume, publish(id, "worker-1")).GetPublishContext()
				if serial, named := published[volume.SerialKey]; serial != want || named != (want != "") {
					t.Errorf("publish context %v, want the serial number %q", published, want)
				}
				r.restartBy(renamed{r.emulator.Transport(), prefix}, 0)
			}
		})
	}
}

// A device that has only the beginning of a serial number may be any volume whose number begins in the same way.
func TestSerialNumbersThatBeginInTheSameWay(t *testing.T) {
	withRig(t, slow(time.Second), func(r *rig) {
		r.restartBy(renamed{r.emulator.Transport(), "01234567890123456789-"}, 0)
		one, two := r.create("pvc-1"), r.create("pvc-2")
		for _, c := range []struct{ id, want string }{{one, ""}, {two, "true"}, {one, "true"}} {
			published := retried(r, r.ControllerPublishVolume, publish(c.id, "worker-1")).GetPublishContext()
			if published[volume.WholeSerialKey] != c.want {
				t.Errorf("publish context %v of %s, want the whole serial number: %q", published, c.id, c.want)
			}
		}
	})
}

// A serial number that the cloud has cut may be that of two volumes. It identifies none of them.
func TestSerialNumberThatTheCloudHasCut(t *testing.T) {
	withRig(t, slow(time.Second), func(r *rig) {
		r.restartBy(renamed{r.emulator.Transport(), `01234567890123456789","was":"`}, 0)
		one, two := r.create("pvc-1"), r.create("pvc-2")
		for _, c := range []struct{ id, want string }{{one, "01234567890123456789"}, {two, ""}, {one, ""}} {
			published := retried(r, r.ControllerPublishVolume, publish(c.id, "worker-1")).GetPublishContext()
			if published[volume.SerialKey] != c.want {
				t.Errorf("publish context %v of %s, want the serial number %q", published, c.id, c.want)
			}
		}
	})
}

// The Node object is gone, and another Node has the volume: it stays there.
func TestDetachFromANodeThatIsGone(t *testing.T) {
	withRig(t, slow(time.Second), func(r *rig) {
		id := r.create("pvc-1")
		r.attach(id, "worker-2")
		r.removeNode("worker-1")
		retried(r, r.ControllerUnpublishVolume, unpublish(id, "worker-1"))
		r.attached("worker-2")
		r.removeNode("worker-2")
		retried(r, r.ControllerUnpublishVolume, unpublish(id, "worker-2"))
		r.attached("")
		retried(r, r.ControllerUnpublishVolume, unpublish("v-0", "worker-1"))
	})
}

// A volume that a person attached to a machine without Node stays there. A Node that has another machine now loses its
// volume on the former one.
func TestDetachLooksAtWhoAttached(t *testing.T) {
	withRig(t, slow(time.Second), func(r *rig) {
		id := r.create("pvc-1")
		rescue := must[string](r)(r.emulator.AddMachine(emulator.MachineSpec{Name: "rescue"}))
		r.ok(r.observer().AttachVolume(r.Context(), r.only(), rescue, "by hand"))
		<-time.After(2 * time.Second)
		r.removeNode("worker-9")
		retried(r, r.ControllerUnpublishVolume, unpublish(id, "worker-9"))
		retried(r, r.ControllerUnpublishVolume, unpublish(id, "worker-1"))
		if got := holder(r.only()); got != rescue {
			t.Errorf("the volume is at %q, want it at %s", got, rescue)
		}
		r.ok(r.observer().DetachVolume(r.Context(), r.only(), rescue))
		<-time.After(2 * time.Second)

		r.attach(id, "worker-1")
		r.addNode("worker-1", rescue)
		retried(r, r.ControllerUnpublishVolume, unpublish(id, "worker-1"))
		if got := holder(r.only()); got != "" {
			t.Errorf("the volume is at %s, want it nowhere", got)
		}
	})
}

// A Node has another provider ID since the volume was attached, and its machine is not known any more. The volume
// leaves the machine that it was attached to for this Node, and can be attached to another one.
func TestDetachFromANodeWithoutAMachine(t *testing.T) {
	for providerID, code := range map[string]codes.Code{
		"other://vm-1": codes.NotFound, "thalassacloud:///vm-1": codes.NotFound, "": codes.FailedPrecondition,
	} {
		t.Run(providerID, func(t *testing.T) {
			withRig(t, slow(time.Second), func(r *rig) {
				node := &corev1.Node{}
				node.Name = "worker-1.example.com"
				for range 2 { // so that the name does not decide
					r.addNode(node.Name, must[string](r)(r.emulator.AddMachine(emulator.MachineSpec{Name: node.Name})))
				}
				id := r.create("pvc-1")
				r.attach(id, node.Name)
				node.Spec.ProviderID = providerID
				r.ok(r.nodes.Update(node))
				<-time.After(2 * time.Minute)
				_, err := sidecar(r, r.ControllerPublishVolume, publish(id, node.Name))
				r.fails(err, code, "Node "+node.Name+" has no")
				for range 2 {
					retried(r, r.ControllerUnpublishVolume, unpublish(id, node.Name))
					r.attached("")
				}
				r.attach(id, "worker-2")
				retried(r, r.ControllerUnpublishVolume, unpublish(id, node.Name))
				r.attached("worker-2")
			})
		})
	}
}

// Without the name of a Node, a volume leaves the machines of this cluster, and stays at those of others.
func TestDetachFromAllNodes(t *testing.T) {
	withRig(t, slow(time.Second), func(r *rig) {
		id := r.create("pvc-1")
		r.attach(id, "worker-1")
		retried(r, r.ControllerUnpublishVolume, unpublish(id, ""))
		r.attached("")
		foreign := r.foreign("theirs", resource.Labels{label.CSIDriverName: "csi.test", label.CSICluster: "k8s-other"})
		machine := must[string](r)(r.emulator.AddMachine(emulator.MachineSpec{Name: "theirs"}))
		v, _, err := r.observer().Volume(r.Context(), foreign, storage.Fresh)
		r.ok(err)
		r.ok(r.observer().AttachVolume(r.Context(), v, machine, "Node worker-1 of cluster k8s-other"))
		<-time.After(2 * time.Second)
		retried(r, r.ControllerUnpublishVolume, unpublish(foreign, ""))
		if v, _, err = r.observer().Volume(r.Context(), foreign, storage.Fresh); err != nil || holder(v) != machine {
			t.Errorf("the volume of the other cluster is at %q, want it at %s: %v", holder(v), machine, err)
		}
	})
}

// Lists lack an attachment that was made a moment ago, by this process or by an earlier one. The volume is not said to
// be detached, because nobody would ask again, and is not attached twice.
func TestDetachWhileListsLag(t *testing.T) {
	for name, restarts := range map[string]bool{"this process": false, "an earlier process": true} {
		t.Run(name, func(t *testing.T) {
			withRig(t, slow(time.Second), func(r *rig) {
				r.disturb("GET /v1/volumes", 0, fault.Effect{Kind: fault.Stale, Delay: 30 * time.Second})
				<-time.After(time.Hour)
				id := r.create("pvc-1")
				<-time.After(time.Minute)
				_, err := within(r, 5*time.Second, r.ControllerPublishVolume, publish(id, "worker-1"))
				r.fails(err, codes.DeadlineExceeded)
				if restarts {
					r.restart()
				}
				<-time.After(2 * time.Second) // after that, the store has what lists have
				retried(r, r.ControllerUnpublishVolume, unpublish(id, "worker-1"))
				<-time.After(time.Minute)
				r.attached("")
				for _, action := range []string{"attach", "detach"} {
					if n := r.written("POST /v1/volumes/{id}/" + action); n != 1 {
						t.Errorf("the volume is requested to %s %d times, want once", action, n)
					}
				}
			})
		})
	}
}

// Somebody else attaches or detaches the volume in the cloud meanwhile: the request is refused with a conflict, or the
// cloud says that there is nothing to detach.
func TestOthersAttachAndDetach(t *testing.T) {
	for _, status := range []int{404, 400} {
		config := slow(time.Second)
		config.Switches.DetachStatus, config.Delays.VolumeDetach = status, 0
		withConflicts(t, config, func(r *rig, _ codes.Code) {
			id := r.create("pvc-1")
			v := r.only()
			r.ok(r.observer().AttachVolume(r.Context(), v, r.machines["worker-2"], ""))
			<-time.After(2 * time.Second)
			_, err := sidecar(r, r.ControllerPublishVolume, publish(id, "worker-1"))
			r.fails(err, codes.FailedPrecondition, r.machines["worker-2"])
			r.ok(r.observer().DetachVolume(r.Context(), v, r.machines["worker-2"]))
			<-time.After(2 * time.Second)
			r.attach(id, "worker-1")
			r.ok(r.observer().DetachVolume(r.Context(), v, r.machines["worker-1"]))
			retried(r, r.ControllerUnpublishVolume, unpublish(id, "worker-1"))
			r.attached("")
		})
	}
}

// The cloud answers a detachment with "not found", and has the volume, which is attached: it does not count as
// detached.
func TestDetachmentIsNotFound(t *testing.T) {
	withRig(t, slow(time.Second), func(r *rig) {
		id := r.create("pvc-1")
		r.attach(id, "worker-1")
		r.disturb("POST /v1/volumes/{id}/detach", 0, fault.Effect{Kind: fault.Refuse, Status: 404})
		_, err := sidecar(r, r.ControllerUnpublishVolume, unpublish(id, "worker-1"))
		r.fails(err, codes.Unavailable, "detaching volume "+id, "HTTP 404")
		r.attached("worker-1")
	})
}

func TestAttachRefuses(t *testing.T) {
	withRig(t, slow(time.Second), func(r *rig) {
		id := r.create("pvc-1")
		shared := publish(id, "worker-1")
		shared.VolumeCapability.AccessMode.Mode = csi.VolumeCapability_AccessMode_MULTI_NODE_MULTI_WRITER
		readonly, bare := publish(id, "worker-1"), publish(id, "worker-1")
		readonly.Readonly, bare.VolumeCapability = true, nil
		for _, test := range []struct {
			request *csi.ControllerPublishVolumeRequest
			code    codes.Code
			text    string
		}{
			{publish("", "worker-1"), codes.InvalidArgument, "volume ID is missing"},
			{publish(id, ""), codes.InvalidArgument, "node ID is missing"},
			{bare, codes.InvalidArgument, "capabilities are missing"},
			{shared, codes.InvalidArgument, "use the access mode ReadWriteOnce"},
			{readonly, codes.InvalidArgument, "mount it read-only in the pod instead"},
			{publish("v-0", "worker-1"), codes.NotFound, "volume v-0 does not exist"},
			{publish("a/b", "worker-1"), codes.NotFound, "volume a/b does not exist"},
			{publish(id, "worker-9"), codes.NotFound, "Node worker-9 has no machine"},
		} {
			_, err := sidecar(r, r.ControllerPublishVolume, test.request)
			r.fails(err, test.code, test.text)
		}
		r.attached("")
	})
}

// The cloud attaches a number of volumes to a machine besides its root volume, and only says that it refuses another
// one. If the Node has as many as its CSINode permits, the error says so.
func TestMachineIsFull(t *testing.T) {
	config := slow(10 * time.Second)
	config.Switches.VolumesPerMachine = 1
	withConflicts(t, config, func(r *rig, unknown codes.Code) {
		r.addNode("worker-3", r.machineWithRoot())
		first, second := r.create("pvc-1"), r.create("pvc-2")
		api := &kubernetes{limits: map[string]int{"worker-3": 1}}
		r.Controller.Kubernetes = api
		r.attach(first, "worker-3")
		if api.limitReads > 0 {
			t.Errorf("the limit is read %d times although nothing is refused", api.limitReads)
		}
		_, err := sidecar(r, r.ControllerPublishVolume, publish(second, "worker-3"))
		r.fails(err, codes.ResourceExhausted, "attaching volume "+second+" to Node worker-3", "has 1 volumes",
			"the limit of the Node is 1", "let the pod run on another one")
		for _, limit := range []int{0, 2} { // it is not known, or the root volume does not count
			api.limits["worker-3"] = limit
			_, err = sidecar(r, r.ControllerPublishVolume, publish(second, "worker-3"))
			r.fails(err, unknown, "at most 1 can be attached")
		}
		api.limits["worker-3"] = 1
		_, err = within(r, 2500*time.Millisecond, r.ControllerUnpublishVolume, unpublish(first, "worker-3"))
		r.fails(err, codes.DeadlineExceeded, `"detaching"`)
		_, err = sidecar(r, r.ControllerPublishVolume, publish(second, "worker-3"))
		r.fails(err, unknown, "at most 1 can be attached")
		retried(r, r.ControllerUnpublishVolume, unpublish(first, "worker-3"))
		retried(r, r.ControllerPublishVolume, publish(second, "worker-3"))
	})
}

// machineWithRoot creates a machine that boots from a volume.
func (r *rig) machineWithRoot() string {
	r.Helper()
	type created struct {
		ID string `json:"identity"`
	}
	machine := must[created](r)(client.Post[created](r.Context(), r.client(r.emulator.Transport(), 0),
		iaas.MachineEndpoint, map[string]any{"name": "booted", "subnet": emulator.DefaultSubnet,
			"machineType": "pgp-small", "machineImage": "debian-12",
			"rootVolume": map[string]any{"size": 20, "volumeTypeIdentity": "block"}}))
	<-time.After(time.Minute)
	return machine.ID
}

// A conflict because somebody attaches the volume meanwhile is not one because the machine is full.
func TestAttachedMeanwhileIsNotFull(t *testing.T) {
	withConflicts(t, slow(time.Second), func(r *rig, _ codes.Code) {
		id := r.create("pvc-1")
		r.Controller.Kubernetes = &kubernetes{limits: map[string]int{"worker-1": 1}}
		r.ok(r.Storage.Probe(r.Context()))
		r.ok(r.observer().AttachVolume(r.Context(), r.only(), r.machines["worker-1"], ""))
		r.attach(id, "worker-1")
	})
}

// A Node without a provider ID is the machine with its name as slug.
func TestNodesWithoutProviderID(t *testing.T) {
	withRig(t, slow(time.Second), func(r *rig) {
		for _, name := range []string{"worker-1", "worker-3"} {
			node := &corev1.Node{}
			node.Name = name
			r.ok(r.nodes.Update(node))
		}
		id := r.create("pvc-1")
		r.attach(id, "worker-1")
		r.attached("worker-1")
		r.publishedAt(id, "worker-1")
		_, err := sidecar(r, r.ControllerPublishVolume, publish(id, "worker-3"))
		r.fails(err, codes.NotFound, "Node worker-3 has no machine")
		wrong := &corev1.Node{Spec: corev1.NodeSpec{ProviderID: "other://vm-1"}}
		wrong.Name = "worker-3"
		r.ok(r.nodes.Update(wrong))
		_, err = sidecar(r, r.ControllerPublishVolume, publish(id, "worker-3"))
		r.fails(err, codes.NotFound, "Node worker-3 has no machine", "other://vm-1", "on other Nodes")
		r.publishedAt(id, "worker-1")
	})
}

// The machine of a Node whose name has a dot is the one with exactly this name.
func TestNodeNameWithADot(t *testing.T) {
	withRig(t, slow(time.Second), func(r *rig) {
		node := &corev1.Node{}
		node.Name = "worker-3.example.com"
		must[string](r)(r.emulator.AddMachine(emulator.MachineSpec{Name: node.Name}))
		r.ok(r.nodes.Add(node))
		r.restart()
		id := r.create("pvc-1")
		r.attach(id, node.Name)
		r.publishedAt(id, node.Name)
	})
}

// While a request works on a volume, a second one for it is refused, and those for others are not.
func TestRequestsForOneVolume(t *testing.T) {
	withRig(t, slow(20*time.Second), func(r *rig) {
		id := r.create("pvc-1")
		var first sync.WaitGroup
		first.Go(func() { r.attach(id, "worker-1") })
		first.Go(func() { r.create("pvc-2") })
		<-time.After(5 * time.Second)
		for name, call := range map[string]func() error{
			"attach": func() error {
				_, err := sidecar(r, r.ControllerPublishVolume, publish(id, "worker-1"))
				return err
			},
			"detach": func() error {
				_, err := sidecar(r, r.ControllerUnpublishVolume, unpublish(id, "worker-1"))
				return err
			},
			"delete": func() error {
				_, err := sidecar(r, r.DeleteVolume, &csi.DeleteVolumeRequest{VolumeId: id})
				return err
			},
			"expand": func() error { _, err := sidecar(r, r.ControllerExpandVolume, expand(id, 20)); return err },
			"create": func() error { _, err := sidecar(r, r.CreateVolume, wanted("pvc-2", 1)); return err },
		} {
			err := call()
			r.fails(err, codes.Aborted, "another request for volume", "it is retried")
			if err == nil {
				t.Errorf("%s is carried out", name)
			}
		}
		first.Wait()
		r.counts(2, 0)
	})
}

// A hundred volumes at once, with everything that can be done with them, while writes fail now and then.
func TestManyVolumesAtOnce(t *testing.T) {
	withRig(t, slow(5*time.Second), func(r *rig) {
		volumes := tier.Pick(20, 100)
		must[string](r)(r.emulator.Inject(fault.Rule{Operation: "POST *", Probability: 0.1, Seed: 1,
			Effect: fault.Effect{Kind: fault.Drop}}))
		machines := must[[]string](r)(r.emulator.AddMachines(volumes))
		var all sync.WaitGroup
		for i := range volumes {
			node := fmt.Sprintf("node-%d", i)
			r.addNode(node, machines[i])
			all.Go(func() {
				id := r.create(fmt.Sprintf("pvc-%d", i))
				r.attach(id, node)
				retried(r, r.ControllerExpandVolume, expand(id, 20))
				retried(r, r.CreateSnapshot,
					&csi.CreateSnapshotRequest{Name: fmt.Sprintf("snapshot-%d", i), SourceVolumeId: id})
				retried(r, r.ControllerUnpublishVolume, unpublish(id, node))
				if i%2 == 0 {
					retried(r, r.DeleteVolume, &csi.DeleteVolumeRequest{VolumeId: id})
				}
			})
		}
		all.Wait()
		<-time.After(time.Minute)
		r.counts(volumes/2, volumes)
		for _, v := range r.volumes() {
			if v.Size != 20 || v.Status != resource.VolumeAvailable {
				t.Errorf("volume %s has %d GiB and is %s, want 20 GiB, and detached", v.Name, v.Size, v.Status)
			}
		}
	})
}

// Nothing is written if the volume has a size in the range, or can have none.
func TestExpandWithinARange(t *testing.T) {
	withRig(t, slow(time.Second), func(r *rig) {
		id := r.create("pvc-1")
		for _, capacity := range []*csi.CapacityRange{
			{}, {LimitBytes: 12 * resource.GiB}, {RequiredBytes: 1, LimitBytes: 10 * resource.GiB},
		} {
			request := expand(id, 0)
			request.CapacityRange = capacity
			done := retried(r, r.ControllerExpandVolume, request)
			if done.GetCapacityBytes() != 10*resource.GiB {
				t.Errorf("%v: answer %v, want the present size", capacity, done)
			}
		}
		for text, capacity := range map[string]*csi.CapacityRange{
			"volumes do not become smaller": {LimitBytes: 9 * resource.GiB},
			"not above the limit":           {RequiredBytes: 12 * resource.GiB, LimitBytes: 11 * resource.GiB},
			"sizes are whole GiB":           {RequiredBytes: 10*resource.GiB + 1, LimitBytes: 11*resource.GiB - 1},
		} {
			request := expand(id, 0)
			request.CapacityRange = capacity
			_, err := sidecar(r, r.ControllerExpandVolume, request)
			r.fails(err, codes.OutOfRange, text)
		}
		if n := r.written("PUT /v1/volumes/{id}"); n != 0 {
			t.Errorf("%d writes, want none", n)
		}
	})
}

func TestExpandRefuses(t *testing.T) {
	config := emulator.Config{Seed: emulator.DefaultSeed()}
	config.Seed.VolumeTypes = []emulator.VolumeTypeSeed{{Name: "Block", FixedSize: true}}
	withRig(t, config, func(r *rig) {
		id := r.create("pvc-1")
		_, err := sidecar(r, r.ControllerExpandVolume, expand(id, 20))
		r.fails(err, codes.InvalidArgument, id+" cannot be resized")
		retried(r, r.ControllerExpandVolume, expand(id, 10))
		_, err = sidecar(r, r.ControllerExpandVolume, expand("v-0", 10))
		r.fails(err, codes.NotFound)
		_, err = sidecar(r, r.ControllerExpandVolume, &csi.ControllerExpandVolumeRequest{VolumeId: id})
		r.fails(err, codes.InvalidArgument, "capacity range is missing")
		_, err = sidecar(r, r.ControllerExpandVolume, expand("", 10))
		r.fails(err, codes.InvalidArgument, "volume ID is missing")
	})
}

// Lists contain an attachment that has ended a moment ago, by this process or by an earlier one. The volume is not said
// to be attached. What this process attached itself costs no further request.
func TestAttachWhileListsLag(t *testing.T) {
	for name, restarts := range map[string]bool{"this process": false, "an earlier process": true} {
		t.Run(name, func(t *testing.T) {
			withRig(t, slow(time.Second), func(r *rig) {
				id := r.create("pvc-1")
				r.attach(id, "worker-1")
				if n := r.written("GET /v1/volumes/{id}"); n != 0 {
					t.Errorf("the volume is requested %d times although this process attached it, want never", n)
				}
				r.disturb("GET /v1/volumes", 0, fault.Effect{Kind: fault.Stale, Delay: 30 * time.Second})
				<-time.After(time.Minute)
				retried(r, r.ControllerUnpublishVolume, unpublish(id, "worker-1"))
				<-time.After(2 * time.Second) // after that, the store has what lists have
				if restarts {
					r.restart()
				}
				retried(r, r.ControllerPublishVolume, publish(id, "worker-1"))
				r.attached("worker-1")
			})
		})
	}
}
