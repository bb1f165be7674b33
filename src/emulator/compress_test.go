package emulator_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
)

const machinesPath = "/v1/machines"

// manyMachines is a cloud with a list that is worth compressing.
func manyMachines(t *testing.T) *cloud {
	t.Helper()
	c := newCloud(t)
	if _, err := c.AddMachines(10); err != nil {
		t.Fatal(err)
	}
	return c
}

// get reads a list as clients in Go do: they ask for compressed answers, and decompress them.
func (c *cloud) get(t *testing.T, path string) (body string, compressed bool, err error) {
	t.Helper()
	response, err := http.DefaultClient.Do(apiRequest(t, c.url, "GET", path, ""))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	return string(content), response.Uncompressed, err
}

// TestCompressedAnswers: large answers are compressed for those who ask for it, also if a fault changes others.
func TestCompressedAnswers(t *testing.T) {
	c := manyMachines(t)
	plain := serve(c, apiRequest(t, "", "GET", machinesPath, ""))
	if encoding := plain.Header().Get("Content-Encoding"); encoding != "" {
		t.Errorf("without being asked, the answer has the encoding %q", encoding)
	}
	body, compressed, err := c.get(t, machinesPath)
	if !compressed || err != nil || body != plain.Body.String() {
		t.Errorf("%d bytes, compressed %t, error %v, want %d bytes", len(body), compressed, err, plain.Body.Len())
	}
	if body, compressed, err := c.get(t, "/v1/projects"); compressed || err != nil {
		t.Errorf("%d bytes are compressed: %t, error %v", len(body), compressed, err)
	}
}

func TestCompressionIsGzip(t *testing.T) {
	c := manyMachines(t)
	for accepted, want := range map[string]string{
		"": "", "gzip": "gzip", "gzip, deflate, br, zstd": "gzip", "zstd": "",
	} {
		request := apiRequest(t, "", "GET", machinesPath, "")
		request.Header.Set("Accept-Encoding", accepted)
		if encoding := serve(c, request).Header().Get("Content-Encoding"); encoding != want {
			t.Errorf("Accept-Encoding %q: the answer has the encoding %q, want %q", accepted, encoding, want)
		}
	}
}

func TestFaultsOfCompressedAnswers(t *testing.T) {
	c := manyMachines(t)
	whole := serve(c, apiRequest(t, "", "GET", machinesPath, "")).Body.String()
	for kind, check := range map[fault.Kind]func(body string, err error) bool{
		fault.Partial: func(body string, err error) bool {
			return err == nil && json.Valid([]byte(body)) && len(body) < len(whole)
		},
		fault.Malformed: func(body string, err error) bool { return err == nil && strings.HasPrefix(body, "[,") },
		fault.Truncate: func(body string, err error) bool {
			return errors.Is(err, io.ErrUnexpectedEOF) && body == whole[:len(whole)/2]
		},
	} {
		if _, err := c.Inject(fault.Rule{Effect: fault.Effect{Kind: kind}, Count: 1}); err != nil {
			t.Fatal(err)
		}
		if body, _, err := c.get(t, machinesPath); !check(body, err) {
			t.Errorf("%s: %d of %d bytes, error %v: %.40s", kind, len(body), len(whole), err, body)
		}
	}
}
