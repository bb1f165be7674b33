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

const (
	// reasonLabelsLost: the Service's load balancer lost labels, and was recognised without them.
	reasonLabelsLost = "LabelsLost"
	// reasonUncertain: a load balancer may be the Service's, but its labels do not say so.
	reasonUncertain = "LoadBalancerUncertain"
	// reasonAnotherCluster: the Service's load balancer has the UID of another cluster.
	reasonAnotherCluster = "LoadBalancerOfAnotherCluster"
)

// Recognition contains load balancers of the VPC that resemble the Service's and lack its labels.
type Recognition struct {
	certain  []resource.LoadBalancer // their properties prove that they are the Service's, and no label contradicts
	possible []possibleMatch
}

// possibleMatch is a load balancer that may be the Service's.
type possibleMatch struct {
	resource.LoadBalancer
	why       string // why it may be the Service's, and why this is uncertain
	otherwise string // what to do if the load balancer is not the Service's
	foreign   bool   // its labels are those of another owner
	// clusterUID is the UID of another cluster with the same key that the load balancer has; "" if it has none.
	clusterUID string
}

// ServiceTraits are the properties, other than labels, by which a Service's load balancer is recognised.
type ServiceTraits struct {
	resource.Traits
	service       *corev1.Service
	labels        resource.Labels
	requestedName string // the name that the Service asks for; "" if it asks for none
}

