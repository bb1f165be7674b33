package balancer

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// livesOfAnnotations are all lives that are about annotations.
func livesOfAnnotations() []life {
	return slices.Concat(livesOfTraffic(), livesOfNodes(), livesOfHealthChecks(), livesOfTimes(), livesOfSources(),
		livesOfSecurityGroups(), livesOfOwnSecurityGroups(), livesOfPings(), livesOfReach(), livesOfAddresses(),
		livesOfObjects(),
		livesOfProtection(), livesOfAdoption())
}

// TestAnnotations: the plan of each annotation when it is set, changed, not valid and removed. Each of them has a life.
func TestAnnotations(t *testing.T) {
	seen := map[string]string{}
	for _, l := range livesOfAnnotations() {
		t.Run(l.name, l.run)
		for _, s := range l.steps {
			maps.Copy(seen, asked(s.ask))
		}
	}
	for _, entry := range Registry().Entries() {
		if seen[entry.Name] == "" && !(entry.IsFamily() && seen[entry.Name+"80"] != "") {
			t.Errorf("annotation %s has no life", entry.Name)
		}
	}
}

// TestDefaults: what a Service gets by defaults of the cloud-config is what it gets by its annotations. When the
// defaults are removed, it has what Services without annotations have.
func TestDefaults(t *testing.T) {
	seen := map[string]string{}
	for _, l := range livesOfAnnotations() {
		for _, s := range l.steps {
			defaults := asked(s.ask)
			byAnnotation := newWorld(nil)
			if problems := Registry().SetDefaults(defaults); len(problems) > 0 || s.spec != nil ||
				len(byAnnotation.compare(asking(s)).Notices) > 0 {
				continue // not all of them can be defaults, or have an effect
			}
			maps.Copy(seen, defaults)
			t.Run(s.ask, func(t *testing.T) {
				byDefault := newWorld(defaults)
				byAnnotation.settle(t, asking(s), byAnnotation.compare)
				byDefault.settle(t, plain(), byDefault.compare)
				compareValues(t, "by default", &byAnnotation, &byDefault)
				want, got := byAnnotation.compare(asking(s)), byDefault.compare(plain())
				if addressesOf(want) != addressesOf(got) {
					t.Errorf("publishes %s, want %s", addressesOf(got), addressesOf(want))
				}
				if want, got := byAnnotation.ending(asking(s)), byDefault.ending(plain()); want.Retains != got.Retains {
					t.Errorf("retains %q, want %q", got.Retains, want.Retains)
				}
				if !l.keeps && defaults["subnet"] == "" { // a default subnet is for new load balancers
					without := newWorld(nil)
					without.settle(t, plain(), without.compare)
					byDefault.configure(nil)
					byDefault.settle(t, plain(), byDefault.compare)
					compareValues(t, "without the defaults", &without, &byDefault)
				}
			})
		}
	}
	for _, name := range Registry().DefaultNames() {
		if seen[name] == "" {
			t.Errorf("no Service has the default of %s", name)
		}
	}
}

func livesOfTraffic() []life {
	return []life{
		{name: "policy", steps: []step{
			{ask: "loadbalancing-policy=MAGLEV", want: `
update target group web-p80: policy ROUND_ROBIN becomes MAGLEV
update target group web-p443: policy ROUND_ROBIN becomes MAGLEV`},
			{ask: "loadbalancing-policy=RANDOM loadbalancing-policy.443=MAGLEV", want: `
update target group web-p80: policy MAGLEV becomes RANDOM`},
			{ask: "loadbalancing-policy=FASTEST loadbalancing-policy.443=MAGLEV", want: `
InvalidAnnotation: annotation loadbalancing-policy: "FASTEST" is not one of ROUND_ROBIN, RANDOM, MAGLEV`},
			{ask: "", want: `
update target group web-p80: policy RANDOM becomes ROUND_ROBIN
update target group web-p443: policy MAGLEV becomes ROUND_ROBIN`},
		}},
		{name: "PROXY protocol", steps: []step{
			{ask: "enable-proxy-protocol=true", want: `
update target group web-p80: PROXY protocol false becomes true
update target group web-p443: PROXY protocol false becomes true`},
			{ask: "enable-proxy-protocol.p80=true", want: `
update target group web-p443: PROXY protocol true becomes false`},
			{ask: "enable-proxy-protocol.p80=perhaps", want: `
InvalidAnnotation: annotation enable-proxy-protocol.p80: "perhaps" is not true or false`},
			{ask: "", want: "update target group web-p80: PROXY protocol true becomes false"},
		}},
		{name: "connections", steps: []step{
			{ask: "max-connections=7", want: `
update listener web-p80: connection limit 10000 becomes 7
update listener web-p443: connection limit 10000 becomes 7`},
			{ask: "max-connections=8 max-connections.p80=9 max-connections.80=10", want: `
update listener web-p80: connection limit 7 becomes 9
update listener web-p443: connection limit 7 becomes 8`},
			{ask: "max-connections=0 max-connections.p80=9", want: `
InvalidAnnotation: annotation max-connections: "0" is not a whole number of connections from 1 to 1073741824`},
			{ask: "", want: `
update listener web-p80: connection limit 9 becomes 10000
update listener web-p443: connection limit 8 becomes 10000`},
		}},
		{name: "idle timeout", steps: []step{
			{ask: "idle-connection-timeout=60", want: `
update listener web-p80: idle timeout 6000 becomes 60
update listener web-p443: idle timeout 6000 becomes 60`},
			{ask: "idle-connection-timeout.80=61", want: `
update listener web-p80: idle timeout 60 becomes 61
update listener web-p443: idle timeout 60 becomes 6000`},
			{ask: "idle-connection-timeout.80=86401", want: `
InvalidAnnotation: annotation idle-connection-timeout.80: "86401" is not a whole number of seconds from …`},
			{ask: "", want: "update listener web-p80: idle timeout 61 becomes 6000"},
		}},
	}
}

