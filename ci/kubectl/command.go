package kubectl

import (
	"io"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/kubectl/pkg/cmd/annotate"
	"k8s.io/kubectl/pkg/cmd/get"
	"k8s.io/kubectl/pkg/cmd/label"
	"k8s.io/kubectl/pkg/cmd/patch"
	"k8s.io/kubectl/pkg/cmd/util"
)

// Command returns a kubectl with the commands that documented scripts need: get, patch, annotate and label. It uses the
// kubeconfig of the environment variable KUBECONFIG. A test that is started under the name kubectl runs it, so that a
// script finds it in its PATH.
func Command(out, trouble io.Writer) *cobra.Command {
	flags, streams := genericclioptions.NewConfigFlags(true), genericiooptions.IOStreams{Out: out, ErrOut: trouble}
	factory := util.NewFactory(flags)
	root := &cobra.Command{Use: "kubectl", SilenceUsage: true}
	root.SetOut(out)
	root.SetErr(trouble)
	flags.AddFlags(root.PersistentFlags())
	root.AddCommand(get.NewCmdGet("kubectl", factory, streams), patch.NewCmdPatch(factory, streams),
		annotate.NewCmdAnnotate("kubectl", factory, streams), label.NewCmdLabel(factory, streams))
	return root
}
