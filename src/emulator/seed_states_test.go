package emulator_test

import (
	"strings"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

// TestSeedsWithStatesThatRequestsNeverMakeAreRefused, each with the place, the value and what is permitted.
func TestSeedsWithStatesThatRequestsNeverMakeAreRefused(t *testing.T) {
	const volume, snapshot = "type: Block, size: 10, attachment: {machine: vm-1}", "volume: v-1, size: 10"
	const listener, route = "listeners: [{name: web,", "routes: [{destination: 10.244.0.0/24,"
	const cluster = "subnet: subnet-1, version: 1.34.1"
	refuseSeeds(t, fullYAML, emulator.Switches{}, map[string]refusal{
		"two root volumes": {"size: 10, attachment: {machine: vm-1}", "size: 10, attachment: {machine: vm-1, " +
			"root: true}}\n  - {name: b, region: nl-01, type: Block, size: 1, attachment: {machine: vm-1, root: true}",
			`volumes[1].attachment.machine (volume "b"): machine "vm-1" has a root volume already, "v-1"`},
		"two root volumes, of which one was detached": {"size: 10, attachment: {machine: vm-1}", "size: 10, " +
			"attachment: {machine: vm-1, root: true, detachingAt: 2020-01-01, detachedAt: 2020-01-01}}\n" +
			"  - {name: b, region: nl-01, type: Block, size: 1, attachment: {machine: vm-1, root: true}", ""},
		"two listeners of an identity": {listener, "listeners: [{identity: l, name: a, port: 1, protocol: tcp, " +
			"targetGroup: tg-web}, {identity: l, name: web,",
			`loadBalancers[0].listeners[1].identity (listener "web"): "l" is used twice`},
		"two listeners of an identity and a port": {listener, "listeners: [{identity: l, name: a, port: 80, " +
			"protocol: tcp, targetGroup: tg-web}, {identity: l, name: web,",
			`loadBalancers[0].listeners[1].identity (listener "web"): "l" is used twice`},
		"two routes of an identity": {route, "routes: [{identity: r, destination: 10.9.0.0/24, " +
			"gatewayAddress: 10.1.0.9}, {identity: r, destination: 10.244.0.0/24,",
			`routeTables[0].routes[1].identity (route): "r" is used twice`},
		"a machine twice in a node pool": {cluster, cluster + ", nodePools: [{name: p, machines: [vm-1, one]}]",
			`nodePools[0].machines[1] (node pool "p"): machine "one" is in the list twice`},
		"a machine twice in a target group": {"vpc: vpc-demo, targetPort", "attachments: [{machine: vm-1}, " +
			"{machine: one}], vpc: vpc-demo, targetPort",
			`targetGroups[0].attachments[1].machine (attachment): machine "one" is in the target group twice`},
		"a snapshot larger than its volume": {snapshot, "volume: v-1, size: 11",
			`snapshots[0].size (snapshot "daily"): 11 GB are more than the 10 of volume "v-1"`},
		"a snapshot smaller than its volume": {snapshot, "volume: v-1, size: 9", ""},
		"a negative size before": {volume, volume + ", sizeBefore: -1",
			`volumes[0].sizeBefore (volume "data"): must be 0 to 10, not -1`},
		"a volume that shrank": {volume, volume + ", sizeBefore: 11",
			`volumes[0].sizeBefore (volume "data"): must be 0 to 10, not 11`},
		"a volume that grew from nothing": {volume, volume + ", grownAt: 2020-01-01",
			`volumes[0].sizeBefore (volume "data"): must be 1 to 10, not 0`},
		"negative boots": {"name: two, subnet: subnet-2", "name: two, subnet: subnet-2, boots: -1",
			`machines[1].boots (machine "two"): must not be negative, not -1`},
		"a negative time": {"name: two, subnet: subnet-2", "name: two, subnet: subnet-2, lingers: -1s",
			`machines[1].lingers (machine "two"): must not be negative, not -1s`},
		"a decision": {"  vpcs:\n", "  quotaIncreases: {vpcs: [{decision: pending}, {decision: banana}]}\n  vpcs:\n",
			`quotaIncreases.vpcs[1].decision (organisation "demo"): must be one of ["pending" "approved"], not "banana"`},
		"a zone without a name": {"zones: [nl-01a]", "zones: ['', a]",
			`regions[0].zones[0] (region "nl-01"): must have 1 to 62 characters`},
		"a zone twice": {"zones: [nl-01a]", "zones: [a, b, A]",
			`regions[0].zones[2] (region "nl-01"): "A" has the same slug as zone "a"`},
		"zones of an identity": {"zones: [nl-01a]", "zones: [a, b], zoneIdentities: {a: z, b: z}",
			`regions[0].zoneIdentities.b (region "nl-01"): "z" is used twice`},
		"the identity of an unknown zone": {"zones: [nl-01a]", "zones: [nl-01a], zoneIdentities: {b: z}",
			`regions[0].zoneIdentities.b (region "nl-01"): zone "b" is not one of ["nl-01a"]`},
		"an identity with a slash": {"identity: vm-1", "identity: vm/1",
			`machines[0].identity (machine "one"): must not be "vm/1": a path of the API cannot have it`},
		"an identity of dots": {"identity: tg-web", "identity: ..", `targetGroups[0].identity (target group "web"): `},
		"a slug with a slash": {"name: two, subnet: subnet-2", "slug: a/b, name: two, subnet: subnet-2",
			`machines[1].slug (machine "two"): must not be "a/b"`},
		"an attachment with a slash": {"attachment: {machine: vm-1}", "attachment: {identity: a/b, machine: vm-1}",
			`volumes[0].attachment.identity (volume "data"): must not be "a/b"`},
		"a name of a region that is its identity": {"{name: nl-02,", "{name: nl/02,",
			`regions[1].name (region "nl/02"): must not be "nl/02"`},
		"a machine without a subnet": {"projects: [{name: shop,", "projects: [{machines: [{name: m}], name: shop,",
			`projects[0].machines[0].subnet (machine "m"): subnet "" does not exist in organisation`},
		"an unknown machine type": {"name: two, subnet: subnet-2", "type: big, name: two, subnet: subnet-2",
			`machines[1].type (machine "two"): machine type "big" does not exist`},
		"a zone of another region": {"name: two, subnet: subnet-2", "zone: nl-02a, name: two, subnet: subnet-2",
			`machines[1].zone (machine "two"): zone "nl-02a" is not in region nl-01`},
		"regions with one range": {"198.51.100.0/24", "203.0.113.128/25",
			`regions[1].publicAddresses[0] (region "nl-02"): 203.0.113.128/25 overlaps 203.0.113.0/24 of region "nl-01"`},
		"one range twice in a region": {"[198.51.100.0/24]", "[198.51.100.0/24, 198.51.100.0/25]",
			`regions[1].publicAddresses[1] (region "nl-02"): 198.51.100.0/25 overlaps 198.51.100.0/24 of region "nl-02"`},
	})
}

// TestAddMachineChecksIdentities, like seeds.
func TestAddMachineChecksIdentities(t *testing.T) {
	c := newCloud(t)
	for want, spec := range map[string]emulator.MachineSpec{
		`adding machine "a": field "identity" must not be "a/b"`: {Name: "a", Identity: "a/b"},
		`adding machine "b": field "slug" must not be ".."`:      {Name: "b", Slug: ".."},
		`adding machine "c": field "boots" must not be negative`: {Name: "c", Boots: -1},
	} {
		if _, err := c.AddMachine(spec); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