// livesOfNodes are about which Nodes are targets.
func livesOfNodes() []life {
	return []life{
		{name: "node selector", keeps: true, steps: []step{
			{ask: "node-selector=tier=edge", want: `
update target group web-p80: 3 machines become 2
update target group web-p443: 3 machines become 2`},
			{ask: "node-selector=tier!=edge", want: `
update target group web-p80: 2 machines become 1
update target group web-p443: 2 machines become 1`},
			{ask: "node-selector=a=b=c", want: `
InvalidAnnotation: annotation node-selector: "a=b=c" is not a label selector as kubectl takes it, like …`},
			{ask: "node-selecter=tier=edge", want: `
InvalidAnnotation: annotation node-selecter: is not known and has no effect; did you mean …`},
			{ask: "node-selector.p80=tier=edge", want: `
InvalidAnnotation: annotation node-selector.p80: is for one port, but node-selector holds for the whole …`},
			{ask: "nod-selector=tier=edge", want: `
InvalidAnnotation: annotation nod-selector: is not known and has no effect; did you mean node-selector? …`},
			{ask: "node-selector=tier=nowhere"},
			{ask: "", want: `
update target group web-p80: 1 machines become 3
update target group web-p443: 1 machines become 3`},
		}},
		{name: "max targets", new: true, keeps: true, steps: []step{
			{ask: "max-targets=2", want: `
create target group web-p80
update target group web-p80: 0 machines become 2
create target group web-p443
update target group web-p443: 0 machines become 2
create load balancer web`},
			{ask: "max-targets=3", want: `
update target group web-p80: 2 machines become 3
update target group web-p443: 2 machines become 3`},
			{ask: "max-targets=many", want: `
InvalidAnnotation: annotation max-targets: "many" is not a whole number of nodes from 0 to 10000`},
			{ask: "max-targets=2", spec: policyLocal, want: `
update target group web-p80: health check tcp :30080/healthz becomes http :32000/healthz
update target group web-p443: health check tcp :30443/healthz becomes http :32000/healthz
UnsupportedSetting: Annotation max-targets has no effect while spec.externalTrafficPolicy is Local: all …`},
		}},
	}
}

