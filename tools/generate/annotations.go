package generate

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/thalassa-cloud/thalassa-ccm/src/annotation"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/balancer"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa"
)

// annotated is a cloud with Service annotations, and what is generated from them.
type annotated struct {
	cloud    string
	registry *annotation.Registry
	source   string // the folder that contains the registry
	policy   string // the file of the admission policy
	page     string // the file of the reference page
	// introduction is what holds for all annotations, and ending what follows them.
	introduction, ending string
	defaults             bool // they can be set for all Services
}

// annotatedClouds are the clouds of this repository.
func annotatedClouds() []annotated {
	return []annotated{
		{cloud: "Thalassa Cloud", registry: thalassa.Annotations(), source: "src/thalassa/balancer",
			policy: "charts/thalassa-ccm/files/admission-policy.yaml", page: "docs/reference/annotations.md",
			introduction: annotationIntroduction, defaults: true},
		{cloud: "IronCore", registry: balancer.Registry(), source: "src/ironcore/balancer",
			policy: "charts/thalassa-ccm/files/admission-policy-ironcore.yaml",
			page:   "docs/reference/annotations-ironcore.md", introduction: ironcoreIntroduction,
			ending: ironcoreEnding},
	}
}

// annotationPage makes the reference page from the registry that also parses the annotations, so that they cannot
// differ.
func annotationPage(of annotated) Generator {
	return Generator{Name: "annotations of " + of.cloud, Files: func(context.Context, string) (map[string][]byte,
		error) {
		return map[string][]byte{of.page: []byte(renderAnnotations(of))}, nil
	}}
}

// annotationHead begins each page.
const annotationHead = `# Service annotations of CLOUD

<!-- Made by "make generate" from the registry in SOURCE. -->

`

// annotationIntroduction is what holds for all annotations of Thalassa Cloud.
const annotationIntroduction = `On IronCore, there are [other annotations](annotations-ironcore.md). [Coming from another cloud](other-clouds.md) lists annotations of
other products, and what replaces them.

All names start with ` + "`PREFIX`" + `. Blanks around a value are ignored.

**Invalid annotations** affect only their own setting. If a value is not allowed, the setting in the cloud does not change, and an event
on the Service reports the annotation. The same applies to a misspelt name and to a port that the Service does not have: the setting that
was probably meant does not change. If an annotation about allowed sources is invalid, no further port is opened, and open ports do not change.
An [admission policy](../guides/admission-policy.md) can refuse invalid annotations when the Service is applied.

**If an annotation is not set**, or is removed, its default applies. An object that this program did not create, because the
existing cloud controller manager made it or a Service adopted it, keeps each value until its Service asks for another.

**Defaults** are in the tables. To change a default for all Services, set ` + "`loadBalancer.defaults`" + ` in the [cloud-config](cloud-config.md).
Its keys are names without the prefix, for example ` + "`idle-connection-timeout: \"600\"`" + `. These defaults apply to load balancers that this program
created. Only annotations with "yes" in the column "For all Services" can have one.

**Per port**: annotations with "yes" in the column "Per port" can also be set for one port of the Service. Append a dot and the port's name or
number. The name takes precedence over the number, and the number over the annotation for all ports:

` + "```yaml" + `
metadata:
  annotations:
    PREFIXmax-connections: "5000"          # every port
    PREFIXmax-connections.https: "20000"   # the port named https
    PREFIXmax-connections.9000: "100"      # the port with the number 9000
` + "```" + `

`

// ironcoreIntroduction is what holds for all annotations of IronCore.
const ironcoreIntroduction = `For Services of clusters on [IronCore](../guides/ironcore.md). On Thalassa Cloud, there are [other annotations](annotations.md).
[Coming from another cloud](other-clouds.md) lists annotations of other products, and what replaces them.

All names start with ` + "`PREFIX`" + `. Blanks around a value are ignored.

**Invalid annotations**: if a value is not allowed, the load balancer is not created. If it exists, only its targets change. The same applies to
a misspelt name that probably means one of these annotations: a load balancer that should be internal never becomes public. An event on the
Service reports the annotation. Other unknown names under the prefix are only reported.
An [admission policy](../guides/admission-policy.md) can refuse invalid annotations when the Service is applied.

`

// ironcoreEnding is about annotations that the controllers read, with the domain of the cloud.
const ironcoreEnding = `## Annotations of Nodes

These can be annotations or labels of a Node. They have the same meaning on each cloud:

| Annotation | Effect |
|---|---|
| ` + "`k8s.ironcore.dev/keep-node`" + ` | The Node is [not deleted](../guides/node-removal.md). |
| ` + "`k8s.ironcore.dev/exclude-from-routes`" + ` | The Node gets [no routes and no pod network](../guides/routes.md). |
| ` + "`k8s.ironcore.dev/node-cidr-mask-size-ipv4`, `k8s.ironcore.dev/node-cidr-mask-size-ipv6`" + ` | The size of [the pod network of the Node](../guides/routes.md#give-nodes-their-networks). |
`

// renderAnnotations writes a table for each topic, in the alphabet's order.
func renderAnnotations(of annotated) string {
	var page strings.Builder
	registry := of.registry
	page.WriteString(strings.NewReplacer("CLOUD", of.cloud, "SOURCE", of.source, "PREFIX", registry.Prefix()).
		Replace(annotationHead + of.introduction))
	for _, topic := range topics(registry) {
		head := of.row("Annotation", "Effect", "Values", "Without it", "Example", "Per port", "For all Services",
			"Since")
		fmt.Fprintf(&page, "## %s\n\n%s|%s\n", topic, head, strings.Repeat("---|", strings.Count(head, "|")-1))
		for _, entry := range registry.Entries() {
			if entry.Topic == topic {
				page.WriteString(of.row("`"+shownName(entry)+"`", cell(entry.Effect), cell(entry.Allowed),
					without(entry), "`"+entry.Example+"`", yes(entry.PerPort || entry.IsFamily()),
					yes(!entry.OneService), entry.Since))
			}
		}
		page.WriteString("\n")
	}
	if declined := registry.Declined(); len(declined) > 0 {
		page.WriteString("## Annotations that are not supported\n\nThese annotations are known from other products. " +
			"An event on the Service reports them:\n\n| Annotation | Message |\n|---|---|\n")
		for _, one := range declined {
			name := one.Name
			if annotation.IsFamily(name) {
				name += "…"
			}
			fmt.Fprintf(&page, "| `%s` | %s |\n", name, cell(one.Why))
		}
	}
	page.WriteString(of.ending)
	return page.String()
}

// row is a row of a table, without the columns that say "no" for all annotations.
func (of annotated) row(name, effect, values, without, example, perPort, forAll, since string) string {
	cells := []string{name, effect, values, without, example}
	if slices.ContainsFunc(of.registry.Entries(), func(e annotation.Entry) bool { return e.PerPort || e.IsFamily() }) {
		cells = append(cells, perPort)
	}
	if of.defaults {
		cells = append(cells, forAll)
	}
	return "| " + strings.Join(append(cells, since), " | ") + " |\n"
}

// topics returns the headings, sorted.
func topics(registry *annotation.Registry) []string {
	var found []string
	for _, entry := range registry.Entries() {
		found = append(found, entry.Topic)
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// without is what holds when a Service does not have the annotation.
func without(entry annotation.Entry) string {
	if entry.Without != "" || entry.Default == "" {
		return cell(entry.Without)
	}
	return "`" + entry.Default + "`"
}

// cell is text that may be in a table.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", ">", "&gt;").Replace(text)
}

func yes(holds bool) string {
	if holds {
		return "yes"
	}
	return "no"
}
