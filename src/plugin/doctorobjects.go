package plugin

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/controller/service"
	"github.com/thalassa-cloud/thalassa-ccm/src/recorder"
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
		d.add("nodes", statusOfError(err), err.Error(), "")
		return
	}
	summary, status := summaryOf(states), CheckOK
	if summary.Ready < summary.Nodes || summary.Nodes == 0 {
		status = CheckWarning
	}
	d.add("nodes", status, fmt.Sprintf("%s, %d ready, %d with problems.", count(summary.Nodes, "Node"), summary.Ready,
		summary.Problems), "")
	for _, one := range states {
		for _, problem := range one.Problems {
			d.addOf("node", "node/"+one.Name, CheckProblem, problem.Reason+": "+problem.Message,
				nextOf(problem.Reason, "See kubectl describe node "+one.Name+"."))
		}
		if one.Uninitialised && len(one.Problems) == 0 {
			d.addOf("node", "node/"+one.Name, CheckWarning, "It is not initialised: no pods are scheduled to it.",
				"If this takes longer than a minute, see whether the cloud controller manager runs.")
		}
	}
}

// syncFailed is the reason of the Warning about each Service that cannot be reconciled.
const syncFailed = "SyncLoadBalancerFailed"

// nextOf returns the next step after a reason: to read the page about it, or another one if it has none.
func nextOf(reason, otherwise string) string {
	if page := recorder.Page(reason); page != "" {
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
		d.add("services", statusOfError(err), err.Error(), "")
		return
	}
	inSync, found := 0, d.checks
	for _, one := range previews {
		planned := newServicePlan(one)
		if planned.inSync() {
			inSync++
			d.addOf(serviceCheck, planned.object(), CheckOK, planned.condition(), "")
		} else {
			d.checkService(ctx, one, planned)
		}
		for _, notice := range planned.Notices {
			d.addOf(serviceCheck, planned.object(), CheckWarning, notice.Reason+": "+notice.Message,
				nextOf(notice.Reason, nextOf(syncFailed, "")))
		}
	}
	details := append([]Check{}, d.checks[len(found):]...)
	d.checks = found
	d.add("services", CheckOK, fmt.Sprintf("%s with a load balancer, %d in sync.",
		count(len(previews), "Service"), inSync), "")
	d.checks = append(d.checks, details...)
}

// checkService adds why a Service is not in sync.
func (d *doctor) checkService(ctx context.Context, preview service.Preview, planned ServicePlan) {
	add := func(status CheckStatus, message, next string) {
		d.addOf(serviceCheck, planned.object(), status, message, next)
	}
	event := d.latestWarning(ctx, preview.Service)
	switch {
	case planned.Error != "":
		add(CheckProblem, "It is not known what has to change: "+planned.Error+event,
			nextOf(syncFailed, ""))
	case planned.Refused != "" && len(planned.Notices) == 0:
		add(CheckProblem, "It cannot be brought in line now: "+planned.Refused+event,
			nextOf(syncFailed, ""))
	case len(planned.Operations) > 0:
		add(CheckWarning, count(len(planned.Operations), "write")+" to the cloud would bring it in line."+event,
			fmt.Sprintf("See kubectl thalassa plan -n %s %s. If it does not change, see whether the cloud controller "+
				"manager runs.", planned.Namespace, planned.Name))
	case planned.Waiting != "":
		add(CheckWarning, planned.Waiting, "Wait until the cloud has finished.")
	case planned.AddFinalizer:
		add(CheckWarning, "The finalizer of load balancers is missing.", "See whether the cloud controller manager "+
			"runs.")
	}
}

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

// latestWarning returns the latest event about a problem of a Service, for the end of a message; "" if there is none,
// or if the user may not list events.
func (d *doctor) latestWarning(ctx context.Context, of *corev1.Service) string {
	events, err := d.session.client.CoreV1().Events(of.Namespace).List(ctx, metav1.ListOptions{
		FieldSelector: "involvedObject.kind=Service,involvedObject.name=" + of.Name + ",type=" +
			corev1.EventTypeWarning})
	if err != nil {
		return ""
	}
	var latest *corev1.Event
	for i := range events.Items {
		one := &events.Items[i]
		about := one.InvolvedObject.Name == of.Name && one.Type == corev1.EventTypeWarning
		if about && (latest == nil || latest.LastTimestamp.Before(&one.LastTimestamp)) {
			latest = one
		}
	}
	if latest == nil {
		return ""
	}
	return fmt.Sprintf(" The latest event is %s: %s", latest.Reason, strings.TrimSpace(latest.Message))
}

// checkForeign checks whether another cluster has the same name in its configuration.
func (d *doctor) checkForeign(ctx context.Context) {
	identity := d.session.inspection.Cloud.ClusterIdentity
	if identity == nil {
		return
	}
	foreign, err := identity.ListForeign(ctx)
	if err != nil {
		d.add("cluster-uid", statusOfError(err), err.Error(), "")
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
		d.add("orphans", statusOfError(err), err.Error(), "")
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
