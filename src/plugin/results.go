package plugin

import "github.com/thalassa-cloud/thalassa-ccm/src/plugin/terminal"

// Results returns an empty result of each kind, by the kind. The JSON schema is made from them.
func Results() map[string]terminal.Result {
	return map[string]terminal.Result{"Plan": Plan{}, "Doctor": Doctor{}, "Nodes": Nodes{}, "Orphans": Orphans{},
		"OrphanDeletion": OrphanDeletion{}, "Migration": Migration{}, "Top": Top{}}
}
