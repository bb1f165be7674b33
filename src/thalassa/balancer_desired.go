package thalassa

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// Reasons of the provider's notices.
const (
	reasonAnnotation    = "InvalidAnnotation"
	reasonConflict      = "ConflictingSettings"
	reasonUnsupported   = "UnsupportedSetting"
	reasonImmutable     = "ImmutableSetting"
	reasonUnknownSubnet = "UnknownSubnet"
	reasonUnknownGroup  = "UnknownSecurityGroup"
	reasonUnknownIP     = "UnknownReservedIP"
	reasonInUse         = "ReservedIPInUse"
	reasonGroupFull     = "SecurityGroupFull"
	// reasonKept: the port accepts only some sources, and the Service does not ask for that.
	reasonKept = "AllowedSourcesKept"
	// reasonLeftOut: some nodes receive no traffic of the Service.
	reasonLeftOut = "NodesLeftOut"
)

// computeDesired returns the desired state of the Service, and notices for its owner.
func (b *balancers) computeDesired(ctx context.Context, service *corev1.Service, targets cloud.Targets,
	o observed) (desired, []cloud.Notice, error) {
	usable, err := b.existingTargets(ctx, targets)
	if err != nil {
		return desired{}, nil, err
	}
	d, notices := b.read(service, o)
	common, problems := cloud.Desire(d.Owner, service, usable).WithNodePorts()
	d.Desired = common
	for _, problem := range append(problems, dropUnsupported(&d.Desired)...) {
		notices = append(notices, settingNotice(reasonUnsupported, problem))
	}
	references, missing := b.resolve(ctx, service, d.settings, o)
	d.references = references
	notices = append(append(notices, missing...), d.affinityNotices(service, o)...)
	if text := immutableTypeText(d.settings, o.balancer()); text != "" {
		notices = append(notices, settingNotice(reasonImmutable, text))
	}
	for _, port := range d.Ports {
		if listener := o.listener(port.Key); listener != nil {
			if text := d.keptSourcesText(d.ports[port.Key].sources, port.Key.String(), *listener); text != "" {
				notices = append(notices, settingNotice(reasonKept, text))
			}
		}
	}
	d.unmanaged = unmanagedGroup(d, o)
	notices = append(append(notices, d.healthCheckNotices()...), d.pingNotices()...)
	return d, append(notices, leftOutOf(targets, usable).notices(b.config.VPCIdentity)...), nil
}

// read returns the Service's settings. Which defaults apply depends on its existing load balancer.
func (b *balancers) read(service *corev1.Service, o observed) (desired, []cloud.Notice) {
	d := desired{name: cloudprovider.DefaultLoadBalancerName(service), created: true}
	d.Owner = cloud.OwnerOf(b.config.Cluster, service)
	d.labels = ownerLabels(d.Owner, b.config.AdditionalLabels)
	from := b.annotations
	if balancer := o.balancer(); balancer != nil {
		record := lastAppliedOf(balancer.Annotations)
		d.created, d.adopted = record.created || !labelledFor(balancer.Labels, d.labels) && o.allCreatedByUs(),
			record.has(settingAdopted)
		if !d.created {
			from = b.legacy
		}
	}
	if o.balancer() == nil && len(o.groups) > 0 && !lastAppliedOf(o.groups[0].Annotations).created {
		from = b.legacy // the existing CCM created its load balancer, which was deleted
	}
	var notices []cloud.Notice
	d.settings, notices = from.read(service)
	if d.created {
		d.setAffinityPolicy(service)
	}
	d.deleted = len(service.Spec.Ports) == 0
	return d, notices
}
