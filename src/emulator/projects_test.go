package emulator_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thalassa-cloud/client-go/iaas"
	vendor "github.com/thalassa-cloud/client-go/pkg/client"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

// withProject adds project "shop" with a VPC of its own to the seed.
func withProject(cfg *emulator.Config) {
	org := &cfg.Seed.Organisations[0]
	org.Projects = append(org.Projects, emulator.ProjectSeed{
		Identity: "prj-shop", Name: "Shop", Machines: []emulator.MachineSpec{{Name: "till"}},
		VPCs: []emulator.VPCSeed{{
			Identity: "vpc-shop", Name: "shop", Region: emulator.DefaultRegion, CIDRs: prefixes("10.9.0.0/16"),
			Subnets: []emulator.SubnetSeed{{Identity: "subnet-shop", Name: "shop", CIDRs: prefixes("10.9.0.0/17")}},
		}},
	})
}

func TestProjectsAreIsolated(t *testing.T) {
	c := newCloud(t, withProject)
	shop := c.client(t, vendor.WithProject("prj-shop"))
	ours := c.loadbalancer(t, "ours")
	theirs, err := shop.CreateLoadbalancer(t.Context(), iaas.CreateLoadbalancer{Name: "theirs", Subnet: "subnet-shop"})
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		api           *iaas.Client
		mine, foreign string
	}{"organisation": {c.api, ours.Identity, theirs.Identity}, "project": {shop, theirs.Identity, ours.Identity}} {
		lbs, err := test.api.ListLoadbalancers(t.Context(), nil)
		if err != nil || len(lbs) != 1 || lbs[0].Identity != test.mine ||
			lbs[0].Organisation.Identity != emulator.DefaultOrganisation {
			t.Errorf("%s: load balancers %+v, %v, want %s alone", name, lbs, err, test.mine)
		}
		if _, err := test.api.GetLoadbalancer(t.Context(), test.foreign); !vendor.IsNotFound(err) {
			t.Errorf("%s: reading the other's: %v, want not found", name, err)
		}
		if err := test.api.DeleteLoadbalancer(t.Context(), test.foreign); !vendor.IsNotFound(err) {
			t.Errorf("%s: deleting the other's: %v, want not found", name, err)
		}
	}
	if _, err := shop.CreateLoadbalancer(t.Context(), iaas.CreateLoadbalancer{Name: "x",
		Subnet: emulator.DefaultSubnet}); !vendor.IsBadRequest(err) {
		t.Errorf("using the organisation's subnet: %v, want bad request", err)
	}
	// What a test does through the Go API, and sees there, is in all projects.
	if err := c.StopMachine("till"); err != nil {
		t.Error(err)
	}
	if state := c.State(); len(state.LoadBalancers) != 2 {
		t.Errorf("the state has %d load balancers, want both", len(state.LoadBalancers))
	}
}

// The first of: the token's claim, the header, the query.
func TestProjectResolution(t *testing.T) {
	c := newCloud(t, withProject, func(cfg *emulator.Config) {
		org := &cfg.Seed.Organisations[0]
		org.Projects = append(org.Projects, emulator.ProjectSeed{Name: "Empty"})
		org.Clients = append(org.Clients, emulator.ClientSeed{ID: "bound", Secret: "s", Project: "shop"})
	})
	for name, test := range map[string]struct {
		client, header, query string
		status, machines      int
	}{
		"none":                    {"", "", "", 200, 0},
		"header":                  {"", "prj-shop", "", 200, 1},
		"header with a slug":      {"", "shop", "", 200, 1},
		"query":                   {"", "", "?project=shop", 200, 1},
		"header before query":     {"", "empty", "?project=shop", 200, 0},
		"blank header":            {"", " ", "?project=shop", 200, 1},
		"claim before the header": {"bound", "empty", "?project=empty", 200, 1},
		"unknown":                 {"", "prj-x", "", 403, 0},
		"unknown in the query":    {"", "", "?project=x", 403, 0},
	} {
		t.Run(name, func(t *testing.T) {
			request := apiRequest(t, c.url, "GET", "/v1/machines"+test.query, "")
			if test.client != "" {
				request.SetBasicAuth(test.client, "s")
			}
			if test.header != "" {
				request.Header.Set("X-Project-Identity", test.header)
			}
			answer := serve(c, request)
			if got := strings.Count(answer.Body.String(), `"interfaces"`); answer.Code != test.status ||
				got != test.machines {
				t.Errorf("%d with %d machines, want %d with %d", answer.Code, got, test.status, test.machines)
			}
		})
	}
}

