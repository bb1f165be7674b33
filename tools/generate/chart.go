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

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa"
	"github.com/thalassa-cloud/thalassa-ccm/tools/chartvalues"
	"sigs.k8s.io/yaml"
)

// chartFolder is where the chart is, below the root.
const chartFolder = "charts/thalassa-ccm"

// chartFiles makes the chart's schema and the table in its README from the comments in its values.yaml. What the keys under
// cloudConfig take comes from the program that reads them.
func chartFiles() Generator {
	return Generator{Name: "chart values", Files: func(_ context.Context, root string) (map[string][]byte, error) {
		folder := filepath.Join(root, filepath.FromSlash(chartFolder))
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
		return renderChart(text, page, removed)
	}}
}

// renderChart returns the files by their paths.
func renderChart(text, page, removed []byte) (map[string][]byte, error) {
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
	schema, err := values.Schema("Values of the thalassa-ccm chart", rules)
	if err != nil {
		return nil, err
	}
	readme, err := values.Insert(page)
	if err != nil {
		return nil, err
	}
	return map[string][]byte{
		path.Join(chartFolder, "values.schema.json"): schema,
		path.Join(chartFolder, "README.md"):          readme,
	}, nil
}

// node is the part of a JSON schema that says what a key of the file takes.
type node struct {
	Properties           map[string]*node `json:"properties"`
	Pattern              string           `json:"pattern"`
	Minimum              *int             `json:"minimum"`
	Maximum              *int             `json:"maximum"`
	PropertyNames        map[string]any   `json:"propertyNames"`
	AdditionalProperties any              `json:"additionalProperties"`
}

// cloudConfigRules are the rules of the configuration file, by the path of the value that is the key.
func cloudConfigRules() (map[string]map[string]any, error) {
	text, err := thalassa.ConfigSchema()
	if err != nil {
		return nil, err
	}
	var file node
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, fmt.Errorf("reading the schema of the configuration file: %w", err)
	}
	rules := map[string]map[string]any{
		// What the chart does without nowhere. Everything else may be null, as new values are in those an older chart kept.
		"": {"required": []string{"cloudConfig", "credentials", "image", "serviceAccount", "rbac",
			"profile", "replicas", "bindAddress", "securePort", "logVerbosity", "terminationGracePeriodSeconds"}},
		"image": {"required": []string{"repository", "pullPolicy"}},
	}
	file.collect("cloudConfig", rules)
	maps.Copy(rules["cloudConfig.loadBalancer.defaults"], thalassa.Annotations().DefaultsSchema())
	return rules, nil
}

func (n *node) collect(path string, rules map[string]map[string]any) {
	for key, property := range n.Properties {
		property.collect(path+"."+key, rules)
	}
	found := map[string]any{}
	if n.Pattern != "" {
		found["pattern"] = orEmpty(n.Pattern)
	}
	if n.Minimum != nil && n.Maximum != nil {
		found["minimum"], found["maximum"] = *n.Minimum, *n.Maximum
	}
	if n.PropertyNames != nil {
		found["propertyNames"], found["additionalProperties"] = n.PropertyNames, n.AdditionalProperties
	}
	rules[path] = found
}

// orEmpty lets a pattern match empty text, too: a value that is left out. What is required, the chart says in words.
func orEmpty(pattern string) string {
	if regexp.MustCompile(pattern).MatchString("") {
		return pattern
	}
	return "^$|" + pattern
}
