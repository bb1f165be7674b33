package api

import (
	"fmt"
	"hash/maphash"
	"net/http"
	"strings"
)

// tagged is an answer to a request whose header has the answer's ETag: without a body, if the request names that. The
// ETag is made of the body, which is encoded for it once more, because a list is sent while it is encoded.
func (srv *Server) tagged(w http.ResponseWriter, r *http.Request, answer reply) reply {
	if !srv.switches.ConditionalRequests || r.Method != http.MethodGet || answer.status != http.StatusOK {
		return answer
	}
	var body digest
	body.SetSeed(srv.tags)
	if err := srv.send(&body, answer); err != nil {
		return answer // and the error is the answer
	}
	tag := fmt.Sprintf(`"%016x"`, body.Sum64())
	w.Header().Set("ETag", "W/"+tag) // weak: an answer that is compressed has the same
	if strings.Contains(r.Header.Get("If-None-Match"), tag) {
		return reply{status: http.StatusNotModified}
	}
	return answer
}

// digest is an answer of which only a hash of the body is kept.
type digest struct{ maphash.Hash }

// Header implements http.ResponseWriter.
func (*digest) Header() http.Header { return http.Header{} }

// WriteHeader implements http.ResponseWriter.
func (*digest) WriteHeader(int) {}
