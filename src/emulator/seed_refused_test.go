package emulator_test

import (
	"strings"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

// fullYAML is a seed with objects that requests could make.
const fullYAML = `
regions:
- {name: nl-01, zones: [nl-01a], publicAddresses: [203.0.113.0/24]}
- {name: nl-02, zones: [nl-02a], publicAddresses: [198.51.100.0/24]}
machineTypes: [{name: pgp-small}]
organisations:
- identity: o-demo
  name: demo
  personalAccessTokens: [demo-token]
  vpcs:
  - identity: vpc-demo
    name: demo
    region: nl-01
    cidrs: [10.1.0.0/16, 10.2.0.0/16]
    routeTables:
    - {name: pods, routes: [{destination: 10.244.0.0/24, gatewayAddress: 10.1.0.11}]}
    - {name: out, routes: [{destination: 0.0.0.0/0, natGateway: ngw-demo},
       {destination: 10.3.0.0/16, peering: vpcpc-demo}]}
    subnets:
    - {identity: subnet-1, name: one, cidrs: [10.1.0.0/24], labels: {kubernetes.io/role/lb: "true"}}
    - {identity: subnet-2, name: two, cidrs: [10.1.1.0/24]}
    securityGroups:
    - {identity: sg-nodes, name: nodes,
       ingress: [{protocol: tcp, priority: 10, remote: 192.0.2.0/24, ports: [22, 22]}]}
  - {identity: vpc-far, name: far, region: nl-01, cidrs: [10.3.0.0/16],
     subnets: [{identity: subnet-far, name: far, cidrs: [10.3.0.0/24]}]}
  - {identity: vpc-other, name: other, region: nl-02, cidrs: [10.4.0.0/16],
     subnets: [{identity: subnet-other, name: other, cidrs: [10.4.0.0/24]}]}
  reservedIps:
  - {identity: rip-demo, name: fixed, region: nl-01}
  - {identity: rip-other, name: other, region: nl-02}
  machines:
  - {identity: vm-1, name: one, subnet: subnet-1, addresses: [10.1.0.11]}
  - {identity: vm-2, name: two, subnet: subnet-2}
  - {identity: vm-other, name: other, subnet: subnet-other}
  cloudInits: [{name: nodes, content: "#cloud-config"}]
  natGateways:
  - {identity: ngw-demo, name: out, subnet: subnet-1, reservedIp: rip-demo}
  - {identity: ngw-far, name: far, subnet: subnet-far}
  targetGroups: [{identity: tg-web, name: web, vpc: vpc-demo, targetPort: 80, protocol: tcp}]
  loadBalancers:
  - {name: web, subnet: subnet-1, listeners: [{name: web, port: 80, protocol: tcp, targetGroup: tg-web}]}
  - {name: inside, internal: true, subnet: subnet-1}
  filesystems: [{name: files, subnet: subnet-1, size: 10}]
  volumes:
  - {identity: v-1, name: data, region: nl-01, type: Block, size: 10, attachment: {machine: vm-1}}
  - {identity: v-2, name: copy, region: nl-01, type: Block, size: 10, restoredFrom: s-1}
  snapshots: [{identity: s-1, name: daily, volume: v-1, size: 10}]
  snapshotPolicies:
  - {name: daily, region: nl-01, ttl: 24h, plan: {enabled: true, schedule: 0 3 * * *, timezone: UTC, keepCount: 3,
     target: {type: explicit, volumeIdentities: [v-1]}}}
  peerings: [{identity: vpcpc-demo, name: far, requesterVpc: vpc-demo, accepterVpc: vpc-far, status: active}]
  buckets:
  - name: demo-logs
    region: nl-01
    settings: {versioning: Enabled, policy: {Version: v, Statement: [{Effect: Allow, Action: a, Resource: [r]}]}}
    lifecycle: {rules: [{id: old, status: Enabled, expiration: {days: 3}}]}
  kubernetesClusters: [{name: k, subnet: subnet-1, version: 1.34.1}]
  serviceAccounts:
  - name: robot
    accessCredentials: [{name: key, accessKey: k, accessSecret: s}]
    federatedIdentities: [{subject: s, audiences: [a]}]
  federatedIdentityProviders: [{name: one, issuer: 'https://one.example'}]
  projects: [{name: shop, vpcs: [{name: shop, region: nl-01, cidrs: [10.5.0.0/16]}]}]
`

// refusal is what a seed has instead, and the error about it.
type refusal struct{ from, to, want string }

// refuseSeeds checks that seeds that differ in one place from one that is accepted are refused.
func refuseSeeds(t *testing.T, full string, switches emulator.Switches, tests map[string]refusal) {
	t.Helper()
	tests["nothing"] = refusal{}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(full, test.from) {
				t.Fatalf("the seed does not have %q", test.from)
			}
			seed, err := emulator.ReadSeed(strings.NewReader(strings.Replace(full, test.from, test.to, 1)))
			if err == nil {
				_, err = emulator.NewDescribed(t, emulator.Config{Seed: seed, Switches: switches})
			}
			if (err != nil) != (test.want != "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
			checkPlace(t, err)
		})
	}
}

