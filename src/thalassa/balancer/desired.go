// Package balancer computes what a Service should have in the cloud, and the writes that are necessary. Both are
// functions of the Service, its targets, the configuration, and values that were read from the cloud before: the
// observed objects, which contain the last-applied records, and the objects that the Service names. The package cannot
// call the cloud.
//
// The caller observes the objects of a Service ([Observed]), asks [Request.Names] what else is needed, looks that up
// ([References]), and gets a plan from [Request.Compare] or [Request.PlanDelete]. The operations of a plan are values;
// the caller carries them out.
package balancer

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/cloudconfig"
)

// Config is what the cluster's configuration says about load balancers.
type Config struct {
	Cluster          string // identity
	VPC              string // identity
	DefaultSubnet    string // identity or slug; "" if none is configured
	AdditionalLabels map[string]string
	maxTargets       int  // nodes of a load balancer whose Service does not say; 0: no limit
	createsGroups    bool // the configuration has a default for the creation of security groups
	// annotations has the cluster's defaults, and plain does not: they do not apply to adopted load balancers.
	annotations, plain annotations
}

// NewConfig returns what the cloud-config says about load balancers.
func NewConfig(c cloudconfig.Config) Config {
	own := newAnnotations()
	own.registry.SetDefaults(c.LoadBalancer.Defaults)
	return Config{Cluster: c.Cluster, VPC: c.VPCIdentity, DefaultSubnet: c.DefaultSubnet,
		AdditionalLabels: c.AdditionalLabels, createsGroups: c.LoadBalancer.Defaults[nameCreateGroup] != "",
		maxTargets: c.LoadBalancer.MaxTargets, annotations: own, plain: newAnnotations()}
}

// Request is what a Service asks for, before the objects that it names are looked up.
type Request struct {
	desired
	config   Config
	service  *corev1.Service
	observed Observed
	notices  []cloud.Notice // about mistakes in the annotations
}

// Request returns what the Service asks for. Which defaults apply depends on its existing load balancer.
func (c Config) Request(service *corev1.Service, o Observed) Request {
	o = o.ordered()
	d := desired{name: cloudprovider.DefaultLoadBalancerName(service), created: true}
	d.Owner = cloud.OwnerOf(c.Cluster, service)
	d.labels = ownerLabels(d.Owner, c.AdditionalLabels)
	from := c.annotations
	if balancer := o.Balancer(); balancer != nil {
		d.created = lastAppliedOf(balancer.Annotations).created ||
			!labelledFor(balancer.Labels, d.labels) && o.allCreatedByUs()
		if !d.created {
			from = c.plain
		}
	}
	var notices []cloud.Notice
	d.settings, notices = from.read(service)
	if d.created {
		d.setAffinityPolicy(service)
	}
	d.deleted = len(service.Spec.Ports) == 0
	return Request{desired: d, config: c, service: service, observed: o, notices: notices}
}

// desire returns the desired state of the Service, and notices for its owner.
func (r Request) desire(in Input) (desired, []cloud.Notice) {
	service, o := r.service, r.observed
	d, missing := r.resolve(in.References)
	d.memory = in.Memory
	notices := slices.Clone(r.notices)
	var problems []string
	d.Desired, problems = serve(d.Owner, service)
	d.limitTargets(r, in.Candidates, in.Settled)
	for _, problem := range problems {
		notices = append(notices, settingNotice(reasonUnsupported, "%s", problem))
	}
	notices = append(append(notices, missing...), d.affinityNotices(service, o)...)
	if text := immutableTypeText(d.settings, o.Balancer()); text != "" {
		notices = append(notices, settingNotice(reasonImmutable, "%s", text))
	}
	notices = append(notices, d.keptSourcesNotices(o)...)
	d.unmanaged = unmanagedGroup(d, o)
	notices = append(append(notices, d.healthCheckNotices()...), d.pingNotices()...)
	notices = append(notices, d.maxTargetsNotices(service)...)
	return d, append(notices, leftOutNotices(d.leavesOut(), r.config.VPC)...)
}

// serve returns the desired state without terms of this cloud and without targets, with the ports that this cloud can
// serve, and messages about the other ports.
func serve(owner cloud.Owner, service *corev1.Service) (cloud.Desired, []string) {
	served, problems := cloud.Desire(owner, service).WithNodePorts()
	problems = append(problems, dropUnsupported(&served)...)
	return served, problems
}
