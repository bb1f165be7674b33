// Package plugin is kubectl thalassa: commands that show what the cloud controller manager sees and does, for people
// who operate it.
//
// The commands read the configuration of the workload in the cluster, make the same cloud and compute the same
// differences as its controllers. Only commands that say so write. The package knows clouds by the contract only.
package plugin

import (
	"flag"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"github.com/thalassa-cloud/thalassa-ccm/src/build"
	"github.com/thalassa-cloud/thalassa-ccm/src/manager"
	"github.com/thalassa-cloud/thalassa-ccm/src/plugin/terminal"
)

// Names of the executable. kubectl runs the first one for `kubectl thalassa`, and the second one to complete its
// arguments.
const (
	Name           = "kubectl-thalassa"
	CompletionName = "kubectl_complete-thalassa"
)

const description = "Shows what the cloud controller manager of a cluster sees in the cloud, and what it would " +
	"change.\n\n" +
	"The commands read the flags and the configuration of the cloud controller manager in the cluster. With\n" +
	"--cloud-config they use a file instead, and the credentials in it."

// Options are what the plug-in is made from.
type Options struct {
	Build     build.Info
	Terminal  terminal.Terminal
	Providers []manager.Provider
	// Client makes a client of Kubernetes; nil is the default.
	Client func(*rest.Config) (kubernetes.Interface, error)
	// Objects makes a client of objects whose definitions need not exist in the cluster; nil is the default.
	Objects func(*rest.Config) (dynamic.Interface, error)
	// Ticker returns what fires periodically until it is stopped; nil is a time.Ticker.
	Ticker func(time.Duration) (ticks <-chan time.Time, stop func())
}

// settings are the values of the flags that all commands have.
type settings struct {
	Options
	kubeconfig    clientcmd.ClientConfig // by the flags of kubectl
	workload      string
	cloudConfig   string
	flags         []string
	allNamespaces bool
	format        string
	verbosity     int
}

// newCommand returns the command of the plug-in. The error of its execution is printed by the caller.
func newCommand(o Options) *cobra.Command {
	if o.Client == nil {
		o.Client = newClient
	}
	if o.Objects == nil {
		o.Objects = newObjects
	}
	if o.Ticker == nil {
		o.Ticker = newTicker
	}
	s := &settings{Options: o}
	cmd := &cobra.Command{
		Use: Name, Short: "Look into the cloud controller manager", Long: description, SilenceUsage: true,
		SilenceErrors:     true,
		Annotations:       map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl thalassa"},
		PersistentPreRunE: func(*cobra.Command, []string) error { return s.prepare() },
	}
	cmd.SetFlagErrorFunc(func(of *cobra.Command, err error) error {
		return fmt.Errorf("%w: see %s --help", err, of.CommandPath())
	})
	cmd.SetOut(o.Terminal.Out)
	cmd.SetErr(o.Terminal.Err)
	flags := cmd.PersistentFlags()
	s.kubeconfig = addKubectlFlags(flags)
	flags.StringVar(&s.workload, "ccm", "", "The workload of the cloud controller manager, as NAMESPACE/NAME. "+
		"Without it, the cluster is searched.")
	flags.StringVar(&s.cloudConfig, "cloud-config", "", "A configuration file on this computer, to use instead of the "+
		"configuration and the credentials in the cluster.")
	flags.StringArrayVar(&s.flags, "ccm-flag", nil, "A flag of the cloud controller manager, as NAME=VALUE. It takes "+
		"precedence over the flag in the cluster, and can be repeated.")
	flags.BoolVarP(&s.allNamespaces, "all-namespaces", "A", false, "Show the Services of all namespaces. Without it, "+
		"plan and top show those of one namespace.")
	flags.StringVarP(&s.format, "output", "o", "", "The format of the output: json, yaml, wide or name.")
	flags.IntVarP(&s.verbosity, "v", "v", 0, "The verbosity of the log of libraries, at most 7.")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(terminal.Formats(), // the flag exists
		cobra.ShellCompDirectiveNoFileComp))
	// Only flags have names of files.
	cmd.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)
	files := cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)
	_ = cmd.RegisterFlagCompletionFunc("kubeconfig", files)
	_ = cmd.RegisterFlagCompletionFunc("cloud-config", files)
	_ = cmd.RegisterFlagCompletionFunc("namespace", s.complete(listNamespaces))
	_ = cmd.RegisterFlagCompletionFunc("context", s.completeContext)
	cmd.AddCommand(newDoctorCommand(s), newNodesCommand(s), newPlanCommand(s), newTopCommand(s), newOrphansCommand(s),
		newMigrateCommand(s), newVersionCommand(s))
	return cmd
}

// addKubectlFlags adds the flags of kubectl that choose the cluster, the user and the namespace, and returns what they
// choose.
func addKubectlFlags(flags *pflag.FlagSet) clientcmd.ClientConfig {
	rules, overrides := clientcmd.NewDefaultClientConfigLoadingRules(), &clientcmd.ConfigOverrides{}
	flags.StringVar(&rules.ExplicitPath, "kubeconfig", "", "Path to the kubeconfig file to use for CLI requests.")
	names := clientcmd.RecommendedConfigOverrideFlags("")
	names.ContextOverrideFlags.Namespace.ShortName = "n"
	names.ClusterOverrideFlags.APIServer.ShortName = "s"
	clientcmd.BindOverrideFlags(overrides, flags, names)
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides)
}

// maxVerbosity is the verbosity above which client-go logs the bodies of answers, among them Secrets.
const maxVerbosity = 7

// prepare checks the flags, and turns the log of libraries off.
func (s *settings) prepare() error {
	if s.verbosity > maxVerbosity {
		return fmt.Errorf("--v=%d: use at most %d. With more, the log contains the content of Secrets", s.verbosity,
			maxVerbosity)
	}
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	if err := flags.Set("v", strconv.Itoa(s.verbosity)); err != nil {
		return fmt.Errorf("setting the verbosity: %w", err)
	}
	if s.verbosity == 0 {
		klog.LogToStderr(false)
		klog.SetOutput(io.Discard)
	}
	format := terminal.Format(s.format)
	s.Terminal.Steps = s.Terminal.Steps && format.ForPeople()
	return format.Check()
}

// defaultTimeout is the longest time that a command takes.
const defaultTimeout = 5 * time.Minute

// report writes a result in the chosen format.
func (s *settings) report(result terminal.Result) error {
	return s.Terminal.Report(terminal.Format(s.format), result)
}

func newVersionCommand(s *settings) *cobra.Command {
	return &cobra.Command{Use: "version", Short: "Print the version of the plug-in", Args: cobra.NoArgs,
		Run: func(*cobra.Command, []string) { s.Terminal.Print("%s %s\n", Name, s.Build) }}
}