func TestSeedsWithBadNetworksAreRefused(t *testing.T) {
	const vpc, subnet = `seed: organisations[0].vpcs[0].cidrs (VPC "demo"): `,
		`seed: organisations[0].vpcs[0].subnets[1].cidrs (subnet "two"): `
	refuseSeeds(t, fullYAML, emulator.Switches{}, map[string]refusal{
		"no CIDR": {"cidrs: [10.1.0.0/24]", "cidrs: [10.1.0.0/33]",
			`organisations[0].vpcs[0].subnets[0].cidrs[0]: line 20: "10.1.0.0/33" is not a CIDR such as 10.0.0.0/16`},
		"no address": {"10.1.0.11]", "10.1.0.256]",
			`machines[0].addresses[0]: line 33: "10.1.0.256" is not an IP address such as 10.0.0.1`},
		"no CIDR in a list of a group": {"remote: 192.0.2.0/24", "remote: everywhere",
			`securityGroups[0].ingress[0].remote: line 24: "everywhere" is not a CIDR`},
		"no CIDR of a project": {"cidrs: [10.5.0.0/16]", "cidrs: [10.5.0.0/16, '10.6']",
			`organisations[0].projects[0].vpcs[0].cidrs[1]: line`},
		"VPC without ranges": {"cidrs: [10.1.0.0/16, 10.2.0.0/16]", "cidrs: []", vpc + "must have at least one CIDR"},
		"host bits of a VPC": {"10.2.0.0/16", "10.2.0.1/16", vpc +
			"10.2.0.1/16 has host bits; it should be 10.2.0.0/16"},
		"overlap in a VPC": {"10.2.0.0/16", "10.0.0.0/8", vpc + "10.0.0.0/8 overlaps 10.1.0.0/16"},
		"host bits of a VPC of a project": {"cidrs: [10.5.0.0/16]", "cidrs: [10.5.5.0/16]",
			`seed: organisations[0].projects[0].vpcs[0].cidrs (VPC "shop"): 10.5.5.0/16 has host bits`},
		"host bits of a subnet": {"10.1.1.0/24", "10.1.1.1/24", subnet + "10.1.1.1/24 has host bits; it should be"},
		"outside of the VPC": {"10.1.1.0/24", "10.7.1.0/24",
			subnet + `10.7.1.0/24 is outside VPC "vpc-demo", which has [10.1.0.0/16 10.2.0.0/16]`},
		"around a range of the VPC": {"10.1.1.0/24", "10.0.0.0/8", subnet + "10.0.0.0/8 is outside VPC"},
		"overlap of subnets": {"10.1.1.0/24", "10.1.0.128/25",
			subnet + `10.1.0.128/25 overlaps 10.1.0.0/24 of subnet "subnet-1"`},
		"subnet too small": {"10.1.1.0/24", "10.1.1.0/31", subnet + "10.1.1.0/31 is too small"},
		"subnet that is being deleted": {"cidrs: [10.1.1.0/24]",
			"cidrs: [10.1.0.0/25], removedAt: 2000-01-01T00:00:00Z, deletingTakes: 876000h", subnet +
				"10.1.0.0/25 overlaps"},
		"host bits of public addresses": {"203.0.113.0/24", "203.0.113.1/24",
			`seed: regions[0].publicAddresses[0] (region "nl-01"): 203.0.113.1/24 has host bits`},
		"host bits of a route": {"10.244.0.0/24", "10.244.0.1/24",
			`routeTables[0].routes[0].destination (route): 10.244.0.1/24 has host bits`},
		"NAT gateway of another VPC": {"natGateway: ngw-demo", "natGateway: ngw-far",
			`routeTables[1].routes[0].natGateway (route): NAT gateway "ngw-far" is in another VPC`},
		"two targets of a route": {"natGateway: ngw-demo", "natGateway: ngw-demo, peering: vpcpc-demo",
			`routeTables[1].routes[0] (route): only one of "gatewayAddress", "natGateway" and "peering"`},
		"peering that is not active": {"status: active", "status: pending",
			`routeTables[1].routes[1].peering (route): VPC peering connection "vpcpc-demo" is pending, not active`},
		"peering with itself": {"accepterVpc: vpc-far", "accepterVpc: vpc-demo",
			`peerings[0].accepterVpc (VPC peering connection "far"): a VPC cannot be connected with itself`},
		"peering of ranges that overlap": {"cidrs: [10.3.0.0/16]", "cidrs: [10.3.0.0/16, 10.1.0.0/20]",
			`peerings[0].accepterVpc (VPC peering connection "far"): the CIDRs of VPCs "vpc-demo" and "vpc-far"`},
		"reserved IP of another region": {"reservedIp: rip-demo", "reservedIp: rip-other",
			`natGateways[0].reservedIp (NAT gateway "out"): reserved IP "rip-other" is in region nl-02`},
		"reserved IP of an internal load balancer": {"internal: true,", "internal: true, reservedIp: rip-other,",
			`loadBalancers[1].reservedIp (load balancer "inside"): load balancer`},
		"protocol": {"targetPort: 80, protocol: tcp", "targetPort: 80, protocol: http",
			`targetGroups[0].protocol (target group "web"): must be one of [tcp udp], not "http"`},
		"region of a cluster": {"{name: k,", "{name: k, region: nl-02,",
			`kubernetesClusters[0].region (Kubernetes cluster "k"): subnet "subnet-1" is not in region "nl-02"`},
		"pods of a cluster": {"version: 1.34.1}", "version: 1.34.1, networking: {podCidr: 10.1.0.0/20}}",
			`kubernetesClusters[0].networking.podCidr (Kubernetes cluster "k"): 10.1.0.0/20 overlaps the VPC`},
	})
}

