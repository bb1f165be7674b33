package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

// tokenOptions are the flags of the token command.
type tokenOptions struct {
	running
	account, subject, audience string
	ttl                        time.Duration
}

// newToken makes the command that prints a subject token of a running emulator.
func newToken() *cobra.Command {
	var o tokenOptions
	cmd := &cobra.Command{
		Use:   "token",
		Short: "Print a token of the emulator's own identity provider, to exchange at /oidc/token",
		Args:  cobra.NoArgs,
		// An error while running is not a misuse of the flags.
		SilenceUsage: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			token, err := o.fetch(cmd.Context())
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), token)
			return err
		},
	}
	flags := cmd.Flags()
	o.addFlags(flags)
	flags.StringVar(&o.account, "service-account", emulator.DefaultServiceAccount,
		"service account, by identity or name")
	flags.StringVar(&o.subject, "subject", "",
		"subject of the token; by default the one that the service account trusts")
	flags.StringVar(&o.audience, "audience", "",
		"audience of the token; by default those that the service account trusts")
	flags.DurationVar(&o.ttl, "ttl", time.Hour, "how long the token is good; negative for one that has expired")
	return cmd
}

func (o tokenOptions) fetch(ctx context.Context) (string, error) {
	body, err := json.Marshal(map[string]string{
		"serviceAccount": o.account, "subject": o.subject, "audience": o.audience, "ttl": o.ttl.String(),
	})
	if err != nil {
		return "", fmt.Errorf("asking for a token: %w", err)
	}
	response, err := o.ask(ctx, http.MethodPost, "/_emulator/subject-tokens", bytes.NewReader(body))
	if err != nil {
		return "", fmt.Errorf("asking the emulator for a token: %w", err)
	}
	return readToken(response)
}

func readToken(response *http.Response) (string, error) {
	content, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err = errors.Join(err, response.Body.Close()); err != nil {
		return "", fmt.Errorf("reading the emulator's answer: %w", err)
	}
	var answer struct{ Token, Message string }
	if err := json.Unmarshal(content, &answer); err != nil || response.StatusCode != http.StatusCreated {
		return "", fmt.Errorf("asking the emulator for a token: %s: %s", response.Status, answer.Message)
	}
	return answer.Token, nil
}