func livesOfHealthChecks() []life {
	return []life{
		{name: "health check", steps: []step{
			{ask: "health-check-enabled=false", want: `
update target group web-p80: health check tcp :30080/healthz becomes none
update target group web-p443: health check tcp :30443/healthz becomes none`},
			{ask: "health-check-enabled=true health-check-enabled.p443=false", want: `
update target group web-p80: health check none becomes tcp :30080/healthz`},
			{ask: "health-check-enabled=perhaps", want: `
InvalidAnnotation: annotation health-check-enabled: "perhaps" is not true or false`},
			{ask: "", want: "update target group web-p443: health check none becomes tcp :30443/healthz"},
		}},
		{name: "health check port and path", steps: []step{
			{ask: "health-check-port=8081 health-check-path=/ready", want: `
update target group web-p80: health check tcp :30080/healthz becomes http :8081/ready
update target group web-p443: health check tcp :30443/healthz becomes http :8081/ready`},
			{ask: "health-check-port=8082 health-check-path=/live", want: `
update target group web-p80: health check http :8081/ready becomes http :8082/live
update target group web-p443: health check http :8081/ready becomes http :8082/live`},
			{ask: "health-check-port=0 health-check-path=live", want: `
InvalidAnnotation: annotation health-check-path: "live" is not a path that begins with a slash, of at …
InvalidAnnotation: annotation health-check-port: "0" is not a whole number from 1 to 65535`},
			{ask: "", want: `
update target group web-p80: health check http :8082/live becomes tcp :30080/healthz
update target group web-p443: health check http :8082/live becomes tcp :30443/healthz`},
		}},
		{name: "health check protocol", steps: []step{
			{ask: "health-check-protocol=http", want: `
update target group web-p80: health check tcp :30080/healthz becomes http :30080/healthz
update target group web-p443: health check tcp :30443/healthz becomes http :30443/healthz`},
			{ask: "health-check-protocol=https", want: `
update target group web-p80: health check http :30080/healthz becomes https :30080/healthz
update target group web-p443: health check http :30443/healthz becomes https :30443/healthz`},
			{ask: "health-check-protocol=gopher", want: `
InvalidAnnotation: annotation health-check-protocol: "gopher" is not one of http, https, tcp, udp`},
			{ask: "", want: `
update target group web-p80: health check https :30080/healthz becomes tcp :30080/healthz
update target group web-p443: health check https :30443/healthz becomes tcp :30443/healthz`},
		}},
	}
}

// livesOfTimes are about when health checks are made, and how many of them decide.
func livesOfTimes() []life {
	return []life{
		{name: "health check times", steps: []step{
			{ask: "health-check-interval=30 health-check-timeout=4", want: `
update target group web-p80: health check tcp :30080/healthz becomes tcp :30080/healthz every 30s, timeout
  4s, 1 good, 3 bad
update target group web-p443: health check tcp :30443/healthz becomes tcp :30443/healthz every 30s, timeout
  4s, 1 good, 3 bad`},
			{ask: "health-check-interval=20 health-check-timeout=30", want: `
ConflictingSettings: The timeout of the health check is 30 seconds and its interval is 20 seconds: both …`},
			{ask: "health-check-interval.p80=often", want: `
update target group web-p80: health check tcp :30080/healthz every 30s, timeout 4s, 1 good, 3 bad becomes tcp
  :30080/healthz every 30s, timeout 3s, 1 good, 3 bad
update target group web-p443: health check tcp :30443/healthz every 30s, timeout 4s, 1 good, 3 bad becomes
  tcp :30443/healthz
InvalidAnnotation: annotation health-check-interval.p80: "often" is not a whole number of seconds from …`},
			{ask: "", want: `
update target group web-p80: health check tcp :30080/healthz every 30s, timeout 3s, 1 good, 3 bad becomes tcp
  :30080/healthz`},
		}},
		{name: "health check whose timeout is too long from the beginning", new: true, keeps: true, steps: []step{
			{ask: "health-check-interval=20 health-check-timeout=30", want: `
create target group web-p80
update target group web-p80: 0 machines become 3
create target group web-p443
update target group web-p443: 0 machines become 3
create load balancer web
ConflictingSettings: The timeout of the health check is 30 seconds and its interval is 20 seconds: both …`},
			{},
		}},
		{name: "timeout of a health check", steps: []step{{ask: "health-check-timeout=8", want: `
update target group web-p80: health check tcp :30080/healthz becomes tcp :30080/healthz every 8s, timeout 8s,
  1 good, 3 bad
update target group web-p443: health check tcp :30443/healthz becomes tcp :30443/healthz every 8s, timeout 8s,
  1 good, 3 bad`}}},
		{name: "health check of UDP", new: true, steps: []step{
			{spec: ports("53/UDP:31053"), want: `
create target group web-p53-udp
update target group web-p53-udp: 0 machines become 3
create load balancer web`},
			{ask: "health-check-enabled=true", spec: ports("53/UDP:31053")},
			{ask: "health-check-port=8081", spec: ports("53/UDP:31053"), want: `
update target group web-p53-udp: health check none becomes http :8081/healthz`},
		}},
		{name: "health check thresholds", steps: []step{
			{ask: "health-check-up-threshold=9 health-check-down-threshold=8", want: `
update target group web-p80: health check tcp :30080/healthz becomes tcp :30080/healthz every 5s, timeout 3s,
  9 good, 8 bad
update target group web-p443: health check tcp :30443/healthz becomes tcp :30443/healthz every 5s, timeout
  3s, 9 good, 8 bad`},
			{ask: "health-check-up-threshold=2", want: `
update target group web-p80: health check tcp :30080/healthz every 5s, timeout 3s, 9 good, 8 bad becomes tcp
  :30080/healthz every 5s, timeout 3s, 2 good, 3 bad
update target group web-p443: health check tcp :30443/healthz every 5s, timeout 3s, 9 good, 8 bad becomes tcp
  :30443/healthz every 5s, timeout 3s, 2 good, 3 bad`},
			{ask: "health-check-up-threshold=0 health-check-down-threshold=8", want: `
update target group web-p80: health check tcp :30080/healthz every 5s, timeout 3s, 2 good, 3 bad becomes tcp
  :30080/healthz every 5s, timeout 3s, 2 good, 8 bad
update target group web-p443: health check tcp :30443/healthz every 5s, timeout 3s, 2 good, 3 bad becomes tcp
  :30443/healthz every 5s, timeout 3s, 2 good, 8 bad
InvalidAnnotation: annotation health-check-up-threshold: "0" is not a whole number of checks from 1 to 10`},
			{ask: "", want: `
update target group web-p80: health check tcp :30080/healthz every 5s, timeout 3s, 2 good, 8 bad becomes tcp
  :30080/healthz
update target group web-p443: health check tcp :30443/healthz every 5s, timeout 3s, 2 good, 8 bad becomes tcp
  :30443/healthz`},
		}},
	}
}

