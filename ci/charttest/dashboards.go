package charttest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// Dashboard is what the tests read of a dashboard.
type Dashboard struct {
	UID        string  `json:"uid"`
	Title      string  `json:"title"`
	Panels     []Panel `json:"panels"`
	Templating struct {
		List []Variable `json:"list"`
	} `json:"templating"`
}

// Variable is a choice of the user, and where Grafana finds what can be chosen: in the query or, after an import, in
// the definition.
type Variable struct {
	Name, Type, Definition, AllValue string
	Query                            json.RawMessage
}

// Target is a query of a panel, and the text that distinguishes its series.
type Target struct{ RefID, Expr, LegendFormat string }

// Panel is one panel, or the row above others.
type Panel struct {
	ID                       int
	Type, Title, Description string
	Targets                  []Target
	FieldConfig              struct{ Defaults struct{ Unit string } }
}

// OnlyThalassa is the title of the row, the last one, whose panels have no data with IronCore.
const OnlyThalassa = "Only with Thalassa Cloud"

// Dashboards returns the dashboards of thalassa-ccm, by the names of their files.
func Dashboards(tb testing.TB) map[string]Dashboard {
	tb.Helper()
	paths, err := filepath.Glob(filepath.Join(CCM.Dir(tb), "dashboards", "*.json"))
	if err != nil || len(paths) != 2 {
		tb.Fatalf("dashboards %q, error %v; want two", paths, err)
	}
	all := map[string]Dashboard{}
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			tb.Fatal(err)
		}
		var one Dashboard
		if err := json.Unmarshal(content, &one); err != nil {
			tb.Fatalf("%s: %v", path, err)
		}
		all[filepath.Base(path)] = one
	}
	return all
}
