package generate

import (
	"strings"
	"testing"

	ironcoreconfig "github.com/thalassa-cloud/thalassa-ccm/src/ironcore/cloudconfig"
)

func TestShortestIronCoreConfigWorks(t *testing.T) {
	if err := validator(ironcoreconfig.Validate).verdict(t, shortestIronCoreConfig); err != nil {
		t.Error(err)
	}
}

// TestIronCoreSchemaAgreesWithTheProgram asks both about the same files.
func TestIronCoreSchemaAgreesWithTheProgram(t *testing.T) {
	compiled := schema(t, ironcoreconfig.Schema)
	for file, good := range ironcoreCases() {
		t.Run(file, func(t *testing.T) {
			program, schema := validator(ironcoreconfig.Validate).verdict(t, file), validate(t, compiled, file)
			if (program == nil) != good {
				t.Errorf("the program says %v; good is %v", program, good)
			}
			if (schema == nil) != good {
				t.Errorf("the schema says %v; good is %v", schema, good)
			}
		})
	}
}

// ironcoreCases are files, and whether they are good.
func ironcoreCases() map[string]bool {
	const good = "networkName: nodes\nclusterName: blue\n"
	cases := map[string]bool{good: true, "{networkName: a, clusterName: a}": true}
	for _, file := range []string{
		"[]", "text", "networkName: a", "clusterName: a", "networkName: a\nclusterName: ''",
		"networkName: null\nclusterName: a", "networkName: " + strings.Repeat("a", 254) + "\nclusterName: a",
		"networkName: a\nclusterName: " + strings.Repeat("a", 64),
	} {
		cases[file] = false
	}
	for _, line := range []string{
		"prefixName: internal", "prefixNameIPv6: internal6", "prefixName: ''", "prefixName: null",
		"prefixName: " + strings.Repeat("a", 253),
		"namespace: a", "loadBalancer: null", "loadBalancer: {drift: report}", "loadBalancer: {drift: ''}",
		"loadBalancer: {removeOrphans: true, creationPollTimeout: 86400}",
		"instancesV2: {maxRemovals: 0, dryRun: true}",
		"api: {callTimeout: 600, requestsPerSecond: 1000, burst: 10000}",
	} {
		cases[good+line] = true
	}
	for _, line := range []string{
		"prefixName: A", "prefixName: a_b", "prefixNameIPv6: A", "prefixName: " + strings.Repeat("a", 254),
		"prefixName: 5",
		"namespace: a.b", "namespace: " + strings.Repeat("a", 64), "network: a", "loadBalancer: {drift: Report}",
		"loadBalancer: {removeOrphans: 'true'}", "loadBalancer: {creationPollTimeout: 0}",
		"loadBalancer: {driftPeriod: 60}", "instancesV2: {maxRemovals: 101}", "instancesV2: {removalWindow: 59}",
		"instancesV2: {removalGracePeriod: 1.5}", "instancesV2: 5", "api: {callTimeout: 601}", "api: {burst: many}",
		"cloudCredentials: {personalAccessToken: t}",
	} {
		cases[good+line] = false
	}
	return cases
}