func TestSeedsWithBadNamesAndLabelsAreRefused(t *testing.T) {
	long := strings.Repeat("x", 63)
	const machine, meta = "{identity: vm-2, name: two", `seed: organisations[0].machines[1].`
	refuseSeeds(t, fullYAML, emulator.Switches{}, map[string]refusal{
		"long name": {machine, "{identity: vm-2, name: " + long,
			meta + `name (machine "` + long + `"): must have 1 to 62 characters, "` + long + `" has 63`},
		"no name": {machine, "{identity: vm-2", meta + `name (machine): must have 1 to 62 characters, "" has 0`},
		"key of a label": {machine, machine + ", labels: {a b: c}",
			meta + `labels (machine "two"): key "a b" must have 1 to 63 letters, digits, '-', '_' and '.'`},
		"value of a label": {machine, machine + ", labels: {a: b c}",
			meta + `labels (machine "two"): value "b c" of key "a" must be at most 63 letters, digits`},
		"long value of a label": {machine, machine + ", labels: {a: x" + long + "}", meta + "labels"},
		"empty key of a label": {machine, machine + ", labels: {'': a}", meta +
			`labels (machine "two"): has an empty key`},
		"key of an annotation": {machine, machine + ", annotations: {a b: c}", meta +
			`annotations (machine "two"): key "a b"`},
		"value of an annotation": {machine, machine + ", annotations: {a: é}", meta +
			`annotations (machine "two"): the value`},
		"long description": {machine, machine + ", description: " + strings.Repeat("d", 256),
			meta + `description (machine "two"): must have at most 255 characters, not 256`},
		"project of a taken slug": {"projects: [", "projects: [{name: SHOP}, ",
			`projects[1] (project "shop"): slug "shop" is taken by another project`},
		"snapshot of a taken name": {"snapshots: [", "snapshots: [{name: daily, volume: v-1}, ",
			`snapshots[1].name (snapshot "daily"): snapshot "`},
		"snapshot policy of a taken name": {"snapshotPolicies:",
			"snapshotPolicies:\n  - {name: daily, region: nl-01, ttl: 1h," +
				" plan: {schedule: 0 3 * * *, timezone: UTC, target: {type: selector, selector: {a: b}}}}",
			`snapshotPolicies[1].name (snapshot policy "daily"): snapshot policy "`},
		"description of an attachment": {"attachment: {", "attachment: {description: " + strings.Repeat("d", 256) +
			", ",
			`volumes[0].attachment.description (volume "data"): must have at most 255`},
		"long issuer": {"subject: s,", "subject: s, keys: k, issuer: " + strings.Repeat("i", 256) + ",",
			"federatedIdentities[0].issuer (federated identity): must have 1 to 255 characters"},
		"labels of a machine image": {"machineTypes:", "machineImages: [{name: i, labels: {a b: c}}]\nmachineTypes:",
			`seed: machineImages[0].labels (machine image "i"): key "a b"`},
		"name of a machine type": {"[{name: pgp-small}]", "[{name: pgp-small}, {name: " + long + "}]",
			`seed: machineTypes[1].name (machine type "` + long + `"): must have 1 to 62`},
		"name of a volume type": {"machineTypes:", "volumeTypes: [{name: " + long + "}]\nmachineTypes:",
			`seed: volumeTypes[0].name (volume type "` + long + `"): must have 1 to 62`},
		"name of a version": {"machineTypes:", "kubernetesVersions: [{name: " + long + "}]\nmachineTypes:",
			`seed: kubernetesVersions[0].name (Kubernetes version "` + long + `"): must have 1 to 62`},
	})
}
