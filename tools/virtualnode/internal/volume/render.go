package volume

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/thalassa-cloud/thalassa-ccm/tools/virtualnode/internal/environ"
)

// errUnsupported is wrapped by errors about volumes that a virtual node cannot provide.
var errUnsupported = errors.New("virtual nodes have configMap, secret and projected (serviceAccountToken, configMap, " +
	"secret, downwardAPI) volumes only")

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
		return nil, fmt.Errorf("it is of type %s: %w", kindOf(v.VolumeSource), errUnsupported)
	}
	out := payload{}
	for i := range sources {
		if err := s.add(ctx, out, &sources[i], ptr.Deref(mode, defaultMode)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// add adds one source of a projected volume.
func (s *Set) add(ctx context.Context, out payload, p *corev1.VolumeProjection, mode int32) error {
	pod := s.options.Pod()
	switch {
	case p.ConfigMap != nil:
		from := object{Namespace: pod.Namespace, Name: p.ConfigMap.Name,
			Optional: ptr.Deref(p.ConfigMap.Optional, false)}
		return s.addObject(ctx, out, from, p.ConfigMap.Items, mode)
	case p.Secret != nil:
		from := object{Secret: true, Namespace: pod.Namespace, Name: p.Secret.Name,
			Optional: ptr.Deref(p.Secret.Optional, false)}
		return s.addObject(ctx, out, from, p.Secret.Items, mode)
	case p.DownwardAPI != nil:
		return addFields(out, pod, p.DownwardAPI.Items, mode)
	case p.ServiceAccountToken != nil:
		token, err := s.token(ctx, p.ServiceAccountToken)
		if err != nil {
			return err
		}
		return out.add(p.ServiceAccountToken.Path, token, mode)
	default:
		return fmt.Errorf("it projects a %s: %w", kindOf(*p), errUnsupported)
	}
}

// addObject adds the chosen keys of a ConfigMap or Secret, or all when none is chosen. ConfigMaps may
// mention mount paths.
func (s *Set) addObject(ctx context.Context, out payload, from object, items []corev1.KeyToPath,
	mode int32) error {
	content, err := from.data(ctx, s.options.Client)
	if err != nil {
		return err
	}
	if items == nil {
		for key := range content {
			items = append(items, corev1.KeyToPath{Key: key, Path: key})
		}
	}
	for _, item := range items {
		data, ok := content[item.Key]
		if !ok && from.Optional {
			continue
		}
		if !ok {
			return fmt.Errorf("using %s: it has no key %q", from, item.Key)
		}
		text := string(data)
		if !from.Secret {
			text = s.table.Rewrite(text)
		}
		if err := out.add(item.Path, text, ptr.Deref(item.Mode, mode)); err != nil {
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

// kindOf returns the name of the field that is set in a union such as corev1.VolumeSource.
func kindOf(union any) string {
	value := reflect.ValueOf(union)
	for i := range value.NumField() {
		if field := value.Field(i); field.Kind() == reflect.Pointer && !field.IsNil() {
			name, _, _ := strings.Cut(value.Type().Field(i).Tag.Get("json"), ",")
			return name
		}
	}
	return "nothing"
}
