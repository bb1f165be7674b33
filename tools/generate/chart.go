package generate

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"

	ironcore "github.com/thalassa-cloud/thalassa-ccm/src/ironcore/cloudconfig"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa"
	"github.com/thalassa-cloud/thalassa-ccm/tools/chartvalues"
	"sigs.k8s.io/yaml"
)

// charts are the names of the charts.
func charts() []string { return []string{"thalassa-ccm", "thalassa-csi"} }

// chartFolder is where a chart is, below the root.
func chartFolder(name string) string { return path.Join("charts", name) }

// chartFiles makes a chart's schema and the table in its README from the comments in its values.yaml. What the keys
// under cloudConfig take comes from the program that reads them.
func chartFiles(name string) Generator {
	return Generator{Name: "values of " + name, Files: func(_ context.Context, root string) (map[string][]byte, error) {
		folder := filepath.Join(root, filepath.FromSlash(chartFolder(name)))
		text, err := os.ReadFile(filepath.Join(folder, "values.yaml"))
		if err != nil {
			return nil, fmt.Errorf("reading the chart's values: %w", err)
		}
		page, err := os.ReadFile(filepath.Join(folder, "README.md"))
		if err != nil {
			return nil, fmt.Errorf("reading the chart's README: %w", err)
		}
		removed, err := os.ReadFile(filepath.Join(folder, "removed.yaml"))
		if err != nil {
			return nil, fmt.Errorf("reading the chart's removed values: %w", err)
		}
		return renderChart(name, text, page, removed)
	}}
}

// renderChart returns the files by their paths.
func renderChart(name string, text, page, removed []byte) (map[string][]byte, error) {
	values, err := chartvalues.Parse(text)
	if err != nil {
		return nil, err
	}
	if err := yaml.Unmarshal(removed, &values.Removed); err != nil {
		return nil, fmt.Errorf("reading the chart's removed values: %w", err)
	}
	rules, err := cloudConfigRules()
	if err != nil {
		return nil, err
	}
	schema, err := values.Schema("Values of the "+name+" chart", rules)
	if err != nil {
		return nil, err
	}
	readme, err := values.Insert(page)
	if err != nil {
		return nil, err
	}
	return map[string][]byte{
		path.Join(chartFolder(name), "values.schema.json"): schema,
		path.Join(chartFolder(name), "README.md"):          readme,
	}, nil
}

// node is the part of a JSON schema that says what a key of the file takes.
type node struct {
	Properties           map[string]*node `json:"properties"`
	Pattern              string           `json:"pattern"`
	Minimum              *int             `json:"minimum"`
	Maximum              *int             `json:"maximum"`
	MaxLength            *int             `json:"maxLength"`
	PatternProperties    map[string]any   `json:"patternProperties"`
	AdditionalProperties any              `json:"additionalProperties"`
}

// cloudConfigRules are the rules of the configuration files, by the path of the value that is the key.
func cloudConfigRules() (map[string]map[string]any, error) {
	rules := map[string]map[string]any{}
	// Keys of the file that are rarely set are values under advanced.
	if err := collect(thalassa.ConfigSchema, rules, "cloudConfig", "advanced"); err != nil {
		return nil, err
	}
	if err := collect(ironcore.Schema, rules, "ironcore"); err != nil {
		return nil, err
	}
	for _, path := range saidInWords() {
		delete(rules[path], "pattern")
	}
	rules["cloudConfig.loadBalancer.defaults"] = thalassa.Annotations().DefaultsSchema()
	return rules, nil
}

// collect adds the rules of one file. Its keys are values in these sections.
func collect(schema func() ([]byte, error), rules map[string]map[string]any, sections ...string) error {
	text, err := schema()
	if err != nil {
		return err
	}
	var file node
	if err := json.Unmarshal(text, &file); err != nil {
		return fmt.Errorf("reading the schema of the configuration file: %w", err)
	}
	for _, section := range sections {
		file.collect(section, rules)
	}
	return nil
}

func (n *node) collect(path string, rules map[string]map[string]any) {
	for key, property := range n.Properties {
		property.collect(path+"."+key, rules)
	}
	found := map[string]any{}
	if n.Pattern != "" {
		found["pattern"] = orEmpty(n.Pattern)
	}
	if n.MaxLength != nil {
		found["maxLength"] = *n.MaxLength
	}
	if n.Minimum != nil && n.Maximum != nil {
		found["minimum"], found["maximum"] = *n.Minimum, *n.Maximum
	}
	if n.PatternProperties != nil {
		found["patternProperties"], found["additionalProperties"] = withoutReserved(n.PatternProperties),
			n.AdditionalProperties
	}
	rules[path] = found
}

// saidInWords are values whose form the templates check: they say what is wrong, where the schema would show a regular
// expression.
func saidInWords() []string { return []string{"cloudConfig.clusterCIDR", "cloudConfig.endpoint"} }

// withoutReserved leaves out the patterns of reserved keys, which match no value: the chart refuses those keys in a
// sentence, and the schema would only say that its own rule is false.
func withoutReserved(patterns map[string]any) map[string]any {
	kept := maps.Clone(patterns)
	maps.DeleteFunc(kept, func(_ string, values any) bool { return values == false })
	return kept
}

// orEmpty lets a pattern match empty text, too: a value that is left out. What is required, the chart says in words.
func orEmpty(pattern string) string {
	if regexp.MustCompile(pattern).MatchString("") {
		return pattern
	}
	return "^$|" + pattern
}
