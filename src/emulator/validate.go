package emulator

import (
	"net/netip"
	"net/url"
	"slices"
	"unicode/utf8"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/traffic"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

// Limits that the vendor's Terraform provider enforces before it sends.
const (
	maxName        = 62
	maxDescription = 255
	maxPort        = 65535
)

func checkName(name string) error {
	if n := utf8.RuneCountInString(name); n < 1 || n > maxName {
		return invalid("field \"name\" must have 1 to %d characters, %q has %d", maxName, name, n)
	}
	return nil
}

func checkMeta(s spec) error {
	if n := utf8.RuneCountInString(s.description); n > maxDescription {
		return invalid("field \"description\" must have at most %d characters, not %d", maxDescription, n)
	}
	if err := checkLabels(s.labels); err != nil {
		return err
	}
	if err := checkAnnotations(s.annotations); err != nil {
		return err
	}
	return checkName(s.name)
}

func checkPort(field string, port int) error {
	if port < 1 || port > maxPort {
		return invalid("field %q must be 1 to %d, not %d", field, maxPort, port)
	}
	return nil
}

// checkProtocol checks the protocol of a listener or target group.
func (e *Emulator) checkProtocol(protocol string) error {
	known := []string{string(traffic.TCP), string(traffic.UDP)}
	if e.switches.ApplicationProtocols {
		known = append(known, "http", "https", "grpc", protocolQUIC)
	}
	if !slices.Contains(known, protocol) {
		return invalid("field \"protocol\" must be one of %v, not %q", known, protocol)
	}
	return nil
}

// protocolQUIC is the only application protocol that is not carried by TCP.
const protocolQUIC = "quic"

// transport is what carries a listener's protocol.
func transport(protocol string) traffic.Protocol {
	if protocol == protocolQUIC || protocol == string(traffic.UDP) {
		return traffic.UDP
	}
	return traffic.TCP
}

func checkPolicy(policy string) error {
	known := []traffic.Policy{traffic.RoundRobin, traffic.Random, traffic.Maglev}
	if !slices.Contains(known, traffic.Policy(policy)) {
		return invalid("field \"loadbalancingPolicy\" must be one of %v, not %q", known, policy)
	}
	return nil
}

// parseSource reads an allowed source: a CIDR, or an address.
func parseSource(source string) (netip.Prefix, error) {
	if addr, err := netip.ParseAddr(source); err == nil {
		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	prefix, err := netip.ParsePrefix(source)
	if err != nil {
		return netip.Prefix{}, invalid("field \"allowedSources\": %q is neither a CIDR nor an IP address", source)
	}
	return prefix.Masked(), nil
}

func checkSources(sources []string) error {
	for _, source := range sources {
		if _, err := parseSource(source); err != nil {
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
		return invalid("field \"healthCheck.protocol\" must be one of %v, not %q", protocols, h.Protocol)
	}
	if _, err := url.Parse(h.Path); err != nil {
		return invalid("field \"healthCheck.path\": %v", err)
	}
	for _, limit := range []struct {
		field           string
		value, min, max int
	}{
		{"port", int(h.Port), 1, maxPort},
		{"periodSeconds", h.PeriodSeconds, 5, 300},
		{"timeoutSeconds", h.TimeoutSeconds, 1, 300},
		{"unhealthyThreshold", int(h.UnhealthyThreshold), 1, 10},
		{"healthyThreshold", int(h.HealthyThreshold), 1, 10},
	} {
		if limit.value < limit.min || limit.value > limit.max {
			return invalid("field \"healthCheck.%s\" must be %d to %d, not %d", limit.field, limit.min, limit.max, limit.value)
		}
	}
	return nil
}
