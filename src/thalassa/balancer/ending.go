package balancer

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/event"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// Ending is what has to be known for the deletion of a Service's objects, in addition to these objects.
type Ending struct {
	// Written: something was deleted before.
	Written bool
	// Expecting is the time within which lists show objects that may exist; 0 if there are none.
	Expecting time.Duration
	// Users are load balancers of others that use the remaining objects, by the identities of these.
	Users map[string]resource.LoadBalancer
}

// PlanDelete returns what has to be done so that the cloud has no object of the Service any more.
func (r Request) PlanDelete(ending Ending) cloud.Comparison {
	d, o := r.desired, r.observed
	keeps := d.annotations.onDelete.From(d.values).Value == onDeleteKeep && !o.Empty() && o.retainable()
	left := ending.Written && !keeps && o.onlyUsedByOthers(ending.Users)
	found := cloud.Comparison{Exists: !o.Empty() && !left || ending.Expecting > 0, Left: o.remainingText()}
	if keeps {
		found.Plan, found.Retains = d.planRetention(o), retentionText(o)
	} else {
		found.Plan = d.planDeletion(o, ending.Users)
	}
	if balancer := o.Balancer(); balancer != nil {
		found.Balancer.State, found.Balancer.Status = balancer.Status, d.statusOf(r.service, *balancer)
		if held := cmp.Or(invalidDeletionPolicy(d), protection(d, o.Balancers)); held != "" && !keeps {
			found.Plan, found.Refused = nil, errors.New(held)
		}
	}
	switch {
	case !o.Empty():
		found.Wait = o.waitForDeletion()
	case ending.Expecting > 0:
		found.Wait = waitForLists(ending.Expecting,
			"objects of the Service may still exist: a creation ended without an answer, or "+
				"the previous leader created them recently, and the cloud's lists may not show them yet")
	}
	return found
}

// waitForDeletion is the wait until the cloud has deleted all objects.
func (o Observed) waitForDeletion() *cloud.Wait {
	wait := cloud.Wait{Deleting: true, Name: "what the Service had", Message: "the cloud is still deleting " +
		o.String()}
	if balancer := o.Balancer(); balancer != nil {
		wait.Object, wait.Name, wait.Status = balancer.ID, kindBalancer+" "+balancer.Name, balancer.Status
	}
	return &wait
}

// onlyUsedByOthers reports whether load balancers of others use all remaining objects. This happens after a deletion if
// the cloud refused to remove the Service's labels from these objects.
func (o Observed) onlyUsedByOthers(users map[string]resource.LoadBalancer) bool {
	return len(o.Balancers) == 0 && !slices.ContainsFunc(o.GroupIDs(), func(id string) bool {
		_, used := users[id]
		return !used
	})
}

// protection returns why the load balancers of a Service are not deleted; "" if nothing prevents it.
func protection(d desired, balancers []resource.LoadBalancer) string {
	asked := d.annotations.deleteProtection.From(d.values)
	for _, balancer := range balancers {
		takenBack := !d.deleted && !asked.Invalid && !asked.Value &&
			lastAppliedOf(balancer.Annotations).has(settingProtection)
		switch {
		case !balancer.DeleteProtection, balancer.Deleting(), asked.Given && !asked.Value, takenBack:
		case asked.Asked() && asked.Value:
			return fmt.Sprintf("load balancer %s is protected from deletion by an annotation of the Service: set "+
				"%sdelete-protection to false to have it deleted, or %son-delete to %s to leave it in the cloud",
				balancer.Name, label.AnnotationPrefix, label.AnnotationPrefix, onDeleteKeep)
		default:
			return fmt.Sprintf("load balancer %s is protected from deletion in the cloud: switch the protection off "+
				"there, or set %sdelete-protection to false, to have it deleted; set %son-delete to %s to leave it in "+
				"the cloud", balancer.Name, label.AnnotationPrefix, label.AnnotationPrefix, onDeleteKeep)
		}
	}
	return ""
}

// invalidDeletionPolicy returns why nothing is deleted if the Service's deletion policy is not valid; "" if it is.
func invalidDeletionPolicy(d desired) string {
	if !d.annotations.onDelete.From(d.values).Invalid {
		return ""
	}
	return fmt.Sprintf("annotation %son-delete is not valid, so nothing is deleted yet: set it to %s or %s, or "+
		"remove it to have everything deleted", label.AnnotationPrefix, onDeleteDelete, onDeleteKeep)
}

// unprotect switches off the protection that would make the cloud refuse the deletion.
func (d *difference) unprotect(balancer resource.LoadBalancer) {
	if !balancer.DeleteProtection {
		return
	}
	to := balancer
	to.DeleteProtection = false
	d.add(cloud.Update, kindBalancer, balancer.Name, "its protection from deletion is switched off",
		UpdateLoadBalancer{From: balancer, To: to})
}

// remainingText describes objects that may be the Service's and remain in the cloud after its deletion; "" if there are
// none.
func (o Observed) remainingText() string {
	var all []string
	for _, found := range o.Recognised {
		if found.Labels[label.Managed] == "false" || found.Deleting() {
			continue // it was released, or is about to go
		}
		if found.clusterUID != "" {
			all = append(all, fmt.Sprintf("Load balancer %s (%s) remains in the cloud: its annotation %s is the UID "+
				"of another cluster (%s).", found.Name, found.ID, label.ClusterUID, found.clusterUID))
			continue
		}
		all = append(all,
			fmt.Sprintf("Load balancer %s (%s) remains in the cloud: %s. If it belonged to this Service, delete it "+
				"there.", found.Name, found.ID, found.why()))
	}
	return event.Sentences(all...)
}

// retainable reports whether there is something to retain: a load balancer that is not being deleted, or, if that was
// released before, the objects that it uses.
func (o Observed) retainable() bool {
	return slices.ContainsFunc(o.Balancers, func(balancer resource.LoadBalancer) bool {
		return !balancer.Deleting()
	}) ||
		len(o.Balancers) == 0 && slices.ContainsFunc(o.Groups, func(group resource.TargetGroup) bool {
			return len(group.Listeners) > 0
		}) ||
		len(o.Balancers) == 0 && len(o.Groups) == 0
}

// retentionText is the message for the Service's owner.
func retentionText(o Observed) string {
	return fmt.Sprintf("As %son-delete requests, the objects of this Service remain in the cloud, and no Service "+
		"owns them now: %s. Their targets do not change any more. When a Service is deleted, its node ports stop "+
		"answering, and another Service can get them. Adopt or delete the objects soon.", label.AnnotationPrefix, o)
}
