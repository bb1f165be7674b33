// Package patch writes objects of the API server with patches that name the object they were computed for: the API
// server refuses them if the object was replaced or, where the patch contains a resource version, if it has changed.
//
//	after, err := patch.Merge(ctx, client.CoreV1().Nodes().Patch, node.Name, patch.Body{
//		Metadata: patch.Metadata{UID: node.UID, ResourceVersion: node.ResourceVersion},
//		Spec:     map[string]any{"unschedulable": true},
//	})
package patch

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Timeout bounds one request to the API server.
const Timeout = 30 * time.Second

// Body is a patch. In a JSON merge patch, null removes a key, and a list replaces the present list.
type Body struct {
	Metadata Metadata `json:"metadata"`
	Spec     any      `json:"spec,omitempty"`
	Status   any      `json:"status,omitempty"`
}

// Metadata identifies the object that is patched, and contains the changes of its metadata.
type Metadata struct {
	// UID is that of the object. The API server refuses the patch if another object has its name.
	UID types.UID `json:"uid"`
	// ResourceVersion is that of the object the patch was computed from. The API server answers with a conflict if the
	// object has another one. Empty stands for any.
	ResourceVersion string `json:"resourceVersion,omitempty"`
	// Labels and Annotations are those that change. Nil removes one.
	Labels      map[string]*string `json:"labels,omitempty"`
	Annotations map[string]*string `json:"annotations,omitempty"`
}

// Method is the method Patch of a typed client.
type Method[T any] func(ctx context.Context, name string, kind types.PatchType, data []byte, o metav1.PatchOptions,
	parts ...string) (T, error)

// Merge sends a JSON merge patch, and returns the object as it then is.
func Merge[T any](ctx context.Context, method Method[T], name string, body any,
	subresources ...string) (after T, err error) {
	return send(ctx, method, name, types.MergePatchType, body, subresources)
}

// Strategic sends a strategic merge patch, which merges the entries of lists by their keys, and returns the object as
// it then is.
func Strategic[T any](ctx context.Context, method Method[T], name string, body any,
	subresources ...string) (after T, err error) {
	return send(ctx, method, name, types.StrategicMergePatchType, body, subresources)
}

func send[T any](ctx context.Context, method Method[T], name string, kind types.PatchType, body any,
	subresources []string) (after T, err error) {
	data, err := json.Marshal(body)
	if err != nil {
		return after, fmt.Errorf("encoding a patch of %s: %w", name, err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, Timeout, fmt.Errorf("no answer within %s", Timeout))
	defer cancel()
	return method(ctx, name, kind, data, metav1.PatchOptions{}, subresources...)
}
