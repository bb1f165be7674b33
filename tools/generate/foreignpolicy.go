package generate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/thalassa-cloud/thalassa-ccm/src/annotation"
)

// NoClass is the part of a policy that is true for Services without a class. The chart replaces it if Services have
// one.
const NoClass = "!has(object.spec.loadBalancerClass)"

// NoDefaults is the list of the configured defaults that limit who can connect. The chart replaces it.
const NoDefaults = `["no default"]`

// foreignVariables are about annotations of other products. Only those that limit who can connect are refused, and only
// on Services whose load balancer is this cloud's.
const foreignVariables = `  - name: served
    expression: >-
      has(object.spec.type) && object.spec.type == "LoadBalancer" && (NOCLASS)
  - name: ranges
    expression: >-
      RANGES
  # The defaults for all Services that limit who can connect.
  - name: defaults
    expression: >-
      NODEFAULTS
  # Annotations of other products that limit who can connect, if this change sets them.
  - name: foreign
    expression: >-
      !variables.served ? {} : [NAMES].transformMapEntry(_, name, name in object.metadata.annotations &&
      !(name in variables.before && variables.before[name] == object.metadata.annotations[name]),
      {name: object.metadata.annotations[name].trim()})
`

// foreignProblems are the variables with the annotations whose values are lists of networks with every address, and
// with those that are refused, as pairs of a name and a sentence.
const foreignProblems = `  - name: everywhere
    expression: >-
      variables.foreign.transformMapEntry(name, text, EVERYWHERE, {name: true})
  - name: foreign_problems
    expression: >-
      size(variables.foreign) == 0 ? [] :
      PAIRS
`

// foreignPolicy is what a policy contains about annotations of other products; nothing if none is refused.
type foreignPolicy struct {
	match, variables, problems string // of the match condition, the variables and the list of all problems
}

func newForeignPolicy(registry *annotation.Registry) foreignPolicy {
	var names, pairs []string
	for _, concept := range annotation.Concepts() {
		if !registry.Enforces(concept) {
			continue
		}
		own := registry.OwnCondition(concept, "object.metadata.annotations", "object.spec.ports", "variables.ranges",
			"variables.defaults")
		var found []string
		for _, one := range registry.Foreign() {
			if one.Concept != concept || annotation.IsFamily(one.Name) {
				continue
			}
			name := strconv.Quote(one.Name)
			names = append(names, name)
			found = append(found, fmt.Sprintf("(%s in variables.foreign && %s ?\n      [[%s, %s]] : [])", name,
				one.Condition("variables.foreign["+name+"]", name+" in variables.everywhere", "variables.ranges",
					"object.metadata.annotations"), name,
				strconv.Quote(registry.ForeignText(one))))
		}
		if len(found) > 0 {
			pairs = append(pairs, fmt.Sprintf("(%s ? [] :\n      %s)", own, strings.Join(found, " +\n      ")))
		}
	}
	if len(names) == 0 {
		return foreignPolicy{}
	}
	slices.Sort(names)
	list := strings.Join(names, ", ")
	fill := strings.NewReplacer("NOCLASS", NoClass, "NODEFAULTS", NoDefaults, "NAMES", list, "PAIRS",
		strings.Join(pairs, " +\n      "), "EVERYWHERE", annotation.EverywhereCondition("text"), "RANGES",
		annotation.RangesCondition("object.spec", "object.metadata.annotations"))
	return foreignPolicy{
		match:     " ||\n      [" + list + "].exists(name, name in object.metadata.annotations)",
		variables: fill.Replace(foreignVariables + foreignProblems),
		problems: " +\n      variables.foreign_problems.transformList(i, pair, i < " +
			strconv.Itoa(shownProblems) + ", \"annotation \" + pair[0] + \": \" + pair[1])",
	}
}
