// Package environ computes the environment and the command line of a container from its pod, by
// kubelet's rules.
package environ

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Of returns the environment of a container of a pod, which has its addresses in its status. base is what every
// container has, such as KUBERNETES_SERVICE_HOST; what the pod says about the same names wins.
func Of(pod *corev1.Pod, c *corev1.Container, base map[string]string) (map[string]string, error) {
	if len(c.EnvFrom) > 0 {
		return nil, errors.New("virtual nodes do not support envFrom")
	}
	values := maps.Clone(base)
	for i := range c.Env {
		value, err := value(pod, &c.Env[i], values)
		if err != nil {
			return nil, fmt.Errorf("setting %s: %w", c.Env[i].Name, err)
		}
		values[c.Env[i].Name] = value
	}
	return values, nil
}

// value returns the value of one variable.
func value(pod *corev1.Pod, env *corev1.EnvVar, values map[string]string) (string, error) {
	switch {
	case env.ValueFrom == nil:
		return Expand(env.Value, values), nil
	case env.ValueFrom.FieldRef != nil:
		return Field(pod, env.ValueFrom.FieldRef.FieldPath)
	default:
		return "", errors.New("virtual nodes support value and fieldRef only")
	}
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
