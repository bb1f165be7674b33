package kubeconfig

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// secret is in all test files at places where secrets are.
const secret = "s3cret"

// valid returns a kubeconfig with these lines for its user.
func valid(user string) string {
	return `
apiVersion: v1
kind: Config
current-context: garden
contexts:
- {name: garden, context: {cluster: ironcore, user: ccm, namespace: tenant-1}}
- {name: other, context: {cluster: missing, user: missing, namespace: tenant-2}}
clusters:
- {name: ironcore, cluster: {server: "https://ironcore.example:6443", certificate-authority: ca.crt}}
users:
- {name: ccm, user: {` + user + `}}
- {name: unused, user: {tokenFile: /does/not/exist}}
`
}

// folder returns a new folder with these files.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	for name, content := range files {
		write(t, filepath.Join(folder, name), content)
	}
	return folder
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// loaded returns the access of a kubeconfig that is in a folder with a file ca.crt and a file token.
func loaded(t *testing.T, kubeconfig string) (Access, error) {
	t.Helper()
	folder := folder(t, map[string]string{"config": kubeconfig, "ca.crt": "CA", "token": secret + "\n", "empty": ""})
	return Load(Options{Path: filepath.Join(folder, "config")})
}

func TestLoad(t *testing.T) {
	folder := folder(t, map[string]string{"config": valid("tokenFile: token"), "ca.crt": "CA", "token": secret + "\n"})
	t.Chdir(t.TempDir())
	a, err := Load(Options{Path: filepath.Join(folder, "config"), UserAgent: "ccm/1", RequestsPerSecond: 50,
		Burst: 100})
	if err != nil {
		t.Fatal(err)
	}
	c := a.Config
	if a.Namespace != "tenant-1" || c.Host != "https://ironcore.example:6443" || string(c.CAData) != "CA" ||
		c.BearerToken != secret {
		t.Errorf("namespace %q, host %q, CA %q, token %q", a.Namespace, c.Host, c.CAData, c.BearerToken)
	}
	if c.UserAgent != "ccm/1" || c.QPS != 50 || c.Burst != 100 || c.Timeout != 0 {
		t.Errorf("user agent %q, %v requests per second, %d at once, timeout %s", c.UserAgent, c.QPS, c.Burst,
			c.Timeout)
	}
	if c.CAFile != "" || c.BearerTokenFile != "" {
		t.Errorf("client-go would read the files %q and %q itself", c.CAFile, c.BearerTokenFile)
	}
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		if text := fmt.Sprintf(format, a); text != `context "garden" for https://ironcore.example:6443` {
			t.Errorf("printed as %s", text)
		}
	}
}

// TestUsers has the ways to authenticate that client-go allows.
func TestUsers(t *testing.T) {
	for name, tt := range map[string]struct {
		user string
		want func(Access) bool
	}{
		"token": {"token: abc", func(a Access) bool { return a.Config.BearerToken == "abc" }},
		"token and file": {"token: abc, tokenFile: token", func(a Access) bool {
			return a.Config.BearerToken == secret
		}},
		"password": {"username: me, password: abc", func(a Access) bool { return a.Config.Password == "abc" }},
		"certificate": {"client-certificate: ca.crt, client-key-data: YWJj", func(a Access) bool {
			return string(a.Config.CertData) == "CA" && string(a.Config.KeyData) == "abc"
		}},
		"exec plugin": {"exec: {apiVersion: client.authentication.k8s.io/v1, command: ./plugin, interactiveMode: " +
			"Never}", func(a Access) bool { return filepath.IsAbs(a.Config.ExecProvider.Command) }},
		"impersonation": {"token: abc, as: other", func(a Access) bool {
			return a.Config.Impersonate.UserName == "other"
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if a, err := loaded(t, valid(tt.user)); err != nil || !tt.want(a) {
				t.Errorf("error %v, config %v", err, a.Config)
			}
		})
	}
}

func TestProxy(t *testing.T) {
	a, err := loaded(t, strings.Replace(valid("token: abc"), "server:", "proxy-url: 'http://me:pw@proxy:80', server:",
		1))
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, a.Config.Host, nil)
	if err != nil {
		t.Fatal(err)
	}
	if proxy, err := a.Config.Proxy(request); err != nil || proxy.Host != "proxy:80" {
		t.Errorf("proxy %v, error %v", proxy, err)
	}
}

func TestNamespace(t *testing.T) {
	unset := strings.Replace(valid("token: "+secret), ", namespace: tenant-1", "", 1)
	folder := folder(t, map[string]string{"set": valid("token: a"), "unset": unset, "ca.crt": "CA"})
	for _, tt := range []struct{ file, key, want string }{
		{"set", "", "tenant-1"}, {"set", "tenant-9", "tenant-9"}, {"unset", "tenant-9", "tenant-9"},
	} {
		a, err := Load(Options{Path: filepath.Join(folder, tt.file), Namespace: tt.key})
		if err != nil || a.Namespace != tt.want {
			t.Errorf("%s with key %q: namespace %q, error %v; want %q", tt.file, tt.key, a.Namespace, err, tt.want)
		}
	}
}

