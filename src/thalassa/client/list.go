package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/thalassa-cloud/client-go/filters"
)

// List reads a list as a stream: each item is decoded into an Item, which should hold only what is needed, and what
// keep returns for it is collected; false leaves it out. Memory is bounded by what is kept and by one item, not by what
// the cloud sends. The result is complete or an error: an answer that breaks off is none. The error is an *Error.
func List[Item, Kept any](ctx context.Context, c *Client, path string, asked []filters.Filter,
	keep func(Item) (Kept, bool)) ([]Kept, error) {
	return Relist(ctx, c, new(Latest[Kept]), path, asked, keep)
}

// Latest is what Relist kept of the latest answer, if that has an ETag. The zero value is empty.
type Latest[Kept any] struct{ answer atomic.Pointer[listed[Kept]] }

// listed is a complete answer. It is not changed.
type listed[Kept any] struct {
	url    string
	via    *access // of the client and the credentials that it is for
	writes int64   // of the transport, before the request
	at     time.Time
	tag    string
	kept   []Kept
}

// reusePeriod is how long an answer is used again. Thalassa Cloud does not document what its ETags cover, so that what
// others change is seen within this time even if an ETag does not change with it.
const reusePeriod = time.Hour

// Relist is List for a list that is read regularly. If latest is an answer to the same request with the same
// credentials, and the client has written nothing since, the cloud is asked not to send it again: it answers 304 if
// nothing has changed. The result is then as new as any, and what was kept of the latest answer. keep must decide alike
// each time. The caller may change the result, but not what its items point to.
func Relist[Item, Kept any](ctx context.Context, c *Client, latest *Latest[Kept], path string, asked []filters.Filter,
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
	// If the credentials change from here on, the answer may be for the new ones, and it is not used again.
	asking := listed[Kept]{url: request.URL.String(), via: c.transport.access.Load(), writes: c.transport.writes.Load(),
		at: time.Now()}
	last := latest.answer.Load()
	if last.reusable(asking) {
		request.Header.Set("If-None-Match", last.tag)
	}
	var now *listed[Kept]
	err = c.transport.do(request, nil, func(call *call, response *http.Response) error {
		if response.StatusCode == http.StatusNotModified {
			now = last
			return nil
		}
		complete := asking
		now = &complete
		now.tag = response.Header.Get("ETag")
		response.Body.(*countedBody).arrives = call.timeout.extend
		return stream(response, func(item Item) {
			if one, wanted := keep(item); wanted {
				now.kept = append(now.kept, one)
			}
		})
	})
	switch {
	case err != nil:
		return nil, err
	case now == last && asking.via != c.transport.access.Load(): // it may be the new credentials that get 304
		return List(ctx, c, path, asked, keep)
	case now.tag == "":
		latest.answer.Store(nil)
		return now.kept, nil
	}
	latest.answer.Store(now)
	return slices.Clone(now.kept), nil
}

// reusable reports whether the answer may be the one to a request.
func (l *listed[Kept]) reusable(to listed[Kept]) bool {
	return l != nil && l.url == to.url && l.via == to.via && l.writes == to.writes && to.at.Sub(l.at) < reusePeriod
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
