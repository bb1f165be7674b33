// Package jwt checks and makes the JSON Web Tokens of identity providers, as far
// as workload identity federation uses them: RS256 and ES256, compact form.
package jwt

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"strings"
	"time"
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

// header is the first part of a token.
type header struct {
	Algorithm string `json:"alg"`
	KeyID     string `json:"kid,omitempty"`
	Type      string `json:"typ,omitempty"`
}

// payload is the second part of a token.
type payload struct {
	Issuer    string   `json:"iss"`
	Subject   string   `json:"sub"`
	Audience  audience `json:"aud"`
	Expiry    *seconds `json:"exp"`
	NotBefore *seconds `json:"nbf,omitempty"`
	IssuedAt  *seconds `json:"iat,omitempty"`
}

// audience is one string or a list of them.
type audience []string

// UnmarshalJSON implements json.Unmarshaler.
func (a *audience) UnmarshalJSON(content []byte) error {
	if bytes.HasPrefix(content, []byte(`"`)) {
		*a = audience{""}
		return json.Unmarshal(content, &(*a)[0])
	}
	return json.Unmarshal(content, (*[]string)(a))
}

// seconds is a moment as JWTs write it, perhaps with a fraction.
type seconds float64

func at(t time.Time) *seconds {
	if t.IsZero() {
		return nil
	}
	s := seconds(t.Unix())
	return &s
}

func (s *seconds) time() time.Time {
	if s == nil {
		return time.Time{}
	}
	return time.Unix(int64(*s), 0).UTC()
}

// sizeES256 is the length of one of the two numbers of an ES256 signature.
const sizeES256 = 32

// Verify checks a token's signature against the keys of its issuer, and its
// times against now. Issuer, subject and audience are for the caller to judge.
func Verify(token string, keys []Key, now time.Time) (Claims, error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return Claims{}, fmt.Errorf("the token is not a JWT: it has %d parts separated by dots, not 3", len(parts))
	}
	var head header
	if err := read(parts[0], &head); err != nil {
		return Claims{}, fmt.Errorf("the token's header cannot be read: %w", err)
	}
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil {
		return Claims{}, fmt.Errorf("the token's signature cannot be read: %w", err)
	}
	if err := checkSignature(head, parts[0]+"."+parts[1], signature, keys); err != nil {
		return Claims{}, err
	}
	var body payload
	var all map[string]any
	if err := errors.Join(read(parts[1], &body), read(parts[1], &all)); err != nil {
		return Claims{}, fmt.Errorf("the token's claims cannot be read: %w", err)
	}
	claims, err := body.claims(now)
	if err == nil {
		claims.Others = others(all)
	}
	return claims, err
}

// others are the claims without those that are fields of Claims.
func others(all map[string]any) map[string]any {
	for _, known := range []string{"iss", "sub", "aud", "exp", "nbf", "iat"} {
		delete(all, known)
	}
	if len(all) == 0 {
		return nil
	}
	return all
}

// Unverified is what a token says, whoever wrote it: good for finding the issuer
// whose keys to check it with, and for nothing else.
func Unverified(token string) (Claims, error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return Claims{}, fmt.Errorf("the token is not a JWT: it has %d parts separated by dots, not 3", len(parts))
	}
	var body payload
	if err := read(parts[1], &body); err != nil {
		return Claims{}, fmt.Errorf("the token's claims cannot be read: %w", err)
	}
	return Claims{Issuer: body.Issuer, Subject: body.Subject, Audience: body.Audience}, nil
}

// claims checks the times.
func (p payload) claims(now time.Time) (Claims, error) {
	out := Claims{
		Issuer: p.Issuer, Subject: p.Subject, Audience: p.Audience,
		Expiry: p.Expiry.time(), NotBefore: p.NotBefore.time(), IssuedAt: p.IssuedAt.time(),
	}
	switch {
	case p.Expiry == nil:
		return Claims{}, errors.New(`the token has no expiry (claim "exp")`)
	case !now.Before(out.Expiry):
		return Claims{}, fmt.Errorf("the token expired at %s", out.Expiry.Format(time.RFC3339))
	case now.Before(out.NotBefore):
		return Claims{}, fmt.Errorf("the token is not valid before %s", out.NotBefore.Format(time.RFC3339))
	}
	return out, nil
}

