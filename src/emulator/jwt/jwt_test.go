package jwt_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/jwt"
)

func curveKey(t *testing.T, curve elliptic.Curve) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func rsaKey(t *testing.T) *rsa.PrivateKey {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func pemOf(t *testing.T, public crypto.PublicKey) string {
	t.Helper()
	content, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: content}))
}

func number(content []byte) string { return base64.RawURLEncoding.EncodeToString(content) }

// setOf is a JSON Web Key Set with an encryption key that must be skipped.
func setOf(t *testing.T, curve *ecdsa.PublicKey, modulus *rsa.PublicKey) string {
	t.Helper()
	point, err := curve.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf(`{"keys":[{"kty":"oct","use":"enc"},{"kty":"EC","kid":"ec","use":"sig","crv":"P-256","x":%q,"y":%q},{"kty":"RSA","kid":"rsa","n":%q,"e":"AQAB"}]}`,
		number(point[1:33]), number(point[33:]), number(modulus.N.Bytes()))
}

func valid(now time.Time) jwt.Claims {
	return jwt.Claims{
		Issuer: "https://issuer.example", Subject: "system:serviceaccount:a:b", Audience: []string{"one", "two"},
		Expiry: now.Add(time.Minute), NotBefore: now, IssuedAt: now,
		Others: map[string]any{"kubernetes.io": map[string]any{"namespace": "a"}, "jti": "1"},
	}
}

func TestSignedTokensVerify(t *testing.T) {
	now := time.Unix(1_800_000_000, 0).UTC()
	curve, modulus := curveKey(t, elliptic.P256()), rsaKey(t)
	set := setOf(t, &curve.PublicKey, &modulus.PublicKey)
	for name, test := range map[string]struct {
		key      crypto.Signer
		id, keys string
	}{
		"ES256 with PEM": {curve, "", pemOf(t, curve.Public())}, "RS256 with PEM": {modulus, "x",
			pemOf(t, modulus.Public())},
		"ES256 with JWKS": {curve, "ec", set}, "RS256 with JWKS": {modulus, "rsa", set},
		"JWKS without a key id": {modulus, "", set},
		"second of two":         {curve, "", pemOf(t, modulus.Public()) + pemOf(t, curve.Public())},
	} {
		t.Run(name, func(t *testing.T) {
			keys, err := jwt.ParseKeys(test.keys)
			if err != nil {
				t.Fatal(err)
			}
			token, err := jwt.Sign(test.key, test.id, valid(now))
			if err != nil {
				t.Fatal(err)
			}
			got, err := jwt.Verify(token, keys, now)
			if err != nil || !reflect.DeepEqual(got, valid(now)) {
				t.Errorf("%+v, %v, want %+v", got, err, valid(now))
			}
			if said, err := jwt.Unverified(token); err != nil || said.Issuer != got.Issuer ||
				said.Subject != got.Subject {
				t.Errorf("unverified: %+v, %v", said, err)
			}
		})
	}
}

