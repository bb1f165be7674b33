package balancer

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// Two rules decide about load balancers of the VPC that lack the Service's labels:
//
//   - If there is exactly one, which has the Service's name and no label of another owner, it is the Service's and gets
//     the labels again, with its target groups and its security group. If addresses are published, it must have one.
//   - Any other that has the Service's name, its UID or its published address is not changed, and no other is created.
//     With the label of another owner, it must have its address and one of the others.

// Recognition contains load balancers of the VPC that may be the Service's and lack its labels.
type Recognition []unlabelled

// unlabelled is a load balancer that may be the Service's and lacks its labels.
type unlabelled struct {
	resource.LoadBalancer
	own      bool     // it is the Service's if there is no other
	has      []string // what it has in common with the Service
	remedies []string // what to do if it is not the Service's
	other    string   // a label of another owner; "" if it has none
	// clusterUID is the UID of another cluster with the same key that the load balancer has; "" if it has none.
	clusterUID string
}

// ServiceTraits are the properties, other than labels, by which a Service's load balancer is recognised.
type ServiceTraits struct {
	resource.Traits
	service *corev1.Service
	labels  resource.Labels
}

// TraitsOf returns the properties by which the load balancer of the Service is recognised.
func (c Config) TraitsOf(service *corev1.Service) ServiceTraits {
	t := ServiceTraits{service: service, labels: ownerLabels(cloud.OwnerOf(c.Cluster, service), nil)}
	t.Owner, t.Names = string(service.UID), []string{cloudprovider.DefaultLoadBalancerName(service)}
	if asked := strings.TrimSpace(service.Annotations[label.AnnotationPrefix+nameName]); asked != "" {
		t.Names = append(t.Names, asked)
	}
	for _, ingress := range service.Status.LoadBalancer.Ingress {
		for _, address := range []string{ingress.IP, ingress.Hostname} {
			if address != "" {
				t.Addresses = append(t.Addresses, cloud.CanonicalAddress(address))
			}
		}
	}
	return t
}

// Recognise returns which of the load balancers that lack the Service's labels may be the Service's.
func (t ServiceTraits) Recognise(similar []resource.LoadBalancer) Recognition {
	var r Recognition
	for _, balancer := range similar {
		if found, is := t.compare(balancer); is {
			r = append(r, found)
		}
	}
	return r
}

// compare reports whether a load balancer without the Service's labels may be the Service's. The default name contains
// the Service's UID. Another name proves nothing without the address, because anybody can choose it. With the label of
// another owner, a load balancer must have the address and something else: the Service may have been copied with its
// UID into another cluster.
func (t ServiceTraits) compare(balancer resource.LoadBalancer) (found unlabelled, is bool) {
	uid, named := balancer.Labels[label.ServiceUID], slices.Contains(t.Names, balancer.Name)
	addressed := slices.ContainsFunc(balancer.Addresses(), func(address string) bool {
		return slices.Contains(t.Addresses, address)
	})
	found = unlabelled{LoadBalancer: balancer, other: contradictingLabel(balancer.Labels, t.labels),
		clusterUID: label.UIDOf(balancer.Labels[label.Cluster], t.labels[label.Cluster])}
	found.own = found.other == "" && named && (addressed || balancer.Name == t.Names[0] && len(t.Addresses) == 0)
	add := func(holds bool, has, remedy string) {
		if holds {
			found.has, found.remedies = append(found.has, has), append(found.remedies, remedy)
		}
	}
	add(named, "name", "give it another name")
	add(uid == t.Owner, "UID", "remove its label "+label.ServiceUID)
	add(addressed, "address", "take the address out of the Service's status: "+t.clearStatusCommand())
	switch {
	case found.other == "":
		return found, found.own || len(found.has) > 0 && !balancer.Deleting()
	case found.clusterUID != "" && uid == t.Owner:
		return found, !balancer.Deleting()
	}
	return found, addressed && len(found.has) > 1 && !balancer.Deleting()
}

// clearStatusCommand is the command that removes the addresses from the Service's status.
func (t ServiceTraits) clearStatusCommand() string {
	return fmt.Sprintf(`kubectl patch service %s --namespace %s --subresource=status --type=merge --patch '{"status":{"loadBalancer":null}}'`, t.service.Name, t.service.Namespace)
}

// contradictingLabel returns a label, as "key=value", that names another owner; "" if there is none. A missing or empty
// label does not.
func contradictingLabel(labels, owner resource.Labels) string {
	for _, key := range []string{label.Cluster, label.Managed, label.ServiceNamespace, label.ServiceName,
		label.ServiceUID} {
		if value := labels[key]; value != "" && value != owner[key] {
			return key + "=" + value
		}
	}
	return ""
}