func checkSignature(head header, signed string, signature []byte, keys []Key) error {
	digest := sha256.Sum256([]byte(signed))
	if head.Algorithm != "RS256" && head.Algorithm != "ES256" {
		return fmt.Errorf("the token is signed with %q; RS256 and ES256 are supported", head.Algorithm)
	}
	for _, key := range keys {
		if key.ID != "" && head.KeyID != "" && key.ID != head.KeyID {
			continue
		}
		if key.verifies(head.Algorithm, digest[:], signature) {
			return nil
		}
	}
	return fmt.Errorf("the token's signature (%s, key id %q) is of none of the issuer's %d keys", head.Algorithm, head.KeyID, len(keys))
}

func (k Key) verifies(algorithm string, digest, signature []byte) bool {
	switch public := k.Public.(type) {
	case *rsa.PublicKey:
		return algorithm == "RS256" && rsa.VerifyPKCS1v15(public, crypto.SHA256, digest, signature) == nil
	case *ecdsa.PublicKey:
		if algorithm != "ES256" || len(signature) != 2*sizeES256 {
			return false
		}
		r, s := new(big.Int).SetBytes(signature[:sizeES256]), new(big.Int).SetBytes(signature[sizeES256:])
		return ecdsa.Verify(public, digest, r, s)
	}
	return false
}

func read(part string, into any) error {
	content, err := base64.RawURLEncoding.DecodeString(part)
	if err != nil {
		return err
	}
	return json.Unmarshal(content, into)
}

// Sign makes a token with a private RSA key or one on the curve P-256. The key
// id may be empty.
func Sign(key crypto.Signer, keyID string, claims Claims) (string, error) {
	head := header{Type: "JWT", KeyID: keyID}
	switch key.(type) {
	case *rsa.PrivateKey:
		head.Algorithm = "RS256"
	case *ecdsa.PrivateKey:
		head.Algorithm = "ES256"
	default:
		return "", fmt.Errorf("signing a token: a %T is neither an RSA nor an ECDSA key", key)
	}
	first, err := write(head)
	if err != nil {
		return "", err
	}
	second, err := write(claims.payload())
	if err != nil {
		return "", err
	}
	signature, err := sign(key, first+"."+second)
	if err != nil {
		return "", fmt.Errorf("signing a token: %w", err)
	}
	return first + "." + second + "." + base64.RawURLEncoding.EncodeToString(signature), nil
}

// payload is what a token with the claims says.
func (c Claims) payload() map[string]any {
	all := map[string]any{}
	maps.Copy(all, c.Others)
	all["iss"], all["sub"], all["aud"], all["exp"] = c.Issuer, c.Subject, c.Audience, at(c.Expiry)
	for key, moment := range map[string]time.Time{"nbf": c.NotBefore, "iat": c.IssuedAt} {
		if !moment.IsZero() {
			all[key] = at(moment)
		}
	}
	return all
}

func sign(key crypto.Signer, text string) ([]byte, error) {
	digest := sha256.Sum256([]byte(text))
	curve, ok := key.(*ecdsa.PrivateKey)
	if !ok {
		return key.Sign(rand.Reader, digest[:], crypto.SHA256)
	}
	if curve.Curve.Params().BitSize != 8*sizeES256 {
		return nil, fmt.Errorf("curve %s is not P-256", curve.Curve.Params().Name)
	}
	r, s, err := ecdsa.Sign(rand.Reader, curve, digest[:])
	if err != nil {
		return nil, err
	}
	signature := make([]byte, 2*sizeES256)
	r.FillBytes(signature[:sizeES256])
	s.FillBytes(signature[sizeES256:])
	return signature, nil
}

func write(part any) (string, error) {
	content, err := json.Marshal(part)
	if err != nil {
		return "", fmt.Errorf("signing a token: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(content), nil
}
