package emulator_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

// create is the status of creating a target group with labels or annotations.
func (c *cloud) createWith(t *testing.T, field, key, value string) (int, string) {
	t.Helper()
	pairs, err := json.Marshal(map[string]string{key: value})
	if err != nil {
		t.Fatal(err)
	}
	status, _, body := c.call(t, "POST", "/v1/loadbalancer-target-groups",
		fmt.Sprintf(`{"name":"x","vpc":"emulator","targetPort":80,"protocol":"tcp",%q:%s}`, field, pairs))
	return status, body
}

func TestLimitsOfLabelsAndAnnotations(t *testing.T) {
	c := newCloud(t)
	strict := newCloud(t, func(cfg *emulator.Config) { cfg.Switches.StrictLabels = true })
	long := strings.Repeat("a", 63)
	for name, test := range map[string]struct {
		field, key, value string
		lenient, strict   int
	}{
		"plain":                     {"labels", "team", "web-1", 201, 201},
		"qualified":                 {"labels", "k8s.thalassa.cloud/Kubernetes_cluster.x", "k8s-1", 201, 201},
		"longest":                   {"labels", long, long, 201, 201},
		"longest qualified":         {"labels", strings.Repeat("a.", 126) + "a/" + long, long, 201, 201},
		"upper case":                {"labels", "Team", "x", 201, 400},
		"upper case value":          {"labels", "team", "Web_1.x", 201, 400},
		"empty value":               {"labels", "team", "", 201, 400},
		"empty key":                 {"labels", "", "x", 400, 400},
		"long key":                  {"labels", long + "a", "x", 400, 400},
		"long value":                {"labels", "team", long + "a", 400, 400},
		"long domain":               {"labels", strings.Repeat("a", 254) + "/a", "x", 400, 400},
		"no domain":                 {"labels", "/a", "x", 400, 400},
		"no name":                   {"labels", "a/", "x", 400, 400},
		"two slashes":               {"labels", "kubernetes.io/role/lb", "true", 201, 201},
		"three slashes":             {"labels", "a/b/C_d/e.f", "x", 201, 201},
		"longest with slashes":      {"labels", "a/b/" + strings.Repeat("c", 61), "x", 201, 201},
		"long with slashes":         {"labels", "a/b/" + strings.Repeat("c", 62), "x", 400, 400},
		"slash after slash":         {"labels", "a/b//c", "x", 400, 400},
		"slash at the end":          {"labels", "a/b/", "x", 400, 400},
		"hyphen before a slash":     {"labels", "a/b-/c", "x", 400, 400},
		"annotation with slashes":   {"annotations", "kubernetes.io/role/lb", "any", 201, 201},
		"space":                     {"labels", "a b", "x", 400, 400},
		"space in the value":        {"labels", "a", "x y", 400, 400},
		"hyphen at the end":         {"labels", "a-", "x", 400, 400},
		"hyphen before the value":   {"labels", "a", "-x", 400, 400},
		"beyond ASCII":              {"labels", "a", "é", 400, 400},
		"annotation":                {"annotations", "a.b/c", "any text: \"{}\"\n" + long + long, 201, 201},
		"annotation beyond ASCII":   {"annotations", "a", "é", 400, 400},
		"annotation with a bad key": {"annotations", "a b", "x", 400, 400},
	} {
		t.Run(name, func(t *testing.T) {
			for cloud, want := range map[*cloud]int{c: test.lenient, strict: test.strict} {
				status, body := cloud.createWith(t, test.field, test.key, test.value)
				if status != want || status == 400 && !strings.Contains(body, test.field) {
					t.Errorf("strict %t: %d %s, want %d", cloud == strict, status, body, want)
				}
			}
		})
	}
}

// What no source documents is a switch.
func TestStatusSwitches(t *testing.T) {
	for _, test := range []struct {
		switches         emulator.Switches
		create, conflict int
	}{
		{emulator.Switches{}, 201, 409},
		{emulator.Switches{CreateStatus: 200, ConflictStatus: 400}, 200, 400},
		{emulator.Switches{CreateStatus: 201, ConflictStatus: 422}, 201, 422},
	} {
		c := newCloud(t, func(cfg *emulator.Config) { cfg.Switches = test.switches })
		if status, _, _ := c.call(t, "POST", "/v1/projects", `{"name":"a"}`); status != test.create {
			t.Errorf("%+v: created with %d, want %d", test.switches, status, test.create)
		}
		if status, _, _ := c.call(t, "POST", "/v1/projects", `{"name":"a"}`); status != test.conflict {
			t.Errorf("%+v: conflict with %d, want %d", test.switches, status, test.conflict)
		}
	}
	for _, bad := range []emulator.Switches{{CreateStatus: 202}, {ConflictStatus: 404}, {QuotaStatus: 500},
		{PermissionStatus: 200}, {TargetStatus: 403}, {DoneStatus: 201}} {
		if _, err := emulator.NewDescribed(t, emulator.Config{Seed: emulator.DefaultSeed(),
			Switches: bad}); err == nil ||
			!strings.Contains(err.Error(), "use one of") {
			t.Errorf("%+v: %v, want an error", bad, err)
		}
	}
}
