// Package environ computes the environment and the command line of a container from its pod, by
// kubelet's rules.
package environ

import (
	"context"
	"errors"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/thalassa-cloud/thalassa-ccm/tools/virtualnode/internal/downward"
)

// Source is what an environment is made from.
type Source struct {
	Client kubernetes.Interface
	// Pod is the pod, with its addresses in its status.
	Pod *corev1.Pod
	// Node is what the node offers, for resource fields.
	Node corev1.ResourceList
	// Base is what every container has, such as KUBERNETES_SERVICE_HOST. What the pod says
	// about the same names wins.
	Base map[string]string
}

// Of returns the environment of a container.
func (s Source) Of(ctx context.Context, c *corev1.Container) (map[string]string, error) {
	values := maps.Clone(s.Base)
	if values == nil {
		values = map[string]string{}
	}
	for i := range c.EnvFrom {
		if err := s.addAll(ctx, values, &c.EnvFrom[i]); err != nil {
			return nil, err
		}
	}
	for i := range c.Env {
		env := &c.Env[i]
		value, found, err := s.value(ctx, c, env, values)
		if err != nil {
			return nil, fmt.Errorf("setting %s: %w", env.Name, err)
		}
		if found {
			values[env.Name] = value
		}
	}
	return values, nil
}

// CommandLine returns the command line of a container whose image starts the program at path.
// The first word of the pod's command names that program inside the image.
func CommandLine(path string, c *corev1.Container, values map[string]string) []string {
	words := []string{path}
	if len(c.Command) > 1 {
		words = append(words, c.Command[1:]...)
	}
	words = append(words, c.Args...)
	for i := 1; i < len(words); i++ {
		words[i] = Expand(words[i], values)
	}
	return words
}

// addAll adds every entry of a ConfigMap or Secret.
func (s Source) addAll(ctx context.Context, values map[string]string, from *corev1.EnvFromSource) error {
	var data map[string]string
	var err error
	switch {
	case from.ConfigMapRef != nil:
		data, err = s.configMap(ctx, from.ConfigMapRef.Name, from.ConfigMapRef.Optional)
	case from.SecretRef != nil:
		data, err = s.secret(ctx, from.SecretRef.Name, from.SecretRef.Optional)
	}
	if err != nil {
		return err
	}
	for key, value := range data {
		values[from.Prefix+key] = value
	}
	return nil
}

// value returns the value of one variable; it is not found when an optional reference is missing.
func (s Source) value(ctx context.Context, c *corev1.Container, env *corev1.EnvVar, values map[string]string) (value string, found bool, err error) {
	from := env.ValueFrom
	switch {
	case from == nil:
		return Expand(env.Value, values), true, nil
	case from.FieldRef != nil:
		value, err = downward.Field(s.Pod, from.FieldRef.FieldPath)
		return value, true, err
	case from.ResourceFieldRef != nil:
		value, err = s.resource(c, from.ResourceFieldRef)
		return value, true, err
	case from.ConfigMapKeyRef != nil:
		ref := from.ConfigMapKeyRef
		data, err := s.configMap(ctx, ref.Name, ref.Optional)
		return pick(data, err, "ConfigMap", ref.Name, ref.Key, ref.Optional)
	case from.SecretKeyRef != nil:
		ref := from.SecretKeyRef
		data, err := s.secret(ctx, ref.Name, ref.Optional)
		return pick(data, err, "Secret", ref.Name, ref.Key, ref.Optional)
	default:
		return "", false, errors.New("virtual nodes support fieldRef, resourceFieldRef, configMapKeyRef and secretKeyRef only")
	}
}

// pick returns one key of what was read.
func pick(data map[string]string, err error, kind, name, key string, optional *bool) (string, bool, error) {
	if err != nil {
		return "", false, err
	}
	value, ok := data[key]
	if !ok && !isTrue(optional) {
		return "", false, fmt.Errorf("%s %q has no key %q", kind, name, key)
	}
	return value, ok, nil
}

func (s Source) resource(c *corev1.Container, ref *corev1.ResourceFieldSelector) (string, error) {
	for i := range s.Pod.Spec.Containers {
		if s.Pod.Spec.Containers[i].Name == ref.ContainerName {
			c = &s.Pod.Spec.Containers[i]
		}
	}
	return downward.Resource(c, s.Node, ref)
}

func (s Source) configMap(ctx context.Context, name string, optional *bool) (map[string]string, error) {
	object, err := s.Client.CoreV1().ConfigMaps(s.Pod.Namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) && isTrue(optional) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading ConfigMap %q: %w", name, err)
	}
	return object.Data, nil
}

func (s Source) secret(ctx context.Context, name string, optional *bool) (map[string]string, error) {
	object, err := s.Client.CoreV1().Secrets(s.Pod.Namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) && isTrue(optional) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading Secret %q: %w", name, err)
	}
	data := map[string]string{}
	for key, value := range object.Data {
		data[key] = string(value)
	}
	return data, nil
}

func isTrue(b *bool) bool { return b != nil && *b }
