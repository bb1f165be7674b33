//go:build !race

package declaration

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/openapi"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/openapi/openapitest"
)

// The document and the handlers agree about each part of each body: whether it can be left out, be null, be empty, or
// be of another type. A body is refused with 400 if, and only if, the document does not allow it. The quick tier sends
// about one of eight such bodies to each operation.
func TestValuesAreThoseOfTheDocument(t *testing.T) {
	t.Parallel()
	checker, err := openapitest.Shared()
	if err != nil {
		t.Fatal(err)
	}
	// What PUT needs depends on Updates. With Merge, it is as the document says: a PUT can leave out anything.
	p := &prober{checker: checker, limiter: &limiter{document: checker.Document(), probed: map[*openapi.Schema]bool{}}}
	sendAll(t, emulator.Switches{ApplicationProtocols: true, Updates: emulator.Merge}, p)
}

// prober sends bodies of which one part has another value.
type prober struct {
	*limiter
	checker *openapitest.Checker
}

// resource sends the bodies that create and change an object.
func (p *prober) resource(d *drive) {
	d.Helper()
	if d.Refused != 0 {
		return
	}
	method := http.MethodPost
	if d.single() {
		method = http.MethodPut
	}
	sent := d.sent(false, nil)
	p.probe(d, method, d.resource.collection(), d.collection, func() map[string]any { return sent })
	d.created(sent)
	if d.change != nil {
		body := func() map[string]any { return d.sent(true, d.settled()) }
		p.probe(d, http.MethodPut, d.Path, d.path, body)
		d.expect(http.MethodPut, d.path, body(), d.written(http.StatusOK))
	}
	d.settled()
	d.deleted()
}

// action sends the bodies of an operation that neither creates nor changes an object.
func (p *prober) action(c *tool, a action) {
	c.Helper()
	d, r := c.request(p.document, a)
	p.probe(d, r.method, r.pattern, r.path, func() map[string]any { return r.body })
	d.send(r.method, r.path, r.body)
}

// probe sends a body with each value in each part.
func (p *prober) probe(d *drive, method, pattern, path string, body func() map[string]any) {
	d.Helper()
	all, right := map[string]*field{}, body()
	for _, media := range p.document.Paths[pattern].Operations()[method].RequestBody.Content {
		p.unlimitedIn(media.Schema, right, all)
	}
	for _, place := range slices.Sorted(maps.Keys(all)) {
		for i, value := range others(d.form, all[place], part(right, all[place].at)) {
			if _, gone := value.(removed); !gone && !d.chosen(method, place, i) {
				continue
			}
			sent := with(with(right, []any{"deleteProtection"}, removed{}), []any{excluded[place]}, removed{})
			sent = with(sent, all[place].at, value)
			status, answer := d.send(method, path, sent)
			if status < http.StatusBadRequest {
				right = body()
			}
			if problem := p.compared(method+" "+pattern, d.content(sent), status, answer); problem != "" {
				d.Errorf("%s %s with %s = %s: %s", method, pattern, place, shown(value), problem)
			}
			if made, _ := at(answer, "identity").(string); made != "" && method == http.MethodPost {
				d.removed(made)
			}
		}
	}
}

// others are the values that a field is sent with in place of one. Objects have other keys where the document allows
// any.
func others(form bool, f *field, value any) []any {
	if form {
		return []any{removed{}, ""}
	}
	all := []any{removed{}, nil, "", false, true, 0, map[string]any{}, []any{}, []any{nil}, []any{""},
		[]any{map[string]any{}}}
	if slices.Contains(f.kinds, "object") {
		all = append(all, map[string]any{"a": nil}, map[string]any{"a": ""})
	}
	if text, ok := value.(string); ok {
		if _, err := time.ParseDuration(text); err == nil {
			all = append(all, "0s")
		}
	}
	return all
}

// shown is how messages name a value.
func shown(value any) string {
	if _, gone := value.(removed); gone {
		return "nothing"
	}
	text, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// compared is how the answer to a body differs from what the document says about the body, or "".
func (p *prober) compared(operation, body string, status int, answer any) string {
	err := p.checker.CheckBody(operation, []byte(body))
	message, _ := at(answer, "message").(string)
	switch refused := status == http.StatusBadRequest; {
	case refused && err == nil && !strings.Contains(message, known):
		return fmt.Sprintf("it is refused, and the document allows it: %v", answer)
	case !refused && err != nil:
		return fmt.Sprintf("the answer is %d, and the document does not allow it: %v", status, err)
	}
	return ""
}

// known is how a token is refused that was added before, with the scopes that are there before they are changed. It is
// the only refusal that is about the state, and has the status of one that is about the body.
const known = "exists with other scopes"

// removed deletes an object that a probe created.
func (d *drive) removed(identity string) {
	d.Helper()
	path := d.sibling(identity)
	d.send(http.MethodPut, path, map[string]any{"deleteProtection": false})
	d.send(http.MethodDelete, path, nil)
	<-time.After(pause)
}
