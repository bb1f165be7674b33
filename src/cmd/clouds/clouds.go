// Package clouds lists the clouds that the programs of this repository serve.
package clouds

import (
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore"
	ironconfig "github.com/thalassa-cloud/thalassa-ccm/src/ironcore/cloudconfig"
	"github.com/thalassa-cloud/thalassa-ccm/src/manager"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/cloudconfig"
)

// Providers returns the clouds, the default one first. Agent follows the name of the program in the user agent. Each
// result has its own values of the flags of the clouds, so that it is for one command.
func Providers(agent string) []manager.Provider {
	iron := ironcore.NewOptions(agent)
	return []manager.Provider{
		{Name: thalassa.ProviderName, New: thalassa.New(agent), Validate: thalassa.Validate,
			Warnings: thalassa.Warnings, Scope: cloudconfig.Scope, Former: manager.Former{
				Programs: []string{"cloud-provider-thalassa"}, Guide: "docs/guides/migrate.md",
				Differences: thalassa.Differences}},
		{Name: ironcore.ProviderName, Flags: iron.AddFlags, OtherFlags: []string{ironcore.SelectorFlag}, New: iron.New,
			Validate: ironconfig.Validate, Warnings: ironconfig.Warnings, Former: manager.Former{
				Programs: []string{"cloud-provider-ironcore", "ironcore-cloud-controller-manager"},
				Guide:    "docs/guides/ironcore.md"}},
	}
}
