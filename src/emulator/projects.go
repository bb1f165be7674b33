package emulator

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

// project is a part of an organisation. Its objects live in a space of their
// own: requests for the project see nothing else, and nobody else sees them.
type project struct {
	meta
	parent *project
	space  *organisation
}

func (e *Emulator) projectOperations() map[string]handler {
	return map[string]handler{
		"GET /v1/projects":         e.listProjects,
		"POST /v1/projects":        e.createProject,
		"GET /v1/projects/{id}":    e.getProject,
		"PUT /v1/projects/{id}":    e.updateProject,
		"DELETE /v1/projects/{id}": e.deleteProject,
	}
}

func (o *organisation) newProject(s spec, now time.Time) *project {
	p := &project{meta: newMeta("prj", s, func(string) bool { return false }, now)}
	p.space = newSpace(o.store, o.meta, o)
	return p
}

// checkProject checks a reference to a project; an empty one is none.
func (o *organisation) checkProject(ref string) error {
	if _, found := o.projects.find(ref); ref != "" && !found {
		return fmt.Errorf("project %q does not exist in organisation %s", ref, o.Slug)
	}
	return nil
}

// space is where the objects of a request live: in the project that its token
// is bound to, that its header names, or that its query names, in this order;
// else in the organisation itself. Projects themselves belong to organisations.
func (e *Emulator) space(c *call) (*organisation, error) {
	aboutProjects := c.URL.Path == "/v1/projects" || strings.HasPrefix(c.URL.Path, "/v1/projects/")
	refs := []string{c.user.project, c.Header.Get("X-Project-Identity"), c.URL.Query().Get("project")}
	i := slices.IndexFunc(refs, func(ref string) bool { return strings.TrimSpace(ref) != "" })
	switch {
	case !aboutProjects && i < 0:
		return c.org, nil
	case e.switches.NoProjects:
		return nil, forbidden("projects are not enabled for organisation %q", c.org.Identity)
	case aboutProjects:
		return c.org, nil
	}
	p, found := c.org.projects.find(strings.TrimSpace(refs[i]))
	if !found {
		// Not 404, which would read as if the object that was asked for were gone.
		return nil, forbidden("project %q does not exist in organisation %q", refs[i], c.org.Identity)
	}
	return p.space, nil
}

func (p *project) view() wire.Project {
	view := wire.Project{Meta: p.Meta}
	if p.parent != nil {
		view.ParentProject = &wire.ProjectReference{Identity: p.parent.Identity, Name: p.parent.Name, Slug: p.parent.Slug}
	}
	return view
}

func (c *call) project() (*project, error) {
	p, found := c.org.projects.find(c.PathValue("id"))
	if !found {
		return nil, notFound("project", c.PathValue("id"))
	}
	return p, nil
}

func (e *Emulator) listProjects(c *call) (reply, error) {
	views := []wire.Project{}
	for p := range c.org.projects.all() {
		if c.filter.matches(p.Labels, p.traits) {
			views = append(views, p.view())
		}
	}
	return many(views), nil
}

func (e *Emulator) getProject(c *call) (reply, error) {
	p, err := c.project()
	if err != nil {
		return reply{}, err
	}
	return one(p.view()), nil
}

func (e *Emulator) createProject(c *call) (reply, error) {
	in, err := decode[wire.ProjectInput](c)
	if err != nil {
		return reply{}, err
	}
	described := spec{
		name: kept(in.Name, ""), description: kept(in.Description, ""), labels: in.Labels, annotations: in.Annotations,
	}
	if err := checkMeta(described); err != nil {
		return reply{}, err
	}
	if slug := slugify(described.name); c.org.projects.hasSlug(slug) {
		return reply{}, conflict("slug %q is taken by another project", slug)
	}
	if err := c.org.admit(quotaProjects); err != nil {
		return reply{}, err
	}
	p := c.org.newProject(described, c.now)
	if p.parent, err = c.parent(p, in.ParentProjectIdentity); err != nil {
		return reply{}, err
	}
	c.org.projects.add(p)
	return created(p.Identity, p.view()), nil
}

// parent is the project above p after a write.
func (c *call) parent(p *project, ref *string) (*project, error) {
	if ref == nil {
		return p.parent, nil
	}
	if *ref == "" {
		return nil, nil
	}
	above, found := c.org.projects.find(*ref)
	if !found {
		return nil, invalid("field \"parentProjectIdentity\": project %q not found", *ref)
	}
	for next := above; next != nil; next = next.parent {
		if next == p {
			return nil, invalid("field \"parentProjectIdentity\": project %q is below project %q", *ref, p.Identity)
		}
	}
	return above, nil
}

func (e *Emulator) updateProject(c *call) (reply, error) {
	p, err := c.project()
	if err != nil {
		return reply{}, err
	}
	in, err := decode[wire.ProjectInput](c)
	if err != nil {
		return reply{}, err
	}
	parent, err := c.parent(p, in.ParentProjectIdentity)
	if err != nil {
		return reply{}, err
	}
	if err := p.describe(e.rules(), in.Name, in.Description, in.Labels, in.Annotations, c.now); err != nil {
		return reply{}, err
	}
	p.parent = parent
	return changed(p.Identity, p.view()), nil
}

func (e *Emulator) deleteProject(c *call) (reply, error) {
	p, err := c.project()
	if err != nil {
		return reply{}, err
	}
	for other := range c.org.projects.all() {
		if other.parent == p {
			return reply{}, invalid("project %q has project %q below it; delete or move that first", p.Identity, other.Identity)
		}
	}
	p.space.sweep(c.now)
	for _, kind := range quotaKinds() {
		if n := kind.count(p.space); n > 0 {
			return reply{}, invalid("project %q still has %s: %d; delete them first", p.Identity, kind.name, n)
		}
	}
	c.org.projects.remove(p)
	return done(p.Identity), nil
}
