package generate

import (
	"context"
	"fmt"
	"strings"

	"github.com/thalassa-cloud/thalassa-ccm/src/config"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/cloudconfig"
)

const (
	// configFile is the reference page of the cloud-config file.
	configFile = "docs/reference/cloud-config.md"
	// configSchemaFile is its JSON schema.
	configSchemaFile = "docs/reference/cloud-config.schema.json"
)

// cloudConfigPages makes reference page and schema from the keys that also check the file, so that they cannot
// differ.
func cloudConfigPages() Generator {
	return Generator{Name: "cloud-config", Files: func(context.Context, string) (map[string][]byte, error) {
		entries, err := config.Describe(cloudconfig.Default(), cloudconfig.Keys())
		if err != nil {
			return nil, err
		}
		schema, err := thalassa.ConfigSchema()
		if err != nil {
			return nil, err
		}
		return map[string][]byte{configFile: []byte(renderConfig(entries)), configSchemaFile: schema}, nil
	}}
}

// shortestConfig is an example in the page; a test reads it as the program does.
const shortestConfig = `organisation: my-organisation
vpcIdentity: vpc-0123456789
cluster: k8s-0123456789
cloudCredentials:
  directory: /etc/thalassa-ccm/credentials
`

const configIntroduction = `# The cloud-config file

<!-- Made by "make generate" from the keys in src/thalassa/cloudconfig/keys.go. -->

The flag ` + "`--cloud-config`" + ` names this file. It contains one YAML (or JSON) document. A minimal file:

` + "```yaml\n" + shortestConfig + "```" + `

Unknown keys and wrong types are refused. All problems are reported at once, each with the path of its key. Text values are not
printed, because they can be secrets. A key that is absent, null or an empty string has its default. To check a file without a
cluster and without calls to the cloud:

` + "```sh" + `
thalassa-cloud-controller-manager validate cloud-config.yaml           # --print also prints the effective configuration, without secrets
thalassa-cloud-controller-manager validate cloud-config.yaml --without-files   # if the files that it refers to are not available
` + "```" + `

Editors can check and complete the file with its [JSON schema](cloud-config.schema.json). The schema does not require keys that
an environment variable can set.

`

const configCredentials = `Set exactly one of ` + "`personalAccessToken`; `clientID` with `clientSecret`; `directory`; `workloadIdentity`" + `. If none is set and the
environment variable ` + "`THALASSA_SERVICE_ACCOUNT_ID`" + ` is set, workload identity is used. The platform's webhook sets this variable in pods with
the label ` + "`thalassa.cloud/wif.use: \"true\"`" + `. To choose a form, see [credentials](../guides/credentials.md).

`

// renderConfig writes a table for the keys at the top, and one for each section.
func renderConfig(entries []config.Entry) string {
	var page strings.Builder
	page.WriteString(configIntroduction)
	for _, section := range sections(entries) {
		fmt.Fprintf(&page, "## %s\n\n", section.heading)
		if section.name == "cloudCredentials" {
			page.WriteString(configCredentials)
		}
		page.WriteString("| Key | Effect | Values | Default | Example | Since |\n|---|---|---|---|---|---|\n")
		for _, entry := range section.entries {
			key := strings.TrimPrefix(entry.Path, section.name+".")
			fmt.Fprintf(&page, "| `%s` | %s | %s | %s | `%s` | %s |\n", key, entry.Effect, entry.Allowed(),
				deflt(entry), entry.Example, entry.Since)
		}
		page.WriteString("\n")
	}
	page.WriteString("## Environment\n\nThese variables set keys that the file does not set:\n\n| Variable | Keys " +
		"|\n|---|---|\n")
	for _, line := range variables(entries) {
		page.WriteString(line)
	}
	page.WriteString("\n`POD_NAME`, `POD_NAMESPACE` and `POD_UID` identify the pod that receives events about " +
		"credentials. The chart sets them. " +
		"If they are not set, these events are only logged.\n")
	return page.String()
}

// section is the keys below one key.
type section struct {
	name, heading string
	entries       []config.Entry
}

// sections cuts the entries where the first part of their path changes; keys without a section come first.
func sections(entries []config.Entry) []section {
	found := []section{{heading: "Top level"}}
	for _, entry := range entries {
		name, _, nested := strings.Cut(entry.Path, ".")
		if !nested {
			found[0].entries = append(found[0].entries, entry)
			continue
		}
		if found[len(found)-1].name != name {
			found = append(found, section{name: name, heading: "`" + name + "`"})
		}
		last := &found[len(found)-1]
		last.entries = append(last.entries, entry)
	}
	return found
}

// deflt is what a table says about the default: a value as code, anything else in words.
func deflt(entry config.Entry) string {
	switch {
	case entry.Required:
		return "required"
	case strings.Contains(entry.Default, " "):
		return entry.Default
	case entry.Default == "":
		return "none"
	}
	return "`" + entry.Default + "`"
}

// variables are the rows of the environment's table, in the order of the keys.
func variables(entries []config.Entry) []string {
	keys := map[string][]string{}
	var order []string
	for _, entry := range entries {
		if entry.Environment == "" {
			continue
		}
		if keys[entry.Environment] == nil {
			order = append(order, entry.Environment)
		}
		keys[entry.Environment] = append(keys[entry.Environment], "`"+entry.Path+"`")
	}
	var rows []string
	for _, variable := range order {
		rows = append(rows, fmt.Sprintf("| `%s` | %s |\n", variable, strings.Join(keys[variable], ", ")))
	}
	return rows
}
