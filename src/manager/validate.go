package manager

import (
	"fmt"

	"github.com/spf13/cobra"
	cliflag "k8s.io/component-base/cli/flag"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

const validateDescription = "Checks a configuration file, and the files it refers to, as the start does.\n" +
	"It needs no cluster and calls no cloud. What is wrong is printed one line each,\n" +
	"and the exit code is then 1."

// validation contains the flags of the subcommand.
type validation struct {
	provider     string
	print        bool
	withoutFiles bool
}

// newValidateCommand returns the subcommand that checks a configuration file.
func newValidateCommand(s *settings) *cobra.Command {
	v := validation{provider: s.KubeCloudShared.CloudProvider.Name}
	cmd := &cobra.Command{
		Use:          "validate FILE",
		Short:        "Check a configuration file",
		Long:         validateDescription,
		SilenceUsage: true,
		Args:         oneFile,
		RunE:         func(cmd *cobra.Command, args []string) error { return v.run(cmd, s, args[0]) },
	}
	sections := cliflag.NamedFlagSets{}
	flags := sections.FlagSet("validate")
	flags.StringVar(&v.provider, "cloud-provider", v.provider, "The cloud that the file is for.")
	flags.BoolVar(&v.print, "print", false, "Also print the configuration in effect, without secrets.")
	flags.BoolVar(&v.withoutFiles, "without-files", false, "Do not read the files that the configuration refers to.")
	cmd.Flags().AddFlagSet(flags)
	cliflag.SetUsageAndHelpFunc(cmd, sections, 0)
	return cmd
}

func oneFile(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("got %d files, want one: validate FILE", len(args))
	}
	return nil
}

// run checks the file. The result goes to the standard output, and problems to the error stream, so that the output of
// --print is a valid file.
func (v validation) run(cmd *cobra.Command, s *settings, path string) error {
	provider, err := s.provider(v.provider)
	if err != nil {
		return err
	}
	if provider.Validate == nil {
		return fmt.Errorf("%s cannot check its configuration without using it", provider.Name)
	}
	effective, problems := provider.Validate(path, cloud.Environment{}, !v.withoutFiles)
	if len(problems) > 0 {
		cmd.SilenceErrors = true // printed below
		for _, problem := range problems {
			fmt.Fprintf(cmd.ErrOrStderr(), "%s: %s\n", path, problem)
		}
		return fmt.Errorf("checking %s: %d problems", path, len(problems))
	}
	if !v.print {
		effective = nil
	}
	if _, err := fmt.Fprintf(cmd.OutOrStdout(), "# %s is a good configuration of %s\n%s", path, provider.Name,
		effective); err != nil {
		return fmt.Errorf("printing the result: %w", err)
	}
	return nil
}
