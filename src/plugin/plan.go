package plugin

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/service"
)

const planDescription = "Shows what the cloud controller manager would write to the cloud for all Services, or for " +
	"one.\n" +
	"Nothing is written, to the cloud or to Kubernetes.\n\n" +
	"Permissions: list and watch Services, Nodes and EndpointSlices; list Deployments and DaemonSets of the " +
	"namespace\n" +
	"of the cloud controller manager; get its ConfigMap and Secret, unless --cloud-config is set."

// planFlags are the flags of the command.
type planFlags struct {
	exitCode bool
	timeout  time.Duration
}

func newPlanCommand(s *settings) *cobra.Command {
	var flags planFlags
	cmd := &cobra.Command{
		Use: "plan [SERVICE]", Short: "Show what would change in the cloud", Long: planDescription,
		Args: cobra.MaximumNArgs(1), ValidArgsFunction: s.completeArgument(listServices),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, cancel := limited(cmd.Context(), flags.timeout)
			defer cancel()
			return s.plan(ctx, flags, args)
		},
	}
	cmd.Flags().BoolVar(&flags.exitCode, "exit-code", false, "End with exit code 2 if something would change, "+
		"differs and cannot be changed, or waits for the cloud.")
	cmd.Flags().DurationVar(&flags.timeout, "timeout", defaultTimeout, "The longest time that the command takes.")
	return cmd
}

func (s *settings) plan(ctx context.Context, flags planFlags, args []string) error {
	opened, err := s.open(ctx, reading)
	if err != nil {
		return err
	}
	if err := s.refresh(ctx, opened); err != nil {
		return err
	}
	chosen := s.chosen(args)
	previews, err := s.previews(ctx, opened, chosen)
	if err != nil {
		return err
	}
	result := s.newPlan(opened, previews)
	result.within = chosen.namespace
	if err := s.report(result); err != nil {
		return err
	}
	switch {
	case result.Summary.Errors > 0:
		return exitError(exitProblems)
	case flags.exitCode && result.differs():
		return exitError(exitChanges)
	}
	return nil
}

// choice is the Services that a command is about.
type choice struct{ namespace, name string } // "" is all

// String is "shop/web", or "web of any namespace".
func (c choice) String() string {
	if c.namespace == "" {
		return c.name + " of any namespace"
	}
	return c.namespace + "/" + c.name
}

// chosen returns the Services that the flags and arguments choose. A Service may be given as service/NAME.
func (s *settings) chosen(args []string) choice {
	var c choice
	if !s.allNamespaces {
		c.namespace = s.namespace()
	}
	if len(args) > 0 {
		c.name = nameOf(args[0], "service", "services", "svc")
	}
	return c
}

// namespace returns the namespace of kubectl's flags and context.
func (s *settings) namespace() string {
	namespace, _, err := s.kubeconfig.Namespace()
	if err != nil || namespace == "" {
		return corev1.NamespaceDefault
	}
	return namespace
}

// explicitNamespace returns the value of --namespace; "" if the flag is not set, or is set with --all-namespaces.
func (s *settings) explicitNamespace() string {
	namespace, given, err := s.kubeconfig.Namespace()
	if err != nil || !given || s.allNamespaces {
		return ""
	}
	return namespace
}

// previews returns what the service controller would do for each chosen Service.
func (s *settings) previews(ctx context.Context, from *session, chosen choice) ([]service.Preview, error) {
	previewer, err := s.previewer(ctx, from)
	if err != nil {
		return nil, err
	}
	return s.previewsBy(ctx, previewer, chosen)
}

// previewer returns what previews Services. It watches Kubernetes until ctx ends.
func (s *settings) previewer(ctx context.Context, from *session) (*service.Previewer, error) {
	offered := from.inspection.Cloud
	if offered.LoadBalancers == nil {
		return nil, fmt.Errorf("the configuration of the cloud %s turns load balancers off", offered.Name)
	}
	show, done := s.Terminal.Progress()
	defer done()
	show("Reading Services, Nodes and EndpointSlices…")
	factory := informers.NewSharedInformerFactory(from.client, 0)
	core, endpoints := factory.Core().V1(), factory.Discovery().V1().EndpointSlices()
	previewer, err := service.NewPreviewer(service.Options{Provider: offered.LoadBalancers,
		Behaviour: offered.LoadBalancerBehaviour, Services: core.Services(), Nodes: core.Nodes(),
		EndpointSlices: endpoints})
	if err != nil {
		return nil, err
	}
	return previewer, sync(ctx, factory, previewer.WaitForSync, core.Services().Informer(), core.Nodes().Informer(),
		endpoints.Informer())
}

