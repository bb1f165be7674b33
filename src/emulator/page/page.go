// Package page provides the page that shows in a browser what an emulator has and does. It is one static page: it
// uses the admin API, and nothing of another host.
package page

import (
	"bytes"
	"embed"
	"net/http"
	"path"
	"time"
)

//go:embed page.html page.css page.js icon.svg faults.json
var files embed.FS

// Root is where the page is served, Folder where it finds its other files.
const (
	Root   = "/_emulator"
	Folder = Root + "/page/"
)

// policy lets the page use its own files and the admin API, and no other web site show it in a frame, where a click
// meant for something else would reach it.
const policy = "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Handler serves the page at Root, and its files in Folder.
func Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := path.Base(r.URL.Path)
		if r.URL.Path == Root {
			name = "page.html"
		}
		content, err := files.ReadFile(name)
		if err != nil {
			http.NotFound(w, r)
			return
		}
		header := w.Header()
		header.Set("Content-Security-Policy", policy)
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("Cache-Control", "no-cache")
		http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(content))
	})
}
