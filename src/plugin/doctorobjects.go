package plugin

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cloud-provider/service/helpers"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/service"
	"github.com/thalassa-cloud/thalassa-ccm/src/event"
)

// checkNodes checks all Nodes. Those without problems are only counted.
func (d *doctor) checkNodes(ctx context.Context) {
	d.section = sectionNodes
	if d.session.inspection.Cloud.Machines == nil {
		d.add("nodes", NotChecked, "The configuration turns machines off.", "")
		return
	}
	states, err := d.nodeStates(ctx, d.session)
	if err != nil {
		d.fail("nodes", err)
		return
	}
	summary, status := summaryOf(states), CheckOK
	if summary.Ready < summary.Nodes || summary.Nodes == 0 {
		status = CheckWarning
	}
	d.add("nodes", status, fmt.Sprintf("%s, %d ready, %d with problems.", count(summary.Nodes, "Node"), summary.Ready,
		summary.Problems), "")
	for _, one := range states {
		if one.Managed {
			d.ours = append(d.ours, one.Name)
		}
		for _, problem := range one.Problems {
			d.addKind(problem.Reason, "node", "node/"+one.Name, CheckProblem, problem.Reason+": "+problem.Message,
				nextOf(problem.Reason, "See kubectl describe node "+one.Name+"."))
		}
		if one.Uninitialised && one.Managed && len(one.Problems) == 0 {
			d.addOf("node", "node/"+one.Name, CheckWarning, "It is not initialised: no pods are scheduled to it.",
				"If this takes longer than a minute, see whether the cloud controller manager runs.")
		}
	}
}

// syncFailed is the reason of the Warning about each Service that cannot be reconciled.
const syncFailed = "SyncLoadBalancerFailed"

// nextOf returns the next step after a reason: to read the page about it, or another one if it has none.
func nextOf(reason, otherwise string) string {
	if page := event.Page(reason); page != "" {
		return "See " + page
	}
	return otherwise
}

// checkServices checks all Services that are managed.
func (d *doctor) checkServices(ctx context.Context) {
	d.section = sectionServices
	if d.session.inspection.Cloud.LoadBalancers == nil {
		d.add("services", NotChecked, "The configuration turns load balancers off.", "")
		return
	}
	previews, err := d.previews(ctx, d.session, choice{})
	if err != nil {
		d.fail("services", err)
		return
	}
	inSync, found := 0, d.checks
	var events map[types.NamespacedName]string // not read if all are in sync
	for _, one := range previews {
		planned := newServicePlan(one)
		if planned.inSync() {
			inSync++
			d.addOf(serviceCheck, planned.object(), CheckOK, planned.condition(), "")
		} else {
			if events == nil {
				events = d.latestWarnings(ctx)
			}
			d.checkService(planned, events[types.NamespacedName{Namespace: planned.Namespace, Name: planned.Name}])
		}
		for _, notice := range planned.Notices {
			d.addKind(notice.Reason, serviceCheck, planned.object(), CheckWarning, notice.Reason+": "+notice.Message,
				nextOf(notice.Reason, nextOf(syncFailed, "")))
		}
	}
	details := append([]Check{}, d.checks[len(found):]...)
	d.checks = found
	d.add("services", CheckOK, fmt.Sprintf("%s with a load balancer, %d in sync.",
		count(len(previews), "Service"), inSync), "")
	d.checks = append(d.checks, details...)
}

