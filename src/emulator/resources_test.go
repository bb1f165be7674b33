package emulator_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

// resource is how to create one of a kind, as raw JSON.
type resource struct {
	path, body string
	// update is a complete body of PUT; merge changes a description or content only.
	update, merge string
	// wrong are bodies with values of the wrong type.
	wrong []string
	// keeps says that updates keep what they leave out. longest is the length of the longest name, 62 when 0.
	keeps   bool
	longest int
}

// smaller are the resources that have no test of their own for what all share.
func smaller() map[string]resource {
	return map[string]resource{
		"project": {
			path:   "/v1/projects",
			body:   `{"name":"first","description":"d","labels":{"a":"b"},"annotations":null,"unknown":1}`,
			update: `{"name":"second"}`, merge: `{"description":"new"}`,
			wrong: []string{`{"name":1}`, `{"name":"x","labels":[]}`, `{"name":"x","parentProjectIdentity":5}`},
		},
		"template": {
			path:   "/v1/cloudinits",
			body:   `{"name":"first","content":"c","labels":{"a":"b"},"annotations":null,"unknown":1}`,
			update: `{"name":"second","content":"c2"}`, merge: `{"content":"new"}`,
			wrong: []string{`{"name":1,"content":"c"}`, `{"name":"x","content":{}}`},
		},
		"file system": {
			path:   "/v1/tfs",
			body:   `{"name":"first","size":5,"cloudRegionIdentity":"nl-01","vpcIdentity":"emulator","subnetIdentity":"emulator","labels":{"a":"b"},"unknown":1}`,
			update: `{"name":"second","size":6}`, merge: `{"description":"new"}`,
			wrong: []string{`{"name":"x","size":"5"}`, `{"name":"x","size":1.5}`,
				`{"name":"x","size":5,"subnetIdentity":[]}`},
		},
		"volume": {
			path:   "/v1/volumes",
			body:   `{"name":"first","size":5,"cloudRegionIdentity":"nl-01","volumeTypeIdentity":"block","labels":{"a":"b"},"annotations":null,"unknown":1}`,
			update: `{"name":"second","size":6}`, merge: `{"description":"new"}`,
			wrong: []string{`{"name":"x","size":"5"}`, `{"name":"x","size":16385}`, `{"name":"x","size":-1}`,
				`{"name":"x","size":5,"volumeTypeIdentity":[]}`},
		},
		"snapshot policy": {
			path:   "/v1/snapshot-policies",
			body:   replaced(policyNamed("first"), "}}}", `}},"labels":{"a":"b"},"annotations":null,"unknown":1}`),
			update: `{"name":"second","keepCount":3}`, merge: `{"description":"new"}`,
			wrong: []string{`{"name":"x","ttl":"a week"}`, `{"name":"x","ttl":0}`, `{"name":"x","keepCount":0}`,
				`{"name":"x","schedule":"daily"}`, `{"name":"x","schedule":"a b c d e"}`, `{"name":"x","timezone":""}`,
				`{"name":"x","timezone":"Mars"}`, `{"name":"x","target":{"type":"all"}}`,
				`{"name":"x","target":{"type":"selector"}}`, `{"name":"x","target":{"type":"explicit"}}`,
				`{"name":"x","target":{"type":"explicit","volumeIdentities":["x"]}}`},
		},
		"service account": {
			path:   "/v1/service-accounts",
			body:   `{"name":"first","description":"d","labels":{"a":"b"},"annotations":null,"unknown":1}`,
			update: `{"name":"second"}`, merge: `{"description":"new"}`,
			wrong: []string{`{"name":1}`, `{"name":"x","labels":[]}`}, keeps: true, longest: 255,
		},
		"team": {
			path:   "/v1/teams",
			body:   `{"name":"first","description":"d","labels":{"a":"b"},"annotations":null,"unknown":1}`,
			update: `{"name":"second"}`, merge: `{"description":"new"}`,
			wrong: []string{`{"name":1}`, `{"name":"x","labels":[]}`}, longest: 255,
		},
		"peering": {
			path: "/v1/vpc-peering-connections", body: `{"name":"first","requesterVpcIdentity":"emulator","accepterVpcIdentity":"vpc-shop","labels":{"a":"b"},"unknown":1}`,
			update: `{"name":"second"}`, merge: `{"description":"new"}`,
			wrong:   []string{`{"name":"x","requesterVpcIdentity":1}`, `{"name":"x","autoAccept":"yes"}`},
			longest: 63,
		},
	}
}

// object is what every resource says about itself.
type object struct {
	Identity, Name, Slug, Description, Content string
	Labels                                     map[string]string
}

