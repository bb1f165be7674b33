package kubeconfig

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// maxSize is the maximum size of a file, in bytes, so that a device or a log file is not read as one.
const maxSize = 1 << 20

// lineNumber is the part of an error of the YAML library that contains nothing of the file.
var lineNumber = regexp.MustCompile(`line \d+`)

// parse reads a kubeconfig, with absolute paths.
func parse(from cloud.Environment, path string) (*api.Config, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	content, err := read(from, absolute)
	if err != nil {
		return nil, err
	}
	if len(bytes.TrimSpace(content)) == 0 {
		return nil, errors.New("the file is empty: want a kubeconfig")
	}
	config, err := clientcmd.Load(content)
	if err != nil {
		// The error of the library may repeat a part of the file, and with it a secret.
		return nil, fmt.Errorf("the file is not a kubeconfig (%s): want YAML or JSON that kubectl config view accepts",
			cmp.Or(lineNumber.FindString(err.Error()), "a key has a value of another type"))
	}
	return config, clientcmd.ResolveConfigPaths(config, filepath.Dir(absolute))
}

// currentOf returns the current context with its cluster and user, and nothing else of the file.
func currentOf(file *api.Config) (*api.Config, error) {
	name := file.CurrentContext
	if name == "" {
		return nil, errors.New("it has no current-context: set one (kubectl config use-context NAME)")
	}
	context, found := file.Contexts[name]
	if !found {
		return nil, fmt.Errorf("it has no context %q, which is its current-context: set another one (kubectl config "+
			"use-context NAME)", name)
	}
	cluster, found := file.Clusters[context.Cluster]
	if !found {
		return nil, fmt.Errorf("it has no cluster %q, which its context %q uses: add the cluster", context.Cluster,
			name)
	}
	user, found := file.AuthInfos[context.AuthInfo]
	if !found {
		return nil, fmt.Errorf("it has no user %q, which its context %q uses: add the user", context.AuthInfo, name)
	}
	if err := checkURLs(context.Cluster, cluster); err != nil {
		return nil, err
	}
	current := api.NewConfig()
	current.CurrentContext, current.Contexts[name] = name, context
	current.Clusters[context.Cluster], current.AuthInfos[context.AuthInfo] = cluster, user
	return current, nil
}

// checkURLs reports URLs that are not allowed. It does not repeat them, because they may contain a password, as the
// errors of client-go do.
func checkURLs(name string, cluster *api.Cluster) error {
	if !allowed(cluster.Server, false, "https", "http") {
		return fmt.Errorf("the server of cluster %q is not a URL that can be used: want https://, a host, and "+
			"optionally a port and a path, without a user name", name)
	}
	if cluster.ProxyURL != "" && !allowed(cluster.ProxyURL, true, "http", "https", "socks5") {
		return fmt.Errorf("the proxy-url of cluster %q is not a URL that can be used: want http://, https:// or "+
			"socks5://, and a host", name)
	}
	return nil
}

func allowed(text string, user bool, schemes ...string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Host != "" && (user || u.User == nil) && slices.Contains(schemes, u.Scheme)
}

// inline replaces the paths of files by their content.
func inline(from cloud.Environment, config *api.Config) error {
	for name, cluster := range config.Clusters {
		if err := data(from, &cluster.CertificateAuthority, &cluster.CertificateAuthorityData); err != nil {
			return fmt.Errorf("reading certificate-authority of cluster %q: %w", name, err)
		}
	}
	for name, user := range config.AuthInfos {
		if err := inlineUser(from, user); err != nil {
			return fmt.Errorf("reading %w of user %q", err, name)
		}
	}
	return nil
}

func inlineUser(from cloud.Environment, user *api.AuthInfo) error {
	if user.Exec != nil && !from.Own() {
		return errors.New("exec (the program is not run here: use a kubeconfig with a token or a certificate)")
	}
	if err := data(from, &user.ClientCertificate, &user.ClientCertificateData); err != nil {
		return fmt.Errorf("client-certificate (%w)", err)
	}
	if err := data(from, &user.ClientKey, &user.ClientKeyData); err != nil {
		return fmt.Errorf("client-key (%w)", err)
	}
	if user.TokenFile == "" {
		return nil
	}
	content, err := read(from, user.TokenFile)
	if err != nil {
		return fmt.Errorf("tokenFile (%w)", err)
	}
	// The file takes precedence over a token, as in client-go.
	user.TokenFile, user.Token = "", string(bytes.TrimSpace(content))
	if user.Token == "" {
		return errors.New("tokenFile (the file is empty: want a token)")
	}
	return nil
}

// data reads the file at path, unless there is content already: client-go then reports that both are set.
func data(from cloud.Environment, path *string, content *[]byte) error {
	if *path == "" || len(*content) > 0 {
		return nil
	}
	found, err := read(from, *path)
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("the file %s is empty", *path)
	}
	*path, *content = "", found
	return err
}

// read returns the content of a file of bounded size.
func read(from cloud.Environment, path string) ([]byte, error) {
	file, err := from.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, maxSize+1))
	if err == nil && len(content) > maxSize {
		err = &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("it is larger than %d bytes", maxSize)}
	}
	return content, err
}
