package emulator_test

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/thalassa-cloud/client-go/iaas"
)

// networkWalk is what a walker saw last of the network objects.
type networkWalk struct {
	ips, guards, gateways, subnets, tables []string
}

// attachments are random settings for what can have security groups and a
// reserved IP; half of the time there are none.
func (w *walker) attachments() string {
	if w.random.IntN(2) == 0 {
		return ""
	}
	return fmt.Sprintf(`,"securityGroupAttachments":[%q],"reservedIpId":%q`, w.pick(w.guards),
		[]string{"", w.pick(w.ips)}[w.random.IntN(2)])
}

func (w *walker) networkSteps() []func() {
	const (
		ips, guards, gateways = "/v1/reserved-ips/", "/v1/security-groups/", "/v1/nat-gateways/"
		subnets, tables       = "/v1/subnets/", "/v1/route-tables/"
	)
	target := fmt.Sprintf(`"gatewayAddress":"10.0.0.%d"`, w.random.IntN(300))
	if w.random.IntN(2) == 0 {
		target = fmt.Sprintf(`"targetNatGatewayIdentity":%q`, w.pick(w.gateways))
	}
	route := fmt.Sprintf(`{"destinationCidrBlock":"10.244.%d.0/24",%s}`, w.random.IntN(4), target)
	batch := `{"rules":[` + ruleJSON(`"address"`, `"securityGroup"`, ":null", fmt.Sprintf(":%q", w.pick(w.guards))) +
		`]}`
	return []func(){
		func() {
			w.create(&w.balancers, "/v1/loadbalancers",
				fmt.Sprintf(`{"name":%q,"subnet":"emulator"%s}`, w.name("lb"), w.attachments()))
		},
		func() { w.create(&w.ips, ips, fmt.Sprintf(`{"name":%q,"region":"nl-01"}`, w.name("ip"))) },
		func() { w.create(&w.guards, guards, fmt.Sprintf(`{"name":%q,"vpcIdentity":"emulator"}`, w.name("sg"))) },
		func() {
			w.create(&w.gateways, gateways, fmt.Sprintf(`{"name":%q,"subnetIdentity":%q,"configureDefaultRoute":%t%s}`,
				w.name("nat"), w.pick(w.subnets), w.random.IntN(2) == 0, w.attachments()))
		},
		func() {
			w.create(&w.subnets,
				subnets,
				fmt.Sprintf(
					`{"name":%q,"vpcIdentity":"emulator","cidr":"10.0.%d.0/24","associatedRouteTableIdentity":%q}`,
					w.name("s"), 128+w.random.IntN(8), []string{"", w.pick(w.tables)}[w.random.IntN(2)]))
		},
		func() { w.create(&w.tables, tables, fmt.Sprintf(`{"name":%q,"vpcIdentity":"emulator"}`, w.name("r"))) },
		func() { w.do("POST", tables+w.pick(w.tables)+"/routes", route) },
		func() { w.do("PUT", tables+w.pick(w.tables)+"/routes", `{"routes":[`+route+`]}`) },
		func() { w.do("PUT", guards+w.pick(w.guards)+"/ingress-rules/batch", batch) },
		func() {
			w.do("PUT", "/v1/loadbalancers/"+w.pick(w.balancers),
				fmt.Sprintf(`{"name":"a","subnet":%q%s}`, w.pick(w.subnets), w.attachments()))
		},
		func() {
			w.do("PUT", "/v1/machines/"+w.pick(w.machines),
				fmt.Sprintf(`{"name":"a","subnet":%q%s}`, w.pick(w.subnets), w.attachments()))
		},
		func() { w.do("PUT", gateways+w.pick(w.gateways), `{"name":"a"`+w.attachments()+`}`) },
		func() {
			w.do("PUT", subnets+w.pick(w.subnets),
				fmt.Sprintf(`{"name":"a","associatedRouteTableIdentity":%q}`, w.pick(w.tables)))
		},
		func() {
			w.do("POST", ips+w.pick(w.ips)+"/associate",
				fmt.Sprintf(`{"loadbalancerIdentity":%q}`, w.pick(w.balancers)))
		},
		func() {
			w.do("POST", ips+w.pick(w.ips)+"/associate", fmt.Sprintf(`{"natGatewayIdentity":%q}`, w.pick(w.gateways)))
		},
		func() { w.do("POST", ips+w.pick(w.ips)+"/disassociate", "") },
		func() { w.do("DELETE", ips+w.pick(w.ips), "") },
		func() { w.do("DELETE", guards+w.pick(w.guards), "") },
		func() { w.do("DELETE", gateways+w.pick(w.gateways), "") },
		func() { w.do("DELETE", subnets+w.pick(w.subnets), "") },
		func() { w.do("DELETE", tables+w.pick(w.tables), "") },
	}
}

