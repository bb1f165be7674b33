package manager

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/cloud-provider/names"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/cli/globalflag"
	"k8s.io/component-base/logs"
	logsapi "k8s.io/component-base/logs/api/v1"
	_ "k8s.io/component-base/logs/json/register" // --logging-format=json
	"k8s.io/component-base/term"
	"k8s.io/klog/v2"

	"github.com/thalassa-cloud/thalassa-ccm/src/build"
	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// componentName is the name of the process in its user agent, events and metrics, and the default name of the lease.
const componentName = "cloud-controller-manager"

const description = "The cloud controller manager runs the control loops that connect\n" +
	"a Kubernetes cluster to its cloud: nodes, load balancers and routes.\n\n" +
	"To check a configuration file without using it: validate FILE."

// NewCommand returns the root command of a cloud controller manager with these providers. The first one is the default
// of --cloud-provider. When its context ends, the process stops in order: controllers stop, the write in flight is
// finished, the lease is released.
//
// The command prints an error once: mistakes in flags and configuration on its error stream, later errors in the log.
// The caller only sets the exit code.
func NewCommand(info build.Info, providers ...Provider) *cobra.Command {
	s, err := newSettings(info, providers)
	if err != nil {
		return &cobra.Command{
			Use: componentName, DisableFlagParsing: true, RunE: func(*cobra.Command, []string) error { return err },
		}
	}
	return newCommand(s)
}

func newCommand(s *settings) *cobra.Command {
	cmd := &cobra.Command{
		Use:          componentName,
		Long:         description,
		SilenceUsage: true, // the usage is five pages long and would hide the error
		Args:         noArguments,
		RunE:         s.versionOr(s.run),
	}
	sections := s.flags(cmd.Name())
	for _, section := range sections.FlagSets {
		cmd.Flags().AddFlagSet(section)
	}
	cmd.SetGlobalNormalizationFunc(cliflag.WordSepNormalizeFunc)
	cmd.SetFlagErrorFunc(describeFlagError)
	columns, _, _ := term.TerminalSize(cmd.OutOrStdout())
	cliflag.SetUsageAndHelpFunc(cmd, sections, columns)
	cmd.CompletionOptions.DisableDefaultCmd = true
	cmd.AddCommand(newValidateCommand(s))
	return cmd
}

// describeFlagError adds to the error of a wrong flag what to do. Subcommands have other flags.
func describeFlagError(cmd *cobra.Command, err error) error {
	if unknown, is := errors.AsType[*pflag.NotExistError](err); is && !cmd.HasParent() {
		if instead, known := flagsElsewhere()[unknown.GetSpecifiedName()]; known {
			err = fmt.Errorf("%w: %s", err, instead)
		}
	}
	return fmt.Errorf("%w; %s --help lists all flags", err, cmd.CommandPath())
}

// flagsElsewhere returns what to use in place of flags of other programs of Kubernetes, by their names.
func flagsElsewhere() map[string]string {
	const (
		address = "use --secure-port and --bind-address: only HTTPS is served"
		log     = "remove it: the log goes to the error stream. --logging-format=json changes its format"
	)
	return map[string]string{
		"config":          "use --cloud-config=FILE for the configuration of the cloud. The rest is set by flags",
		"address":         address,
		"port":            address,
		"log-dir":         log,
		"log-file":        log,
		"logtostderr":     log,
		"alsologtostderr": log,
	}
}

// versionFlag prints the version instead of running the process.
const versionFlag = "version"

// versionOr prints the version if --version is set, and otherwise runs the process. It takes the place of cobra's
// version template: for a program that executes a template the linker keeps all methods of all types, 30 MB of 77.
func (s *settings) versionOr(run func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if asked, err := cmd.Flags().GetBool(versionFlag); err != nil || asked {
			_, _ = fmt.Fprintln(cmd.OutOrStdout(), cmd.Name(), s.build)
			return err
		}
		return run(cmd, args)
	}
}

// noArguments accepts empty arguments, as the library does, because templates of manifests can produce them.
func noArguments(_ *cobra.Command, args []string) error {
	for _, arg := range args {
		if arg != "" {
			return fmt.Errorf("unexpected argument %q: everything is set by flags, such as --cloud-config=FILE", arg)
		}
	}
	return nil
}

