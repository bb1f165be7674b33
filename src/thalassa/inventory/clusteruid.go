package inventory

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/thalassa-cloud/client-go/iaas"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// Two clusters may have the same key by mistake. Objects have the UID of their cluster as an annotation. One with the
// key of this cluster and another UID is stored with another key, so that everything that looks at the labels takes it
// for an object of another cluster.

// seen returns the labels with which an object is stored.
func (i *Inventory) seen(labels, annotations resource.Labels) resource.Labels {
	key, uid := labels[label.Cluster], annotations[label.ClusterUID]
	if key == "" || key != i.owned[label.Cluster] || !i.uid.IsForeign(uid) {
		return labels
	}
	labels = maps.Clone(labels)
	labels[label.Cluster] = label.WithUID(key, uid)
	return labels
}

// Forget causes load balancers, target groups and security groups to be read again before they are next used, because
// the UID of the cluster, which decides how they are stored, is another one.
func (i *Inventory) Forget() {
	i.cloud.Forget()
	i.balancers.Invalidate()
	i.groups.Invalidate()
	i.securityGroups.Invalidate()
}

// isForeign reports whether an object has the key of this cluster and the UID of another one.
func (i *Inventory) isForeign(labels resource.Labels) bool {
	return label.UIDOf(labels[label.Cluster], i.owned[label.Cluster]) != ""
}

// errForeign: an object belongs to another cluster with the same key.
var errForeign = errors.New("its annotation " + label.ClusterUID + " names another cluster with the same key, so " +
	"that it is not changed")

// sign sets the annotations with which an object is written: with the UID of this cluster if the labels are those of
// this cluster, otherwise without it. The error is that the object belongs to another cluster.
func (i *Inventory) sign(what string, labels resource.Labels, annotations *resource.Labels) error {
	own := string(i.uid.Own())
	switch {
	case i.isForeign(labels):
		return fmt.Errorf("writing %s: %w", what, errForeign)
	case own == "":
		return nil
	}
	written := resource.Labels{}
	maps.Copy(written, *annotations)
	if written[label.ClusterUID] = own; !resource.HasLabels(labels, i.owned) {
		delete(written, label.ClusterUID)
	}
	*annotations = written
	return nil
}

// Foreign returns the load balancers, target groups and security groups that have the key of this cluster and the UID
// of another one. Load balancers and target groups are from lists at most maxAge old; security groups are those that
// have been read for another reason.
func (i *Inventory) Foreign(ctx context.Context, maxAge time.Duration) (balancers []resource.LoadBalancer,
	groups []resource.TargetGroup, securityGroups []resource.SecurityGroup, err error) {
	balancers, groups, err = i.labelledAs(ctx, maxAge, i.isForeign)
	if err != nil {
		return nil, nil, nil, err
	}
	return balancers, groups,
		i.securityGroups.Where(func(g resource.SecurityGroup) bool { return i.isForeign(g.Labels) }), nil
}

// RunningTargets returns the running machines of the stored target groups with these identities, and of those that the
// stored load balancers with these identities lead to, sorted. Lists may lack a machine that runs, so that each of
// those is requested.
func (i *Inventory) RunningTargets(ctx context.Context, ids []string) ([]string, error) {
	machines, err := i.targetsOf(ctx, ids)
	if err != nil || len(machines) == 0 {
		return nil, err
	}
	if err := i.machines.Refresh(ctx, MachineAge); err != nil {
		return nil, fmt.Errorf("looking for the targets of orphans: %w", err)
	}
	var running, missing []string
	i.machines.Each(machines, func(id string, machine Machine, known bool) {
		switch {
		case !known:
			missing = append(missing, id)
		case machine.State == string(iaas.MachineStateRunning):
			running = append(running, id)
		}
	})
	confirmed, err := i.runningUnlisted(ctx, missing)
	running = append(running, confirmed...)
	slices.Sort(running)
	return running, err
}

// runningUnlisted requests machines that lists lack, and returns those that run.
func (i *Inventory) runningUnlisted(ctx context.Context, ids []string) (running []string, err error) {
	for _, id := range ids {
		machine, found, err := i.machines.Request(ctx, id)
		switch {
		case err != nil:
			return nil, fmt.Errorf("asking for machine %s, a target of orphans that the list lacks: %w", id, err)
		case found && machine.State == string(iaas.MachineStateRunning):
			running = append(running, id)
		}
	}
	return running, nil
}

// targetsOf returns the machines of stored load balancers and target groups, sorted. A target group that lists lack and
// a listener uses is requested.
func (i *Inventory) targetsOf(ctx context.Context, ids []string) ([]string, error) {
	var used []string
	i.balancers.Each(ids, func(_ string, lb resource.LoadBalancer, _ bool) {
		for _, listener := range lb.Listeners {
			if listener.TargetGroup != "" {
				used = append(used, listener.TargetGroup)
			}
		}
	})
	if _, err := i.groups.RequestMissing(ctx, used); err != nil {
		return nil, err
	}
	var machines []string
	i.groups.Each(slices.Concat(ids, used), func(_ string, g resource.TargetGroup, _ bool) {
		machines = append(machines, g.Machines...)
	})
	slices.Sort(machines)
	return slices.Compact(machines), nil
}
