package main

import (
	"strings"
	"testing"
)

// TestFormats: each command has all formats, with each cloud. What is printed as JSON or YAML is as the schema says,
// and no format contains a secret, see rig.run. Names are those of objects.
func TestFormats(t *testing.T) {
	t.Run("thalassa", func(t *testing.T) {
		r := newRig(t)
		r.addService("web")
		r.reconcile()
		r.testFormats()
	})
	t.Run("ironcore", func(t *testing.T) {
		r := newIronRig(t)
		r.addService("web")
		r.reconcile()
		r.testFormats()
	})
}

func (r *rig) testFormats() {
	const nodes = "node/a\nnode/b\n" // which no kubelet has made ready
	for command, names := range map[string]string{"doctor": nodes, "nodes": nodes, "plan": "", "top": "service/web\n",
		"orphans": "", "migrate": ""} {
		for _, format := range []string{"json", "yaml"} {
			if shown := r.run(command, "-o", format); !strings.Contains(shown.out, "apiVersion") {
				r.Errorf("%s -o %s: code %d, %q, %s", command, format, shown.code, shown.err, shown.out)
			}
		}
		plain, wide := r.run(command), r.run(command, "-o", "wide")
		if wide.code != plain.code || len(wide.out) < len(plain.out) {
			r.Errorf("%s -o wide shows less (code %d):\n%s\nthan\n%s", command, wide.code, wide.out, plain.out)
		}
		if shown := r.run(command, "-o", "name"); shown.code != plain.code || shown.out != names {
			r.Errorf("%s -o name: code %d, %q, want %q", command, shown.code, shown.out, names)
		}
		if shown := r.run(command, "-o", "xml"); shown.code == 0 || !strings.Contains(shown.err, "xml") {
			r.Errorf("%s -o xml: code %d, %q", command, shown.code, shown.err)
		}
	}
}