func livesOfSources() []life {
	return []life{
		{name: "sources", steps: []step{
			{ask: "acl-allowed-sources=10.0.0.0/8,192.0.2.1", want: `
update listener web-p80: allowed sources everybody becomes 10.0.0.0/8, 192.0.2.1/32 (closes)
update listener web-p443: allowed sources everybody becomes 10.0.0.0/8, 192.0.2.1/32 (closes)`},
			{ask: "acl-allowed-sources=10.0.0.0/8 acl-port-p443=192.0.2.0/24,2001:db8::/32", want: `
update listener web-p80: allowed sources 10.0.0.0/8, 192.0.2.1/32 becomes 10.0.0.0/8 (closes)
update listener web-p443: allowed sources 10.0.0.0/8, 192.0.2.1/32 becomes 10.0.0.0/8, 192.0.2.0/24,
  2001:db8::/32`},
			{ask: "acl-allowed-sources=10.0.0.0/8 acl-port-p443=nobody", want: `
InvalidAnnotation: annotation acl-port-p443: "nobody" is not networks like 10.0.0.0/8 or 2001:db8::/32, …`},
			{ask: "acl-allowed-sources=10.0.0.0/8,office acl-port-443=192.0.2.0/24", want: `
InvalidAnnotation: annotation acl-allowed-sources: "10.0.0.0/8,office" is not networks like 10.0.0.0/8 …`},
			{ask: "acl-port-80=198.51.100.7", want: `
update listener web-p80: allowed sources 10.0.0.0/8 becomes 198.51.100.7/32
update listener web-p443: allowed sources 10.0.0.0/8, 192.0.2.0/24, 2001:db8::/32 becomes everybody, the
  allowed-sources is no longer managed by this Service`},
			{ask: "", want: `
update listener web-p80: allowed sources 198.51.100.7/32 becomes everybody, the allowed-sources is no longer
  managed by this Service`},
		}},
	}
}

func livesOfSecurityGroups() []life {
	return []life{
		{name: "security groups", steps: []step{
			{ask: "security-groups=sg-one", want: `
update load balancer web: it gets the security groups of the Service`},
			{ask: "security-groups=two,sg-one", want: `
update load balancer web: it gets the security groups of the Service`},
			{ask: "security-groups=two,three", want: `
UnknownSecurityGroup: Annotation security-groups: VPC vpc-1 has no security group "three"; it has …`},
			{ask: "security-groups=two,", want: `
update load balancer web: security groups sg-one, sg-two becomes sg-two, the security-group sg-one is no
  longer managed by this Service`},
			{ask: "", want: `
update load balancer web: security groups sg-two becomes none, the security-groups is no longer managed by
  this Service`},
		}},
		{name: "an unknown security group opens no port", keeps: true, steps: []step{
			{ask: "security-groups=one", want: "update load balancer web: it gets the security groups of the Service"},
			{ask: "security-groups=one,unknown", spec: morePorts, want: `
refused: 1 of the ports of Service shop/web are not opened: its security groups do not exist
UnknownSecurityGroup: Annotation security-groups: VPC vpc-1 has no security group "unknown"; it has …`},
		}},
	}
}

// pings asks for a security group that lets pings in.
const pings = "create-security-group=true security-group-allow-icmp=true "

