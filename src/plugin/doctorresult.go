package plugin

import (
	"fmt"
	"strings"

	"github.com/thalassa-cloud/thalassa-ccm/src/plugin/terminal"
)

// CheckStatus is the result of one check.
type CheckStatus string

// The results.
const (
	CheckOK      CheckStatus = "ok"
	CheckWarning CheckStatus = "warning" // it works, and a person should look at it
	CheckProblem CheckStatus = "problem" // it does not work
	NotChecked   CheckStatus = "notChecked"
)

// Doctor is the result of the command doctor.
type Doctor struct {
	Header  `json:",inline"`
	Checks  []Check      `json:"checks"` // by section, in the order of the output
	Summary CheckSummary `json:"summary"`
}

// Check is the result of one check.
type Check struct {
	// ID identifies the check, and does not change: "lease". Checks of several objects have one result for each.
	ID string `json:"id"`
	// Section is a heading of doctor: "cluster", "workload", "configuration", "cloud", "permissions", "nodes",
	// "services" or "storage".
	Section string      `json:"section,omitempty"`
	Status  CheckStatus `json:"status"`
	// Object is what the result is about, if there are several: "node/worker-1", "service/shop/web".
	Object  string `json:"object,omitempty"`
	Message string `json:"message"`
	// Next is what to do about it.
	Next string `json:"next,omitempty"`

	kind string // what the results of several objects have in common if their messages differ; "" is the message
}

// CheckSummary counts checks.
type CheckSummary struct {
	OK         int `json:"ok"`
	Warnings   int `json:"warnings"`
	Problems   int `json:"problems"`
	NotChecked int `json:"notChecked"`
}

func (s *CheckSummary) add(status CheckStatus) {
	switch status {
	case CheckOK:
		s.OK++
	case CheckWarning:
		s.Warnings++
	case CheckProblem:
		s.Problems++
	case NotChecked:
		s.NotChecked++
	}
}

// Names returns the objects with problems.
func (d Doctor) Names() []string {
	var names []string
	for _, one := range d.Checks {
		if one.Status == CheckProblem && one.Object != "" {
			names = append(names, one.Object)
		}
	}
	return names
}

// headings are the sections in the output.
func headings() map[string]string {
	return map[string]string{
		sectionCluster: "Cluster", sectionWorkload: "Cloud controller manager", sectionConfiguration: "Configuration",
		sectionCloud: "Cloud", sectionPermissions: "Permissions in Kubernetes", sectionNodes: "Nodes",
		sectionServices: "Services", sectionStorage: "Volumes",
	}
}

// Write writes one line for each check, under the heading of its section. Without wide, warnings and problems of the
// same kind are one line, in the place of the first, with some of their objects, and Services in sync are only counted.
func (d Doctor) Write(to terminal.Terminal, wide bool) {
	checks, section := d.Checks, ""
	if !wide {
		checks = merge(checks)
	}
	for _, one := range checks {
		if one.Section != section {
			section = one.Section
			to.Indented(0, "", terminal.Strong, headings()[section])
		}
		one.write(to, one.Object)
	}
	s := d.Summary
	tone := toneOf(s.Problems == 0)
	if s.Problems == 0 && s.Warnings > 0 {
		tone = terminal.Caution
	}
	to.Print("\n%s\n", to.Paint(tone, fmt.Sprintf("%s, %s, %d OK, %d not checked.", count(s.Problems, "problem"),
		count(s.Warnings, "warning"), s.OK, s.NotChecked)))
}

// mostNamed is the number of objects that are named for one kind of warning or problem.
const mostNamed = 3

// merge returns checks in which no warning or problem is of the kind of another one, without Services in sync.
func merge(checks []Check) []Check {
	var merged []Check
	groups, index := map[Check][]Check{}, map[Check]int{}
	for _, one := range checks {
		kind := Check{ID: one.ID, Section: one.Section, Status: one.Status, kind: one.kind}
		if one.kind == "" {
			kind.Message, kind.Next = one.Message, one.Next
		}
		groups[kind] = append(groups[kind], one)
		alone := one.Status != CheckWarning && one.Status != CheckProblem || one.Object == ""
		switch first, found := index[kind]; {
		case one.ID == serviceCheck && one.Status == CheckOK:
		case found && !alone:
			merged[first] = together(groups[kind])
		default:
			if !alone {
				index[kind] = len(merged)
			}
			merged = append(merged, one)
		}
	}
	return merged
}

// together returns one check for several objects. If their messages differ, it has that of the first as an example.
func together(checks []Check) Check {
	all := checks[0]
	var objects []string
	messages, nexts := map[string]bool{}, map[string]bool{}
	for _, one := range checks {
		objects = append(objects, one.Object)
		messages[one.Message], nexts[one.Next] = true, true
	}
	example := fmt.Sprintf("For %s: ", all.Object)
	if len(messages) > 1 {
		all.Message = all.kind + ". " + example + strings.TrimPrefix(all.Message, all.kind+": ")
	}
	if len(nexts) > 1 {
		all.Next = example + all.Next
	}
	all.Object = someOf(objects)
	return all
}

// someOf names some objects, and counts the others.
func someOf(objects []string) string {
	if len(objects) <= mostNamed {
		return strings.Join(objects, ", ")
	}
	return fmt.Sprintf("%s and %d more (-o wide names all)", strings.Join(objects[:mostNamed], ", "),
		len(objects)-mostNamed)
}

// textIndent is where the text of a check begins.
const textIndent = 15

// write writes a check. About begins its text, if it is not empty.
func (c Check) write(to terminal.Terminal, about string) {
	word, tone := "OK", terminal.Plain
	switch c.Status {
	case CheckOK:
	case CheckWarning:
		word, tone = "Warning", terminal.Caution
	case CheckProblem:
		word, tone = "Problem", terminal.Bad
	case NotChecked:
		word, tone = "Not checked", terminal.Faint
	}
	text := c.Message
	if about != "" {
		text = about + ": " + text
	}
	to.Indented(textIndent, fmt.Sprintf("%-*s", textIndent-2, word), tone, text)
	if c.Next != "" {
		to.Indented(textIndent, "", terminal.Plain, "Next: "+c.Next)
	}
}