// flags returns all flags in the sections of --help.
func (s *settings) flags(command string) cliflag.NamedFlagSets {
	sections := s.Flags(controllerNames(), nil, names.CCMControllerAliases(), nil, nil)
	s.addMaskFlags(sections.FlagSet(nodeIPAMController))
	for _, name := range slices.Sorted(maps.Keys(s.cloudFlags)) {
		sections.FlagSet("cloud " + name).AddFlagSet(s.cloudFlags[name])
	}
	s.tracing.add(sections.FlagSet("traces"))
	global := sections.FlagSet("global")
	global.Bool(versionFlag, false, "Print the version and quit.")
	logsapi.AddFlags(s.logging, global)
	globalflag.AddGlobalFlags(global, command, logs.SkipLoggingConfigurationFlags())
	for _, section := range sections.FlagSets {
		s.describe(section)
	}
	return sections
}

// describe replaces the descriptions that are not those of this program.
func (s *settings) describe(section *pflag.FlagSet) {
	for name, usage := range s.usages() {
		if flag := section.Lookup(name); flag != nil {
			flag.Usage = usage
		}
	}
}

// usages returns the descriptions of flags whose description in the libraries is not that of this program, by name.
func (s *settings) usages() map[string]string {
	const refused = "Not supported."
	var clouds []string
	for _, provider := range s.providers {
		clouds = append(clouds, provider.Name)
	}
	return map[string]string{
		"cloud-config":   "The path of the configuration file of the cloud. Required.",
		"cloud-provider": "The cloud. One of: " + strings.Join(clouds, ", ") + ".",
		"cluster-cidr": "The network of all pods, or one of each IP family, separated by a comma. Routes and " +
			"--allocate-node-cidrs=true require it, here or in the configuration of the cloud.",
		"enable-leader-migration": refused, "leader-migration-config": refused, "webhooks": refused,
		"route-reconciliation-period": "The period in which routes are compared with the cloud. With 0, the " +
			"configuration of the cloud applies.",
	}
}

// run is the process from parsed flags to its end.
func (s *settings) run(cmd *cobra.Command, _ []string) error {
	defer logs.FlushLogs()
	ctx := cmd.Context()
	if err := logsapi.ValidateAndApply(s.logging, utilfeature.DefaultFeatureGate); err != nil {
		return fmt.Errorf("setting up logging: %w", err)
	}
	p, err := s.process(ctx)
	if err != nil {
		return err
	}
	logger := klog.Background()
	logger.Info("Starting", "component", componentName, "version", s.build.Version, "revision", s.build.Revision,
		"cloud", p.cloud.Name)
	logFlags(logger, cmd.Flags())
	if err := p.run(klog.NewContext(ctx, logger)); err != nil {
		cmd.SilenceErrors = true // printed here, in the format of the log
		logger.Error(err, "Ending", "component", componentName)
		return err
	}
	logger.Info("Stopped", "component", componentName)
	return nil
}

// process creates the process. It reads files and sends no requests.
func (s *settings) process(ctx context.Context) (*process, error) {
	offered, err := s.cloud(ctx, cloud.Options{})
	if err != nil {
		return nil, err
	}
	if offered.Untagged && !s.KubeCloudShared.AllowUntaggedCloud {
		return nil, fmt.Errorf("no cluster ID in %s: it distinguishes the objects of different clusters in the cloud; "+
			"set it, or pass --allow-untagged-cloud", s.KubeCloudShared.CloudProvider.CloudConfigFile)
	}
	return s.assemble(offered)
}

// cloud checks all flags and makes the selected cloud. An error of several lines gets a heading.
func (s *settings) cloud(ctx context.Context, options cloud.Options) (*cloud.Cloud, error) {
	provider, err := s.validate()
	if err != nil {
		return nil, err
	}
	path := s.KubeCloudShared.CloudProvider.CloudConfigFile
	options.ConfigFile, options.ClusterName = path, s.KubeCloudShared.ClusterName
	offered, err := provider.New(ctx, options)
	switch {
	case err == nil:
		return offered, nil
	case strings.Contains(err.Error(), "\n"):
		return nil, fmt.Errorf("reading --cloud-config=%s:\n%w", path, err)
	}
	return nil, fmt.Errorf("reading --cloud-config=%s: %w", path, err)
}
