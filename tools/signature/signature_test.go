package signature

import (
	"crypto/elliptic"
	"encoding/base64"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/sigstore/sigstore/pkg/cryptoutils"
	"github.com/sigstore/sigstore/pkg/signature"
)

var digest = v1.Hash{Algorithm: "sha256", Hex: strings.Repeat("0a", 32)}

// pair makes a key as `cosign generate-key-pair` does.
func pair(t *testing.T, password string) string {
	t.Helper()
	private, _, err := cryptoutils.GeneratePEMEncodedECDSAKeyPair(elliptic.P256(),
		cryptoutils.StaticPasswordFunc([]byte(password)))
	if err != nil {
		t.Fatal(err)
	}
	return string(private)
}

func environment(values map[string]string) func(string) string {
	return func(name string) string { return values[name] }
}

func TestSign(t *testing.T) {
	key, err := KeyFrom(environment(map[string]string{EnvKey: pair(t, "s3cret"), EnvPassword: "s3cret"}))
	if err != nil {
		t.Fatal(err)
	}
	image, err := key.Sign("ghcr.io/acme/emulator", digest, nil)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := image.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	layers, err := image.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("%d layers, %v", len(layers), err)
	}
	reader, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	payload, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := base64.StdEncoding.DecodeString(manifest.Layers[0].Annotations[annotationKey])
	if err != nil {
		t.Fatal(err)
	}
	subject, _, err := signature.VerifyImageSignature(key, payload, signed)
	if err != nil || subject.String() != "ghcr.io/acme/emulator@"+digest.String() {
		t.Errorf("signed is %s, %v", subject, err)
	}
	if want := "sha256-" + digest.Hex + ".sig"; Tag(digest) != want {
		t.Errorf("tag %s, want %s", Tag(digest), want)
	}
	public, err := key.Public()
	if err != nil || !strings.HasPrefix(string(public), "-----BEGIN PUBLIC KEY-----") {
		t.Errorf("public key %q, %v", public, err)
	}
}

func TestSignWhatHasNoName(t *testing.T) {
	key, err := KeyFrom(environment(map[string]string{EnvKey: pair(t, "")}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := key.Sign("Not A Repository", digest, nil); err == nil ||
		!strings.Contains(err.Error(), "Not A Repository") {
		t.Errorf("error = %v", err)
	}
}

func TestKeyFrom(t *testing.T) {
	private := pair(t, "s3cret")
	file := filepath.Join(t.TempDir(), "cosign.key")
	if err := os.WriteFile(file, []byte(private), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := KeyFrom(environment(map[string]string{EnvKeyFile: file, EnvPassword: "s3cret"})); err != nil {
		t.Errorf("from a file: %v", err)
	}
	if _, err := KeyFrom(environment(nil)); !errors.Is(err, ErrNoKey) {
		t.Errorf("without a key: %v", err)
	}
	for name, values := range map[string]map[string]string{
		"both":           {EnvKey: private, EnvKeyFile: file},
		"no file":        {EnvKeyFile: file + "x"},
		"a key as file":  {EnvKeyFile: private, EnvPassword: "s3cret"},
		"no key":         {EnvKey: "s3cret"},
		"wrong password": {EnvKey: private, EnvPassword: "wrong"},
	} {
		_, err := KeyFrom(environment(values))
		if err == nil || strings.Contains(err.Error(), "s3cret") || strings.Contains(err.Error(), private[40:80]) {
			t.Errorf("%s: error %v; want one without secrets", name, err)
		}
	}
}
