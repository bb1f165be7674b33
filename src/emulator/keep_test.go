package emulator

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
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
	// What a seed does not have would still be counted by quotas.
	for _, path := range []string{"/v1/kubernetes/clusters/k/nodepools/p", "/v1/kubernetes/clusters/k",
		"/v1/object-storage/buckets/bin"} {
		send(t, e, http.MethodDelete, path, "", "")
	}
	// A volume that is gone, but of which there is a snapshot.
	post("/v1/volumes", `{"name":"old","size":1,"cloudRegionIdentity":"nl-01","volumeTypeIdentity":"block"}`)
	post("/v1/snapshots", `{"name":"left","volumeIdentity":"old"}`)
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

// notKept are the beginnings of the paths of what is not in a seed, or not all of it. README.md says so, too.
func notKept() []string {
	return []string{"/v1/kubernetes/clusters", "/v1/object-storage/", "/v1/teams", "/v1/iam/", "/v1/memberships",
		"/v1/invites"}
}

// kept returns whether a seed has what a path is about.
func kept(path string) bool {
	return !slices.ContainsFunc(notKept(), func(start string) bool { return strings.HasPrefix(path, start) })
}

// lists are the answers of all lists, also those below an object, for the organisation and a project.
func lists(t *testing.T, e *Emulator) map[string]any {
	t.Helper()
	all := map[string]any{}
	for _, project := range []string{"", "shop"} {
		for _, operation := range e.api.OperationNames() {
			method, path, _ := strings.Cut(operation, " ")
			if method != http.MethodGet || strings.HasSuffix(path, "}") && path != "/v1/vpc-firewall-rules/{vpc}" ||
				!kept(path) {
				continue
			}
			parent, _, nested := strings.Cut(path, "/{")
			paths := []string{path}
			if nested {
				if parent == "/v1/vpc-firewall-rules" {
					parent = "/v1/vpcs"
				}
				paths = nil
				for _, item := range decoded(t, send(t, e, method, parent, project, "")) {
					identity := item.(map[string]any)["identity"].(string)
					before, after, _ := strings.Cut(path, "{")
					_, after, _ = strings.Cut(after, "}")
					paths = append(paths, before+identity+after)
				}
			}
			for _, path := range paths {
				all[project+" "+path] = decoded(t, send(t, e, method, path, project, ""))
			}
		}
	}
	return all
}

func decoded(t *testing.T, body string) []any {
	t.Helper()
	var items []any
	if err := json.Unmarshal([]byte(body), &items); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return items
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
	next, err := New(cfg)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return next
}

func TestSeedKeepsEverything(t *testing.T) {
	e := overfilled(t)
	next := restarted(t, e, Config{})
	before, after := lists(t, e), lists(t, next)
	for path, items := range before {
		// A list without items compares nothing.
		if list, _ := items.([]any); len(list) == 0 && strings.HasPrefix(path, " ") && !strings.Contains(path, "/{") &&
			strings.Count(path, "/") == 2 {
			t.Errorf("there is nothing in%s, so that nothing is compared", path)
		}
		if diff := cmp.Diff(items, after[path]); diff != "" {
			t.Errorf("%s differs after a restart (-before +after):\n%s", path, diff)
		}
	}
	if len(before) != len(after) {
		t.Errorf("there were %d lists and are %d", len(before), len(after))
	}
	if diff := cmp.Diff(printed(t, e), printed(t, next)); diff != "" {
		t.Errorf("the second seed differs from the first one:\n%s", diff)
	}
}

func TestSeedKeepsCredentials(t *testing.T) {
	e := overfilled(t)
	seed := restarted(t, e, Config{}).Seed()
	if members := seed.Organisations[0].Members; len(members) != 1 || members[0].Subject != DefaultOwner {
		t.Errorf("members %+v, want the owner", members)
	}
	var accounts []string
	for _, a := range seed.Organisations[0].ServiceAccounts {
		accounts = append(accounts, a.Name)
		for _, c := range a.Credentials {
			if c.Key == "" || c.Secret == "" || c.Scopes == nil {
				t.Errorf("credential %+v lacks its key, its secret or its empty list of scopes", c)
			}
		}
	}
	if !slices.Contains(accounts, "robot") || len(seed.Organisations[0].Tokens) != 1 ||
		seed.Organisations[0].Tokens[0].Scopes[0] != "api:read" {
		t.Errorf("accounts %q, tokens %+v", accounts, seed.Organisations[0].Tokens)
	}
}

// What was on its way goes on, also if the restart takes longer than that.
func TestLifeGoesOnAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		delays := Delays{LoadbalancerCreate: time.Minute, MachineDelete: time.Minute, NetworkDelete: time.Minute,
			VolumeAttach: time.Minute}
		e, err := New(Config{Seed: DefaultSeed(), Delays: delays})
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
		send(t, e, http.MethodDelete, "/v1/machines/m", "", "")
		send(t, e, http.MethodDelete, "/v1/vpcs/gone", "", "")
		time.Sleep(30 * time.Second)
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
		time.Sleep(31 * time.Second)
		want("/v1/loadbalancers/lb", `"status":"ready"`)
		want("/v1/volumes/v", `"status":"Attached"`)
		for _, late := range []*Emulator{next, restarted(t, e, Config{Delays: delays})} {
			for path, gone := range map[string]string{"/v1/machines": `"name":"m"`, "/v1/vpcs": `"name":"gone"`} {
				if body := send(t, late, http.MethodGet, path, "", ""); strings.Contains(body, gone) {
					t.Errorf("GET %s still has %s", path, gone)
				}
			}
		}
	})
}

// The errors of a seed name the object and the field.
func TestSeedErrorsNameTheField(t *testing.T) {
	var content bytes.Buffer
	if err := WriteSeed(&content, overfilled(t).Seed()); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct{ from, to, want string }{
		"unknown key":   {"loadBalancers:", "loadBalancer:", "loadBalancer not found"},
		"listener port": {"port: 80\n", "port: 99999\n", `listener "l": field "port" must be 1 to 65535`},
		"status":        {"status: pending", "status: odd", `peering connection "x": field "status" must be one of`},
		"secret":        {"accessSecret:", "description:", `access credential "key"`},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(content.String(), test.from, test.to, 1)
			if text == content.String() {
				t.Fatalf("%q is not in the seed:\n%s", test.from, text)
			}
			seed, err := ReadSeed(strings.NewReader(text))
			if err == nil {
				_, err = New(Config{Seed: seed})
			}
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}