// previewsBy returns what the service controller would do now for each chosen Service.
func (s *settings) previewsBy(ctx context.Context, previewer *service.Previewer, chosen choice) ([]service.Preview,
	error) {
	show, done := s.Terminal.Progress()
	defer done()
	services, err := previewer.Services()
	if err != nil {
		return nil, err
	}
	services = slices.DeleteFunc(services, chosen.excludes)
	if len(services) == 0 && chosen.name != "" {
		return nil, fmt.Errorf("service %s has no load balancer of this cloud controller manager: its type is not "+
			"LoadBalancer, it has another loadBalancerClass, or it does not exist", chosen)
	}
	var found []service.Preview
	for i, one := range services {
		show(fmt.Sprintf("Comparing Service %s/%s (%d of %d)…", one.Namespace, one.Name, i+1, len(services)))
		found = append(found, previewer.Preview(ctx, one))
	}
	return found, context.Cause(ctx)
}

// excludes reports whether a Service is not a chosen one.
func (c choice) excludes(one *corev1.Service) bool {
	return c.namespace != "" && one.Namespace != c.namespace || c.name != "" && one.Name != c.name
}

// newPlan makes the result of previews.
func (s *settings) newPlan(from *session, previews []service.Preview) Plan {
	result := Plan{Header: s.header(from, "Plan"), Services: []ServicePlan{}}
	for _, one := range previews {
		planned := newServicePlan(one)
		result.Services = append(result.Services, planned)
		result.Summary.add(planned)
	}
	return result
}

func newServicePlan(p service.Preview) ServicePlan {
	found := p.Comparison
	planned := ServicePlan{Namespace: p.Service.Namespace, Name: p.Service.Name, UID: string(p.Service.UID),
		Deleting: p.Deleting, State: found.Balancer.State, Health: found.Balancer.Health,
		Targets:    len(found.Targets.Machines),
		Operations: []Operation{}, AddFinalizer: p.AddFinalizer, Addresses: addressesOf(found.Balancer.Status),
		Retains: found.Retains}
	for _, one := range found.Plan {
		planned.Operations = append(planned.Operations, Operation{Verb: string(one.Verb), Kind: one.Kind,
			Name: one.Name, Why: one.Why, Leaves: one.Leaves})
	}
	for _, one := range found.Notices {
		planned.Notices = append(planned.Notices, Notice{Reason: one.Reason, Message: one.Message})
	}
	if found.Wait != nil && len(found.Plan) == 0 {
		planned.Waiting = found.Wait.Message
	}
	if found.Refused != nil {
		planned.Refused = found.Refused.Error()
	}
	if p.Err != nil {
		planned.Error = p.Err.Error()
	}
	return planned
}

// addressesOf returns the addresses and hostnames of a load balancer.
func addressesOf(status corev1.LoadBalancerStatus) []string {
	var addresses []string
	for _, one := range status.Ingress {
		for _, address := range []string{one.IP, one.Hostname} {
			if address != "" {
				addresses = append(addresses, address)
			}
		}
	}
	return addresses
}

// add counts a Service.
func (s *Summary) add(one ServicePlan) {
	s.Services++
	switch {
	case one.Error != "":
		s.Errors++
	case len(one.Operations) > 0:
		s.Changed++
	case one.Refused != "":
		s.Refused++
	case one.Waiting != "":
		s.Waiting++
	}
	for _, operation := range one.Operations {
		switch cloud.Verb(operation.Verb) {
		case cloud.Create:
			s.Create++
		case cloud.Update:
			s.Update++
		case cloud.Delete:
			s.Delete++
		}
	}
}
