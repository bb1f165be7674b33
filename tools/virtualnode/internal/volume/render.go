package volume

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/thalassa-cloud/thalassa-ccm/tools/virtualnode/internal/environ"
)

// errUnsupported is the error about a volume that a virtual node cannot provide.
var errUnsupported = errors.New("virtual nodes have configMap, secret and projected (serviceAccountToken, configMap, " +
	"secret, downwardAPI) volumes only, and none that is optional")

// defaultMode is the mode of files for which the pod names none.
const defaultMode = 0o644

// render returns what a volume holds at this moment.
func (s *Set) render(ctx context.Context, v *corev1.Volume) (payload, error) {
	var sources []corev1.VolumeProjection
	var mode *int32
	switch {
	case v.ConfigMap != nil:
		mode = v.ConfigMap.DefaultMode
		sources = []corev1.VolumeProjection{{ConfigMap: &corev1.ConfigMapProjection{
			LocalObjectReference: v.ConfigMap.LocalObjectReference, Items: v.ConfigMap.Items,
			Optional: v.ConfigMap.Optional,
		}}}
	case v.Secret != nil:
		mode = v.Secret.DefaultMode
		sources = []corev1.VolumeProjection{{Secret: &corev1.SecretProjection{
			LocalObjectReference: corev1.LocalObjectReference{Name: v.Secret.SecretName}, Items: v.Secret.Items,
			Optional: v.Secret.Optional,
		}}}
	case v.Projected != nil:
		mode, sources = v.Projected.DefaultMode, v.Projected.Sources
	default:
		return nil, errUnsupported
	}
	out := payload{}
	for i := range sources {
		if err := s.add(ctx, out, &sources[i], ptr.Deref(mode, defaultMode)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// add adds one source of a projected volume. What ConfigMaps say may mention mount paths.
func (s *Set) add(ctx context.Context, out payload, p *corev1.VolumeProjection, mode int32) error {
	pod := s.options.Pod()
	switch {
	case p.ConfigMap != nil && !ptr.Deref(p.ConfigMap.Optional, false):
		object, err := s.options.Client.CoreV1().ConfigMaps(pod.Namespace).Get(ctx, p.ConfigMap.Name,
			metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("reading ConfigMap %q: %w", p.ConfigMap.Name, err)
		}
		return addKeys(out, object.Data, p.ConfigMap.Items, mode, s.table.Rewrite)
	case p.Secret != nil && !ptr.Deref(p.Secret.Optional, false):
		object, err := s.options.Client.CoreV1().Secrets(pod.Namespace).Get(ctx, p.Secret.Name, metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("reading Secret %q: %w", p.Secret.Name, err)
		}
		return addKeys(out, object.Data, p.Secret.Items, mode, func(text string) string { return text })
	case p.DownwardAPI != nil:
		return addFields(out, pod, p.DownwardAPI.Items, mode)
	case p.ServiceAccountToken != nil:
		token, err := s.token(ctx, p.ServiceAccountToken)
		if err != nil {
			return err
		}
		return out.add(p.ServiceAccountToken.Path, token, mode)
	default:
		return errUnsupported
	}
}

// addKeys adds the chosen keys of a ConfigMap or Secret, or all when none is chosen.
func addKeys[T string | []byte](out payload, content map[string]T, items []corev1.KeyToPath, mode int32,
	rewrite func(string) string) error {
	if items == nil {
		for key := range content {
			items = append(items, corev1.KeyToPath{Key: key, Path: key})
		}
	}
	for _, item := range items {
		data, ok := content[item.Key]
		if !ok {
			return fmt.Errorf("it has no key %q", item.Key)
		}
		if err := out.add(item.Path, rewrite(string(data)), ptr.Deref(item.Mode, mode)); err != nil {
			return err
		}
	}
	return nil
}

// addFields adds fields of the pod.
func addFields(out payload, pod *corev1.Pod, items []corev1.DownwardAPIVolumeFile, mode int32) error {
	for _, item := range items {
		if item.FieldRef == nil {
			return fmt.Errorf("reading the pod for %q: virtual nodes support fieldRef only", item.Path)
		}
		value, err := environ.Field(pod, item.FieldRef.FieldPath)
		if err != nil {
			return fmt.Errorf("reading the pod for %q: %w", item.Path, err)
		}
		if err := out.add(item.Path, value, ptr.Deref(item.Mode, mode)); err != nil {
			return err
		}
	}
	return nil
}

// add refuses paths that lead out of the volume. The API server refuses them too; this protects the
// machine when something else stands in for it.
func (p payload) add(name, text string, mode int32) error {
	clean := path.Clean(name)
	if clean == "." || path.IsAbs(clean) || strings.HasPrefix(clean, "..") {
		return fmt.Errorf("the path %q leads out of the volume", name)
	}
	p[clean] = file{[]byte(text), fs.FileMode(mode).Perm()}
	return nil
}
