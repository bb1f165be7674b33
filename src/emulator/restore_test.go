package emulator

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// operate sends a request with the default token.
func operate(t *testing.T, e *Emulator, operation, body string) {
	t.Helper()
	method, path, _ := strings.Cut(operation, " ")
	send(t, e, method, path, "", body)
}

// A state that the emulator wrote is one that it can start with, also when a request of before would be refused now.
func TestStatesThatRequestsCouldNotMake(t *testing.T) {
	const routes, vpc = "POST /v1/route-tables/default/routes", "PUT /v1/vpcs/emulator"
	const gateway = `{"name":"out","subnetIdentity":"emulator"}`
	const natural = `{"destinationCidrBlock":"192.0.2.0/24","gatewayAddress":"198.18.0.2"}`
	type request struct{ operation, body string }
	for name, test := range map[string]struct {
		before   Config
		requests []request
		path     string
	}{
		"gateway address of a deleted NAT gateway": {requests: []request{{"POST /v1/nat-gateways", gateway},
			{routes, natural}, {"DELETE /v1/nat-gateways/out", ""}}, path: "/v1/route-tables"},
		"gateway address in a range that the VPC has no more": {requests: []request{
			{vpc, `{"name":"e","vpcCidrs":["10.0.0.0/16","10.9.0.0/16"]}`},
			{routes, `{"destinationCidrBlock":"192.0.2.0/24","gatewayAddress":"10.9.0.1"}`},
			{vpc, `{"name":"e","vpcCidrs":["10.0.0.0/16"]}`}}, path: "/v1/route-tables"},
		"VPC that overlaps a cluster on its way out": {before: Config{Delays: Delays{KubernetesDelete: time.Hour}},
			requests: []request{{"POST /v1/kubernetes/clusters",
				`{"name":"k","subnet":"emulator","kubernetesVersionIdentity":"1.34.1"}`},
				{"DELETE /v1/kubernetes/clusters/k", ""},
				{vpc, `{"name":"e","vpcCidrs":["10.0.0.0/16","10.244.0.0/16","10.96.0.0/16"]}`}},
			path: "/v1/kubernetes/clusters"},
		"destination twice": {before: Config{Switches: Switches{DuplicateRoutes: true}}, requests: []request{
			{routes, `{"destinationCidrBlock":"192.0.2.0/24","gatewayAddress":"10.0.0.9"}`},
			{routes, `{"destinationCidrBlock":"192.0.2.0/24","gatewayAddress":"10.0.0.8"}`}}, path: "/v1/route-tables"},
		"subnet that is only still listed, in a range that the VPC has no more": {
			before: Config{Delays: Delays{NetworkLinger: time.Hour}}, requests: []request{
				{vpc, `{"name":"e","vpcCidrs":["10.0.0.0/16","10.9.0.0/16"]}`},
				{"POST /v1/subnets", `{"name":"s","vpcIdentity":"emulator","cidr":"10.9.1.0/24"}`},
				{"DELETE /v1/subnets/s", ""}, {vpc, `{"name":"e","vpcCidrs":["10.0.0.0/16"]}`}}, path: "/v1/subnets"},
	} {
		t.Run(name, func(t *testing.T) {
			test.before.Seed = DefaultSeed()
			e, err := NewDescribed(t, test.before)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range test.requests {
				operate(t, e, r.operation, r.body)
			}
			next := restarted(t, e, Config{})
			if diff := cmp.Diff(answer(t, e, "", test.path), answer(t, next, "", test.path)); diff != "" {
				t.Errorf("GET %s differs after a restart (-before +after):\n%s", test.path, diff)
			}
		})
	}
}

// A machine that is listed for longer than its subnet is not kept, and neither are references to it.
func TestMachineThatOutlivesItsSubnet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, err := NewDescribed(t, Config{Seed: DefaultSeed(), Delays: Delays{MachineLinger: time.Hour},
			Switches: Switches{KeepDeletedMachines: true}})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range [][2]string{
			{"POST /v1/subnets", `{"name":"s","vpcIdentity":"emulator","cidr":"10.0.250.0/24"}`},
			{"POST /v1/machines", `{"name":"m","subnet":"s","machineType":"pgp-small","labels":{"a":"b"}}`},
			{"POST /v1/volumes", `{"name":"v","size":1,"cloudRegionIdentity":"nl-01","volumeTypeIdentity":"block"}`},
			{"POST /v1/volumes/v/attach", `{"resourceType":"cloud_virtual_machine","resourceIdentity":"m"}`},
			{"POST /v1/loadbalancer-target-groups", `{"name":"g","vpc":"emulator","targetPort":80,"protocol":"tcp"}`},
		} {
			operate(t, e, r[0], r[1])
		}
		machine := answer(t, e, "", "/v1/machines/m").(map[string]any)["identity"].(string)
		operate(t, e, "POST /v1/loadbalancer-target-groups/g/attachments",
			`{"attachments":[{"serverIdentity":"`+machine+`"}]}`)
		operate(t, e, "DELETE /v1/machines/m", "")
		operate(t, e, "DELETE /v1/subnets/s", "")
		if content := printed(t, e); strings.Contains(content, machine) {
			t.Errorf("the state names machine %s, which it does not have:\n%s", machine, content)
		}
		restarted(t, e, Config{})
	})
}

// What a state is forgiven, a request after the start is not.
func TestRequestsAfterARestartAreChecked(t *testing.T) {
	e, err := NewDescribed(t, Config{Seed: DefaultSeed()})
	if err != nil {
		t.Fatal(err)
	}
	next := restarted(t, e, Config{})
	for path, body := range map[string]string{
		"/v1/route-tables/default/routes": `{"destinationCidrBlock":"192.0.2.0/24","gatewayAddress":"198.51.100.1"}`,
		"/v1/kubernetes/clusters": `{"name":"k","subnet":"emulator","kubernetesVersionIdentity":"1.34.1",` +
			`"networking":{"podCidr":"10.0.0.0/16"}}`,
	} {
		request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(body))
		request.Header.Set("Authorization", "Token "+DefaultToken)
		recorder := httptest.NewRecorder()
		if next.ServeHTTP(recorder, request); recorder.Code != http.StatusBadRequest {
			t.Errorf("POST %s: %d %s, want 400", path, recorder.Code, recorder.Body)
		}
	}
}
