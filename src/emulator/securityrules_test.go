package emulator_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

// ruleJSON is a good rule with some settings replaced.
func ruleJSON(replace ...string) string {
	text := `{"name":"a","ipVersion":"ipv4","protocol":"tcp","priority":10,"remoteType":"address","remoteAddress":"10.0.0.0/8",` +
		`"remoteSecurityGroupIdentity":null,"portRangeMin":80,"portRangeMax":90,"policy":"allow"}`
	for i := 0; i < len(replace); i += 2 {
		text = strings.Replace(text, replace[i], replace[i+1], 1)
	}
	return text
}

func TestRuleValidation(t *testing.T) {
	const (
		ok = 200
		no = 400
	)
	tests := map[string]struct {
		rules           []string
		lenient, strict int
		want            string
	}{
		"good":             {[]string{ruleJSON()}, ok, ok, ""},
		"an address":       {[]string{ruleJSON("10.0.0.0/8", "10.0.0.1")}, ok, ok, ""},
		"IPv6":             {[]string{ruleJSON("ipv4", "ipv6", "10.0.0.0/8", "::/0")}, ok, ok, ""},
		"ICMP convention":  {[]string{ruleJSON(`"tcp"`, `"icmp"`, ":80", ":1", ":90", ":1")}, ok, ok, ""},
		"drop":             {[]string{ruleJSON("allow", "drop")}, ok, ok, ""},
		"bad version":      {[]string{ruleJSON("ipv4", "ip")}, no, no, `rules[0].ipVersion`},
		"bad protocol":     {[]string{ruleJSON(`"tcp"`, `"http"`)}, no, no, `rules[0].protocol`},
		"bad remote type":  {[]string{ruleJSON(`"address"`, `"dns"`)}, no, no, `rules[0].remoteType`},
		"bad policy":       {[]string{ruleJSON("allow", "deny")}, no, no, `rules[0].policy`},
		"no policy":        {[]string{ruleJSON(`"policy":"allow"`, `"policy":""`)}, ok, no, `rules[0].policy`},
		"priority 0":       {[]string{ruleJSON(":10,", ":0,")}, no, no, "must be 1 to 199, not 0"},
		"priority 199":     {[]string{ruleJSON(":10,", ":199,")}, ok, ok, ""},
		"priority 200":     {[]string{ruleJSON(":10,", ":200,")}, no, no, "must be 1 to 199, not 200"},
		"equal priorities": {[]string{ruleJSON(), ruleJSON()}, ok, no, `10 is the priority of rules[0], too`},
		"ports 0":          {[]string{ruleJSON(":80", ":0", ":90", ":0")}, ok, no, `must be 1 to 65534, not 0`},
		"port 65535":       {[]string{ruleJSON(":90", ":65535")}, ok, no, `portRangeMax\" must be 1 to 65534`},
		"port 65534":       {[]string{ruleJSON(":80", ":1", ":90", ":65534")}, ok, ok, ""},
		"port 65536":       {[]string{ruleJSON(":90", ":65536")}, no, no, `portRangeMax`},
		"negative port":    {[]string{ruleJSON(":80", ":-1")}, no, no, `portRangeMin`},
		"ports in the wrong order": {[]string{ruleJSON(":80", ":91")}, no, no,
			"the first port, 91, is after the last, 90"},
		"no address": {[]string{ruleJSON(`"10.0.0.0/8"`, "null")}, no, no,
			"neither a CIDR nor an IP address"},
		"bad address": {[]string{ruleJSON("10.0.0.0/8", "10.0.0.0/33")}, no, no,
			"neither a CIDR nor an IP address"},
		"wrong family": {[]string{ruleJSON("10.0.0.0/8", "::/0")}, no, no, `\"::/0\" is not ipv4`},
		"the second is bad": {[]string{ruleJSON(), ruleJSON(":10,", ":11,", "allow", "deny")}, no, no,
			`rules[1].policy`},
		"a group": {[]string{ruleJSON(`"address"`, `"securityGroup"`, ":null", `:"sg-seed"`)}, ok, ok, ""},
		"no group": {[]string{ruleJSON(`"address"`, `"securityGroup"`)}, no, no,
			"remoteSecurityGroupIdentity"},
		"a group elsewhere": {[]string{ruleJSON(`"address"`, `"securityGroup"`, ":null", `:"sg-far"`)}, no, no,
			"not found in the VPC"},
		"none": {nil, ok, ok, ""},
	}
	for name, test := range tests {
		for _, strict := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, strict %t", name, strict), func(t *testing.T) {
				e := newEmulator(t, withSecondRegion, func(cfg *emulator.Config) {
					cfg.Seed.Organisations[0].VPCs[0].SecurityGroups =
						[]emulator.SecurityGroupSeed{{Identity: "sg-seed", Name: "seed"}}
					cfg.Switches.StrictSecurityGroups = strict
				})
				status := test.lenient
				if strict {
					status = test.strict
				}
				var has []string
				if status == no {
					has = []string{test.want}
				}
				body := `{"rules":[` + strings.Join(test.rules, ",") + `]}`
				play(t, e, []step{
					{request: "POST /v1/security-groups", body: `{"name":"g","vpcIdentity":"emulator"}`, status: 201},
					{request: "PUT /v1/security-groups/g/ingress-rules/batch", body: body, status: status, has: has},
					{request: "PUT /v1/security-groups/g/egress-rules/batch", body: body, status: status, has: has},
				})
			})
		}
	}
}

