package generate

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/thalassa-cloud/thalassa-ccm/src/annotation"
)

// shownProblems is how many problems of a kind a message begins with, and how many ports.
const shownProblems = 20

// policyNote is why a policy that cannot be evaluated refuses nothing.
const policyNote = `# An error of the policy itself must not stop every Service. Nothing is lost then: the cloud controller manager reads the
# annotations again, leaves alone what a bad one is about, and says so in an event.
failurePolicy: Ignore
`

// judged is how many annotations, and how many ports, a Service may have for the policy to judge it. What the API
// server needs for one grows with the square of their number: 0.1 s for a thousand, half a minute for the most there
// can be.
const judged = 1000

// policyMatch keeps the policy's cost away from everything but Services with an annotation under the prefix. Their
// status, which the cloud controller manager writes, is another resource.
const policyMatch = `matchConstraints:
  # The defaults: a second server-side applier would conflict about what the API server completes.
  matchPolicy: Equivalent
  namespaceSelector: {}
  objectSelector: {}
  resourceRules:
    - apiGroups: [""]
      apiVersions: [v1]
      operations: [CREATE, UPDATE]
      resources: [services]
      scope: "*"
matchConditions:
  - name: annotated
    expression: >-
      has(object.metadata.annotations) && size(object.metadata.annotations) <= JUDGED &&
      !(has(object.spec.ports) && size(object.spec.ports) > JUDGED) &&
      (object.metadata.annotations.exists(name, name.startsWith(PREFIX))OTHERS)
`

// policyChanges are the variables that say what a change sets. The API server counts how many operations it takes, and
// gives up after too many: hence the maps, in which a name is found at once.
const policyChanges = `variables:
  # What the Service said before this change; nothing when it is being created.
  - name: before
    expression: >-
      oldObject != null && has(oldObject.metadata.annotations) ? oldObject.metadata.annotations : {}
  # The annotations that this change sets, by their names without the prefix. What a Service has had since before there was this
  # policy, it may keep.
  - name: values
    expression: >-
      object.metadata.annotations.transformMapEntry(name, value,
      name.startsWith(PREFIX) && !(name in variables.before && variables.before[name] == value),
      {name.substring(LENGTH): value})
  # What is known, and whether it may end in a port.
  - name: names
    expression: >-
      {NAMES}
  # For every other name, what it begins with.
  - name: bases
    expression: >-
      variables.values.transformMapEntry(name, _, !(name in variables.names), {name:
      name.contains(".") ? name.substring(0, name.indexOf(".")) : FAMILIES""})
  # The Service's ports, by their names, and by number and protocol.
  - name: ports
    expression: >-
      has(object.spec.ports) ? object.spec.ports.transformMapEntry(_, port, has(port.name) && port.name != "" ?
      {string(port.name): true, string(port.port) + "/" + port.protocol: true} : {string(port.port) + "/" + port.protocol: true}) : {}
  # The names that end in one of these ports, with what they begin with.
  - name: ported
    expression: >-
      variables.bases.transformMapEntry(name, base, base in variables.names && variables.names[base] && (
      name.substring(size(base)ENDS) in variables.ports ||
      ["/TCP", "/UDP", "/SCTP"].exists(protocol, name.substring(size(base)ENDS) + protocol in variables.ports)), {name: base})
  # The values as they are read, of names that are right.
  - name: text
    expression: >-
      variables.values.transformMapEntry(name, value, name in variables.names || name in variables.ported, {name: value.trim()})
`

// policyNames are the variables with what is wrong about names, as pairs of a name and a sentence, and with what is
// reported once if there are such names.
const policyNames = `  - name: bad
    expression: >-
      BAD
  # Unknown names, or names that are known not to be possible.
  - name: unknown
    expression: >-
      variables.bases.transformList(name, base, !(base in variables.names), [name, DECLINED"is not known and has no effect"])
  # Names that end in a port although they are about the whole Service, or in a port that the Service does not have.
  - name: misplaced
    expression: >-
      variables.bases.transformList(name, base, base in variables.names && !(name in variables.ported), [name, variables.names[base] ?
      "is for a port that the Service does not have" :
      "is for one port, but DOMAIN" + base + " holds for the whole Service; write it without ." + name.substring(size(base) + 1)])
  - name: known
    expression: >-
      variables.unknown.exists(pair, pair[1] == "is not known and has no effect") ? ["known are KNOWN"] : []
  - name: has
    expression: >-
      !variables.misplaced.exists(pair, pair[1] == "is for a port that the Service does not have") ? [] :
      size(variables.ports) == 0 ? ["it has no ports"] :
      ["it has " + (object.spec.ports.transformList(i, port, i < SHOWN, has(port.name) && port.name != "" ?
      port.name + " (" + string(port.port) + ")" : string(port.port)) +
      (size(object.spec.ports) > SHOWN ? ["and " + string(size(object.spec.ports) - SHOWN) + " more"] : [])).join(", ")]
FOREIGN  # A message has no room for more than the first ones.
  - name: problems
    expression: >-
      variables.bad.transformList(i, pair, i < SHOWN, "annotation DOMAIN" + pair[0] + ": " +
      strings.quote(size(variables.values[pair[0]]) > 100 ? variables.values[pair[0]].substring(0, 100) + "…" : variables.values[pair[0]]) +
      " is not " + pair[1]) +
      (variables.unknown + variables.misplaced).transformList(i, pair, i < SHOWN, "annotation DOMAIN" + pair[0] + ": " + pair[1]) +
      variables.known + variables.hasPROBLEMS
`