// project is what the API says about one.
type project struct {
	Identity, Name, Slug, Description string
	Labels                            map[string]string
	ParentProject                     *struct{ Identity, Name, Slug string }
	ObjectVersion                     int
}

func TestProjectsCanBeManaged(t *testing.T) {
	c := newCloud(t)
	step := func(method, path, body string, want int, into any) string {
		t.Helper()
		status, _, answer := c.call(t, method, path, body)
		if status != want {
			t.Fatalf("%s %s %s = %d %s, want %d", method, path, body, status, answer, want)
		}
		if into != nil {
			if err := json.Unmarshal([]byte(answer), into); err != nil {
				t.Fatal(err)
			}
		}
		return answer
	}
	var top, below project
	step("POST", "/v1/projects", `{"name":"Team A","labels":{"env":"prod"}}`, 201, &top)
	if !strings.HasPrefix(top.Identity, "prj-") || top.Slug != "team-a" || top.ParentProject != nil ||
		top.Labels["env"] != "prod" {
		t.Errorf("created %+v", top)
	}
	step("POST", "/v1/projects", `{"name":"team a"}`, 409, nil)
	step("POST", "/v1/projects", `{}`, 400, nil)
	step("POST", "/v1/projects", `{"name":"x","parentProjectIdentity":"prj-x"}`, 400, nil)
	step("POST", "/v1/projects", `{"name":"Below","parentProjectIdentity":"team-a"}`, 201, &below)
	if below.ParentProject == nil || below.ParentProject.Identity != top.Identity {
		t.Errorf("parent %+v, want %s", below.ParentProject, top.Identity)
	}
	step("PUT", "/v1/projects/team-a", `{"name":"A","parentProjectIdentity":"below"}`, 400, nil)
	step("PUT", "/v1/projects/below", `{"name":"Renamed","description":"d"}`, 200, &below)
	if below.Name != "Renamed" || below.Slug != "below" || below.ParentProject == nil || below.ObjectVersion != 2 {
		t.Errorf("updated %+v", below)
	}
	step("DELETE", "/v1/projects/team-a", "", 400, nil)
	below = project{}
	step("PUT", "/v1/projects/below", `{"name":"Renamed","parentProjectIdentity":""}`, 200, &below)
	if below.ParentProject != nil {
		t.Errorf("parent %+v, want none", below.ParentProject)
	}
	for query, want := range map[string]int{"": 2, "?slug=below": 1, "?matchLabels%5Benv%5D=prod": 1,
		"?name=Renamed": 1, "?name=x": 0} {
		var all []project
		step("GET", "/v1/projects"+query, "", 200, &all)
		if len(all) != want {
			t.Errorf("%q lists %d projects, want %d", query, len(all), want)
		}
	}
	step("GET", "/v1/projects/"+top.Identity, "", 200, nil)
	step("DELETE", "/v1/projects/team-a", "", 204, nil)
	for _, method := range []string{"GET", "PUT", "DELETE"} {
		step(method, "/v1/projects/team-a", `{"name":"x"}`, 404, nil)
	}
}

// A header that names a project does not matter to the projects themselves.
func TestProjectsIgnoreTheHeader(t *testing.T) {
	c := newCloud(t, withProject)
	request := apiRequest(t, c.url, "GET", "/v1/projects/shop", "")
	request.Header.Set("X-Project-Identity", "unknown")
	if answer := serve(c, request); answer.Code != 200 {
		t.Errorf("%d %s, want 200", answer.Code, answer.Body)
	}
}

func TestProjectsWithObjectsStay(t *testing.T) {
	c := newCloud(t, withProject)
	if status, _, body := c.call(t, "DELETE", "/v1/projects/shop", ""); status != 400 ||
		!strings.Contains(body, "still has") {
		t.Errorf("%d %s, want 400 that names what is left", status, body)
	}
}

