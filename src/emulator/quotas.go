package emulator

import (
	"fmt"
	"net/http"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

// The names of the quotas. The real ones are not published.
const (
	quotaProjects      = "projects"
	quotaVPCs          = "vpcs"
	quotaSubnets       = "subnets"
	quotaRouteTables   = "route-tables"
	quotaRoutes        = "route-table-routes"
	quotaNATGateways   = "nat-gateways"
	quotaReservedIPs   = "reserved-ips"
	quotaMachines      = "machines"
	quotaLoadbalancers = "loadbalancers"
	quotaListeners     = "loadbalancer-listeners"
	quotaTargetGroups  = "loadbalancer-target-groups"
	quotaCloudInits    = "cloud-init-templates"
	quotaPeerings      = "vpc-peering-connections"
	quotaFilesystems   = "tfs-instances"

	quotaSecurityGroups = "security-groups"
)

// standardLimit is a limit that tests and benchmarks do not meet by accident.
const standardLimit = 100_000

// quotaKind is something that an organisation may only have so many of. The
// projects of an organisation share its quotas.
type quotaKind struct {
	name, description string
	standard          int
	// count is how many a space has; for a quota per object, how many the object
	// with most of them has.
	count func(*organisation) int
	// perObject quotas hold for each parent object on its own.
	perObject bool
}

// quotaKinds has one line for each kind of object. What it counts must be gone
// before a project can be deleted.
func quotaKinds() []quotaKind {
	return []quotaKind{
		{name: quotaProjects, description: "Projects", standard: standardLimit, count: func(o *organisation) int { return o.projects.len() }},
		{name: quotaVPCs, description: "VPCs", standard: standardLimit, count: func(o *organisation) int { return o.vpcs.len() }},
		{name: quotaSubnets, description: "Subnets", standard: standardLimit, count: func(o *organisation) int { return o.subnets.len() }},
		{name: quotaRouteTables, description: "Route tables", standard: standardLimit, count: func(o *organisation) int { return o.routeTables.len() }},
		{name: quotaRoutes, description: "Routes of one route table", standard: standardLimit, count: mostRoutes, perObject: true},
		{name: quotaNATGateways, description: "NAT gateways", standard: standardLimit, count: func(o *organisation) int { return o.natGateways.len() }},
		{name: quotaSecurityGroups, description: "Security groups", standard: standardLimit, count: func(o *organisation) int { return o.securityGroups.len() }},
		{name: quotaReservedIPs, description: "Reserved IPs", standard: standardLimit, count: func(o *organisation) int { return o.reservedIPs.len() }},
		{name: quotaMachines, description: "Machines", standard: standardLimit, count: func(o *organisation) int { return o.machines.len() }},
		{name: quotaLoadbalancers, description: "Load balancers", standard: standardLimit, count: func(o *organisation) int { return o.loadbalancers.len() }},
		{name: quotaListeners, description: "Listeners of one load balancer", standard: maxListeners, count: mostListeners, perObject: true},
		{name: quotaTargetGroups, description: "Target groups", standard: standardLimit, count: func(o *organisation) int { return o.targetGroups.len() }},
		{name: quotaCloudInits, description: "Cloud-init templates", standard: standardLimit, count: func(o *organisation) int { return o.cloudInits.len() }},
		{name: quotaPeerings, description: "VPC peering connections", standard: standardLimit, count: requestedPeerings},
		{name: quotaFilesystems, description: "NFS file systems", standard: standardLimit, count: func(o *organisation) int { return o.filesystems.len() }},
	}
}

// requestedPeerings are counted where they were asked for, not on the other side.
func requestedPeerings(o *organisation) int {
	requested := 0
	for p := range o.peerings.all() {
		if p.requester.org == o {
			requested++
		}
	}
	return requested
}

func mostRoutes(o *organisation) int {
	most := 0
	for t := range o.routeTables.all() {
		most = max(most, t.routes.len())
	}
	return most
}

func mostListeners(o *organisation) int {
	most := 0
	for lb := range o.loadbalancers.all() {
		most = max(most, len(lb.listeners))
	}
	return most
}

func findQuota(name string) (quotaKind, error) {
	for _, kind := range quotaKinds() {
		if kind.name == name {
			return kind, nil
		}
	}
	return quotaKind{}, notFound("quota", name)
}

// admit says whether the organisation may have one more of a kind of object.
func (o *organisation) admit(name string) error {
	kind, err := findQuota(name)
	if err != nil {
		return err
	}
	return o.admitAfter(kind, o.owner().usage(kind))
}

// admitTo is admit for a quota per object, of which used are in use.
func (o *organisation) admitTo(name string, used int) error {
	kind, err := findQuota(name)
	if err != nil {
		return err
	}
	return o.admitAfter(kind, used)
}

func (o *organisation) admitAfter(kind quotaKind, used int) error {
	limit := o.owner().limit(kind)
	if used < limit {
		return nil
	}
	return &problem{statusQuota, fmt.Sprintf("quota %q of organisation %q is used up: %d of %d; delete some, or ask for more with POST /v1/quotas/increase-requests",
		kind.name, o.owner().Identity, used, limit)}
}

func (o *organisation) limit(kind quotaKind) int {
	if limit, set := o.limits[kind.name]; set {
		return limit
	}
	return kind.standard
}

// usage is what all parts of an organisation have together.
func (o *organisation) usage(kind quotaKind) int {
	used := 0
	for part := range o.parts() {
		if n := kind.count(part); kind.perObject {
			used = max(used, n)
		} else {
			used += n
		}
	}
	return used
}

// setLimit changes a quota, and approves the requests that it fulfils.
func (o *organisation) setLimit(name string, limit int, now time.Time) error {
	if _, err := findQuota(name); err != nil {
		return err
	}
	if limit < 0 {
		return invalid("quota %q: a limit of %d is less than nothing", name, limit)
	}
	o.limits[name] = limit
	for i := range o.increases[name] {
		request := &o.increases[name][i]
		if request.Decision == decisionPending && request.NewMaxUsageRequested <= limit {
			request.Decision, request.UpdatedAt = decisionApproved, now
		}
	}
	return nil
}

// The states of a request for more.
const (
	decisionPending  = "pending"
	decisionApproved = "approved"
)

// SetQuota limits how many objects of a kind an organisation, named by identity
// or slug (empty: the first), may have. The names are those of GET /v1/quotas.
// What is there already stays.
func (e *Emulator) SetQuota(organisation, name string, limit int) error {
	org, err := e.organisation(organisation)
	if err == nil {
		err = e.steer(func(now time.Time) error { return org.setLimit(name, limit, now) })
	}
	if err != nil {
		return fmt.Errorf("setting a quota: %w", err)
	}
	return nil
}

func (e *Emulator) quotaRoutes() {
	e.mux.HandleFunc("PUT /_emulator/quotas/{name}", func(w http.ResponseWriter, r *http.Request) {
		in, err := instruction[struct {
			Organisation string
			MaxUsage     *int
		}](r)
		switch {
		case err == nil && in.MaxUsage == nil:
			err = invalid("field \"maxUsage\" is required")
		case err == nil:
			err = e.SetQuota(in.Organisation, r.PathValue("name"), *in.MaxUsage)
		}
		e.report(w, http.StatusNoContent, nil, err)
	})
}

func (e *Emulator) quotaOperations() map[string]handler {
	return map[string]handler{
		"GET /v1/quotas":                    e.listQuotas,
		"GET /v1/quotas/{name}":             e.getQuota,
		"POST /v1/quotas/increase-requests": e.requestIncrease,
	}
}

func (o *organisation) quota(kind quotaKind) wire.Quota {
	view := wire.Quota{
		Name: kind.name, Description: kind.description, Service: "iaas", CreatedAt: o.CreatedAt,
		MaxUsage: o.limit(kind), CurrentUsage: o.usage(kind), QuotaType: "count",
		Organisation: o.short(), IncreaseRequests: append([]wire.QuotaIncrease(nil), o.increases[kind.name]...),
	}
	if kind.perObject {
		view.QuotaType = "count-per-object"
	}
	return view
}

func (e *Emulator) listQuotas(c *call) (reply, error) {
	views := []wire.Quota{}
	for _, kind := range quotaKinds() {
		views = append(views, c.org.owner().quota(kind))
	}
	return many(views), nil
}

func (e *Emulator) getQuota(c *call) (reply, error) {
	kind, err := findQuota(c.PathValue("name"))
	if err != nil {
		return reply{}, err
	}
	return one(c.org.owner().quota(kind)), nil
}

// requestIncrease notes a request. It is approved by whoever sets the limit.
func (e *Emulator) requestIncrease(c *call) (reply, error) {
	in, err := decode[wire.QuotaIncreaseInput](c)
	if err != nil {
		return reply{}, err
	}
	kind, err := findQuota(in.Name)
	if err != nil {
		return reply{}, invalid("field \"name\": %v", err)
	}
	org := c.org.owner()
	if limit := org.limit(kind); in.NewMaxUsage <= limit {
		return reply{}, invalid("field \"newMaxUsage\" must be more than the current limit %d, not %d", limit, in.NewMaxUsage)
	}
	request := wire.QuotaIncrease{
		Identity: newIdentity("qir"), NewMaxUsageRequested: in.NewMaxUsage, RequestedReasonMessage: in.Reason,
		CreatedAt: c.now, UpdatedAt: c.now, Decision: decisionPending,
	}
	org.increases[in.Name] = append(org.increases[in.Name], request)
	return created(request.Identity, request), nil
}