// checkService adds why a Service is not in sync. Event is the end of some messages.
func (d *doctor) checkService(planned ServicePlan, event string) {
	add := func(kind string, status CheckStatus, message, next string) {
		d.addKind(kind, serviceCheck, planned.object(), status, message, next)
	}
	switch {
	case planned.Error != "":
		add("It is not known what has to change", CheckProblem,
			event.Sentences("It is not known what has to change: "+planned.Error, event), nextOf(syncFailed, ""))
	case planned.Refused != "" && len(planned.Notices) == 0:
		add("It cannot be brought in line now", CheckProblem,
			event.Sentences("It cannot be brought in line now: "+planned.Refused, event), nextOf(syncFailed, ""))
	case len(planned.Operations) > 0:
		add("Writes to the cloud would bring it in line", CheckWarning, count(len(planned.Operations), "write")+
			" to the cloud would bring it in line."+event,
			fmt.Sprintf("See kubectl thalassa plan -n %s %s. If it does not change, see whether the cloud controller "+
				"manager runs.", planned.Namespace, planned.Name))
	case planned.Waiting != "":
		add("The cloud is busy with it", CheckWarning, planned.Waiting, "Wait until the cloud has finished.")
	case planned.AddFinalizer:
		add("", CheckWarning, noFinalizer, "See whether the cloud controller manager runs.")
	}
}

const noFinalizer = "The finalizer of load balancers is missing."

// serviceCheck is the ID of the checks of Services.
const serviceCheck = "service"

// object is "service/shop/web".
func (p ServicePlan) object() string { return "service/" + p.Namespace + "/" + p.Name }

// condition describes a Service in sync: its load balancer, and what the cloud reports about health.
func (p ServicePlan) condition() string {
	words := append([]string{cmp.Or(p.State, "no load balancer")}, p.Addresses...)
	return strings.TrimSpace("It is in sync: " + strings.Join(append(words, count(p.Targets, "target")), ", ") + ". " +
		p.Health)
}

// latestWarnings returns the latest event about a problem of each Service that has one, for the end of a message. It
// asks once for all namespaces, and returns none if the user may not list events.
func (d *doctor) latestWarnings(ctx context.Context) map[types.NamespacedName]string {
	texts := map[types.NamespacedName]string{}
	events, err := d.session.client.CoreV1().Events(metav1.NamespaceAll).List(ctx, metav1.ListOptions{
		FieldSelector: "involvedObject.kind=Service,type=" + corev1.EventTypeWarning})
	if err != nil {
		return texts
	}
	slices.SortStableFunc(events.Items, func(a, b corev1.Event) int {
		return a.LastTimestamp.Compare(b.LastTimestamp.Time)
	})
	for _, one := range events.Items { // the last one counts
		about := types.NamespacedName{Namespace: one.InvolvedObject.Namespace, Name: one.InvolvedObject.Name}
		if one.InvolvedObject.Kind == "Service" && one.Type == corev1.EventTypeWarning {
			texts[about] = fmt.Sprintf(" The latest event is %s: %s", one.Reason, strings.TrimSpace(one.Message))
		}
	}
	return texts
}

// checkForeign checks whether another cluster has the same name in its configuration.
func (d *doctor) checkForeign(ctx context.Context) {
	identity := d.session.inspection.Cloud.ClusterIdentity
	if identity == nil {
		return
	}
	foreign, err := identity.ListForeign(ctx)
	if err != nil {
		d.fail("cluster-uid", err)
		return
	}
	if d.session.uid == "" {
		d.add("cluster-uid", NotChecked, sentence(cloud.ErrNoClusterUID.Error()), "Ask for the permission.")
		return
	}
	if len(foreign) == 0 {
		d.add("cluster-uid", CheckOK, "No object with the name of this cluster has the UID of another one.", "")
		return
	}
	d.add("cluster-uid", CheckProblem, fmt.Sprintf("The cloud has %s with the name of this cluster and the UID of "+
		"another one, such as %s %s (%s), of the cluster %s. They are neither changed nor deleted.",
		count(len(foreign), "object"), foreign[0].Kind, foreign[0].Name, foreign[0].Identity, foreign[0].ClusterUID),
		nextOf("LoadBalancerOfAnotherCluster", ""))
}

