package declaration

import (
	"fmt"
	"net/http"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/openapi"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/openapi/openapitest"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
)

// scenario is a cloud, and a way to authenticate.
type scenario struct {
	name     string
	switches emulator.Switches
	delays   emulator.Delays
	way      way
}

// choices are the values of switches that are not just on or off, besides the default.
func choices() map[string][]emulator.Switches {
	return map[string][]emulator.Switches{
		"Updates":         {{Updates: emulator.Replace}, {Updates: emulator.ReplaceAll}, {Updates: emulator.Merge}},
		"InlineListeners": {{InlineListeners: emulator.IgnoreListeners}, {InlineListeners: emulator.RefuseListeners}},
		"CreateStatus":    {{CreateStatus: http.StatusOK}},
		"ConflictStatus":  {{ConflictStatus: http.StatusBadRequest}, {ConflictStatus: http.StatusUnprocessableEntity}},
		"QuotaStatus": {{QuotaStatus: http.StatusConflict}, {QuotaStatus: http.StatusUnprocessableEntity},
			{QuotaStatus: http.StatusTooManyRequests}},
		"TargetStatus": {{TargetStatus: http.StatusNotFound}, {TargetStatus: http.StatusConflict},
			{TargetStatus: http.StatusUnprocessableEntity}},
		"DoneStatus": {{DoneStatus: http.StatusOK}, {DoneStatus: http.StatusAccepted}},
		"DoneBody": {{DoneBody: emulator.NullBody, DoneStatus: http.StatusOK},
			{DoneBody: emulator.ObjectBody, DoneStatus: http.StatusOK},
			{DoneBody: emulator.ListBody, DoneStatus: http.StatusAccepted}},
		"PermissionStatus":  {{PermissionStatus: http.StatusUnauthorized}, {PermissionStatus: http.StatusNotFound}},
		"RequestsPerSecond": {{RequestsPerSecond: 10}},
		"RouteAnswer":       {{RouteAnswer: emulator.AnswerTable}, {RouteAnswer: emulator.AnswerNothing}},
		"VolumesPerMachine": {{VolumesPerMachine: 1}},
		"DetachStatus":      {{DetachStatus: http.StatusBadRequest}},
		"IgnoredFilters":    {{IgnoredFilters: []string{"identity", "slug", "name", "matchLabels"}}},
	}
}

// scenarios are the default cloud with each way to authenticate, without and with delays, and each answer of each
// switch with delays and one of these ways.
func scenarios(t *testing.T) []scenario {
	t.Helper()
	var all []scenario
	add := func(name string, switches emulator.Switches, w way) {
		all = append(all, scenario{name: name, switches: switches, delays: delays(), way: w})
	}
	every := ways()
	for _, w := range every {
		all = append(all, scenario{name: w.name, way: w})
		add(w.name+", with delays", emulator.Switches{}, w)
	}
	known := choices()
	for field := range reflect.TypeFor[emulator.Switches]().Fields() {
		values := known[field.Name]
		if field.Type.Kind() == reflect.Bool {
			on := emulator.Switches{}
			reflect.ValueOf(&on).Elem().FieldByIndex(field.Index).SetBool(true)
			values = []emulator.Switches{on}
		}
		if len(values) == 0 {
			t.Errorf("choices has no value of the switch %s", field.Name)
		}
		for _, s := range values {
			value := reflect.ValueOf(s).FieldByIndex(field.Index)
			if value.IsZero() {
				t.Errorf("choices has the default of the switch %s", field.Name)
			}
			add(fmt.Sprintf("%s=%v", field.Name, value), s, every[len(all)%len(every)])
		}
	}
	return all
}

// delays sets every delay. Bearer tokens expire in the middle.
func delays() emulator.Delays {
	d := emulator.Delays{}
	for _, delay := range reflect.ValueOf(&d).Elem().Fields() {
		delay.SetInt(int64(30 * time.Second))
	}
	d.TokenLifetime = 5 * time.Minute
	return d
}

// TestDrive drives every resource in every scenario, or in one of eight in the quick tier.
func TestDrive(t *testing.T) {
	t.Parallel()
	document := document(t)
	for i, s := range scenarios(t) {
		if i%tier.Pick(8, 1) > 0 {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { s.run(t, document) })
		})
	}
}

func (s scenario) run(t *testing.T, document *openapi.Document) {
	t.Helper()
	cloud, err := emulator.New(emulator.Config{Seed: emulator.DualStackSeed(), Switches: s.switches, Delays: s.delays,
		Middleware: openapitest.Middleware(t)})
	if err != nil {
		t.Fatal(err)
	}
	table := newTable(t, s.name)
	c := &tool{T: t, cloud: cloud, credential: newCredential(t, cloud, s.way), switches: s.switches,
		known: map[string]string{}}
	c.on("set-up", func(c *tool) { c.setUp(table.Stage) })
	for _, r := range table.Resources {
		d, err := describe(document, r)
		if err != nil {
			t.Fatal(err)
		}
		c.on(r.Path, func(c *tool) { c.drive(d) })
	}
	if !t.Failed() {
		c.on("tear-down", func(c *tool) { c.tearDown(table.Stage) })
	}
}

func (c *tool) drive(d *described) {
	c.Helper()
	if d.Refused != 0 {
		c.expect(http.MethodGet, d.collection(), nil, d.Refused)
		c.expect(http.MethodPost, d.collection(), d.body(false), d.Refused)
		return
	}
	newDrive(c, d).complete()
	newDrive(c, d).least()
}
