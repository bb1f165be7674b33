package openapitest

import (
	"hash/maphash"
	"testing"
)

func TestShape(t *testing.T) {
	seed := maphash.MakeSeed()
	for _, tt := range []struct {
		a, b string
		same bool
	}{
		{`{"n":1}`, `{"n":25}`, true},
		{`{"n":1}`, `{"n":0}`, false},
		{`{"n":1}`, `{"n":-1}`, false},
		{`{"n":1}`, `{"n":"1"}`, false},
		{`{"n":1}`, `{"m":1}`, false},
		{`{"ipv4Address":1}`, `{"ipv6Address":1}`, false},
		{`"web-1"`, `"web-20"`, true},
		{`"web-1"`, `"db-1"`, false},
		{`"tcp"`, `"udp"`, false},
		{`"IPv6"`, `"ipv6"`, false},
		{`"10.0.4.1/24"`, `"10.0.17.33/8"`, true},
		{`"tg-71mk701ksdubvkmg92ug"`, `"tg-71mk701kseubvkmg9300"`, true},
		{`"tg-71mk701ksdubvkmg92ug"`, `"lb-71mk701ksdubvkmg92ug"`, false},
		{`[{"n":1},{"n":2}]`, `[{"n":3}]`, true},
		{`[{"n":1},{"n":null}]`, `[{"n":null},{"n":7},{"n":8}]`, true},
		{`[{"n":1}]`, `[{"n":1},{"n":null}]`, false},
		{`[]`, `[1]`, false},
		{`[]`, `{}`, false},
	} {
		if same := shapeIn(t, seed, tt.a) == shapeIn(t, seed, tt.b); same != tt.same {
			t.Errorf("%s and %s have the same shape: %t, want %t", tt.a, tt.b, same, tt.same)
		}
	}
	for _, body := range []string{"", "{", `{"a"`, `[1`, "no"} {
		if shape, err := shapeOf(seed, []byte(body)); err == nil {
			t.Errorf("the shape of %q is %d, want an error", body, shape)
		}
	}
}

func shapeIn(t *testing.T, seed maphash.Seed, body string) uint64 {
	t.Helper()
	shape, err := shapeOf(seed, []byte(body))
	if err != nil {
		t.Errorf("%s: %v", body, err)
	}
	return shape
}
