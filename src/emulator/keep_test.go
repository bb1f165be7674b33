package emulator

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// send sends a request with the default token, and returns the answer.
func send(t *testing.T, e *Emulator, method, path, project, body string) string {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	request.Header.Set("Authorization", "Token "+DefaultToken)
	request.Header.Set("X-Project-Identity", project)
	recorder := httptest.NewRecorder()
	if e.ServeHTTP(recorder, request); recorder.Code >= 300 {
		t.Fatalf("%s %s: %d %s", method, path, recorder.Code, recorder.Body)
	}
	return recorder.Body.String()
}

// overfilled is a cloud with objects of every kind, more than those of filled.
func overfilled(t *testing.T) *Emulator {
	t.Helper()
	e := filled(t)
	post := func(path, body string) string { t.Helper(); return send(t, e, http.MethodPost, path, "", body) }
	first := func(path string) string {
		var all []struct{ Identity string }
		if err := json.Unmarshal([]byte(send(t, e, http.MethodGet, path, "", "")), &all); err != nil || len(all) == 0 {
			t.Fatalf("GET %s: %v", path, err)
		}
		return all[0].Identity
	}
	post("/v1/service-accounts", `{"name":"robot","labels":{"a":"b"}}`)
	post("/v1/service-accounts/robot/access-credentials", `{"name":"key","scopes":[]}`)
	post("/v1/federated-identity-providers", `{"name":"other","providerIssuer":"https://issuer.example.com"}`)
	post("/v1/federated-identities", `{"name":"f","serviceAccountIdentity":"robot","providerIdentity":"other",`+
		`"providerSubject":"s","trustedAudiences":["a"],"conditions":{"n":3,"b":true,"t":"x"},`+
		`"allowedScopes":["api:read"]}`)
	group := first("/v1/security-groups")
	post("/v1/security-groups", `{"name":"inner","vpcIdentity":"emulator","ingressRules":[{"ipVersion":"ipv4",`+
		`"protocol":"tcp","priority":1,"remoteType":"securityGroup","remoteSecurityGroupIdentity":"`+group+`",`+
		`"portRangeMin":1,"portRangeMax":2,"policy":"drop"}]}`)
	post("/v1/machines", `{"name":"disk","description":"d","annotations":{"x":"y"},"subnet":"emulator",`+
		`"machineType":"pgp-small","machineImage":"debian-12","cloudInit":"#cloud-config",`+
		`"rootVolume":{"size":5},"securityGroupAttachments":["web"],"labels":{"pool":"a"},"state":"stopped"}`)
	post("/v1/loadbalancer-target-groups", `{"name":"chosen","vpc":"emulator","targetPort":81,"protocol":"udp",`+
		`"targetSelector":{"pool":"a"},"healthCheck":{"protocol":"tcp","port":81,"periodSeconds":5,"timeoutSeconds":2,`+
		`"unhealthyThreshold":2,"healthyThreshold":2}}`)
	post("/v1/loadbalancers",
		`{"name":"internal","subnet":"emulator","internalLoadbalancer":true,"deleteProtection":true}`)
	post("/v1/vpcs", `{"name":"second","cloudRegionIdentity":"nl-01","vpcCidrs":["10.77.0.0/16"]}`)
	post("/v1/route-tables", `{"name":"own","vpcIdentity":"second"}`)
	post("/v1/subnets",
		`{"name":"far","vpcIdentity":"second","cidr":"10.77.1.0/24","associatedRouteTableIdentity":"own"}`)
	peering := post("/v1/vpc-peering-connections",
		`{"name":"p2","requesterVpcIdentity":"second","accepterVpcIdentity":"emulator"}`)
	var made struct{ Identity string }
	if err := json.Unmarshal([]byte(peering), &made); err != nil {
		t.Fatal(err)
	}
	post("/v1/vpc-peering-connections/"+made.Identity+"/accept", "")
	post("/v1/route-tables/own/routes",
		`{"destinationCidrBlock":"10.0.0.0/16","targetVpcPeeringConnectionId":"`+made.Identity+`"}`)
	send(t, e, http.MethodPost, "/v1/reserved-ips", "shop", `{"name":"of-shop","region":"nl-01"}`)
	cluttered(t, e)
	// A volume that is gone, but of which there is a snapshot.
	post("/v1/volumes", `{"name":"old","size":1,"cloudRegionIdentity":"nl-01","volumeTypeIdentity":"block"}`)
	post("/v1/snapshots", `{"name":"left","volumeIdentity":"old"}`)
	post("/v1/snapshot-policies", `{"name":"yearly","region":"nl-01","ttl":"168h","keepCount":2,"enabled":true,`+
		`"schedule":"0 0 1 1 *","timezone":"Europe/Amsterdam","target":{"type":"selector","selector":{"a":"b"}}}`)
	send(t, e, http.MethodDelete, "/v1/volumes/old", "", "")
	if err := e.SetQuota("", "machines", 7); err != nil {
		t.Fatal(err)
	}
	if err := e.AddToken("", "reader", "api:read"); err != nil {
		t.Fatal(err)
	}
	if err := e.SetLoadBalancerStatus("internal", "failed"); err != nil {
		t.Fatal(err)
	}
	if err := e.SetMachineAddresses("disk"); err != nil {
		t.Fatal(err)
	}
	return e
}

