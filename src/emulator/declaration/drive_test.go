package declaration

import (
	"net/http"
	"slices"
	"strings"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

// drive is the life of one object of a resource.
type drive struct {
	*tool
	*described
	// collection and path are where the object is created, and where it is.
	collection, path string
	identity         string
}

func newDrive(c *tool, d *described) *drive {
	inside := func(pattern string) string { return pattern }
	if d.Within != "" {
		parent := c.identity(d.Within)
		inside = func(pattern string) string {
			for _, parameter := range []string{"{id}", "{vpc}"} {
				pattern = strings.Replace(pattern, parameter, parent, 1)
			}
			return pattern
		}
	}
	return &drive{tool: c, described: d, collection: inside(d.resource.collection()), path: inside(d.Path)}
}

// complete drives an object for which every field is sent.
func (d *drive) complete() {
	d.Helper()
	sent := d.sent(false, nil)
	d.created(sent)
	before := d.settled()
	d.same("created", sent, before)
	d.imported(before)
	if d.change != nil {
		before = d.changed(before)
		d.forgotten(before)
	}
	d.deleted()
}

// least drives an object for which only required fields are sent: the others read back empty.
func (d *drive) least() {
	d.Helper()
	sent := d.shortest(d.sent(false, nil))
	d.created(sent)
	read := d.settled()
	d.same("created", sent, read)
	for field := range d.create {
		if _, ok := sent[field]; !ok && d.Unread[field] == "" {
			d.unset("created without it", field, read)
		}
	}
	d.deleted()
}

// sent is the complete body of POST or PUT.
func (d *drive) sent(changed bool, current any) map[string]any {
	d.Helper()
	body := parsed(d.T, d.body(changed)).(map[string]any)
	if _, ok := body["objectVersion"]; ok {
		body["objectVersion"] = at(current, "objectVersion")
	}
	return d.filled(body).(map[string]any)
}

// created creates the object, and finds its identity.
func (d *drive) created(sent map[string]any) {
	d.Helper()
	if d.single() {
		d.expect(http.MethodPut, d.path, sent, http.StatusOK)
		return
	}
	before := d.identities()
	answer := d.expect(http.MethodPost, d.collection, sent, d.written(http.StatusCreated))
	if d.Answer == "" {
		d.same("the answer of the creation", sent, answer)
		d.identity, _ = at(answer, "identity").(string)
	} else {
		d.identity = d.newcomer(before)
	}
	d.path = d.sibling(d.identity)
}

// written is the status of POST and PUT.
func (d *drive) written(standard int) int {
	if d.Answer == "none" {
		standard = http.StatusNoContent
	}
	return d.switches.Status(standard)
}

// newcomer is the identity of the object that was not there before.
func (d *drive) newcomer(before []any) string {
	d.Helper()
	for _, identity := range d.identities() {
		if !slices.Contains(before, identity) {
			return identity.(string)
		}
	}
	d.Fatalf("no object was added to %s", d.collection)
	return ""
}

// sibling is the path of another object of the collection.
func (d *drive) sibling(reference string) string {
	return d.path[:strings.LastIndex(d.path, "/")+1] + reference
}

// read reads the object, by its path or from a list.
func (d *drive) read() any {
	d.Helper()
	if d.readable {
		return d.expect(http.MethodGet, d.path, nil, http.StatusOK)
	}
	for _, object := range d.objects() {
		if at(object, "identity") == d.identity {
			return object
		}
	}
	d.Fatalf("%s is not among the objects of %s", d.identity, d.collection)
	return nil
}

// objects are all objects of the collection: those of a list, or of their parent.
func (d *drive) objects() []any {
	d.Helper()
	if d.listable {
		return d.list(d.collection)
	}
	parent, _, _ := strings.Cut(d.collection, d.known[d.Within])
	all, _ := at(d.expect(http.MethodGet, parent+d.known[d.Within], nil, http.StatusOK), d.Inside).([]any)
	return all
}

func (d *drive) identities() []any {
	d.Helper()
	if d.single() {
		return nil
	}
	var all []any
	for _, object := range d.objects() {
		all = append(all, at(object, "identity"))
	}
	return all
}

// settled waits until the object is not on its way any more, and reads it twice: nothing changes by itself.
func (d *drive) settled() any {
	d.Helper()
	d.until("settled", func() bool { return !underway(d.read()) })
	first := d.read()
	if got := status(first); d.Status != nil && !slices.Contains(d.Status, got) {
		d.Errorf("the status is %q, want one of %q", got, d.Status)
	}
	for _, change := range changes(first, d.read(), "", nil) {
		d.Errorf("changes by itself: %s", change)
	}
	return first
}

// same compares the fields that were sent with those that are read.
func (d *drive) same(when string, sent map[string]any, read any) {
	d.Helper()
	for field, value := range sent {
		if d.Unread[field] != "" {
			continue
		}
		if wrong := difference(value, at(read, d.reading(field))); wrong != "" {
			d.Errorf("%s: %s%s", when, field, wrong)
		}
	}
}

// unset checks that a field has the value of one that was never sent.
func (d *drive) unset(when, field string, read any) {
	d.Helper()
	got := at(read, d.reading(field))
	if wrong := difference(d.filled(parsed(d.T, d.Defaults[field])), got); wrong != "" {
		d.Errorf("%s: %s reads %#v, want %#v", when, field, got, d.Defaults[field])
	}
}

// changed changes every field that can change, and compares: what was not sent is as before.
func (d *drive) changed(before any) any {
	d.Helper()
	sent := d.sent(true, before)
	answer := d.expect(http.MethodPut, d.path, sent, d.written(http.StatusOK))
	if d.Answer == "" {
		d.same("the answer of the change", d.without(sent, d.Late), answer)
	}
	d.until("settled", func() bool { return !underway(d.read()) && d.arrived(sent) })
	after := d.settled()
	d.same("changed", sent, after)
	may := append([]string{"updatedAt", "objectVersion"}, d.Follows...)
	for field := range sent {
		top, _, _ := strings.Cut(d.reading(field), ".")
		may = append(may, top)
	}
	for _, change := range changes(before, after, "", may) {
		d.Errorf("changed, although it was not sent: %s", change)
	}
	return after
}

// arrived is whether late fields have the value that was sent.
func (d *drive) arrived(sent map[string]any) bool {
	d.Helper()
	read := d.read()
	for _, field := range d.Late {
		if difference(sent[field], at(read, d.reading(field))) != "" {
			return false
		}
	}
	return true
}

// without is a body without some fields.
func (*drive) without(sent map[string]any, fields []string) map[string]any {
	rest := map[string]any{}
	for field, value := range sent {
		if !slices.Contains(fields, field) {
			rest[field] = value
		}
	}
	return rest
}

// forgotten changes the object with only required fields: the others are cleared, or kept.
func (d *drive) forgotten(before any) {
	d.Helper()
	complete := d.sent(true, before)
	sent := d.shortest(complete)
	d.expect(http.MethodPut, d.path, sent, d.written(http.StatusOK))
	after := d.settled()
	d.same("forgotten", sent, after)
	for field := range complete {
		if _, ok := sent[field]; ok || d.Unread[field] != "" {
			continue
		}
		if d.Keeps || d.switches.Updates == emulator.Merge || slices.Contains(d.Kept, field) {
			d.same("kept", map[string]any{field: at(before, d.reading(field))}, after)
			continue
		}
		d.unset("forgotten", field, after)
	}
}

// deleted deletes the object, and waits until it is gone.
func (d *drive) deleted() {
	d.Helper()
	d.expect(http.MethodDelete, d.path, nil, d.switches.Status(http.StatusNoContent))
	d.until("gone", func() bool {
		if d.readable {
			status, _ := d.send(http.MethodGet, d.path, nil)
			return status == http.StatusNotFound
		}
		return !slices.Contains(d.identities(), any(d.identity))
	})
	if !d.single() && slices.Contains(d.identities(), any(d.identity)) {
		d.Errorf("%s is gone, and is still listed", d.identity)
	}
}
