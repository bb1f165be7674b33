package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// Get reads one object, as much of it as Object has fields for. The error is an *Error.
func Get[Object any](ctx context.Context, c *Client, path string) (Object, error) {
	return send[Object](ctx, c, http.MethodGet, path, nil)
}

// Create makes a POST that creates an object and decodes the answer into what of it is needed; an answer without a body leaves the
// result empty. Unlike the official client's own
// calls it says everything that the body says: an empty list or null is not left out. The error of the call is an *Error.
func Create[Object any](ctx context.Context, c *Client, path string, body any) (Object, error) {
	return send[Object](ctx, c, http.MethodPost, path, body)
}

// Replace makes a PUT, like Create.
func Replace[Object any](ctx context.Context, c *Client, path string, body any) (Object, error) {
	return send[Object](ctx, c, http.MethodPut, path, body)
}

func send[Object any](ctx context.Context, c *Client, method, path string, body any) (Object, error) {
	var object Object
	var content io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return object, fmt.Errorf("encoding the body of %s %s: %w", method, path, err)
		}
		content = bytes.NewReader(encoded)
	}
	request, err := c.newRequest(ctx, method, path, content)
	if err != nil {
		return object, err
	}
	err = c.transport.do(request, func(response *http.Response) error {
		answer, err := readJSON(response, method)
		if err != nil || len(answer) == 0 {
			return err
		}
		if err := json.Unmarshal(answer, &object); err != nil {
			return unreadable(err)
		}
		return nil
	})
	return object, err
}

// newRequest makes a request as the official client would make it.
func (c *Client) newRequest(ctx context.Context, method, path string, body io.Reader) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.options.Endpoint+path, body)
	if err != nil {
		return nil, fmt.Errorf("preparing %s %s: %w", method, path, err)
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", c.options.UserAgent)
	request.Header.Set("X-Organisation-Identity", c.options.Organisation)
	if c.options.Project != "" {
		request.Header.Set("X-Project-Identity", c.options.Project)
	}
	return request, nil
}
