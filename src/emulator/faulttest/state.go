package faulttest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
)

// object is one entry of a list of the API.
type object struct {
	Identity, Name, Slug string
	text                 json.RawMessage
}

// state is everything that the lists of the API show, by owner and list.
type state map[string][]object

// stateReader looks at a cloud.
type stateReader struct {
	cloud *emulator.Emulator
	seed  emulator.Seed
	seen  map[string]seen // by list
	// idle are lists known to be empty until the work begins, because they were
	// in another run; not to request them makes a trial a third cheaper.
	idle map[string]bool
}

// seen is what a list was the last time; most never change.
type seen struct {
	body    []byte
	objects []object
}

// everything reads the lists of all organisations and projects of the seed. What is a list
// comes from the operations that the emulator has, so a new kind of object is
// looked at as soon as it is served. Lists that are skipped are missing.
func (l *stateReader) everything(ctx context.Context, skip map[string]bool) (state, error) {
	found := state{}
	for _, owner := range owners(l.seed) {
		for _, operation := range l.cloud.Operations() {
			path, isRead := strings.CutPrefix(operation, "GET ")
			list := owner.name + " " + path
			if !isRead || strings.Contains(path, "{") || skip[list] {
				continue
			}
			body, err := l.read(ctx, owner, path)
			if err != nil {
				return nil, fmt.Errorf("looking at %s of %s: %w", path, owner.name, err)
			}
			if found[list], err = l.objects(list, body); err != nil {
				return nil, err
			}
		}
	}
	return found, nil
}

// owner is who has lists of its own: an organisation, or one of its projects.
type owner struct {
	name         string
	organisation emulator.OrganisationSeed
	project      string // identity or slug; "" for the organisation itself
}

// owners are all organisations and projects of a seed.
func owners(seed emulator.Seed) []owner {
	var all []owner
	for _, organisation := range seed.Organisations {
		all = append(all, owner{"organisation " + organisation.Name, organisation, ""})
		for _, project := range organisation.Projects {
			ref := cmp.Or(project.Identity, project.Slug, project.Name)
			all = append(all, owner{"project " + ref + " of organisation " + organisation.Name, organisation, ref})
		}
	}
	return all
}

// read returns one list of an owner, whatever faults there are.
func (l *stateReader) read(ctx context.Context, owner owner, path string) ([]byte, error) {
	ctx = fault.With(ctx, fault.Effect{}, 0)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://cloud.test"+path, nil)
	if err != nil {
		return nil, fmt.Errorf("making the request: %w", err)
	}
	if err := authorise(request, owner.organisation); err != nil {
		return nil, err
	}
	if owner.project != "" {
		request.Header.Set("X-Project-Identity", owner.project)
	}
	response, err := l.cloud.Transport().RoundTrip(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, fmt.Errorf("reading the answer: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the answer is %s: %s", response.Status, body)
	}
	return body, nil
}

// objects decodes a list, unless it is the same as before.
func (l *stateReader) objects(list string, body []byte) ([]object, error) {
	if known := l.seen[list]; bytes.Equal(known.body, body) {
		return known.objects, nil
	}
	found, err := objects(body)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", list, err)
	}
	if l.seen == nil {
		l.seen = map[string]seen{}
	}
	l.seen[list] = seen{body, found}
	return found, nil
}

// authorise makes the request that of an organisation.
func authorise(request *http.Request, organisation emulator.OrganisationSeed) error {
	switch {
	case len(organisation.PersonalAccessTokens) > 0:
		request.Header.Set("Authorization", "Token "+organisation.PersonalAccessTokens[0])
	case len(organisation.Clients) > 0:
		request.SetBasicAuth(organisation.Clients[0].ID, organisation.Clients[0].Secret)
	default:
		return errors.New("it has no credentials; give it a personal access token in the seed")
	}
	if ref := cmp.Or(organisation.Identity, organisation.Slug); ref != "" {
		request.Header.Set("X-Organisation-Identity", ref)
	}
	return nil
}

