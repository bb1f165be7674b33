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

// Warnings returns what is accepted in a cloud-config file, and is dangerous or should be written in another way, one
// line each.
func Warnings(path string, from cloud.Environment) []string {
	opened, err := from.Open(path)
	if err != nil {
		return nil // Validate reports it
	}
	defer opened.Close()
	c, file, err := parseFile(opened, from.Getenv)
	if err != nil {
		return nil
	}
	return append(file.Warnings(), c.dangers()...)
}

func linesOf(err error) []string {
	if problems, ok := errors.AsType[config.Problems](err); ok {
		return problems.Lines()
	}
	return []string{err.Error()}
}
