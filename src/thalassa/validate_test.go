package thalassa

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/cloudconfig"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/inventory"
)

// TestServiceDefaultsAreChecked: what cannot be a default is refused when the program starts, by name, with what is
// allowed.
func TestServiceDefaultsAreChecked(t *testing.T) {
	const path = "loadBalancer.defaults."
	for defaults, want := range map[string][]string{
		`{loadbalancing-policy: MAGLEV, health-check-enabled: "false", acl-allowed-sources: "10.0.0.0/8"}`: nil,
		`{publish: " ip "}`:        nil,
		`{max-connections: 20000}`: {path + "max-connections: found a number, want text (put it in quotes)"},
		`{max-connections: "many"}`: {path +
			`max-connections: found "many", want a whole number of connections from 1 to 1073741824`},
		`{loadbalancing-policy: LEAST}`: {
			path + `loadbalancing-policy: found "LEAST", want one of ROUND_ROBIN, RANDOM, MAGLEV`,
		},
		`{loadbalancing-polic: MAGLEV}`: {path +
			"loadbalancing-polic: is not known; did you mean loadbalancing-policy?"},
		`{type: internal, internal: "true"}`: nil,
		`{type: internal, internal: "false"}`: {
			"loadBalancer.defaults: found type: internal together with internal: false, want only one of them",
		},
		`{health-check-interval: "5", health-check-timeout: "6"}`: {
			"loadBalancer.defaults: found health-check-timeout 6 and health-check-interval 5, want a timeout of at " +
				"most the interval; a value that is not set here has the default of its annotation",
		},
		`{health-check-timeout: "300"}`: nil, // the interval follows
		`{health-check-timeout: "300", health-check-interval: "10"}`: {
			"loadBalancer.defaults: found health-check-timeout 300 and health-check-interval 10, want a timeout of " +
				"at most the interval; a value that is not set here has the default of its annotation",
		},
		`{adopt: lb-1}`: {path + "adopt: is about one Service and cannot have a default for all of them"},
		`{max-connections.http: "5"}`: {path +
			"max-connections.http: is for one port, and ports differ between Services; write max-connections"},
		`{"pub lish": ip}`: {
			"loadBalancer.defaults.(key in line 5): found a key that is not allowed, want names of annotations that " +
				"can have a default, without loadbalancer.k8s.thalassa.cloud/",
		},
		`{loadbalancer.k8s.thalassa.cloud/publish: ip}`: {
			path + "loadbalancer.k8s.thalassa.cloud/publish: is written without loadbalancer.k8s.thalassa.cloud/ here",
		},
	} {
		effective, problems := Validate(fileWith(t, required+"loadBalancer: {defaults: "+defaults+"}\n"),
			cloud.Environment{}, false)
		if diff := cmp.Diff(want, problems); diff != "" {
			t.Errorf("%s (-want +got):\n%s", defaults, diff)
		}
		if len(problems) == 0 && !strings.Contains(string(effective), "    defaults:\n") {
			t.Errorf("%s: nothing was read:\n%s", defaults, effective)
		}
	}
}

// TestDefaultsAreThoseOfTheParts: the client and the inventory have the same values without a configuration.
func TestDefaultsAreThoseOfTheParts(t *testing.T) {
	c := cloudconfig.Default()
	if c.API.Timeout() != client.DefaultCallTimeout || c.API.RequestsPerSecond != client.DefaultRate ||
		c.API.Burst != client.DefaultBurst {
		t.Errorf("defaults of the API %+v; want those of the client", c.API)
	}
	if c.Inventory.MaxMachineAge() != inventory.MachineAge || c.Inventory.MaxBalancerAge() != inventory.BalancerAge {
		t.Errorf("ages %+v; want those of the inventory", c.Inventory)
	}
	if period := c.LoadBalancer.DriftPeriod; c.Inventory.BalancerAge < 2*period {
		t.Errorf("lists may be %d s old and are read every %d s, so that Services wait for them",
			c.Inventory.BalancerAge, period)
	}
}

// TestServiceDefaultsSchema: the file's schema names exactly what may have a default, and what the type of each can
// say.
func TestServiceDefaultsSchema(t *testing.T) {
	text, err := ConfigSchema()
	if err != nil {
		t.Fatal(err)
	}
	var publish struct{ Enum []string }
	var file struct {
		AllOf []struct {
			Properties struct {
				LoadBalancer struct {
					Properties struct {
						Defaults struct {
							Properties           map[string]json.RawMessage
							AdditionalProperties *bool
						}
					}
				} `json:"loadBalancer"`
			}
		}
	}
	mustDecode(t, text, &file)
	for _, condition := range file.AllOf {
		defaults := condition.Properties.LoadBalancer.Properties.Defaults
		if len(defaults.Properties) == 0 {
			continue
		}
		mustDecode(t, defaults.Properties["publish"], &publish)
		if diff := cmp.Diff(Annotations().DefaultNames(), slices.Sorted(maps.Keys(defaults.Properties))); diff != "" ||
			*defaults.AdditionalProperties {
			t.Errorf("names (-registry +schema), others allowed %v:\n%s", *defaults.AdditionalProperties, diff)
		}
	}
	if diff := cmp.Diff([]string{publishIP, publishHostname, publishBoth}, publish.Enum); diff != "" {
		t.Errorf("publish (-want +schema):\n%s", diff)
	}
}
