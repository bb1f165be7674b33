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

// patchNode applies a merge patch to the labels, annotations and spec of a Node, or to the labels, annotations and
// status. It refuses the patch if the preconditions do not match.
func (c *Cluster) patchNode(request *http.Request, info requestInfo) (io.ReadCloser, error) {
	text, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, fmt.Errorf("reading the patch: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	before, err := c.node(info)
	if err != nil {
		return nil, err
	}
	original, err := json.Marshal(before)
	if err != nil {
		return nil, err
	}
	merged, err := mergeNode(request.Header.Get("Content-Type"), original, text)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	after := &corev1.Node{}
	if err := json.Unmarshal(merged, after); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if err := c.checkPreconditions(before, &after.UID, &after.ResourceVersion); err != nil {
		return nil, err
	}
	err = c.change(before, func(object Object) {
		node, ok := object.(*corev1.Node)
		if !ok {
			return
		}
		node.Labels, node.Annotations = after.Labels, after.Annotations
		if info.subresource == "status" {
			node.Status = after.Status
		} else {
			node.Spec = after.Spec
		}
	})
	if err != nil {
		return nil, err
	}
	return encode(json.RawMessage(c.history[len(c.history)-1].text))
}

// mergeNode returns a Node after a merge patch or a strategic merge patch.
func mergeNode(patchType string, original, patch []byte) ([]byte, error) {
	if patchType == string(types.MergePatchType) {
		return jsonpatch.MergePatch(original, patch)
	}
	return strategicpatch.StrategicMergePatch(original, patch, corev1.Node{})
}

// deleteNode deletes a Node, unless the preconditions do not match.
func (c *Cluster) deleteNode(request *http.Request, info requestInfo) (io.ReadCloser, error) {
	text, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, fmt.Errorf("reading the options: %w", err)
	}
	options := &metav1.DeleteOptions{}
	// clients send protobuf
	if _, _, err := scheme.Codecs.UniversalDeserializer().Decode(text, nil, options); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	node, err := c.node(info)
	if err != nil {
		return nil, err
	}
	if preconditions := options.Preconditions; preconditions != nil {
		if err := c.checkPreconditions(node, preconditions.UID, preconditions.ResourceVersion); err != nil {
			return nil, err
		}
	}
	if err := c.remove(c.stores["nodes"], node.DeepCopy()); err != nil {
		return nil, err
	}
	return encode(metav1.Status{Status: metav1.StatusSuccess})
}

// node returns the Node of a request. The caller holds mu.
func (c *Cluster) node(info requestInfo) (*corev1.Node, error) {
	s := c.stores["nodes"]
	node, exists := s.objects[info.key()].(*corev1.Node)
	if !exists {
		return nil, apierrors.NewNotFound(s.resource, info.name)
	}
	return node, nil
}

// checkPreconditions returns a conflict if the object has another UID or version; nil permits any.
func (c *Cluster) checkPreconditions(object Object, uid *types.UID, version *string) error {
	s := c.stores[resourceOf(object)]
	switch {
	case uid != nil && *uid != object.GetUID():
		return apierrors.NewConflict(s.resource, object.GetName(),
			fmt.Errorf("the UID in the precondition is %s, that of the object is %s", *uid, object.GetUID()))
	case version != nil && *version != object.GetResourceVersion():
		return apierrors.NewConflict(s.resource, object.GetName(), errors.New("the object has been modified"))
	}
	return nil
}
