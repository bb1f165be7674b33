package plugin

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"
	"k8s.io/cloud-provider/names"
	nodeutil "k8s.io/component-helpers/node/util"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/node"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/nodelifecycle"
)

const nodesDescription = "Shows the machine of every Node in the cloud, what the cloud controller manager would\n" +
	"change on the Node, and why it does not. Nothing is written, to the cloud or to Kubernetes. With\n" +
	"-o wide, zones, types and addresses are shown, too.\n\n" +
	"The exit code is 1 if a Node has a problem.\n\n" +
	"Permissions: list Nodes; list Deployments and DaemonSets of the namespace of the cloud controller\n" +
	"manager; get its ConfigMap and Secret, unless --cloud-config is set."

func newNodesCommand(s *settings) *cobra.Command {
	var timeout time.Duration
	cmd := &cobra.Command{
		Use: "nodes [NODE]", Short: "Show the machine of every Node, and problems", Long: nodesDescription,
		Args: cobra.MaximumNArgs(1), ValidArgsFunction: s.completeArgument(listNodes),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, cancel := limited(cmd.Context(), timeout)
			defer cancel()
			return s.nodes(ctx, args)
		},
	}
	cmd.Flags().DurationVar(&timeout, "timeout", defaultTimeout, "The longest time that the command takes.")
	return cmd
}

func (s *settings) nodes(ctx context.Context, args []string) error {
	opened, err := s.open(ctx, reading)
	if err != nil {
		return err
	}
	states, err := s.nodeStates(ctx, opened)
	if err != nil {
		return err
	}
	if len(args) > 0 {
		name := nameOf(args[0], "node", "nodes", "no")
		states = slices.DeleteFunc(states, func(one NodeState) bool { return one.Name != name })
		if len(states) == 0 {
			return fmt.Errorf("node %s does not exist", name)
		}
	}
	result := Nodes{Header: s.header(opened, "Nodes"), Nodes: states, Summary: summaryOf(states)}
	if err := s.report(result); err != nil {
		return err
	}
	if result.Summary.Problems > 0 {
		return exitError(exitProblems)
	}
	return nil
}

// nodeStates returns the state of every Node, sorted by name.
func (s *settings) nodeStates(ctx context.Context, from *session) ([]NodeState, error) {
	offered := from.inspection.Cloud
	if offered.Machines == nil {
		return nil, fmt.Errorf("the configuration of the cloud %s turns machines off, so that it does not read them",
			offered.Name)
	}
	show, done := s.Terminal.Progress()
	defer done()
	show("Reading Nodes…")
	listed, err := from.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("reading from Kubernetes: %w", err)
	}
	all := make([]*corev1.Node, len(listed.Items))
	for i := range listed.Items {
		all[i] = &listed.Items[i]
	}
	slices.SortFunc(all, func(a, b *corev1.Node) int { return cmp.Compare(a.Name, b.Name) })
	show("Reading the machines of Nodes…")
	changes, err := node.Previews(ctx, offered.Machines, offered.MachineBehaviour, all)
	if err != nil {
		return nil, err
	}
	fates, err := nodelifecycle.Previews(ctx, offered.Machines, offered.MachineBehaviour, all)
	if err != nil {
		return nil, err
	}
	states := []NodeState{}
	for _, one := range changes {
		states = append(states, newNodeState(ctx, from, one, fates[one.Node.Name]))
	}
	return states, nil
}

func newNodeState(ctx context.Context, from *session, changes node.Preview, fate nodelifecycle.Preview) NodeState {
	offered, one := from.inspection.Cloud, changes.Node
	state := NodeState{Name: one.Name, Status: statusOf(one), ProviderID: one.Spec.ProviderID,
		MachineState: string(fate.State), Managed: changes.Managed, Changes: changes.Changes,
		Zone:      cmp.Or(one.Labels[corev1.LabelTopologyZone], changes.Machine.Zone),
		Type:      cmp.Or(one.Labels[corev1.LabelInstanceTypeStable], changes.Machine.Type),
		Addresses: nodeAddresses(one), Problems: []Problem{},
		Uninitialised: cloud.Uninitialised(one)}
	state.Machine = machineOf(offered.Name, cmp.Or(one.Spec.ProviderID, changes.Machine.ProviderID))
	for _, problem := range changes.Problems {
		state.Problems = append(state.Problems, Problem(problem))
	}
	state.addFate(fate)
	if one.Spec.ProviderID != "" && changes.Managed && fate.State != cloud.MachineGone {
		if other, err := offered.Machines.NameConflict(ctx, one); err == nil && other != "" {
			state.add("NameConflict", fmt.Sprintf("Another machine, %s, has the name of this Node. Its kubelet may "+
				"use the Node. Rename or delete one of the machines.", other))
		}
	}
	state.addNotes(from, changes)
	return state
}

