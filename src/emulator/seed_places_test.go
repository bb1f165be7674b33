package emulator_test

import (
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

// checkPlace checks that a seed has the place that an error about it names.
func checkPlace(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		return
	}
	text := regexp.MustCompile(`^(reading )?seed: `).ReplaceAllString(err.Error(), "")
	place, _, found := strings.Cut(text, ": ")
	place, _, _ = strings.Cut(place, " (")
	keys := strings.Split(strings.ReplaceAll(place, "[", ".["), ".")
	if !found || !hasPlace(reflect.TypeFor[emulator.Seed](), "yaml", keys) {
		t.Errorf("a seed has no place %s, which the error names: %v", place, err)
	}
}

// hasPlace returns whether a type has a place, whose keys are those of tags.
func hasPlace(of reflect.Type, tag string, keys []string) bool {
	if of.Kind() == reflect.Pointer {
		return hasPlace(of.Elem(), tag, keys)
	}
	if strings.HasPrefix(of.Name(), "JSON[") {
		return hasPlace(of.Field(0).Type, "json", keys)
	}
	if len(keys) == 0 {
		return true
	}
	if index := strings.HasPrefix(keys[0], "["); index || of.Kind() == reflect.Slice {
		return index && of.Kind() == reflect.Slice && hasPlace(of.Elem(), tag, keys[1:])
	}
	next := keyed(of, tag, keys[0])
	return next != nil && hasPlace(next, tag, keys[1:])
}

// keyed is the type of what a struct or a map has under a key, or nil.
func keyed(of reflect.Type, tag, key string) reflect.Type {
	if of.Kind() == reflect.Map {
		return of.Elem()
	}
	if of.Kind() != reflect.Struct {
		return nil
	}
	for field := range of.Fields() {
		name, options, _ := strings.Cut(field.Tag.Get(tag), ",")
		if name == key {
			return field.Type
		}
		if options != "inline" && (!field.Anonymous || name != "") {
			continue
		}
		if inner := keyed(field.Type, tag, key); inner != nil {
			return inner
		}
	}
	return nil
}

// TestSeedErrorsUseKeysOfSeeds, also where requests have other ones.
func TestSeedErrorsUseKeysOfSeeds(t *testing.T) {
	const ports, cluster = "ports: [22, 22]", "subnet: subnet-1, version: 1.34.1"
	refuseSeeds(t, fullYAML, emulator.Switches{}, map[string]refusal{
		"first port after the last": {ports, "ports: [23, 22]",
			`ingress[0] (security group "nodes"): the first port, 23, is after the last, 22`},
		"last port": {ports, "ports: [22, 65536]",
			`ingress[0].ports (security group "nodes"): must be 0 to`},
		"no remote": {"remote: 192.0.2.0/24, ", "", `ingress[0].remote (security group "nodes"): `},
		"a list of one port": {ports, "ports: [22]",
			`securityGroups[0].ingress[0].ports: line 24: a list of length 1`},
		"no time": {"type: Block, size: 10,", "createdAt: yesterday,", `volumes[0].createdAt: line `},
		"null for a volume": {"  volumes:\n", "  volumes:\n  - null\n",
			`volumes[0]: line 46: null cannot be in a list`},
		"rule as in the API": {"ingress: [", "ingressRules: [{protocol: tcp, ipVersion: ipv4, remoteType: address, " +
			"remoteAddress: x, priority: 1}], ingress: [", `securityGroups[0].ingressRules[0].remoteAddress (`},
		"source of the API server": {cluster, cluster + ", settings: {apiServerACL: {allowedCIDRs: [10.0.0.1, x]}}",
			`kubernetesClusters[0].settings.apiServerACL.allowedCIDRs[1] (Kubernetes cluster "k"): "x" is neither`},
		"effect of a taint": {cluster, cluster +
			", nodePools: [{name: p, settings: {nodeSettings: {nodeTaints: [{key: a, effect: Odd}]}}}]",
			`nodePools[0].settings.nodeSettings.nodeTaints[0].effect (node pool "p"): must be one of`},
		"quota": {"  vpcs:\n", "  quotas: {vpcs: -1}\n  vpcs:\n",
			`quotas.vpcs (organisation "demo"): `},
		"quota that is unknown": {"  vpcs:\n", "  quotaIncreases: {x: []}\n  vpcs:\n", `quotaIncreases.x (organ`},
		"effect of a policy": {"Effect: Allow", "Effect: Odd",
			`settings.policy.Statement[0].Effect (bucket "demo-logs")`},
		"rule without an id": {"{id: old, ", "{", `lifecycle.rules[0].id (bucket "demo-logs"): must be there`},
		"name of a bucket": {"name: demo-logs", "name: Demo",
			`buckets[0].name (bucket "Demo"): must have 3 to 63`},
		"long subject": {"subject: s,", "subject: " + strings.Repeat("s", 256) + ",",
			`federatedIdentities[0].subject (federated identity): must have 1 to 255`},
	})
}
