package jwt

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"strings"
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
		err = errors.New("there is no signing key in it; give a JSON Web Key Set, or PEM with a public key or certificate")
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
	return nil, errors.New("only PUBLIC KEY, RSA PUBLIC KEY and CERTIFICATE are understood; private keys do not belong here")
}

func usable(public crypto.PublicKey) error {
	switch key := public.(type) {
	case *rsa.PublicKey:
		return nil
	case *ecdsa.PublicKey:
		if key.Curve == elliptic.P256() {
			return nil
		}
		return fmt.Errorf("curve %s is not P-256", key.Curve.Params().Name)
	}
	return fmt.Errorf("a %T is neither an RSA nor an ECDSA key", public)
}

// webKey is an element of a JSON Web Key Set (RFC 7517).
type webKey struct {
	Kind  string `json:"kty"`
	ID    string `json:"kid"`
	Use   string `json:"use"`
	N     string `json:"n"`
	E     string `json:"e"`
	Curve string `json:"crv"`
	X     string `json:"x"`
	Y     string `json:"y"`
}

func parseSet(text string) ([]Key, error) {
	var set struct {
		Keys []webKey `json:"keys"`
	}
	if err := json.Unmarshal([]byte(text), &set); err != nil {
		return nil, fmt.Errorf("reading a JSON Web Key Set: %w", err)
	}
	var keys []Key
	for i, k := range set.Keys {
		if k.Use != "" && k.Use != "sig" {
			continue
		}
		public, err := k.public()
		if err != nil {
			return nil, fmt.Errorf("reading key %d (%q) of a JSON Web Key Set: %w", i, k.ID, err)
		}
		keys = append(keys, Key{ID: k.ID, Public: public})
	}
	return keys, nil
}

func (k webKey) public() (crypto.PublicKey, error) {
	switch {
	case k.Kind == "RSA":
		return k.rsa()
	case k.Kind == "EC" && k.Curve == "P-256":
		return k.ecdsa()
	}
	return nil, fmt.Errorf("kind %q with curve %q is not supported; use RSA, or EC with P-256", k.Kind, k.Curve)
}

func (k webKey) rsa() (crypto.PublicKey, error) {
	n, err := base64.RawURLEncoding.DecodeString(k.N)
	if err != nil {
		return nil, fmt.Errorf("field \"n\": %w", err)
	}
	e, err := base64.RawURLEncoding.DecodeString(k.E)
	if err != nil {
		return nil, fmt.Errorf("field \"e\": %w", err)
	}
	exponent := new(big.Int).SetBytes(e)
	if len(n) < 256 || exponent.BitLen() > 31 || exponent.Sign() == 0 {
		return nil, fmt.Errorf("an RSA key of %d bits with exponent %s is not usable; 2048 bits and more are", 8*len(n), exponent)
	}
	return &rsa.PublicKey{N: new(big.Int).SetBytes(n), E: int(exponent.Int64())}, nil
}

func (k webKey) ecdsa() (crypto.PublicKey, error) {
	// The uncompressed form of a point: 4, x, y.
	point := []byte{4}
	for i, text := range []string{k.X, k.Y} {
		coordinate, err := base64.RawURLEncoding.DecodeString(text)
		if err != nil || len(coordinate) != sizeES256 {
			return nil, fmt.Errorf("field %q is not %d bytes in base64url", []string{"x", "y"}[i], sizeES256)
		}
		point = append(point, coordinate...)
	}
	return ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point)
}
