package cloudconfig

import (
	"errors"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/config"
)

// Validate checks a cloud-config file without using it. It returns the effective configuration as YAML, or the
// mistakes, one line each. The file refers to no other files, so that the last argument has no effect.
func Validate(path string, from cloud.Environment, _ bool) (effective []byte, problems []string) {
	c, err := Read(path, from, DefaultClusterName)
	if err == nil {
		effective, err = config.Show(c, Keys())
	}
	if several, ok := errors.AsType[config.Problems](err); ok {
		return nil, several.Lines()
	}
	if err != nil {
		return nil, []string{err.Error()}
	}
	return effective, nil
}

// Warnings returns what is accepted in a cloud-config file and should be written in another way, one line each.
func Warnings(path string, from cloud.Environment) []string {
	_, file, err := openFile(path, from)
	if err != nil {
		return nil // Validate reports it
	}
	return file.Warnings()
}

// Schema is the JSON schema of the cloud-config file.
func Schema() ([]byte, error) {
	length := config.Schema{"maxLength": maxName}
	return config.NewSchema("cloud-config of the cloud controller manager on IronCore", Default(), Keys(),
		config.Schema{"properties": config.Schema{"networkName": length, "prefixName": length}})
}