func TestDefect22_NoNamespace(t *testing.T) {
	_, err := loaded(t, strings.Replace(valid("token: "+secret), ", namespace: tenant-1", "", 1))
	want := `the context "garden" has no namespace, so it is not known which namespace contains the objects of the ` +
		`cluster: set it in the context (kubectl config set-context --current --namespace=NAME), or set the key ` +
		`namespace in the file of --cloud-config`
	if err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("error %v", err)
	}
}

func TestDefect22_NoKubeconfig(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(folder(t, map[string]string{"config": valid("token: a")}), "config"))
	_, err := Load(Options{})
	want := "missing --ironcore-kubeconfig: pass the path of a kubeconfig for the IronCore API"
	if err == nil || err.Error() != want {
		t.Errorf("error %v", err)
	}
	_, err = Load(Options{Path: "/does/not/exist"})
	want = "reading --ironcore-kubeconfig=/does/not/exist: open /does/not/exist: no such file or directory"
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// TestProblems: each error contains what is wrong, and no secret.
func TestProblems(t *testing.T) {
	replaced := func(old, replacement string) string {
		text := valid("token: " + secret)
		if !strings.Contains(text, old) {
			t.Fatalf("the test replaces nothing: %s", old)
		}
		return strings.Replace(text, old, replacement, 1)
	}
	for name, tt := range map[string]struct{ file, want string }{
		"empty file":  {" \n", "the file is empty: want a kubeconfig"},
		"only a text": {secret, "the file is not a kubeconfig ("},
		"no YAML":     {"users: [" + secret, "the file is not a kubeconfig (line 1): want YAML or JSON"},
		"anchor":      {"users: *" + secret, "the file is not a kubeconfig ("},
		"wrong type":  {"users: " + secret, "the file is not a kubeconfig (a key has a value of another type)"},
		"no context":  {replaced("current-context: garden", ""), "it has no current-context: set one"},
		"unknown context": {replaced("current-context: garden", "current-context: x"),
			`it has no context "x", which is its current-context`},
		"unknown cluster": {replaced("cluster: ironcore", "cluster: x"),
			`it has no cluster "x", which its context "garden" uses`},
		"unknown user": {replaced("user: ccm", "user: x"), `it has no user "x", which its context "garden" uses`},
		"no server": {replaced("https://ironcore.example:6443", ""),
			`the server of cluster "ironcore" is not a URL`},
		"password in server": {replaced("https://ironcore", "https://me:"+secret+"@ironcore"),
			`the server of cluster "ironcore" is not a URL that can be used`},
		"wrong proxy": {replaced("server:", "proxy-url: 'ftp://me:"+secret+"@proxy', server:"),
			`the proxy-url of cluster "ironcore" is not a URL that can be used`},
		"missing CA": {replaced("ca.crt", "nowhere.crt"),
			`reading certificate-authority of cluster "ironcore": open /`},
		"empty CA": {replaced("ca.crt", "empty"), `/empty is empty`},
		"CA twice": {replaced("ca.crt", "ca.crt, certificate-authority-data: YWJj"),
			"certificate-authority-data and certificate-authority are both specified"},
		"missing token file": {valid("tokenFile: nowhere"), `reading tokenFile (open /`},
		"empty token file":   {valid("tokenFile: empty"), `tokenFile (the file is empty: want a token) of user "ccm"`},
		"folder as token":    {valid("tokenFile: ."), `: is a directory) of user "ccm"`},
		"no key": {valid("client-certificate: ca.crt"),
			"client-key-data or client-key must be specified for ccm"},
		"exec without a version": {valid("exec: {command: x, interactiveMode: Never, env: [{name: TOKEN, value: " +
			secret + "}]}"), "apiVersion must be specified for ccm to use exec authentication plugin"},
		"too large": {valid("token: " + strings.Repeat("x", maxSize)), "it is larger than 1048576 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := loaded(t, tt.file)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("error %v, want one with: %s", err, tt.want)
			}
			if strings.Contains(err.Error(), secret) ||
				!strings.HasPrefix(err.Error(), "reading --ironcore-kubeconfig=") {
				t.Errorf("error with a secret, or without the flag: %v", err)
			}
		})
	}
}

// TestSame: a change of the kubeconfig or of a file that it refers to is a change, and one of another user is not.
func TestSame(t *testing.T) {
	folder := folder(t, map[string]string{"config": valid("tokenFile: token"), "ca.crt": "CA", "token": "one"})
	path := filepath.Join(folder, "config")
	load := func() Access {
		t.Helper()
		a, err := Load(Options{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	last := load()
	for _, step := range []struct {
		name, file, content string
		same                bool
	}{
		{"nothing", "token", "one", true},
		{"token", "token", "two", false},
		{"line end", "token", "two\n", true},
		{"CA", "ca.crt", "CA 2", false},
		{"comment", "config", "# comment\n" + valid("tokenFile: token"), true},
		{"other user", "config", strings.Replace(valid("tokenFile: token"), "/does/not", "/not", 1), true},
		{"namespace", "config", strings.Replace(valid("tokenFile: token"), "tenant-1", "tenant-3", 1), false},
		{"exec plugin", "config", valid("exec: {apiVersion: client.authentication.k8s.io/v1, command: x, " +
			"interactiveMode: Never}"), false},
	} {
		write(t, filepath.Join(folder, step.file), step.content)
		next := load()
		if Same(last, next) != step.same {
			t.Errorf("%s: same = %t, want %t", step.name, !step.same, step.same)
		}
		last = next
	}
}
