package volume

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// object refers to a ConfigMap, or to a Secret.
type object struct {
	Secret          bool
	Namespace, Name string
	// Optional takes an object that does not exist for an empty one.
	Optional bool
}

// String names the object as messages do.
func (o object) String() string {
	kind := "ConfigMap"
	if o.Secret {
		kind = "Secret"
	}
	return fmt.Sprintf("%s %q", kind, o.Name)
}

// data returns the content of the object by key.
func (o object) data(ctx context.Context, client kubernetes.Interface) (map[string][]byte, error) {
	content, err := o.read(ctx, client)
	if apierrors.IsNotFound(err) && o.Optional {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", o, err)
	}
	return content, nil
}

func (o object) read(ctx context.Context, client kubernetes.Interface) (map[string][]byte, error) {
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
