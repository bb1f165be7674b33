// Package behaviour provides the choices between behaviours of the API that no public source settles, and how long its
// operations take.
package behaviour

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
)

// Switches choose between behaviours that no public source settles, so that a
// client can be tested under every reading. The zero value is the emulator's
// best guess at the real API.
type Switches struct {
	// Updates says what PUT does to settings its body leaves out.
	Updates UpdateMode
	// InlineListeners says what creating a load balancer does with the
	// listeners in its body.
	InlineListeners InlineListeners
	// InternalAddressAlsoExternal lists the address of an internal load
	// balancer in externalIpAddresses too.
	InternalAddressAlsoExternal bool
	// OneProtocolPerPort refuses (409) a TCP and a UDP listener on one port.
	OneProtocolPerPort bool
	// ExclusiveTargetGroups refuses (400) a target group that another listener
	// uses already.
	ExclusiveTargetGroups bool
	// LateRelease keeps the listeners of a deleting load balancer attached to
	// their target groups until the load balancer is gone. The same goes for the
	// security groups and reserved IPs of load balancers and NAT gateways.
	LateRelease bool
	// KeepDeletedMachines leaves the attachments of deleted machines in place.
	KeepDeletedMachines bool
	// NoProjects refuses (403) everything about projects, like an organisation
	// whose projects feature is off.
	NoProjects bool
	// StrictLabels refuses (400) label keys and values that are not lower case
	// letters, digits and hyphens, as the client's documentation has it. Qualified
	// keys (a domain, a slash, a name) are accepted in any case.
	StrictLabels bool
	// CreateStatus answers POST requests that create: 201 (0 means that) or 200.
	CreateStatus int
	// ConflictStatus answers conflicts: 409 (0 means that), 400 or 422.
	ConflictStatus int
	// QuotaStatus answers creations beyond a quota: 403 (0 means that), 409, 422
	// or 429.
	QuotaStatus int
	// TargetStatus answers attaching a machine that is not there or in another
	// VPC: 400 (0 means that), 404, 409 or 422.
	TargetStatus int
	// DoneStatus answers what has no content to answer with, such as DELETE: 204 (0
	// means that), 200 or 202.
	DoneStatus int
	// DoneBody is the body of those answers: none (NoBody, or ""), or something
	// that clients can ignore, which needs a DoneStatus of 200 or 202.
	DoneBody DoneBody
	// PermissionStatus answers what credentials may not do: 403 (0 means that),
	// 401 or 404.
	PermissionStatus int
	// RequestsPerSecond is how many requests the API answers, with as many at
	// once after a pause; 429 with Retry-After for more. 0 answers all.
	RequestsPerSecond int
	// UniqueNames refuses (409) a name that another object of the same kind in
	// the organisation has. Listeners are not checked.
	UniqueNames bool
	// StrictSecurityGroups applies the documented limits, which the vendor's own
	// tools exceed: names of 16 ASCII characters, ports from 1 to 65534, a policy
	// in every rule, no priority twice, and always an objectVersion.
	StrictSecurityGroups bool
	// UniqueRulePriorities refuses (400) two rules of one direction with the
	// same priority; StrictSecurityGroups implies it.
	UniqueRulePriorities bool
	// IPv4OnlyLoadbalancers gives load balancers no IPv6 address, not even in a
	// dual-stack subnet or region.
	IPv4OnlyLoadbalancers bool
	// NullRemovesHealthCheck makes a PUT with "healthCheck": null remove it also
	// when Updates is Merge, where null is else as good as leaving it out.
	NullRemovesHealthCheck bool
	// ApplicationProtocols accepts http, https, grpc and quic as protocols of
	// listeners and target groups, and not only tcp and udp. They are carried like
	// tcp (quic: like udp).
	ApplicationProtocols bool
	// LoadbalancerHostnames gives load balancers a hostname besides their
	// addresses. Nothing resolves it.
	LoadbalancerHostnames bool
	// DuplicateRoutes accepts several routes of a route table with the same
	// destination.
	DuplicateRoutes bool
	// RouteAnswer is what creating and changing one route answers with.
	RouteAnswer RouteAnswer
	// BareRouteTables leaves routes and subnets out where route tables are listed.
	BareRouteTables bool
	// VolumesByName finds a volume in a path by its name, too, and not only by its
	// identity and slug.
	VolumesByName bool
	// VolumesPerMachine is how many volumes can be attached to one machine besides
	// its root volume (0 means 20); 409 for more.
	VolumesPerMachine int
	// DetachStatus answers detaching a volume that is not attached to the machine:
	// 404 (0 means that) or 400.
	DetachStatus int
	// KeepAttachedVolumes leaves volumes attached to machines that were deleted.
	KeepAttachedVolumes bool
	// StrictSnapshots refuses (409) a snapshot of a volume that is not Available, as
	// the client's documentation has it.
	StrictSnapshots bool
	// DurationTexts answers the ttl of snapshot policies with a text such as
	// 168h0m0s, and not with a number of nanoseconds, which is what the official
	// client can read.
	DurationTexts bool
	// DefaultRouteTables shows the default route table of the VPC in subnets that name
	// none. Without it they show no route table.
	DefaultRouteTables bool
	// DefaultPolicies shows ROUND_ROBIN in target groups whose policy was not set.
	// Without it they show no policy.
	DefaultPolicies bool
	// ReadyMachines gives a machine that runs the status ready, and not running.
	ReadyMachines bool
	// ActiveBuckets gives a bucket the status active, and not ready.
	ActiveBuckets bool
	// ConditionalRequests gives answers to GET an ETag, and answers 304 without a body
	// to those whose If-None-Match has the same.
	ConditionalRequests bool
	// IgnoredFilters are query keys that lists ignore; "matchLabels" stands for
	// all label filters.
	IgnoredFilters []string
}

