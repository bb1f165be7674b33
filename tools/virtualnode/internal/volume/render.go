package volume

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"reflect"
	"strings"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/thalassa-cloud/thalassa-ccm/tools/virtualnode/internal/downward"
)

// errUnsupported is wrapped by errors about volumes that a virtual node cannot provide.
var errUnsupported = errors.New("virtual nodes have configMap, secret, projected (serviceAccountToken, configMap, secret, downwardAPI), downwardAPI and emptyDir volumes only")

// content is what a ConfigMap or Secret holds.
type content struct {
	data map[string][]byte
	// text are the keys whose value may mention mount paths.
	text map[string]bool
}

// render returns what a volume holds at this moment.
func (s *Set) render(ctx context.Context, v *corev1.Volume) (payload, error) {
	out := payload{}
	switch {
	case v.ConfigMap != nil:
		mode := fileMode(v.ConfigMap.DefaultMode)
		return out, s.addConfigMap(ctx, out, v.ConfigMap.Name, v.ConfigMap.Items, isTrue(v.ConfigMap.Optional), mode)
	case v.Secret != nil:
		mode := fileMode(v.Secret.DefaultMode)
		return out, s.addSecret(ctx, out, v.Secret.SecretName, v.Secret.Items, isTrue(v.Secret.Optional), mode)
	case v.DownwardAPI != nil:
		return out, s.addDownward(out, v.DownwardAPI.Items, fileMode(v.DownwardAPI.DefaultMode))
	case v.Projected != nil:
		for i := range v.Projected.Sources {
			if err := s.addProjection(ctx, out, &v.Projected.Sources[i], fileMode(v.Projected.DefaultMode)); err != nil {
				return nil, err
			}
		}
		return out, nil
	default:
		return nil, fmt.Errorf("it is of type %s: %w", kindOf(v.VolumeSource), errUnsupported)
	}
}

func (s *Set) addProjection(ctx context.Context, out payload, p *corev1.VolumeProjection, mode fs.FileMode) error {
	switch {
	case p.ConfigMap != nil:
		return s.addConfigMap(ctx, out, p.ConfigMap.Name, p.ConfigMap.Items, isTrue(p.ConfigMap.Optional), mode)
	case p.Secret != nil:
		return s.addSecret(ctx, out, p.Secret.Name, p.Secret.Items, isTrue(p.Secret.Optional), mode)
	case p.DownwardAPI != nil:
		return s.addDownward(out, p.DownwardAPI.Items, mode)
	case p.ServiceAccountToken != nil:
		token, err := s.token(ctx, p.ServiceAccountToken)
		if err != nil {
			return err
		}
		return out.add(p.ServiceAccountToken.Path, file{[]byte(token), mode})
	default:
		return fmt.Errorf("it projects a %s: %w", kindOf(*p), errUnsupported)
	}
}

func (s *Set) addConfigMap(ctx context.Context, out payload, name string, items []corev1.KeyToPath, optional bool, mode fs.FileMode) error {
	object, err := s.options.Client.CoreV1().ConfigMaps(s.namespace()).Get(ctx, name, metav1.GetOptions{})
	if optional && apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading ConfigMap %q: %w", name, err)
	}
	c := content{map[string][]byte{}, map[string]bool{}}
	for key, value := range object.Data {
		c.data[key] = []byte(value)
		c.text[key] = utf8.ValidString(value)
	}
	maps.Copy(c.data, object.BinaryData)
	if err := s.addItems(out, c, items, optional, mode); err != nil {
		return fmt.Errorf("using ConfigMap %q: %w", name, err)
	}
	return nil
}

func (s *Set) addSecret(ctx context.Context, out payload, name string, items []corev1.KeyToPath, optional bool, mode fs.FileMode) error {
	object, err := s.options.Client.CoreV1().Secrets(s.namespace()).Get(ctx, name, metav1.GetOptions{})
	if optional && apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading Secret %q: %w", name, err)
	}
	if err := s.addItems(out, content{data: object.Data}, items, optional, mode); err != nil {
		return fmt.Errorf("using Secret %q: %w", name, err)
	}
	return nil
}

// addItems adds the chosen keys, or all when none is chosen.
func (s *Set) addItems(out payload, c content, items []corev1.KeyToPath, optional bool, mode fs.FileMode) error {
	if items == nil {
		for key := range c.data {
			items = append(items, corev1.KeyToPath{Key: key, Path: key})
		}
	}
	for _, item := range items {
		data, ok := c.data[item.Key]
		if !ok && optional {
			continue
		}
		if !ok {
			return fmt.Errorf("it has no key %q", item.Key)
		}
		if c.text[item.Key] {
			data = []byte(s.table.Rewrite(string(data)))
		}
		if err := out.add(item.Path, file{data, itemMode(item.Mode, mode)}); err != nil {
			return err
		}
	}
	return nil
}

func (s *Set) addDownward(out payload, items []corev1.DownwardAPIVolumeFile, mode fs.FileMode) error {
	for _, item := range items {
		value, err := s.downward(&item)
		if err != nil {
			return fmt.Errorf("reading the pod for %q: %w", item.Path, err)
		}
		if err := out.add(item.Path, file{[]byte(value), itemMode(item.Mode, mode)}); err != nil {
			return err
		}
	}
	return nil
}

func (s *Set) downward(item *corev1.DownwardAPIVolumeFile) (string, error) {
	pod := s.options.Pod()
	if item.FieldRef != nil {
		return downward.Field(pod, item.FieldRef.FieldPath)
	}
	if item.ResourceFieldRef == nil {
		return "", errors.New("it refers to nothing")
	}
	for i := range pod.Spec.Containers {
		if pod.Spec.Containers[i].Name == item.ResourceFieldRef.ContainerName {
			return downward.Resource(&pod.Spec.Containers[i], s.options.Node, item.ResourceFieldRef)
		}
	}
	return "", fmt.Errorf("no container is called %q", item.ResourceFieldRef.ContainerName)
}

// add refuses paths that lead out of the volume. The API server refuses them too; this guards the
// machine when something else stands in for it.
func (p payload) add(name string, f file) error {
	clean := path.Clean(name)
	if clean == "." || path.IsAbs(clean) || strings.HasPrefix(clean, "..") {
		return fmt.Errorf("the path %q leads out of the volume", name)
	}
	p[clean] = f
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

// fileMode is the default mode of a volume's files.
func fileMode(mode *int32) fs.FileMode { return itemMode(mode, 0o644) }

func itemMode(mode *int32, fallback fs.FileMode) fs.FileMode {
	if mode == nil {
		return fallback
	}
	return fs.FileMode(*mode).Perm()
}

func isTrue(b *bool) bool { return b != nil && *b }
