package thalassa

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/inventory"
)

const (
	// reasonLabelsLost: the Service's load balancer lost labels, and is recognised without them.
	reasonLabelsLost = "LabelsLost"
	// reasonUncertain: a load balancer may be the Service's, and its labels do not say so.
	reasonUncertain = "LoadBalancerUncertain"
)

// recognition is what the VPC has that looks like the Service's load balancer and does not have the Service's labels.
type recognition struct {
	certain  []inventory.LoadBalancer // what they have says that they are the Service's, and nothing contradicts
	doubtful []uncertain
}

// uncertain is a load balancer that may be the Service's.
type uncertain struct {
	inventory.LoadBalancer
	why     string // it may be, and may not be
	unlike  string // what to do if it is not the Service's
	foreign bool   // its labels are those of another owner
}

// likeness is what a load balancer of a Service has besides its labels.
type likeness struct {
	inventory.Likeness
	service *corev1.Service
	labels  inventory.Labels
	asked   string // the name that the Service asks for; "" when it does not
}

func likenessOf(service *corev1.Service) likeness {
	f := likeness{service: service}
	f.Owner, f.Names = string(service.UID), []string{cloudprovider.DefaultLoadBalancerName(service)}
	if f.asked = strings.TrimSpace(service.Annotations[annotationPrefix+nameName]); f.asked != "" {
		f.Names = append(f.Names, f.asked)
	}
	for _, ingress := range service.Status.LoadBalancer.Ingress {
		for _, address := range []string{ingress.IP, ingress.Hostname} {
			if address != "" {
				f.Addresses = append(f.Addresses, address)
			}
		}
	}
	return f
}

// recognise looks for load balancers of the Service that lost labels, in the list that is there. With has, the Service
// has a load balancer with its labels, so that nothing depends on the answer.
func (b *balancers) recognise(ctx context.Context, service *corev1.Service, has bool) (recognition, error) {
	var r recognition
	f := likenessOf(service)
	similar, err := b.inventory.LoadBalancersLike(ctx, f.Likeness, !has)
	if err != nil {
		return r, fmt.Errorf("looking for a load balancer of the Service that lost its labels: %w", err)
	}
	f.labels = ownerLabels(cloud.OwnerOf(b.config.Cluster, service), nil)
	for _, balancer := range similar {
		switch certain, doubt := f.judge(balancer); {
		case certain:
			r.certain = append(r.certain, balancer)
		case doubt.why != "" && !balancer.Deleting():
			r.doubtful = append(r.doubtful, doubt)
		}
	}
	return r, nil
}

// judge says whether a load balancer without the Service's labels is the Service's nevertheless, or why that is
// uncertain. A name that the Service does not choose has its UID in it; whoever made a load balancer of that name is
// known by its address, or by what it has of ours.
func (f likeness) judge(balancer inventory.LoadBalancer) (certain bool, doubt uncertain) {
	named, asked := balancer.Name == f.Names[0], f.asked != "" && balancer.Name == f.asked
	addressed := slices.ContainsFunc(balancer.Addresses(), func(address string) bool {
		return slices.Contains(f.Addresses, address)
	})
	related := balancer.Labels[labelUID] == f.Owner
	listens := slices.ContainsFunc(balancer.Listeners, func(l inventory.Listener) bool {
		return labelledFor(l.Labels, f.labels)
	})
	like := named || asked || related || listens
	ours := (named || related || listens) && len(f.Addresses) == 0 && tracesOf(balancer.Annotations).created
	doubt = uncertain{LoadBalancer: balancer, unlike: "give it another name"}
	switch other := f.otherOwner(balancer); {
	case other != "" && addressed && like:
		doubt.foreign, doubt.why = true, fmt.Sprintf("it has the Service's address, and %s is not the Service's", other)
	case other != "":
	case ours, like && addressed:
		return true, uncertain{}
	case addressed:
		doubt.why, doubt.unlike = "it has the Service's address, and not its name",
			"take the address out of the Service's status: "+f.clearing()
	case related:
		doubt.why, doubt.unlike = "it has the Service's UID, and not its address", "remove its label "+labelUID
	case listens: // as one that was handed over to others has, too
		doubt.why, doubt.unlike = "its listeners have the Service's labels, and it does not have the Service's address",
			"remove these labels from its listeners"
	case named:
		doubt.why = "it has the Service's name, and not its address"
	case asked && balancer.Description == descriptionOf(cloud.OwnerOf("", f.service)):
		doubt.why = "it has the name that the Service asks for and its description, and not its address"
	}
	return false, doubt
}

// clearing is the command that takes the addresses out of the Service's status.
func (f likeness) clearing() string {
	return fmt.Sprintf(`kubectl patch service %s --namespace %s --subresource=status --type=merge --patch '{"status":{"loadBalancer":null}}'`, f.service.Name, f.service.Namespace)
}

