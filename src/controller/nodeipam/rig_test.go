package nodeipam

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/controller/workerpool/workerpooltest"
)

// domain begins the names of labels and annotations in tests.
const domain = "example.com"

// rig is a cluster in virtual time. Its API server checks resource versions, and that networks are immutable.
type rig struct {
	*testing.T
	cluster *fake.Clientset
	process *workerpooltest.Process
	running *Controller
	cidrs   []netip.Prefix
	masks   Masks
	// shortest are the shortest prefixes that Nodes may request.
	shortest Masks
	// reserved are allocated to no Node.
	reserved []netip.Prefix
	version  atomic.Int32
	// before is called before each patch.
	before func(name string)
	// loseAnswers says that answers to patches are lost.
	loseAnswers atomic.Bool
	patches     atomic.Int32
}

// inRig runs a test in a synctest bubble.
func inRig(t *testing.T, cidrs string, test func(*rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &rig{T: t, cluster: workerpooltest.NewClient(), process: workerpooltest.New(t),
			masks: Masks{DefaultIPv4, DefaultIPv6}, before: func(string) {}}
		for text := range strings.FieldsSeq(cidrs) {
			r.cidrs = append(r.cidrs, prefix(text))
		}
		r.cluster.PrependReactor("patch", "nodes", r.patch)
		test(r)
	})
}

// patch does what an API server does and the fake one does not.
func (r *rig) patch(action clienttesting.Action) (bool, runtime.Object, error) {
	resource := schema.GroupResource{Resource: "nodes"}
	patch, ok := action.(clienttesting.PatchAction)
	if !ok {
		return false, nil, nil
	}
	r.patches.Add(1)
	r.before(patch.GetName())
	object, err := r.cluster.Tracker().Get(corev1.SchemeGroupVersion.WithResource("nodes"), "", patch.GetName())
	if err != nil {
		return true, nil, err
	}
	node, _ := object.(*corev1.Node)
	var asked corev1.Node
	if err := json.Unmarshal(patch.GetPatch(), &asked); err != nil {
		return true, nil, err
	}
	switch {
	case asked.ResourceVersion != node.ResourceVersion || asked.UID != node.UID:
		return true, nil, apierrors.NewConflict(resource, node.Name, errors.New("it has been modified"))
	case len(node.Spec.PodCIDRs) > 0 && !slices.Equal(node.Spec.PodCIDRs, asked.Spec.PodCIDRs):
		return true, nil, apierrors.NewInvalid(schema.GroupKind{Kind: "Node"}, node.Name, nil)
	}
	changed := node.DeepCopy()
	changed.Spec.PodCIDR, changed.Spec.PodCIDRs = asked.Spec.PodCIDR, asked.Spec.PodCIDRs
	r.store(changed)
	if r.loseAnswers.Load() {
		return true, nil, apierrors.NewTimeoutError("the answer is lost", 1)
	}
	return true, changed, nil
}

// store writes a Node with a new version to the API server.
func (r *rig) store(node *corev1.Node) {
	node.ResourceVersion = fmt.Sprint(r.version.Add(1))
	if err := r.cluster.Tracker().Update(corev1.SchemeGroupVersion.WithResource("nodes"), node, ""); err != nil {
		r.Fatal(err)
	}
}

// start starts a process, after the one before has ended.
func (r *rig) start() {
	r.Helper()
	r.process.Begin(r.cluster, func(factory informers.SharedInformerFactory) (func(context.Context), error) {
		controller, err := New(Options{Client: r.cluster, Nodes: factory.Core().V1().Nodes(), CIDRs: r.cidrs,
			Masks: r.masks, Shortest: r.shortest, Reserved: r.reserved, Domain: domain, Recorder: r.process.Recorder})
		r.running = controller
		return controller.Run, err
	})
	r.settle()
}

// settle waits until all that can be done at once is done.
func (r *rig) settle() { workerpooltest.Pass(time.Second) }

// join adds a Node.
func (r *rig) join(name string, cidrs ...string) *corev1.Node {
	r.Helper()
	return r.joinAs(name, "", nil, cidrs...)
}

func (r *rig) joinAs(name, uid string, labels map[string]string, cidrs ...string) *corev1.Node {
	r.Helper()
	version := r.version.Add(1)
	if uid == "" {
		uid = fmt.Sprintf("uid-%d", version)
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(uid),
		ResourceVersion: fmt.Sprint(version), Labels: labels}, Spec: corev1.NodeSpec{PodCIDRs: cidrs}}
	if _, err := r.cluster.CoreV1().Nodes().Create(r.Context(), node, metav1.CreateOptions{}); err != nil {
		r.Fatal(err)
	}
	return node
}

func (r *rig) deleteNode(name string) {
	r.Helper()
	workerpooltest.DeleteNode(r, r.cluster, name)
}

// change changes a Node as another client.
func (r *rig) change(name string, change func(*corev1.Node)) {
	r.Helper()
	object, err := r.cluster.Tracker().Get(corev1.SchemeGroupVersion.WithResource("nodes"), "", name)
	node, ok := object.(*corev1.Node)
	if err != nil || !ok {
		r.Fatal(err)
	}
	node = node.DeepCopy()
	change(node)
	r.store(node)
}

// podCIDRs are the networks of a Node.
func (r *rig) podCIDRs(name string) string {
	r.Helper()
	node := workerpooltest.Node(r, r.cluster, name)
	if len(node.Spec.PodCIDRs) > 0 && node.Spec.PodCIDR != "" && node.Spec.PodCIDR != node.Spec.PodCIDRs[0] {
		r.Errorf("podCIDR is %s, podCIDRs %v", node.Spec.PodCIDR, node.Spec.PodCIDRs)
	}
	return strings.Join(node.Spec.PodCIDRs, " ")
}

// requireDistinct fails if the networks of two Nodes overlap, or a Node has none.
func (r *rig) requireDistinct() {
	r.Helper()
	nodes, err := r.cluster.CoreV1().Nodes().List(r.Context(), metav1.ListOptions{})
	if err != nil {
		r.Fatal(err)
	}
	var all []netip.Prefix
	for _, node := range nodes.Items {
		if len(node.Spec.PodCIDRs) == 0 {
			r.Errorf("%s has no network", node.Name)
		}
		for _, text := range node.Spec.PodCIDRs {
			for _, other := range all {
				if other.Overlaps(prefix(text)) {
					r.Errorf("%s of %s is given twice", text, node.Name)
				}
			}
			all = append(all, prefix(text))
		}
	}
}

// events are the events since the last call, as "Reason", sorted.
func (r *rig) events() string { return strings.Join(r.process.Reasons(), " ") }

func (r *rig) is(what, got, want string) {
	r.Helper()
	if got != want {
		r.Errorf("%s: got %q, want %q", what, got, want)
	}
}
