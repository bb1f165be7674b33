package auth

import (
	"crypto/rand"
	"net/http"
	"strconv"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

// The grants that /oidc/token supports.
const (
	grantClientCredentials = "client_credentials"
	grantTokenExchange     = "urn:ietf:params:oauth:grant-type:token-exchange"
	// The kinds of tokens that can be exchanged. An ID token is a JWT, too.
	subjectTokenJWT = "urn:ietf:params:oauth:token-type:jwt"
	subjectTokenID  = "urn:ietf:params:oauth:token-type:id_token"
)

// The bounds of access_token_lifetime, as the vendor's command line has them.
const (
	minTokenLifetime = time.Minute
	maxTokenLifetime = 24 * time.Hour
)

// refusal is why no token was issued, in the words of RFC 6749, section 5.2.
type refusal struct {
	status            int
	code, description string
}

func (r *refusal) Error() string { return r.code + ": " + r.description }

func badRequest(code, description string) *refusal {
	return &refusal{http.StatusBadRequest, code, description}
}

// Grant answers POST /oidc/token: the client credentials grant, with the client
// authenticated by a Basic header or by form fields, and token exchange.
func (g *Authenticator) Grant(r *http.Request) (status int, body any) {
	token, refused := g.token(r)
	if refused != nil {
		return refused.status, wire.TokenError{Code: refused.code, Description: refused.description}
	}
	return http.StatusOK, token
}

func (g *Authenticator) token(r *http.Request) (wire.Token, *refusal) {
	if err := r.ParseForm(); err != nil {
		return wire.Token{}, badRequest("invalid_request", "the body is not a form: "+err.Error())
	}
	switch grant := r.PostForm.Get("grant_type"); grant {
	case grantClientCredentials:
		return g.clientCredentials(r)
	case grantTokenExchange:
		return g.exchange(r.PostForm)
	case "":
		return wire.Token{}, badRequest("invalid_request", "grant_type is missing")
	default:
		return wire.Token{}, badRequest("unsupported_grant_type",
			"grant_type is "+grant+"; this emulator supports "+grantClientCredentials+" and "+grantTokenExchange)
	}
}

func (g *Authenticator) clientCredentials(r *http.Request) (wire.Token, *refusal) {
	id, secret, basic := r.BasicAuth()
	if !basic {
		id, secret = r.PostForm.Get("client_id"), r.PostForm.Get("client_secret")
	}
	user, found := g.user(id, secret)
	if !found {
		return wire.Token{}, &refusal{http.StatusUnauthorized, "invalid_client", "unknown client, or wrong secret"}
	}
	limit, err := user.Scopes.narrow(r.PostForm.Get("scope"))
	if err != nil {
		return wire.Token{}, badRequest("invalid_scope", err.Error())
	}
	user.Scopes = limit
	return g.issue(user, g.lifetime), nil
}

// tokenLifetime reads access_token_lifetime: a duration such as "39600s", or a
// number of seconds.
func tokenLifetime(text string, standard time.Duration) (time.Duration, *refusal) {
	if text == "" {
		return standard, nil
	}
	lifetime, err := time.ParseDuration(text)
	if seconds, notNumber := strconv.Atoi(text); notNumber == nil {
		// Larger numbers are out of bounds and would overflow.
		lifetime, err = time.Duration(min(seconds, int(2*maxTokenLifetime/time.Second)))*time.Second, nil
	}
	if err != nil {
		return 0, badRequest("invalid_request",
			"access_token_lifetime is "+strconv.Quote(text)+"; send seconds, or a duration such as 3600s")
	}
	if lifetime < minTokenLifetime || lifetime > maxTokenLifetime {
		return 0, badRequest("invalid_request", "access_token_lifetime must be 1m to 24h, not "+text)
	}
	return lifetime, nil
}

// issue makes a bearer token and deletes those that expired.
func (g *Authenticator) issue(user Principal, lifetime time.Duration) wire.Token {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	for token, b := range g.bearers {
		// An expired token is kept for a while, for a better error message.
		if now.After(b.expires.Add(g.lifetime)) {
			delete(g.bearers, token)
		}
	}
	token := rand.Text()
	g.bearers[token] = bearer{user, now.Add(lifetime)}
	return wire.Token{AccessToken: token, Type: "Bearer", ExpiresIn: int(lifetime / time.Second),
		Scope: user.Scopes.String()}
}