// otherOwner is a label of the load balancer, or of one of its listeners, that says that it is not the Service's; ""
// when none does.
func (f likeness) otherOwner(balancer inventory.LoadBalancer) string {
	if other := contradiction(balancer.Labels, f.labels); other != "" {
		return "its label " + other
	}
	for _, listener := range balancer.Listeners {
		if other := contradiction(listener.Labels, f.labels); other != "" {
			return "the label " + other + " of its listener " + listener.Name
		}
	}
	return ""
}

// contradiction is a label, as "key=value", that says that an object is not the owner's; "" when none does. A missing
// or empty label does not.
func contradiction(labels, owner inventory.Labels) string {
	for _, key := range []string{labelCluster, labelManaged, labelNamespace, labelName, labelUID} {
		if value := labels[key]; value != "" && value != owner[key] {
			return key + "=" + value
		}
	}
	return ""
}

// adopted returns the load balancers that count as the Service's, given those with its labels: one that lost them only
// where there is no other. Of several that lost them nobody knows which one counts: then all are doubtful.
func (r *recognition) adopted(owned []inventory.LoadBalancer) []inventory.LoadBalancer {
	if len(owned) > 0 || len(r.certain) == 0 {
		return owned
	}
	if len(r.certain) == 1 {
		found := r.certain
		r.certain = nil
		return found
	}
	for _, balancer := range r.certain {
		r.doubtful = append(r.doubtful, uncertain{LoadBalancer: balancer, why: "several are like it",
			unlike: "delete it or give it another name"})
	}
	r.certain = nil
	return nil
}

// notices say what there is that may be the Service's, beside the load balancer that it has.
func (r recognition) notices(balancer inventory.LoadBalancer, owner inventory.Labels) []cloud.Notice {
	var notices []cloud.Notice
	if !labelledFor(balancer.Labels, owner) && !balancer.Deleting() {
		notices = append(notices, settingNotice(reasonLabelsLost, fmt.Sprintf(
			"Load balancer %s (%s) lost labels of this Service in the cloud. It was recognised without them and "+
				"keeps its address. The labels are set again. Find out which user or program removed them.",
			balancer.Name, balancer.ID)))
	}
	for _, other := range r.certain {
		if !other.Deleting() {
			notices = append(notices, settingNotice(reasonUncertain, fmt.Sprintf(
				"Load balancer %s (%s) also belongs to this Service, but has lost its labels. The Service uses %s. "+
					"If %s is not needed, delete it in the cloud; otherwise it is deleted with the Service.",
				other.Name, other.ID, balancer.ID, other.ID)))
		}
	}
	for _, other := range r.doubtful {
		if !other.foreign {
			notices = append(notices, settingNotice(reasonUncertain, fmt.Sprintf(
				"Load balancer %s (%s) may also belong to this Service: %s. The Service uses %s. If %s is not "+
					"needed, delete it in the cloud; it is not deleted with the Service.", other.Name, other.ID,
				other.why, balancer.ID, other.ID)))
		}
	}
	return notices
}

// labelledFor says whether the labels are those by which the owner's load balancer is found.
func labelledFor(labels, owner inventory.Labels) bool {
	return inventory.HasLabels(labels, inventory.Labels{labelCluster: owner[labelCluster],
		labelManaged: owner[labelManaged], labelUID: owner[labelUID]})
}

// refusal is why no load balancer is made, and what to do; nil when nothing is in the way.
func (r recognition) refusal(owner inventory.Labels) error {
	var all []error
	for _, found := range r.doubtful {
		text := fmt.Sprintf("load balancer %s (%s) may belong to this Service: %s. No other load balancer is "+
			"created, and this one is not changed. If it belongs to the Service, set these labels on it in the "+
			"cloud: %s=%s, %s=%s, %s=%s.",
			found.Name, found.ID, found.why, labelCluster, owner[labelCluster], labelManaged, owner[labelManaged],
			labelUID, owner[labelUID])
		if found.foreign {
			text += " If the name of the cluster was changed, set cluster in the cloud-config to the previous name."
		}
		all = append(all, fmt.Errorf("%s If it is not, %s", text, found.unlike))
	}
	return errors.Join(all...)
}

// leftBehind says what may be the Service's and stays in the cloud although it is to have nothing there; "" when
// nothing does.
func (o observed) leftBehind() string {
	var all []string
	for _, found := range o.like.doubtful {
		if found.Labels[labelManaged] == "false" {
			continue // it was handed over to others
		}
		all = append(all,
			fmt.Sprintf("Load balancer %s (%s) remains in the cloud: %s. If it belonged to this Service, delete it "+
				"there.", found.Name, found.ID, found.why))
	}
	for _, group := range o.unproven {
		all = append(all, fmt.Sprintf("Security group %s (%s) remains in the cloud: it has only some of the labels of "+
			"this Service. If it belonged to this Service, delete it there.", group.Name, group.ID))
	}
	return strings.Join(all, " ")
}

