// Package kubectl applies and deletes manifests with kubectl's own code, inside this process: what a user's `kubectl
// apply` does is what the tests of this repository do. Neither an executable nor a kubeconfig of the user plays a part.
//
//	k := kubectl.New(plane.Kubeconfig())
//	output, err := k.Apply(manifest, "--server-side")
package kubectl

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"
	"k8s.io/kubectl/pkg/cmd/apply"
	remove "k8s.io/kubectl/pkg/cmd/delete"
	"k8s.io/kubectl/pkg/cmd/util"
	"k8s.io/kubectl/pkg/validation"
)

// ErrWarned is wrapped by the error of an Apply that succeeded with warnings.
var ErrWarned = errors.New("the API server warns")

// Kubectl speaks to one cluster.
type Kubectl struct{ kubeconfig, namespace string }

// New returns a kubectl for the cluster of a kubeconfig file.
func New(kubeconfig string) Kubectl { return Kubectl{kubeconfig: kubeconfig} }

// In is kubectl --namespace: objects that do not say where they belong go there.
func (k Kubectl) In(namespace string) Kubectl {
	k.namespace = namespace
	return k
}

// factory makes kubectl's clients, which write warnings of the API server to trouble.
func (k Kubectl) factory(trouble io.Writer) util.Factory {
	flags := genericclioptions.NewConfigFlags(true)
	flags.KubeConfig, flags.Namespace = &k.kubeconfig, &k.namespace
	flags.WrapConfigFn = func(config *rest.Config) *rest.Config {
		config.WarningHandler = rest.NewWarningWriter(trouble, rest.WarningWriterOptions{})
		config.QPS = -1 // no limit: with the default of 5, kubectl delete waits for seconds
		return config
	}
	return util.NewFactory(flags)
}

// Apply runs `kubectl apply -f <manifest> <args>`. It returns a line per object, such as "configmap/x unchanged". A
// warning of the API server is an error that wraps ErrWarned, with the output as well.
func (k Kubectl) Apply(manifest string, args ...string) (output string, err error) {
	return k.with(manifest, "apply "+strings.Join(args, " "),
		func(file string, streams genericiooptions.IOStreams) error {
			flags, command := apply.NewApplyFlags(streams), &cobra.Command{Use: "apply"}
			flags.AddFlags(command)
			if err := command.ParseFlags(append([]string{"--filename=" + file}, args...)); err != nil {
				return fmt.Errorf("reading the flags: %w", err)
			}
			options, err := flags.ToOptions(k.factory(streams.ErrOut), command, "kubectl", nil)
			if err != nil {
				return err
			}
			// The API server checks the fields. kubectl would read the schemas of each kind, to see whether it does.
			options.Validator = validation.NullSchema{}
			if err := options.Validate(); err != nil {
				return err
			}
			return options.Run()
		})
}

// Delete runs `kubectl delete -f <manifest> --ignore-not-found` and waits until everything is gone.
func (k Kubectl) Delete(manifest string) (output string, err error) {
	return k.with(manifest, "delete", func(file string, streams genericiooptions.IOStreams) error {
		flags, command := remove.NewDeleteCommandFlags("what to delete"), &cobra.Command{Use: "delete"}
		flags.AddFlags(command)
		util.AddDryRunFlag(command)
		if err := command.ParseFlags([]string{"--filename=" + file, "--ignore-not-found"}); err != nil {
			return fmt.Errorf("reading the flags: %w", err)
		}
		options, err := flags.ToOptions(nil, streams)
		if err != nil {
			return err
		}
		factory := k.factory(streams.ErrOut)
		if err := options.Complete(factory, nil, command); err != nil {
			return err
		}
		if err := options.Validate(); err != nil {
			return err
		}
		return options.RunDelete(factory)
	})
}

// with keeps the manifest in a file, and what a command says, while it runs.
func (k Kubectl) with(manifest, name string,
	do func(file string, streams genericiooptions.IOStreams) error) (string, error) {
	file, drop, err := temporary(manifest)
	if err != nil {
		return "", err
	}
	defer drop()
	var out, trouble bytes.Buffer
	if err := do(file, genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &trouble}); err != nil {
		return out.String(), fmt.Errorf("kubectl %s: %w", name, err)
	}
	if trouble.Len() > 0 {
		return out.String(), fmt.Errorf("kubectl %s: %w: %s", name, ErrWarned, &trouble)
	}
	return out.String(), nil
}

// temporary keeps a manifest in a file: kubectl reads files, URLs and the standard input of the process.
func temporary(manifest string) (file string, drop func(), err error) {
	dir, err := os.MkdirTemp("", "kubectl-")
	if err != nil {
		return "", nil, fmt.Errorf("making a folder for the manifest: %w", err)
	}
	drop = func() { _ = os.RemoveAll(dir) }
	file = filepath.Join(dir, "manifest.yaml")
	if err := os.WriteFile(file, []byte(manifest), 0o600); err != nil {
		drop()
		return "", nil, fmt.Errorf("writing the manifest: %w", err)
	}
	return file, drop, nil
}