// UpdateMode says what PUT does to settings its body leaves out.
type UpdateMode string

// The modes of PUT. The zero value means Replace.
const (
	// Replace clears what is left out (except where the API documents "absent
	// means unchanged": subnet, reserved IP, instance size, machine settings; and
	// the policy and the selector of a target group, and everything of clusters,
	// node pools, buckets, service accounts, federated identities and their
	// providers, because the vendor's tools send only what changes of them).
	Replace UpdateMode = "replace"
	// ReplaceAll clears also what Replace keeps for the vendor's tools. Names, machine
	// types, zones and versions of Kubernetes stay.
	ReplaceAll UpdateMode = "replace-all"
	// Merge leaves it as it was.
	Merge UpdateMode = "merge"
)

// InlineListeners says what creating a load balancer does with the listeners in
// its body.
type InlineListeners string

// The treatments of inline listeners. The zero value means AcceptListeners.
const (
	AcceptListeners InlineListeners = "accepted"
	IgnoreListeners InlineListeners = "ignored"
	// RefuseListeners answers 400 when there are any.
	RefuseListeners InlineListeners = "refused"
)

// RouteAnswer is what creating and changing one route answers with.
type RouteAnswer string

// The answers. The zero value means AnswerRoute.
const (
	AnswerRoute RouteAnswer = "route"
	// AnswerTable is the route table with all its routes.
	AnswerTable RouteAnswer = "table"
	// AnswerNothing has no content, see DoneStatus.
	AnswerNothing RouteAnswer = "nothing"
)

// Validate returns an error if a choice has an unknown value.
func (s Switches) Validate() error {
	if !slices.Contains([]RouteAnswer{"", AnswerRoute, AnswerTable, AnswerNothing}, s.RouteAnswer) {
		return fmt.Errorf("switch RouteAnswer is %q: use %q, %q or %q", s.RouteAnswer, AnswerRoute, AnswerTable,
			AnswerNothing)
	}
	if !slices.Contains([]UpdateMode{"", Replace, ReplaceAll, Merge}, s.Updates) {
		return fmt.Errorf("switch Updates is %q: use %q, %q or %q", s.Updates, Replace, ReplaceAll, Merge)
	}
	known := []InlineListeners{"", AcceptListeners, IgnoreListeners, RefuseListeners}
	if !slices.Contains(known, s.InlineListeners) {
		return fmt.Errorf("switch InlineListeners is %q: use %q, %q or %q",
			s.InlineListeners, AcceptListeners, IgnoreListeners, RefuseListeners)
	}
	return errors.Join(s.validateStatuses(), s.validateDoneBody())
}

func (s Switches) validateStatuses() error {
	if s.VolumesPerMachine < 0 {
		return fmt.Errorf("switch VolumesPerMachine is %d: use 0 for the usual limit, or more", s.VolumesPerMachine)
	}
	if s.RequestsPerSecond < 0 {
		return fmt.Errorf("switch RequestsPerSecond is %d: use 0 for no limit, or more", s.RequestsPerSecond)
	}
	for _, choice := range []struct {
		name    string
		status  int
		allowed []int
	}{
		{"CreateStatus", s.CreateStatus, []int{0, http.StatusOK, http.StatusCreated}},
		{"ConflictStatus", s.ConflictStatus,
			[]int{0, http.StatusBadRequest, http.StatusConflict, http.StatusUnprocessableEntity}},
		{"TargetStatus", s.TargetStatus,
			[]int{0, http.StatusBadRequest, http.StatusNotFound, http.StatusConflict, http.StatusUnprocessableEntity}},
		{"DetachStatus", s.DetachStatus, []int{0, http.StatusNotFound, http.StatusBadRequest}},
		{"DoneStatus", s.DoneStatus, []int{0, http.StatusNoContent, http.StatusOK, http.StatusAccepted}},
		{"PermissionStatus", s.PermissionStatus,
			[]int{0, http.StatusForbidden, http.StatusUnauthorized, http.StatusNotFound}},
		{"QuotaStatus", s.QuotaStatus,
			[]int{0, http.StatusForbidden, http.StatusConflict, http.StatusUnprocessableEntity,
				http.StatusTooManyRequests}},
	} {
		if !slices.Contains(choice.allowed, choice.status) {
			return fmt.Errorf("switch %s is %d: use one of %v", choice.name, choice.status, choice.allowed[1:])
		}
	}
	return nil
}

// Status is what the API answers instead of a status that no public source settles.
func (s Switches) Status(standard int) int {
	chosen, fallback := 0, standard
	switch standard {
	case http.StatusCreated:
		chosen = s.CreateStatus
	case http.StatusConflict:
		chosen = s.ConflictStatus
	case http.StatusForbidden:
		chosen = s.PermissionStatus
	case http.StatusNoContent:
		chosen = s.DoneStatus
	case apierror.StatusQuota:
		chosen, fallback = s.QuotaStatus, http.StatusForbidden
	case apierror.StatusTarget:
		chosen, fallback = s.TargetStatus, http.StatusBadRequest
	case apierror.StatusDetach:
		chosen, fallback = s.DetachStatus, http.StatusNotFound
	}
	if chosen != 0 {
		return chosen
	}
	return fallback
}
