package annotation

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Concept is what annotations of different products are about.
type Concept string

// The concepts. The values are headings of the reference page.
const (
	AboutInternal       Concept = "Internal load balancers"
	AboutSources        Concept = "Networks that may connect"
	AboutDeniedSources  Concept = "Networks that may not connect"
	AboutRangesPolicy   Concept = "The meaning of spec.loadBalancerSourceRanges"
	AboutSecurityGroups Concept = "Security groups and firewalls"
	AboutAddress        Concept = "The address"
	AboutSubnet         Concept = "The subnet"
	AboutHealthChecks   Concept = "Health checks"
	AboutProxyProtocol  Concept = "PROXY protocol"
	AboutIdleTimeout    Concept = "Idle connections"
	AboutConnections    Concept = "The number of connections"
	AboutDistribution   Concept = "The distribution of connections"
	AboutAffinity       Concept = "Session affinity"
	AboutNodes          Concept = "The nodes that are targets"
	AboutName           Concept = "The name"
	AboutLabels         Concept = "Labels"
	AboutSize           Concept = "The size"
	AboutTLS            Concept = "TLS"
	AboutProtocol       Concept = "HTTP"
	AboutAccessLog      Concept = "Access logs"
)

// Concepts returns all of them: first those that restrict who can connect.
func Concepts() []Concept {
	return append(restrict(), AboutAddress, AboutSubnet, AboutHealthChecks, AboutProxyProtocol, AboutIdleTimeout,
		AboutConnections, AboutDistribution, AboutAffinity, AboutNodes, AboutName, AboutLabels, AboutSize, AboutTLS,
		AboutProtocol, AboutAccessLog)
}

// restrict are the concepts that limit who can connect.
func restrict() []Concept {
	return []Concept{AboutInternal, AboutSources, AboutDeniedSources, AboutRangesPolicy, AboutSecurityGroups}
}

// Foreign is a Service annotation of another product.
type Foreign struct {
	Name    string // the full name; one that ends in "-" stands for all that begin with it
	Product string
	Concept Concept
	// Harmless are values with which nothing is asked for, in lower case. Case does not count.
	Harmless []string
	// Empty reports whether it asks for something with an empty value, too.
	Empty bool
	// Unless are annotations, of that product too, that say what this one only implies: if the Service has one of them,
	// nothing is asked for by this one. It is about a concept that limits who can connect.
	Unless []string
}

// Own is what a provider has in place of other products' annotations about a concept.
type Own struct {
	// Names are annotations with this meaning, without the prefix. If the Service has one of them, those of other
	// products do not count. One that ends in "-" stands for all that begin with it; if it is a registered family, each
	// port needs one. A concept that limits who can connect is enforced if there are names: then the first one counts
	// as an annotation that cannot be used.
	Names []string
	// Defaults are names whose default, if the configuration sets it, has the same effect as the annotation on each
	// Service. The values are those that the default must have; nil stands for any.
	Defaults map[string]any
	// Instead is what to do. It ends a sentence, and has no full stop. About the meaning of
	// spec.loadBalancerSourceRanges, it is all that is written.
	Instead string
}

// Replace declares what the provider has in place of other products' annotations about a concept. Annotations about a
// concept that is not declared are ignored.
func (r *Registry) Replace(concept Concept, own Own) { r.own[concept] = own }

// Replacement returns what was given to Replace.
func (r *Registry) Replacement(concept Concept) (Own, bool) {
	own, declared := r.own[concept]
	return own, declared
}

// Enforces reports whether annotations of other products about the concept count as one that cannot be used.
func (r *Registry) Enforces(concept Concept) bool {
	return slices.Contains(restrict(), concept) && len(r.own[concept].Names) > 0
}

// Foreign returns the annotations of other products about declared concepts.
func (r *Registry) Foreign() []Foreign {
	return slices.DeleteFunc(slices.Clone(r.foreign()), func(f Foreign) bool {
		_, declared := r.own[f.Concept]
		return !declared || strings.HasPrefix(f.Name, r.prefix)
	})
}

