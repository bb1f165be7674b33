package state

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
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

// CheckNewProject checks the meta data of a new project, whose slug must be its own.
func (o *Organisation) CheckNewProject(c object.Checks, s object.Spec) error {
	// The names of projects may be equal as long as their slugs are not.
	c.UniqueNames = false
	if err := object.CheckNew(c, &o.Projects, "project", s); err != nil {
		return err
	}
	if slug := cmp.Or(s.Slug, object.Slugify(s.Name)); o.Projects.HasSlug(slug) {
		return apierror.Conflict("slug %q is taken by another project", slug)
	}
	return nil
}

// CheckParent checks that a project can be the one above p, which must not be above it already.
func (p *Project) CheckParent(field string, above *Project) error {
	for next := above; next != nil; next = next.Parent {
		if next == p {
			return apierror.Invalid("field %q: project %q is below project %q", field, above.Identity, p.Identity)
		}
	}
	return nil
}

// CheckProject checks a reference to a project; an empty one is none.
func (o *Organisation) CheckProject(ref string) error {
	if _, found := o.Projects.Find(ref); ref != "" && !found && !slices.Contains(o.deletedProjects, ref) {
		return fmt.Errorf("project %q does not exist in organisation %s", ref, o.Slug)
	}
	return nil
}

// DropProject removes a project. Credentials can still name it, with no effect but errors.
func (o *Organisation) DropProject(p *Project) {
	o.Projects.Remove(p)
	o.deletedProjects = append(o.deletedProjects, p.Identity, p.Slug)
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

// The names of the quotas. The real ones are not published.
const (
	QuotaProjects      = "projects"
	QuotaVPCs          = "vpcs"
	QuotaSubnets       = "subnets"
	QuotaRouteTables   = "route-tables"
	QuotaRoutes        = "route-table-routes"
	QuotaNATGateways   = "nat-gateways"
	QuotaReservedIPs   = "reserved-ips"
	QuotaMachines      = "machines"
	QuotaLoadbalancers = "loadbalancers"
	QuotaListeners     = "loadbalancer-listeners"
	QuotaTargetGroups  = "loadbalancer-target-groups"
	QuotaCloudInits    = "cloud-init-templates"
	QuotaPeerings      = "vpc-peering-connections"
	QuotaFilesystems   = "tfs-instances"
	QuotaVolumes       = "volumes"
	QuotaVolumeSize    = "volume-gigabytes"
	QuotaSnapshots     = "snapshots"

	QuotaSnapshotPolicies = "snapshot-policies"

	QuotaSecurityGroups = "security-groups"

	QuotaClusters = "kubernetes-clusters"
	QuotaBuckets  = "buckets"
)

// standardLimit is a limit that tests and benchmarks do not meet by accident.
const standardLimit = 100_000

// QuotaKind is something that an organisation may only have so many of. The
// projects of an organisation share its quotas.
type QuotaKind struct {
	Name, description string
	// service is iaas when empty.
	service  string
	standard int
	// Count is how many a space has; for a quota per object, how many the object
	// with most of them has.
	Count func(*Organisation) int
	// perObject quotas hold for each parent object on its own.
	perObject bool
}

// QuotaKinds has one line for each kind of object. What it counts must be gone
// before a project can be deleted.
func QuotaKinds() []QuotaKind {
	return []QuotaKind{
		{Name: QuotaProjects, description: "Projects", standard: standardLimit,
			Count: func(o *Organisation) int { return o.Projects.Len() }},
		{Name: QuotaVPCs, description: "VPCs", standard: standardLimit,
			Count: func(o *Organisation) int { return object.Count(&o.VPCs, o.Store.Now) }},
		{Name: QuotaSubnets, description: "Subnets", standard: standardLimit,
			Count: func(o *Organisation) int { return object.Count(&o.Subnets, o.Store.Now) }},
		{Name: QuotaRouteTables, description: "Route tables", standard: standardLimit,
			Count: func(o *Organisation) int { return o.RouteTables.Len() }},
		{Name: QuotaRoutes, description: "Routes of one route table", standard: standardLimit, Count: mostRoutes,
			perObject: true},
		{Name: QuotaNATGateways, description: "NAT gateways", standard: standardLimit,
			Count: func(o *Organisation) int { return object.Count(&o.NATGateways, o.Store.Now) }},
		{Name: QuotaSecurityGroups, description: "Security groups", standard: standardLimit,
			Count: func(o *Organisation) int { return object.Count(&o.SecurityGroups, o.Store.Now) }},
		{Name: QuotaReservedIPs, description: "Reserved IPs", standard: standardLimit,
			Count: func(o *Organisation) int { return object.Count(&o.ReservedIPs, o.Store.Now) }},
		{Name: QuotaMachines, description: "Machines", standard: standardLimit,
			Count: func(o *Organisation) int { return object.Count(&o.Machines, o.Store.Now) }},
		{Name: QuotaLoadbalancers, description: "Load balancers", standard: standardLimit,
			Count: func(o *Organisation) int { return object.Count(&o.Loadbalancers, o.Store.Now) }},
		{Name: QuotaListeners, description: "Listeners of one load balancer", standard: maxListeners,
			Count: mostListeners, perObject: true},
		{Name: QuotaTargetGroups, description: "Target groups", standard: standardLimit,
			Count: func(o *Organisation) int { return o.TargetGroups.Len() }},
		{Name: QuotaCloudInits, description: "Cloud-init templates", standard: standardLimit,
			Count: func(o *Organisation) int { return o.CloudInits.Len() }},
		{Name: QuotaPeerings, description: "VPC peering connections", standard: standardLimit,
			Count: RequestedPeerings},
		{Name: QuotaFilesystems, description: "NFS file systems", standard: standardLimit,
			Count: func(o *Organisation) int { return o.Filesystems.Len() }},
		{Name: QuotaVolumes, description: "Volumes", standard: standardLimit,
			Count: func(o *Organisation) int { return object.Count(&o.Volumes, o.Store.Now) }},
		{Name: QuotaVolumeSize, description: "GiB of all volumes", standard: 10 * standardLimit,
			Count: volumeGigabytes},
		{Name: QuotaSnapshots, description: "Snapshots of volumes", standard: standardLimit,
			Count: func(o *Organisation) int { return object.Count(&o.Snapshots, o.Store.Now) }},
		{Name: QuotaSnapshotPolicies, description: "Snapshot policies", standard: standardLimit,
			Count: func(o *Organisation) int { return o.SnapshotPolicies.Len() }},
		{Name: QuotaClusters, description: "Kubernetes clusters", service: "kubernetes", standard: standardLimit,
			Count: func(o *Organisation) int { return object.Count(&o.Clusters, o.Store.Now) }},
		{Name: QuotaBuckets, description: "Buckets", service: "objectStorage", standard: standardLimit,
			Count: func(o *Organisation) int { return o.Buckets.Len() }},
	}
}

// RequestedPeerings are counted where they were asked for, not on the other side.
func RequestedPeerings(o *Organisation) int {
	requested := 0
	for p := range o.Peerings.All() {
		if p.Requester.Org == o {
			requested++
		}
	}
	return requested
}

func mostRoutes(o *Organisation) int {
	most := 0
	for t := range o.RouteTables.All() {
		most = max(most, t.Routes.Len())
	}
	return most
}

func mostListeners(o *Organisation) int {
	most := 0
	for lb := range object.Present(&o.Loadbalancers, o.Store.Now) {
		most = max(most, len(lb.Listeners))
	}
	return most
}

// FindQuota finds a kind of quota by its name.
func FindQuota(name string) (QuotaKind, error) {
	for _, kind := range QuotaKinds() {
		if kind.Name == name {
			return kind, nil
		}
	}
	return QuotaKind{}, apierror.NotFound("quota", name)
}

// Admit reports whether the organisation may have one more of a kind of object.
func (o *Organisation) Admit(name string) error {
	kind, err := FindQuota(name)
	if err != nil {
		return err
	}
	return o.admitAfter(kind, o.Owner().usage(kind), 1)
}

// AdmitMore reports whether the organisation may have so much more of a kind.
func (o *Organisation) AdmitMore(name string, more int) error {
	kind, err := FindQuota(name)
	if err != nil {
		return err
	}
	return o.admitAfter(kind, o.Owner().usage(kind), more)
}

// AdmitTo is admit for a quota per object, of which used are in use.
func (o *Organisation) AdmitTo(name string, used int) error {
	kind, err := FindQuota(name)
	if err != nil {
		return err
	}
	return o.admitAfter(kind, used, 1)
}

func (o *Organisation) admitAfter(kind QuotaKind, used, more int) error {
	limit := o.Owner().Limit(kind)
	if used+more <= limit {
		return nil
	}
	return apierror.Exhausted("quota %q of organisation %q is used up: %d of %d, and %d more wanted; "+
		"delete some, or ask for more with POST /v1/quotas/increase-requests",
		kind.Name, o.Owner().Identity, used, limit, more)
}

// Limit is how many objects of a kind the organisation may have.
func (o *Organisation) Limit(kind QuotaKind) int {
	if limit, set := o.limits[kind.Name]; set {
		return limit
	}
	return kind.standard
}

// usage is what all parts of an organisation have together.
func (o *Organisation) usage(kind QuotaKind) int {
	used := 0
	for part := range o.Parts() {
		if n := kind.Count(part); kind.perObject {
			used = max(used, n)
		} else {
			used += n
		}
	}
	return used
}

// SetLimit changes a quota, and approves the requests that it fulfils.
func (o *Organisation) SetLimit(name string, limit int, now time.Time) error {
	if _, err := FindQuota(name); err != nil {
		return err
	}
	if limit < 0 {
		return apierror.Invalid("quota %q: a limit of %d is less than nothing", name, limit)
	}
	o.limits[name] = limit
	for i := range o.Increases[name] {
		request := &o.Increases[name][i]
		if request.Decision == DecisionPending && request.NewMaxUsageRequested <= limit {
			request.Decision, request.UpdatedAt = decisionApproved, now
		}
	}
	return nil
}

// The states of a request for more.
const (
	DecisionPending  = "pending"
	decisionApproved = "approved"
)

// Quota is the quota for a kind of objects as the API describes it.
func (o *Organisation) Quota(kind QuotaKind) wire.Quota {
	view := wire.Quota{
		Name: kind.Name, Description: kind.description, Service: cmp.Or(kind.service, "iaas"), CreatedAt: o.CreatedAt,
		MaxUsage: o.Limit(kind), CurrentUsage: o.usage(kind), QuotaType: "count",
		Organisation: o.Short(), IncreaseRequests: append([]wire.QuotaIncrease(nil), o.Increases[kind.Name]...),
	}
	if kind.perObject {
		view.QuotaType = "count-per-object"
	}
	return view
}
