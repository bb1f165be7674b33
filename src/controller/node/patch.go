package node

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/controller/patch"
)

// The parts of a Node that are written separately: the API server accepts labels and annotations with either of them,
// provider ID and taints only with the Node, addresses only with its status.
const (
	partNode   = ""
	partStatus = "status"
)

type spec struct {
	ProviderID string         `json:"providerID,omitempty"`
	Taints     []corev1.Taint `json:"taints,omitzero"`
}

type status struct {
	Addresses []corev1.NodeAddress `json:"addresses"`
}

// inSpec reports whether something differs that can only be written with the Node itself.
func (d difference) inSpec() bool { return d.providerID != "" || d.retaints }

// inMetadata reports whether labels or annotations differ.
func (d difference) inMetadata() bool { return len(d.labels) > 0 || len(d.annotations) > 0 }

// none says that nothing differs.
func (d difference) none() bool { return !d.inSpec() && !d.inMetadata() && d.addresses == nil }

// next is the next write. Addresses are written before the spec, so that nothing is scheduled to a Node that cannot be
// reached. Labels, taints and the last-applied record are written together. There are two writes if addresses and the
// spec differ; the second follows from the answer to the first.
func (d difference) next(node *corev1.Node) (part string, b patch.Body) {
	b.Metadata.UID = node.UID
	if d.addresses != nil {
		b.Status = &status{d.addresses}
		if d.inSpec() {
			return partStatus, b
		}
		part = partStatus
	}
	if d.inSpec() {
		changed := &spec{ProviderID: d.providerID}
		if d.retaints {
			changed.Taints = append([]corev1.Taint{}, d.taints...)
		}
		b.Spec = changed
	}
	if d.inSpec() || d.inMetadata() {
		// The resource version prevents that changes of other clients are overwritten. Addresses are written without
		// it: no other client writes them, and the kubelet often writes its status.
		b.Metadata.ResourceVersion, b.Metadata.Labels, b.Metadata.Annotations = node.ResourceVersion, d.labels,
			d.annotations
	}
	return part, b
}

// writer patches Nodes.
type writer struct {
	nodes   typedcorev1.NodesGetter
	written func(part string, err error) // is called after each write
}

// write writes the difference. Compare returns the difference of a Node again after the first write. The result is the
// Node after the writes.
func (w writer) write(ctx context.Context, node *corev1.Node, d difference,
	compare func(*corev1.Node) (difference, error)) (*corev1.Node, error) {
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

func (w writer) patch(ctx context.Context, name, part string, b patch.Body) (*corev1.Node, error) {
	var parts []string
	what := "node"
	if part != partNode {
		parts, what = []string{part}, "status"
	}
	after, err := patch.Merge(ctx, w.nodes.Nodes().Patch, name, b, parts...)
	w.written(what, err)
	if err != nil {
		return nil, fmt.Errorf("patching Node %s: %w", name, err)
	}
	return after, nil
}
