package encode_test

import (
	"encoding/json"
	"errors"
	"math/rand"
	"reflect"
	"testing"
	"testing/quick"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/encode"
)

// same checks that a value reads as encoding/json writes it, alone and when it
// is mentioned again and again.
func same(t *testing.T, value any) {
	t.Helper()
	want, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	var encoder encode.Encoder
	page := encoder.Page()
	for mention := range 4 {
		got, err := page.Append(nil, value)
		if err != nil || string(got) != string(want) {
			t.Fatalf("mention %d of a %T: %s, %v, want %s", mention, value, got, err, want)
		}
	}
}

type inner struct {
	Name   string            `json:"name"`
	Labels map[string]string `json:"labels"`
	Next   *inner            `json:"next"`
}

type embedded struct {
	ID   string `json:"id"`
	When time.Time
}

type outer struct {
	embedded
	Hidden   string `json:"-"`
	Dash     string `json:"-,"` //nolint:staticcheck // what encoding/json makes of it is the test
	Empty    string `json:"empty,omitempty"`
	None     []int  `json:"none,omitempty"`
	Zero     int    `json:"zero,omitempty"`
	Struct   inner  `json:"struct,omitempty"` //nolint:modernize // what encoding/json makes of it is the test
	Pointer  *inner `json:"pointer,omitempty"`
	Also     *inner
	Later    *time.Time `json:"later,omitempty"`
	Numbers  []int32
	Unsigned *uint32
	Truth    bool
	Float    float64
	Any      any
	Anything []any
	Bytes    []byte
	Array    [2]int
	Other    map[string]int
	Raw      json.RawMessage
	private  int
}

func TestSameBytesAsTheStandardLibrary(t *testing.T) {
	shared := &inner{Name: "shared", Labels: map[string]string{"b": "2", "a": "1", "<": "\"&\u2028é\x00"}}
	now := time.Now()
	tests := map[string]any{
		"nil": nil, "null pointer": (*outer)(nil), "bool": true, "int": -7, "string": "text",
		"escapes":      "a\"b\\c<d>&\n\x7fé\u2028\xff",
		"empty struct": struct{}{}, "zero": outer{}, "pointer to zero": &outer{}, "list": []*inner{shared, shared, nil,
			shared},
		"full": &outer{
			embedded: embedded{"x", now}, Empty: "e", None: []int{1, 2}, Zero: 3, Struct: inner{Next: shared},
			Pointer: shared, Also: shared,
			Later: &now, Numbers: []int32{}, Unsigned: new(uint32(9)), Float: 1.5, Any: shared,
			Anything: []any{1, "a", nil, shared, now},
			Bytes:    []byte("bytes"), Other: map[string]int{"n": 1}, Raw: json.RawMessage(`{"raw":true}`), private: 1,
		},
		"time":       now,
		"other zone": &embedded{When: now.In(time.FixedZone("", 3600+1800))},
		"embedded pointer": struct {
			*embedded
			Own int
		}{&embedded{ID: "p"}, 1},
		"hidden field": struct {
			embedded
			ID int `json:"id"`
		}{embedded{ID: "a"}, 1},
		"quoted": struct {
			N int `json:",string"`
		}{1},
		"omitzero": struct {
			T time.Time `json:"t,omitzero"`
		}{},
	}
	for name, value := range tests {
		t.Run(name, func(t *testing.T) { same(t, value) })
	}
}

func TestSameBytesForRandomValues(t *testing.T) {
	type shape struct {
		A string
		B []inner
		C map[string]string `json:"c,omitempty"`
		D *int
		E []struct{ X, Y uint16 } `json:"e,omitempty"`
		F *inner                  `json:",omitempty"`
	}
	random := rand.New(rand.NewSource(1))
	for range 300 {
		value, ok := quick.Value(reflect.TypeFor[shape](), random)
		if !ok {
			t.Fatal("no value")
		}
		same(t, value.Interface())
	}
}

type broken struct{}

func (broken) MarshalJSON() ([]byte, error) { return nil, errors.New("no form") }

func TestErrorsSayWhatAndWhy(t *testing.T) {
	var encoder encode.Encoder
	for name, value := range map[string]any{
		"direct": broken{}, "nested": &struct{ B []*broken }{[]*broken{{}}}, "in an interface": []any{broken{}},
		"channel": make(chan int), "year": &embedded{When: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)},
	} {
		if _, err := encoder.Page().Append(nil, value); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// What is mentioned many times is not written many times: the cost of a mention
// must not depend on the size of the object.
func TestMentionsAreCopied(t *testing.T) {
	calls := 0
	shared := &struct{ C counting }{counting{&calls}}
	list := make([]*struct{ C counting }, 100)
	for i := range list {
		list[i] = shared
	}
	var encoder encode.Encoder
	if _, err := encoder.Page().Append(nil, list); err != nil || calls != 2 {
		t.Errorf("100 mentions took %d encodings, %v, want 2", calls, err)
	}
	if _, err := encoder.Page().Append(nil, shared); err != nil || calls != 3 {
		t.Errorf("another page took %d encodings, %v, want 1 of its own", calls-2, err)
	}
}

type counting struct{ calls *int }

func (c counting) MarshalJSON() ([]byte, error) {
	*c.calls++
	return []byte("1"), nil
}

func TestConcurrentPages(t *testing.T) {
	var encoder encode.Encoder
	value := &outer{Pointer: &inner{Name: "x"}}
	want, _ := json.Marshal(value)
	done := make(chan string)
	for range 8 {
		go func() {
			got, _ := encoder.Page().Append(nil, value)
			done <- string(got)
		}()
	}
	for range 8 {
		if got := <-done; got != string(want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
