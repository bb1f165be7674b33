// Package formertest makes what the existing cloud controller manager of Thalassa Cloud leaves in the emulated cloud.
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

// Plant makes the load balancer of a Service with one port, in the default VPC of the emulator, with machines as
// targets. It uses no code of this cloud controller manager, so that no mistake is in both.
func Plant(tb testing.TB, api *iaas.Client, cluster string, s *corev1.Service, machines ...string) {
	tb.Helper()
	labels := map[string]string{
		"k8s.thalassa.cloud/kubernetes-cluster": cluster, "k8s.thalassa.cloud/cloud-provider-managed": "true",
		"k8s.thalassa.cloud/kubernetes-service-name":      s.Name,
		"k8s.thalassa.cloud/kubernetes-service-namespace": s.Namespace,
		"k8s.thalassa.cloud/kubernetes-service-uid":       string(s.UID),
	}
	name := "a" + strings.ReplaceAll(string(s.UID), "-", "")
	name = name[:min(len(name), 32)]
	balancer, err := api.CreateLoadbalancer(tb.Context(), iaas.CreateLoadbalancer{Name: name,
		Description: "Load balancer for Service " + s.Name, Labels: labels, Subnet: emulator.DefaultSubnet})
	if err != nil {
		tb.Fatal(err)
	}
	port := s.Spec.Ports[0]
	protocol, number := strings.ToLower(string(port.Protocol)), strconv.Itoa(int(port.Port))
	name += "-" + cmp.Or(port.Name, protocol+"-p"+number)
	labels = maps.Clone(labels)
	labels["k8s.thalassa.cloud/kubernetes-service-port"] = number
	labels["k8s.thalassa.cloud/kubernetes-service-protocol"] = protocol
	limit, idle := uint32(10000), uint32(6000)
	if _, err := api.CreateListener(tb.Context(), balancer.Identity, iaas.CreateListener{Name: name, Labels: labels,
		Port: int(port.Port), Protocol: iaas.LoadbalancerProtocol(protocol), MaxConnections: &limit,
		ConnectionIdleTimeout: &idle, TargetGroup: plantGroup(tb, api, name, labels, port, machines)}); err != nil {
		tb.Fatal(err)
	}
}

// plantGroup makes the target group of a port, and returns its identity.
func plantGroup(tb testing.TB, api *iaas.Client, name string, labels iaas.Labels, port corev1.ServicePort,
	machines []string) string {
	tb.Helper()
	policy, proxy := iaas.LoadbalancingPolicyRoundRobin, false
	group, err := api.CreateTargetGroup(tb.Context(), iaas.CreateTargetGroup{Name: name, Labels: labels,
		Vpc: emulator.DefaultVPC, TargetPort: int(port.NodePort),
		Protocol:            iaas.LoadbalancerProtocol(strings.ToLower(string(port.Protocol))),
		LoadbalancingPolicy: &policy, EnableProxyProtocol: &proxy})
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
	return group.Identity
}
