package declaration

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/openapi"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/openapi/openapitest"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
)

// sender sends bodies to all operations that have one.
type sender interface {
	// resource sends the bodies that create and change an object.
	resource(d *drive)
	// action sends the bodies of an operation that neither creates nor changes an object.
	action(c *tool, a action)
}

// sendAll sends the bodies of all resources and actions to a new cloud, with what they refer to on its stage.
func sendAll(t *testing.T, switches emulator.Switches, s sender) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		cloud, err := emulator.New(emulator.Config{Seed: emulator.DualStackSeed(), Switches: switches,
			Middleware: openapitest.Middleware(t)})
		if err != nil {
			t.Fatal(err)
		}
		table := newTable(t, "")
		c := &tool{T: t, cloud: cloud, credential: newCredential(t, cloud, ways()[0]), known: map[string]string{}}
		c.on("set-up", func(c *tool) { c.setUp(table.Stage) })
		if c.known["token"], err = cloud.SubjectToken("", "", "", 24*time.Hour); err != nil {
			t.Fatal(err)
		}
		for _, r := range table.Resources {
			d, err := describe(document(t), r)
			if err != nil {
				t.Fatal(err)
			}
			c.on(r.Path, func(c *tool) { s.resource(newDrive(c, d)) })
		}
		for _, a := range table.Actions {
			c.on(a.Operation, func(c *tool) { s.action(c, a) })
		}
	})
}

// chosen reports whether the tier that runs sends one of the values for a place of a body. The quick one sends about
// one of eight to each operation. It always tries limits that the document has, and leaves out each part once.
func (d *drive) chosen(method, place string, number int) bool {
	return tier.Has(fmt.Sprint(d.subject, " ", method, " ", place, " ", number), 8)
}

// parameter is a part of a path pattern that stands for an object.
var parameter = regexp.MustCompile(`\{\w+\}`)

// request is a request to an operation that neither creates nor changes an object.
type request struct {
	method, pattern, path string
	body                  map[string]any
}

// request returns the request of an action, and what sends it: objects that it makes are below its path.
func (c *tool) request(document *openapi.Document, a action) (*drive, request) {
	c.Helper()
	var r request
	r.method, r.pattern, _ = strings.Cut(a.Operation, " ")
	of, _ := c.filled(a.Of).(string)
	r.path = parameter.ReplaceAllLiteralString(r.pattern, of)
	r.body, _ = c.filled(parsed(c.T, a.Body)).(map[string]any)
	inner := *c
	inner.form = document.Paths[r.pattern].Operations()[r.method].RequestBody.Content[formType].Schema != nil
	return &drive{tool: &inner, path: r.path + "/"}, r
}
