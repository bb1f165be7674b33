package node

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// patchTimeout bounds one write to the API server.
const patchTimeout = 30 * time.Second

// The parts of a Node that are written apart: the API server takes labels and annotations with either of them, provider ID and taints
// only with the Node, addresses only with its status.
const (
	partNode   = ""
	partStatus = "status"
)

// body is a JSON merge patch: a label that is null is removed, a list replaces the one that is there.
type body struct {
	Metadata meta    `json:"metadata"`
	Spec     *spec   `json:"spec,omitempty"`
	Status   *status `json:"status,omitempty"`
}

// meta has what the patch is refused without: the Node must be the one that was compared, and be as it was then.
type meta struct {
	UID             types.UID          `json:"uid"`
	ResourceVersion string             `json:"resourceVersion,omitempty"`
	Labels          map[string]*string `json:"labels,omitempty"`
	Annotations     map[string]*string `json:"annotations,omitempty"`
}

type spec struct {
	ProviderID string         `json:"providerID,omitempty"`
	Taints     []corev1.Taint `json:"taints,omitzero"`
}

type status struct {
	Addresses []corev1.NodeAddress `json:"addresses"`
}

// inSpec says whether something differs that is only written with the Node itself.
func (d difference) inSpec() bool { return d.providerID != "" || d.retaints }

// inMetadata says whether labels or annotations differ.
func (d difference) inMetadata() bool { return len(d.labels) > 0 || len(d.annotations) > 0 }

// none says that nothing differs.
func (d difference) none() bool { return !d.inSpec() && !d.inMetadata() && d.addresses == nil }

// next is the next write: addresses before what is in the spec, so that nothing is scheduled to a Node before it can be reached. Labels,
// taints and the annotation that remembers them are always written together. That is one write, or two when addresses and the spec
// differ; the second is made of what the first one answered.
func (d difference) next(node *corev1.Node) (part string, b body) {
	b.Metadata.UID = node.UID
	if d.addresses != nil {
		b.Status = &status{d.addresses}
		if d.inSpec() {
			return partStatus, b
		}
		part = partStatus
	}
	if d.inSpec() {
		b.Spec = &spec{ProviderID: d.providerID}
		if d.retaints {
			b.Spec.Taints = append([]corev1.Taint{}, d.taints...)
		}
	}
	if d.inSpec() || d.inMetadata() {
		// What others set meanwhile must not be overwritten. Addresses are nobody else's, and the kubelet writes its status often.
		b.Metadata.ResourceVersion, b.Metadata.Labels, b.Metadata.Annotations = node.ResourceVersion, d.labels, d.annotations
	}
	return part, b
}

// writer patches Nodes.
type writer struct {
	nodes   typedcorev1.NodesGetter
	written func(part string, err error) // hears of each write
}

// write makes the Node as its machine wants it. Compare says what differs from that in a Node. It returns the Node as it then is.
func (w writer) write(ctx context.Context, node *corev1.Node, d difference, compare func(*corev1.Node) (difference, error)) (*corev1.Node, error) {
	for !d.none() {
		part, b := d.next(node)
		after, err := w.patch(ctx, node.Name, part, b)
		if err != nil || part == partNode || !d.inSpec() {
			return after, err
		}
		node = after
		if d, err = compare(node); err != nil {
			return node, err
		}
		if d.addresses = nil; d.none() { // they were just written
			break
		}
	}
	return node, nil
}

func (w writer) patch(ctx context.Context, name, part string, b body) (*corev1.Node, error) {
	text, err := json.Marshal(b)
	if err != nil {
		return nil, fmt.Errorf("writing a patch of Node %s: %w", name, err)
	}
	ctx, cancel := context.WithTimeout(ctx, patchTimeout)
	defer cancel()
	var parts []string
	what := "node"
	if part != partNode {
		parts, what = []string{part}, "status"
	}
	after, err := w.nodes.Nodes().Patch(ctx, name, types.MergePatchType, text, metav1.PatchOptions{}, parts...)
	w.written(what, err)
	if err != nil {
		return nil, fmt.Errorf("patching Node %s: %w", name, err)
	}
	return after, nil
}
