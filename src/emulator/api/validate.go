package api

import (
	"net/netip"
	"net/url"
	"slices"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/behaviour"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/object"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/state"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/traffic"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

func checkPort(field string, port int) error {
	if port < 1 || port > object.MaxPort {
		return apierror.Invalid("field %q must be 1 to %d, not %d", field, object.MaxPort, port)
	}
	return nil
}

// oneOf refuses a value that is not one of those that a field can have.
func oneOf(field, value string, known ...string) error {
	if !slices.Contains(known, value) {
		return apierror.Invalid("field %q must be one of %q, not %q", field, known, value)
	}
	return nil
}

// checkProtocol checks the protocol of a listener or target group.
func (srv *Server) checkProtocol(protocol string) error {
	known := []string{string(traffic.TCP), string(traffic.UDP)}
	if srv.switches.ApplicationProtocols {
		known = append(known, "http", "https", "grpc", state.ProtocolQUIC)
	}
	if !slices.Contains(known, protocol) {
		return apierror.Invalid("field \"protocol\" must be one of %v, not %q", known, protocol)
	}
	return nil
}

func checkPolicy(policy string) error {
	known := []traffic.Policy{traffic.RoundRobin, traffic.Random, traffic.Maglev}
	if policy != "" && !slices.Contains(known, traffic.Policy(policy)) {
		return apierror.Invalid("field \"loadbalancingPolicy\" must be one of %v, not %q", known, policy)
	}
	return nil
}

func checkSources(sources []string) error {
	for _, source := range sources {
		if _, err := state.ParseSource(source); err != nil {
			return err
		}
	}
	return nil
}

func checkHealth(h *wire.HealthCheck) error {
	if h == nil {
		return nil
	}
	protocols := []string{"tcp", "udp", "http", "https"}
	if !slices.Contains(protocols, h.Protocol) {
		return apierror.Invalid("field \"healthCheck.protocol\" must be one of %v, not %q", protocols, h.Protocol)
	}
	if _, err := url.Parse(h.Path); err != nil {
		return apierror.Invalid("field \"healthCheck.path\": %v", err)
	}
	for _, limit := range []struct {
		field           string
		value, min, max int
	}{
		{"port", int(h.Port), 1, object.MaxPort},
		{"periodSeconds", h.PeriodSeconds, 5, 300},
		{"timeoutSeconds", h.TimeoutSeconds, 1, 300},
		{"unhealthyThreshold", int(h.UnhealthyThreshold), 1, 10},
		{"healthyThreshold", int(h.HealthyThreshold), 1, 10},
	} {
		if limit.value < limit.min || limit.value > limit.max {
			return apierror.Invalid("field \"healthCheck.%s\" must be %d to %d, not %d", limit.field, limit.min,
				limit.max, limit.value)
		}
	}
	return nil
}

// checkServable refuses ranges of a VPC that the data plane cannot serve. Its
// network is one, so VPCs do not have address spaces of their own.
func (srv *Server) checkServable(field string, v *state.VPC, cidrs []netip.Prefix) error {
	if !srv.network.IsValid() {
		return nil
	}
	for _, cidr := range cidrs {
		if !state.Within(cidr, []netip.Prefix{srv.network}) {
			return apierror.Invalid("field %q: %s is outside the data plane's network %s", field, cidr, srv.network)
		}
		for org := range srv.Store.Spaces() {
			for other := range org.VPCs.All() {
				if other != v && slices.ContainsFunc(other.CIDRs, cidr.Overlaps) {
					return apierror.Conflict("field %q: %s overlaps VPC %q, which shares the data plane's network",
						field, cidr, other.Identity)
				}
			}
		}
	}
	return nil
}

// checkPublic refuses ranges of a subnet that contain public addresses of the
// data plane's network.
func (srv *Server) checkPublic(field string, cidrs []netip.Prefix) error {
	if !srv.network.IsValid() {
		return nil
	}
	for r := range srv.Store.Regions.All() {
		for _, pool := range r.Public {
			if slices.ContainsFunc(cidrs, pool.Prefix().Overlaps) {
				return apierror.Conflict("field %q: %s are public addresses of region %s", field, pool.Prefix(), r.Slug)
			}
		}
	}
	return nil
}

func (srv *Server) rules() object.UpdateRules {
	return object.UpdateRules{Merge: srv.switches.Updates == behaviour.Merge,
		ReplaceAll: srv.switches.Updates == behaviour.ReplaceAll, NullRemoves: srv.switches.NullRemovesHealthCheck}
}