// objects reads a list.
func objects(body []byte) ([]object, error) {
	var texts []json.RawMessage
	if err := json.Unmarshal(body, &texts); err != nil {
		return nil, fmt.Errorf("reading %s: %w", body, err)
	}
	found := make([]object, 0, len(texts))
	for _, text := range texts {
		o := object{text: text}
		if err := json.Unmarshal(text, &o); err != nil {
			return nil, fmt.Errorf("reading %s: %w", text, err)
		}
		found = append(found, o)
	}
	return found, nil
}

// decoded is the object as JSON values.
func (o object) decoded() any {
	var value any
	if err := json.Unmarshal(o.text, &value); err != nil {
		return string(o.text) // it was read as JSON before
	}
	return value
}

// decoded is all objects as JSON values, by list.
func (s state) decoded() map[string][]any {
	all := map[string][]any{}
	for name, list := range s {
		for _, o := range list {
			all[name] = append(all[name], o.decoded())
		}
	}
	return all
}

// empty are the lists without objects, in this state and in an earlier one.
func (s state) empty(earlier state) map[string]bool {
	found := map[string]bool{}
	for name, list := range s {
		if len(list)+len(earlier[name]) == 0 {
			found[name] = true
		}
	}
	return found
}

// all yields the objects of all lists.
func (s state) all(yield func(object) bool) {
	for _, list := range s {
		for _, o := range list {
			if !yield(o) {
				return
			}
		}
	}
}

// identities are those of all listed objects. What has none, such as a category
// of machine types, belongs to no organisation.
func (s state) identities() map[string]bool {
	found := map[string]bool{}
	for o := range s.all {
		if o.Identity != "" {
			found[o.Identity] = true
		}
	}
	return found
}

// only is the part of the state with those identities.
func (s state) only(identities map[string]bool) state {
	return s.pick(func(o object) bool { return identities[o.Identity] })
}

// except is the part of the state without those identities.
func (s state) except(identities map[string]bool) state {
	return s.pick(func(o object) bool { return !identities[o.Identity] })
}

func (s state) pick(wanted func(object) bool) state {
	found := state{}
	for name, list := range s {
		for _, o := range list {
			if wanted(o) {
				found[name] = append(found[name], o)
			}
		}
	}
	return found
}

// references are the ways to name the objects in a request.
func (s state) references() map[string]bool {
	found := map[string]bool{}
	for o := range s.all {
		found[o.Identity], found[o.Slug] = true, true
	}
	delete(found, "")
	return found
}

// changed returns the objects, by identity, that are not the same in both
// states, as they are in each.
func changed(before, after state) (was, is map[string]any) {
	was, is = map[string]any{}, map[string]any{}
	now := map[string]object{}
	for o := range after.all {
		now[o.Identity] = o
	}
	for o := range before.all {
		if !bytes.Equal(o.text, now[o.Identity].text) {
			was[o.Identity] = without(o.decoded(), usage())
			if later, exists := now[o.Identity]; exists {
				is[o.Identity] = without(later.decoded(), usage())
			}
		}
	}
	return was, is
}

// usage are the fields of a subnet that count what others use of it; they are
// not the subnet's own.
func usage() []string {
	return []string{"v4usingIPs", "v4availableIPs", "v6usingIPs", "v6availableIPs"}
}

// without is a deep copy of a value that lacks some fields, at any depth.
func without(value any, fields []string) any {
	switch value := value.(type) {
	case map[string]any:
		kept := make(map[string]any, len(value))
		for key, inner := range value {
			if !slices.Contains(fields, key) {
				kept[key] = without(inner, fields)
			}
		}
		return kept
	case []any:
		kept := make([]any, 0, len(value))
		for _, inner := range value {
			kept = append(kept, without(inner, fields))
		}
		return kept
	}
	return value
}
