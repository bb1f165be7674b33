package emulator_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thalassa-cloud/client-go/iaas"
	vendor "github.com/thalassa-cloud/client-go/pkg/client"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

// neighbour is another organisation, with a VPC and a token.
func neighbour(cfg *emulator.Config) {
	cfg.Seed.Organisations = append(cfg.Seed.Organisations, emulator.OrganisationSeed{
		Identity: "o-next", Name: "Next", PersonalAccessTokens: []string{"next-token"},
		VPCs: []emulator.VPCSeed{{Identity: "vpc-next", Name: "next", Region: emulator.DefaultRegion,
			CIDRs: prefixes("10.7.0.0/16")}},
	})
}

func peeringWith(vpc, organisation string) iaas.CreateVpcPeeringConnectionRequest {
	return iaas.CreateVpcPeeringConnectionRequest{
		Name: "link", RequesterVpcIdentity: emulator.DefaultVPC, AccepterVpcIdentity: vpc,
		AccepterOrganisationIdentity: organisation,
	}
}

func TestPeeringsOfTwoOrganisations(t *testing.T) {
	c := newCloud(t, neighbour)
	next := c.client(t, vendor.WithOrganisation("o-next"), vendor.WithAuthPersonalToken("next-token"))
	made, err := c.api.CreateVpcPeeringConnection(t.Context(), peeringWith("vpc-next", "o-next"))
	if err != nil || made.Status != "pending" || made.ExpiresAt == nil ||
		made.AccepterOrganisation.Identity != "o-next" {
		t.Fatalf("%+v, %v", made, err)
	}
	if _, err := c.api.AcceptVpcPeeringConnection(t.Context(), made.Identity,
		iaas.AcceptVpcPeeringConnectionRequest{}); !refused(err, "403") {
		t.Errorf("accepting one's own request: %v, want 403", err)
	}
	seen, err := next.ListVpcPeeringConnections(t.Context(), nil)
	if err != nil || len(seen) != 1 || seen[0].Identity != made.Identity || seen[0].Organisation.Identity != "o-next" {
		t.Errorf("the other side sees %+v, %v", seen, err)
	}
	got, err := next.AcceptVpcPeeringConnection(t.Context(), made.Identity, iaas.AcceptVpcPeeringConnectionRequest{})
	if err != nil || got.Status != "active" || got.ExpiresAt != nil {
		t.Errorf("accepted: %+v, %v", got, err)
	}
	if _, err := next.RejectVpcPeeringConnection(t.Context(), made.Identity,
		iaas.RejectVpcPeeringConnectionRequest{}); !refused(err, "409") {
		t.Errorf("rejecting an active one: %v, want 409", err)
	}
	if got, err := c.api.UpdateVpcPeeringConnection(t.Context(), "link",
		iaas.UpdateVpcPeeringConnectionRequest{Name: "new"}); err != nil || got.Name != "new" ||
		got.Status != "active" {
		t.Errorf("updated: %+v, %v", got, err)
	}
	if err := next.DeleteVpcPeeringConnection(t.Context(), made.Identity); err != nil {
		t.Error(err)
	}
	if _, err := c.api.GetVpcPeeringConnection(t.Context(), made.Identity); !vendor.IsNotFound(err) {
		t.Errorf("deleted by the other side: %v, want not found", err)
	}
}

func TestPeeringsOfOneOrganisation(t *testing.T) {
	c := newCloud(t, withProject)
	request := peeringWith("vpc-shop", "")
	request.AutoAccept = true
	made, err := c.api.CreateVpcPeeringConnection(t.Context(), request)
	if err != nil || made.Status != "active" {
		t.Fatalf("%+v, %v, want active at once", made, err)
	}
	if err := c.api.DeleteVpcPeeringConnection(t.Context(), made.Identity); err != nil {
		t.Error(err)
	}
	pending, err := c.api.CreateVpcPeeringConnection(t.Context(), peeringWith("vpc-shop", ""))
	if err != nil {
		t.Fatal(err)
	}
	shop := c.client(t, vendor.WithProject("shop"))
	got, err := shop.RejectVpcPeeringConnection(t.Context(), pending.Identity,
		iaas.RejectVpcPeeringConnectionRequest{Reason: "no"})
	if err != nil || got.Status != "rejected" || *got.StatusMessage != "no" {
		t.Errorf("%+v, %v, want rejected", got, err)
	}
}

