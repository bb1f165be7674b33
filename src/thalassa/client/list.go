package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/thalassa-cloud/client-go/filters"
)

// List reads a list as a stream: each item is decoded into an Item, which should hold only what is needed, and what keep returns
// for it is collected; false leaves it out. Memory is bounded by what is kept, not by what the cloud sends. The result is
// complete or an error: an answer that breaks off is none. The error is an *Error.
func List[Item, Kept any](ctx context.Context, c *Client, path string, asked []filters.Filter, keep func(Item) (Kept, bool)) ([]Kept, error) {
	query := url.Values{}
	for _, filter := range asked {
		for key, value := range filter.ToParams() {
			query.Set(key, value)
		}
	}
	request, err := c.newRequest(ctx, http.MethodGet, path+"?"+query.Encode())
	if err != nil {
		return nil, err
	}
	var kept []Kept
	err = c.transport.do(request, nil, func(_ *call, response *http.Response) error {
		kept = nil // of an earlier attempt
		return stream(response, func(item Item) {
			if k, wanted := keep(item); wanted {
				kept = append(kept, k)
			}
		})
	})
	if err != nil {
		return nil, err
	}
	return kept, nil
}

// stream decodes a JSON array item by item. null is an empty list, as everywhere in this API.
func stream[Item any](response *http.Response, each func(Item)) error {
	if err := isJSON(response); err != nil {
		return err
	}
	decoder := json.NewDecoder(response.Body)
	begin, err := decoder.Token()
	if err != nil {
		return unreadable(err)
	}
	if begin != json.Delim('[') && begin != nil {
		return malformedError("the answer is no list")
	}
	for begin != nil && decoder.More() {
		var item Item
		if err := decoder.Decode(&item); err != nil {
			return unreadable(err)
		}
		each(item)
	}
	if begin != nil {
		if _, err := decoder.Token(); err != nil {
			return unreadable(err)
		}
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return malformedError("the answer goes on after its list")
	}
	return nil
}

// unreadable tells broken content from a broken connection.
func unreadable(err error) error {
	var syntax *json.SyntaxError
	var mismatch *json.UnmarshalTypeError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return malformedError("the answer is empty or breaks off")
	case errors.As(err, &mismatch):
		return malformedError(fmt.Sprintf("in the answer, %s is %s where %s is expected", mismatch.Field, mismatch.Value, mismatch.Type))
	case errors.As(err, &syntax):
		return malformedError("the answer is no valid JSON")
	}
	return fmt.Errorf("reading the answer: %w", err)
}
