package emulator_test

import (
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

const defaultRoutes = "/v1/route-tables/default/routes"

// way is the body of a route.
func way(destination, gateway string) string {
	return `{"destinationCidrBlock":"` + destination + `","gatewayAddress":"` + gateway + `"}`
}

// May a route table have two routes with the same destination?
func TestDuplicateRoutes(t *testing.T) {
	for duplicates, status := range map[bool]int{false: 409, true: 201} {
		e := newEmulator(t, withSwitches(emulator.Switches{DuplicateRoutes: duplicates}))
		replaced := 200
		if !duplicates {
			replaced = 409
		}
		both := `{"routes":[` + way("10.244.1.0/24", "10.0.0.5") + `,` + way("10.244.1.0/24", "10.0.0.6") + `]}`
		play(t, e, []step{
			{request: "POST " + defaultRoutes, body: way("10.244.1.0/24", "10.0.0.5"), status: 201},
			{request: "POST " + defaultRoutes, body: way("10.244.1.0/24", "10.0.0.6"), status: status},
			{request: "PUT " + defaultRoutes, body: both, status: replaced},
		})
		if duplicates {
			play(t, e, []step{{request: "GET " + defaultRoutes, status: 200, has: []string{"10.0.0.5", "10.0.0.6"}}})
		}
	}
}

// What does writing a route answer with?
func TestRouteAnswers(t *testing.T) {
	tests := map[emulator.RouteAnswer]struct {
		created, changed int
		has              string
	}{
		"":                     {201, 200, `"type":"gatewayAddress"`},
		emulator.AnswerRoute:   {201, 200, `"type":"gatewayAddress"`},
		emulator.AnswerTable:   {201, 200, `"isDefault":true`},
		emulator.AnswerNothing: {204, 204, ""},
	}
	for answer, tt := range tests {
		c := newCloud(t, withSwitches(emulator.Switches{RouteAnswer: answer}))
		play(t, c.Emulator, []step{{request: "POST " + defaultRoutes, body: way("10.244.1.0/24", "10.0.0.5"),
			status: tt.created, has: []string{tt.has}}})
		table, err := c.api.GetRouteTable(t.Context(), "default")
		if err != nil || len(table.Routes) != 1 {
			t.Fatalf("answer %q: table %+v, %v", answer, table, err)
		}
		play(t, c.Emulator, []step{{request: "PUT " + defaultRoutes + "/" + table.Routes[0].Identity,
			body: way("10.244.1.0/24", "10.0.0.6"), status: tt.changed, has: []string{tt.has}}})
	}
	if _, err := emulator.NewDescribed(t, emulator.Config{Seed: emulator.DefaultSeed(),
		Switches: emulator.Switches{RouteAnswer: "all"}}); err == nil {
		t.Error("an unknown answer is accepted")
	}
}

// Do lists of route tables show their routes?
func TestBareRouteTables(t *testing.T) {
	for bare, shown := range map[bool][]string{false: {"10.244.1.0/24", emulator.DefaultSubnet},
		true: {"!10.244.1.0/24", "!" + emulator.DefaultSubnet}} {
		play(t, newEmulator(t, withSwitches(emulator.Switches{BareRouteTables: bare})), []step{
			{request: "POST " + defaultRoutes, body: way("10.244.1.0/24", "10.0.0.5"), status: 201},
			{request: "GET /v1/route-tables", status: 200, has: shown},
			{request: "GET /v1/route-tables/default", status: 200, has: []string{"10.244.1.0/24",
				emulator.DefaultSubnet}},
		})
	}
}

// A route table may only have so many routes, also when all are replaced.
func TestQuotaOfRoutes(t *testing.T) {
	e := newEmulator(t)
	if err := e.SetQuota("", "route-table-routes", 1); err != nil {
		t.Fatal(err)
	}
	one, two := way("10.244.1.0/24", "10.0.0.5"), way("10.244.2.0/24", "10.0.0.6")
	play(t, e, []step{
		{request: "POST " + defaultRoutes, body: one, status: 201},
		{request: "POST " + defaultRoutes, body: two, status: 403, has: []string{`quota \"route-table-routes\"`}},
		{request: "PUT " + defaultRoutes, body: `{"routes":[` + one + `,` + two + `]}`, status: 403},
		{request: "PUT " + defaultRoutes, body: `{"routes":[` + two + `]}`, status: 200},
		{request: "GET /v1/quotas/route-table-routes", status: 200, has: []string{`"currentUsage":1`}},
	})
}
