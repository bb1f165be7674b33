package release

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/ci/authority"
	"github.com/thalassa-cloud/thalassa-ccm/ci/docs"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplanetest"
)

// guideTimeout bounds one block of commands.
const guideTimeout = 10 * time.Minute

// place is where the reader of a guide has a shell. The programs reach only some hosts.
type place struct {
	shell   docs.Shell
	network *docs.Network
}

func newPlace(t *testing.T, folder string, hosts map[string]http.Handler) place {
	t.Helper()
	signer, bin, routes := authority.New(t), t.TempDir(), map[string]string{}
	for host, handler := range hosts {
		server := httptest.NewUnstartedServer(handler)
		server.TLS = signer.ServerTLS(t, host)
		server.StartTLS()
		t.Cleanup(server.Close)
		routes[host+":443"] = server.Listener.Addr().String()
	}
	trusted := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(trusted, []byte(signer.PEM()), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := docs.Install(bin); err != nil {
		t.Fatal(err)
	}
	network := docs.NewNetwork(t, routes)
	environment := append(docs.Environment(t, bin), "SSL_CERT_FILE="+trusted,
		"KUBECONFIG="+controlplanetest.Get(t).Kubeconfig())
	return place{docs.Shell{Dir: folder, Env: append(environment, network.Env()...)}, network}
}

// run runs commands with further environment variables, and returns what they print.
func (p place) run(t *testing.T, script string, environment ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), guideTimeout)
	defer cancel()
	shell := p.shell
	shell.Env = append(slices.Clone(shell.Env), environment...)
	printed, log, err := shell.Run(ctx, script)
	if err != nil {
		t.Fatalf("%v\n%s", err, log)
	}
	t.Log(log)
	for _, address := range p.network.Refused() {
		t.Errorf("a command connects to %s:\n%s", address, script)
	}
	return printed
}

// clone makes a clone of the sources, for a reader who reaches the registry of the release, and another one.
func (p published) clone(t *testing.T, other http.Handler) place {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "another", "place")
	p.git(t, "clone", "--quiet", "--no-local", ".", folder)
	return p.place(t, folder, other)
}

// place is a shell in a folder that reaches the registry of the release and, if it is not nil, another one.
func (p published) place(t *testing.T, folder string, other http.Handler) place {
	t.Helper()
	reader := newPlace(t, folder, map[string]http.Handler{releaseHost: p.handler, ownHost: other})
	cache, err := os.UserCacheDir() // has the packages of Debian
	if err != nil {
		t.Fatal(err)
	}
	reader.shell.Env = append(reader.shell.Env, "XDG_CACHE_HOME="+cache)
	return reader
}

// guide returns the blocks of commands of a guide, which are this many, for the version of the release. It leaves out
// the commands of cosign, whose 500 further packages compile for minutes: testCosign does the same with cosign's
// library, of the same version.
func (p published) guide(t *testing.T, path string, count int) (blocks []string) {
	t.Helper()
	text, err := os.ReadFile(checkout.Path(t, path))
	if err != nil {
		t.Fatal(err)
	}
	all, err := docs.Blocks(string(text))
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if len(all) != count {
		t.Fatalf("%s has %d blocks of commands, and the test executes %d", path, len(all), count)
	}
	for _, block := range all {
		blocks = append(blocks, strings.ReplaceAll(block.Without("cosign"), "1.2.3", p.version))
	}
	return blocks
}
