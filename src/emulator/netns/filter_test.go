//go:build linux

package netns

import (
	"net/netip"
	"testing"

	"github.com/thalassa-cloud/client-go/iaas"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

// securityGroup makes a security group and returns its identity.
func (c *cloud) securityGroup(name string, sameGroup bool, ingress, egress []iaas.SecurityGroupRule) string {
	c.t.Helper()
	made, err := c.api.CreateSecurityGroup(c.t.Context(), iaas.CreateSecurityGroupRequest{
		Name: name, VpcIdentity: emulator.DefaultVPC, AllowSameGroupTraffic: sameGroup, IngressRules: ingress,
		EgressRules: egress,
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return made.Identity
}

// allow is a rule that lets TCP through to one port.
func allow(priority int32, remote string, port int32) iaas.SecurityGroupRule {
	version := iaas.SecurityGroupIPVersionIPv4
	if netip.MustParsePrefix(remote).Addr().Is6() {
		version = iaas.SecurityGroupIPVersionIPv6
	}
	return iaas.SecurityGroupRule{
		Name: "rule", IPVersion: version, Protocol: iaas.SecurityGroupRuleProtocolTCP, Priority: priority,
		RemoteType: iaas.SecurityGroupRuleRemoteTypeAddress, RemoteAddress: &remote,
		PortRangeMin: port, PortRangeMax: port, Policy: iaas.SecurityGroupRulePolicyAllow,
	}
}

func (c *cloud) ingress(group string, rules ...iaas.SecurityGroupRule) {
	c.t.Helper()
	_, err := c.api.BatchUpdateSecurityGroupIngressRules(c.t.Context(), group,
		iaas.BatchUpdateSecurityGroupRulesRequest{Rules: rules})
	if err != nil {
		c.t.Fatal(err)
	}
}

func (c *cloud) egress(group string, rules ...iaas.SecurityGroupRule) {
	c.t.Helper()
	_, err := c.api.BatchUpdateSecurityGroupEgressRules(c.t.Context(), group,
		iaas.BatchUpdateSecurityGroupRulesRequest{Rules: rules})
	if err != nil {
		c.t.Fatal(err)
	}
}

func TestSecurityGroupsOfMachines(t *testing.T) {
	asRoot(t, func(c *cloud) {
		group := c.securityGroup("nodes", false, nil, nil)
		one, two := c.machine("one", "", group), c.machine("two", "")
		for _, port := range []uint16{8080, 8081} {
			c.serve(one, port)
			c.serve(two, port)
		}
		client := c.plane.Client()
		c.reaches(client, one.v4, 8080, false)
		c.reaches(client, two.v4, 8080, true) // it has no group
		c.ingress(group, allow(10, "198.51.100.0/24", 8080))
		c.reaches(client, one.v4, 8080, true) // and the answers come back without an egress rule
		c.reaches(client, one.v4, 8081, false)
		c.reaches(client, one.v6, 8080, false)
		c.reaches(two.Namespace, one.v4, 8080, false) // another source, by the router though in the same subnet
		c.ingress(group, allow(10, "198.51.100.0/24", 8080), allow(10, "2001:db8:0:ffff::/64", 8080))
		c.reaches(client, one.v6, 8080, true)

		c.reaches(one.Namespace, two.v4, 8080, false)
		c.egress(group, allow(10, two.v4.String()+"/32", 8080))
		c.reaches(one.Namespace, two.v4, 8080, true)
		c.reaches(one.Namespace, two.v4, 8081, false)

		drop := allow(5, "0.0.0.0/0", 8080)
		drop.Policy = iaas.SecurityGroupRulePolicyDrop
		c.ingress(group, allow(10, "198.51.100.0/24", 8080), drop)
		c.reaches(client, one.v4, 8080, false) // it comes first
		drop.Priority = 20
		c.ingress(group, allow(10, "198.51.100.0/24", 8080), drop)
		c.reaches(client, one.v4, 8080, true)
	})
}

// A machine that sends past its router reaches no machine, not even in its subnet.
func TestNobodyIsReachedPastTheRouter(t *testing.T) {
	asRoot(t, func(c *cloud) {
		one, two := c.machine("one", ""), c.machine("two", "")
		c.serve(one, 8080)
		c.reaches(two.Namespace, one.v4, 8080, true)
		s, err := enter(two.Namespace)
		if err != nil {
			t.Fatal(err)
		}
		defer s.netlink.Close()
		for _, addr := range []netip.Addr{one.v4, one.v6} {
			if err := s.addRoute(route{table: mainTable, to: host(addr), link: machineLink}); err != nil {
				t.Fatal(err)
			}
			c.reaches(two.Namespace, addr, 8080, false)
		}
	})
}

func TestSecurityGroupsOfPods(t *testing.T) {
	asRoot(t, func(c *cloud) {
		group := c.securityGroup("nodes", false, nil, nil)
		one, two := c.machine("one", "", group), c.machine("two", "")
		pod := netip.MustParseAddr("10.244.1.5")
		c.pods(one, pod, netip.MustParseAddr("fd00:244:1::5"))
		c.serve(one, 8080)
		c.route(c.defaultTable(), "10.244.1.0/24", one.v4)
		c.reaches(two.Namespace, pod, 8080, false)
		c.ingress(group, allow(10, "10.0.0.0/16", 8080))
		c.reaches(two.Namespace, pod, 8080, true)
	})
}

func TestSecurityGroupsThatNameGroups(t *testing.T) {
	asRoot(t, func(c *cloud) {
		friends := c.securityGroup("friends", false, nil, []iaas.SecurityGroupRule{allow(10, "0.0.0.0/0", 8080),
			allow(10, "::/0", 8080)})
		from := allow(10, "0.0.0.0/0", 8080)
		from.RemoteType, from.RemoteAddress, from.RemoteSecurityGroupIdentity =
			iaas.SecurityGroupRuleRemoteTypeSecurityGroup, nil, &friends
		server := c.securityGroup("server", false, []iaas.SecurityGroupRule{from}, nil)
		one, friend, foreign := c.machine("one", "", server), c.machine("friend", "", friends),
			c.machine("foreign", "")
		c.serve(one, 8080)
		c.reaches(friend.Namespace, one.v4, 8080, true)
		c.reaches(friend.Namespace, one.v6, 8080, false) // the rule is for IPv4
		c.reaches(foreign.Namespace, one.v4, 8080, false)
		// A load balancer that is a friend.
		_, v4, _ := c.balancer("web", func(lb *iaas.CreateLoadbalancer, _ *iaas.CreateTargetGroup,
			_ *iaas.CreateListener) {
			lb.SecurityGroupAttachments = []string{friends}
		}, one)
		c.ingress(friends, allow(10, "0.0.0.0/0", 80))
		c.reaches(foreign.Namespace, v4, 80, true)
	})
}

func TestSameGroupTraffic(t *testing.T) {
	asRoot(t, func(c *cloud) {
		group := c.securityGroup("nodes", true, nil, nil)
		one, two, foreign := c.machine("one", "", group), c.machine("two", "", group), c.machine("foreign", "")
		c.serve(one, 8080)
		c.reaches(two.Namespace, one.v4, 8080, true)
		c.reaches(two.Namespace, one.v6, 8080, true)
		c.reaches(foreign.Namespace, one.v4, 8080, false)
	})
}

func TestSecurityGroupsOfBalancers(t *testing.T) {
	asRoot(t, func(c *cloud) {
		group := c.securityGroup("web", false, []iaas.SecurityGroupRule{allow(10, "198.51.100.0/24", 80)}, nil)
		one, two := c.machine("one", ""), c.machine("two", "")
		c.serve(one, 8080)
		lb, v4, v6 := c.balancer("web", func(lb *iaas.CreateLoadbalancer, _ *iaas.CreateTargetGroup,
			_ *iaas.CreateListener) {
			lb.SecurityGroupAttachments = []string{group}
		}, one)
		client := c.plane.Client()
		c.reaches(client, v4, 80, false) // it may not send to the machine
		c.egress(group, allow(10, "10.0.0.0/16", 8080))
		c.reaches(client, v4, 80, true)
		c.reaches(client, v6, 80, false)
		c.reaches(two.Namespace, v4, 80, false)
		c.ingress(group)
		c.reaches(client, v4, 80, false)
		// Without a group, everything passes.
		if _, err := c.api.UpdateLoadbalancer(t.Context(), lb, iaas.UpdateLoadbalancer{Name: "web",
			SecurityGroupAttachments: []string{}}); err != nil {
			t.Fatal(err)
		}
		c.reaches(client, v4, 80, true)
		c.reaches(two.Namespace, v6, 80, true)
	})
}
