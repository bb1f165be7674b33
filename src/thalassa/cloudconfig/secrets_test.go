package cloudconfig

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/util/cert"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/secret"
)

// directoryWith makes a directory with files.
func directoryWith(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestCredentialsDirectory(t *testing.T) {
	token := secret.Credentials{PersonalAccessToken: "t"}
	const either = "found DIR, want it to hold either the file personalAccessToken, or the files clientID and " +
		"clientSecret"
	tests := []struct {
		name    string
		files   map[string]string
		want    secret.Credentials
		problem string
	}{
		{"token, with a line end", map[string]string{"personalAccessToken": "t\n"}, token, ""},
		{"client", map[string]string{"clientID": "i", "clientSecret": "s"}, secret.Credentials{ClientID: "i",
			ClientSecret: "s"}, ""},
		{"other files do not matter", map[string]string{"personalAccessToken": "t", "note": "x"}, token, ""},
		{"empty directory", nil, secret.Credentials{}, either},
		{"empty file", map[string]string{"personalAccessToken": " \n"}, secret.Credentials{}, either},
		{"both", map[string]string{"personalAccessToken": "s3cret", "clientID": "i", "clientSecret": "s3cret"},
			secret.Credentials{}, either},
		{"half a client", map[string]string{"clientID": "i"}, secret.Credentials{}, either},
		{"token and half a client", map[string]string{"personalAccessToken": "s3cret", "clientID": "i"},
			secret.Credentials{}, either},
		{"two tokens", map[string]string{"personalAccessToken": "s3cret\ns3cret"}, secret.Credentials{},
			"found something else in the file DIR/personalAccessToken, want a token of printable ASCII characters " +
				"without blanks"},
		{"identifier with a blank", map[string]string{"clientID": "s3cret one", "clientSecret": "s3cret"},
			secret.Credentials{},
			"found something else in the file DIR/clientID, want an identifier of printable ASCII characters without " +
				"blanks"},
		{"secret of two lines", map[string]string{"clientID": "id", "clientSecret": "s3c\nret"}, secret.Credentials{},
			"found something else in the file DIR/clientSecret, want a secret on one line"},
		{"huge", map[string]string{"personalAccessToken": strings.Repeat("s3cret", maxSecret/6+1)},
			secret.Credentials{},
			"found DIR/personalAccessToken, want a file that can be read: it is larger than 1048576 bytes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := directoryWith(t, tt.files)
			c := Config{CloudCredentials: Credentials{Directory: dir}}
			got, err := c.ReadSecrets(cloud.Environment{})
			if tt.problem == "" {
				if diff := cmp.Diff(tt.want, got.Credentials); diff != "" || err != nil {
					t.Errorf("credentials (-want +got), error %v:\n%s", err, diff)
				}
				return
			}
			if want := "cloudCredentials.directory: " + strings.ReplaceAll(tt.problem, "DIR", dir); err == nil ||
				err.Error() != want {
				t.Errorf("error %v, want %s", err, want)
			}
		})
	}
}

