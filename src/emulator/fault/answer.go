package fault

import (
	"bytes"
	"encoding/json"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
)

// jsonType is the content type of every answer of an API.
const jsonType = "application/json"

// page is an error page of a proxy in front of an API.
const page = `<!DOCTYPE html>
<html><head><title>Please sign in</title></head><body><h1>Please sign in</h1></body></html>
`

// recording is an answer that is not on its way yet.
type recording struct {
	header  http.Header
	status  int
	body    bytes.Buffer
	discard bool
}

// Header implements http.ResponseWriter.
func (a *recording) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter.
func (a *recording) WriteHeader(status int) { a.status = status }

// Write implements http.ResponseWriter.
func (a *recording) Write(content []byte) (int, error) {
	if a.discard {
		return len(content), nil
	}
	return a.body.Write(content)
}

// spoil sends an answer so that it is of little use.
func (h *hit) spoil(w http.ResponseWriter, answer *recording) {
	body := answer.body.Bytes()
	switch h.Kind {
	case Truncate:
		truncate(w, answer)
	case Malformed:
		reply(w, http.StatusOK, jsonType, malform(body))
	case Empty:
		reply(w, http.StatusOK, jsonType, nil)
	case NoContent:
		w.WriteHeader(http.StatusNoContent)
	default:
		maps.Copy(w.Header(), answer.header)
		w.WriteHeader(answer.status)
		_, _ = w.Write(h.part(body))
	}
}

// reply sends a complete answer.
func reply(w http.ResponseWriter, status int, contentType string, body []byte) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// truncate promises a body and sends half of it: servers then cut the connection.
func truncate(w http.ResponseWriter, answer *recording) {
	body := answer.body.Bytes()
	if len(body) == 0 {
		abandon(w, lost())
		return
	}
	maps.Copy(w.Header(), answer.header)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(answer.status)
	_, _ = w.Write(body[:len(body)/2])
}

// malform turns JSON into something that is none from its second character on.
func malform(body []byte) []byte {
	if !bytes.HasPrefix(body, []byte("{")) && !bytes.HasPrefix(body, []byte("[")) {
		body = []byte("{}")
	}
	return slices.Insert(slices.Clone(body), 1, ',')
}

// part is a list without some of its items; anything else stays as it is.
func (h *hit) part(body []byte) []byte {
	var items []json.RawMessage
	if json.Unmarshal(body, &items) != nil || len(items) == 0 {
		return body
	}
	random := rand.New(rand.NewPCG(h.seed, 0))
	missing := 1
	if len(items) > 1 {
		missing += random.IntN(len(items) / 2)
	}
	gone := map[int]bool{}
	for _, i := range random.Perm(len(items))[:missing] {
		gone[i] = true
	}
	kept := []json.RawMessage{}
	for i, item := range items {
		if !gone[i] {
			kept = append(kept, item)
		}
	}
	shorter, err := json.Marshal(kept)
	if err != nil {
		return body
	}
	return append(shorter, '\n')
}