// A token that is bound to a project cannot accept for a VPC outside of it, and does not learn whether there is one.
func TestBoundTokensAcceptOnlyForTheirProject(t *testing.T) {
	c := newCloud(t, withProject, bound, neighbour, func(cfg *emulator.Config) {
		shop := &cfg.Seed.Organisations[0].Projects[0]
		shop.VPCs = append(shop.VPCs, emulator.VPCSeed{Identity: "vpc-till", Name: "till",
			Region: emulator.DefaultRegion, CIDRs: prefixes("10.10.0.0/16")})
	})
	for name, tt := range map[string]struct {
		accepter, organisation string
		want                   int
	}{
		"of the organisation":     {emulator.DefaultVPC, "", 403},
		"of another organisation": {"vpc-next", "o-next", 403},
		"unknown":                 {"vpc-x", "", 403},
		"its own":                 {"vpc-till", "", 201},
	} {
		request := apiRequest(t, c.url, "POST", "/v1/vpc-peering-connections", `{"name":"link","autoAccept":true,`+
			`"requesterVpcIdentity":"vpc-shop","accepterVpcIdentity":"`+tt.accepter+
			`","accepterOrganisationIdentity":"`+tt.organisation+`"}`)
		request.SetBasicAuth("bound", "s")
		if got := serve(c, request); got.Code != tt.want {
			t.Errorf("%s: %d %s, want %d", name, got.Code, got.Body, tt.want)
		}
	}
}

// A token that is bound to a project does not see the name of a VPC outside of it that did not accept.
func TestBoundTokensDoNotSeeWhomTheyAsk(t *testing.T) {
	const path = "/v1/vpc-peering-connections"
	c := newCloud(t, withProject, bound)
	expect := func(when, method, path, body, want string, sign func(*http.Request)) (identity string) {
		t.Helper()
		request := apiRequest(t, c.url, method, path, body)
		sign(request)
		var got struct {
			Identity    string
			AccepterVPC struct{ Identity, Name string }
		}
		answer := serve(c, request)
		if err := json.Unmarshal(answer.Body.Bytes(), &got); err != nil ||
			got.AccepterVPC.Identity != emulator.DefaultVPC || got.AccepterVPC.Name != want {
			t.Errorf("%s: %d %s, want the name %q", when, answer.Code, answer.Body, want)
		}
		return got.Identity
	}
	inProject := func(r *http.Request) { r.SetBasicAuth("bound", "s") }
	identity := expect("asked", "POST", path, `{"name":"link","requesterVpcIdentity":"vpc-shop",`+
		`"accepterVpcIdentity":"emulator"}`, "", inProject)
	expect("read", "GET", path+"/"+identity, "", "", inProject)
	expect("not bound", "GET", path+"/"+identity, "", "emulator",
		func(r *http.Request) { r.Header.Set("X-Project-Identity", "shop") })
	expect("accepted", "POST", path+"/"+identity+"/accept", "", "emulator", func(*http.Request) {})
	expect("read then", "GET", path+"/"+identity, "", "emulator", inProject)
}

func TestBadPeerings(t *testing.T) {
	c := newCloud(t, neighbour, func(cfg *emulator.Config) {
		org := &cfg.Seed.Organisations[0]
		twin := org.VPCs[0]
		twin.Identity, twin.Name, twin.Subnets = "vpc-twin", "twin", nil
		org.VPCs = append(org.VPCs, twin)
	})
	automatic := peeringWith("vpc-next", "o-next")
	automatic.AutoAccept = true
	nameless, foreign := peeringWith("vpc-next", "o-next"), peeringWith("vpc-next", "o-next")
	nameless.Name, foreign.RequesterVpcIdentity = "", "vpc-x"
	for want, request := range map[string]iaas.CreateVpcPeeringConnectionRequest{
		"autoAccept": automatic, "name": nameless, "requesterVpcIdentity": foreign, "overlap": peeringWith("vpc-twin",
			""),
		"with itself": peeringWith(emulator.DefaultVPC, ""), "accepterVpcIdentity": peeringWith("vpc-x", ""),
		"accepterOrganisationIdentity": peeringWith("vpc-next", "o-x"),
	} {
		if _, err := c.api.CreateVpcPeeringConnection(t.Context(), request); !vendor.IsBadRequest(err) ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v, want bad request with %q", err, want)
		}
	}
	for _, path := range []string{"", "/accept", "/reject"} {
		method := "POST"
		if path == "" {
			method = "DELETE"
		}
		if status, _, _ := c.call(t, method, "/v1/vpc-peering-connections/x"+path, "{}"); status != 404 {
			t.Errorf("%s %s: %d, want 404", method, path, status)
		}
	}
}