// policyVerdict ends the policy. A message may have 5 KiB: 1200 characters never are more, whatever alphabet they are
// in.
const policyVerdict = `  - name: message
    expression: >-
      variables.problems.join("; ")
validations:
  - expression: size(variables.problems) == 0
    reason: Invalid
    message: >-
      an annotation under DOMAIN is not known, or its value is not allowed, or one of another product limits who can connect; see PAGE
    messageExpression: >-
      size(variables.message) > 1200 ? variables.message.substring(0, 1200) + " …" : variables.message
`

// admissionPolicy makes the spec of the admission policy, which the chart's template completes, from the registry that
// also parses the annotations, so that they cannot differ.
func admissionPolicy(of annotated) Generator {
	return Generator{Name: "admission policy of " + of.cloud, Files: func(context.Context, string) (map[string][]byte,
		error) {
		text := fmt.Sprintf("# Made by \"make generate\" from the registry in %s.\n\n", of.source) +
			AdmissionPolicy(of.registry, of.page)
		return map[string][]byte{of.policy: []byte(text)}, nil
	}}
}

// AdmissionPolicy returns the spec of a ValidatingAdmissionPolicy, as YAML, that refuses a Service whose annotations
// the registry would call a problem, unless they were there before. Page is where the annotations are described.
func AdmissionPolicy(registry *annotation.Registry, page string) string {
	var rules strings.Builder
	var names, known, bad []string
	for _, entry := range registry.Entries() {
		variable := "bad_" + strings.NewReplacer("-", "_").Replace(strings.TrimSuffix(entry.Name, "-"))
		rules.WriteString(valueRule(registry, entry, variable))
		names = append(names, fmt.Sprintf("%q: %t", entry.Name, entry.PerPort || entry.IsFamily()))
		known, bad = append(known, shownName(entry)), append(bad, "variables."+variable)
	}
	others := newForeignPolicy(registry)
	fill := strings.NewReplacer(
		"PREFIX", strconv.Quote(registry.Prefix()), "LENGTH", strconv.Itoa(len(registry.Prefix())), "DOMAIN",
		registry.Prefix(),
		"NAMES", strings.Join(names, ", "), "FAMILIES", families(registry), "ENDS", portStart(registry), "BAD",
		strings.Join(bad, " +\n      "),
		"DECLINED", declined(registry), "KNOWN", strings.Join(known, ", "), "SHOWN", strconv.Itoa(shownProblems),
		"JUDGED", strconv.Itoa(judged), "PAGE", page,
		"OTHERS", others.match, "FOREIGN", others.variables, "PROBLEMS", others.problems,
	)
	return fill.Replace(policyNote+policyMatch+policyChanges) + rules.String() + fill.Replace(policyNames) +
		fill.Replace(policyVerdict)
}

// valueRule is the variable with the values of an annotation that are not allowed, as pairs of a name and what is
// allowed: for an annotation that may end in a port there can be several.
func valueRule(registry *annotation.Registry, entry annotation.Entry, variable string) string {
	name := strconv.Quote(entry.Name)
	head := fmt.Sprintf("  # %s: %s\n  - name: %s\n    expression: >-\n      ", shownName(entry), entry.Allowed,
		variable)
	if !entry.PerPort && !entry.IsFamily() {
		return head + fmt.Sprintf(`%s in variables.text && !(%s) ?
      [[%s, %s]] : []
`, name, registry.Condition(entry.Name, "variables.text["+name+"]"), name, strconv.Quote(entry.Allowed))
	}
	return head + fmt.Sprintf(`variables.text.transformList(name, text, (name == %s || name in variables.ported && variables.ported[name] == %s) &&
      !(%s),
      [name, %s])
`, name, name, registry.Condition(entry.Name, "text"), strconv.Quote(entry.Allowed))
}

// shownName has <port> where the name of a family goes on.
func shownName(entry annotation.Entry) string {
	if entry.IsFamily() {
		return entry.Name + "<port>"
	}
	return entry.Name
}

// families begins a choice in CEL: a name that belongs to a family begins with the family's.
func families(registry *annotation.Registry) string {
	var choice strings.Builder
	for _, entry := range registry.Entries() {
		if entry.IsFamily() {
			fmt.Fprintf(&choice, "name.startsWith(%q) ? %q : ", entry.Name, entry.Name)
		}
	}
	return choice.String()
}

// portStart goes on with the length of what a name begins with, to where its port begins: there is a dot between them,
// but not in a family.
func portStart(registry *annotation.Registry) string {
	var names []string
	for _, entry := range registry.Entries() {
		if entry.IsFamily() {
			names = append(names, strconv.Quote(entry.Name))
		}
	}
	if len(names) == 0 {
		return " + 1"
	}
	return " + (base in [" + strings.Join(names, ", ") + "] ? 0 : 1)"
}

// declined begins a choice in CEL: what is to be said of names that are known not to be possible.
func declined(registry *annotation.Registry) string {
	const stem = `name.split(".")[0]`
	var choice strings.Builder
	for _, one := range registry.Declined() {
		name, why := strconv.Quote(one.Name), strconv.Quote(one.Why)
		if annotation.IsFamily(one.Name) {
			fmt.Fprintf(&choice, "%s.startsWith(%s) && %s != %s ? %s :\n      ", stem, name, stem, name, why)
			continue
		}
		fmt.Fprintf(&choice, "%s == %s ? %s :\n      ", stem, name, why)
	}
	return choice.String()
}
