// Package charttest holds the tests of the Helm charts and of the manifests under
// examples: what they render, what they refuse, what they may never contain, and
// that a real API server on loopback accepts them. No test needs a network. The
// golden renders under testdata are one per values file in the chart's ci folder;
// after a change of the chart,
//
//	go test ./charttest -run Golden -update
//
// writes them anew, and their diff is to be read like code.
package charttest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"k8s.io/apimachinery/pkg/runtime"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

// Decode reads a YAML stream of Kubernetes objects into their Go types, in the
// order of the stream. An unknown kind, an unknown field and a field given twice
// are errors: the API server would drop them without a word.
func Decode(manifest string) ([]runtime.Object, error) {
	reader := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(manifest)))
	decoder, err := decoder()
	if err != nil {
		return nil, err
	}
	var objects []runtime.Object
	for number := 1; ; number++ {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading document %d of the manifest: %w", number, err)
		}
		object, err := decodeDocument(decoder, document)
		if err != nil {
			return nil, fmt.Errorf("decoding document %d of the manifest: %w", number, err)
		}
		if object != nil {
			objects = append(objects, object)
		}
	}
}

// decoder decodes the kinds. It is made once.
//
//nolint:gochecknoglobals // see above
var decoder = sync.OnceValues(func() (runtime.Decoder, error) {
	types, err := kinds()
	if err != nil {
		return nil, err
	}
	return serializer.NewCodecFactory(types, serializer.EnableStrict).UniversalDeserializer(), nil
})

// kinds are those of Kubernetes and of Prometheus Operator, and SnapshotClass.
func kinds() (*runtime.Scheme, error) {
	types := runtime.NewScheme()
	if err := errors.Join(scheme.AddToScheme(types), monitoringv1.AddToScheme(types)); err != nil {
		return nil, fmt.Errorf("registering kinds: %w", err)
	}
	types.AddKnownTypeWithName(runtimeschema.GroupVersionKind{Group: "snapshot.storage.k8s.io", Version: "v1",
		Kind: "VolumeSnapshotClass"}, &SnapshotClass{})
	return types, nil
}

// decodeDocument returns nil for a document without content, such as one that
// holds nothing but comments.
func decodeDocument(decoder runtime.Decoder, document []byte) (runtime.Object, error) {
	data, err := yaml.YAMLToJSON(document)
	if err != nil {
		return nil, err
	}
	if bytes.Equal(data, []byte("null")) {
		return nil, nil
	}
	object, _, err := decoder.Decode(document, nil, nil)
	return object, err
}

// Documents cuts a manifest at what Helm puts between objects: its majors put different numbers of empty lines there.
func Documents(manifest string) []string {
	var found []string
	for document := range strings.SplitSeq("\n"+manifest, "\n---\n") {
		if document = strings.TrimSpace(document); document != "" {
			found = append(found, document)
		}
	}
	return found
}
