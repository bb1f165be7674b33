package declaration

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/openapi"
)

// field is a part of a body, with all that the document says about it.
type field struct {
	bound
	kinds   []string
	limited bool
}

// unlimitedIn collects the strings, numbers and lists that a body has or can have.
func unlimitedIn(document *openapi.Document, s *openapi.Schema, body any, all map[string]*field, at ...any) {
	if s == nil {
		return
	}
	if len(at) > 0 {
		f := all[bound{at: at}.place()]
		if f == nil {
			f = &field{bound: bound{at: at, schema: s}}
			all[f.place()] = f
		}
		f.kinds = append(f.kinds, strings.Fields(strings.Trim(fmt.Sprint(s.Type), "[]"))...)
		f.limited = f.limited || len(limits(s, nil)) > 0
	}
	if s.Ref != "" {
		unlimitedIn(document, document.Components.Schemas[openapi.Named(s.Ref)], body, all, at...)
	}
	for _, part := range slices.Concat(s.AllOf, s.AnyOf) {
		unlimitedIn(document, part, body, all, at...)
	}
	object, isObject := body.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if isObject {
			unlimitedIn(document, s.Properties[name], object[name], all, inner(at, name)...)
		}
	}
	if list, ok := body.([]any); ok && len(list) > 0 {
		unlimitedIn(document, s.Items, list[0], all, inner(at, 0)...)
	}
}

// probes are values that a field with a limit refuses.
func (f *field) probes(value any) []any {
	var all []any
	for _, kind := range f.kinds {
		switch kind {
		case "string":
			all = append(all, strings.Repeat("a", 5000))
		case "integer":
			all = append(all, 0, -1)
		case "array":
			all = append(all, []any{})
			if list, ok := value.([]any); ok && len(list) > 0 {
				all = append(all, slices.Repeat(list[:1], 1000))
			}
		}
	}
	return all
}

// unnamed is how a text is refused that names no object, or has another format.
var unnamed = regexp.MustCompile(`"a{99,}" (not found|does not exist|is not|is neither)|(time zone|cron).*"a{99,}"|` +
	`is not in (VPC|region) "a{99,}"`)

// dependent are the fields whose limits depend on other fields, so that the document cannot have them, by why.
var dependent = map[string]string{
	`"cloudInitRef"`:            "excludes cloudInit",
	`"rootVolume.size"`:         "is that of a new volume, not of one that exists",
	`"ttl"`:                     "is a number or a text with a unit",
	`"target.volumeIdentities"`: "is required for one type of target",
	`"maxReplicas"`:             "limits pools that scale by themselves",
}

// probed sends a body once for each field without a limit in the document, with values that a limit refuses.
func (d *drive) probed(method, path string, body func() map[string]any, l *limiter, pattern string, fixed []string) {
	d.Helper()
	all := map[string]*field{}
	for _, media := range l.document.Paths[pattern].Operations()[method].RequestBody.Content {
		unlimitedIn(l.document, media.Schema, body(), all)
	}
	for _, place := range slices.Sorted(maps.Keys(all)) {
		f := all[place]
		if f.limited || dependent[place] != "" || slices.Contains(fixed, fmt.Sprint(f.at[0])) {
			continue
		}
		for _, value := range f.probes(part(body(), f.at)) {
			sent := with(with(body(), f.at, value), []any{"deleteProtection"}, removed{})
			status, answer := d.send(method, path, sent)
			if status == http.StatusBadRequest && f.blamed(answer) && !unnamed.MatchString(fmt.Sprint(answer)) {
				d.Errorf("%s %s refuses %.20v as %v, without a limit in the document: %v", method, path, value, place,
					answer)
			}
			if made, _ := at(answer, "identity").(string); made != "" && method == http.MethodPost {
				d.send(http.MethodDelete, d.sibling(made), nil)
				<-time.After(pause)
			}
		}
	}
}

// part is what a body has at a place.
func part(body any, at []any) any {
	for _, key := range at {
		switch key := key.(type) {
		case string:
			object, _ := body.(map[string]any)
			body = object[key]
		case int:
			body = body.([]any)[key]
		}
	}
	return body
}
