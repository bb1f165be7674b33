package emulator_test

import (
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

// TestSeedsCanHaveWhatRequestsMake: seeds can leave out what requests can leave out.
func TestSeedsCanHaveWhatRequestsMake(t *testing.T) {
	refuseSeeds(t, fullYAML, emulator.Switches{UniqueNames: true}, map[string]refusal{
		"a service account without identities": {"federatedIdentities: [{subject: s, audiences: [a]}]",
			"federatedIdentities: []", ""},
		"two federated identities of a subject": {"federatedIdentities: [",
			"federatedIdentities: [{subject: s, audiences: [b]}, ", ""},
		"two federated identities of a name": {"federatedIdentities: [{",
			"federatedIdentities: [{name: n, subject: a}, {name: n, ",
			`federatedIdentities[1].name (federated identity "n"): federated identity`},
		"a federated identity without audiences": {"{subject: s, audiences: [a]}", "{subject: s}", ""},
		"a cluster without a version":            {"subnet: subnet-1, version: 1.34.1", "subnet: subnet-1", ""},
		"a firewall rule without a state": {"    securityGroups:\n",
			"    firewallRules:\n    - {name: web, match: {direction: inbound, action: allow, priority: 1, " +
				"protocols: {tcp: true}}}\n    securityGroups:\n", ""},
		"two default route tables": {"    routeTables:\n", "    routeTables:\n    - {name: default, default: true}\n" +
			"    - {name: other}\n", ""},
	})
}

// TestSeedsWithBadCredentialsAreRefused, also those that would let in whoever sends none.
func TestSeedsWithBadCredentialsAreRefused(t *testing.T) {
	const tokens = "personalAccessTokens: [demo-token]"
	const cluster = "subnet: subnet-1, version: 1.34.1"
	refuseSeeds(t, fullYAML, emulator.Switches{}, map[string]refusal{
		"an empty token": {tokens, "personalAccessTokens: ['']",
			`personalAccessTokens[0] (personal access token): a token must not be empty`},
		"an empty token with scopes": {tokens, "tokens: [{scopes: [api:read]}]",
			`tokens[0].token (personal access token): is required`},
		"a client without an id": {tokens, "clients: [{secret: s}]",
			`clients[0] (client): fields "id" and "secret"`},
		"a client without a secret": {tokens, "clients: [{id: c}]",
			`clients[0] (client "c"): fields "id" and "secret"`},
		"a pool of at least 5, at most 3": {cluster,
			cluster + ", nodePools: [{name: p, type: pgp-small, settings: {enableAutoscaling: true, minReplicas: 5, " +
				"maxReplicas: 3}}]",
			`settings.maxReplicas (node pool "p"): must be at least 1, "minReplicas" and "replicas"`},
	})
}
