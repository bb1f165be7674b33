package plugin

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/service"
)

const orphansDescription = "Shows the objects in the cloud with the labels of this cluster whose Service\n" +
	"does not exist, and the volumes and snapshots without a PersistentVolume or VolumeSnapshotContent.\n" +
	"Nothing is written. A Service that exists is never shown, also if another controller is responsible for\n" +
	"it. The orphans of all namespaces are shown. With --namespace, volumes and snapshots are not. Objects with\n" +
	"the labels of this cluster and the UID of another one are not shown: see kubectl thalassa doctor.\n\n" +
	"Permissions: list Services of all namespaces and Nodes; get the namespace kube-system, whose UID is that\n" +
	"of the cluster; list Deployments and DaemonSets of the namespace of the cloud controller manager; get its\n" +
	"ConfigMap and Secret, unless --cloud-config is set. For volumes and snapshots also: list\n" +
	"PersistentVolumes, PersistentVolumeClaims and VolumeSnapshotContents, and the permission to read them in\n" +
	"the cloud. Without it, the output says so."

func newOrphansCommand(s *settings) *cobra.Command {
	var timeout time.Duration
	cmd := &cobra.Command{
		Use: "orphans", Short: "Show objects in the cloud that belong to no Service", Long: orphansDescription,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := limited(cmd.Context(), timeout)
			defer cancel()
			opened, err := s.open(ctx, reading)
			if err != nil {
				return err
			}
			found, err := s.chosenOrphans(ctx, opened)
			if err != nil {
				return err
			}
			return s.report(found)
		},
	}
	cmd.Flags().DurationVar(&timeout, "timeout", defaultTimeout, "The longest time that the command takes.")
	cmd.AddCommand(newOrphansDeleteCommand(s))
	return cmd
}

// limited returns a context that ends after the value of --timeout.
func limited(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, timeout, fmt.Errorf("not finished after --timeout=%s", timeout))
}

// chosenOrphans returns the orphans of the namespace of --namespace, or all without the flag. Most is about all.
func (s *settings) chosenOrphans(ctx context.Context, from *session) (Orphans, error) {
	found, err := s.findOrphans(ctx, from)
	if err == nil && s.explicitNamespace() == "" {
		if err := s.findStored(ctx, from, &found); err != nil {
			found.StoredUnknown = err.Error()
		}
	}
	if found.within = s.explicitNamespace(); found.within != "" {
		found.Orphans = slices.DeleteFunc(found.Orphans, func(one Orphan) bool { return one.Namespace != found.within })
	}
	return found, err
}

// findOrphans returns the objects in the cloud whose Service does not exist. The cloud is read first: a Service exists
// before its load balancer.
func (s *settings) findOrphans(ctx context.Context, from *session) (Orphans, error) {
	offered := from.inspection.Cloud
	result := Orphans{Header: s.header(from, "Orphans"), Orphans: []Orphan{}}
	if offered.LoadBalancers == nil {
		return result, fmt.Errorf("the configuration of the cloud %s turns load balancers off", offered.Name)
	}
	show, done := s.Terminal.Progress()
	defer done()
	show("Reading load balancers and Services…")
	objects, err := offered.LoadBalancers.ListManaged(ctx)
	if err != nil {
		return result, fmt.Errorf("listing the objects of this cluster in the cloud: %w", err)
	}
	services, err := from.client.CoreV1().Services("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return result, fmt.Errorf("listing the Services of all namespaces: %w", err)
	}
	exists := map[types.UID]bool{}
	for i := range services.Items {
		exists[services.Items[i].UID] = true
	}
	of, inUse := map[types.UID][]cloud.ManagedObject{}, map[types.UID]bool{}
	for _, one := range objects {
		if exists[one.UID] {
			inUse[one.UID] = true
			continue
		}
		of[one.UID] = append(of[one.UID], one)
	}
	result.Most = len(of) > len(inUse)
	doubt, err := s.doubts(ctx, from, of)
	if err != nil {
		return result, err
	}
	for uid, all := range of {
		one := newOrphan(uid, all)
		one.Doubt = doubt(all)
		one.Why = one.why(offered.LoadBalancerBehaviour.RemoveOrphans, result.Most)
		result.Orphans = append(result.Orphans, one)
	}
	slices.SortFunc(result.Orphans, func(a, b Orphan) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
	})
	return result, nil
}

// doubts returns a function that returns why objects of a Service may belong to another cluster; "" if they do not.
func (s *settings) doubts(ctx context.Context, from *session,
	orphans map[types.UID][]cloud.ManagedObject) (func([]cloud.ManagedObject) string, error) {
	offered := from.inspection.Cloud
	if offered.ClusterIdentity == nil || len(orphans) == 0 {
		return func([]cloud.ManagedObject) string { return "" }, nil
	}
	list, err := from.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing the Nodes, whose machines orphans may use: %w", err)
	}
	nodes := make([]*corev1.Node, len(list.Items))
	for i := range list.Items {
		nodes[i] = &list.Items[i]
	}
	return func(objects []cloud.ManagedObject) string {
		return service.Doubt(ctx, offered.ClusterIdentity, objects, nodes, offered.LoadBalancers.Identify)
	}, nil
}

func newOrphan(uid types.UID, objects []cloud.ManagedObject) Orphan {
	of := objects[0].Service
	one := Orphan{Namespace: of.Namespace, Name: of.Name, UID: string(uid),
		Incomplete: of.Namespace == "" || of.Name == ""}
	for _, object := range objects {
		one.Objects = append(one.Objects, OrphanObject{Kind: object.Kind, Name: object.Name, Identity: object.Identity,
			State: object.State, Unlabelled: object.Unlabelled})
		one.Retained = one.Retained || object.Retained
		one.Incomplete = one.Incomplete || object.Unlabelled
	}
	return one
}

// why returns why the objects of an orphan are still there.
func (o Orphan) why(removed, most bool) string {
	switch {
	case o.Retained:
		return "retained by its deletion policy"
	case o.Incomplete:
		return "an object lost labels"
	case o.Doubt != "":
		return "it may be another cluster's"
	case !removed:
		return "removeOrphans is off"
	case most:
		return "most objects are orphans"
	}
	return "is deleted after two checks"
}
