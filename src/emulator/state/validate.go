package state

import (
	"net/url"
	"slices"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/object"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/traffic"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

// CheckSources checks the addresses that a listener accepts.
func CheckSources(sources []string) error {
	for _, source := range sources {
		if _, err := ParseSource(source); err != nil {
			return err
		}
	}
	return nil
}

// CheckBalancing checks the policy and the health check of a target group.
func (g *TargetGroup) CheckBalancing() error {
	known := []traffic.Policy{traffic.RoundRobin, traffic.Random, traffic.Maglev}
	if g.Policy != "" && !slices.Contains(known, traffic.Policy(g.Policy)) {
		return apierror.Invalid("field \"loadbalancingPolicy\" must be one of %v, not %q", known, g.Policy)
	}
	if g.Health == nil {
		return nil
	}
	return checkHealth(g.Health)
}

func checkHealth(h *wire.HealthCheck) error {
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