// The official client documents longer names and descriptions of peerings than of other objects.
func TestNamesOfPeerings(t *testing.T) {
	c := newCloud(t, neighbour)
	name, text := strings.Repeat("n", 63), strings.Repeat("d", 500)
	request := peeringWith("vpc-next", "o-next")
	request.Name, request.Description = name, text
	made, err := c.api.CreateVpcPeeringConnection(t.Context(), request)
	if err != nil || made.Name != name || made.Description != text {
		t.Fatalf("%+v, %v", made, err)
	}
	again := newEmulator(t, func(cfg *emulator.Config) { cfg.Seed = c.Seed() })
	play(t, again, []step{
		{request: "GET /v1/vpc-peering-connections/" + made.Identity, status: 200, has: []string{name, text}},
	})
	for field, longer := range map[string]iaas.UpdateVpcPeeringConnectionRequest{
		"name": {Name: name + "n"}, "description": {Name: name, Description: text + "d"},
	} {
		request.Name, request.Description = longer.Name, longer.Description
		if _, err := c.api.CreateVpcPeeringConnection(t.Context(), request); !refused(err, field) {
			t.Errorf("created with a longer %s: %v, want 400", field, err)
		}
		if _, err := c.api.UpdateVpcPeeringConnection(t.Context(), made.Identity, longer); !refused(err, field) {
			t.Errorf("changed to a longer %s: %v, want 400", field, err)
		}
	}
	if _, err := c.api.UpdateVpcPeeringConnection(t.Context(), made.Identity,
		iaas.UpdateVpcPeeringConnectionRequest{Name: name, Description: text}); err != nil {
		t.Error(err)
	}
}

// VPCs that are connected never get ranges in common.
func TestPeersDoNotOverlap(t *testing.T) {
	const vpc = "/v1/vpcs/emulator"
	wider := func(cidr string) string {
		return `{"name":"emulator","vpcCidrs":["10.0.0.0/16","` + cidr + `"]}`
	}
	c := newCloud(t, withProject, neighbour)
	pending, err := c.api.CreateVpcPeeringConnection(t.Context(), peeringWith("vpc-next", "o-next"))
	if err != nil {
		t.Fatal(err)
	}
	active := peeringWith("vpc-shop", "")
	active.AutoAccept = true
	if _, err := c.api.CreateVpcPeeringConnection(t.Context(), active); err != nil {
		t.Fatal(err)
	}
	play(t, c, []step{
		{request: "PUT " + vpc, body: wider("10.9.0.0/17"), status: 409, has: []string{"overlaps VPC", "vpc-shop"}},
		{request: "PUT " + vpc, body: wider("10.8.0.0/16"), status: 200},
		{request: "PUT " + vpc, body: wider("10.7.0.0/16"), status: 200},
	})
	next := c.client(t, vendor.WithOrganisation("o-next"), vendor.WithAuthPersonalToken("next-token"))
	if _, err := next.AcceptVpcPeeringConnection(t.Context(), pending.Identity,
		iaas.AcceptVpcPeeringConnectionRequest{}); !refused(err, "overlap") {
		t.Errorf("accepted with a range in common: %v, want 409", err)
	}
}

func TestPeeringRequestsExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := emulator.Config{Seed: emulator.DefaultSeed()}
		neighbour(&cfg)
		e, err := emulator.NewDescribed(t, cfg)
		if err != nil {
			t.Fatal(err)
		}
		body := `{"name":"x","requesterVpcIdentity":"emulator","accepterVpcIdentity":"vpc-next","accepterOrganisationIdentity":"o-next"}`
		if answer := serve(e, apiRequest(t, "", "POST", "/v1/vpc-peering-connections", body)); answer.Code != 201 {
			t.Fatal(answer.Body)
		}
		<-time.After(7 * 24 * time.Hour)
		answer := serve(e, apiRequest(t, "", "GET", "/v1/vpc-peering-connections?status=expired", ""))
		if !strings.Contains(answer.Body.String(), `"status":"expired"`) {
			t.Errorf("after a week: %s, want expired", answer.Body)
		}
	})
}