func livesOfOwnSecurityGroups() []life {
	return []life{
		{name: "security group of its own", steps: []step{
			{ask: "create-security-group=true", want: `
create security group own
update load balancer web: it gets the security groups of the Service`},
			{ask: "create-security-group=true acl-port-p80=10.0.0.0/8", want: `
update security group own: its rules for what comes in: 4 becomes 3
update listener web-p80: allowed sources everybody becomes 10.0.0.0/8 (closes)`},
			{ask: "create-security-group=perhaps acl-port-p80=10.0.0.0/8", want: `
InvalidAnnotation: annotation create-security-group: "perhaps" is not true or false`},
			{ask: "create-security-group=false acl-port-p80=10.0.0.0/8", want: `
update load balancer web: security groups sg-own becomes none, the security-groups is no longer managed by
  this Service
delete security group own: the Service does not ask for one`},
			{ask: "create-security-group=true", want: `
create security group own
update load balancer web: it gets the security groups of the Service
update listener web-p80: allowed sources 10.0.0.0/8 becomes everybody, the allowed-sources is no longer
  managed by this Service`},
			{ask: "", want: `
update load balancer web: security groups sg-own becomes none, the security-groups is no longer managed by
  this Service
delete security group own: the Service does not ask for one`},
		}},
		{name: "too many rules", keeps: true, steps: []step{
			{ask: "create-security-group=true acl-allowed-sources=" + tens(100), want: fmt.Sprintf(`
update listener web-p80: allowed sources everybody becomes %[1]s (closes)
update listener web-p443: allowed sources everybody becomes %[1]s (closes)
SecurityGroupFull: the security group of Service shop/web: 200 rules are needed, one for each range of …`, strings.ReplaceAll(tens(100), ",", ", "))},
		}},
		{name: "too many rules of a new one", new: true, keeps: true, steps: []step{
			{ask: "create-security-group=true acl-allowed-sources=" + tens(100), want: `
refused: 2 of the ports of Service shop/web are not opened: the security group of Service shop/web: 200 …
SecurityGroupFull: the security group of Service shop/web: 200 rules are needed, one for each range of …`},
		}},
	}
}

func livesOfPings() []life {
	return []life{
		{name: "too many who ping", keeps: true, steps: []step{
			{ask: pings + "security-group-icmp-allowed-sources=" + tens(11), want: `
create security group own
update load balancer web: it gets the security groups of the Service
SecurityGroupFull: The security group of the Service: pings are not permitted from any network: 11 …`},
		}},
		{name: "pings", steps: []step{
			{ask: pings, want: `
create security group own
update load balancer web: it gets the security groups of the Service
ConflictingSettings: Annotation security-group-allow-icmp: ICMP is not permitted, because no networks …`},
			{ask: pings + "acl-allowed-sources=10.0.0.0/8", want: `
update security group own: its rules for what comes in: 4 becomes 3
update listener web-p80: allowed sources everybody becomes 10.0.0.0/8 (closes)
update listener web-p443: allowed sources everybody becomes 10.0.0.0/8 (closes)`},
			{ask: pings + "security-group-icmp-allowed-sources=192.0.2.0/24,198.51.100.0/24", want: `
update security group own: its rules for what comes in: 3 becomes 6
update listener web-p80: allowed sources 10.0.0.0/8 becomes everybody, the allowed-sources is no longer
  managed by this Service
update listener web-p443: allowed sources 10.0.0.0/8 becomes everybody, the allowed-sources is no longer
  managed by this Service`},
			{ask: pings + "security-group-icmp-allowed-sources=192.0.2.0/24,foo", want: `
InvalidAnnotation: annotation security-group-icmp-allowed-sources: "192.0.2.0/24,foo" is not networks …
ConflictingSettings: Annotation security-group-allow-icmp: ICMP is not permitted, because no networks …`},
			{ask: pings + "security-group-allow-icmp=perhaps security-group-icmp-allowed-sources=192.0.2.0/24", want: `
InvalidAnnotation: annotation security-group-allow-icmp: "perhaps" is not true or false`},
			{ask: "create-security-group=true", want: `
update security group own: its rules for what comes in: 6 becomes 4`},
		}},
	}
}

