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
`

// A seed cannot have what the API refuses, and what the emulator could not serve.
func TestSeedsAreCheckedLikeRequests(t *testing.T) {
	for name, test := range map[string]struct{ from, to, want string }{
		"good": {},
		"cycle of projects": {`name: above, parent: ""`, "name: above, parent: below",
			`project "below": field "parent": project "above" is below project "below"`},
		"project above itself": {"parent: above", "parent: below", `project "below" is below project "below"`},
		"source": {"192.0.2.0/24", "192.0.2.0-24",
			`listener "web": field "allowedSources": "192.0.2.0-24"`},
		"period": {"periodSeconds: 5", "periodSeconds: 0",
			`target group "web": field "healthCheck.periodSeconds"`},
		"protocol": {"{protocol: tcp", "{protocol: icmp",
			`target group "web": field "healthCheck.protocol"`},
		"policy": {"MAGLEV", "FASTEST", `target group "web": field "loadbalancingPolicy"`},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(seedYAML+checkedYAML, test.from, test.to, 1)
			seed, err := emulator.ReadSeed(strings.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			_, err = emulator.NewDescribed(t, emulator.Config{Seed: seed})
			if (err != nil) != (test.want != "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}
