package plugin

import (
	"context"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"

	"github.com/thalassa-cloud/thalassa-ccm/src/plugin/terminal"
)

// completionTimeout bounds the time that a person waits for the names of objects after pressing a key.
const completionTimeout = 3 * time.Second

// lister returns the list of the objects whose names complete a word.
type lister func(ctx context.Context, client kubernetes.Interface, namespace string) (runtime.Object, error)

// completeArgument completes the only argument of a command.
func (s *settings) completeArgument(list lister) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return s.complete(list)(cmd, args, begun)
	}
}

// complete completes a word with names of the cluster. If these are not known, nothing is completed: names of files
// would be wrong.
func (s *settings) complete(list lister) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
		defer cancel()
		var names []string
		if opened, err := s.connect(); err == nil {
			if objects, err := list(ctx, opened.client, s.chosen(nil).namespace); err == nil {
				_ = meta.EachListItem(objects, func(object runtime.Object) error { // none of these fails
					names = append(names, object.(metav1.Object).GetName())
					return nil
				})
			}
		}
		return beginningWith(begun, names), cobra.ShellCompDirectiveNoFileComp
	}
}

// completeContext completes the name of a context of the kubeconfig.
func (s *settings) completeContext(_ *cobra.Command, _ []string,
	begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	config, _ := s.kubeconfig.RawConfig() // without contexts if it cannot be read
	return beginningWith(begun, slices.Collect(maps.Keys(config.Contexts))), cobra.ShellCompDirectiveNoFileComp
}

// completeOrphans completes the UIDs of orphans that the flags permit to delete, with the names of their Services. It
// makes the calls of the command orphans, within completionTimeout, and keeps neither credentials nor results.
func (s *settings) completeOrphans(flags *deletionFlags) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
		defer cancel()
		quiet := *s
		quiet.Terminal = terminal.Terminal{Err: io.Discard}
		var found Orphans
		if err := quiet.prepare(); err == nil && !flags.all {
			if opened, err := quiet.open(ctx, reading); err == nil {
				found, _ = quiet.chosenOrphans(ctx, opened) // without orphans if it fails
			}
		}
		return beginningWith(begun, found.completions(*flags, args)), cobra.ShellCompDirectiveNoFileComp
	}
}

// completions returns the UIDs and identities that the flags permit to delete and that are no arguments yet.
func (o Orphans) completions(flags deletionFlags, args []string) []cobra.Completion {
	described := map[string]string{}
	for _, one := range o.Orphans {
		described[one.UID] = one.service()
	}
	for _, one := range o.Stored {
		described[one.Identity] = one.Kind + " " + one.Name
	}
	var ids []cobra.Completion
	for id, name := range described {
		if _, err := o.choose(flags, []string{id}); err == nil && !slices.Contains(args, id) {
			ids = append(ids, cobra.CompletionWithDesc(id, terminal.Clean(name)))
		}
	}
	return ids
}

func beginningWith(begun string, names []string) []cobra.Completion {
	names = slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, begun) })
	slices.Sort(names)
	return slices.Compact(names)
}

func listServices(ctx context.Context, client kubernetes.Interface, namespace string) (runtime.Object, error) {
	return client.CoreV1().Services(namespace).List(ctx, metav1.ListOptions{FieldSelector: "spec.type=LoadBalancer"})
}

func listNodes(ctx context.Context, client kubernetes.Interface, _ string) (runtime.Object, error) {
	return client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
}

func listNamespaces(ctx context.Context, client kubernetes.Interface, _ string) (runtime.Object, error) {
	return client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
}