func TestCredentialsDirectoryThatIsNone(t *testing.T) {
	c := Config{CloudCredentials: Credentials{Directory: "/does/not/exist"}}
	const want = "cloudCredentials.directory: found /does/not/exist, want a directory that can be read: no such file " +
		"or directory"
	if _, err := c.ReadSecrets(cloud.Environment{}); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// TestCredentialsOfOneMoment: a mounted Secret is replaced as a whole; half of the old and half of the new one fit
// nowhere.
func TestCredentialsOfOneMoment(t *testing.T) {
	dir := t.TempDir()
	for version, files := range map[string]map[string]string{
		"..old": {"clientID": "old", "clientSecret": "old"},
		"..new": {"clientID": "new", "clientSecret": "new"},
	} {
		if err := os.CopyFS(filepath.Join(dir, version), os.DirFS(directoryWith(t, files))); err != nil {
			t.Fatal(err)
		}
	}
	link := func(target, name string) {
		t.Helper()
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	// As kubelet leaves it, only that one of the two files goes to the other version already.
	link("..old", "..data")
	link("..data/clientID", "clientID")
	link("..new/clientSecret", "clientSecret")
	got, err := Config{CloudCredentials: Credentials{Directory: dir}}.ReadSecrets(cloud.Environment{})
	if want := (secret.Credentials{ClientID: "old", ClientSecret: "old"}); err != nil || got.Credentials != want {
		t.Errorf("client %s, secret %s, error %v; want all of one version", got.Credentials.ClientID,
			got.Credentials.ClientSecret, err)
	}
}

func TestSubjectToken(t *testing.T) {
	dir := directoryWith(t, map[string]string{"token": "s3cret", "empty": "\n"})
	const path = "cloudCredentials.workloadIdentity.subjectTokenFile: found "
	for name, want := range map[string]string{
		"token": "<nil>",
		"empty": path + dir + "/empty, which is empty, want a file with a token",
		"missing": path + dir + "/missing, want a file that can be read, like a projected service account token: no " +
			"such file or directory",
	} {
		c := Config{CloudCredentials: Credentials{WorkloadIdentity: WorkloadIdentity{ServiceAccountID: "sa-1",
			SubjectTokenFile: filepath.Join(dir, name)}}}
		got, err := c.ReadSecrets(cloud.Environment{})
		if fmt.Sprint(err) != want || got.Credentials.Exchange == nil {
			t.Errorf("%s: error %v, exchange %v; want %s", name, err, got.Credentials.Exchange, want)
		}
	}
}

func TestCABundle(t *testing.T) {
	certificate, key, err := cert.GenerateSelfSignedCertKey("api.test", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	broken := []byte("-----BEGIN CERTIFICATE-----\nczNjcmV0\n-----END CERTIFICATE-----\n")
	dir := t.TempDir()
	for _, tt := range []struct {
		name, want string
		content    []byte
	}{
		{"good", "", certificate},
		{"with comments and a key", "", bytes.Join([][]byte{[]byte("# s3cret"), key, certificate}, []byte("\n"))},
		{"empty", ", want at least one certificate in PEM form in it (-----BEGIN CERTIFICATE-----)", nil},
		{"only a key", ", want at least one certificate in PEM form in it (-----BEGIN CERTIFICATE-----)", key},
		{"second is broken", ", whose certificate number 3 cannot be read, want certificates in PEM form",
			append(bytes.Clone(certificate), broken...)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(dir, tt.name)
			if err := os.WriteFile(path, tt.content, 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := Config{CABundle: path}.ReadSecrets(cloud.Environment{})
			if tt.want == "" {
				if err != nil || !bytes.Equal(got.CABundle, certificate) {
					t.Errorf("error %v, bundle:\n%s\nwant the certificates and nothing else:\n%s", err, got.CABundle,
						certificate)
				}
				return
			}
			if want := "caBundle: found " + path + tt.want; err == nil || err.Error() != want {
				t.Errorf("error %v, want %s", err, want)
			}
		})
	}
	const want = "caBundle: found /does/not/exist, want a file that can be read: no such file or directory"
	_, err = Config{CABundle: "/does/not/exist"}.ReadSecrets(cloud.Environment{})
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestOnlyFilesAreFollowed(t *testing.T) {
	for name, tt := range map[string]struct {
		config Config
		want   bool
	}{
		"inline": {Config{CloudCredentials: Credentials{PersonalAccessToken: "t"}}, false},
		"workload identity": {Config{CloudCredentials: Credentials{
			WorkloadIdentity: WorkloadIdentity{ServiceAccountID: "sa-1"},
		}}, false},
		"directory": {Config{CloudCredentials: Credentials{Directory: "/d"}}, true},
		"CA bundle": {Config{CABundle: "/ca.crt"}, true},
	} {
		if got := tt.config.SecretsMayChange(); got != tt.want {
			t.Errorf("%s: followed %v, want %v", name, got, tt.want)
		}
	}
}
