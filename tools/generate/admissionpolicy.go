package generate

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/thalassa-cloud/thalassa-ccm/src/annotation"
)

// policyFile is the spec of the admission policy, which the chart's template completes.
const policyFile = "charts/thalassa-ccm/files/admission-policy.yaml"

// policyNote is why a policy that cannot be evaluated refuses nothing.
const policyNote = `# Made by "make generate" from the registry in src/thalassa/annotations.go.

# An error of the policy itself must not stop every Service. Nothing is lost then: the cloud controller manager reads the
# annotations again, leaves alone what a bad one is about, and says so in an event.
failurePolicy: Ignore
`

// policyMatch keeps the policy's cost away from everything but Services with an annotation under the prefix. Their status, which
// the cloud controller manager writes, is another resource.
const policyMatch = `matchConstraints:
  resourceRules:
    - apiGroups: [""]
      apiVersions: [v1]
      operations: [CREATE, UPDATE]
      resources: [services]
matchConditions:
  - name: annotated
    expression: >-
      has(object.metadata.annotations) &&
      object.metadata.annotations.exists(name, name.startsWith(PREFIX))
`

// policyChanges are the variables that the rules about values are about. They start from the known names, of which there are few,
// because a Service can have thousands of annotations.
const policyChanges = `variables:
  # What the Service said before this change; nothing when it is being created.
  - name: before
    expression: >-
      oldObject != null && has(oldObject.metadata.annotations) ? oldObject.metadata.annotations : {}
  # The known annotations that this change sets, by their names without the prefix. What a Service has had since before there
  # was this policy, it may keep.
  - name: changed
    expression: >-
      [NAMES]
      .filter(name, PREFIX + name in object.metadata.annotations &&
      !(PREFIX + name in variables.before && variables.before[PREFIX + name] == object.metadata.annotations[PREFIX + name]))
  # Their values as they are read, and as they are shown.
  - name: text
    expression: >-
      variables.changed.transformMapEntry(_, name, {name: object.metadata.annotations[PREFIX + name].trim()})
  - name: shown
    expression: >-
      variables.changed.transformMapEntry(_, name, {name: strings.quote(
      size(object.metadata.annotations[PREFIX + name]) > 100 ?
      object.metadata.annotations[PREFIX + name].substring(0, 100) + "…" : object.metadata.annotations[PREFIX + name])})
`

// policyNames are the variables with the problems about names, and with what is told once if there are any. With thousands of
// names it counts how many operations each takes, the cheapest first.
const policyNames = `  # The names that are known, and those that another version applies. As a map, in which a name is found at once.
  - name: names
    expression: >-
      {ALLOWED}
  # Every other name.
  - name: unknown
    expression: >-
      object.metadata.annotations
      .map(name, name.startsWith(PREFIX), name.substring(LENGTH))
      .filter(name, !(name in variables.names)FAMILIES &&
      !(PREFIX + name in variables.before && variables.before[PREFIX + name] == object.metadata.annotations[PREFIX + name]))
      .map(name, "annotation DOMAIN" + name + ": is not known and has no effect")
  - name: known
    expression: >-
      size(variables.unknown) > 0 ? ["known are KNOWN"] : []
`

// policyVerdict ends the policy. A message may have 5 KiB: 1200 characters never are more, whatever alphabet they are in.
const policyVerdict = `  - name: message
    expression: >-
      variables.problems.join("; ")
validations:
  - expression: size(variables.problems) == 0
    reason: Invalid
    message: >-
      an annotation under DOMAIN is not known, or its value is not allowed; see docs/reference/annotations.md
    messageExpression: >-
      size(variables.message) > 1200 ? variables.message.substring(0, 1200) + " …" : variables.message
`

// admissionPolicy makes the policy from the registry that also parses the annotations, so that neither can lie.
func admissionPolicy(registry *annotation.Registry) Generator {
	return Generator{Name: "admission policy", Files: func(context.Context, string) (map[string][]byte, error) {
		return map[string][]byte{policyFile: []byte(AdmissionPolicy(registry))}, nil
	}}
}

// AdmissionPolicy returns the spec of a ValidatingAdmissionPolicy, as YAML, that refuses a Service whose annotations the registry
// would call a problem, unless they were there before. Reserved annotations are no problem to it.
func AdmissionPolicy(registry *annotation.Registry) string {
	var rules strings.Builder
	var names, problems []string
	for _, entry := range registry.Entries() {
		variable := "bad_" + strings.ReplaceAll(entry.Name, "-", "_")
		rules.WriteString(valueRule(registry, entry, variable))
		names, problems = append(names, entry.Name), append(problems, "variables."+variable)
	}
	problems = append(problems, "variables.unknown", "variables.known")
	total := fmt.Sprintf("  - name: problems\n    expression: >-\n      %s\n", strings.Join(problems, " +\n      "))
	fill := strings.NewReplacer(
		"PREFIX", strconv.Quote(registry.Prefix()), "LENGTH", strconv.Itoa(len(registry.Prefix())), "DOMAIN", registry.Prefix(),
		"NAMES", quotedList(names), "ALLOWED", allowedNames(names, registry.Reserved()), "FAMILIES", outsideFamilies(registry.Reserved()), "KNOWN", strings.Join(names, ", "),
	)
	return fill.Replace(policyNote+policyMatch+policyChanges) + rules.String() + fill.Replace(policyNames) + total + fill.Replace(policyVerdict)
}

// valueRule is the variable with the list of problems with the value of an annotation, of which there is one at most.
func valueRule(registry *annotation.Registry, entry annotation.Entry, variable string) string {
	name := strconv.Quote(entry.Name)
	return fmt.Sprintf(`  # %s: %s
  - name: %s
    expression: >-
      %s in variables.changed && !(%s) ?
      [%s + variables.shown[%s] + %s] : []
`, entry.Name, entry.Allowed, variable,
		name, registry.Condition(entry.Name, "variables.text["+name+"]"),
		strconv.Quote("annotation "+registry.Prefix()+entry.Name+": "), name, strconv.Quote(" is not "+entry.Allowed))
}

// allowedNames are the entries of a map in CEL whose keys are all names that are known or reserved, but families.
func allowedNames(known, reserved []string) string {
	entries := make([]string, 0, len(known)+len(reserved))
	for _, name := range slices.Concat(known, reserved) {
		if !annotation.Family(name) {
			entries = append(entries, strconv.Quote(name)+": true")
		}
	}
	return strings.Join(entries, ", ")
}

// outsideFamilies goes on with a condition in CEL: that the name belongs to no reserved family.
func outsideFamilies(reserved []string) string {
	var condition strings.Builder
	for _, name := range reserved {
		if annotation.Family(name) {
			condition.WriteString(" && !name.startsWith(" + strconv.Quote(name) + ")")
		}
	}
	return condition.String()
}

// quotedList is words between quotes with commas between them. Go's quoted strings are CEL's, too.
func quotedList(words []string) string {
	quoted := make([]string, 0, len(words))
	for _, word := range words {
		quoted = append(quoted, strconv.Quote(word))
	}
	return strings.Join(quoted, ", ")
}
