package generate

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/thalassa-cloud/thalassa-ccm/src/annotation"
)

// foreignPageHead begins the page about annotations of other products.
const foreignPageHead = `# Coming from another cloud

<!-- Made by "make generate" from the table in src/annotation. -->

Manifests that were written for another cloud, or for another program that provides load balancers, have annotations of that product. This
page shows what to write instead. Each annotation on this page that asks for something is reported by an event on the Service and by its
condition ` + "`LoadBalancerConfigValid`" + `, in one of two ways:

* If it **limits who can connect** in the other product, and this cloud can do the same, no port is opened until the Service is corrected, as with
  [a misspelt annotation](annotations.md): what is internal elsewhere does not become public here. Open ports stay open, and do not
  change. On IronCore, the load balancer is not created, or does not change except for its targets. The event is
  [` + "`InvalidAnnotation`" + `](../events/InvalidAnnotation.md), and the [admission policy](../guides/admission-policy.md) can refuse the annotation.
* Any other annotation has no effect. The event is [` + "`UnsupportedSetting`" + `](../events/UnsupportedSetting.md).

An annotation of another product does not count, and there is no event, in these cases:

* The Service has the annotation of this cloud, too: manifests for many clouds work unchanged. For networks that may or may not connect and for
  security groups, ` + "`spec.loadBalancerSourceRanges`" + ` is enough.
* On Thalassa Cloud, ` + "`loadBalancer.defaults`" + ` of the cloud-config file limits who can connect in the same way: ` + "`type: internal`" + ` (or
  ` + "`internal: \"true\"`" + `) for internal load balancers, ` + "`acl-allowed-sources`" + ` for networks that may connect, and ` + "`acl-allowed-sources`" + ` or
  ` + "`security-groups`" + ` for security groups.
* The value asks for nothing: it is empty, or one of those in the column "Ignored values", in upper or lower case. A list of networks that may
  connect is ignored if it contains every address, such as ` + "`0.0.0.0/0,::/0`" + `.

` + "`service.beta.kubernetes.io/load-balancer-source-ranges`" + ` is an annotation of Kubernetes itself. It has the same effect as
` + "`spec.loadBalancerSourceRanges`" + `, if that is empty.

`

// foreignPage makes the page about annotations of other products from the table and the registries of all clouds.
func foreignPage(clouds []annotated) Generator {
	return Generator{Name: "annotations of other products", Files: func(context.Context, string) (map[string][]byte,
		error) {
		return map[string][]byte{"docs/reference/other-clouds.md": []byte(renderForeign(clouds))}, nil
	}}
}

// renderForeign writes a table for each concept.
func renderForeign(clouds []annotated) string {
	var page strings.Builder
	page.WriteString(foreignPageHead)
	for _, concept := range annotation.Concepts() {
		fmt.Fprintf(&page, "## %s\n\n", concept)
		limits := false
		for _, of := range clouds {
			own, _ := of.registry.Replacement(concept)
			fmt.Fprintf(&page, "* On %s: %s.\n", of.cloud, marked(own.Instead))
			limits = limits || of.registry.Enforces(concept)
		}
		if limits {
			page.WriteString("\nThese annotations limit who can connect.\n")
		}
		page.WriteString("\n| Annotation | Of | Ignored values |\n|---|---|---|\n")
		for _, one := range foreignAbout(clouds, concept) {
			name := one.Name
			if annotation.IsFamily(name) {
				name += "…"
			}
			fmt.Fprintf(&page, "| `%s` | %s | %s |\n", name, one.Product, ignored(one))
		}
		page.WriteString("\n")
	}
	return strings.TrimSuffix(page.String(), "\n")
}

// ignored describes the values with which an annotation asks for nothing.
func ignored(one annotation.Foreign) string {
	values := "none"
	if len(one.Harmless) > 0 {
		values = "`" + strings.Join(one.Harmless, "`, `") + "`"
	}
	if one.Empty {
		values += ", and not an empty one"
	}
	if len(one.Unless) > 0 {
		values += "; all, if the Service has `" + strings.Join(one.Unless, "` or `") + "`"
	}
	return values
}

// marked has code in place of the names of annotations and fields.
func marked(text string) string {
	names := regexp.MustCompile(`spec\.\w+|[a-z0-9.-]+\.(?:io|cloud)/[\w-]+…?`)
	return names.ReplaceAllString(cell(text), "`$0`")
}

// foreignAbout returns the annotations about a concept that are another product's in one of the clouds, by product.
func foreignAbout(clouds []annotated, concept annotation.Concept) []annotation.Foreign {
	var found []annotation.Foreign
	for _, of := range clouds {
		for _, one := range of.registry.Foreign() {
			if one.Concept == concept {
				found = append(found, one)
			}
		}
	}
	slices.SortFunc(found, func(a, b annotation.Foreign) int {
		return cmp.Or(cmp.Compare(a.Product, b.Product), cmp.Compare(a.Name, b.Name))
	})
	return slices.CompactFunc(found, func(a, b annotation.Foreign) bool { return a.Name == b.Name })
}