// ParseService is Parse for a Service, which also reads annotations of other products: what limits who can connect in
// another cloud must not be without effect in silence. Each that asks for something becomes a problem, unless the
// Service has an annotation of the registry, or a field, with the same meaning.
func (r *Registry) ParseService(service *corev1.Service) (Values, []Problem) {
	values, problems := r.Parse(service.Annotations, PortsOf(service))
	for _, full := range slices.Sorted(maps.Keys(service.Annotations)) {
		foreign, found := r.foreignNamed(full)
		if !found || !foreign.asks(service.Annotations[full], service) || r.says(foreign.Concept, service) {
			continue
		}
		problem := Problem{Annotation: full, Value: service.Annotations[full], Name: true, Foreign: true,
			Want: r.ForeignText(foreign)}
		if r.Enforces(foreign.Concept) {
			problem.Meant = r.own[foreign.Concept].Names[0]
			values.invalid[problem.Meant] = true
		}
		problems = append(problems, problem)
	}
	return values, problems
}

// ForeignText ends a sentence that begins with the name of another product's annotation.
func (r *Registry) ForeignText(f Foreign) string {
	instead, limits := r.own[f.Concept].Instead, ""
	if f.Concept == AboutRangesPolicy { // Cilium is often the network of this cluster, too, and obeys it
		return instead
	}
	if len(f.Unless) > 0 {
		limits = fmt.Sprintf(", where it limits who can connect if %s is missing,", f.Unless[0])
	}
	return fmt.Sprintf("is an annotation of %s%s and has no effect here; %s", f.Product, limits, instead)
}

// foreignNamed returns the annotation of another product with that full name.
func (r *Registry) foreignNamed(full string) (Foreign, bool) {
	if len(r.own) == 0 || strings.HasPrefix(full, r.prefix) {
		return Foreign{}, false
	}
	all := r.foreign()
	i := slices.IndexFunc(all, func(f Foreign) bool {
		return f.Name == full || IsFamily(f.Name) && strings.HasPrefix(full, f.Name)
	})
	if i < 0 {
		return Foreign{}, false
	}
	_, declared := r.own[all[i].Concept]
	return all[i], declared
}

// asks reports whether the annotation asks for something with this value.
func (f Foreign) asks(value string, service *corev1.Service) bool {
	text := lowerASCII(strings.TrimSpace(value))
	has := func(name string) bool { _, given := service.Annotations[name]; return given }
	switch {
	case slices.Contains(f.Harmless, text) || slices.ContainsFunc(f.Unless, has):
		return false
	case text == "":
		return f.Empty
	case f.Concept == AboutSources:
		return !everywhere(text)
	case f.Concept == AboutRangesPolicy:
		return hasRanges(service)
	}
	return true
}

// says reports whether the Service itself, or a default of the configuration, says what a concept is about.
func (r *Registry) says(concept Concept, service *corev1.Service) bool {
	switch {
	case rangesSay(concept) && hasRanges(service),
		concept == AboutAffinity && service.Spec.SessionAffinity == corev1.ServiceAffinityClientIP,
		concept == AboutAddress && service.Spec.LoadBalancerIP != "":
		return true
	}
	for name, value := range r.own[concept].Defaults {
		if entry := r.entries[name]; entry.configured && (value == nil || value == entry.fallback) {
			return true
		}
	}
	return slices.ContainsFunc(r.own[concept].Names, func(name string) bool { return r.has(name, service) })
}

// rangesSay reports whether spec.loadBalancerSourceRanges says what the concept is about.
func rangesSay(concept Concept) bool {
	return slices.Contains([]Concept{AboutSources, AboutDeniedSources, AboutSecurityGroups}, concept)
}

// has reports whether the Service has one of the annotations with that name: see [Own].
func (r *Registry) has(name string, service *corev1.Service) bool {
	_, registered := r.entries[name]
	if IsFamily(name) && registered {
		ports := PortsOf(service)
		return len(ports) > 0 && !slices.ContainsFunc(ports, func(port Port) bool {
			return !slices.ContainsFunc(port.text(), func(text string) bool {
				_, given := service.Annotations[r.prefix+name+text]
				return given
			})
		})
	}
	for full := range service.Annotations {
		given, ours := strings.CutPrefix(full, r.prefix)
		if ours && (given == name || IsFamily(name) && strings.HasPrefix(given, name) ||
			r.entries[name].PerPort && strings.HasPrefix(given, name+".")) {
			return true
		}
	}
	return false
}

// hasRanges reports whether the Service has source ranges, by its field or by the annotation that was there before.
func hasRanges(service *corev1.Service) bool {
	return len(service.Spec.LoadBalancerSourceRanges) > 0 ||
		strings.TrimSpace(service.Annotations[corev1.AnnotationLoadBalancerSourceRangesKey]) != ""
}