func TestProjectsCanBeOff(t *testing.T) {
	c := newCloud(t, withProject, func(cfg *emulator.Config) { cfg.Switches.NoProjects = true })
	for _, path := range []string{"/v1/projects", "/v1/projects/shop", "/v1/vpcs?project=shop"} {
		if status, _, body := c.call(t, "GET", path, ""); status != http.StatusForbidden ||
			!strings.Contains(body, "not enabled") {
			t.Errorf("GET %s = %d %s, want 403", path, status, body)
		}
	}
	if status, _, _ := c.call(t, "GET", "/v1/vpcs", ""); status != 200 {
		t.Errorf("without a project: %d, want 200", status)
	}
}

func TestBadProjectSeeds(t *testing.T) {
	for want, change := range map[string]func(*emulator.OrganisationSeed){
		"projects[0].name (project): must have 1 to 62": func(o *emulator.OrganisationSeed) {
			o.Projects = []emulator.ProjectSeed{{}}
		},
		`projects[1] (project "A"): slug "a" is taken by another project`: func(o *emulator.OrganisationSeed) {
			o.Projects = []emulator.ProjectSeed{{Name: "a"}, {Name: "A"}}
		},
		"used twice": func(o *emulator.OrganisationSeed) {
			o.Projects = []emulator.ProjectSeed{{Identity: "a", Name: "a"}, {Identity: "a", Name: "b"}}
		},
		"does not exist": func(o *emulator.OrganisationSeed) { o.Clients[0].Project = "x" },
		`projects[0].vpcs[0].region (VPC "v"): region "x" not found`: func(o *emulator.OrganisationSeed) {
			o.Projects = []emulator.ProjectSeed{{Name: "a", VPCs: []emulator.VPCSeed{{Name: "v", Region: "x"}}}}
		},
	} {
		seed := emulator.DefaultSeed()
		change(&seed.Organisations[0])
		if _, err := emulator.NewDescribed(t, emulator.Config{Seed: seed}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

func ExampleProjectSeed() {
	seed := emulator.DefaultSeed()
	org := &seed.Organisations[0]
	// Everything moves into a project: only requests that name it see it.
	org.Projects, org.VPCs = []emulator.ProjectSeed{{Identity: "prj-demo", Name: "demo", VPCs: org.VPCs}}, nil
	cloud, err := emulator.New(emulator.Config{Seed: seed})
	fmt.Println(cloud != nil, err)
	// Output: true <nil>
}

// The traffic of a project's load balancers is served like any other.
func TestTrafficOfProjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plane := &recorder{}
		cfg := emulator.Config{Seed: emulator.DefaultSeed(), DataPlane: plane,
			Delays: emulator.Delays{LoadbalancerCreate: time.Minute}}
		withProject(&cfg)
		e, err := emulator.NewDescribed(t, cfg)
		if err != nil {
			t.Fatal(err)
		}
		request := apiRequest(t, "", "POST", "/v1/loadbalancers", `{"name":"a","subnet":"shop"}`)
		request.Header.Set("X-Project-Identity", "shop")
		if answer := serve(e, request); answer.Code != 201 {
			t.Fatal(answer.Body)
		}
		if calls := plane.take(); len(calls) > 0 {
			t.Errorf("while it is creating: %v", calls)
		}
		<-time.After(time.Minute)
		synctest.Wait()
		if calls := plane.take(); len(calls) != 1 || !strings.HasPrefix(calls[0], "serve") {
			t.Errorf("once it is ready: %v, want it served", calls)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestProjectsLieInTheNetworkOfTheDataPlane(t *testing.T) {
	seed, err := emulator.LoopbackSeed(prefixes("127.99.0.0/16")[0])
	if err != nil {
		t.Fatal(err)
	}
	cfg := emulator.Config{Seed: seed, DataPlane: &recorder{network: prefixes("127.99.0.0/16")[0]}}
	withProject(&cfg)
	if _, err := emulator.NewDescribed(t, cfg); err == nil ||
		!strings.Contains(err.Error(), "outside the data plane's network") {
		t.Errorf("a project elsewhere: %v, want an error", err)
	}
}

// Exchanging a token binds to the project of the federated identity.
func TestFederatedIdentitiesOfProjects(t *testing.T) {
	c := newCloud(t, withProject, func(cfg *emulator.Config) {
		cfg.Seed.Organisations[0].ServiceAccounts[0].FederatedIdentities[0].Project = "prj-shop"
	})
	_, answer := askToken(t, c, exchangeForm(c.subjectToken(t, "", "", 0)))
	bound := c.client(t, vendor.WithToken(answer.AccessToken), vendor.WithProject("other"))
	vpcs, err := bound.ListVpcs(t.Context(), nil)
	if err != nil || len(vpcs) != 1 || vpcs[0].Identity != "vpc-shop" {
		t.Errorf("VPCs %+v, %v, want the project's, whatever the header says", vpcs, err)
	}
}

// A token that is bound to a project cannot get out of it. A header does not bind.
func TestBoundTokensDoNotWriteToTheOrganisation(t *testing.T) {
	c := newCloud(t, withProject, func(cfg *emulator.Config) {
		org := &cfg.Seed.Organisations[0]
		org.Projects = append(org.Projects, emulator.ProjectSeed{Name: "Empty"})
		org.Clients = append(org.Clients, emulator.ClientSeed{ID: "bound", Secret: "s", Project: "shop"},
			emulator.ClientSeed{ID: "free", Secret: "s"})
	})
	const account = "/v1/service-accounts/" + emulator.DefaultServiceAccount
	for _, tt := range []struct {
		request, body string
		bound, free   int
	}{
		{"GET /v1/projects", "", 200, 200},
		{"GET " + account, "", 200, 200},
		{"POST /v1/projects", `{"name":"new"}`, 403, 201},
		{"PUT /v1/projects/empty", `{"name":"renamed"}`, 403, 200},
		{"DELETE /v1/projects/new", "", 403, 204},
		{"POST /v1/service-accounts", `{"name":"robot"}`, 403, 201},
		{"POST " + account + "/access-credentials", `{"name":"key","scopes":[]}`, 403, 201},
		{"POST /v1/federated-identity-providers", `{"name":"p","providerIssuer":"https://example.com"}`, 403, 201},
		{"POST /v1/teams", `{"name":"ops"}`, 403, 201},
		{"DELETE /v1/teams/ops", "", 403, 204},
		{"POST /v1/iam/roles", `{"name":"reader"}`, 403, 201},
		{"POST /v1/quotas/increase-requests", `{"name":"machines","newMaxUsage":200000}`, 403, 201},
		{"POST /v1/cloudinits", `{"name":"own","content":"c"}`, 201, 201},
	} {
		method, path, _ := strings.Cut(tt.request, " ")
		for client, want := range map[string]int{"bound": tt.bound, "free": tt.free} {
			// Whichever is first: what the bound one is refused must not have happened.
			request := apiRequest(t, c.url, method, path, tt.body)
			request.SetBasicAuth(client, "s")
			request.Header.Set("X-Project-Identity", "shop")
			if got := serve(c, request); got.Code != want {
				t.Errorf("%s as %s = %d %s, want %d", tt.request, client, got.Code, got.Body, want)
			}
		}
	}
}

// Everything that belongs to the organisation refuses writes with such a token, also what other tests do not list.
func TestBoundTokensWriteNothingOfTheOrganisation(t *testing.T) {
	c := newCloud(t, withProject, bound)
	owned := regexp.MustCompile("^/v1/(projects|service-accounts|federated|memberships|invites|teams|iam|quotas)")
	for _, operation := range c.Operations() {
		method, pattern, _ := strings.Cut(operation, " ")
		if method == http.MethodGet || !owned.MatchString(pattern) {
			continue
		}
		request := apiRequest(t, c.url, method, strings.NewReplacer("{", "", "}", "").Replace(pattern), "{}")
		request.SetBasicAuth("bound", "s")
		if got := serve(c, request); got.Code != 403 || !strings.Contains(got.Body.String(), "belongs to the org") {
			t.Errorf("%s = %d %s, want 403", operation, got.Code, got.Body)
		}
	}
}

// bound is a client that is bound to the project of withProject.
func bound(cfg *emulator.Config) {
	org := &cfg.Seed.Organisations[0]
	org.Clients = append(org.Clients, emulator.ClientSeed{ID: "bound", Secret: "s", Project: "shop"})
}
