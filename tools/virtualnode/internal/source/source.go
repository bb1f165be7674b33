// Package source reads what containers learn about themselves and their configuration: ConfigMaps,
// Secrets and the fields of their pod.
package source

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Object refers to a ConfigMap, or to a Secret.
type Object struct {
	Secret          bool
	Namespace, Name string
	// Optional takes an object that does not exist for an empty one.
	Optional bool
}

// String names the object as messages do.
func (o Object) String() string {
	kind := "ConfigMap"
	if o.Secret {
		kind = "Secret"
	}
	return fmt.Sprintf("%s %q", kind, o.Name)
}

// Data returns the content of the object by key.
func (o Object) Data(ctx context.Context, client kubernetes.Interface) (map[string][]byte, error) {
	data, err := o.read(ctx, client)
	if apierrors.IsNotFound(err) && o.Optional {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", o, err)
	}
	return data, nil
}

func (o Object) read(ctx context.Context, client kubernetes.Interface) (map[string][]byte, error) {
	if o.Secret {
		secret, err := client.CoreV1().Secrets(o.Namespace).Get(ctx, o.Name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		return secret.Data, nil
	}
	object, err := client.CoreV1().ConfigMaps(o.Namespace).Get(ctx, o.Name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	data := map[string][]byte{}
	for key, value := range object.Data {
		data[key] = []byte(value)
	}
	return data, nil
}

// Field returns the value of a fieldRef path, such as status.hostIP. The pod must carry its
// addresses in its status.
func Field(pod *corev1.Pod, path string) (string, error) {
	switch path {
	case "metadata.name":
		return pod.Name, nil
	case "metadata.namespace":
		return pod.Namespace, nil
	case "metadata.uid":
		return string(pod.UID), nil
	case "spec.nodeName":
		return pod.Spec.NodeName, nil
	case "spec.serviceAccountName":
		return pod.Spec.ServiceAccountName, nil
	case "status.hostIP":
		return pod.Status.HostIP, nil
	case "status.podIP":
		return pod.Status.PodIP, nil
	default:
		return "", fmt.Errorf("unknown field path %q; virtual nodes know the name, namespace, UID, node, "+
			"ServiceAccount and addresses of a pod", path)
	}
}
