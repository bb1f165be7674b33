package traffic

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/ci/load"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/traffic"
)

// period is a time from one moment to another.
type period struct{ from, to time.Time }

// meets says that the period has a moment in common with the time between two others.
func (p period) meets(began, ended time.Time) bool {
	return !ended.Before(p.from) && !began.After(p.to)
}

// gaps are the moments in which a load balancer could not serve all it should: it was gone, one of the ports had no
// listener, or a listener of whatever port had no target.
func gaps(moments []moment, ports ...uint16) []string {
	var found []string
	for _, m := range moments {
		if m.serves == nil {
			found = append(found, fmt.Sprintf("at %s the load balancer was gone", m.ended.Format(clock)))
			continue
		}
		for _, port := range ports {
			if _, listens := listener(*m.serves, port); !listens {
				found = append(found, fmt.Sprintf("at %s port %d had no listener", m.ended.Format(clock), port))
			}
		}
		for _, l := range m.serves.Listeners {
			if len(l.Group.Targets) == 0 {
				found = append(found, fmt.Sprintf("at %s port %d had no target", m.ended.Format(clock), l.Port))
			}
		}
	}
	return found
}

// clock is the format of times.
const clock = "15:04:05.000"

// listener is that of a TCP port.
func listener(lb traffic.LoadBalancer, port uint16) (traffic.Listener, bool) {
	i := slices.IndexFunc(lb.Listeners, func(l traffic.Listener) bool {
		return l.Port == port && l.Protocol == traffic.TCP
	})
	if i < 0 {
		return traffic.Listener{}, false
	}
	return lb.Listeners[i], true
}

// removal is the removal of a target, with which the connections to it end.
type removal struct {
	target string // its name
	when   period
}

// removals are the targets that were removed from a port. A target whose node port changed counts: nothing is sent to
// the old node port any more.
func removals(moments []moment, port uint16, names map[netip.Addr]string) []removal {
	var found []removal
	for i, m := range moments[min(1, len(moments)):] {
		before, after := targets(moments[i], port), targets(m, port)
		for _, target := range before {
			if !slices.Contains(after, target) {
				found = append(found, removal{names[target.Address.Addr()], period{m.began, m.ended}})
			}
		}
	}
	return found
}

func targets(m moment, port uint16) []traffic.Target {
	if m.serves == nil {
		return nil
	}
	l, _ := listener(*m.serves, port)
	return l.Group.Targets
}

// unexpected are the removals that are not expected. Each name is expected once.
func unexpected(left []removal, expected []string) []removal {
	expected = slices.Clone(expected)
	return slices.DeleteFunc(slices.Clone(left), func(d removal) bool {
		i := slices.Index(expected, d.target)
		if i >= 0 {
			expected = slices.Delete(expected, i, i+1)
		}
		return i >= 0
	})
}

// unexplained are the failures of connections that cannot be explained by the end of their own target: of one that was
// connected to a target that was removed while the connection was open, or that was being connected to an unknown one.
func unexplained(failures []load.Attempt, left []removal) []load.Attempt {
	return slices.DeleteFunc(slices.Clone(failures), func(a load.Attempt) bool {
		return slices.ContainsFunc(left, func(d removal) bool {
			return d.when.meets(a.Began, a.Ended) && (a.Target == "" || a.Target == d.target)
		})
	})
}

// lost are the streams that broke although their target had not left.
func lost(streams []load.Stream, left []removal) []load.Stream {
	return slices.DeleteFunc(slices.Clone(streams), func(s load.Stream) bool {
		return s.Alive() || slices.ContainsFunc(left, func(d removal) bool {
			return d.target == s.Target && !d.when.from.Before(s.Began) && !s.Ended.Before(d.when.from)
		})
	})
}