func livesOfReach() []life {
	return []life{
		{name: "internal by type", new: true, keeps: true, steps: []step{
			{ask: "type=internal", want: `
create target group web-p80
update target group web-p80: 0 machines become 3
create target group web-p443
update target group web-p443: 0 machines become 3
create load balancer web`},
			{ask: "type=internal subnet=two", want: `
ImmutableSetting: Annotation subnet: an internal load balancer cannot be moved to another subnet, and …`},
			{ask: "type=internal reserved-ip=one", want: `
UnsupportedSetting: Annotation reserved-ip: an internal load balancer cannot have a reserved IP, which …`},
			{ask: "type=private", want: `
InvalidAnnotation: annotation type: "private" is not one of public, internal`},
			{ask: "type=public", want: `
ImmutableSetting: This Service requests a load balancer of type public, but its load balancer is of …`},
			{ask: "type=public", spec: morePorts, want: `
refused: 1 of the ports of Service shop/web are not opened: the load balancer is internal and the …
ImmutableSetting: This Service requests a load balancer of type public, but its load balancer is of …`},
			{ask: "", want: `
ImmutableSetting: This Service requests a load balancer of type public, but its load balancer is of …`},
		}},
		{name: "internal in a subnet", new: true, keeps: true, steps: []step{
			{ask: "type=internal subnet=two", want: `
create target group web-p80
update target group web-p80: 0 machines become 3
create target group web-p443
update target group web-p443: 0 machines become 3
create load balancer web`},
			{ask: "type=internal max-connections=5", want: `
update listener web-p80: connection limit 10000 becomes 5
update listener web-p443: connection limit 10000 becomes 5`},
		}},
		{name: "internal by flag", new: true, keeps: true, steps: []step{
			{ask: "internal=true type=public", want: `
create target group web-p80
update target group web-p80: 0 machines become 3
create target group web-p443
update target group web-p443: 0 machines become 3
create load balancer web`},
			{ask: "internal=false", want: `
ImmutableSetting: This Service requests a load balancer of type public, but its load balancer is of …`},
			{ask: "internal=maybe", want: `InvalidAnnotation: annotation internal: "maybe" is not true or false`},
		}},
		{name: "subnet", steps: []step{
			{ask: "subnet=two", want: "update load balancer web: subnet subnet-1 becomes subnet-2"},
			{ask: "subnet=subnet-1", want: "update load balancer web: subnet subnet-2 becomes subnet-1"},
			{ask: "subnet=three", want: `
UnknownSubnet: Annotation subnet: VPC vpc-1 has no subnet "three"; it has the subnets subnet-1 (one), …`},
			{ask: "subnet=two", want: "update load balancer web: subnet subnet-1 becomes subnet-2"},
			{ask: "", want: `
update load balancer web: subnet subnet-2 becomes subnet-1, the subnet is no longer managed by this Service`},
		}},
		{name: "public", keeps: true, steps: []step{
			{ask: "type=internal", want: `
ImmutableSetting: This Service requests a load balancer of type internal, but its load balancer is …`},
			{ask: "type=private", want: `
InvalidAnnotation: annotation type: "private" is not one of public, internal`},
		}},
	}
}

func livesOfAddresses() []life {
	return []life{
		{name: "publish", steps: []step{
			{ask: "publish=ip", want: "serves 198.18.0.1"},
			{ask: "publish=hostname", want: "serves lb.test"},
			{ask: "publish=dns", want: `
serves 198.18.0.1 lb.test
InvalidAnnotation: annotation publish: "dns" is not one of ip, hostname, both`},
			{ask: "publish=both"},
		}},
		{name: "reserved IP", steps: []step{
			{ask: "reserved-ip=rip-one", want: "update load balancer web: reserved IP none becomes rip-one"},
			{ask: "reserved-ip=two", want: `
update load balancer web: reserved IP rip-one becomes rip-two, the reserved-ip rip-one is no longer managed
  by this Service`},
			{ask: "reserved-ip=three", want: `
UnknownReservedIP: Annotation reserved-ip: region nl-01 has no reserved IP "three". Reserve one in the …`},
			{ask: "reserved-ip=a,b", want: `
InvalidAnnotation: annotation reserved-ip: "a,b" is not the identity, slug or address of a reserved IP, …`},
			{ask: "", want: `
update load balancer web: reserved IP rip-two becomes none, the reserved-ip is no longer managed by this
  Service`},
		}},
	}
}

