package emulator_test

import (
	"strings"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

// checkedYAML is a seed with settings that the API would accept.
const checkedYAML = `
  projects:
  - {identity: above, name: above, parent: ""}
  - {identity: below, name: below, parent: above}
  targetGroups:
  - identity: web
    name: web
    vpc: vpc-demo
    targetPort: 80
    protocol: tcp
    loadbalancingPolicy: MAGLEV
    healthCheck:
      {protocol: tcp, port: 80, periodSeconds: 5, timeoutSeconds: 1, unhealthyThreshold: 1, healthyThreshold: 1}
  loadBalancers:
  - name: web
    subnet: subnet-demo
    listeners:
    - {name: web, port: 80, protocol: tcp, targetGroup: web, allowedSources: [192.0.2.0/24]}
    - {name: other, port: 81, protocol: tcp, targetGroup: web}
  kubernetesClusters:
  - name: k
    subnet: subnet-demo
    version: 1.34.1
    nodePools:
    - {name: a, type: pgp-small, machines: [vm-demo-1]}
    - {name: b, type: pgp-small, machines: [node-2]}
  federatedIdentityProviders:
  - {name: one, issuer: 'https://one.example'}
  - {name: two, issuer: 'https://two.example'}
`

// farYAML is another VPC of the seed, with a machine.
const farYAML = `
  - {identity: vpc-far, name: far, region: nl-01, cidrs: [10.8.0.0/16],
     subnets: [{identity: subnet-far, name: far, cidrs: [10.8.1.0/24]}]}
  machines:
  - {identity: vm-far, name: far, subnet: subnet-far}
`

// A seed cannot have what the API refuses, and what the emulator could not serve.
func TestSeedsAreCheckedLikeRequests(t *testing.T) {
	for name, test := range map[string]struct{ from, to, want string }{
		"good": {},
		"cycle of projects": {`name: above, parent: ""`, "name: above, parent: below",
			`projects[1].parent (project "below"): project "above" is below project "below"`},
		"project above itself": {"parent: above", "parent: below", `project "below" is below project "below"`},
		"source": {"192.0.2.0/24", "192.0.2.0-24",
			`listeners[0].allowedSources (listener "web"): "192.0.2.0-24"`},
		"period": {"periodSeconds: 5", "periodSeconds: 0",
			`targetGroups[0].healthCheck.periodSeconds (target group "web"): must be 5 to 300, not 0`},
		"protocol": {"{protocol: tcp", "{protocol: icmp",
			`targetGroups[0].healthCheck.protocol (target group "web"): must be one of`},
		"port twice": {"port: 81, protocol: tcp", "port: 80, protocol: tcp",
			`listeners[1] (listener "other"): port 80/tcp is taken`},
		"protocol of the group": {"port: 81, protocol: tcp", "port: 81, protocol: udp", "serves tcp, the listener udp"},
		"group of another VPC":  {"vpc: vpc-demo", "vpc: vpc-far", "is in another VPC than the load balancer"},
		"machine of another VPC": {"targetPort: 80", "targetPort: 80\n    attachments: [{machine: vm-far}]",
			`machine "vm-far" is in another VPC`},
		"subnets that overlap": {"cidrs: [10.9.1.0/24]}",
			"cidrs: [10.9.1.0/24]}\n    - {name: o, cidrs: [10.9.1.0/25]}",
			`organisations[0].vpcs[0].subnets[1].cidrs (subnet "o"): 10.9.1.0/25 overlaps 10.9.1.0/24`},
		"node pool of another VPC": {"{name: a, type", "{name: a, subnet: subnet-far, type",
			`subnet "subnet-far" is in another VPC than the cluster`},
		"machine of two node pools": {"machines: [node-2]", "machines: [vm-demo-1]", "is in node pool"},
		"long name of a bucket": {"  federatedIdentityProviders:",
			"  buckets: [{name: " + strings.Repeat("b", 64) + ", region: nl-01}]\n  federatedIdentityProviders:",
			`"): must have 3 to 63 lower case letters`},
		"issuer twice": {"https://two.example", "https://one.example",
			`has issuer "https://one.example" already`},
		"policy": {"MAGLEV", "FASTEST", `targetGroups[0].loadbalancingPolicy (target group "web"): must be one of`},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(seedYAML+checkedYAML, "\n  machines:\n", farYAML, 1)
			text = strings.Replace(text, test.from, test.to, 1)
			seed, err := emulator.ReadSeed(strings.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			_, err = emulator.NewDescribed(t, emulator.Config{Seed: seed})
			if (err != nil) != (test.want != "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
			checkPlace(t, err)
		})
	}
}
