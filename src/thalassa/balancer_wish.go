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
	// reasonKept: the port is closed to most, and the Service does not ask for that.
	reasonKept = "AllowedSourcesKept"
	// reasonLeftOut: nodes of the Service get none of its traffic.
	reasonLeftOut = "NodesLeftOut"
)

// desire is what the Service should have, and what its owner should know about that.
func (b *balancers) desire(ctx context.Context, service *corev1.Service, targets cloud.Targets,
	o observed) (desired, []cloud.Notice, error) {
	usable, err := b.existing(ctx, targets)
	if err != nil {
		return desired{}, nil, err
	}
	d, notices := b.read(service, o)
	common, problems := cloud.Desire(d.Owner, service, usable)
	d.Desired = common
	for _, problem := range append(problems, unservable(&d.Desired)...) {
		notices = append(notices, settingNotice(reasonUnsupported, problem))
	}
	references, missing := b.resolve(ctx, service, d.settings, o)
	d.references = references
	notices = append(append(notices, missing...), d.affinity(service, o)...)
	if text := immovable(d.settings, o.balancer()); text != "" {
		notices = append(notices, settingNotice(reasonImmutable, text))
	}
	for _, port := range d.Ports {
		if listener := o.listener(port.Key); listener != nil {
			if text := d.keptSources(d.ports[port.Key].sources, port.Key.String(), *listener); text != "" {
				notices = append(notices, settingNotice(reasonKept, text))
			}
		}
	}
	d.unmanaged = unmanagedGroup(d, o)
	notices = append(append(notices, d.conflicts()...), d.silent()...)
	return d, append(notices, leftOutOf(targets, usable).notices(b.config.VPCIdentity)...), nil
}

// read is what the Service says, over the defaults that hold for what it has.
func (b *balancers) read(service *corev1.Service, o observed) (desired, []cloud.Notice) {
	d := desired{name: cloudprovider.DefaultLoadBalancerName(service), created: true}
	d.Owner = cloud.OwnerOf(b.config.Cluster, service)
	d.labels = ownerLabels(d.Owner, b.config.AdditionalLabels)
	from := b.annotations
	if balancer := o.balancer(); balancer != nil {
		remembered := tracesOf(balancer.Annotations)
		d.created, d.free = remembered.created || !labelledFor(balancer.Labels, d.labels) && o.madeByUs(),
			remembered.has(settingAdopted)
		if !d.created {
			from = b.legacy
		}
	}
	if o.balancer() == nil && len(o.groups) > 0 && !tracesOf(o.groups[0].Annotations).created {
		from = b.legacy // its load balancer is gone, and was the existing CCM's
	}
	var notices []cloud.Notice
	d.settings, notices = from.read(service)
	if d.created {
		d.keepClients(service)
	}
	d.former = len(service.Spec.Ports) == 0
	return d, notices
}
