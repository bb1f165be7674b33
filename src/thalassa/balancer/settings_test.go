package balancer

import (
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/annotation"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
)

// TestInternalOf: whoever says internal is never public, and who says both is neither.
func TestInternalOf(t *testing.T) {
	const no, yes, unknown = "public", "internal", "nobody knows"
	tests := map[string]struct {
		annotations []string
		want        string
		given       bool
		contradicts bool
	}{
		"nothing":                     {nil, no, false, false},
		"internal":                    {[]string{"internal", "true"}, yes, true, false},
		"not internal":                {[]string{"internal", "false"}, no, true, false},
		"type internal":               {[]string{"type", "internal"}, yes, true, false},
		"type public":                 {[]string{"type", "public"}, no, true, false},
		"both internal":               {[]string{"type", "internal", "internal", "true"}, yes, true, false},
		"both public":                 {[]string{"type", "public", "internal", "false"}, no, true, false},
		"type public, but internal":   {[]string{"type", "public", "internal", "true"}, yes, true, false},
		"type internal, but not":      {[]string{"type", "internal", "internal", "false"}, unknown, true, true},
		"another type":                {[]string{"type", "private"}, unknown, false, false},
		"another type, internal":      {[]string{"type", "private", "internal", "true"}, unknown, true, false},
		"no yes and no no":            {[]string{"internal", "perhaps"}, unknown, false, false},
		"type internal, no yes or no": {[]string{"type", "internal", "internal", "perhaps"}, unknown, true, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			web := service("web", 80)
			delete(web.Annotations, label.AnnotationPrefix+"type")
			annotated(tt.annotations...)(web)
			read, notices := newAnnotations().read(web)
			got := map[bool]string{false: no, true: yes}[read.internal.Value]
			if read.internal.Invalid {
				got = unknown
			}
			if got != tt.want || read.internal.Given != tt.given {
				t.Errorf("it is %s, asked for: %t; want %s, %t", got, read.internal.Given, tt.want, tt.given)
			}
			if contradicts := len(notices) == 1 && notices[0].Reason == reasonConflict; contradicts != tt.contradicts ||
				(len(notices) > 0) != (tt.want == unknown) {
				t.Errorf("notices %v; want one of a contradiction: %t", notices, tt.contradicts)
			}
		})
	}
}

func TestUnsigned(t *testing.T) {
	got := unsigned(annotation.Setting[int]{Value: maxConnectionsLimit, Given: true, Invalid: true})
	if got.Value != 1<<30 || !got.Given || !got.Invalid {
		t.Errorf("setting %+v, want the same", got)
	}
}

// TestPortsHaveTheirOwnSettings: by name, else by number, else those of the whole Service.
func TestPortsHaveTheirOwnSettings(t *testing.T) {
	web := service("web", 80, 443, 8443)
	annotated("max-connections", "1", "max-connections.443", "2", "max-connections.p8443", "3", "max-connections.8443",
		"4",
		"loadbalancing-policy.p80", "MAGLEV", "enable-proxy-protocol.80", "true", "idle-connection-timeout.p443",
		"often")(web)
	read, notices := newAnnotations().read(web)
	for key, port := range read.ports {
		limit := map[int32]uint32{80: 1, 443: 2, 8443: 3}[key.Port]
		policy := map[bool]string{true: "MAGLEV", false: "ROUND_ROBIN"}[key.Port == 80]
		if port.listener[0].Value != limit || port.policy.Value != policy ||
			port.proxyProtocol.Value != (key.Port == 80) || port.listener[1].Invalid != (key.Port == 443) {
			t.Errorf("port %s: %+v", key, port)
		}
	}
	if len(read.ports) != 3 || len(notices) != 1 {
		t.Errorf("%d ports, notices %v; want three, and one about the timeout", len(read.ports), notices)
	}
}
