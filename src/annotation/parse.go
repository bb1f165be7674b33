package annotation

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Port is a port of a Service.
type Port struct {
	Name   string // "" when the Service names none
	Number int32
}

// PortsOf returns the ports that the annotations of a Service may name.
func PortsOf(service *corev1.Service) []Port {
	ports := make([]Port, 0, len(service.Spec.Ports))
	for _, port := range service.Spec.Ports {
		ports = append(ports, Port{Name: port.Name, Number: port.Port})
	}
	return ports
}

// text is how the annotations of the port end, the one that wins first.
func (p Port) text() []string {
	number := strconv.Itoa(int(p.Number))
	if p.Name == "" || p.Name == number {
		return []string{number}
	}
	return []string{p.Name, number}
}

// String is "http (80)", or the number alone.
func (p Port) String() string {
	if p.Name == "" {
		return strconv.Itoa(int(p.Number))
	}
	return p.Name + " (" + strconv.Itoa(int(p.Number)) + ")"
}

// Values are the parsed annotations of one Service, by their names without the prefix.
type Values struct {
	parsed  map[string]any
	invalid map[string]bool
}

// Parse reads all annotations that start with the registry's prefix; others are ignored. ports are the
// Service's. A value that cannot be used, a name the registry does not know, and one for a port that the Service does
// not have become problems, sorted by name; all other annotations are parsed nevertheless. The setting that is probably
// meant by such a name counts as one that cannot be used, unless the Service has it as well: a restriction that is
// misspelt must not be none.
func (r *Registry) Parse(annotations map[string]string, ports []Port) (Values, []Problem) {
	values := Values{parsed: map[string]any{}, invalid: map[string]bool{}}
	var problems []Problem
	for _, full := range slices.Sorted(maps.Keys(annotations)) {
		name, ours := strings.CutPrefix(full, r.prefix)
		if !ours {
			continue
		}
		problem := Problem{Annotation: full, Value: annotations[full], Name: true}
		entry, port, known := r.locate(name)
		if problem.Want = r.misnamed(name, entry, port, known, ports); problem.Want != "" {
			if problem.Meant = r.meant(name, entry, known, ports); problem.Meant != "" {
				values.invalid[problem.Meant] = true
			}
			problems = append(problems, problem)
			continue
		}
		value, err := entry.parse(strings.TrimSpace(annotations[full]))
		if err != nil {
			values.invalid[name] = true
			problem.Name, problem.Want = false, entry.Allowed
			problems = append(problems, problem)
			continue
		}
		values.parsed[name] = value
	}
	return values, problems
}

// meant is the annotation, or family, that a name which cannot be used is probably about; "" if there is none.
func (r *Registry) meant(name string, entry registered, known bool, ports []Port) string {
	if known {
		return entry.Name
	}
	if d, declined := r.declines(name); declined {
		return d.Meant
	}
	closest, found := r.closest(name, ports)
	if entry, _, known = r.locate(closest); found && known {
		return entry.Name
	}
	lower := strings.ToLower(name)
	if i := slices.IndexFunc(r.suspects, func(s suspect) bool { return strings.Contains(lower, s.word) }); i >= 0 {
		return r.suspects[i].meant
	}
	return ""
}

// Concerns reports whether an annotation is among these, or may be meant by one of them: only then Parse can find it.
func (r *Registry) Concerns(annotations map[string]string, name string) bool {
	for full := range annotations {
		given, ours := strings.CutPrefix(full, r.prefix)
		if !ours {
			continue
		}
		if _, port, known := r.locate(given); given == name || !known || port != "" {
			return true
		}
	}
	return false
}

// locate returns what a name without the prefix stands for, and the port at its end, "" when there is none. Whether the
// annotation may have one, and the Service has it, is for others to say.
func (r *Registry) locate(name string) (entry registered, port string, known bool) {
	if IsFamily(name) {
		return registered{}, "", false
	}
	if entry, known = r.entries[name]; known {
		return entry, "", true
	}
	if base, end, cut := strings.Cut(name, "."); cut && !IsFamily(base) {
		entry, known = r.entries[base]
		return entry, end, known
	}
	for _, family := range r.families() {
		if end, cut := strings.CutPrefix(name, family); cut {
			return r.entries[family], end, true
		}
	}
	return registered{}, "", false
}

// families returns the names of those that are registered, sorted.
func (r *Registry) families() []string {
	return slices.DeleteFunc(r.names(), func(name string) bool { return !IsFamily(name) })
}

// has reports whether one of the ports has that name or number.
func has(ports []Port, text string) bool {
	return slices.ContainsFunc(ports, func(p Port) bool { return slices.Contains(p.text(), text) })
}
