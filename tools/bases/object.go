package bases

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

const (
	// configKey is what the pods read their configuration from, and the one file of an overlay that is edited.
	configKey = "cloud-config.yaml"
	// checksum is the pods' annotation by which Helm lets them follow the configuration.
	checksum = "checksum/config"
	// clusterFlag is the chart's copy of the cluster's name.
	clusterFlag = "--cluster-name="
)

// helmLabels say that Helm installed an object, which is not so here: an overlay says who did.
func helmLabels() []string { return []string{"helm.sh/chart", "app.kubernetes.io/managed-by"} }

// object is one rendered object, with the comments of its template.
type object struct{ *yaml.RNode }

// parse splits a rendered chart into its objects.
func parse(manifest string) ([]object, error) {
	nodes, err := (&kio.ByteReader{Reader: bytes.NewBufferString(manifest), OmitReaderAnnotations: true}).Read()
	if err != nil {
		return nil, fmt.Errorf("parsing the rendered chart: %w", err)
	}
	objects := make([]object, 0, len(nodes))
	for _, node := range nodes {
		objects = append(objects, object{node})
	}
	return objects, nil
}

// isConfig recognises the ConfigMap of the configuration.
func (o object) isConfig() bool {
	return o.GetKind() == "ConfigMap" && o.GetDataMap()[configKey] != ""
}

// identity is the kind and the name. It is the same for both kinds of workload: a component may change one into the
// other.
func (o object) identity() string {
	kind := o.GetKind()
	if kind == "DaemonSet" || kind == "Deployment" {
		kind = "DaemonSet|Deployment"
	}
	return kind + " " + o.GetName()
}

// adapt leaves out what has no place in Kustomize, and what an overlay says; see the package's comment.
func (o object) adapt(s said) error {
	o.stripSource()
	if err := o.stripSubject(s.subject); err != nil {
		return err
	}
	if err := o.stripNamespace(s.namespace); err != nil {
		return err
	}
	for _, label := range helmLabels() {
		if err := o.PipeE(yaml.Lookup("metadata", "labels"), yaml.Clear(label)); err != nil {
			return err
		}
	}
	template, err := o.Pipe(yaml.Lookup("spec", "template"))
	if err != nil || template == nil {
		return err
	}
	if err := template.PipeE(yaml.Lookup("metadata", "annotations"), yaml.Clear(checksum)); err != nil {
		return err
	}
	return stripFlag(template)
}

// stripSource removes Helm's comment with the name of the template.
func (o object) stripSource() {
	for _, node := range []*yaml.Node{o.Document(), o.YNode(), o.YNode().Content[0]} {
		node.HeadComment = withoutSource(node.HeadComment)
	}
}

// stripSubject empties the name of a subject, which every API server refuses.
func (o object) stripSubject(name string) error {
	subjects, err := o.Pipe(yaml.Lookup("subjects"))
	if err != nil || subjects == nil || name == "" {
		return err
	}
	return subjects.VisitElements(func(subject *yaml.RNode) error {
		field := subject.Field("name")
		if field == nil || field.Value.YNode().Value != name {
			return nil
		}
		return subject.PipeE(yaml.SetField("name", yaml.NewStringRNode("")))
	})
}

// stripNamespace removes the namespace of that name, and the end of names that contain it.
func (o object) stripNamespace(namespace string) error {
	if namespace == "" {
		return nil
	}
	if o.GetNamespace() == namespace {
		return o.PipeE(yaml.Lookup("metadata"), yaml.Clear("namespace"))
	}
	if err := o.SetName(strings.TrimSuffix(o.GetName(), namespace)); err != nil {
		return err
	}
	role, err := o.Pipe(yaml.Lookup("roleRef", "name"))
	if err != nil || role == nil {
		return err
	}
	role.YNode().Value = strings.TrimSuffix(role.YNode().Value, namespace)
	return nil
}

func withoutSource(comment string) string {
	lines := strings.Split(comment, "\n")
	lines = slices.DeleteFunc(lines, func(line string) bool { return strings.HasPrefix(line, "# Source: ") })
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}

// stripFlag removes the chart's copy of the cluster's name from the arguments.
func stripFlag(template *yaml.RNode) error {
	containers, err := template.Pipe(yaml.Lookup("spec", "containers"))
	if err != nil || containers == nil {
		return err
	}
	return containers.VisitElements(func(container *yaml.RNode) error {
		args, err := container.Pipe(yaml.Lookup("args"))
		if err != nil || args == nil {
			return err
		}
		sequence := args.YNode()
		sequence.Content = slices.DeleteFunc(sequence.Content, func(arg *yaml.Node) bool {
			return strings.HasPrefix(arg.Value, clusterFlag)
		})
		return nil
	})
}
