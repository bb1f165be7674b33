package annotation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/thalassa-cloud/thalassa-ccm/src/spelling"
)

// shownPorts is how many ports of a Service a problem names.
const shownPorts = 20

// Problem is one annotation that cannot be used as it stands.
type Problem struct {
	Annotation string // full name, prefix included; without it when it is about a default
	Value      string // as given
	Want       string // what is allowed, or what was probably meant
	Name       bool   // the name is the problem, whatever the value
	// the annotation, without prefix and port, that is probably meant by such a name and counts as unusable; "" when
	// there is none
	Meant   string
	Foreign bool // it is an annotation of another product, of which the meaning is known
}

// String is one line that names the annotation, its value and what is allowed.
func (p Problem) String() string {
	if p.Name {
		return fmt.Sprintf("annotation %s: %s", p.Annotation, p.Want)
	}
	return fmt.Sprintf("annotation %s: %q is not %s", p.Annotation, p.Value, p.Want)
}

// misnamed says what is wrong with a name, "" when nothing is.
func (r *Registry) misnamed(name string, entry registered, port string, known bool, ports []Port) string {
	switch {
	case !known:
		return r.unknown(name, ports)
	case port == "" && !entry.IsFamily():
		return ""
	case !entry.PerPort && !entry.IsFamily():
		return fmt.Sprintf("is for one port, but %s%s holds for the whole Service; write it without .%s", r.prefix,
			entry.Name, port)
	case has(ports, port):
		return ""
	}
	return "is for a port that the Service does not have; " + r.portHint(name, port, ports)
}

// portHint names the port that was probably meant, else all of them.
func (r *Registry) portHint(name, port string, ports []Port) string {
	var texts, shown []string
	for i, p := range ports {
		texts = append(texts, p.text()...)
		if i < shownPorts {
			shown = append(shown, p.String())
		}
	}
	if closest, found := spelling.Closest(port, texts); found {
		return fmt.Sprintf("did you mean %s%s%s?", r.prefix, strings.TrimSuffix(name, port), closest)
	}
	if more := len(ports) - len(shown); more > 0 {
		shown = append(shown, fmt.Sprintf("and %d more", more))
	}
	if len(shown) == 0 {
		return "it has no ports"
	}
	return "it has " + strings.Join(shown, ", ")
}

// unknown says why an annotation with an unknown name is not used, and what was probably meant.
func (r *Registry) unknown(name string, ports []Port) string {
	if d, declined := r.declines(name); declined {
		return d.Why
	}
	if closest, found := r.closest(name, ports); found {
		return fmt.Sprintf("is not known and has no effect; did you mean %s%s?", r.prefix, closest)
	}
	return "is not known and has no effect; known are " + strings.Join(shownNames(r.names()), ", ")
}

// unknownDefault is unknown for a name without prefix and port.
func (r *Registry) unknownDefault(name string) string {
	if d, declined := r.declines(name); declined {
		return d.Why
	}
	names := r.DefaultNames()
	if closest, found := spelling.Closest(name, names); found {
		return fmt.Sprintf("is not known; did you mean %s?", closest)
	}
	return "is not known; there are defaults for " + strings.Join(names, ", ")
}

// declines returns what is known of an annotation that cannot be had.
func (r *Registry) declines(name string) (d Declined, declined bool) {
	base, _, _ := strings.Cut(name, ".")
	i := slices.IndexFunc(r.declined, func(d Declined) bool {
		return base == d.Name && !IsFamily(d.Name) || IsFamily(d.Name) && base != d.Name &&
			strings.HasPrefix(base, d.Name)
	})
	if i < 0 {
		return Declined{}, false
	}
	return r.declined[i], true
}

// closest returns the name that was probably meant, with the port that the given one ends in.
func (r *Registry) closest(name string, ports []Port) (string, bool) {
	var whole, perPort []string
	for _, known := range r.names() {
		switch entry := r.entries[known]; {
		case entry.IsFamily():
			whole = append(whole, members(known, ports)...)
		case entry.PerPort:
			perPort = append(perPort, known)
			whole = append(whole, known)
		default:
			whole = append(whole, known)
		}
	}
	base, port, ported := strings.Cut(name, ".")
	if !ported {
		return spelling.Closest(name, whole)
	}
	if closest, found := spelling.Closest(base, perPort); found {
		return closest + "." + port, true
	}
	closest, found := spelling.Closest(base, r.unported())
	if IsFamily(closest) {
		closest += port
	}
	return closest, found
}

// unported are the annotations whose names do not end in a port after a dot.
func (r *Registry) unported() []string {
	return slices.DeleteFunc(r.names(), func(name string) bool { return r.entries[name].PerPort && !IsFamily(name) })
}

// members are the annotations of a family that the Service may have, for its first ports.
func members(family string, ports []Port) []string {
	var names []string
	for _, port := range ports[:min(len(ports), shownPorts)] {
		for _, text := range port.text() {
			names = append(names, family+text)
		}
	}
	return names
}

// shownNames has <port> where the name of a family goes on.
func shownNames(names []string) []string {
	shown := slices.Clone(names)
	for i, name := range shown {
		if IsFamily(name) {
			shown[i] = name + "<port>"
		}
	}
	return shown
}
