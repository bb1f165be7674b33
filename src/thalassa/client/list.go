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

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client/jsonstream"
)

// List reads a list as a stream: each item is decoded into an Item, which should hold only what is needed, and what
// keep returns for it is collected; false leaves it out. Memory is bounded by what is kept, not by what the cloud
// sends. The result is complete or an error: an answer that breaks off is none. The error is an *Error.
func List[Item, Kept any](ctx context.Context, c *Client, path string, asked []filters.Filter,
	keep func(Item) (Kept, bool)) ([]Kept, error) {
	return Stream(ctx, c, path, asked, func(r *jsonstream.Reader) (kept Kept, wanted bool, err error) {
		raw, err := r.Raw()
		if err != nil {
			return kept, false, err
		}
		var item Item
		if err := json.Unmarshal(raw, &item); err != nil {
			return kept, false, err
		}
		kept, wanted = keep(item)
		return kept, wanted, nil
	})
}

// Stream is List for items of which only a small part is needed: each of them is read by read, which returns errors of
// the reader, and of encoding/json, as they are.
func Stream[Kept any](ctx context.Context, c *Client, path string, asked []filters.Filter,
	read func(*jsonstream.Reader) (kept Kept, wanted bool, err error)) ([]Kept, error) {
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
		return stream(response, func(r *jsonstream.Reader) error {
			k, wanted, err := read(r)
			if wanted {
				kept = append(kept, k)
			}
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return kept, nil
}

// stream reads a JSON array item by item. null is an empty list, as everywhere in this API.
func stream(response *http.Response, each func(*jsonstream.Reader) error) error {
	if err := isJSON(response); err != nil {
		return err
	}
	r := jsonstream.NewReader(response.Body)
	if err := r.Each(func() error { return each(r) }); err != nil {
		return unreadable(err)
	}
	if err := r.End(); err != nil {
		return unreadable(err)
	}
	return nil
}

// unreadable tells broken content from a broken connection.
func unreadable(err error) error {
	var syntax *json.SyntaxError
	var unexpected *jsonstream.SyntaxError
	var mismatch *json.UnmarshalTypeError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return malformedError("the answer is empty or breaks off")
	case errors.As(err, &mismatch):
		return malformedError(fmt.Sprintf("in the answer, %s is %s where %s is expected", mismatch.Field,
			mismatch.Value, mismatch.Type))
	case errors.As(err, &unexpected):
		return malformedError("the answer is no list of objects in JSON: " + unexpected.Error())
	case errors.As(err, &syntax):
		return malformedError("the answer is no valid JSON")
	}
	return fmt.Errorf("reading the answer: %w", err)
}
