package repository

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

const workflowFolder = ".github/workflows"

// workflow is as much of a GitHub workflow as the rule checks.
type workflow struct {
	Jobs map[string]struct {
		Uses      string `json:"uses"`
		Container any    `json:"container"`
		Services  any    `json:"services"`
		Steps     []step `json:"steps"`
	} `json:"jobs"`
}

type step struct {
	Uses string `json:"uses"`
	Run  string `json:"run"`
	If   string `json:"if"`
	With struct {
		Path string `json:"path"`
	} `json:"with"`
}

// evidence is what targets write that explains their result, by target. A machine of GitHub is gone afterwards.
func evidence() map[string]string {
	return map[string]string{"bench": "dist/bench.json", "conformance": "dist/conformance", "soak": "dist/soak"}
}

// Workflows finds steps of GitHub workflows that anybody could not repeat, which run anything but targets of the
// Makefile; those that lose what explains their result; and what would have the release's secrets: actions of others
// than GitHub, or that could change tomorrow, containers and workflows of others.
func Workflows(tree fs.FS) ([]Finding, error) {
	var found []Finding
	inWorkflows := func(p string) bool { return path.Dir(p) == workflowFolder }
	err := files(tree, inWorkflows, func(p string) error {
		targets, err := makeTargets(tree)
		if err != nil {
			return err
		}
		text, err := fs.ReadFile(tree, p)
		if err != nil {
			return fmt.Errorf("reading %s: %w", p, err)
		}
		var w workflow
		if err := yaml.Unmarshal(text, &w); err != nil {
			return fmt.Errorf("reading %s: %w", p, err)
		}
		for name, job := range w.Jobs {
			if job.Uses != "" || job.Container != nil || job.Services != nil {
				found = append(found,
					Finding{p, 0, "job " + name +
						" consists of a workflow or containers of others: only steps may see our secrets"})
			}
			for _, step := range job.Steps {
				if problem := stepProblem(step.Uses, step.Run, targets); problem != "" {
					found = append(found, Finding{p, 0, "job " + name + " " + problem})
				}
				if lost := lostEvidence(step.Run, job.Steps); lost != "" {
					found = append(found, Finding{p, 0, "job " + name + " does not upload " + lost +
						": nobody could see why it failed"})
				}
			}
		}
		return nil
	})
	return sorted(found), err
}

// lostEvidence is what a command writes and no step of its job uploads if it fails, nothing if there is none.
func lostEvidence(run string, steps []step) string {
	for target := range strings.FieldsSeq(run) {
		written := evidence()[target]
		if written != "" && !slices.ContainsFunc(steps, func(one step) bool {
			return strings.HasPrefix(one.Uses, "actions/upload-artifact@") && one.With.Path == written &&
				(one.If == "always()" || one.If == "failure()")
		}) {
			return written
		}
	}
	return ""
}

// stepProblem says what is wrong with a step, nothing if it is fine.
func stepProblem(uses, run string, targets []string) string {
	if uses != "" {
		if !regexp.MustCompile(`^actions/[a-z-]+@[0-9a-f]{40}$`).MatchString(uses) {
			return "uses " + uses + ": only actions of GitHub itself, at a commit, may see our secrets"
		}
		return ""
	}
	words := strings.Fields(run)
	if len(words) < 2 || words[0] != "make" || strings.ContainsAny(run, ";|&`\n") || strings.Contains(run, "$(") {
		return fmt.Sprintf("runs %q: only make, and one command, so that everybody can do the same", run)
	}
	for _, word := range words[1:] {
		if !strings.Contains(word, "=") && !slices.Contains(targets, word) {
			return fmt.Sprintf("runs %q: the Makefile has no target %s", run, word)
		}
	}
	return ""
}

// makeTargets are those that the Makefile declares as phony.
func makeTargets(tree fs.FS) ([]string, error) {
	text, err := fs.ReadFile(tree, "Makefile")
	if err != nil {
		return nil, fmt.Errorf("reading the targets: %w", err)
	}
	var targets []string
	for _, match := range regexp.MustCompile(`(?m)^\.PHONY: (.*)$`).FindAllSubmatch(text, -1) {
		targets = append(targets, strings.Fields(string(match[1]))...)
	}
	return targets, nil
}
