package command

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// answerTimeout is how long a running emulator may take to answer.
const answerTimeout = 10 * time.Second

// running is where a running emulator is.
type running struct{ endpoint, caFile string }

func (e *running) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&e.endpoint, "endpoint", "http://127.0.0.1:7443", "where the emulator listens")
	flags.StringVar(&e.caFile, "ca-file", "",
		"PEM file with the certificate that the emulator's is checked with; the system's by default")
}

// newHealth makes the command that checks a running emulator, for images, which have no other program.
func newHealth() *cobra.Command {
	var e running
	cmd := &cobra.Command{
		Use:   "health",
		Short: "Check that the emulator answers: for health checks of containers, whose image has no other program",
		Args:  cobra.NoArgs,
		// An error while running is not a misuse of the flags.
		SilenceUsage: true,
		RunE:         func(cmd *cobra.Command, _ []string) error { return e.health(cmd.Context()) },
	}
	e.addFlags(cmd.Flags())
	return cmd
}

func (e running) health(ctx context.Context) error {
	response, err := e.ask(ctx, http.MethodGet, "/_emulator/healthz", nil)
	if err != nil {
		return fmt.Errorf("checking the emulator: %w", err)
	}
	if err := response.Body.Close(); err != nil {
		return fmt.Errorf("checking the emulator: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("checking the emulator: %s answers %s; is it an emulator? See --endpoint", e.endpoint,
			response.Status)
	}
	return nil
}

// ask sends a request to the admin API.
func (e running) ask(ctx context.Context, method, path string, body io.Reader) (*http.Response, error) {
	client, err := e.client()
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, method, strings.TrimRight(e.endpoint, "/")+path, body)
	if err != nil {
		return nil, fmt.Errorf("--endpoint=%s: %w", e.endpoint, err)
	}
	request.Close = true
	response, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("%w; is it running there? See --endpoint", err)
	}
	return response, nil
}

func (e running) client() (*http.Client, error) {
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment}
	client := &http.Client{Timeout: answerTimeout, Transport: transport}
	if e.caFile == "" {
		return client, nil
	}
	content, err := os.ReadFile(e.caFile)
	if err != nil {
		return nil, fmt.Errorf("--ca-file: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(content) {
		return nil, fmt.Errorf("--ca-file=%s: there is no PEM certificate in it", e.caFile)
	}
	transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	return client, nil
}
