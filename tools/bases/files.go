package bases

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// header begins every generated file; what it is made from follows.
const header = `# Made by "make generate" from %s; do not edit.
`

// baseFiles is the folder of a base: one file per kind of object, the configuration, and the kustomization that lists
// them.
func baseFiles(p Profile, objects []object) (map[string][]byte, error) {
	files := map[string][]byte{}
	mark := fmt.Sprintf(header, p.chartDir()+" and "+p.valuesFile())
	kustomization := map[string]any{"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization"}
	if i := slices.IndexFunc(objects, object.isConfig); i >= 0 {
		config, err := unsaid(objects[i].GetDataMap()[configKey])
		if err != nil {
			return nil, err
		}
		files[path.Join(p.baseDir(), configKey)] = []byte(mark + config)
		kustomization["configMapGenerator"] = []any{generator(objects[i])}
		objects = slices.Delete(slices.Clone(objects), i, i+1)
	}
	resources, err := writeObjects(files, p.baseDir(), mark, objects)
	if err != nil {
		return nil, err
	}
	kustomization["resources"] = resources
	text, err := yaml.Marshal(kustomization)
	if err != nil {
		return nil, fmt.Errorf("encoding the kustomization: %w", err)
	}
	files[path.Join(p.baseDir(), "kustomization.yaml")] = append([]byte(mark), text...)
	return files, nil
}

// writeObjects adds a file per kind of object to files, each beginning with mark, and returns the names of the files.
func writeObjects(files map[string][]byte, dir, mark string, objects []object) (names []string, err error) {
	for _, o := range objects {
		text, err := o.String()
		if err != nil {
			return nil, fmt.Errorf("writing %s %s: %w", o.GetKind(), o.GetName(), err)
		}
		name := strings.ToLower(o.GetKind()) + ".yaml"
		file := path.Join(dir, name)
		if slices.Contains(names, name) {
			files[file] = append(files[file], "---\n"+text...)
			continue
		}
		files[file] = []byte(mark + text)
		names = append(names, name)
	}
	return names, nil
}

// generator makes the ConfigMap of the configuration. An overlay merges its own file into it.
func generator(config object) map[string]any {
	return map[string]any{
		"name": config.GetName(), "namespace": config.GetNamespace(), "files": []string{configKey},
		"options": map[string]any{"labels": config.GetLabels()},
	}
}

// unsaid empties what every installation has to say itself: a base that is applied without it must not run with an
// example.
func unsaid(config string) (string, error) {
	node, err := yaml.Parse(config)
	if err != nil {
		return "", fmt.Errorf("reading the rendered configuration: %w", err)
	}
	keys := []string{"cluster", "organisation", "vpcIdentity"}
	if node.Field("networkName") != nil {
		keys = []string{"clusterName", "networkName"}
	}
	for _, key := range keys {
		if err := node.PipeE(yaml.SetField(key, yaml.NewStringRNode(""))); err != nil {
			return "", fmt.Errorf("emptying %s: %w", key, err)
		}
	}
	return node.String()
}
