package command

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// environmentPrefix is what variables that set flags begin with.
const environmentPrefix = "THALASSA_EMULATOR_"

// setFromEnvironment sets the flags that were not given from variables: THALASSA_EMULATOR_READY_FILE is --ready-file.
// Services of GitHub Actions can have variables, but no arguments.
func setFromEnvironment(flags *pflag.FlagSet, environment []string) error {
	values := map[string]string{}
	for _, entry := range environment {
		name, value, _ := strings.Cut(entry, "=")
		if rest, found := strings.CutPrefix(name, environmentPrefix); found && !ofService(rest) {
			values[name] = value
		}
	}
	var problems []error
	flags.VisitAll(func(flag *pflag.Flag) {
		name := environmentPrefix + strings.ToUpper(strings.ReplaceAll(flag.Name, "-", "_"))
		value, found := values[name]
		delete(values, name)
		if !found || flag.Changed {
			return
		}
		if err := flags.Set(flag.Name, value); err != nil {
			problems = append(problems, fmt.Errorf("environment variable %s: %w", name, err))
		}
	})
	for _, name := range slices.Sorted(maps.Keys(values)) {
		problems = append(problems, fmt.Errorf("environment variable %s: there is no such flag; %sREADY_FILE is "+
			"--ready-file", name, environmentPrefix))
	}
	return errors.Join(problems...)
}

// ofService returns whether a variable is one that Kubernetes gives all pods beside a Service called thalassa-emulator.
func ofService(rest string) bool {
	return rest == "PORT" || strings.HasPrefix(rest, "PORT_") || strings.HasPrefix(rest, "SERVICE_")
}
