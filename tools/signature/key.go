// Package signature signs what is published, with a key, in the form that `cosign verify --key` reads: beside an
// artifact with the digest sha256:DIGEST lies another one with the tag sha256-DIGEST.sig, whose layer is the signed
// statement about it ("simple signing") and whose annotation is the signature.
//
// There is no entry in a public transparency log. Verifiers have to say so: --insecure-ignore-tlog.
package signature

import (
	"bytes"
	"crypto"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/sigstore/sigstore/pkg/cryptoutils"
	"github.com/sigstore/sigstore/pkg/signature"
)

// Environment variables with the key, as PEM or the name of a file, and with its password: never arguments, which every
// process of the machine can read.
const (
	EnvKey      = "RELEASE_KEY"
	EnvKeyFile  = "RELEASE_KEY_FILE"
	EnvPassword = "COSIGN_PASSWORD" // as cosign calls it
)

// ErrNoKey says that the environment names no key.
var ErrNoKey = errors.New("no key to sign with: set " + EnvKeyFile + " to a file, or " + EnvKey +
	" to what is in one; cosign generate-key-pair makes it")

// Key signs. It never shows the private key.
type Key struct{ signature.SignerVerifier }

// KeyFrom returns the key that the environment names; getenv is os.Getenv or stands for it. It fails with ErrNoKey
// without any, and when both are given, when the file cannot be read, and for what is no private key or has another
// password.
func KeyFrom(getenv func(string) string) (Key, error) {
	text, file := getenv(EnvKey), getenv(EnvKeyFile)
	switch {
	case text == "" && file == "":
		return Key{}, ErrNoKey
	case text != "" && file != "":
		return Key{}, fmt.Errorf("%s and %s are both set: leave one of them out", EnvKey, EnvKeyFile)
	case strings.ContainsAny(file, "\n\r") || strings.HasPrefix(file, "-----"):
		return Key{}, fmt.Errorf("%s has to name a file; what it holds looks like a key, which belongs into %s",
			EnvKeyFile, EnvKey)
	case file != "":
		content, err := os.ReadFile(file)
		if err != nil {
			return Key{}, fmt.Errorf("reading %s: %w", EnvKeyFile, err)
		}
		return parseKey(content, getenv(EnvPassword))
	}
	return parseKey([]byte(text), getenv(EnvPassword))
}

func parseKey(content []byte, password string) (Key, error) {
	private, err := cryptoutils.UnmarshalPEMToPrivateKey(content, cryptoutils.StaticPasswordFunc([]byte(password)))
	if err != nil {
		return Key{}, fmt.Errorf("reading the key to sign with, whose password is in %s: %w", EnvPassword, err)
	}
	signer, err := signature.LoadSignerVerifier(private, crypto.SHA256)
	if err != nil {
		return Key{}, fmt.Errorf("using the key to sign with: %w", err)
	}
	return Key{signer}, nil
}

// SignBlob returns the signature of a file's content as `cosign verify-blob --signature` reads it.
func (k Key) SignBlob(content []byte) ([]byte, error) {
	signed, err := k.SignMessage(bytes.NewReader(content))
	if err != nil {
		return nil, fmt.Errorf("signing a file: %w", err)
	}
	return []byte(base64.StdEncoding.EncodeToString(signed) + "\n"), nil
}

// Public is the public key as PEM, for those who verify.
func (k Key) Public() ([]byte, error) {
	public, err := k.PublicKey()
	if err != nil {
		return nil, fmt.Errorf("reading the public key: %w", err)
	}
	return cryptoutils.MarshalPublicKeyToPEM(public)
}