func livesOfObjects() []life {
	return []life{
		{name: "name", steps: []step{
			{ask: "name=shop-front", want: "update load balancer web: name web becomes shop-front"},
			{ask: "name=shop-back", want: "update load balancer shop-front: name shop-front becomes shop-back"},
			{ask: "name=ü", want: `
InvalidAnnotation: annotation name: "ü" is not a name of 1 to 62 printable ASCII characters`},
			{ask: "", want: "update load balancer shop-back: name shop-back becomes web"},
		}},
		{name: "labels", steps: []step{
			{ask: "labels=team=shop,stage=test", want: "update load balancer web: its labels differ"},
			{ask: "labels=team=till", want: `
update load balancer web: the label stage is no longer managed by this Service, its labels differ`},
			{ask: "labels=team", want: `
InvalidAnnotation: annotation labels: "team" is not at most 64 labels like key=value with commas …`},
			{ask: "", want: `
update load balancer web: the labels is no longer managed by this Service, its labels differ`},
		}},
		{name: "labels that cannot be read", steps: []step{
			{ask: "labels=team=shop,stage=test", want: `
update load balancer web: its labels differ`},
			{ask: "labels=team=shop=test", hand: first(func(lb *resource.LoadBalancer) {
				lb.Labels = maps.Clone(lb.Labels)
				delete(lb.Labels, "team")
			}), want: `
InvalidAnnotation: annotation labels: "team=shop=test" is not at most 64 labels like key=value with …`},
			{ask: "labels=team=shop", want: `
update load balancer web: the label stage is no longer managed by this Service, its labels differ`},
		}},
		{name: "size", keeps: true, steps: []step{
			{ask: "instance-size=lb-small", want: "update load balancer web: instance size none becomes lb-small"},
			{ask: "instance-size=lb-large", want: "update load balancer web: instance size lb-small becomes lb-large"},
			{ask: "instance-size=a,b", want: `
InvalidAnnotation: annotation instance-size: "a,b" is not a size of load balancers, of letters, digits …`},
			{ask: ""},
		}},
	}
}

// TestMistakenRestrictions: a restriction that cannot be applied opens nothing, and a notice names it.
func TestMistakenRestrictions(t *testing.T) {
	const refused, notice = "refused: ", "\nInvalidAnnotation: annotation "
	const closed = " is not opened, because the annotation about its allowed sources is not valid"
	const sources = refused + "port 80/TCP" + closed + "\nport 443/TCP" + closed + notice
	const groups = refused + "the annotation about its security groups is not valid" + notice
	const reach = refused + "2 of the ports of Service shop/web are not opened: the annotations that make the load " +
		"balancer internal or public are not valid\n"
	const own = refused + "2 of the ports of Service shop/web are not opened: the annotation create-security-group " +
		"is not valid" + notice
	for _, tt := range []struct{ ask, want string }{
		{"acl-allowed-source=10.0.0.0/8", sources + "…did you mean acl-allowed-sources?…"},
		{"acl-port-htps=10.0.0.0/8", sources + "…is for a port that the Service does not have; it has…"},
		{"acl-port.p443=10.0.0.0/8", sources + "…did you mean acl-port-p443?…"},
		{"acl-allowed-source.p443=10.0.0.0/8", sources + "…did you mean acl-allowed-sources?…"},
		{"acl-https=10.0.0.0/8", sources + "acl-https: is not known and has no effect; known are…"},
		{"acl=10.0.0.0/8", sources + "acl: is not known and has no effect; known are…"},
		{"allowed-cidrs=10.0.0.0/8", sources + "allowed-cidrs: is not known and has no effect…"},
		{"source-ranges=10.0.0.0/8", sources + "source-ranges: has no effect; use spec.load…"},
		{"acl-allowed-sources=everybody,10.0.0.0/99",
			sources + `acl-allowed-sources: "everybody,10.0.0.0/99" is not…`},
		{"acl-allowed-sources=,", sources + `acl-allowed-sources: "," is not networks like…`},
		{"acl-port-p80=nobody acl-port-443=10.0.0.300", sources + "acl-port-443: …" + notice + "acl-port-p80: …"},
		{"security-group=sg-one", groups + "…did you mean security-groups?…"},
		{"security-group.p443=sg-one", groups + "…did you mean security-groups?…"},
		{"create-securty-group=true", own + "…did you mean create-security-group?…"},
		{"create-security-group=perhaps", own + `create-security-group: "perhaps" is not true or false`},
		{"internall=true", reach + "…did you mean internal?…"},
		{"internl.p80=true", reach + "…did you mean internal?…"},
		{"scheme=internal", reach + "…scheme: is not known and has no effect…"},
		{"type=private", reach + `…type: "private" is not one of public, internal`},
		{"internal=perhaps", reach + `…internal: "perhaps" is not true or false`},
		{"type=internal internal=false", reach + "ConflictingSettings: …no port is opened until one…"},
		{"subnet=a,b", refused + "annotation subnet cannot be read" + notice + "subnet: …"},
		{"subnet=three", refused + "…\nUnknownSubnet: …it has the subnets subnet-1 (one), …"},
		{"security-groups=three,one", refused + "…\nUnknownSecurityGroup: …no security group \"three\"; …"},
		{"reserved-ip=a,b", refused + "annotation reserved-ip cannot be read" + notice + "…"},
		{"reserved-ip=three", refused + "…\nUnknownReservedIP: …has no reserved IP \"three\".…"},
		{"type=internal reserved-ip=one", refused + "…\nUnsupportedSetting: …an internal load balancer cannot…"},
		{"adopt=a,b", refused + "annotation adopt cannot be read" + notice + "adopt: …"},
	} {
		t.Run(tt.ask, life{new: true, steps: []step{{ask: tt.ask, want: tt.want}}}.run)
	}
}

