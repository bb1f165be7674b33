package state

import (
	"fmt"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/object"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

// Short is the organisation inside another object.
func (o *Organisation) Short() *wire.Organisation {
	if known, found := cached[wire.Organisation](o.Store, o); found {
		return known
	}
	return cache(o.Store, o, &wire.Organisation{Meta: o.Nested()})
}

// Project is a part of an organisation. Its objects live in a space of their
// own: requests for the project see nothing else, and no other request sees them.
type Project struct {
	object.Record
	Parent *Project
	Space  *Organisation
}

// NewProject makes a project, and does not add it.
func (o *Organisation) NewProject(s object.Spec, now time.Time) *Project {
	p := &Project{Record: object.NewRecord("prj", s, func(string) bool { return false }, now)}
	p.Space = newSpace(o.Store, o.Record, o)
	return p
}

// CheckProject checks a reference to a project; an empty one is none.
func (o *Organisation) CheckProject(ref string) error {
	if _, found := o.Projects.Find(ref); ref != "" && !found {
		return fmt.Errorf("project %q does not exist in organisation %s", ref, o.Slug)
	}
	return nil
}

// View is the project as the API describes it.
func (p *Project) View() wire.Project {
	view := wire.Project{Meta: p.Meta}
	if p.Parent != nil {
		view.ParentProject = &wire.ProjectReference{Identity: p.Parent.Identity, Name: p.Parent.Name,
			Slug: p.Parent.Slug}
	}
	return view
}
