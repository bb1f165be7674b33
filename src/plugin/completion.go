package plugin

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// completionTimeout bounds the time that a person waits for the names of objects after pressing a key.
const completionTimeout = 3 * time.Second

// lister returns the names of the objects of a cluster.
type lister func(ctx context.Context, client kubernetes.Interface, namespace string) ([]string, error)

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
		opened, err := s.connect()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		namespace, _, err := s.kubeconfig.Namespace()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		found, _ := list(ctx, opened.client, namespace)
		return beginningWith(begun, found), cobra.ShellCompDirectiveNoFileComp
	}
}

// completeContext completes the name of a context of the kubeconfig.
func (s *settings) completeContext(_ *cobra.Command, _ []string,
	begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	config, err := s.kubeconfig.RawConfig()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return beginningWith(begun, slices.Collect(maps.Keys(config.Contexts))), cobra.ShellCompDirectiveNoFileComp
}

func beginningWith(begun string, all []string) []cobra.Completion {
	all = slices.DeleteFunc(all, func(name string) bool { return !strings.HasPrefix(name, begun) })
	slices.Sort(all)
	return all
}

func serviceNames(ctx context.Context, client kubernetes.Interface, namespace string) (all []string, err error) {
	list, err := client.CoreV1().Services(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for i := range list.Items {
		if list.Items[i].Spec.Type == corev1.ServiceTypeLoadBalancer {
			all = append(all, list.Items[i].Name)
		}
	}
	return all, nil
}

func nodeNames(ctx context.Context, client kubernetes.Interface, _ string) (all []string, err error) {
	list, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for i := range list.Items {
		all = append(all, list.Items[i].Name)
	}
	return all, nil
}

func namespaceNames(ctx context.Context, client kubernetes.Interface, _ string) (all []string, err error) {
	list, err := client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for i := range list.Items {
		all = append(all, list.Items[i].Name)
	}
	return all, nil
}