func TestBadTokensAreRefused(t *testing.T) {
	now := time.Unix(1_800_000_000, 0).UTC()
	key, other := curveKey(t, elliptic.P256()), curveKey(t, elliptic.P256())
	keys, err := jwt.ParseKeys(pemOf(t, key.Public()))
	if err != nil {
		t.Fatal(err)
	}
	sign := func(by crypto.Signer, change func(*jwt.Claims)) string {
		claims := valid(now)
		change(&claims)
		token, err := jwt.Sign(by, "", claims)
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	good := sign(key, func(*jwt.Claims) {})
	parts := strings.Split(good, ".")
	// A token that the public key "signs", as libraries that trust the header accepted.
	none := number([]byte(`{"alg":"none"}`)) + "." + parts[1] + "."
	tests := map[string]struct{ token, want string }{
		"another key": {sign(other, func(*jwt.Claims) {}), "none of the issuer's 1 keys"},
		"expired":     {sign(key, func(c *jwt.Claims) { c.Expiry = now }), "expired at 2027-01-15T08:00:00Z"},
		"no expiry":   {sign(key, func(c *jwt.Claims) { c.Expiry = time.Time{} }), "no expiry"},
		"too early":   {sign(key, func(c *jwt.Claims) { c.NotBefore = now.Add(time.Second) }), "not valid before"},
		"not signed":  {none, `signed with "none"`},
		"HMAC":        {number([]byte(`{"alg":"HS256"}`)) + "." + parts[1] + "." + parts[2], `signed with "HS256"`},
		"wrong kind":  {number([]byte(`{"alg":"RS256"}`)) + "." + parts[1] + "." + parts[2], "none of the issuer's"},
		"changed": {parts[0] + "." + number([]byte(`{"sub":"root","exp":9999999999}`)) + "." + parts[2],
			"none of the issuer's"},
		"cut":           {parts[0] + "." + parts[1] + "." + parts[2][:20], "none of the issuer's"},
		"two parts":     {parts[0] + "." + parts[1], "it has 2 parts"},
		"bad header":    {"*." + parts[1] + "." + parts[2], "the token cannot be read"},
		"bad signature": {parts[0] + "." + parts[1] + ".*", "the token cannot be read"},
		"empty":         {"", "it has 1 parts"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := jwt.Verify(test.token, keys, now); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
	for _, token := range []string{"", "a.*.c", "a." + number([]byte("[]")) + ".c"} {
		if _, err := jwt.Unverified(token); err == nil {
			t.Errorf("Unverified(%q): no error", token)
		}
	}
}

func TestOneAudienceMayBeAString(t *testing.T) {
	claims, err := jwt.Unverified(number([]byte(`{"alg":"ES256"}`)) + "." +
		number([]byte(`{"aud":"one","iat":1.5}`)) + ".c2ln")
	if err != nil || !reflect.DeepEqual(claims.Audience, []string{"one"}) {
		t.Errorf("%+v, %v, want audience [one]", claims, err)
	}
}

func TestUnusableKeysAreRefused(t *testing.T) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	large := curveKey(t, elliptic.P384())
	tests := map[string]struct{ keys, want string }{
		"nothing":      {"", "no signing key"},
		"empty set":    {`{"keys":[]}`, "no signing key"},
		"broken set":   {`{"keys":1}`, "JSON Web Key Set"},
		"other kind":   {`{"keys":[{"kty":"OKP","crv":"Ed25519"}]}`, "Ed key"},
		"small RSA":    {`{"keys":[{"kty":"RSA","n":"AQAB","e":"AQAB"}]}`, "17 bits"},
		"bad modulus":  {`{"keys":[{"kty":"RSA","n":"*"}]}`, "base64"},
		"bad exponent": {`{"keys":[{"kty":"RSA","n":"AQAB","e":"*"}]}`, "base64"},
		"bad point":    {`{"keys":[{"kty":"EC","crv":"P-256","x":"AQAB","y":"AQAB"}]}`, "wrong length for x"},
		"off curve": {fmt.Sprintf(`{"keys":[{"kty":"EC","crv":"P-256","x":%[1]q,"y":%[1]q}]}`,
			number(make([]byte, 32))), "key 0"},
		"Ed25519": {pemOf(t, public), "neither an RSA nor an ECDSA key"},
		"P-384":   {pemOf(t, large.Public()), "P-384 is not P-256"},
		"private key": {"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
			"private keys do not belong here"},
		"broken PEM":         {"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n", "PUBLIC KEY"},
		"broken certificate": {"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "CERTIFICATE"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := jwt.ParseKeys(test.keys); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
	for _, key := range []crypto.Signer{private, large} {
		if _, err := jwt.Sign(key, "", jwt.Claims{}); err == nil {
			t.Errorf("signing with a %T: no error", key)
		}
	}
}

func FuzzVerify(f *testing.F) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		f.Fatal(err)
	}
	keys := []jwt.Key{{Public: key.Public()}}
	f.Add("a.b.c")
	f.Add(number([]byte(`{"alg":"ES256"}`)) + "." + number([]byte(`{"exp":1}`)) + "." + number(make([]byte, 64)))
	f.Fuzz(func(t *testing.T, token string) {
		if claims, err := jwt.Verify(token, keys, time.Now()); err == nil {
			t.Errorf("%q passed as %+v", token, claims)
		}
	})
}