// addFate adds what happens to a Node whose machine is not running, or which is not ready.
func (n *NodeState) addFate(fate nodelifecycle.Preview) {
	notReady := n.Status == statusNotReady
	switch {
	case !n.Managed: // it is of another cloud
	case fate.State == cloud.MachineGone && !notReady:
		n.add("MachineGone", fmt.Sprintf("The cloud has no machine %s, although the Node is ready. Check that the "+
			"configuration names the right organisation, project and network, and that the Node's provider ID is "+
			"right.", n.Machine))
	case fate.Blocked != "":
		n.add("NodeNotRemoved", fate.Action+" It is not deleted now: "+strings.TrimSuffix(fate.Blocked, ".")+".")
	case fate.State == cloud.MachineGone:
		n.add("MachineGone", fate.Action)
	case notReady && fate.State == cloud.MachineRunning:
		n.add("NodeNotReady", "Its machine runs, but its kubelet reports that it is not ready, or does not report. "+
			"See kubectl describe node, and the log of the kubelet.")
	case notReady && n.MachineState == "" && len(n.Problems) == 0:
		n.add("NodeNotReady", "Its kubelet does not report. The state of its machine is not known.")
	case notReady && fate.State == cloud.MachineUnknown:
		n.add("MachineStateUnknown", fate.Action+" Check whether a newer version supports it.")
	case fate.Action != "":
		n.Notes = append(n.Notes, fate.Action)
	}
}

// addNotes adds what is no problem by itself.
func (n *NodeState) addNotes(from *session, changes node.Preview) {
	if !changes.Managed && len(n.Problems) == 0 {
		n.Notes = append(n.Notes, "It is not a Node of this cloud, and does not change.")
	}
	if n.Uninitialised && changes.Managed && len(n.Problems) == 0 {
		n.Notes = append(n.Notes, "It is not initialised yet, so that no pods are scheduled to it. If this takes "+
			"longer than a minute, see kubectl thalassa doctor.")
	}
	if _, excluded := changes.Node.Labels[corev1.LabelNodeExcludeBalancers]; excluded {
		n.Notes = append(n.Notes, fmt.Sprintf("The label %s excludes it from load balancers.",
			corev1.LabelNodeExcludeBalancers))
	}
	if len(n.Changes) > 0 && !from.inspection.Runs(names.CloudNodeController) {
		n.Notes = append(n.Notes, "The controller that would write the differences does not run.")
	}
}

func (n *NodeState) add(reason, message string) {
	n.Problems = append(n.Problems, Problem{Reason: reason, Message: message})
}

// The values of NodeState.Status.
const (
	statusReady    = "Ready"
	statusNotReady = "NotReady"
	statusShutDown = "ShutDown"
)

func statusOf(one *corev1.Node) string {
	_, condition := nodeutil.GetNodeCondition(&one.Status, corev1.NodeReady)
	shutDown := slices.ContainsFunc(one.Spec.Taints, func(taint corev1.Taint) bool {
		return taint.Key == cloudproviderapi.TaintNodeShutdown
	})
	switch {
	case condition != nil && condition.Status == corev1.ConditionTrue:
		return statusReady
	case shutDown:
		return statusShutDown
	}
	return statusNotReady
}

// machineOf returns the identity in a provider ID of the cloud. That of another cloud is returned as it is.
func machineOf(scheme, providerID string) string {
	return strings.TrimLeft(strings.TrimPrefix(providerID, scheme+":"), "/")
}

// nodeAddresses returns the addresses of a Node without its names.
func nodeAddresses(one *corev1.Node) []string {
	var addresses []string
	for _, address := range one.Status.Addresses {
		if address.Type == corev1.NodeInternalIP || address.Type == corev1.NodeExternalIP {
			addresses = append(addresses, address.Address)
		}
	}
	return addresses
}
