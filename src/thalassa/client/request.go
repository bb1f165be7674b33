package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
)

// Get reads one object, as much of it as Object has fields for. The error is an *Error.
func Get[Object any](ctx context.Context, c *Client, path string) (Object, error) {
	return send[Object](ctx, c, http.MethodGet, path, nil)
}

// Post creates an object, or does what the path says, and decodes the answer into what of it is needed; an answer
// without a body leaves the result empty. The error is an *Error.
func Post[Object any](ctx context.Context, c *Client, path string, body any) (Object, error) {
	return send[Object](ctx, c, http.MethodPost, path, body)
}

// Put replaces an object, and answers like Post.
func Put[Object any](ctx context.Context, c *Client, path string, body any) (Object, error) {
	return send[Object](ctx, c, http.MethodPut, path, body)
}

// Delete removes an object. The error is an *Error; one that is not there is ErrNotFound.
func Delete(ctx context.Context, c *Client, path string) error {
	_, err := send[Ignored](ctx, c, http.MethodDelete, path, nil)
	return err
}

// Ignored is an answer whose content nobody needs: it has to be JSON, whatever JSON, if there is any.
type Ignored = json.RawMessage

func send[Object any](ctx context.Context, c *Client, method, path string, body any) (Object, error) {
	var object Object
	request, err := c.newRequest(ctx, method, path)
	if err != nil {
		return object, err
	}
	var content []byte
	if body != nil {
		if content, err = json.Marshal(body); err != nil {
			return object, fmt.Errorf("encoding the body of %s %s: %w", method, path, err)
		}
		request.Header.Set("Content-Type", "application/json")
	}
	err = c.transport.do(request, content, func(c *call, response *http.Response) error {
		return c.readJSON(response, &object)
	})
	return object, err
}

// newRequest makes a request as the official client would make it.
func (c *Client) newRequest(ctx context.Context, method, path string) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.options.Endpoint+path, nil)
	if err != nil {
		return nil, fmt.Errorf("preparing %s %s: %w", method, path, err)
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", c.options.UserAgent)
	request.Header.Set("X-Organisation-Identity", c.options.Organisation)
	if c.options.Project != "" {
		request.Header.Set("X-Project-Identity", c.options.Project)
	}
	return request, nil
}
