package cloudconfig

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/configfile"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/secret"
)

// maxSecret is the maximum size of a file with a credential or certificates, in bytes, so that a device or a log file
// is not read as one.
const maxSecret = 1 << 20

// ReadSecrets reads the files that the configuration refers to. It can be called again at any time. The error names the
// keys of files that cannot be used, and does not repeat their content.
func (c Config) ReadSecrets(from cloud.Environment) (secret.Secrets, error) {
	var problems configfile.Problems
	secrets := c.readSecrets(from, &problems)
	return secrets, problems.Err()
}

// SecretsMayChange reports whether there are files with secrets. The token of a workload identity does not count: it is
// read for each exchange.
func (c Config) SecretsMayChange() bool {
	return c.CloudCredentials.Directory != "" || c.CABundle != ""
}

// reporter collects mistakes by key.
type reporter interface {
	Add(path, found, want string)
}

func (c Config) readSecrets(from cloud.Environment, problems reporter) secret.Secrets {
	secrets := secret.Secrets{Credentials: c.CloudCredentials.inline()}
	if directory := c.CloudCredentials.Directory; directory != "" {
		secrets.Credentials = readCredentials(from, directory, problems)
	}
	if exchange := secrets.Credentials.Exchange; exchange != nil {
		checkSubjectToken(from, exchange.SubjectTokenFile, problems)
	}
	if c.CABundle != "" {
		secrets.CABundle = readCertificates(from, c.CABundle, problems)
	}
	return secrets
}

// readCredentials reads a mounted Secret: a directory with one file for each key.
func readCredentials(from cloud.Environment, directory string, problems reporter) secret.Credentials {
	const path = pathCredentials + ".directory"
	current, err := from.Resolve(directory)
	if err != nil {
		problems.Add(path, directory, "want a directory that can be read: "+reason(err))
		return secret.Credentials{}
	}
	var c secret.Credentials
	for _, file := range []struct {
		name  string
		value *string
		rule  configfile.Rule
	}{
		{"personalAccessToken", &c.PersonalAccessToken, tokenRule()},
		{"clientID", &c.ClientID, clientIDRule()},
		{"clientSecret", &c.ClientSecret, clientSecretRule()},
	} {
		content, err := readSecret(from, filepath.Join(current, file.name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			problems.Add(path, filepath.Join(directory, file.name), "want a file that can be read: "+reason(err))
			return secret.Credentials{}
		}
		*file.value = strings.TrimSpace(string(content))
		if *file.value != "" && !file.rule.Allows(*file.value) {
			problems.Add(path, "something else in the file "+filepath.Join(directory, file.name), "want "+
				file.rule.Want)
			return secret.Credentials{}
		}
	}
	token, oidc := c.PersonalAccessToken != "", c.ClientID != "" && c.ClientSecret != ""
	half := c.ClientID != "" || c.ClientSecret != ""
	if token == oidc || half != oidc {
		problems.Add(path, directory,
			"want it to hold either the file personalAccessToken, or the files clientID and clientSecret")
	}
	return c
}

// checkSubjectToken checks that the file contains a token. It is read again for each exchange.
func checkSubjectToken(from cloud.Environment, name string, problems reporter) {
	const path = pathWorkloadIdentity + ".subjectTokenFile"
	if !from.Own() {
		// The token is read again for each exchange, by this process: a path of another process must not choose a file
		// of this one.
		problems.Add(path, name, "want other credentials here: only the pod gets the token of a workload identity. "+
			"Pass --cloud-config=FILE with credentials of your own")
		return
	}
	content, err := readSecret(from, name)
	switch {
	case err != nil:
		problems.Add(path, name, "want a file that can be read, like a projected service account token: "+reason(err))
	case strings.TrimSpace(string(content)) == "":
		problems.Add(path, name+", which is empty", "want a file with a token")
	}
}

// readCertificates returns the certificates of a PEM file, without its other content.
func readCertificates(from cloud.Environment, name string, problems reporter) []byte {
	const path = "caBundle"
	content, err := readSecret(from, name)
	if err != nil {
		problems.Add(path, name, "want a file that can be read: "+reason(err))
		return nil
	}
	var certificates []byte
	for count := 1; ; {
		var block *pem.Block
		if block, content = pem.Decode(content); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			problems.Add(path, fmt.Sprintf("%s, whose certificate number %d cannot be read", name, count),
				"want certificates in PEM form")
		}
		certificates = append(certificates, pem.EncodeToMemory(&pem.Block{Type: block.Type, Bytes: block.Bytes})...)
		count++
	}
	if len(certificates) == 0 {
		problems.Add(path, name, "want at least one certificate in PEM form in it (-----BEGIN CERTIFICATE-----)")
	}
	return certificates
}

// readSecret reads a file of bounded size.
func readSecret(from cloud.Environment, name string) ([]byte, error) {
	file, err := from.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, maxSecret+1))
	if err == nil && len(content) > maxSecret {
		return nil, fmt.Errorf("it is larger than %d bytes", maxSecret)
	}
	return content, err
}

// reason returns the error without the path, which the message already contains.
func reason(err error) string {
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		return failed.Err.Error()
	}
	return err.Error()
}
