package state

import (
	"slices"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/object"
)

// The states of a peering connection.
const (
	PeeringPending  = "pending"
	PeeringActive   = "active"
	PeeringRejected = "rejected"
	peeringExpired  = "expired"
)

// PeeringTimeout is how long a request waits for an answer.
const PeeringTimeout = 7 * 24 * time.Hour

// Peering connects two VPCs. Both sides list it, perhaps in two organisations.
type Peering struct {
	object.Record
	Requester, Accepter *VPC
	Status              string
	Message             *string
	// Routes are those that send their traffic across.
	Routes map[*RouteEntry]bool
}

// State is the status, which changes by itself if a request is not answered.
func (p *Peering) State(now time.Time) string {
	if p.Status == PeeringPending && !now.Before(p.CreatedAt.Add(PeeringTimeout)) {
		return peeringExpired
	}
	return p.Status
}

// Traits are the values of the peering that filters of lists can name.
func (p *Peering) Traits(now time.Time) object.Traits {
	return p.Record.Traits().With("status", p.State(now)).
		With("vpc", p.Requester.Identity, p.Requester.Slug, p.Accepter.Identity, p.Accepter.Slug)
}

// Overlaps returns whether the two VPCs have addresses in common.
func (p *Peering) Overlaps() bool {
	for _, ours := range p.Requester.CIDRs {
		if slices.ContainsFunc(p.Accepter.CIDRs, ours.Overlaps) {
			return true
		}
	}
	return false
}
