package testserver

import (
	"context"
	"fmt"
	"io"
	"net/http"
)

// Get writes what a server answers, on a connection of its own. An answer other than 200 is an error.
func Get(ctx context.Context, url string, to io.Writer) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request)
	if err != nil {
		return fmt.Errorf("asking %s: %w", url, err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("asking %s: the answer is %s", url, response.Status)
	}
	_, err = io.Copy(to, response.Body)
	return err
}
