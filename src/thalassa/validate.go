package thalassa

import (
	"errors"

	"github.com/thalassa-cloud/thalassa-ccm/src/config"
)

// Validate returns a function that checks a cloud-config file without using it. It returns the effective configuration
// as YAML, without secrets, or the mistakes, one line each. With files, it also checks the files that the configuration
// refers to.
func Validate(getenv func(string) string) func(path string, files bool) (effective []byte, problems []string) {
	return func(path string, files bool) ([]byte, []string) {
		// The file is read once: it may be a pipe.
		read := ReadConfig
		if files {
			read = func(path string, getenv func(string) string) (Config, error) {
				c, _, err := readConfigAndSecrets(path, getenv)
				return c, err
			}
		}
		c, err := read(path, getenv)
		if err != nil {
			return nil, linesOf(err)
		}
		effective, err := config.Show(c, ConfigKeys())
		if err != nil {
			return nil, linesOf(err)
		}
		return effective, nil
	}
}

func linesOf(err error) []string {
	if problems, ok := errors.AsType[config.Problems](err); ok {
		return problems.Lines()
	}
	return []string{err.Error()}
}
