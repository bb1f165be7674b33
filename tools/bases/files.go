package bases

import (
	"fmt"
	"path"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// header begins every generated file; what it is made from follows.
const header = `# Made by "make generate" from %s; do not edit.
`

// baseFiles is the folder of a base: one file per kind of object, the configuration, and the kustomization that lists them.
func baseFiles(p Profile, objects []object) (map[string][]byte, error) {
	files := map[string][]byte{}
	mark := fmt.Sprintf(header, chartDir+" and "+p.valuesFile())
	kustomization := map[string]any{"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization"}
	var resources []string
	for _, o := range objects {
		if o.isConfig() {
			config, err := unsaid(o.GetDataMap()[configKey])
			if err != nil {
				return nil, err
			}
			files[path.Join(p.baseDir(), configKey)] = []byte(mark + config)
			kustomization["configMapGenerator"] = []any{generator(o)}
			continue
		}
		text, err := o.String()
		if err != nil {
			return nil, fmt.Errorf("writing %s %s: %w", o.GetKind(), o.GetName(), err)
		}
		resources = add(files, p.baseDir(), strings.ToLower(o.GetKind())+".yaml", mark, text, resources)
	}
	kustomization["resources"] = resources
	text, err := yaml.Marshal(kustomization)
	if err != nil {
		return nil, fmt.Errorf("encoding the kustomization: %w", err)
	}
	files[path.Join(p.baseDir(), "kustomization.yaml")] = append([]byte(mark), text...)
	return files, nil
}

// add puts an object into the file of its kind and returns the names of all files.
func add(files map[string][]byte, dir, name, mark, text string, names []string) []string {
	file := path.Join(dir, name)
	if _, more := files[file]; more {
		files[file] = append(files[file], "---\n"+text...)
		return names
	}
	files[file] = []byte(mark + text)
	return append(names, name)
}

// generator makes the ConfigMap of the configuration. An overlay merges its own file into it.
func generator(config object) map[string]any {
	return map[string]any{
		"name": config.GetName(), "namespace": config.GetNamespace(), "files": []string{configKey},
		"options": map[string]any{"labels": config.GetLabels()},
	}
}

// unsaid empties what every installation has to say itself: a base that is applied without it must not run with an example.
func unsaid(config string) (string, error) {
	node, err := yaml.Parse(config)
	if err != nil {
		return "", fmt.Errorf("reading the rendered configuration: %w", err)
	}
	for _, key := range []string{"cluster", "organisation", "vpcIdentity"} {
		if err := node.PipeE(yaml.SetField(key, yaml.NewStringRNode(""))); err != nil {
			return "", fmt.Errorf("emptying %s: %w", key, err)
		}
	}
	return node.String()
}
