package jwt

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"

	"github.com/go-jose/go-jose/v4"
)

// Key is a public key of an issuer.
type Key struct {
	// ID is matched with a token's key id when both are there.
	ID string
	// Public is an *rsa.PublicKey, or an *ecdsa.PublicKey on the curve P-256.
	Public crypto.PublicKey
}

// ParseKeys reads public keys: a JSON Web Key Set, or PEM blocks with public
// keys or certificates.
func ParseKeys(text string) ([]Key, error) {
	var (
		keys []Key
		err  error
	)
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		keys, err = parseSet(text)
	} else {
		keys, err = parsePEM([]byte(text))
	}
	if err == nil && len(keys) == 0 {
		err = errors.New("there is no signing key in it; give a JSON Web Key Set, or PEM with a public key or " +
			"certificate")
	}
	return keys, err
}

func parsePEM(text []byte) ([]Key, error) {
	var keys []Key
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		public, err := parseBlock(block)
		if err != nil {
			return nil, fmt.Errorf("reading PEM block %q: %w", block.Type, err)
		}
		if err := usable(public); err != nil {
			return nil, fmt.Errorf("reading PEM block %q: %w", block.Type, err)
		}
		keys = append(keys, Key{Public: public})
	}
	return keys, nil
}

func parseBlock(block *pem.Block) (crypto.PublicKey, error) {
	switch block.Type {
	case "PUBLIC KEY":
		return x509.ParsePKIXPublicKey(block.Bytes)
	case "RSA PUBLIC KEY":
		return x509.ParsePKCS1PublicKey(block.Bytes)
	case "CERTIFICATE":
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		return certificate.PublicKey, nil
	}
	return nil,
		errors.New("only PUBLIC KEY, RSA PUBLIC KEY and CERTIFICATE are understood; private keys do not belong here")
}

// smallestRSA is how many bits an RSA key has at least.
const smallestRSA = 2048

// usable is an error unless RS256 or ES256 can use the key.
func usable(public crypto.PublicKey) error {
	switch key := public.(type) {
	case *rsa.PublicKey:
		if bits := key.N.BitLen(); bits < smallestRSA {
			return fmt.Errorf("an RSA key of %d bits is not usable; %d bits and more are", bits, smallestRSA)
		}
		return nil
	case *ecdsa.PublicKey:
		if key.Curve == elliptic.P256() {
			return nil
		}
		return fmt.Errorf("curve %s is not P-256", key.Curve.Params().Name)
	}
	return fmt.Errorf("a %T is neither an RSA nor an ECDSA key", public)
}

// fits reports whether the key is of the kind that an algorithm uses.
func (k Key) fits(algorithm string) bool {
	switch k.Public.(type) {
	case *rsa.PublicKey:
		return algorithm == string(jose.RS256)
	case *ecdsa.PublicKey:
		return algorithm == string(jose.ES256)
	}
	return false
}

// parseSet reads a JSON Web Key Set (RFC 7517) without its encryption keys.
func parseSet(text string) ([]Key, error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal([]byte(text), &set); err != nil {
		return nil, fmt.Errorf("reading a JSON Web Key Set: %w", err)
	}
	var keys []Key
	for i, raw := range set.Keys {
		var about struct{ Use string }
		if err := json.Unmarshal(raw, &about); err == nil && about.Use != "" && about.Use != "sig" {
			continue
		}
		var key jose.JSONWebKey
		err := key.UnmarshalJSON(raw)
		if err == nil {
			err = usable(key.Key)
		}
		if err != nil {
			return nil, fmt.Errorf("reading key %d (%q) of a JSON Web Key Set: %w", i, key.KeyID, err)
		}
		keys = append(keys, Key{ID: key.KeyID, Public: key.Key})
	}
	return keys, nil
}
