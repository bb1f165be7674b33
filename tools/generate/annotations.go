package generate

import (
	"context"
	"fmt"
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

func renderAnnotations(registry *annotation.Registry) string {
	var page strings.Builder
	fmt.Fprintf(&page, `# Service annotations

<!-- Made by "make generate" from the registry in src/thalassa/annotations.go. -->

All names start with %s. A value that is not allowed blocks only its own setting, which stays as it is in the cloud;
an event on the Service says so. Only with another type than public no port is opened. An
[admission policy](../guides/admission-policy.md) refuses bad values and unknown names when the Service is applied.

| Annotation | Effect | Values | Default | Example | Since |
|---|---|---|---|---|---|
`, "`"+registry.Prefix()+"`")
	for _, entry := range registry.Entries() {
		fmt.Fprintf(&page, "| `%s` | %s | %s | `%s` | `%s` | %s |\n",
			entry.Name, entry.Effect, entry.Allowed, entry.Default, entry.Example, entry.Since)
	}
	return page.String()
}