// printed is the seed that an emulator prints.
func printed(t *testing.T, e *Emulator) string {
	t.Helper()
	return send(t, e, http.MethodGet, "/_emulator/seed", "", "")
}

// restarted is an emulator that starts with what another one prints.
func restarted(t *testing.T, e *Emulator, cfg Config) *Emulator {
	t.Helper()
	text := printed(t, e)
	var err error
	if cfg.Seed, err = ReadSeed(strings.NewReader(text)); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	next, err := NewDescribed(t, cfg)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return next
}

// What was on its way goes on, also if the restart takes longer than that.
func TestLifeGoesOnAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		delays := Delays{LoadbalancerCreate: time.Minute, MachineDelete: time.Minute, NetworkDelete: time.Minute,
			VolumeAttach: time.Minute, KubernetesCreate: time.Minute, KubernetesDelete: time.Minute}
		e, err := NewDescribed(t, Config{Seed: DefaultSeed(), Delays: delays})
		if err != nil {
			t.Fatal(err)
		}
		post := func(path, body string) { t.Helper(); send(t, e, http.MethodPost, path, "", body) }
		post("/v1/loadbalancers", `{"name":"lb","subnet":"emulator"}`)
		post("/v1/machines", `{"name":"m","subnet":"emulator","machineType":"pgp-small"}`)
		post("/v1/machines", `{"name":"n","subnet":"emulator","machineType":"pgp-small"}`)
		post("/v1/volumes", `{"name":"v","size":1,"cloudRegionIdentity":"nl-01","volumeTypeIdentity":"block"}`)
		post("/v1/volumes/v/attach", `{"resourceType":"cloud_virtual_machine","resourceIdentity":"n"}`)
		post("/v1/vpcs", `{"name":"gone","cloudRegionIdentity":"nl-01","vpcCidrs":["10.7.0.0/16"]}`)
		const clusters = "/v1/kubernetes/clusters"
		post(clusters, `{"name":"k","subnet":"emulator","kubernetesVersionIdentity":"1.34.1"}`)
		post(clusters+"/k/nodepools", `{"name":"p","machineType":"pgp-small","replicas":1}`)
		post(clusters, `{"name":"l","subnet":"emulator","kubernetesVersionIdentity":"1.34.1"}`)
		send(t, e, http.MethodDelete, clusters+"/l", "", "")
		send(t, e, http.MethodDelete, clusters+"/k/nodepools/p", "", "")
		send(t, e, http.MethodDelete, "/v1/machines/m", "", "")
		send(t, e, http.MethodDelete, "/v1/vpcs/gone", "", "")
		<-time.After(30 * time.Second)
		next := restarted(t, e, Config{Delays: delays})
		want := func(path, text string) {
			t.Helper()
			if body := send(t, next, http.MethodGet, path, "", ""); !strings.Contains(body, text) {
				t.Errorf("GET %s lacks %s: %s", path, text, body)
			}
		}
		want("/v1/loadbalancers/lb", `"status":"creating"`)
		want("/v1/machines/m", `"state":"deleting"`)
		want("/v1/vpcs/gone", `"status":"deleting"`)
		want("/v1/volumes/v", `"status":"Attaching"`)
		want(clusters+"/k", `"status":"provisioning"`)
		want(clusters+"/l", `"status":"deleting"`)
		want(clusters+"/k/nodepools/p", `"status":"deleting"`)
		<-time.After(31 * time.Second)
		want("/v1/loadbalancers/lb", `"status":"ready"`)
		want("/v1/volumes/v", `"status":"Attached"`)
		want(clusters+"/k", `"status":"ready"`)
		for _, late := range []*Emulator{next, restarted(t, e, Config{Delays: delays})} {
			for path, gone := range map[string]string{"/v1/machines": `"name":"m"`, "/v1/vpcs": `"name":"gone"`,
				clusters: `"name":"l"`, clusters + "/k/nodepools": `"name":"p"`} {
				if body := send(t, late, http.MethodGet, path, "", ""); strings.Contains(body, gone) {
					t.Errorf("GET %s still has %s", path, gone)
				}
			}
		}
	})
}

// The errors of a seed name the place, the object and the field.
func TestSeedErrorsNameTheField(t *testing.T) {
	var content bytes.Buffer
	if err := WriteSeed(&content, overfilled(t).Seed()); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct{ from, to, want string }{
		"unknown key":   {"loadBalancers:", "loadBalancer:", "organisations[0].loadBalancer: line "},
		"listener port": {"port: 80\n", "port: 99999\n", `listeners[0].port (listener "l"): must be 1 to 65535`},
		"status": {"status: pending", "status: odd",
			`peerings[0].status (VPC peering connection "x"): must be one of`},
		"secret": {"accessSecret:", "description:",
			`serviceAccounts[1].accessCredentials[0] (access credential "key"): fields`},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(content.String(), test.from, test.to, 1)
			if text == content.String() {
				t.Fatalf("%q is not in the seed:\n%s", test.from, text)
			}
			seed, err := ReadSeed(strings.NewReader(text))
			if err == nil {
				_, err = NewDescribed(t, Config{Seed: seed})
			}
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}
