package simulator

import (
	"encoding/json"
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/managedfields"
)

// node is a part of an OpenAPI schema.
type node map[string]any

func object(properties node) node { return node{"type": "object", "properties": properties} }

func atomic() node { return node{"type": "object", "x-kubernetes-map-type": "atomic"} }

// listBy is a list in which different managers may own elements: those with the same key are the same element.
// Elements that are granular have a manager of each field, and those that are atomic have one.
func listBy(key, elements string) node {
	item := object(node{key: node{"type": "string"}, "networkInterfaceRef": atomic(), "volumeRef": atomic()})
	item["x-kubernetes-map-type"] = elements
	return node{"type": "array", "items": item,
		"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": []string{key}}
}

// mergedBy returns how server-side apply merges the fields of a kind. Fields that are missing here are merged by what
// they contain: each field of a struct or map has its own managers, and a list has one.
func mergedBy(kind string) node {
	ref, named := atomic(), listBy("name", "granular")
	switch kind {
	case "Machine":
		return node{"spec": object(node{
			"machineClassRef": ref, "machinePoolRef": ref, "ignitionRef": ref,
			"networkInterfaces": named, "volumes": named, "efiVars": named,
		})}
	case "NetworkInterface":
		return node{"spec": object(node{"networkRef": ref, "machineRef": ref})}
	case "LoadBalancer":
		return node{"spec": object(node{"networkRef": ref, "networkInterfaceSelector": ref})}
	case "LoadBalancerRouting":
		return node{"networkRef": ref}
	}
	return node{}
}

// schemas returns what knows how server-side apply merges fields.
//
//nolint:gochecknoglobals // Making it takes longer than most tests.
var schemas = sync.OnceValues(func() (managedfields.TypeConverter, error) {
	models := node{}
	for _, k := range kinds() {
		properties := mergedBy(k.Kind)
		if k.HasStatus {
			properties["status"] = object(node{"state": node{"type": "string"}})
		}
		properties["metadata"] = object(node{
			"ownerReferences": listBy("uid", "atomic"),
			"finalizers": node{
				"type": "array", "items": node{"type": "string"}, "x-kubernetes-list-type": "set",
			},
		})
		model := object(properties)
		model["x-kubernetes-group-version-kind"] = []metav1.GroupVersionKind{
			{Group: k.Group, Version: k.Version, Kind: k.Kind},
		}
		models[k.Kind] = model
	}
	return convert(managedfields.NewTypeConverter, models)
})

// convert calls a function with schemas. The type T of schemas is that of a module that this one needs only indirectly.
func convert[T any](
	convert func(models T, preserveUnknownFields bool) (managedfields.TypeConverter, error), from any,
) (managedfields.TypeConverter, error) {
	var models T
	data, err := json.Marshal(from)
	if err == nil {
		err = json.Unmarshal(data, &models)
	}
	if err != nil {
		return nil, fmt.Errorf("converting the schemas of IronCore's kinds: %w", err)
	}
	return convert(models, true)
}