// checkNetwork checks that both ends of every reference agree.
func (w *walker) checkNetwork(claim func(address, owner string)) {
	w.Helper()
	holders := map[string]string{}
	for _, lb := range read[iaas.VpcLoadbalancer](w, "/v1/loadbalancers") {
		if lb.ReservedIpIdentity != "" {
			holders[lb.ReservedIpIdentity] = lb.Identity
		}
	}
	for _, n := range read[iaas.VpcNatGateway](w, "/v1/nat-gateways") {
		if n.ReservedIpID != "" {
			holders[n.ReservedIpID] = n.Identity
		}
		if n.EndpointIP != "" && n.ReservedIpID == "" {
			claim(n.EndpointIP, n.Identity)
		}
	}
	for _, ip := range read[iaas.ReservedIP](w, "/v1/reserved-ips") {
		if ip.IPv4Address != "" {
			claim(ip.IPv4Address, ip.Identity)
		}
		if holders[ip.Identity] != ip.AttachedToResourceIdentity ||
			(ip.Status == "attached") != (ip.AttachedToResourceIdentity != "") {
			w.Errorf("reserved IP %s is %s and attached to %q, but %q has it", ip.Identity, ip.Status,
				ip.AttachedToResourceIdentity, holders[ip.Identity])
		}
	}
	w.checkTables()
}

// checkTables checks that every subnet is in exactly the table that it names, or else in the default one.
func (w *walker) checkTables() {
	w.Helper()
	in, byDefault := map[string]string{}, map[string]bool{}
	for _, table := range read[iaas.RouteTable](w, "/v1/route-tables") {
		for _, s := range table.AssociatedSubnets {
			if other, twice := in[s.Identity]; twice {
				w.Errorf("subnet %s is in tables %s and %s", s.Identity, other, table.Identity)
			}
			in[s.Identity], byDefault[s.Identity] = table.Identity, table.IsDefault
		}
	}
	for _, s := range read[iaas.Subnet](w, "/v1/subnets") {
		switch {
		case s.RouteTable == nil && !byDefault[s.Identity] && s.Status != "deleted":
			w.Errorf("subnet %s names no table and is in %q", s.Identity, in[s.Identity])
		case s.RouteTable != nil && in[s.Identity] != s.RouteTable.Identity && s.Status != "deleted":
			w.Errorf("subnet %s names table %s and is in %q", s.Identity, s.RouteTable.Identity, in[s.Identity])
		}
	}
}

// tearDown deletes everything in the order that the references ask for; nothing
// may be refused, which it would be if an object were thought to be in use.
func (w *walker) tearDown() {
	w.Helper()
	empty := func(path string) {
		w.Helper()
		for _, object := range read[struct{ Identity string }](w, path) {
			if status, body := w.do("DELETE", path+"/"+object.Identity, ""); status != http.StatusNoContent {
				w.Errorf("DELETE %s/%s = %d %s", path, object.Identity, status, body)
			}
		}
		<-time.After(time.Minute)
		if left := read[struct{ Identity string }](w, path); len(left) > 0 {
			w.Errorf("%s still has %v", path, left)
		}
	}
	for _, path := range []string{"/v1/loadbalancers", "/v1/loadbalancer-target-groups", "/v1/machines",
		"/v1/volumes", "/v1/snapshots", "/v1/reserved-ips"} {
		empty(path)
	}
	for _, table := range read[struct{ Identity string }](w, "/v1/route-tables") {
		w.do("PUT", "/v1/route-tables/"+table.Identity+"/routes", `{"routes":[]}`)
	}
	empty("/v1/nat-gateways")
	for _, group := range read[struct{ Identity string }](w, "/v1/security-groups") {
		w.do("PUT", "/v1/security-groups/"+group.Identity+"/ingress-rules/batch", `{"rules":[]}`)
	}
	empty("/v1/security-groups")
	for _, s := range read[iaas.Subnet](w, "/v1/subnets") {
		if s.V4usingIPs != 0 {
			w.Errorf("subnet %s still uses %d addresses", s.Identity, s.V4usingIPs)
		}
	}
	empty("/v1/subnets")
	tables := read[iaas.RouteTable](w, "/v1/route-tables")
	for _, table := range slices.DeleteFunc(tables, func(t iaas.RouteTable) bool { return t.IsDefault }) {
		if status, body := w.do("DELETE", "/v1/route-tables/"+table.Identity, ""); status != http.StatusNoContent {
			w.Errorf("DELETE route table %s = %d %s", table.Identity, status, body)
		}
	}
	empty("/v1/vpcs")
	if left := read[iaas.RouteTable](w, "/v1/route-tables"); len(left) > 0 {
		w.Errorf("route tables %+v are left without a VPC", left)
	}
}
