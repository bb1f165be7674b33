package declaration

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

// pause is the time between two reads of an object that is not yet as it should be, and patience is how often it is
// read at most.
const (
	pause    = 30 * time.Second
	patience = 20
)

// tool sends requests, as a declarative tool does, in virtual time.
type tool struct {
	*testing.T
	cloud      *emulator.Emulator
	credential *credential
	switches   emulator.Switches
	delays     emulator.Delays
	// subject is what is driven, for messages.
	subject string
	// known are the identities of the objects on the stage.
	known map[string]string
	// form is whether bodies are sent as forms, and not in JSON.
	form bool
}

// formType is the media type of forms.
const formType = "application/x-www-form-urlencoded"

// on does a part of the work about a subject. If it cannot go on, only this part ends.
func (c *tool) on(subject string, work func(*tool)) {
	c.Helper()
	inner := *c
	inner.subject = subject
	done := make(chan struct{})
	go func() {
		defer close(done)
		work(&inner)
	}()
	<-done
}

// Errorf reports what is wrong with the subject.
func (c *tool) Errorf(format string, arguments ...any) {
	c.Helper()
	c.T.Errorf("%s: %s", c.subject, fmt.Sprintf(format, arguments...))
}

// Fatalf is Errorf, and ends the work about the subject.
func (c *tool) Fatalf(format string, arguments ...any) {
	c.Helper()
	c.Errorf(format, arguments...)
	runtime.Goexit()
}

// send sends a request until it is not throttled, and returns the status and the content of the answer.
func (c *tool) send(method, path string, body any) (int, any) {
	c.Helper()
	content := c.content(body)
	for {
		request := httptest.NewRequestWithContext(c.Context(), method, path, strings.NewReader(content))
		request.Header.Set("X-Organisation-Identity", emulator.DefaultOrganisation)
		if c.form {
			request.Header.Set("Content-Type", formType)
		} else {
			c.credential.sign(c.T, request)
		}
		answer := httptest.NewRecorder()
		c.cloud.ServeHTTP(answer, request)
		if answer.Code == http.StatusTooManyRequests {
			seconds, err := strconv.Atoi(answer.Header().Get("Retry-After"))
			if err != nil {
				c.Fatalf("%s %s is throttled, and Retry-After is %q", method, path, answer.Header().Get("Retry-After"))
			}
			<-time.After(time.Duration(seconds) * time.Second)
			continue
		}
		var value any
		if text := answer.Body.Bytes(); len(text) > 0 {
			if err := json.Unmarshal(text, &value); err != nil {
				c.Fatalf("%s %s = %d %s: %v", method, path, answer.Code, text, err)
			}
		}
		return answer.Code, value
	}
}

// content is the text of a body.
func (c *tool) content(body any) string {
	c.Helper()
	if fields, ok := body.(map[string]any); ok && c.form {
		form := url.Values{}
		for key, value := range fields {
			form.Set(key, fmt.Sprint(value))
		}
		return form.Encode()
	}
	if body == nil {
		return ""
	}
	text, err := json.Marshal(body)
	if err != nil {
		c.Fatalf("%v", err)
	}
	return string(text)
}

// expect sends a request that must be answered with a status.
func (c *tool) expect(method, path string, body any, want int) any {
	c.Helper()
	status, answer := c.send(method, path, body)
	if status != want {
		text, _ := json.Marshal(body)
		c.Fatalf("%s %s %s = %d %v, want %d", method, path, text, status, answer, want)
	}
	return answer
}

// list reads the objects at a path.
func (c *tool) list(path string) []any {
	c.Helper()
	all, ok := c.expect(http.MethodGet, path, nil, http.StatusOK).([]any)
	if !ok {
		c.Fatalf("GET %s is not a list", path)
	}
	return all
}

// until waits until a condition holds.
func (c *tool) until(what string, holds func() bool) {
	c.Helper()
	for range patience {
		if holds() {
			return
		}
		<-time.After(pause)
	}
	c.Fatalf("after %s: not %s", patience*pause, what)
}

// filled is a body, or a part of it, with identities in place of their names on the stage.
func (c *tool) filled(value any) any {
	c.Helper()
	switch v := value.(type) {
	case map[string]any:
		object := map[string]any{}
		for key, inner := range v {
			object[key] = c.filled(inner)
		}
		return object
	case []any:
		list := []any{}
		for _, inner := range v {
			list = append(list, c.filled(inner))
		}
		return list
	case string:
		if name, ok := strings.CutPrefix(v, "$"); ok {
			return c.identity(name)
		}
	}
	return value
}

// identity is that of an object on the stage.
func (c *tool) identity(name string) string {
	c.Helper()
	identity := c.known[name]
	if identity == "" {
		c.Fatalf("there is no %q on the stage, but %v", name, slices.Sorted(maps.Keys(c.known)))
	}
	return identity
}

// status is that of an object: it is a text, or in an object of its own.
func status(object any) string {
	if text, ok := at(object, "status").(string); ok {
		return text
	}
	text, _ := at(object, "status.status").(string)
	return text
}

// underway is whether an object has a status that ends by itself.
func underway(object any) bool {
	return slices.Contains([]string{"creating", "provisioning", "updating", "attaching", "detaching", "deleting"},
		strings.ToLower(status(object)))
}

// setUp creates the objects on the stage.
func (c *tool) setUp(stage []prop) {
	c.Helper()
	for _, p := range stage {
		path, body := c.placed(p.Path), c.filled(parsed(c.T, p.Body))
		created := c.expect(http.MethodPost, path, body, c.switches.Status(http.StatusCreated))
		identity, _ := at(created, "identity").(string)
		c.known[p.Name] = identity
		c.until(p.Name+" created", func() bool {
			read := c.expect(http.MethodGet, path+"/"+identity, nil, http.StatusOK)
			for name, where := range p.Also {
				c.known[name], _ = at(read, where).(string)
			}
			return !underway(read)
		})
	}
}

// tearDown deletes the objects on the stage, the newest first.
func (c *tool) tearDown(stage []prop) {
	c.Helper()
	for _, p := range slices.Backward(stage) {
		path := c.placed(p.Path) + "/" + c.known[p.Name]
		c.expect(http.MethodDelete, path, nil, c.switches.Status(http.StatusNoContent))
		c.until(p.Name+" deleted", func() bool { status, _ := c.send(http.MethodGet, path, nil); return status == 404 })
	}
}

// placed is a path with identities in place of names on the stage.
func (c *tool) placed(path string) string {
	c.Helper()
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if name, ok := strings.CutPrefix(part, "$"); ok {
			parts[i] = c.identity(name)
		}
	}
	return strings.Join(parts, "/")
}
