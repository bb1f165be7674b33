package inventory

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// read is what the inventory makes of one object of an answer; the zero value when it is none.
func read[Item interface{ object() T }, T any](body []byte) (item Item, object T) {
	if json.Unmarshal(body, &item) != nil {
		var none Item
		item = none
	}
	return item, item.object()
}

func (r reservedIPItem) ObjectID() string { return r.Identity }

func (g securityGroupItem) object() resource.SecurityGroup { return g.SecurityGroup }

// sentAndRead are rules as they are in the answer to a request that contains them.
func sentAndRead(t *testing.T, rules []resource.Rule) (again []resource.Rule) {
	t.Helper()
	body, err := json.Marshal(itemsOf(rules))
	if err == nil {
		err = json.Unmarshal(body, &again)
	}
	if err != nil {
		t.Fatal(err)
	}
	return again
}

// FuzzItems: whatever the cloud says about its objects, what is compared as a set is sorted, and nothing loses its
// identity.
func FuzzItems(f *testing.F) {
	for _, seed := range []string{
		`{"identity": "lb-1", "status": "READY", "externalIpAddresses": ["", "b", "a"], "loadbalancerListeners": [{"port": 80, "targetGroup": {"identity": "tg-1"}}, null]}`,
		`{"identity": "tg-1", "targetPort": -1, "healthCheck": {}, "loadbalancerTargetGroupAttachments": [{"virtualMachineInstance": {"identity": "vm-2"}}, {}, null, {"virtualMachineInstance": {"identity": "vm-1"}}]}`,
		`{"identity": "vm-1", "slug": "a", "state": "Deleted", "interfaces": [{"name": "default", "ipAddresses": null}, {"name": "default", "ipAddresses": ["x"]}], "status": {"status": "RUNNING"}}`,
		`{"createdAt": "never", "labels": {"": null}, "securityGroups": [{}], "maxConnections": 4294967296}`,
		`{"identity": "sg-1", "objectVersion": 3, "ingressRules": [{"remoteAddress": null, "remoteSecurityGroupIdentity": "sg-2", "portRangeMin": -1}, null], "egressRules": null}`,
		`{"identity": "rip-1", "ipv4Address": "192.0.2.1", "ipv6Address": "::ffff:192.0.2.1", "region": null, "status": "ATTACHED"}`,
		`[]`, `null`, `{"identity": 7}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		shownBalancer, balancer := read[balancerItem](body)
		for _, found := range [][]string{balancer.ExternalAddresses, balancer.InternalAddresses} {
			if !slices.IsSorted(found) || slices.Contains(found, "") {
				t.Errorf("addresses %q, want them sorted and without empty ones", found)
			}
		}
		if len(balancer.Listeners) != len(shownBalancer.Listeners) {
			t.Errorf("%d listeners of %d", len(balancer.Listeners), len(shownBalancer.Listeners))
		}
		shownGroup, group := read[groupItem](body)
		if !slices.IsSorted(group.Machines) || slices.Contains(group.Machines, "") {
			t.Errorf("machines %q, want them sorted and without empty ones", group.Machines)
		}
		shownMachine, machine := read[machineItem](body)
		if machine.Gone() && machine.Stopped() {
			t.Errorf("machine %+v is gone and there", machine)
		}
		shownSecurity, security := read[securityGroupItem](body)
		if again := sentAndRead(t, security.Ingress); len(security.Ingress) != len(shownSecurity.Ingress) ||
			!slices.Equal(again, security.Ingress) {
			t.Errorf("ingress rules %+v of %+v; sent and read they are %+v", security.Ingress, shownSecurity.Ingress,
				again)
		}
		shownIP, ip := read[reservedIPItem](body)
		for _, address := range ip.Addresses {
			if !address.IsValid() || address.Is4In6() {
				t.Errorf("address %v of %s", address, body)
			}
		}
		if shownSecurity.ObjectID() != security.ID || shownIP.ObjectID() != ip.ID ||
			!slices.IsSorted(balancer.SecurityGroups) {
			t.Errorf("identities %q, %q, security groups %q of %s", security.ID, ip.ID, balancer.SecurityGroups, body)
		}
		if shownBalancer.ObjectID() != balancer.ID || shownGroup.ObjectID() != group.ID ||
			shownMachine.ObjectID() != machine.ID {
			t.Errorf("identities %q, %q, %q of %s", balancer.ID, group.ID, machine.ID, body)
		}
	})
}