// TestUnreadableSourcesLast until the Service changes, unless something else is in the way, too.
func TestUnreadableSourcesLast(t *testing.T) {
	for ask, lasts := range map[string]bool{"": true, "reserved-ip=three": false, "security-groups=three": false} {
		w := newWorld(nil)
		err := w.compare(asking(step{ask: "acl-allowed-sources=nobody " + ask})).Refused
		if got := cloud.ReasonOf(err).Lasts(); err == nil || got != lasts {
			t.Errorf("%q: %v lasts: %t, want %t", ask, err, got, lasts)
		}
	}
}

// tens are as many networks.
func tens(count int) string {
	var texts []string
	for i := range count {
		texts = append(texts, fmt.Sprintf("10.%d.0.0/16", i))
	}
	return strings.Join(texts, ",")
}

// policyLocal gives a Service the policy Local, with the node port of its health check.
func policyLocal(s *corev1.Service) {
	s.Spec.ExternalTrafficPolicy, s.Spec.HealthCheckNodePort = corev1.ServiceExternalTrafficPolicyLocal, 32000
}

// morePorts adds a port.
func morePorts(s *corev1.Service) {
	s.Spec.Ports = append(s.Spec.Ports, service("more", 8443).Spec.Ports...)
}

// TestDefaultSubnet: the subnet of a load balancer whose Service names none.
func TestDefaultSubnet(t *testing.T) {
	role := resource.Labels{label.SubnetRole: "true"}
	const several = "refused: …set defaultSubnet in the cloud-config, or label one of them kubernetes.io/role/lb=true"
	for name, tt := range map[string]struct {
		configured string
		labels     []resource.Labels // of the subnets
		want       string            // the subnet, or a refusal
	}{
		"the only one":           {"", []resource.Labels{nil}, "subnet-0"},
		"the labelled one":       {"", []resource.Labels{nil, role}, "subnet-1"},
		"configured by identity": {"subnet-0", []resource.Labels{nil, role}, "subnet-0"},
		"configured by slug":     {"net-1", []resource.Labels{nil, nil}, "subnet-1"},
		"unknown": {"other", []resource.Labels{nil},
			`refused: defaultSubnet "other" of the cloud-config is not in VPC vpc-1, which has the subnets subnet-0 (net-0)`},
		"no telling": {"", []resource.Labels{nil, nil}, several},
	} {
		w, vpc := newWorld(nil), resource.VPC{ID: "vpc-1"}
		w.config.DefaultSubnet = tt.configured
		for i, labels := range tt.labels {
			vpc.Subnets = append(vpc.Subnets, resource.Subnet{ID: fmt.Sprintf("subnet-%d", i),
				Slug: fmt.Sprintf("net-%d", i), Labels: labels})
		}
		request := w.config.Request(plain(), Observed{})
		in := Input{Candidates: NewCandidates(w.targets(plain())), References: w.references(request.Names())}
		in.References.VPC.Object = vpc
		found := request.Compare(in)
		w.carryOut(t, found.Plan, -1)
		got := shown(found, "")
		if found.Refused == nil {
			got = w.balancers[0].Subnet
		}
		if !matches(got, tt.want) {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}

// TestMaxTargetsOfTheCluster: how many targets a load balancer has, by the cloud-config and by its Service.
func TestMaxTargetsOfTheCluster(t *testing.T) {
	for _, tt := range []struct {
		cluster int
		ask     string
		spec    func(*corev1.Service)
		want    int
	}{
		{0, "", nil, 3}, {2, "", nil, 2}, {1, "max-targets=2", nil, 2}, {2, "max-targets=10000", nil, 3},
		{2, "max-targets=0", nil, 3}, {2, "max-targets=many", nil, 2}, {0, "max-targets=many", nil, 3},
		{2, "", policyLocal, 3},
	} {
		w := newWorld(nil)
		w.config.maxTargets = tt.cluster
		found := w.compare(asking(step{ask: tt.ask, spec: tt.spec}))
		if got := len(found.Targets.Machines); got != tt.want {
			t.Errorf("limit %d of the cluster, %q: %d targets, want %d", tt.cluster, tt.ask, got, tt.want)
		}
	}
}
