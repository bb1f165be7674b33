package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/thalassa-cloud/client-go/filters"
)

// List reads a list as a stream: each item is decoded into an Item, which should hold only what is needed, and what
// keep returns for it is collected; false leaves it out. Memory is bounded by what is kept and by one item, not by what
// the cloud sends. The result is complete or an error: an answer that breaks off is none. The error is an *Error.
func List[Item, Kept any](ctx context.Context, c *Client, path string, asked []filters.Filter,
	keep func(Item) (Kept, bool)) ([]Kept, error) {
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
			if one, wanted := keep(item); wanted {
				kept = append(kept, one)
			}
		})
	})
	if err != nil {
		return nil, err
	}
	return kept, nil
}

// lenient makes answers that encoding/json accepts acceptable: with names that come twice, and invalid UTF-8.
func lenient() jsontext.Options {
	return json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// stream reads a JSON array item by item. null is an empty list, as everywhere in this API.
func stream[Item any](response *http.Response, each func(Item)) error {
	if err := isJSON(response); err != nil {
		return err
	}
	decoder := jsontext.NewDecoder(response.Body, lenient())
	begin, err := decoder.ReadToken()
	switch {
	case err != nil:
		return unreadable(err)
	case begin.Kind() != jsontext.KindBeginArray && begin.Kind() != jsontext.KindNull:
		return malformedError("the answer is no list")
	case begin.Kind() == jsontext.KindBeginArray:
		for decoder.PeekKind() != jsontext.KindEndArray {
			var item Item
			if err := json.UnmarshalDecode(decoder, &item); err != nil {
				return unreadable(err)
			}
			each(item)
		}
		if _, err := decoder.ReadToken(); err != nil {
			return unreadable(err)
		}
	}
	if _, err := decoder.ReadToken(); !errors.Is(err, io.EOF) {
		return malformedError("the answer continues after the list")
	}
	return nil
}

// unreadable tells broken content from a broken connection.
func unreadable(err error) error {
	var syntax *jsontext.SyntacticError
	var mismatch *json.SemanticError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return malformedError("the answer is empty or breaks off")
	case errors.As(err, &mismatch):
		return malformedError(fmt.Sprintf("in the answer, %q begins the value at %q, where %s is expected",
			mismatch.JSONKind, mismatch.JSONPointer, mismatch.GoType))
	case errors.As(err, &syntax):
		return malformedError("the answer is no valid JSON")
	}
	return fmt.Errorf("reading the answer: %w", err)
}
