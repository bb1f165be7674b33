package testserver_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/tools/testserver"
)

func TestGet(t *testing.T) {
	url := "http://" + start(t, 0).web
	var text strings.Builder
	var answer testserver.Answer
	if err := testserver.Get(t.Context(), url+"/", &text); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(text.String()), &answer); err != nil || answer.Host != "pod-1" {
		t.Errorf("got %q and %v", text.String(), err)
	}
	if err := testserver.Get(t.Context(), url+"/?after=soon", &text); err == nil ||
		!strings.Contains(err.Error(), "400") {
		t.Errorf("got %v, want the status", err)
	}
	if err := testserver.Get(t.Context(), "http://127.0.0.1:0/", &text); err == nil {
		t.Error("nothing answered, and that was no error")
	}
}
