package thalassa

import (
	"fmt"
	"strconv"

	"github.com/thalassa-cloud/thalassa-ccm/src/annotation"
	"github.com/thalassa-cloud/thalassa-ccm/src/config"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/cloudconfig"
)

// ConfigSchema is the JSON schema of the cloud-config file, including the defaults of annotations.
func ConfigSchema() ([]byte, error) { return cloudconfig.Schema(Annotations().DefaultsSchema()) }

// Validate returns a function that checks a cloud-config file without using it. It returns the effective configuration
// as YAML, without secrets, or the mistakes, one line each. With files, it also checks the files that the configuration
// refers to.
func Validate(getenv func(string) string) func(path string, files bool) (effective []byte, problems []string) {
	return cloudconfig.Validate(getenv, checkDefaults)
}

// checkDefaults reports values that cannot be defaults of Services.
func checkDefaults(c cloudconfig.Config, file *config.File) {
	defaults := newAnnotations()
	problems := defaults.registry.SetDefaults(c.LoadBalancer.Defaults)
	for _, problem := range problems {
		path := "loadBalancer.defaults." + problem.Annotation
		switch {
		case !config.Matching(cloudconfig.AnnotationNames, "").Allows(
			problem.Annotation): // the rule of the key reports it
		case problem.Name:
			file.Add(path, "", problem.Want)
		default:
			file.Add(path, strconv.Quote(problem.Value), "want "+problem.Want)
		}
	}
	if len(problems) > 0 {
		return
	}
	kind, internal := defaults.kind.From(annotation.Values{}), defaults.internal.From(annotation.Values{})
	if _, said := c.LoadBalancer.Defaults[nameInternal]; said && kind.Value == typeInternal && !internal.Value {
		file.Add("loadBalancer.defaults", "type: internal together with internal: false", "want only one of them")
	}
	check := settings{annotations: defaults}.portOf(annotation.Port{}).health.withInterval()
	if check.problem() != "" {
		file.Add("loadBalancer.defaults", fmt.Sprintf("health-check-timeout %d and health-check-interval %d",
			check.timeout.Value, check.interval.Value),
			"want a timeout of at most the interval; a value that is not set here has the default of its annotation")
	}
}
