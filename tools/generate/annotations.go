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

// annotationPage makes the reference page from the registry that also parses the annotations, so that neither can lie.
func annotationPage(registry *annotation.Registry) Generator {
	return Generator{Name: "annotations", Files: func(context.Context, string) (map[string][]byte, error) {
		return map[string][]byte{annotationFile: []byte(renderAnnotations(registry))}, nil
	}}
}

// annotationIntroduction is what holds for all annotations.
const annotationIntroduction = `# Service annotations

<!-- Made by "make generate" from the registry in src/thalassa/annotations_register.go. -->

All names start with ` + "`PREFIX`" + `. Blanks around a value do not matter.

**What cannot be used** blocks only its own setting: a value that is not allowed leaves that setting in the cloud as it is, and an event
on the Service says so. So does a name that is misspelt, or about a port that the Service does not have, for the setting that is probably
meant. Where it restricts who may reach the Service, no further port is opened, and ports that are open stay as they are.
An [admission policy](../guides/admission-policy.md) refuses bad values and unknown names when the Service is applied.

**Without an annotation**, and when it is removed, its default holds. On a load balancer that was taken over from the existing cloud
controller manager that manager's defaults hold, and what it would not have touched stays as it was found: allowed sources, security
groups, reserved IP, subnet, name, size, delete protection. An adopted load balancer keeps everything that its Service does not speak about.

**Defaults** are those of the table, unless ` + "`loadBalancer.defaults`" + ` of the [cloud-config](cloud-config.md) says otherwise, which counts for
load balancers that this program has made: a mapping of names without the prefix, like ` + "`idle-connection-timeout: \"600\"`" + `. Annotations about one Service only cannot be there.

**Per port**: the annotations that say so may also be given for one port of the Service, by its name or its number after a dot. The name
wins over the number, and that over the annotation for all ports:

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
		page.WriteString("| Annotation | Effect | Values | Without it | Example | Per port | For all Services | Since |\n|---|---|---|---|---|---|---|---|\n")
		for _, entry := range registry.Entries() {
			if entry.Topic == topic {
				fmt.Fprintf(&page, "| `%s` | %s | %s | %s | `%s` | %s | %s | %s |\n", shownName(entry), cell(entry.Effect), cell(entry.Allowed), without(entry),
					entry.Example, yes(entry.PerPort || entry.IsFamily()), yes(!entry.OneService), entry.Since)
			}
		}
		page.WriteString("\n")
	}
	if declined := registry.Declined(); len(declined) > 0 {
		page.WriteString("## What there is not\n\nAnnotations that people know from elsewhere, and what is said of them:\n\n| Annotation | Answer |\n|---|---|\n")
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