func (c *cloud) object(t *testing.T, method, path, body string, want int) object {
	t.Helper()
	status, _, answer := c.call(t, method, path, body)
	if status != want {
		t.Fatalf("%s %s %s = %d %s, want %d", method, path, body, status, answer, want)
	}
	var o object
	if answer != "" {
		if err := json.Unmarshal([]byte(answer), &o); err != nil {
			t.Fatal(err)
		}
	}
	return o
}

func TestSmallerResourcesLive(t *testing.T) {
	for name, r := range smaller() {
		t.Run(name, func(t *testing.T) {
			c := newCloud(t, withProject)
			made := c.object(t, "POST", r.path, r.body, 201)
			if made.Name != "first" || made.Slug != "first" || made.Labels["a"] != "b" || made.Identity == "" {
				t.Errorf("created %+v", made)
			}
			for _, ref := range []string{made.Identity, "first"} {
				if got := c.object(t, "GET", r.path+"/"+ref, "", 200); got.Identity != made.Identity {
					t.Errorf("GET %s: %+v", ref, got)
				}
			}
			for query, want := range map[string]bool{"": true, "?name=first": true, "?identity=" + made.Identity: true,
				"?slug=x": false, "?matchLabels%5Ba%5D=b": true, "?matchLabels%5Ba%5D=c": false} {
				if _, _, body := c.call(t, "GET", r.path+query, ""); strings.Contains(body, made.Identity) != want {
					t.Errorf("GET %s: %s, listed: want %t", query, body, want)
				}
			}
			// The default is to replace: what PUT leaves out is cleared.
			if got := c.object(t, "PUT", r.path+"/first", r.update, 200); got.Name != "second" || got.Slug != "first" ||
				(len(got.Labels) > 0) != r.keeps {
				t.Errorf("updated: %+v, want the new name, the old slug, labels: %t", got, r.keeps)
			}
			c.object(t, "DELETE", r.path+"/"+made.Identity, "", 204)
			for _, method := range []string{"GET", "PUT", "DELETE"} {
				if status, _, body := c.call(t, method, r.path+"/first", r.update); status != 404 ||
					!strings.Contains(body, "not found") {
					t.Errorf("%s of a deleted one = %d %s, want 404", method, status, body)
				}
			}
			// A name is free again.
			c.object(t, "POST", r.path, r.body, 201)
		})
	}
}

func TestSmallerResourcesMerge(t *testing.T) {
	for name, r := range smaller() {
		t.Run(name, func(t *testing.T) {
			c := newCloud(t, withProject, func(cfg *emulator.Config) { cfg.Switches.Updates = emulator.Merge })
			c.object(t, "POST", r.path, r.body, 201)
			got := c.object(t, "PUT", r.path+"/first", r.merge, 200)
			if got.Name != "first" || got.Labels["a"] != "b" || got.Description != "new" && got.Content != "new" {
				t.Errorf("merged: %+v, want the old name and labels, and what was sent", got)
			}
		})
	}
}

func TestSmallerResourcesRefuseNonsense(t *testing.T) {
	for name, r := range smaller() {
		t.Run(name, func(t *testing.T) {
			c := newCloud(t, withProject)
			made := c.object(t, "POST", r.path, r.body, 201)
			for _, body := range append(r.wrong, "", "{", `[]`, `{"name":""}`,
				`{"name":"`+strings.Repeat("x", cmp.Or(r.longest, 62)+1)+`"}`) {
				for method, path := range map[string]string{"POST": r.path, "PUT": r.path + "/" + made.Identity} {
					if status, _, answer := c.call(t, method, path, body); status != 400 ||
						!strings.HasPrefix(answer, `{"message":"`) {
						t.Errorf("%s %s = %d %s, want 400", method, body, status, answer)
					}
				}
			}
			// Nothing of it happened.
			if got := c.object(t, "GET", r.path+"/first", "", 200); got.Name != "first" || got.Labels["a"] != "b" {
				t.Errorf("afterwards: %+v", got)
			}
			if _, _, body := c.call(t, "GET", r.path+"?slug=x", ""); body != "[]\n" {
				t.Errorf("a refused one exists: %s", body)
			}
		})
	}
}

