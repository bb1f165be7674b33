package auth

import (
	"maps"
	"slices"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/seed"
)

// Describe adds the tokens and clients to a seed with the organisations of the store, in its order.
func (g *Authenticator) Describe(out *seed.Seed) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, org := range g.organisations {
		described := &out.Organisations[i]
		for _, token := range slices.Sorted(maps.Keys(g.tokens)) {
			owner := g.tokens[token]
			switch {
			case !slices.Contains(owner.Organisations, org):
			case owner.Scopes == nil:
				described.PersonalAccessTokens = append(described.PersonalAccessTokens, token)
			default:
				described.Tokens = append(described.Tokens, seed.Token{Token: token, Scopes: seed.Scopes(owner.Scopes)})
			}
		}
		for _, id := range slices.Sorted(maps.Keys(g.clients)) {
			if c := g.clients[id]; slices.Contains(c.Organisations, org) {
				described.Clients = append(described.Clients, seed.Client{ID: id, Secret: c.secret,
					Scopes: seed.Scopes(c.Scopes), Project: c.Project})
			}
		}
	}
}
