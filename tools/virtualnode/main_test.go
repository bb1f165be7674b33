package virtualnode_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/cert"

	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplanetest"
)

// roleEnv makes this test binary the program of a container instead of a test.
const roleEnv = "VIRTUALNODE_TEST_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(roleEnv) != "" {
		os.Exit(program(os.Args[1:]))
	}
	controlplanetest.Main(m)
}

// report is what the program says about what it was given.
type report struct {
	Args []string
	Env  map[string]string
	// Config is the content of the file --config.
	Config string
	// User is who the API server takes the program for, by its kubeconfig.
	User string
	// Token is the content of the token file beside the kubeconfig.
	Token string
}

// program serves its report at /report, is ready unless the file --unready exists, and ends with
// status 3 at /crash.
func program(args []string) int {
	flags := flag.NewFlagSet("program", flag.ContinueOnError)
	listen := flags.String("listen", "", "address")
	config := flags.String("config", "", "file")
	kubeconfig := flags.String("kubeconfig", "", "file")
	secure := flags.Bool("tls", false, "serve HTTPS")
	unready := flags.String("unready", "", "file that makes it unready")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	server := &http.Server{Addr: *listen, Handler: pages(args, *config, *kubeconfig, *unready)}
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	fmt.Println("listening on", *listen)
	if err := serve(server, *secure); !errors.Is(err, http.ErrServerClosed) {
		fmt.Println(err)
		return 1
	}
	fmt.Println("terminated")
	return 0
}

func serve(server *http.Server, secure bool) error {
	if !secure {
		return server.ListenAndServe()
	}
	certificate, key, err := cert.GenerateSelfSignedCertKey("localhost", nil, nil)
	if err != nil {
		return err
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return err
	}
	server.TLSConfig = &tls.Config{Certificates: []tls.Certificate{pair}}
	return server.ListenAndServeTLS("", "")
}

func pages(args []string, config, kubeconfig, unready string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/livez", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) {
		if _, err := os.Stat(unready); err == nil {
			http.Error(w, "refused", http.StatusServiceUnavailable)
		}
	})
	mux.HandleFunc("/crash", func(http.ResponseWriter, *http.Request) {
		fmt.Println("crashing")
		os.Exit(3)
	})
	mux.HandleFunc("/report", func(w http.ResponseWriter, r *http.Request) {
		answer, err := newReport(r.Context(), args, config, kubeconfig)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_ = json.NewEncoder(w).Encode(answer)
	})
	return mux
}

func newReport(ctx context.Context, args []string, config, kubeconfig string) (*report, error) {
	r := &report{Args: args, Env: map[string]string{}}
	for _, pair := range os.Environ() {
		name, value, _ := strings.Cut(pair, "=")
		r.Env[name] = value
	}
	data, err := os.ReadFile(config)
	if err != nil {
		return nil, err
	}
	r.Config = string(data)
	rest, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	token, err := os.ReadFile(rest.BearerTokenFile)
	if err != nil {
		return nil, err
	}
	r.Token = filepath.Base(rest.BearerTokenFile) + " " + string(token)
	client, err := kubernetes.NewForConfig(rest)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	self, err := client.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{},
		metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	r.User = self.Status.UserInfo.Username
	return r, nil
}
