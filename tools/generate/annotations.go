package generate

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/thalassa-cloud/thalassa-ccm/src/annotation"
)

// annotationFile is the reference page of the Service annotations.
const annotationFile = "docs/reference/annotations.md"

// annotationPage makes the reference page from the registry that also parses the annotations, so that they cannot
// differ.
func annotationPage(registry *annotation.Registry) Generator {
	return Generator{Name: "annotations", Files: func(context.Context, string) (map[string][]byte, error) {
		return map[string][]byte{annotationFile: []byte(renderAnnotations(registry))}, nil
	}}
}

// annotationIntroduction is what holds for all annotations.
const annotationIntroduction = `# Service annotations

<!-- Made by "make generate" from the registry in src/thalassa/balancer. -->

All names start with ` + "`PREFIX`" + `. Blanks around a value are ignored.

**Invalid annotations** affect only their own setting. If a value is not allowed, the setting in the cloud does not change, and an event
on the Service reports the annotation. The same applies to a misspelt name and to a port that the Service does not have: the setting that
was probably meant does not change. If an annotation about allowed sources is invalid, no further port is opened, and open ports do not change.
An [admission policy](../guides/admission-policy.md) can refuse invalid annotations when the Service is applied.

**If an annotation is not set**, or is removed, its default applies. If a load balancer was taken over from the existing cloud controller
manager, the defaults of that manager apply, and settings that it does not manage do not change: allowed sources, security
groups, reserved IP, subnet, name, size and delete protection. An adopted load balancer keeps every setting that its Service does not set.

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

// renderAnnotations writes a table for each topic, in the alphabet's order.
func renderAnnotations(registry *annotation.Registry) string {
	var page strings.Builder
	page.WriteString(strings.ReplaceAll(annotationIntroduction, "PREFIX", registry.Prefix()))
	for _, topic := range topics(registry) {
		fmt.Fprintf(&page, "## %s\n\n", topic)
		page.WriteString("| Annotation | Effect | Values | Without it | Example | Per port | For all Services | " +
			"Since |\n|---|---|---|---|---|---|---|---|\n")
		for _, entry := range registry.Entries() {
			if entry.Topic == topic {
				fmt.Fprintf(&page, "| `%s` | %s | %s | %s | `%s` | %s | %s | %s |\n", shownName(entry),
					cell(entry.Effect), cell(entry.Allowed), without(entry),
					entry.Example, yes(entry.PerPort || entry.IsFamily()), yes(!entry.OneService), entry.Since)
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
	return page.String()
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