// RangesCondition returns the CEL expression that is true when a Service has source ranges. spec and annotations are
// CEL expressions that give them.
func RangesCondition(spec, annotations string) string {
	return fmt.Sprintf(`has(%s.loadBalancerSourceRanges) && size(%s.loadBalancerSourceRanges) > 0 || `+
		`%q in %s && %s[%q].trim() != ""`,
		spec, spec, corev1.AnnotationLoadBalancerSourceRangesKey, annotations, annotations,
		corev1.AnnotationLoadBalancerSourceRangesKey)
}

// foreignLength is the longest list of another product that is read; what is longer restricts. The API server must be
// able to judge several of them.
const foreignLength = 4096

// everywhere reports whether networks with commas between them, in lower case, contain every address of the IP families
// that they are of. DigitalOcean writes "cidr:" before each.
func everywhere(text string) bool {
	if tooLong(text, foreignLength) {
		return false
	}
	networks := elements(strings.ReplaceAll(text, "cidr:", ""))
	covered := func(six bool) bool {
		of := func(network string) bool { return strings.Contains(network, ":") == six }
		return !slices.ContainsFunc(networks, of) || slices.ContainsFunc(networks, func(network string) bool {
			source, err := parseSource(network)
			return of(network) && err == nil && source.Bits() == 0
		})
	}
	return covered(false) && covered(true)
}

// lowerASCII changes only letters that are in ASCII, as CEL's function does.
func lowerASCII(text string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, text)
}

// Condition returns the CEL expression that is true when the annotation asks for something with a value, as
// ParseService has it. text, everywhere, ranges and annotations are CEL expressions that give the value without spaces
// around it, whether [EverywhereCondition] is true for it, whether the Service has source ranges, and its annotations.
func (f Foreign) Condition(text, everywhere, ranges, annotations string) string {
	harmless := f.Harmless
	if !f.Empty {
		harmless = append([]string{""}, harmless...)
	}
	all := []string{"!(" + among(harmless)(text+".lowerAscii()") + ")"}
	for _, name := range f.Unless {
		all = append(all, fmt.Sprintf("!(%q in %s)", name, annotations))
	}
	switch {
	case f.Concept == AboutSources && f.Empty: // everywhere is true for an empty list
		all = append(all, "("+text+` == "" || !(`+everywhere+"))")
	case f.Concept == AboutSources:
		all = append(all, "!("+everywhere+")")
	case f.Concept == AboutRangesPolicy:
		all = append(all, ranges)
	}
	return strings.Join(all, " && ")
}

// EverywhereCondition returns the CEL expression that is true for lists of networks that contain every address of their
// IP families. text is the CEL expression that gives the list.
func EverywhereCondition(text string) string {
	covered := func(of string) string {
		return fmt.Sprintf(`(!networks.exists(e, e != "" && %s) || `+
			`networks.exists(e, %s && e.endsWith("/0") && isCIDR(e)))`, of, of)
	}
	// The list of one element is there to split the text only once: what an expression may cost is limited.
	return fmt.Sprintf(`size(%s) <= %d && `+
		`[%s.lowerAscii().replace("cidr:", "").split(",").map(e, e.trim())].exists(networks, %s && %s)`,
		text, foreignLength, text, covered(`!e.contains(":")`), covered(`e.contains(":")`))
}

// OwnCondition returns the CEL expression that is true when the Service itself, or a default, says what the concept is
// about. annotations, ports, ranges and defaults are CEL expressions that give its annotations and its ports, whether
// it has source ranges, and which of [Own.Defaults] are configured.
func (r *Registry) OwnCondition(concept Concept, annotations, ports, ranges, defaults string) string {
	var conditions []string
	for _, name := range slices.Sorted(maps.Keys(r.own[concept].Defaults)) {
		conditions = append(conditions, fmt.Sprintf("%q in %s", name, defaults))
	}
	if rangesSay(concept) {
		conditions = append(conditions, ranges)
	}
	for _, name := range r.own[concept].Names {
		if !IsFamily(name) {
			conditions = append(conditions, fmt.Sprintf("%q in %s", r.prefix+name, annotations))
			continue
		}
		conditions = append(conditions, fmt.Sprintf(`has(%s) && size(%s) > 0 && %s.all(port, `+
			`has(port.name) && port.name != "" && %q + port.name in %s || %q + string(port.port) in %s)`,
			ports, ports, ports, r.prefix+name, annotations, r.prefix+name, annotations))
	}
	return strings.Join(conditions, " || ")
}
