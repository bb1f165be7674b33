package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes/scheme"
)

// patchNode changes labels and annotations of a Node and its spec, or instead of that its status, by a merge patch,
// unless it is not the one that is meant.
func (c *Cluster) patchNode(request *http.Request, a address) (io.ReadCloser, error) {
	text, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, fmt.Errorf("reading the patch: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	before, err := c.node(a)
	if err != nil {
		return nil, err
	}
	original, err := json.Marshal(before)
	if err != nil {
		return nil, err
	}
	merged, err := mergedBy(request.Header.Get("Content-Type"), original, text)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	after := &corev1.Node{}
	if err := json.Unmarshal(merged, after); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if err := c.meant(before, &after.UID, &after.ResourceVersion); err != nil {
		return nil, err
	}
	err = c.change(before, func(object Object) {
		node, ok := object.(*corev1.Node)
		if !ok {
			return
		}
		node.Labels, node.Annotations = after.Labels, after.Annotations
		if a.part == "status" {
			node.Status = after.Status
		} else {
			node.Spec = after.Spec
		}
	})
	if err != nil {
		return nil, err
	}
	return written(json.RawMessage(c.history[len(c.history)-1].text))
}

// mergedBy is an object after a patch of one of the two kinds that merge.
func mergedBy(kind string, original, patch []byte) ([]byte, error) {
	if kind == string(types.MergePatchType) {
		return jsonpatch.MergePatch(original, patch)
	}
	return strategicpatch.StrategicMergePatch(original, patch, corev1.Node{})
}

// deleteNode deletes a Node, unless it is not the one that is meant.
func (c *Cluster) deleteNode(request *http.Request, a address) (io.ReadCloser, error) {
	text, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, fmt.Errorf("reading the options: %w", err)
	}
	options := &metav1.DeleteOptions{}
	// clients prefer protobuf
	if _, _, err := scheme.Codecs.UniversalDeserializer().Decode(text, nil, options); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	node, err := c.node(a)
	if err != nil {
		return nil, err
	}
	if wanted := options.Preconditions; wanted != nil {
		if err := c.meant(node, wanted.UID, wanted.ResourceVersion); err != nil {
			return nil, err
		}
	}
	if err := c.drop(c.kinds["nodes"], node.DeepCopy()); err != nil {
		return nil, err
	}
	return written(metav1.Status{Status: metav1.StatusSuccess})
}

// node finds one. It wants mu held.
func (c *Cluster) node(a address) (*corev1.Node, error) {
	k := c.kinds["nodes"]
	node, exists := k.objects[a.key()].(*corev1.Node)
	if !exists {
		return nil, apierrors.NewNotFound(k.resource, a.name)
	}
	return node, nil
}

// meant refuses a write that is about another object than this one, or about an older state of it; nil demands nothing.
func (c *Cluster) meant(object Object, uid *types.UID, version *string) error {
	k := c.kinds[resourceOf(object)]
	switch {
	case uid != nil && *uid != object.GetUID():
		return apierrors.NewConflict(k.resource, object.GetName(),
			fmt.Errorf("the UID in the precondition is %s, that of the object is %s", *uid, object.GetUID()))
	case version != nil && *version != object.GetResourceVersion():
		return apierrors.NewConflict(k.resource, object.GetName(), errors.New("the object has been modified"))
	}
	return nil
}
