// Package jwt checks and makes the JSON Web Tokens of identity providers, as far
// as workload identity federation uses them: RS256 and ES256, compact form.
package jwt

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/rsa"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// Claims are what a token says. Times are in whole seconds on the wire.
type Claims struct {
	Issuer   string
	Subject  string
	Audience []string
	// Expiry is required of tokens that are checked.
	Expiry time.Time
	// NotBefore and IssuedAt are zero when the token does not say.
	NotBefore time.Time
	IssuedAt  time.Time
	// Others are all other claims, as JSON values; nil when there are none.
	Others map[string]any
}

// Verify checks a token's signature against the keys of its issuer, and its
// times against now. Issuer, subject and audience are for the caller to judge.
func Verify(token string, keys []Key, now time.Time) (Claims, error) {
	parsed, err := parse(token)
	if err != nil {
		return Claims{}, err
	}
	header := parsed.Headers[0]
	for _, key := range keys {
		if key.ID != "" && header.KeyID != "" && key.ID != header.KeyID || !key.fits(header.Algorithm) {
			continue
		}
		var said jwt.Claims
		var all map[string]any
		err := parsed.Claims(key.Public, &said, &all)
		if errors.Is(err, jose.ErrCryptoFailure) {
			continue
		}
		if err != nil {
			return Claims{}, fmt.Errorf("the token's claims cannot be read: %w", err)
		}
		return checked(said, all, now)
	}
	return Claims{}, fmt.Errorf("the token's signature (%s, key id %q) is of none of the issuer's %d keys",
		header.Algorithm, header.KeyID, len(keys))
}

// Unverified is what a token says, whoever wrote it: good for finding the issuer
// whose keys to check it with, and for nothing else.
func Unverified(token string) (Claims, error) {
	parsed, err := parse(token)
	if err != nil {
		return Claims{}, err
	}
	var said jwt.Claims
	if err := parsed.UnsafeClaimsWithoutVerification(&said); err != nil {
		return Claims{}, fmt.Errorf("the token's claims cannot be read: %w", err)
	}
	return Claims{Issuer: said.Issuer, Subject: said.Subject, Audience: said.Audience}, nil
}

// parse reads a token in compact form, whose algorithm is one that the cloud accepts.
func parse(token string) (*jwt.JSONWebToken, error) {
	if parts := strings.Count(token, ".") + 1; parts != 3 {
		return nil, fmt.Errorf("the token is not a JWT: it has %d parts separated by dots, not 3", parts)
	}
	parsed, err := jwt.ParseSigned(token, []jose.SignatureAlgorithm{jose.RS256, jose.ES256})
	if unexpected, ok := errors.AsType[*jose.ErrUnexpectedSignatureAlgorithm](err); ok {
		return nil, fmt.Errorf("the token is signed with %q; RS256 and ES256 are supported", unexpected.Got)
	}
	if err != nil {
		return nil, fmt.Errorf("the token cannot be read: %w", err)
	}
	return parsed, nil
}

// checked are the claims of a token with a good signature, if it is valid now.
func checked(said jwt.Claims, all map[string]any, now time.Time) (Claims, error) {
	out := Claims{
		Issuer: said.Issuer, Subject: said.Subject, Audience: said.Audience,
		Expiry: moment(said.Expiry), NotBefore: moment(said.NotBefore), IssuedAt: moment(said.IssuedAt),
	}
	switch {
	case said.Expiry == nil:
		return Claims{}, errors.New(`the token has no expiry (claim "exp")`)
	case !now.Before(out.Expiry):
		return Claims{}, fmt.Errorf("the token expired at %s", out.Expiry.Format(time.RFC3339))
	case now.Before(out.NotBefore):
		return Claims{}, fmt.Errorf("the token is not valid before %s", out.NotBefore.Format(time.RFC3339))
	}
	for _, known := range []string{"iss", "sub", "aud", "exp", "nbf", "iat"} {
		delete(all, known)
	}
	if len(all) > 0 {
		out.Others = all
	}
	return out, nil
}

// moment is a claim as a time; the zero time if the token does not have the claim.
func moment(claim *jwt.NumericDate) time.Time {
	if claim == nil {
		return time.Time{}
	}
	return claim.Time().UTC()
}

// Sign makes a token with a private RSA key or one on the curve P-256. The key
// id may be empty.
func Sign(key crypto.Signer, keyID string, claims Claims) (string, error) {
	algorithm := jose.ES256
	switch private := key.(type) {
	case *rsa.PrivateKey:
		algorithm = jose.RS256
	case *ecdsa.PrivateKey:
		if err := usable(private.Public()); err != nil {
			return "", fmt.Errorf("signing a token: %w", err)
		}
	default:
		return "", fmt.Errorf("signing a token: a %T is neither an RSA nor an ECDSA key", key)
	}
	with := jose.SigningKey{Algorithm: algorithm, Key: jose.JSONWebKey{Key: key, KeyID: keyID}}
	signer, err := jose.NewSigner(with, (&jose.SignerOptions{}).WithType("JWT"))
	if err != nil {
		return "", fmt.Errorf("signing a token: %w", err)
	}
	token, err := jwt.Signed(signer).Claims(claims.payload()).Serialize()
	if err != nil {
		return "", fmt.Errorf("signing a token: %w", err)
	}
	return token, nil
}

// payload is what a token with the claims says.
func (c Claims) payload() map[string]any {
	all := map[string]any{}
	maps.Copy(all, c.Others)
	all["iss"], all["sub"], all["aud"] = c.Issuer, c.Subject, c.Audience
	for key, at := range map[string]time.Time{"exp": c.Expiry, "nbf": c.NotBefore, "iat": c.IssuedAt} {
		if !at.IsZero() {
			all[key] = at.Unix()
		}
	}
	return all
}
