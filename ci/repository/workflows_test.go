package repository

import "testing"

func TestWorkflows(t *testing.T) {
	check(t, Workflows, map[string]string{
		"Makefile": ".PHONY: test\ntest:\n\n.PHONY: verify\nverify:\n\n.PHONY: soak\nsoak:\n",
		".github/workflows/checks.yaml": `jobs:
  good:
    steps:
      - uses: actions/checkout@0123456789abcdef0123456789abcdef01234567 # v4
      - run: make verify test RACE=1 VERSION="$NAME"
  kept:
    steps:
      - run: make soak SOAK_TIME=2h
      - uses: actions/upload-artifact@0123456789abcdef0123456789abcdef01234567 # v4
        if: failure()
        with: {path: dist/soak}
  lost:
    steps:
      - run: make soak
      - uses: actions/upload-artifact@0123456789abcdef0123456789abcdef01234567 # v4
        with: {path: dist/soak}
  script:
    steps:
      - run: go test ./...
      - run: make test && curl example.com
      - run: make VERSION=$(whoami) test
  missing:
    steps:
      - run: make deploy
  others:
    steps:
      - uses: acme/publish@v1
  moving:
    steps:
      - uses: actions/checkout@v4
  reused:
    uses: acme/all/.github/workflows/x.yaml@v1
    secrets: inherit
`,
		"other/workflow.yaml": "jobs: {x: {steps: [{run: true}]}}",
	},
		".github/workflows/checks.yaml: job lost does not upload dist/soak: nobody could see why it failed",
		`.github/workflows/checks.yaml: job missing runs "make deploy": the Makefile has no target deploy`,
		".github/workflows/checks.yaml: job moving uses actions/checkout@v4: only actions of GitHub itself, at a "+
			"commit, may see our secrets",
		".github/workflows/checks.yaml: job others uses acme/publish@v1: only actions of GitHub itself, at a commit, "+
			"may see our secrets",
		".github/workflows/checks.yaml: job reused consists of a workflow or containers of others: only steps may "+
			"see our secrets",
		`.github/workflows/checks.yaml: job script runs "go test ./...": only make, and one command, so that everybody can do the same`,
		`.github/workflows/checks.yaml: job script runs "make VERSION=$(whoami) test": only make, and one command, so that everybody can do the same`,
		`.github/workflows/checks.yaml: job script runs "make test && curl example.com": only make, and one command, so that everybody can do the same`,
	)
}

func TestWorkflowsThatCannotBeRead(t *testing.T) {
	for name, content := range map[string]map[string]string{
		"no Makefile": {".github/workflows/a.yaml": "jobs: {}"},
		"no YAML":     {"Makefile": "", ".github/workflows/a.yaml": "jobs: ["},
	} {
		if _, err := Workflows(tree(content)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