// otherUser returns a load balancer that is not the Service's and uses the target group or security group with that
// identity.
func (b *balancers) otherUser(id string, o observed) (user inventory.LoadBalancer, used bool) {
	return b.inventory.UserOf(id, func(lb inventory.LoadBalancer) bool { return o.hasBalancer(lb.ID) })
}

// madeByUs says of a load balancer that lost its labels, and with them perhaps the record of who made it, whether this
// program did: all that belongs to it has that record.
func (o observed) madeByUs() bool {
	balancer := o.balancer()
	if balancer == nil || len(balancer.Listeners) == 0 {
		return false
	}
	return !slices.ContainsFunc(balancer.Listeners, func(l inventory.Listener) bool {
		return !tracesOf(l.Annotations).created
	}) &&
		!slices.ContainsFunc(o.groups, func(g inventory.TargetGroup) bool { return !tracesOf(g.Annotations).created })
}

// descriptionOf is the description of what is made for a Service.
func descriptionOf(owner cloud.Owner) string { return "Kubernetes Service " + owner.String() }

// groupsWithoutLabels returns the Service's target groups that lost labels. Their name has that of the Service's load
// balancer in it, which has the Service's UID. One that another load balancer uses is left to that.
func (b *balancers) groupsWithoutLabels(
	ctx context.Context, service *corev1.Service, o observed,
) ([]inventory.TargetGroup, error) {
	groups, err := b.inventory.TargetGroupsNamed(ctx, cloudprovider.DefaultLoadBalancerName(service))
	if err != nil || len(groups) == 0 {
		return nil, err
	}
	owner := ownerLabels(cloud.OwnerOf(b.config.Cluster, service), nil)
	return slices.DeleteFunc(groups, func(group inventory.TargetGroup) bool {
		_, used := b.otherUser(group.ID, o)
		return o.hasGroup(group.ID) || contradiction(group.Labels, owner) != "" || used
	}), nil
}

// securityGroupsWithoutLabels returns the security groups that were made for the Service and lost labels: one whose
// name has a hash of the Service's UID in it, one with the Service's UID and the name that the existing CCM gives, or
// one that is attached to its load balancer, has that name, and still has another label of the Service. The name that
// the existing CCM gives alone is never enough: a user's own group may have it. Unproven are those that have that name
// and some labels, and are not attached.
func (b *balancers) securityGroupsWithoutLabels(
	ctx context.Context, service *corev1.Service, o observed,
) (found, unproven []inventory.SecurityGroup, err error) {
	own, legacy := groupName(string(service.UID)), legacyGroupName(service.Name)
	groups, err := b.inventory.SecurityGroupsNamed(ctx, own, legacy)
	if err != nil || len(groups) == 0 {
		return nil, nil, err
	}
	owner := ownerLabels(cloud.OwnerOf(b.config.Cluster, service), nil)
	for _, group := range groups {
		known := slices.ContainsFunc(o.securityGroups, func(has inventory.SecurityGroup) bool {
			return has.ID == group.ID
		})
		attached := o.balancer() != nil && slices.Contains(o.balancer().SecurityGroups, group.ID)
		switch {
		case known || contradiction(group.Labels, owner) != "":
		case group.Name == own || group.Labels[labelUID] != "" || attached && namesService(group.Labels, owner):
			found = append(found, group)
		case namesService(group.Labels, owner):
			unproven = append(unproven, group)
		}
	}
	return found, unproven, nil
}

// namesService says whether labels that are not complete still name the owner's Service.
func namesService(labels, owner inventory.Labels) bool {
	return labels[labelName] == owner[labelName] && labels[labelNamespace] == owner[labelNamespace]
}

// unlabelled returns the load balancers that lost labels and are certainly a Service's, whether that is there or not:
// they lead to a target group with the Service's labels, and have the name that is made from its UID.
func (b *balancers) unlabelled(groups []inventory.TargetGroup) []cloud.ManagedObject {
	labels := map[string]inventory.Labels{} // by identity of a target group
	for _, group := range groups {
		labels[group.ID] = group.Labels
	}
	var found []cloud.ManagedObject
	for _, balancer := range b.inventory.Unlabelled() {
		for _, listener := range balancer.Listeners {
			of := labels[listener.TargetGroup]
			former := &corev1.Service{ObjectMeta: metav1.ObjectMeta{UID: types.UID(of[labelUID])}}
			if former.UID != "" && balancer.Name == cloudprovider.DefaultLoadBalancerName(former) {
				one := owner(of, kindBalancer, balancer.Name, balancer.ID, balancer.Status)
				one.Unlabelled = true
				found = append(found, one)
				break
			}
		}
	}
	return found
}

// legacyGroupName is what the existing CCM calls a Service's security group.
func legacyGroupName(service string) string {
	name := "sg-" + service
	return name[:min(len(name), maxGroupName)]
}

// sentence begins a text with a capital letter.
func sentence(text string) string { return strings.ToUpper(text[:1]) + text[1:] }
