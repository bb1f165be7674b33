// Package formertest makes what the existing cloud controller manager of Thalassa Cloud leaves in the emulated cloud.
// It uses no code of this cloud controller manager, so that no mistake is in both.
package formertest

import (
	"cmp"
	"maps"
	"strconv"
	"strings"
	"testing"

	"github.com/thalassa-cloud/client-go/iaas"
	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

// Objects are those of a Service. Groups and listeners are those of its ports, in their order; further groups were left
// over.
type Objects struct {
	Balancer  iaas.CreateLoadbalancer
	Groups    []iaas.CreateTargetGroup
	Listeners []iaas.CreateListener
}

// Of returns the objects of a Service in the default VPC of the emulator, with additional labels.
func Of(cluster string, s *corev1.Service, additional map[string]string) Objects {
	name := "a" + strings.ReplaceAll(string(s.UID), "-", "")
	labels := map[string]string{
		"k8s.thalassa.cloud/kubernetes-cluster": cluster, "k8s.thalassa.cloud/cloud-provider-managed": "true",
		"k8s.thalassa.cloud/kubernetes-service-name":      s.Name,
		"k8s.thalassa.cloud/kubernetes-service-namespace": s.Namespace,
		"k8s.thalassa.cloud/kubernetes-service-uid":       string(s.UID),
	}
	maps.Copy(labels, additional)
	objects := Objects{Balancer: iaas.CreateLoadbalancer{
		Name: name[:min(len(name), 32)], Description: "Load balancer for Service " + s.Name, Labels: labels,
		Subnet: emulator.DefaultSubnet,
	}}
	for _, port := range s.Spec.Ports {
		objects.addPort(s, port)
	}
	return objects
}

func (o *Objects) addPort(s *corev1.Service, port corev1.ServicePort) {
	protocol, number := strings.ToLower(string(port.Protocol)), strconv.Itoa(int(port.Port))
	name := o.Balancer.Name + "-" + cmp.Or(port.Name, protocol+"-p"+number)
	labels := maps.Clone(o.Balancer.Labels)
	labels["k8s.thalassa.cloud/kubernetes-service-port"] = number
	labels["k8s.thalassa.cloud/kubernetes-service-protocol"] = protocol
	policy, proxy, limit, idle := iaas.LoadbalancingPolicyRoundRobin, false, uint32(10000), uint32(6000)
	group := iaas.CreateTargetGroup{
		Name: name, Labels: labels, Vpc: emulator.DefaultVPC, TargetPort: int(port.NodePort),
		Protocol:            iaas.LoadbalancerProtocol(protocol),
		LoadbalancingPolicy: &policy, EnableProxyProtocol: &proxy,
	}
	if s.Spec.HealthCheckNodePort > 0 {
		group.HealthCheck = &iaas.BackendHealthCheck{Protocol: "http", Port: s.Spec.HealthCheckNodePort,
			Path:          "/healthz",
			PeriodSeconds: 10, TimeoutSeconds: 5, HealthyThreshold: 2, UnhealthyThreshold: 3}
	}
	o.Groups = append(o.Groups, group)
	o.Listeners = append(o.Listeners, iaas.CreateListener{
		Name: name, Labels: labels, Port: int(port.Port), Protocol: group.Protocol, MaxConnections: &limit,
		ConnectionIdleTimeout: &idle,
	})
}

// Plant makes the objects in the cloud, with machines as targets.
func (o Objects) Plant(tb testing.TB, api *iaas.Client, machines ...string) {
	tb.Helper()
	balancer, err := api.CreateLoadbalancer(tb.Context(), o.Balancer)
	if err != nil {
		tb.Fatal(err)
	}
	for i, create := range o.Groups {
		group, err := api.CreateTargetGroup(tb.Context(), create)
		if err != nil {
			tb.Fatal(err)
		}
		batch := iaas.TargetGroupAttachmentsBatch{TargetGroupID: group.Identity}
		for _, machine := range machines {
			batch.Attachments = append(batch.Attachments, iaas.AttachTarget{ServerIdentity: machine})
		}
		if err := api.SetTargetGroupServerAttachments(tb.Context(), batch); err != nil {
			tb.Fatal(err)
		}
		if i >= len(o.Listeners) {
			continue
		}
		listener := o.Listeners[i]
		listener.TargetGroup = group.Identity
		if _, err := api.CreateListener(tb.Context(), balancer.Identity, listener); err != nil {
			tb.Fatal(err)
		}
	}
}
