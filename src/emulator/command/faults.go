package command

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
)

func (o *options) addFaultFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	// An array and not a slice: the commas belong to the rule.
	flags.StringArrayVar(&o.faultRules, "fault", nil, `rule that disturbs calls, such as "operation=POST *,kind=status,status=503,count=3"; may be given several times`)
	flags.StringVar(&o.faultFile, "faults", "", "YAML or JSON file with a list of rules that disturb calls")
}

// faults are the rules of the file and then those of the flags.
func (o *options) faults() ([]fault.Rule, error) {
	rules, err := o.readFaults()
	if err != nil {
		return nil, err
	}
	for _, text := range o.faultRules {
		rule, err := fault.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("--fault: %w", err)
		}
		rules = append(rules, rule)
	}
	return rules, nil
}

func (o *options) readFaults() ([]fault.Rule, error) {
	if o.faultFile == "" {
		return nil, nil
	}
	file, err := os.Open(o.faultFile)
	if err != nil {
		return nil, fmt.Errorf("--faults: %w", err)
	}
	rules, err := fault.ReadRules(file)
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, fmt.Errorf("--faults=%s: %w", o.faultFile, err)
	}
	return rules, nil
}