// Take returns the load balancers that count as the Service's, oldest first, given those with its labels. The others
// remain in the recognition.
func (r *Recognition) Take(owned []resource.LoadBalancer) []resource.LoadBalancer {
	if len(owned) == 0 && len(*r) == 1 && (*r)[0].own {
		owned, *r = []resource.LoadBalancer{(*r)[0].LoadBalancer}, nil
	}
	balancers := slices.Clone(owned)
	slices.SortFunc(balancers, byAge)
	return balancers
}

// notices describe load balancers that may be the Service's, in addition to the one that it uses.
func (r Recognition) notices(balancer resource.LoadBalancer, owner resource.Labels) []cloud.Notice {
	var notices []cloud.Notice
	if !labelledFor(balancer.Labels, owner) && !balancer.Deleting() {
		notices = append(notices, settingNotice(reasonLabelsLost, textLabelsLost, balancer.Name, balancer.ID))
	}
	for _, other := range r {
		if other.other == "" && !other.Deleting() {
			notices = append(notices, settingNotice(reasonUncertain, textMayAlsoBelong,
				other.Name, other.ID, other.why(), balancer.ID, other.ID))
		}
	}
	return notices
}

// labelledFor reports whether the labels are those by which the owner's load balancer is found.
func labelledFor(labels, owner resource.Labels) bool {
	return resource.HasLabels(labels, resource.Labels{label.Cluster: owner[label.Cluster],
		label.Managed: owner[label.Managed], label.ServiceUID: owner[label.ServiceUID]})
}

// why returns why the load balancer may be the Service's, and which label contradicts.
func (u unlabelled) why() string {
	why := "it has the Service's " + strings.Join(u.has, " and ")
	if u.other != "" {
		why += ", and its label " + u.other + " is not the Service's"
	}
	return why
}

// ofAnotherCluster describes a load balancer with the key of this cluster and the UID of another one, and how to go on.
func (u unlabelled) ofAnotherCluster() error {
	return fmt.Errorf(textAnotherCluster, u.Name, u.ID, label.ClusterUID,
		u.clusterUID)
}

// reason returns the reason of the notice about a refusal.
func (r Recognition) reason() string {
	if slices.ContainsFunc(r, func(u unlabelled) bool { return u.clusterUID != "" }) {
		return reasonAnotherCluster
	}
	return reasonUncertain
}

// refusal returns why no load balancer is created, and what to do; nil if nothing prevents it.
func (r Recognition) refusal(owner resource.Labels) error {
	var all []error
	for _, found := range r {
		if found.clusterUID != "" {
			all = append(all, found.ofAnotherCluster())
			continue
		}
		text := fmt.Sprintf(textUncertain,
			found.Name, found.ID, found.why(), label.Cluster, owner[label.Cluster], label.Managed, owner[label.Managed],
			label.ServiceUID, owner[label.ServiceUID])
		if found.other != "" {
			text += adviceFormerName
		}
		all = append(all, fmt.Errorf("%s If it is not, %s", text, strings.Join(found.remedies, ", and ")))
	}
	return errors.Join(all...)
}

// allCreatedByUs reports whether this program created a load balancer that lost its labels, and perhaps also its
// record: all its parts must have the record.
func (o Observed) allCreatedByUs() bool {
	balancer := o.Balancer()
	if balancer == nil || len(balancer.Listeners) == 0 {
		return false
	}
	return !slices.ContainsFunc(balancer.Listeners, func(l resource.Listener) bool {
		return !lastAppliedOf(l.Annotations).created
	}) &&
		!slices.ContainsFunc(o.Groups, func(g resource.TargetGroup) bool {
			return !lastAppliedOf(g.Annotations).created
		})
}

// descriptionOf is the description of objects that are created for a Service.
func descriptionOf(owner cloud.Owner) string { return "Kubernetes Service " + owner.String() }

// OwnsGroup reports whether a security group that is attached to the Service's load balancer, and lacks labels, was
// created for the Service: its name is made from the Service's UID, or a label still names the Service.
func (t ServiceTraits) OwnsGroup(group resource.SecurityGroup) bool {
	named := t.labels[label.ServiceName] != "" && group.Labels[label.ServiceName] == t.labels[label.ServiceName] &&
		group.Labels[label.ServiceNamespace] == t.labels[label.ServiceNamespace]
	return contradictingLabel(group.Labels, t.labels) == "" &&
		(named || group.Name == groupName(t.Owner) || group.Labels[label.ServiceUID] != "")
}

// sentence returns the text with a capital first letter.
func sentence(text string) string { return strings.ToUpper(text[:1]) + text[1:] }
