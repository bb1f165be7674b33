// Package environ computes the environment and the command line of a container from its pod, by
// kubelet's rules.
package environ

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"github.com/thalassa-cloud/thalassa-ccm/tools/virtualnode/internal/source"
)

// Source is what an environment is made from.
type Source struct {
	Client kubernetes.Interface
	// Pod is the pod, with its addresses in its status.
	Pod *corev1.Pod
	// Base is what every container has, such as KUBERNETES_SERVICE_HOST. What the pod says
	// about the same names wins.
	Base map[string]string
}

// Of returns the environment of a container.
func (s Source) Of(ctx context.Context, c *corev1.Container) (map[string]string, error) {
	values := maps.Clone(s.Base)
	for i := range c.EnvFrom {
		if err := s.addAll(ctx, values, &c.EnvFrom[i]); err != nil {
			return nil, err
		}
	}
	for i := range c.Env {
		env := &c.Env[i]
		value, found, err := s.value(ctx, env, values)
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

// Expand replaces the references $(NAME) in a text, as kubelet does in commands, arguments and
// values: "$$" stands for one "$", and what is not defined or not a reference stays as it is.
func Expand(text string, values map[string]string) string {
	return regexp.MustCompile(`\$\$|\$\([^)]*\)`).ReplaceAllStringFunc(text, func(found string) string {
		if found == "$$" {
			return "$"
		}
		if value, ok := values[strings.TrimSuffix(strings.TrimPrefix(found, "$("), ")")]; ok {
			return value
		}
		return found
	})
}

// addAll adds every entry of a ConfigMap or Secret.
func (s Source) addAll(ctx context.Context, values map[string]string, from *corev1.EnvFromSource) error {
	object := source.Object{Namespace: s.Pod.Namespace}
	switch {
	case from.ConfigMapRef != nil:
		object.Name, object.Optional = from.ConfigMapRef.Name, ptr.Deref(from.ConfigMapRef.Optional, false)
	case from.SecretRef != nil:
		object.Secret, object.Name = true, from.SecretRef.Name
		object.Optional = ptr.Deref(from.SecretRef.Optional, false)
	}
	data, err := object.Data(ctx, s.Client)
	for key, value := range data {
		values[from.Prefix+key] = string(value)
	}
	return err
}

// value returns the value of one variable; it is not found when an optional reference is missing.
func (s Source) value(ctx context.Context, env *corev1.EnvVar,
	values map[string]string) (value string, found bool, err error) {
	from := env.ValueFrom
	switch {
	case from == nil:
		return Expand(env.Value, values), true, nil
	case from.FieldRef != nil:
		value, err = source.Field(s.Pod, from.FieldRef.FieldPath)
		return value, true, err
	case from.ConfigMapKeyRef != nil:
		ref := from.ConfigMapKeyRef
		return s.pick(ctx, source.Object{Name: ref.Name, Optional: ptr.Deref(ref.Optional, false)}, ref.Key)
	case from.SecretKeyRef != nil:
		ref := from.SecretKeyRef
		return s.pick(ctx, source.Object{Secret: true, Name: ref.Name, Optional: ptr.Deref(ref.Optional, false)},
			ref.Key)
	default:
		return "", false, errors.New("virtual nodes support fieldRef, configMapKeyRef and secretKeyRef only")
	}
}

// pick returns one key of a ConfigMap or Secret.
func (s Source) pick(ctx context.Context, object source.Object, key string) (string, bool, error) {
	object.Namespace = s.Pod.Namespace
	data, err := object.Data(ctx, s.Client)
	if err != nil {
		return "", false, err
	}
	value, ok := data[key]
	if !ok && !object.Optional {
		return "", false, fmt.Errorf("%s has no key %q", object, key)
	}
	return string(value), ok, nil
}
