package declaration

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// imported finds the object in all ways that there are, which show the same.
func (d *drive) imported(want any) {
	d.Helper()
	if d.readable && !d.single() {
		for _, reference := range []string{"identity", "slug"} {
			if value, ok := at(want, reference).(string); ok {
				d.equal("by "+reference, want, d.expect(http.MethodGet, d.sibling(value), nil, http.StatusOK), nil)
			}
		}
	}
	if !d.listable {
		return
	}
	d.listed("in the list", want, "")
	for _, key := range []string{"identity", "slug", "name"} {
		if value, ok := at(want, key).(string); ok && slices.Contains(d.filters, key) {
			d.listed("by "+key, want, url.Values{key: {value}}.Encode())
		}
	}
	if labels, ok := at(want, "labels").(map[string]any); ok && slices.Contains(d.filters, "matchLabels") {
		query := url.Values{}
		for key, value := range labels {
			query.Set("matchLabels["+key+"]", value.(string))
		}
		d.listed("by labels", want, query.Encode())
	}
}

// listed finds the object in a list, when the list knows it.
func (d *drive) listed(how string, want any, query string) {
	d.Helper()
	find := func() any {
		for _, object := range d.list(strings.TrimSuffix(d.collection+"?"+query, "?")) {
			if at(object, "identity") == at(want, "identity") {
				return object
			}
		}
		return nil
	}
	if strings.Contains(query, "matchLabels") { // can be out of date
		d.until("found "+how, func() bool { return len(changes(want, find(), "", d.Unlisted)) == 0 })
		return
	}
	d.equal(how, want, find(), d.Unlisted)
}

func (d *drive) equal(how string, want, got any, except []string) {
	d.Helper()
	for _, change := range changes(want, got, "", except) {
		d.Errorf("import %s: %s", how, change)
	}
}