// Nobody reads or writes what belongs to another organisation or project.
func TestSmallerResourcesAreIsolated(t *testing.T) {
	for name, r := range smaller() {
		t.Run(name, func(t *testing.T) {
			c := newCloud(t, withProject, neighbour, func(cfg *emulator.Config) {
				cfg.Seed.Organisations[0].Projects = append(cfg.Seed.Organisations[0].Projects,
					emulator.ProjectSeed{Name: "Empty"})
			})
			made := c.object(t, "POST", r.path, r.body, 201)
			foreign := map[string]func(*http.Request){
				"organisation": func(r *http.Request) { r.Header.Set("Authorization", "Token next-token") },
			}
			if name != "project" && name != "service account" && name != "team" { // those belong to the organisation
				foreign["project"] = func(r *http.Request) { r.Header.Set("X-Project-Identity", "empty") }
			}
			for who, disguise := range foreign {
				for _, method := range []string{"GET", "PUT", "DELETE"} {
					request := apiRequest(t, c.url, method, r.path+"/"+made.Identity, r.update)
					disguise(request)
					if answer := serve(c, request); answer.Code != 404 {
						t.Errorf("another %s: %s = %d %s, want 404", who, method, answer.Code, answer.Body)
					}
				}
				request := apiRequest(t, c.url, "GET", r.path, "")
				disguise(request)
				if answer := serve(c, request); strings.Contains(answer.Body.String(), made.Identity) {
					t.Errorf("another %s lists %s", who, answer.Body)
				}
			}
			c.object(t, "GET", r.path+"/"+made.Identity, "", 200)
		})
	}
}

// Credentials that may only read change nothing, whatever they send.
func TestReadersWriteNothing(t *testing.T) {
	c := newCloud(t, withProject)
	if err := c.AddToken("", "reader", "api:read"); err != nil {
		t.Fatal(err)
	}
	for name, r := range smaller() {
		made := c.object(t, "POST", r.path, r.body, 201)
		for _, request := range [][2]string{{"POST", r.path}, {"PUT", r.path + "/" + made.Identity},
			{"DELETE", r.path + "/" + made.Identity}} {
			request := apiRequest(t, c.url, request[0], request[1], r.update)
			request.Header.Set("Authorization", "Token reader")
			if answer := serve(c, request); answer.Code != 403 {
				t.Errorf("%s: %s = %d, want 403", name, request.Method, answer.Code)
			}
		}
		request := apiRequest(t, c.url, "GET", r.path+"/"+made.Identity, "")
		request.Header.Set("Authorization", "Token reader")
		if answer := serve(c, request); answer.Code != 200 ||
			!strings.Contains(answer.Body.String(), `"name":"first"`) {
			t.Errorf("%s afterwards: %d %s", name, answer.Code, answer.Body)
		}
	}
}

// What a quota says is in use is what the lists show, whatever happened before.
func TestQuotasCountWhatIsListed(t *testing.T) {
	c := newCloud(t, withProject)
	group := c.group(t, "g", 80).Identity
	for i := range 12 {
		lb := c.loadbalancer(t, fmt.Sprint("lb-", i)).Identity
		c.listener(t, lb, group, 80)
		machine := c.machine(t, fmt.Sprint("m-", i))
		for _, r := range smaller() {
			made := c.object(t, "POST", r.path, strings.Replace(r.body, "first", fmt.Sprint("n-", i), 1), 201)
			if i%3 == 0 {
				c.object(t, "DELETE", r.path+"/"+made.Identity, "", 204)
			}
		}
		if i%4 == 0 {
			c.object(t, "DELETE", "/v1/loadbalancers/"+lb, "", 204)
			c.object(t, "DELETE", "/v1/machines/"+machine, "", 204)
		}
	}
	for quota, path := range map[string]string{
		"projects": "/v1/projects", "cloud-init-templates": "/v1/cloudinits", "tfs-instances": "/v1/tfs",
		"volumes":                 "/v1/volumes",
		"vpc-peering-connections": "/v1/vpc-peering-connections", "machines": "/v1/machines",
		"loadbalancers":              "/v1/loadbalancers",
		"loadbalancer-target-groups": "/v1/loadbalancer-target-groups", "vpcs": "/v1/vpcs", "subnets": "/v1/subnets",
	} {
		listed := 0
		places := []string{"", "?project=shop"}
		if quota == "projects" || quota == "vpc-peering-connections" {
			// The project lists the organisation's, too.
			places = places[:1]
		}
		for _, project := range places {
			var items []object
			_, _, body := c.call(t, "GET", path+project, "")
			if err := json.Unmarshal([]byte(body), &items); err != nil {
				t.Fatal(err)
			}
			listed += len(items)
		}
		var q struct{ CurrentUsage int }
		_, _, body := c.call(t, "GET", "/v1/quotas/"+quota, "")
		if err := json.Unmarshal([]byte(body), &q); err != nil || q.CurrentUsage != listed || listed == 0 {
			t.Errorf("%s: %d in use, %d listed, %v", quota, q.CurrentUsage, listed, err)
		}
	}
}
