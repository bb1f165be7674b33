package api

import (
	"slices"
	"strings"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/object"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/state"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

func (srv *Server) projectOperations() map[string]handler {
	return map[string]handler{
		"GET /v1/projects":         srv.listProjects,
		"POST /v1/projects":        srv.createProject,
		"GET /v1/projects/{id}":    srv.getProject,
		"PUT /v1/projects/{id}":    srv.updateProject,
		"DELETE /v1/projects/{id}": srv.deleteProject,
	}
}

// unbound are operations on what belongs to the organisation. They refuse writes with a token that is bound to a
// project: it could make credentials without a project, or delete other projects.
func unbound(operations map[string]handler) map[string]handler {
	for operation, answer := range operations {
		operations[operation] = func(c *call) (reply, error) {
			if c.user.Project != "" && writes(c.Request) {
				return reply{}, apierror.Forbidden("the token is bound to project %q, and %s belongs to the "+
					"organisation: use a token that is bound to no project", c.user.Project, c.URL.Path)
			}
			return answer(c)
		}
	}
	return operations
}

// space is where the objects of a request live: in the project that its token
// is bound to, that its header names, or that its query names, in this order;
// else in the organisation itself. Projects themselves belong to organisations.
func (srv *Server) space(c *call) (*state.Organisation, error) {
	aboutProjects := c.URL.Path == "/v1/projects" || strings.HasPrefix(c.URL.Path, "/v1/projects/")
	refs := []string{c.user.Project, c.Header.Get("X-Project-Identity"), c.URL.Query().Get("project")}
	i := slices.IndexFunc(refs, func(ref string) bool { return strings.TrimSpace(ref) != "" })
	switch {
	case !aboutProjects && i < 0:
		return c.org, nil
	case srv.switches.NoProjects:
		return nil, apierror.Forbidden("projects are not enabled for organisation %q", c.org.Identity)
	case aboutProjects:
		return c.org, nil
	}
	p, found := c.org.Projects.Find(strings.TrimSpace(refs[i]))
	if !found {
		// Not 404, which would read as if the object that was asked for were gone.
		return nil, apierror.Forbidden("project %q does not exist in organisation %q", refs[i], c.org.Identity)
	}
	return p.Space, nil
}

func (c *call) project() (*state.Project, error) {
	p, found := c.org.Projects.Find(c.PathValue("id"))
	if !found {
		return nil, apierror.NotFound("project", c.PathValue("id"))
	}
	return p, nil
}

func (srv *Server) listProjects(c *call) (reply, error) {
	views := []wire.Project{}
	for p := range c.org.Projects.All() {
		if c.filter.Matches(p.Labels, p.Traits) {
			views = append(views, p.View())
		}
	}
	return many(views), nil
}

func (srv *Server) getProject(c *call) (reply, error) {
	p, err := c.project()
	if err != nil {
		return reply{}, err
	}
	return one(p.View()), nil
}

func (srv *Server) createProject(c *call) (reply, error) {
	in, err := decode[wire.ProjectInput](c)
	if err != nil {
		return reply{}, err
	}
	described := object.Spec{
		Name: object.Kept(in.Name, ""), Description: object.Kept(in.Description, ""), Labels: in.Labels,
		Annotations: in.Annotations,
	}
	if err := c.org.CheckNewProject(object.Checks{Now: c.now}, described); err != nil {
		return reply{}, err
	}
	if err := c.org.Admit(state.QuotaProjects); err != nil {
		return reply{}, err
	}
	p := c.org.NewProject(described, c.now)
	if p.Parent, err = c.parent(p, in.ParentProjectIdentity); err != nil {
		return reply{}, err
	}
	c.org.Projects.Add(p)
	return created(p.Identity, p.View()), nil
}

// parent is the project above p after a write.
func (c *call) parent(p *state.Project, ref *string) (*state.Project, error) {
	if ref == nil {
		return p.Parent, nil
	}
	if *ref == "" {
		return nil, nil
	}
	above, found := c.org.Projects.Find(*ref)
	if !found {
		return nil, apierror.Invalid("field \"parentProjectIdentity\": project %q not found", *ref)
	}
	return above, p.CheckParent("parentProjectIdentity", above)
}

func (srv *Server) updateProject(c *call) (reply, error) {
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
	next, err := revised(srv, c, &c.org.Projects, "project", p, wire.MetaInput{Name: in.Name,
		Description: in.Description, Labels: in.Labels, Annotations: in.Annotations})
	if err != nil {
		return reply{}, err
	}
	p.Record, p.Parent = next, parent
	return changed(p.Identity, p.View()), nil
}

func (srv *Server) deleteProject(c *call) (reply, error) {
	p, err := c.project()
	if err != nil {
		return reply{}, err
	}
	for other := range c.org.Projects.All() {
		if other.Parent == p {
			return reply{}, apierror.Invalid("project %q has project %q below it; delete or move that first",
				p.Identity, other.Identity)
		}
	}
	p.Space.FinishDeletions(c.now)
	for _, kind := range state.QuotaKinds() {
		if n := kind.Count(p.Space); n > 0 {
			return reply{}, apierror.Invalid("project %q still has %s: %d; delete them first", p.Identity, kind.Name, n)
		}
	}
	c.org.DropProject(p)
	return done(p.Identity), nil
}

func (srv *Server) quotaOperations() map[string]handler {
	return map[string]handler{
		"GET /v1/quotas":                    srv.listQuotas,
		"GET /v1/quotas/{name}":             srv.getQuota,
		"POST /v1/quotas/increase-requests": srv.requestIncrease,
	}
}

func (srv *Server) listQuotas(c *call) (reply, error) {
	views := []wire.Quota{}
	for _, kind := range state.QuotaKinds() {
		views = append(views, c.org.Owner().Quota(kind))
	}
	return many(views), nil
}

func (srv *Server) getQuota(c *call) (reply, error) {
	kind, err := state.FindQuota(c.PathValue("name"))
	if err != nil {
		return reply{}, err
	}
	return one(c.org.Owner().Quota(kind)), nil
}

// requestIncrease notes a request. It is approved by whoever sets the limit.
func (srv *Server) requestIncrease(c *call) (reply, error) {
	in, err := decode[wire.QuotaIncreaseInput](c)
	if err != nil {
		return reply{}, err
	}
	kind, err := state.FindQuota(in.Name)
	if err != nil {
		return reply{}, apierror.Invalid("field \"name\": %v", err)
	}
	org := c.org.Owner()
	if limit := org.Limit(kind); in.NewMaxUsage <= limit {
		return reply{}, apierror.Invalid("field \"newMaxUsage\" must be more than the current limit %d, not %d", limit,
			in.NewMaxUsage)
	}
	request := wire.QuotaIncrease{
		Identity: object.NewIdentity("qir"), NewMaxUsageRequested: in.NewMaxUsage, RequestedReasonMessage: in.Reason,
		CreatedAt: c.now, UpdatedAt: c.now, Decision: state.DecisionPending,
	}
	org.Increases[in.Name] = append(org.Increases[in.Name], request)
	return created(request.Identity, request), nil
}