// checkOrphans counts Services that do not exist and have objects in the cloud, without those that were retained.
func (d *doctor) checkOrphans(ctx context.Context) {
	if d.session.inspection.Cloud.LoadBalancers == nil {
		return
	}
	found, err := d.findOrphans(ctx, d.session)
	if err != nil {
		d.fail("orphans", err)
		return
	}
	d.checkForeign(ctx)
	orphans := len(slices.DeleteFunc(found.Orphans, func(one Orphan) bool { return one.Retained }))
	if orphans == 0 {
		d.add("orphans", CheckOK, "Everything of this cluster in the cloud belongs to a Service, or is retained.", "")
		return
	}
	verb := "do"
	if orphans == 1 {
		verb = "does"
	}
	d.add("orphans", CheckWarning, fmt.Sprintf("The cloud has objects of %s that %s not exist any more. They may cost "+
		"money.", count(orphans, "Service"), verb), "See kubectl thalassa orphans.")
}

// heldService is the ID of the checks of Services whose deletion never ends.
const heldService = "service-deletion"

// defaultLease is the name of the Lease of a cloud controller manager whose configuration is not known.
const defaultLease = "cloud-controller-manager"

// checkHeldServices adds a problem for each Service that waits for a cloud controller manager, if none leads.
func (d *doctor) checkHeldServices(ctx context.Context) {
	why := d.notLed(ctx)
	if why == "" {
		return
	}
	all, err := d.session.client.CoreV1().Services(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		d.fail(heldService, fmt.Errorf("listing the Services of all namespaces, of which deleted ones may wait for a "+
			"cloud controller manager: %w", err))
		return
	}
	for i := range all.Items {
		if one := &all.Items[i]; service.IsHeld(one) {
			d.addKind("Its deletion never ends", heldService, "service/"+one.Namespace+"/"+one.Name, CheckProblem,
				fmt.Sprintf("It was deleted, and stays until a cloud controller manager removes the finalizer %s. %s",
					helpers.LoadBalancerCleanupFinalizer, why), d.endService(one))
		}
	}
}

// notLed returns why nothing finishes the deletion of Services; "" if a process does, or if that is not known.
func (d *doctor) notLed(ctx context.Context) string {
	namespace, name := metav1.NamespaceSystem, defaultLease
	inspection := d.session.inspection
	if inspection != nil {
		namespace, name = inspection.LeaseNamespace, inspection.LeaseName
	}
	if inspection == nil || inspection.LeaderElection {
		if state, led, err := d.session.leader(ctx, namespace, name); err == nil {
			if led {
				return ""
			}
			return state
		}
	}
	if found := d.session.workload; found != nil && found.Ready == 0 {
		return fmt.Sprintf("No pod of %s is ready.", found)
	}
	return ""
}

// endService returns how the deletion of a Service is finished.
func (d *doctor) endService(of *corev1.Service) string {
	index := slices.Index(of.Finalizers, helpers.LoadBalancerCleanupFinalizer)
	return fmt.Sprintf("%s It deletes the load balancer, and then the Service. If that is not possible, remove the "+
		"finalizer:\n  %s\nThe load balancer then stays in the cloud and may cost money. Show and delete it:\n"+
		"  kubectl thalassa orphans --cloud-config=FILE\n  kubectl thalassa orphans delete %s --cloud-config=FILE\n"+
		"See %s", d.reinstall(), patchOut("service "+of.Name+" --namespace "+of.Namespace, index,
		of.Finalizers[index]), of.UID, d.Build.Document("docs/guides/uninstall.md#if-a-service-was-not-deleted"))
}

// reinstall is the first step to have a cloud controller manager.
func (d *doctor) reinstall() string {
	if d.session.workload != nil {
		return "Correct why the cloud controller manager does not work, and wait."
	}
	return "Install the cloud controller manager again, with the same name of the cluster, and wait."
}

// patchOut returns the command that removes a finalizer of an object, and leaves the others. It fails if the object's
// finalizers have changed.
func patchOut(object string, index int, finalizer string) string {
	return fmt.Sprintf(`kubectl patch %s --type=json --patch '[{"op": "test", "path": "/metadata/finalizers/%d", `+
		`"value": %q}, {"op": "remove", "path": "/metadata/finalizers/%d"}]'`, object, index, finalizer, index)
}
