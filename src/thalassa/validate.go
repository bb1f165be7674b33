package thalassa

import (
	"errors"

	"github.com/thalassa-cloud/thalassa-ccm/src/config"
)

// Validate returns how a cloud-config file is checked without using it. The check returns the effective configuration
// as YAML, without secrets, or what is wrong with it, one line each. files says whether those are looked at that it
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
