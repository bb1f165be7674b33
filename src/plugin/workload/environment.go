package workload

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// reference is $(NAME) in a flag or a variable, or $$, which stands for $.
var reference = regexp.MustCompile(`\$\$|\$\(([^)]+)\)`)

// Process is what the process of the workload has.
type Process struct {
	// Args are the flags, with the values of environment variables that they refer to. Flags that refer to a value that
	// only the pod has, such as the address of its node, are left out.
	Args []string
	// Environment contains the mounted files and the environment variables.
	Environment cloud.Environment
}

// Process reads the environment variables of the workload. Files are read when they are opened, until ctx ends. The
// error is that a ConfigMap or Secret with variables cannot be read.
func (w *Workload) Process(ctx context.Context) (Process, error) {
	objects := &objects{workload: w, content: map[string]map[string][]byte{}}
	variables, err := w.variables(ctx, objects)
	if err != nil {
		return Process{}, err
	}
	var args []string
	// Without a command, the image has one. The first word of a command is the executable.
	for _, arg := range slices.Concat(w.Container.Command[min(1, len(w.Container.Command)):], w.Container.Args) {
		expanded, complete := expand(arg, variables)
		switch last := len(args) - 1; {
		case complete:
			args = append(args, expanded)
		case !strings.HasPrefix(arg, "-") && last >= 0: // the value of the flag before it
			args = args[:last]
		}
	}
	return Process{Args: args, Environment: cloud.Environment{
		Files:    files{ctx: ctx, workload: w, objects: objects},
		Variable: func(name string) string { return variables[name] },
	}}, nil
}

// expand replaces the references in a flag, and reports whether all are known.
func expand(arg string, variables map[string]string) (expanded string, complete bool) {
	complete = true
	expanded = reference.ReplaceAllStringFunc(arg, func(found string) string {
		if found == "$$" {
			return "$"
		}
		value, known := variables[reference.FindStringSubmatch(found)[1]]
		complete = complete && known
		return value
	})
	return expanded, complete
}

// variables returns the environment variables that do not depend on the pod.
func (w *Workload) variables(ctx context.Context, objects *objects) (map[string]string, error) {
	found := map[string]string{}
	for _, source := range w.Container.EnvFrom {
		var content map[string][]byte
		var err error
		switch {
		case source.SecretRef != nil:
			content, err = objects.read(ctx, "Secret", source.SecretRef.Name, isTrue(source.SecretRef.Optional))
		case source.ConfigMapRef != nil:
			content, err = objects.read(ctx, "ConfigMap", source.ConfigMapRef.Name,
				isTrue(source.ConfigMapRef.Optional))
		}
		if err != nil {
			return nil, err
		}
		for key, value := range content {
			found[source.Prefix+key] = string(value)
		}
	}
	for _, one := range w.Container.Env {
		value, known, err := valueOf(ctx, objects, one)
		if err != nil {
			return nil, fmt.Errorf("reading the environment variable %s: %w", one.Name, err)
		}
		if known && one.ValueFrom == nil {
			value, known = expand(value, found)
		}
		if known {
			found[one.Name] = value
		}
	}
	return found, nil
}

// valueOf returns the value of a variable. It is not known if only the pod has it.
func valueOf(ctx context.Context, objects *objects, one corev1.EnvVar) (value string, known bool, err error) {
	from := one.ValueFrom
	if from == nil {
		return one.Value, true, nil
	}
	var content map[string][]byte
	var key string
	switch {
	case from.SecretKeyRef != nil:
		key = from.SecretKeyRef.Key
		content, err = objects.read(ctx, "Secret", from.SecretKeyRef.Name, isTrue(from.SecretKeyRef.Optional))
	case from.ConfigMapKeyRef != nil:
		key = from.ConfigMapKeyRef.Key
		content, err = objects.read(ctx, "ConfigMap", from.ConfigMapKeyRef.Name, isTrue(from.ConfigMapKeyRef.Optional))
	}
	text, known := content[key]
	return string(text), known, err
}

func isTrue(value *bool) bool { return value != nil && *value }

// objects reads Secrets and ConfigMaps of the namespace of the workload, each once.
type objects struct {
	workload *Workload
	content  map[string]map[string][]byte
}

// read returns the content of an object by key. An optional object need not exist.
func (o *objects) read(ctx context.Context, kind, name string, optional bool) (map[string][]byte, error) {
	id := kind + "/" + name
	if content, known := o.content[id]; known {
		return content, nil
	}
	content, err := o.get(ctx, kind, name)
	switch {
	case apierrors.IsNotFound(err) && optional:
		content = map[string][]byte{}
	case apierrors.IsForbidden(err):
		return nil, fmt.Errorf("%w: the cloud controller manager reads its configuration from this %s. Ask for the "+
			"permission to get it, or pass --cloud-config=FILE with a configuration and credentials of your own", err,
			kind)
	case err != nil:
		return nil, fmt.Errorf("reading %s %s/%s: %w", kind, o.workload.Namespace, name, err)
	}
	o.content[id] = content
	return content, nil
}

