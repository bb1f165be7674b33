package thalassa

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/balancer"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
)

func named(name, providerID string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{ProviderID: providerID}}
}

func TestSubnet(t *testing.T) {
	subnets := func(labels ...map[string]string) emulator.Config {
		seed := emulator.DefaultSeed()
		vpc := &seed.Organisations[0].VPCs[0]
		base := vpc.Subnets[0]
		vpc.Subnets = nil
		for i, label := range labels {
			subnet := base
			subnet.Identity, subnet.Name, subnet.Labels = fmt.Sprintf("subnet-%d", i), fmt.Sprintf("net-%d", i), label
			subnet.CIDRs = []netip.Prefix{netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, byte(i), 0}), 24)}
			vpc.Subnets = append(vpc.Subnets, subnet)
		}
		return emulator.Config{Seed: seed}
	}
	role := map[string]string{label.SubnetRole: "true"}
	tests := []struct {
		name, configured string
		cloud            emulator.Config
		want, wantErr    string
	}{
		{"the only one", "", subnets(nil), "subnet-0", ""},
		{"the labelled one", "", subnets(nil, role), "subnet-1", ""},
		{"configured by identity", "subnet-0", subnets(nil, role), "subnet-0", ""},
		{"configured by slug", "net-1", subnets(nil, nil), "subnet-1", ""},
		{"unknown", "other", subnets(nil), "", `defaultSubnet "other" of the cloud-config is not in VPC vpc-emulator000000000001, which has the subnets subnet-0 (net-0)`},
		{"no telling", "", subnets(nil, nil), "",
			"set defaultSubnet in the cloud-config, or label one of them kubernetes.io/role/lb=true"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(t, tt.cloud)
			l.config.DefaultSubnet = tt.configured
			l.restart()
			b := l.cloud.balancers
			request := b.settings.Request(service("web", 80), balancer.Observed{})
			references := b.lookUp(t.Context(), request, balancer.Observed{})
			found := request.Compare(balancer.Input{References: references})
			got := ""
			for _, operation := range found.Plan {
				if create, is := operation.Object.(balancer.CreateLoadBalancer); is {
					got = create.LoadBalancer.Subnet
				}
			}
			err := found.Refused
			if got != tt.want || (err == nil) != (tt.wantErr == "") ||
				(err != nil && !strings.Contains(err.Error(), tt.wantErr)) {
				t.Errorf("subnet = %q, %v; want %q, error %q", got, err, tt.want, tt.wantErr)
			}
		})
	}
}
