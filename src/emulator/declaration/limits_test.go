//go:build !race

package declaration

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/openapi"
)

// What the document says about bodies is what is refused: a body with a value just outside a limit is, and one with a
// value inside is not because of that field. The quick tier sends about
// one of eight such values to each operation.
func TestLimitsAreThoseOfTheDocument(t *testing.T) {
	t.Parallel()
	document := document(t)
	l := &limiter{document: document, tried: map[*openapi.Schema]bool{}, probed: map[*openapi.Schema]bool{}}
	sendAll(t, emulator.Switches{ApplicationProtocols: true}, l)
	l.complete(t)
}

// limiter sends bodies at the limits of the document.
type limiter struct {
	document *openapi.Document
	// tried are the schemas whose limits were sent.
	tried map[*openapi.Schema]bool
	// probed are the schemas of parts that were tried without limits.
	probed map[*openapi.Schema]bool
}

// resource sends the bodies that create and change an object.
func (l *limiter) resource(d *drive) {
	d.Helper()
	if d.Refused != 0 {
		return
	}
	method := http.MethodPost
	if d.single() {
		method = http.MethodPut
	}
	creation := l.limits(d.resource.collection(), method, nil)
	sent := d.sent(false, nil)
	d.refused(method, d.collection, sent, creation)
	d.probe(method, d.collection, func() map[string]any { return sent }, l, d.resource.collection(), nil)
	if !d.single() {
		d.accepted(method, d.collection, func() map[string]any { return sent }, creation)
	}
	d.created(sent)
	if current := d.settled(); d.change != nil {
		change := l.limits(d.Path, http.MethodPut, d.Fixed)
		d.refused(http.MethodPut, d.path, d.sent(true, current), change)
		d.changed(current)
		body := func() map[string]any { return d.sent(true, d.settled()) }
		d.probe(http.MethodPut, d.path, body, l, d.Path, d.Fixed)
		d.accepted(http.MethodPut, d.path, body, change)
	}
	d.deleted()
}

// action sends the bodies of an operation that neither creates nor changes an object.
func (l *limiter) action(c *tool, a action) {
	c.Helper()
	d, r := c.request(l.document, a)
	limits, body := l.limits(r.pattern, r.method, nil), func() map[string]any { return r.body }
	d.refused(r.method, r.path, r.body, limits)
	if status, answer := d.send(r.method, r.path, r.body); status >= http.StatusBadRequest {
		c.Errorf("%s %s = %d %v", r.method, r.path, status, answer)
	}
	d.accepted(r.method, r.path, body, limits)
	d.probe(r.method, r.path, body, l, r.pattern, nil)
	d.send(r.method, r.path, r.body)
}

// limits are what the document says about the body of an operation, except about fields that never change.
func (l *limiter) limits(pattern, method string, fixed []string) func(body any) []bound {
	o := l.document.Paths[pattern].Operations()[method]
	return func(body any) (all []bound) {
		for _, media := range o.RequestBody.Content {
			all = append(all, bounds(l.document, media.Schema, body)...)
		}
		all = slices.DeleteFunc(all, func(b bound) bool { return slices.Contains(fixed, fmt.Sprint(b.at[0])) })
		for _, b := range all {
			l.tried[b.schema] = true
		}
		return all
	}
}

// complete checks that no limit of a body was left out, and no part that may have limits.
func (l *limiter) complete(t *testing.T) {
	t.Helper()
	for path, operations := range l.document.Paths {
		for method, o := range operations.Operations() {
			if o.RequestBody == nil {
				continue
			}
			for _, media := range o.RequestBody.Content {
				eachPart(l.document, media.Schema, "", func(s *openapi.Schema, at string) {
					if hasLimits(s) && !l.tried[s] || !l.probed[s] {
						t.Errorf("%s %s: the limits of %q are not tried; send it, or add the operation to testdata",
							method, path, at)
					}
				})
			}
		}
	}
}

// hasLimits is whether a schema has a limit of its own.
func hasLimits(s *openapi.Schema) bool { return len(keywords(s)) > 0 }

// eachPart visits the parts of a body, of which only objects and lists have others.
func eachPart(document *openapi.Document, s *openapi.Schema, at string, visit func(*openapi.Schema, string)) {
	if s == nil {
		return
	}
	visit(s, at)
	if s.Ref != "" {
		eachPart(document, document.Components.Schemas[openapi.Named(s.Ref)], at, visit)
	}
	for _, part := range slices.Concat(s.AllOf, s.AnyOf, []*openapi.Schema{s.Then, s.Else}) {
		eachPart(document, part, at, visit)
	}
	for name, part := range s.Properties {
		eachPart(document, part, at+"."+name, visit)
	}
	eachPart(document, s.Items, at+"[]", visit)
}

// refused sends a body once for each limit, with a value outside.
func (d *drive) refused(method, path string, body map[string]any, limits func(any) []bound) {
	d.Helper()
	for _, b := range limits(body) {
		status, answer := d.send(method, path, with(body, b.at, b.outside))
		if status != http.StatusBadRequest {
			d.Errorf("%s %s with %v outside (%v) = %d %v, want 400", method, path, b, b.outside, status, answer)
		}
	}
}

// accepted sends a body once for each value inside a limit. It may be refused because of other fields.
func (d *drive) accepted(method, path string, body func() map[string]any, limits func(any) []bound) {
	d.Helper()
	right := body()
	all := limits(right)
	for _, b := range all {
		if slices.ContainsFunc(all, b.looser) {
			continue
		}
		for _, value := range b.inside {
			if value == nil {
				continue // null is as good as no value, and has a limit of its own
			}
			sent := with(with(right, b.at, value), []any{"deleteProtection"}, removed{})
			status, answer := d.send(method, path, sent)
			if status < http.StatusBadRequest {
				right = body()
			}
			blamed := status >= http.StatusBadRequest && b.blamed(answer) && !b.unknown(value, answer)
			if status >= http.StatusInternalServerError || blamed {
				d.Errorf("%s %s with %v inside (%v) = %d %v", method, path, b, value, status, answer)
			}
			if made, _ := at(answer, "identity").(string); made != "" && method == http.MethodPost {
				d.send(http.MethodDelete, d.sibling(made), nil)
				<-time.After(pause)
			}
		}
	}
}