func (o *objects) get(ctx context.Context, kind, name string) (map[string][]byte, error) {
	core := o.workload.client.CoreV1()
	if kind == "Secret" {
		secret, err := core.Secrets(o.workload.Namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		return secret.Data, nil
	}
	one, err := core.ConfigMaps(o.workload.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	content := map[string][]byte{}
	for key, text := range one.Data {
		content[key] = []byte(text)
	}
	maps.Copy(content, one.BinaryData)
	return content, nil
}

// files are the mounted files of the workload.
type files struct {
	ctx      context.Context //nolint:containedctx // the files of a process need no context, so cloud.Files has none
	workload *Workload
	objects  *objects
}

// Open implements cloud.Files.
func (f files) Open(name string) (io.ReadCloser, error) {
	directory, mounted, err := f.directoryOf(name)
	if err != nil {
		return nil, err
	}
	content, exists := directory[mounted]
	if !exists {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return io.NopCloser(strings.NewReader(string(content))), nil
}

// Resolve implements cloud.Files: the content of an object is read once.
func (f files) Resolve(directory string) (string, error) {
	_, _, err := f.directoryOf(path.Join(directory, "any"))
	return directory, err
}

// directoryOf returns the files of the mount that a path is in, and the path in it.
func (f files) directoryOf(name string) (content map[string][]byte, relative string, err error) {
	name = path.Clean(name)
	var mount corev1.VolumeMount
	for _, one := range f.workload.Container.VolumeMounts {
		inside := name == path.Clean(one.MountPath) || strings.HasPrefix(name, path.Clean(one.MountPath)+"/")
		if inside && len(one.MountPath) > len(mount.MountPath) {
			mount = one
		}
	}
	i := slices.IndexFunc(f.workload.pod.Volumes, func(v corev1.Volume) bool { return v.Name == mount.Name })
	if mount.Name == "" || i < 0 {
		return nil, "", fmt.Errorf("%s is not in a mounted volume of %s, so that only its pod has it: pass "+
			"--cloud-config=FILE with a configuration and credentials of your own", name, f.workload)
	}
	relative = path.Join(mount.SubPath, strings.TrimPrefix(strings.TrimPrefix(name, path.Clean(mount.MountPath)), "/"))
	content, err = f.volume(f.workload.pod.Volumes[i])
	return content, relative, err
}

// volume returns the files of a volume, by their path in it.
func (f files) volume(v corev1.Volume) (map[string][]byte, error) {
	switch {
	case v.Secret != nil:
		return f.project("Secret", v.Secret.SecretName, v.Secret.Items, v.Secret.Optional)
	case v.ConfigMap != nil:
		return f.project("ConfigMap", v.ConfigMap.Name, v.ConfigMap.Items, v.ConfigMap.Optional)
	case v.Projected == nil:
		return nil, fmt.Errorf("volume %s of %s is on the node of its pod: pass --cloud-config=FILE with a "+
			"configuration and credentials of your own", v.Name, f.workload)
	}
	all := map[string][]byte{}
	for _, source := range v.Projected.Sources {
		var content map[string][]byte
		var err error
		switch {
		case source.Secret != nil:
			content, err = f.project("Secret", source.Secret.Name, source.Secret.Items, source.Secret.Optional)
		case source.ConfigMap != nil:
			content, err = f.project("ConfigMap", source.ConfigMap.Name, source.ConfigMap.Items,
				source.ConfigMap.Optional)
		case source.ServiceAccountToken != nil:
			err = fmt.Errorf("volume %s of %s has a token that only its pod gets (workload identity): pass "+
				"--cloud-config=FILE with a configuration and credentials of your own", v.Name, f.workload)
		}
		if err != nil {
			return nil, err
		}
		maps.Copy(all, content)
	}
	return all, nil
}

// project returns the files that a volume makes of an object.
func (f files) project(kind, name string, items []corev1.KeyToPath, optional *bool) (map[string][]byte, error) {
	content, err := f.objects.read(f.ctx, kind, name, isTrue(optional))
	if err != nil || len(items) == 0 {
		return content, err
	}
	projected := map[string][]byte{}
	for _, item := range items {
		if text, exists := content[item.Key]; exists {
			projected[item.Path] = text
		}
	}
	return projected, nil
}
