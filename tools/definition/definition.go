// Package definition adds custom resource definitions to an API server.
//
//	err := definition.Install(ctx, config, definitions)
package definition

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/thalassa-cloud/thalassa-ccm/tools/poll"
)

// Install adds the definitions in a stream of YAML documents that do not exist, and waits until all are served.
func Install(ctx context.Context, config *rest.Config, stream []byte) error {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("making a client for definitions: %w", err)
	}
	all, err := decode(stream)
	if err != nil {
		return err
	}
	resource := client.Resource(schema.GroupVersionResource{
		Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	for _, one := range all {
		_, err := resource.Create(ctx, one, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("adding the definition %s: %w", one.GetName(), err)
		}
	}
	for _, one := range all {
		err := poll.Limits{Every: 50 * time.Millisecond, For: time.Minute}.Until(ctx, one.GetName()+" is served",
			func(ctx context.Context) error { return served(ctx, resource, one.GetName()) })
		if err != nil {
			return err
		}
	}
	return nil
}

// decode returns the objects in a stream of YAML documents.
func decode(stream []byte) ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(stream), 4096); ; {
		one := &unstructured.Unstructured{}
		err := decoder.Decode(one)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("decoding definitions: %w", err)
		}
		all = append(all, one)
	}
}

// errNotServed means that a definition is not in use yet.
var errNotServed = errors.New("its condition Established is not True")

func served(ctx context.Context, definitions dynamic.ResourceInterface, name string) error {
	one, err := definitions.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	conditions, _, err := unstructured.NestedSlice(one.Object, "status", "conditions")
	if err != nil {
		return err
	}
	for _, condition := range conditions {
		c, _ := condition.(map[string]any)
		if c["type"] == "Established" && c["status"] == "True" {
			return nil
		}
	}
	return errNotServed
}
