package cloudconfig

import (
	"errors"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/config"
)

// Validate checks a cloud-config file without using it. It returns the effective configuration as YAML, without
// secrets, or the mistakes, one line each. With files, it also checks the files that the configuration refers to.
func Validate(path string, from cloud.Environment, files bool, checks ...Check) (effective []byte, problems []string) {
	c, _, err := readFile(path, from, files, checks...) // once: it may be a pipe
	if err != nil {
		return nil, linesOf(err)
	}
	effective, err = config.Show(c, Keys())
	if err != nil {
		return nil, linesOf(err)
	}
	return effective, nil
}

func linesOf(err error) []string {
	if problems, ok := errors.AsType[config.Problems](err); ok {
		return problems.Lines()
	}
	return []string{err.Error()}
}