// TraitsOf returns the properties by which the load balancer of the Service is recognised.
func (c Config) TraitsOf(service *corev1.Service) ServiceTraits {
	t := ServiceTraits{service: service, labels: ownerLabels(cloud.OwnerOf(c.Cluster, service), nil)}
	t.Owner, t.Names = string(service.UID), []string{cloudprovider.DefaultLoadBalancerName(service)}
	if t.requestedName = strings.TrimSpace(
		service.Annotations[label.AnnotationPrefix+nameName]); t.requestedName != "" {
		t.Names = append(t.Names, t.requestedName)
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

// Recognise returns which of the load balancers that lack the Service's labels are the Service's, or may be.
func (t ServiceTraits) Recognise(similar []resource.LoadBalancer) Recognition {
	var r Recognition
	for _, balancer := range similar {
		switch certain, possible := t.classify(balancer); {
		case certain:
			r.certain = append(r.certain, balancer)
		case possible.why != "" && !balancer.Deleting():
			r.possible = append(r.possible, possible)
		}
	}
	return r
}

// classify reports whether a load balancer without the Service's labels is the Service's nevertheless, or why this is
// uncertain. The default name contains the Service's UID. Another program may have created a load balancer with this
// name, so its address or its record must also match.
func (t ServiceTraits) classify(balancer resource.LoadBalancer) (certain bool, match possibleMatch) {
	named, asked := balancer.Name == t.Names[0], t.requestedName != "" && balancer.Name == t.requestedName
	addressed := slices.ContainsFunc(balancer.Addresses(), func(address string) bool {
		return slices.Contains(t.Addresses, address)
	})
	related := balancer.Labels[label.ServiceUID] == t.Owner
	listens := slices.ContainsFunc(balancer.Listeners, func(l resource.Listener) bool {
		return labelledFor(l.Labels, t.labels)
	})
	like := named || asked || related || listens
	ours := (named || related || listens) && len(t.Addresses) == 0 && lastAppliedOf(balancer.Annotations).created
	match = possibleMatch{LoadBalancer: balancer, otherwise: "give it another name",
		clusterUID: label.UIDOf(balancer.Labels[label.Cluster], t.labels[label.Cluster])}
	switch other := t.otherOwner(balancer); {
	case match.clusterUID != "" && (related || addressed && like):
		match.foreign, match.why = true, "it has the UID of another cluster"
	case other != "" && addressed && like:
		match.foreign, match.why = true, fmt.Sprintf("it has the Service's address, and %s is not the Service's", other)
	case other != "":
	case ours, like && addressed:
		return true, possibleMatch{}
	case addressed:
		match.why, match.otherwise = "it has the Service's address, and not its name",
			"take the address out of the Service's status: "+t.clearStatusCommand()
	case related:
		match.why, match.otherwise = "it has the Service's UID, and not its address",
			"remove its label "+label.ServiceUID
	case listens: // a load balancer that was released also has them
		match.why, match.otherwise = "its listeners have the Service's labels, and it does not have the Service's "+
			"address",
			"remove these labels from its listeners"
	case named:
		match.why = "it has the Service's name, and not its address"
	case asked && balancer.Description == descriptionOf(cloud.OwnerOf("", t.service)):
		match.why = "it has the name that the Service asks for and its description, and not its address"
	}
	return false, match
}

// clearStatusCommand is the command that removes the addresses from the Service's status.
func (t ServiceTraits) clearStatusCommand() string {
	return fmt.Sprintf(`kubectl patch service %s --namespace %s --subresource=status --type=merge --patch '{"status":{"loadBalancer":null}}'`, t.service.Name, t.service.Namespace)
}

// otherOwner returns a label of the load balancer, or of one of its listeners, that names another owner; "" if there is
// none.
func (t ServiceTraits) otherOwner(balancer resource.LoadBalancer) string {
	if other := contradictingLabel(balancer.Labels, t.labels); other != "" {
		return "its label " + other
	}
	for _, listener := range balancer.Listeners {
		if other := contradictingLabel(listener.Labels, t.labels); other != "" {
			return "the label " + other + " of its listener " + listener.Name
		}
	}
	return ""
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

// Take returns the load balancers that count as the Service's, oldest first, given those with its labels. With ending,
// the Service is to have none: then all certain matches count. The others remain in the recognition.
func (r *Recognition) Take(owned []resource.LoadBalancer, ending bool) []resource.LoadBalancer {
	balancers := slices.Concat(owned, r.certain)
	if ending {
		r.certain = nil
	} else {
		balancers = slices.Clone(r.withUnlabelled(owned))
	}
	slices.SortFunc(balancers, byAge)
	return balancers
}

// withUnlabelled returns the load balancers that count as the Service's, given those with its labels. One that lost its
// labels counts only if there is no other. If several lost their labels, it is not known which one counts, so all are
// only possible.
func (r *Recognition) withUnlabelled(owned []resource.LoadBalancer) []resource.LoadBalancer {
	if len(owned) > 0 || len(r.certain) == 0 {
		return owned
	}
	if len(r.certain) == 1 {
		found := r.certain
		r.certain = nil
		return found
	}
	for _, balancer := range r.certain {
		r.possible = append(r.possible, possibleMatch{LoadBalancer: balancer, why: "several are like it",
			otherwise: "delete it or give it another name"})
	}
	r.certain = nil
	return nil
}

// notices describe load balancers that may be the Service's, in addition to the one that it uses.
func (r Recognition) notices(balancer resource.LoadBalancer, owner resource.Labels) []cloud.Notice {
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
	for _, other := range r.possible {
		if !other.foreign {
			notices = append(notices, settingNotice(reasonUncertain, fmt.Sprintf(
				"Load balancer %s (%s) may also belong to this Service: %s. The Service uses %s. If %s is not "+
					"needed, delete it in the cloud; it is not deleted with the Service.", other.Name, other.ID,
				other.why, balancer.ID, other.ID)))
		}
	}
	return notices
}

// labelledFor reports whether the labels are those by which the owner's load balancer is found.
func labelledFor(labels, owner resource.Labels) bool {
	return resource.HasLabels(labels, resource.Labels{label.Cluster: owner[label.Cluster],
		label.Managed: owner[label.Managed], label.ServiceUID: owner[label.ServiceUID]})
}

// ofAnotherCluster describes a load balancer with the key of this cluster and the UID of another one, and how to go on.
func (p possibleMatch) ofAnotherCluster() error {
	return fmt.Errorf("load balancer %s (%s) has the labels of this Service, and its annotation %s is %s, the UID of "+
		"another cluster with the same value of cluster in its cloud-config. It is not changed, and no other load "+
		"balancer is created. If this cluster replaces the other one, add the UID to formerClusterUIDs in the "+
		"cloud-config. If both exist, give the newer one another value of cluster", p.Name, p.ID, label.ClusterUID,
		p.clusterUID)
}

// reason returns the reason of the notice about a refusal.
func (r Recognition) reason() string {
	if slices.ContainsFunc(r.possible, func(p possibleMatch) bool { return p.clusterUID != "" }) {
		return reasonAnotherCluster
	}
	return reasonUncertain
}

// refusal returns why no load balancer is created, and what to do; nil if nothing prevents it.
func (r Recognition) refusal(owner resource.Labels) error {
	var all []error
	for _, found := range r.possible {
		if found.clusterUID != "" {
			all = append(all, found.ofAnotherCluster())
			continue
		}
		text := fmt.Sprintf("load balancer %s (%s) may belong to this Service: %s. No other load balancer is "+
			"created, and this one is not changed. If it belongs to the Service, set these labels on it in the "+
			"cloud: %s=%s, %s=%s, %s=%s.",
			found.Name, found.ID, found.why, label.Cluster, owner[label.Cluster], label.Managed, owner[label.Managed],
			label.ServiceUID, owner[label.ServiceUID])
		if found.foreign {
			text += " If the name of the cluster was changed, set cluster in the cloud-config to the previous name."
		}
		all = append(all, fmt.Errorf("%s If it is not, %s", text, found.otherwise))
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

// MayOwn reports whether a target group without the Service's labels is the Service's, unless a load balancer of others
// uses it.
func (t ServiceTraits) MayOwn(group resource.TargetGroup, o Observed) bool {
	return !o.hasGroup(group.ID) && contradictingLabel(group.Labels, t.labels) == ""
}

// GroupNames are the names of security groups that this program, or the existing CCM, creates for the Service.
func (t ServiceTraits) GroupNames() []string {
	return []string{groupName(t.Owner), legacyGroupName(t.service.Name)}
}

// RecogniseGroups returns the security groups that were created for the Service and lost labels. The name
// of such a group contains a hash of the Service's UID; or it has the existing CCM's name and the Service's UID; or it
// has that name, is attached to the Service's load balancer, and still has another label of the Service. The existing
// CCM's name alone is not sufficient, because a user's own group may have it. Unproven groups have that name and some
// labels, and are not attached.
func (t ServiceTraits) RecogniseGroups(groups []resource.SecurityGroup,
	o Observed) (found, unproven []resource.SecurityGroup) {
	own, owner := groupName(t.Owner), t.labels
	for _, group := range groups {
		known := slices.ContainsFunc(o.SecurityGroups, func(has resource.SecurityGroup) bool {
			return has.ID == group.ID
		})
		attached := o.Balancer() != nil && slices.Contains(o.Balancer().SecurityGroups, group.ID)
		switch {
		case known || contradictingLabel(group.Labels, owner) != "":
		case group.Name == own || group.Labels[label.ServiceUID] != "" || attached && namesService(group.Labels, owner):
			found = append(found, group)
		case namesService(group.Labels, owner):
			unproven = append(unproven, group)
		}
	}
	return found, unproven
}

// namesService reports whether incomplete labels still name the owner's Service.
func namesService(labels, owner resource.Labels) bool {
	return labels[label.ServiceName] == owner[label.ServiceName] &&
		labels[label.ServiceNamespace] == owner[label.ServiceNamespace]
}

// legacyGroupName is the name of a Service's security group in the existing CCM.
func legacyGroupName(service string) string {
	name := "sg-" + service
	return name[:min(len(name), maxGroupName)]
}

// sentence returns the text with a capital first letter.
func sentence(text string) string { return strings.ToUpper(text[:1]) + text[1:] }
