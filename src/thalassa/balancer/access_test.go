package balancer

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// networks are readable ones, sorted.
func networks(texts ...string) []netip.Prefix {
	var all []netip.Prefix
	for _, text := range texts {
		all = append(all, netip.MustParsePrefix(text))
	}
	return ordered(all)
}

// from are sources that somebody asks for.
func from(texts ...string) sources { return sources{Given: true, Value: networks(texts...)} }

// unreadable are sources of which nobody knows who is meant.
func unreadable() sources { return sources{Given: true, Invalid: true} }

// sameSources compares what they mean.
func sameSources(a, b sources) bool {
	return a.Given == b.Given && a.Invalid == b.Invalid && slices.Equal(a.Value, b.Value)
}

func TestRangesOf(t *testing.T) {
	tests := map[string]struct {
		spec   []string
		legacy string
		want   sources
		field  string // that a problem names; "" for none
	}{
		"none": {nil, "", sources{}, ""},
		"sorted, masked and once each": {[]string{"192.0.2.7/24", "10.0.0.0/8", " 192.0.2.0/24 "}, "",
			from("10.0.0.0/8", "192.0.2.0/24"), ""},
		"both families": {[]string{"2001:db8::1/32", "10.0.0.0/8"}, "",
			from("10.0.0.0/8", "2001:db8::/32"), ""},
		"everybody, spelt out": {[]string{"0.0.0.0/0"}, "", from("0.0.0.0/0"), ""},
		"one of two cannot be read": {[]string{"10.0.0.0/8", "10.0.0.0/33"}, "", unreadable(),
			"spec.loadBalancerSourceRanges"},
		"an address is no network":    {[]string{"10.0.0.1"}, "", unreadable(), "spec.loadBalancerSourceRanges"},
		"by the older annotation":     {nil, "10.0.0.0/8, 192.0.2.0/24", from("10.0.0.0/8", "192.0.2.0/24"), ""},
		"the older one loses":         {[]string{"10.0.0.0/8"}, "192.0.2.0/24", from("10.0.0.0/8"), ""},
		"the older one is blank":      {nil, " ", sources{}, ""},
		"the older one is unreadable": {nil, "everybody", unreadable(), sourceRangesAnnotation},
		"and does not matter":         {[]string{"10.0.0.0/8"}, "everybody", from("10.0.0.0/8"), ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			web := service("web", 80)
			web.Spec.LoadBalancerSourceRanges = tt.spec
			if tt.legacy != "" {
				web.Annotations[sourceRangesAnnotation] = tt.legacy
			}
			got, problem := rangesOf(web)
			if !sameSources(got, tt.want) {
				t.Errorf("sources = %+v, want %+v", got, tt.want)
			}
			if (problem == nil) != (tt.field == "") || problem != nil && problem.Annotation != tt.field {
				t.Errorf("problem = %v, want one about %q", problem, tt.field)
			}
		})
	}
}

func TestUnion(t *testing.T) {
	tests := map[string]struct{ all, want []sources }{
		"of none":                       {nil, []sources{{}}},
		"of nothing that is asked for":  {[]sources{{}, {}}, []sources{{}}},
		"an empty one asks for nothing": {[]sources{{Given: true}}, []sources{{}}},
		"an empty one takes nobody":     {[]sources{from("10.0.0.0/8"), {Given: true}}, []sources{from("10.0.0.0/8")}},
		"of two": {[]sources{from("192.0.2.0/24", "10.0.0.0/8"), from("10.0.0.0/8", "2001:db8::/32")},
			[]sources{from("10.0.0.0/8", "192.0.2.0/24", "2001:db8::/32")}},
		"what cannot be read spoils all": {[]sources{from("10.0.0.0/8"), {Invalid: true}},
			[]sources{{Given: true, Invalid: true, Value: networks("10.0.0.0/8")}}},
		"what cannot be read alone": {[]sources{{Invalid: true}}, []sources{unreadable()}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := union(tt.all...); !sameSources(got, tt.want[0]) {
				t.Errorf("union = %+v, want %+v", got, tt.want[0])
			}
		})
	}
}

// TestSourcesOfAService: every way to say them, together, for a port that is named by name or number.
func TestSourcesOfAService(t *testing.T) {
	tests := map[string]struct {
		annotations []string
		spec        []string
		p80, p443   sources
	}{
		"none": {nil, nil, sources{}, sources{}},
		"for all ports": {[]string{"acl-allowed-sources", "10.0.0.0/8"}, nil, from("10.0.0.0/8"),
			from("10.0.0.0/8")},
		"an address": {[]string{"acl-allowed-sources", "192.0.2.1, 2001:db8::1"}, nil,
			from("192.0.2.1/32", "2001:db8::1/128"), from("192.0.2.1/32", "2001:db8::1/128")},
		"for one port by name": {[]string{"acl-port-p80", "10.0.0.0/8"}, nil, from("10.0.0.0/8"), sources{}},
		"by name and number": {[]string{"acl-port-p80", "10.0.0.0/8", "acl-port-80", "192.0.2.0/24"}, nil,
			from("10.0.0.0/8", "192.0.2.0/24"), sources{}},
		"for one, all, and of the spec": {[]string{"acl-port-443", "198.51.100.7", "acl-allowed-sources", "10.0.0.0/8"},
			[]string{"192.0.2.0/24"},
			from("10.0.0.0/8", "192.0.2.0/24"), from("10.0.0.0/8", "192.0.2.0/24", "198.51.100.7/32")},
		"empty ones": {[]string{"acl-port-p80", "", "acl-allowed-sources", ""}, nil, sources{}, sources{}},
		"one port cannot be read": {[]string{"acl-port-p80", "nobody", "acl-allowed-sources", "10.0.0.0/8"}, nil,
			sources{Given: true, Invalid: true, Value: networks("10.0.0.0/8")}, from("10.0.0.0/8")},
		"no port can be read": {[]string{"acl-allowed-sources", "everybody"}, nil, unreadable(), unreadable()},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			web := service("web", 80, 443)
			annotated(tt.annotations...)(web)
			web.Spec.LoadBalancerSourceRanges = tt.spec
			read, _ := newAnnotations().read(web)
			for port, want := range map[int32]sources{80: tt.p80, 443: tt.p443} {
				got := read.ports[cloud.Key{Protocol: corev1.ProtocolTCP, Port: port}]
				if !sameSources(got.sources, want) {
					t.Errorf("port %d: sources = %+v, want %+v", port, got.sources, want)
				}
			}
		})
	}
}

