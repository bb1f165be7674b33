package declaration

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/openapi"
)

// The example of each request body is accepted, and is as the document says.
func TestExamplesAreAccepted(t *testing.T) {
	document := document(t)
	e := &examples{document: document, stage: newTable(t, "").Stage, sent: map[string]bool{}}
	sendAll(t, emulator.Switches{}, e)
	e.complete(t)
}

// examples sends the examples of the document.
type examples struct {
	document *openapi.Document
	// stage are the objects that stand for those of the examples.
	stage []prop
	// sent are the operations whose examples were accepted.
	sent map[string]bool
}

// resource creates and changes an object.
func (e *examples) resource(d *drive) {
	d.Helper()
	if d.single() {
		e.send(d.tool, http.MethodPut, d.Path, d.path)
		return
	}
	before := d.identities()
	e.send(d.tool, http.MethodPost, d.resource.collection(), d.collection)
	d.identity = d.newcomer(before)
	d.path = d.sibling(d.identity)
	if d.change != nil {
		d.settled()
		e.send(d.tool, http.MethodPut, d.Path, d.path)
		d.settled()
	}
	d.deleted()
}

// action sends an example that neither creates nor changes an object.
func (e *examples) action(c *tool, a action) {
	c.Helper()
	method, pattern, _ := strings.Cut(a.Operation, " ")
	of, _ := c.filled(a.Of).(string)
	e.send(c, method, pattern, parameter.ReplaceAllLiteralString(pattern, of))
}

// send sends the example of an operation.
func (e *examples) send(c *tool, method, pattern, path string) {
	c.Helper()
	for media, body := range e.document.Paths[pattern].Operations()[method].RequestBody.Content {
		example, _ := e.filled(c, body.Example).(map[string]any)
		known, _ := fieldsOf(e.document, body.Schema)
		for field := range example {
			if known[field] == nil {
				c.Errorf("the example of %s %s has %s, which the request does not have", method, pattern, field)
			}
		}
		sender := *c
		sender.form = media == formType
		if status, answer := sender.send(method, path, example); example == nil || status >= http.StatusBadRequest {
			c.Errorf("the example of %s %s = %d %v", method, pattern, status, answer)
			continue
		}
		e.sent[method+" "+pattern] = true
	}
}

// exemplary is the identity of an object in examples: the first of its kind on the stage, or another.
var exemplary = regexp.MustCompile(`^([a-z0-9]+-)example(?:-(\d+))?$`)

// filled is an example, or a part of it, with identities of objects on the stage.
func (e *examples) filled(c *tool, value any) any {
	c.Helper()
	switch v := value.(type) {
	case map[string]any:
		object := map[string]any{}
		for key, inner := range v {
			object[key] = e.filled(c, inner)
		}
		return object
	case []any:
		list := []any{}
		for _, inner := range v {
			list = append(list, e.filled(c, inner))
		}
		return list
	case string:
		if parts := exemplary.FindStringSubmatch(v); parts != nil {
			number, _ := strconv.Atoi(parts[2])
			return e.identity(c, parts[1], max(number, 1))
		}
	}
	return value
}

// identity is that of an object on the stage: the first with a prefix, the second, and so on.
func (e *examples) identity(c *tool, prefix string, number int) string {
	c.Helper()
	var all []string
	for _, p := range e.stage {
		if strings.HasPrefix(c.known[p.Name], prefix) {
			all = append(all, c.known[p.Name])
		}
	}
	if len(all) < number {
		c.Fatalf("the stage has %d objects like %sexample, not %d", len(all), prefix, number)
	}
	return all[number-1]
}

// complete checks that each body has an example that was sent.
func (e *examples) complete(t *testing.T) {
	t.Helper()
	for path, item := range e.document.Paths {
		for method, o := range item.Operations() {
			if o.RequestBody != nil && !e.sent[method+" "+path] {
				t.Errorf("no example of %s %s is accepted; add one to the document, or the operation to testdata",
					method, path)
			}
		}
	}
}
