package emulator_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

// No request may crash the emulator or be answered with anything but JSON.
func FuzzRequests(f *testing.F) {
	for _, request := range [][3]string{
		{"GET", "/v1/vpcs", ""},
		{"POST", "/v1/loadbalancers", `{"name":"a","subnet":"emulator","listeners":[{"port":80}]}`},
		{"POST", "/v1/loadbalancer-target-groups", `{"name":"a","vpc":"emulator","targetPort":80,"protocol":"tcp"}`},
		{"PUT", "/v1/loadbalancers/web", `{"name":null,"subnet":"x"}`},
		{"PUT", "/v1/loadbalancers/web/listeners/http", `{"allowedSources":["x"]}`},
		{"POST", "/v1/loadbalancer-target-groups/web/attachments", `{"attachments":[{},null]}`},
		{"DELETE", "/v1/loadbalancer-target-groups/web/detach/a", ""},
		{"GET", "//api/v1/machines?matchLabels[a]=b&zone=", ""},
		{"GET", "/_emulator/state", ""},
		{"POST", "/v1/vpcs", `{"name":"a","cloudRegionIdentity":"nl-01","vpcCidrs":["10.0.0.0/8","::/0"]}`},
		{"POST", "/v1/subnets", `{"name":"a","vpcIdentity":"emulator","cidr":"10.0.128.0/30,::/128"}`},
		{"POST", "/v1/security-groups",
			`{"name":"a","vpcIdentity":"emulator","ingressRules":[{"remoteType":"securityGroup"}]}`},
		{"POST", "/v1/reserved-ips", `{"name":"a","region":"nl-01"}`},
		{"POST", "/v1/nat-gateways",
			`{"name":"a","subnetIdentity":"emulator","configureDefaultRoute":true,"reservedIpId":""}`},
		{"POST", "/v1/volumes", `{"name":"a","size":1,"cloudRegionIdentity":"nl-01","volumeTypeIdentity":"block"}`},
		{"POST", "/v1/snapshot-policies", `{"name":"a","region":"nl-01","ttl":"1h","schedule":"* * * * *",` +
			`"timezone":"UTC","target":{"type":"explicit","volumeIdentities":null}}`},
		{"POST", "/v1/machines", `{"name":"a","subnet":"emulator","machineType":"pgp-small","rootVolume":{"size":1}}`},
		{"POST", "/v1/kubernetes/clusters", `{"name":"a","subnet":"emulator","kubernetesVersionIdentity":"1.34.1",` +
			`"networking":{"podCidr":"::/0"}}`},
		{"POST", "/v1/object-storage/buckets", `{"bucketName":"abc","region":"nl-01","lifecycle":{"rules":[null]}}`},
		{"PUT", "/v1/memberships/user-emulator000000000001", `{"role":null}`},
		{"POST", "/v1/iam/roles", `{"name":"a"}`},
		{"PUT", "/v1/route-tables/default/routes",
			`{"routes":[{"destinationCidrBlock":"0.0.0.0/0","gatewayAddress":"10.0.0.1"},null]}`},
	} {
		f.Add(request[0], request[1], request[2])
	}
	f.Fuzz(func(t *testing.T, method, path, body string) {
		e, err := emulator.New(emulator.Config{Seed: emulator.DefaultSeed()})
		if err != nil {
			t.Fatal(err)
		}
		request, err := http.NewRequestWithContext(t.Context(), method, "http://cloud.test",
			bytes.NewBufferString(body))
		if err != nil {
			return // not a method
		}
		url, err := request.URL.Parse(path)
		if err != nil {
			return // not a path
		}
		request.URL = url
		request.Header.Set("Authorization", "Token "+emulator.DefaultToken)
		answer := httptest.NewRecorder()
		e.ServeHTTP(answer, request)
		if answer.Code >= 500 && answer.Code != http.StatusNotImplemented {
			t.Errorf("status %d: %s", answer.Code, answer.Body)
		}
		if answer.Body.Len() > 0 && !json.Valid(answer.Body.Bytes()) {
			t.Errorf("not JSON: %q", answer.Body)
		}
	})
}

func FuzzReadSeed(f *testing.F) {
	f.Add([]byte(seedYAML))
	f.Add([]byte(networkSeed))
	f.Add([]byte("regions: [{name: a, zones: [a]}]\norganisations: [{name: a, vpcs: [{name: b, region: a, cidrs: " +
		"[::/0], subnets: [{name: c, cidrs: [::/0]}]}], machines: [{name: m}]}]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		seed, err := emulator.ReadSeed(bytes.NewReader(text))
		if err != nil {
			return
		}
		e, err := emulator.New(emulator.Config{Seed: seed})
		if err != nil {
			return
		}
		if answer := serve(e, newRequest(t, "GET", "/_emulator/state", "")); answer.Code != http.StatusOK {
			t.Errorf("state of an accepted seed: %d %s", answer.Code, answer.Body)
		}
	})
}