// TestAllowedSources: what a security group lets in is what the listener does, also where that cannot be read, or is
// nobody's business.
func TestAllowedSources(t *testing.T) {
	open, closed := &resource.Listener{}, &resource.Listener{AllowedSources: []string{"192.0.2.0/24"}}
	ours := &resource.Listener{AllowedSources: []string{"192.0.2.0/24"},
		Annotations: lastApplied{}.with(settingSources).mergedInto(nil)}
	for name, tt := range map[string]struct {
		asked    sources
		listener *resource.Listener
		want     []netip.Prefix
	}{
		"new, for all":                         {sources{}, nil, nil},
		"new, for some":                        {from("10.0.0.0/8"), nil, networks("10.0.0.0/8")},
		"for others than before":               {from("10.0.0.0/8"), closed, networks("10.0.0.0/8")},
		"unreadable, and open":                 {unreadable(), open, nil},
		"unreadable, and closed":               {unreadable(), closed, networks("192.0.2.0/24")},
		"unreadable, and closed by us":         {unreadable(), ours, networks("192.0.2.0/24")},
		"not asked for, closed by others":      {sources{}, closed, networks("192.0.2.0/24")},
		"not asked for any more, closed by us": {sources{}, ours, nil},
	} {
		if got := (desired{}).allowedSources(tt.asked, tt.listener); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

// TestSetSources: a port is closed to all but those asked for, opened again only if we closed it, and not written when
// nothing changes.
func TestSetSources(t *testing.T) {
	tests := map[string]struct {
		recorded bool // the listener's sources are ours
		observed []string
		wanted   sources
		want     []string
		records  bool
	}{
		"asked for": {false, nil, from("10.0.0.0/8"), []string{"10.0.0.0/8"}, true},
		"others asked for": {true, []string{"10.0.0.0/8"}, from("192.0.2.0/24"), []string{"192.0.2.0/24"},
			true},
		"over those set by hand": {false, []string{"10.0.0.0/8"}, from("192.0.2.0/24"), []string{"192.0.2.0/24"},
			true},
		"there, in another spelling": {true, []string{"192.0.2.1", "10.1.2.3/8"}, from("10.0.0.0/8", "192.0.2.1/32"),
			[]string{"192.0.2.1", "10.1.2.3/8"}, true},
		"over what cannot be read":     {true, []string{"office"}, from("10.0.0.0/8"), []string{"10.0.0.0/8"}, true},
		"no longer asked for":          {true, []string{"10.0.0.0/8"}, sources{}, []string{}, false},
		"never asked for, set by hand": {false, []string{"10.0.0.0/8"}, sources{}, []string{"10.0.0.0/8"}, false},
		"never asked for":              {false, nil, sources{}, nil, false},
		"cannot be read, open":         {false, nil, unreadable(), nil, false},
		"cannot be read, closed by us": {true, []string{"10.0.0.0/8"}, unreadable(), []string{"10.0.0.0/8"}, true},
		"partly readable is not opened": {true, []string{"10.0.0.0/8"}, union(from("0.0.0.0/0"), unreadable()),
			[]string{"10.0.0.0/8"}, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			own, listener := &recordUpdate{}, resource.Listener{AllowedSources: tt.observed}
			if tt.recorded {
				own.lastApplied = own.with(settingSources)
			}
			setSources(own, tt.wanted, &listener)
			if diff := cmp.Diff(tt.want, listener.AllowedSources); diff != "" {
				t.Errorf("sources (-want +got):\n%s", diff)
			}
			if own.has(settingSources) != tt.records {
				t.Errorf("it remembers %v, want that they are ours: %t", own.applied, tt.records)
			}
		})
	}
}

// TestKeptSources: only of a port that others closed, and whose Service says nothing about it.
func TestKeptSources(t *testing.T) {
	ours := lastApplied{}.with(settingSources).mergedInto(nil)
	tests := map[string]struct {
		wanted   sources
		observed []string
		notes    resource.Labels
		reported bool
	}{
		"closed by others":                       {sources{}, []string{"10.0.0.0/8", "192.0.2.0/24"}, nil, true},
		"closed by us, about to be opened":       {sources{}, []string{"10.0.0.0/8"}, ours, false},
		"closed by others, now asked for":        {from("10.0.0.0/8"), []string{"10.0.0.0/8"}, nil, false},
		"closed by others, asked for unreadably": {unreadable(), []string{"10.0.0.0/8"}, nil, false},
		"open":                                   {sources{}, nil, nil, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			text := (desired{}).keptSourcesText(tt.wanted, "80/TCP", resource.Listener{AllowedSources: tt.observed,
				Annotations: tt.notes})
			if (text != "") != tt.reported || tt.reported && !(strings.Contains(text, "80/TCP") &&
				strings.Contains(text, strings.Join(tt.observed, ", "))) {
				t.Errorf("text %q; want one with the port and its sources: %t", text, tt.reported)
			}
		})
	}
}
