package generate

import (
	"context"
	"fmt"
	"strings"

	"github.com/thalassa-cloud/thalassa-ccm/src/configfile"
	ironcoreconfig "github.com/thalassa-cloud/thalassa-ccm/src/ironcore/cloudconfig"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/cloudconfig"
)

// configured is a cloud with a cloud-config file, and what is generated from its keys.
type configured struct {
	cloud    string
	defaults any // a configuration
	keys     []configfile.Key
	schema   func() ([]byte, error)
	// page and schemaFile are the files of the reference page and of the JSON schema.
	page, schemaFile string
	introduction     string
	// notes are about sections, by their names.
	notes map[string]string
	// ending follows the table of variables of the environment.
	ending string
}

// configuredClouds are the clouds of this repository.
func configuredClouds() []configured {
	return []configured{
		{cloud: "Thalassa Cloud", defaults: cloudconfig.Default(), keys: cloudconfig.Keys(),
			schema: thalassa.ConfigSchema, page: "docs/reference/cloud-config.md",
			schemaFile: "docs/reference/cloud-config.schema.json", introduction: configIntroduction,
			notes: map[string]string{"cloudCredentials": configCredentials}, ending: configEnding},
		{cloud: "IronCore", defaults: ironcoreconfig.Default(), keys: ironcoreconfig.Keys(),
			schema: ironcoreconfig.Schema, page: "docs/reference/cloud-config-ironcore.md",
			schemaFile:   "docs/reference/cloud-config-ironcore.schema.json",
			introduction: ironcoreConfigIntroduction},
	}
}

// cloudConfigPages makes reference page and schema from the keys that also check the file, so that they cannot
// differ.
func cloudConfigPages(of configured) Generator {
	return Generator{Name: "cloud-config of " + of.cloud, Files: func(context.Context, string) (map[string][]byte,
		error) {
		entries, err := configfile.Describe(of.defaults, of.keys)
		if err != nil {
			return nil, err
		}
		schema, err := of.schema()
		if err != nil {
			return nil, err
		}
		return map[string][]byte{of.page: []byte(renderConfig(of, entries)), of.schemaFile: schema}, nil
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

For Thalassa Cloud. On IronCore, the file has [other keys](cloud-config-ironcore.md).

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

const configEnding = "\n`POD_NAME`, `POD_NAMESPACE` and `POD_UID` identify the pod that receives events about " +
	"credentials. The chart sets them. If they are not set, these events are only logged.\n"

// shortestIronCoreConfig is an example in the page; a test reads it as the program does.
const shortestIronCoreConfig = `networkName: nodes
clusterName: blue
`

const ironcoreConfigIntroduction = `# The cloud-config file on IronCore

<!-- Made by "make generate" from the keys in src/ironcore/cloudconfig/keys.go. -->

For clusters on [IronCore](../guides/ironcore.md). On Thalassa Cloud, the file has [other keys](cloud-config.md).

The flag ` + "`--cloud-config`" + ` names this file. It contains one YAML (or JSON) document. A minimal file:

` + "```yaml\n" + shortestIronCoreConfig + "```" + `

The flag ` + "`--ironcore-kubeconfig`" + ` names the file with the address and the credentials of the IronCore API. No key can be set by an environment
variable.

Unknown keys and wrong types are refused. All problems are reported at once, each with the path of its key. A key that is absent, null or an empty
string has its default. To check a file without a cluster and without calls to the cloud:

` + "```sh" + `
thalassa-cloud-controller-manager validate --cloud-provider=ironcore cloud-config.yaml   # --print also prints the effective configuration
` + "```" + `

Editors can check and complete the file with its [JSON schema](cloud-config-ironcore.schema.json).

`

// renderConfig writes a table for the keys at the top, and one for each section.
func renderConfig(of configured, entries []configfile.Entry) string {
	var page strings.Builder
	page.WriteString(of.introduction)
	for i, section := range sections(entries) {
		if i > 0 {
			page.WriteString("\n")
		}
		fmt.Fprintf(&page, "## %s\n\n%s", section.heading, of.notes[section.name])
		page.WriteString("| Key | Effect | Values | Default | Example | Since |\n|---|---|---|---|---|---|\n")
		for _, entry := range section.entries {
			key := strings.TrimPrefix(entry.Path, section.name+".")
			fmt.Fprintf(&page, "| `%s` | %s | %s | %s | `%s` | %s |\n", key, entry.Effect, entry.Allowed(),
				deflt(entry), entry.Example, entry.Since)
		}
	}
	if rows := variables(entries); len(rows) > 0 {
		page.WriteString("\n## Environment\n\nThese variables set keys that the file does not set:\n\n| Variable | " +
			"Keys |\n|---|---|\n" + strings.Join(rows, ""))
	}
	page.WriteString(of.ending)
	return page.String()
}

// section is the keys below one key.
type section struct {
	name, heading string
	entries       []configfile.Entry
}

// sections cuts the entries where the first part of their path changes; keys without a section come first.
func sections(entries []configfile.Entry) []section {
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
func deflt(entry configfile.Entry) string {
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
func variables(entries []configfile.Entry) []string {
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
