package thalassa

import (
	"github.com/thalassa-cloud/thalassa-ccm/src/annotation"
	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/balancer"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/cloudconfig"
)

// Annotations returns the registry of this cloud's Service annotations, for what is generated from it.
func Annotations() *annotation.Registry { return balancer.Registry() }

// ConfigSchema is the JSON schema of the cloud-config file, including the defaults of annotations.
func ConfigSchema() ([]byte, error) { return cloudconfig.Schema(Annotations().DefaultsSchema()) }

// Validate checks a cloud-config file without using it. It returns the effective configuration as YAML, without
// secrets, or the mistakes, one line each. With files, it also checks the files that the configuration refers to.
func Validate(path string, from cloud.Environment, files bool) (effective []byte, problems []string) {
	return cloudconfig.Validate(path, from, files, balancer.CheckDefaults)
}

// Warnings returns what is accepted in a cloud-config file and should be written in another way, one line each.
func Warnings(path string, from cloud.Environment) []string { return cloudconfig.Warnings(path, from) }