func TestUniqueRulePriorities(t *testing.T) {
	create := `{"name":"g","vpcIdentity":"emulator","ingressRules":[` + ruleJSON() + `],"egressRules":[` + ruleJSON()
	play(t, newEmulator(t, withSwitches(emulator.Switches{UniqueRulePriorities: true})), []step{
		{request: "POST /v1/security-groups", body: create + "," + ruleJSON() + "]}", status: 400,
			has: []string{`field \"egressRules[1].priority\": 10 is the priority of egressRules[0], too`}},
		// The directions do not share priorities, and the other limits stay lenient.
		{request: "POST /v1/security-groups", body: strings.Replace(create, ":80", ":0", 1) + "]}", status: 201},
	})
}

func TestSecurityGroupNames(t *testing.T) {
	create := func(name string) string { return `{"name":"` + name + `","vpcIdentity":"emulator"}` }
	long := strings.Repeat("a", 17)
	for strict, status := range map[bool][2]int{false: {201, 200}, true: {400, 400}} {
		e := newEmulator(t, withSwitches(emulator.Switches{StrictSecurityGroups: strict}))
		play(t, e, []step{
			{request: "POST /v1/security-groups", body: create(long[:16]), status: 201},
			{request: "POST /v1/security-groups", body: create(long), status: status[0]},
			{request: "POST /v1/security-groups", body: create("é"), status: status[0]},
			{request: "POST /v1/security-groups", body: create(strings.Repeat("a", 63)), status: 400},
			{request: "POST /v1/security-groups", body: create(""), status: 400},
			{request: "PUT /v1/security-groups/" + long[:16], body: `{"objectVersion":1,"name":"` + long + `"}`,
				status: status[1]},
		})
	}
}

func TestGroupsThatRulesNameStay(t *testing.T) {
	names := func(group string) string {
		return `{"rules":[` + ruleJSON(`"address"`, `"securityGroup"`, ":null", `:"`+group+`"`) + `]}`
	}
	e := newEmulator(t, func(cfg *emulator.Config) {
		cfg.Seed.Organisations[0].VPCs[0].SecurityGroups = []emulator.SecurityGroupSeed{
			{Identity: "sg-1", Name: "one"}, {Identity: "sg-2", Name: "two"},
		}
	})
	play(t, e, []step{
		{request: "PUT /v1/security-groups/one/ingress-rules/batch", body: names("sg-2"), status: 200},
		{request: "PUT /v1/security-groups/one/egress-rules/batch", body: names("sg-1"), status: 200},
		{request: "DELETE /v1/security-groups/two", status: 409, has: []string{`in use by security group \"sg-1\"`}},
		{request: "PUT /v1/security-groups/one", body: `{"name":"one","skipRulesUpdate":true}`, status: 200},
		{request: "DELETE /v1/security-groups/two", status: 409},
		{request: "PUT /v1/security-groups/one/ingress-rules/batch", body: `{"rules":[]}`, status: 200},
		{request: "DELETE /v1/security-groups/two", status: 204},
		{request: "DELETE /v1/security-groups/one", status: 204},
	})
}
