package emulator_test

import (
	"strings"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

func TestSeedsWithBadStorageAreRefused(t *testing.T) {
	const volume, bucket = `seed: organisations[0].volumes[0].`, `seed: organisations[0].buckets[0].`
	refuseSeeds(t, fullYAML, emulator.Switches{}, map[string]refusal{
		"size of a volume": {"type: Block, size: 10,", "type: Block, size: 16385,",
			volume + `size (volume "data"): must be at least 1 GB and at most 16384, not 16385`},
		"no size of a volume": {"type: Block, size: 10,", "type: Block,", volume +
			`size (volume "data"): must be at least 1`},
		"size of a snapshot": {"volume: v-1, size: 10}", "volume: v-1, size: 16385}",
			`snapshots[0].size (snapshot "daily"): must`},
		"status of a volume": {"type: Block, size: 10,", "type: Block, size: 10, held: odd,",
			volume + `held (volume "data"): must be one of ["Creating" "Available"`},
		"status of a snapshot": {"volume: v-1, size: 10}", "volume: v-1, size: 10, held: Attached}",
			`snapshots[0].held (snapshot "daily"): must be one of`},
		"status of a machine": {"vm-2, name: two", "vm-2, name: two, held: odd",
			`machines[1].held (machine "two"): must be one of ["provisioning"`},
		"status of a load balancer": {"internal: true,", "internal: true, held: odd,",
			`loadBalancers[1].held (load balancer "inside"): must be one of ["creating"`},
		"status of a subnet": {"cidrs: [10.1.1.0/24]", "cidrs: [10.1.1.0/24], held: failed",
			`vpcs[0].subnets[1].held (subnet "two"): is only for machines, load balancers`},
		"size of a file system": {"size: 10}]", "size: 0}]",
			`filesystems[0].size (file system "files"): must be at least 1 GB`},
		"machine of another region": {"machine: vm-1", "machine: vm-other",
			volume +
				`attachment.machine (volume "data"): volume "v-1" is in region nl-01, the machine in region nl-02`},
		"smaller than its snapshot": {"size: 10, restoredFrom", "size: 9, restoredFrom",
			`volumes[1].size (volume "copy"): 9 GB is less than the 10 of snapshot "s-1"`},
		"snapshot of another region": {"name: copy, region: nl-01", "name: copy, region: nl-02",
			`volumes[1].restoredFrom (volume "copy"): snapshot "s-1" is in region nl-01, not nl-02`},
		"ttl of a policy": {"ttl: 24h", "ttl: 0s",
			`snapshotPolicies[0].ttl (snapshot policy "daily"): must be more than 0`},
		"count of a policy": {"keepCount: 3", "keepCount: 0",
			`snapshotPolicies[0].plan.keepCount (snapshot policy "daily"): must be at least 1`},
		"schedule of a policy": {"schedule: 0 3 * * *", "schedule: daily",
			`snapshotPolicies[0].plan.schedule (snapshot policy`},
		"target of a policy": {"type: explicit", "type: all",
			`snapshotPolicies[0].plan.target.type (snapshot policy "daily"): must`},
		"volume of a policy": {"volumeIdentities: [v-1]", "volumeIdentities: [v-3]",
			`snapshotPolicies[0].plan.target.volumeIdentities (snapshot policy "daily"): volume "v-3" not found`},
		"name of a bucket": {"name: demo-logs", "name: Demo_Logs",
			bucket + `name (bucket "Demo_Logs"): must have 3 to 63 lower case letters, digits, '.' and '-'`},
		"bucket of a taken name": {"buckets:", "buckets:\n  - {name: demo-logs, region: nl-01}",
			`buckets[1].name (bucket "demo-logs"): a bucket is called "demo-logs" already`},
		"versioning of a bucket": {"versioning: Enabled", "versioning: On",
			bucket + `settings.versioning (bucket "demo-logs"): must be one of`},
		"policy of a bucket": {"Effect: Allow", "Effect: Permit", bucket +
			`settings.policy.Statement[0].Effect (bucket "demo-logs"): must`},
		"lifecycle of a bucket": {"{days: 3}", "null", bucket +
			`lifecycle.rules[0] (bucket "demo-logs"): rule "old" does nothing`},
		"content of a template": {`content: "#cloud-config"`, `content: ""`,
			`seed: organisations[0].cloudInits[0].content (cloud-init template "nodes"): is required`},
		"status of a provider": {"issuer: 'https://one.example'", "issuer: 'https://one.example', status: off",
			`federatedIdentityProviders[0].status (federated identity provider "one"): must be active or inactive`},
	})
}

// What switches refuse in requests, they refuse in seeds.
func TestSeedsAreRefusedBySwitches(t *testing.T) {
	for name, test := range map[string]struct {
		switches emulator.Switches
		refusal
	}{
		"a machine of a taken name": {emulator.Switches{UniqueNames: true}, refusal{"vm-2, name: two",
			"vm-2, name: one",
			`seed: organisations[0].machines[1].name (machine "one"): machine "vm-1" is called "one" already`}},
		"a subnet of a taken name": {emulator.Switches{UniqueNames: true}, refusal{"subnet-2, name: two",
			"subnet-2, name: one",
			`vpcs[0].subnets[1].name (subnet "one"): subnet "subnet-1" is called "one" already`}},
		"a provider of a taken name": {emulator.Switches{UniqueNames: true}, refusal{"federatedIdentityProviders: [",
			"federatedIdentityProviders: [{name: one, issuer: i}, ", `federatedIdentityProviders[1].name (federated`}},
		"a strict label": {emulator.Switches{StrictLabels: true}, refusal{"vm-2, name: two",
			"vm-2, name: two, labels: {a: B}",
			`machines[1].labels (machine "two"): value "B" of key "a" must be 1 to 63 lower case letters`}},
		"a strict name": {emulator.Switches{StrictSecurityGroups: true}, refusal{"name: nodes,\n",
			"name: nodes-of-the-cluster,\n",
			`securityGroups[0].name (security group "nodes-of-the-cluster"): must have 1 to 16`}},
		"a strict rule": {emulator.Switches{StrictSecurityGroups: true}, refusal{"ports: [22, 22]", "ports: [0, 22]",
			`securityGroups[0].ingress[0].ports (security group "nodes"): must be 1 to 65534`}},
		"one priority": {emulator.Switches{UniqueRulePriorities: true}, refusal{"ingress: [",
			"ingress: [{protocol: udp, priority: 10, remote: 192.0.2.0/24, ports: [1, 2]}, ",
			`securityGroups[0].ingress[1].priority (security group "nodes"): 10 is the priority of ingress[0], too`}},
		"one volume for each machine": {emulator.Switches{VolumesPerMachine: 1}, refusal{"restoredFrom: s-1",
			"attachment: {machine: vm-1}",
			`volumes[1].attachment.machine (volume "copy"): machine "vm-1" has 1 volumes`}},
	} {
		t.Run(name, func(t *testing.T) {
			refuseSeeds(t, fullYAML, test.switches, map[string]refusal{"refused": test.refusal})
		})
		// Without the switch.
		lenient := test.refusal
		lenient.want = ""
		refuseSeeds(t, fullYAML, emulator.Switches{}, map[string]refusal{name + " without the switch": lenient})
	}
}

// What is only still listed as deleted does not block anything.
func TestDeletedObjectsOfSeedsBlockNothing(t *testing.T) {
	const gone = ", removedAt: 2000-01-01T00:00:00Z, deletingTakes: 1s, lingers: 876000h}"
	const before = "    - {identity: subnet-0, name: one, cidrs: [10.1.0.0/24]" + gone + "\n"
	const after = "    - {identity: subnet-3, name: two, cidrs: [10.3.0.0/24]" + gone + "\n    securityGroups:\n"
	text := strings.Replace(fullYAML, "    subnets:\n", "    subnets:\n"+before, 1)
	text = strings.Replace(text, "    securityGroups:\n", after, 1)
	refuseSeeds(t, text, emulator.Switches{UniqueNames: true}, map[string]refusal{})
}

// A state that an emulator wrote is accepted under other switches.
func TestWrittenStatesNeedNotFitSwitches(t *testing.T) {
	text := strings.Replace(fullYAML, "vm-2, name: two", "vm-2, name: one, labels: {a: B}", 1)
	refuseSeeds(t, "version: 1\n"+text, emulator.Switches{UniqueNames: true, StrictLabels: true}, map[string]refusal{
		"label": {"labels: {a: B}", "labels: {a: B C}", `machines[1].labels (machine "one"): value "B C"`},
		"CIDR":  {"10.1.1.0/24", "10.1.1.1/24", "has host bits"},
		"size":  {"type: Block, size: 10,", "type: Block, size: 16385,", "at most 16384"},
	})
}

func TestAddMachineChecksMetaData(t *testing.T) {
	c := newCloud(t, func(cfg *emulator.Config) { cfg.Switches.UniqueNames = true })
	if _, err := c.AddMachine(emulator.MachineSpec{Name: "taken"}); err != nil {
		t.Fatal(err)
	}
	for want, spec := range map[string]emulator.MachineSpec{
		`field "name" must have 1 to 62 characters`:      {Name: strings.Repeat("n", 63)},
		`field "labels": key "a b" must have`:            {Name: "a", Labels: map[string]string{"a b": "c"}},
		`field "labels": value "b c" of key "a" must be`: {Name: "a", Labels: map[string]string{"a": "b c"}},
		`field "annotations": key "a b" must have`: {Name: "a",
			Annotations: map[string]string{"a b": "c"}},
		`field "name": machine "`:                                {Name: "taken"},
		`adding machine "": field "name" must have 1 to 62 char`: {},
	} {
		if _, err := c.AddMachine(spec); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	if n := c.machineCount(t); n != 1 {
		t.Errorf("%d machines, want the first only", n)
	}
}

// The names that AddMachines makes are not taken, also if machines in between were deleted.
func TestAddMachinesMakesNamesThatAreFree(t *testing.T) {
	c := newCloud(t, func(cfg *emulator.Config) { cfg.Switches.UniqueNames = true })
	first, err := c.AddMachines(2)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.DeleteMachine(first[0]); err != nil {
		t.Fatal(err)
	}
	if _, err := c.AddMachines(2); err != nil || c.machineCount(t) != 3 {
		t.Errorf("%d machines, %v, want 3", c.machineCount(t), err)
	}
}

func (c *cloud) machineCount(t *testing.T) int {
	t.Helper()
	machines, err := c.api.ListMachines(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return len(machines)
}
