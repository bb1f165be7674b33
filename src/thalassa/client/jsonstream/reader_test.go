package jsonstream_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client/jsonstream"
)

// readers give the same text in the pieces that networks may deliver it in.
func readers(text string) map[string]io.Reader {
	return map[string]io.Reader{
		"at once":          strings.NewReader(text),
		"byte by byte":     iotest.OneByteReader(strings.NewReader(text)),
		"end with content": iotest.DataErrReader(strings.NewReader(text)),
	}
}

// skip reads one value, and that nothing follows.
func skip(in io.Reader) error {
	r := jsonstream.NewReader(in)
	if err := r.Skip(); err != nil {
		return err
	}
	return r.End()
}

// seeds are values, valid and not.
func seeds() []string {
	return []string{
		`{}`, `[]`, `null`, `true`, `false`, `""`, `0`, `-0`, `-1.5e+30`, `1E2`, `0.1`, ` [ 1 , "a" , { "b" : [ ] } ] `,
		`"\u00e9\"\\\/\b\f\n\r\t"`, `"ü"`,
		``, ` `, `[`, `{`, `"`, `"\`, `"\u12`, `"\u12g4"`, `"\x"`, "\"\n\"", `tru`, `trux`, `nul`, `01`, `-`, `1.`,
		`1e`, `1e+`, `.5`, `+1`, `[1,]`, `[,1]`, `[1 2]`,
		`{"a"}`, `{"a":}`, `{"a":1,}`, `{a:1}`, `{1:2}`, `{"a":1 "b":2}`, `[]]`, `{}{}`, `[1}`, `1 2`, "\xff",
		"\"\xff\"", "\ufeff[]",
		strings.Repeat("[", 10000) + strings.Repeat("]", 10000), strings.Repeat("[", 10001) +
			strings.Repeat("]", 10001),
	}
}

// TestAcceptsWhatTheStandardLibraryAccepts and nothing else.
func TestAcceptsWhatTheStandardLibraryAccepts(t *testing.T) {
	for _, text := range seeds() {
		for how, in := range readers(text) {
			if err := skip(in); (err == nil) != json.Valid([]byte(text)) {
				t.Errorf("%.40q, %s: error %v, valid %v", text, how, err, json.Valid([]byte(text)))
			}
		}
	}
}

func FuzzAcceptsWhatTheStandardLibraryAccepts(f *testing.F) {
	for _, text := range seeds() {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if err := skip(iotest.HalfReader(strings.NewReader(text))); (err == nil) != json.Valid([]byte(text)) {
			t.Errorf("%q: error %v, valid %v", text, err, json.Valid([]byte(text)))
		}
	})
}

// identities reads what the package's example reads.
func identities(in io.Reader) (found []string, err error) {
	r := jsonstream.NewReader(in)
	err = r.Each(func() error {
		return r.Fields(func(name []byte) error {
			if string(name) != "identity" {
				return r.Skip()
			}
			text, err := r.Text()
			found = append(found, string(text))
			return err
		})
	})
	return found, errors.Join(err, r.End())
}

func TestFieldsOfEach(t *testing.T) {
	long := strings.Repeat("x", 200_000) // more than any buffer
	tests := map[string]struct{ text, want string }{
		"some": {`[{"identity":"a","other":[{"identity":"no"}]}, {"other": 1, "identity" : "b"}, null, {}]`,
			"[a b]"},
		"none":         {`[]`, "[]"},
		"null":         {`null`, "[]"},
		"of null":      {`[{"identity":null}]`, "[]"},
		"escaped":      {`[{"identi\u0074y":"\u00e9\n"}]`, "[é\n]"},
		"not English":  {`[{"identity":"ü"}]`, "[ü]"},
		"a long one":   {`[{"identity":"` + long + `"}]`, "[" + long + "]"},
		"a long other": {`[{"other":"` + long + `","identity":"a"}]`, "[a]"},
	}
	for name, tt := range tests {
		for how, in := range readers(tt.text) {
			if got, err := identities(in); fmt.Sprint(got) != tt.want || err != nil {
				t.Errorf("%s, %s: %.80q, error %v; want %.80q", name, how, got, err, tt.want)
			}
		}
	}
}

// TestErrorsSayWhatIsWrong: whether it breaks off, is not JSON and where, or is something else.
func TestErrorsSayWhatIsWrong(t *testing.T) {
	broken := errors.New("the line is cut")
	tests := map[string]struct {
		in   io.Reader
		want error
		text string
	}{
		"nothing":     {strings.NewReader(""), io.ErrUnexpectedEOF, ""},
		"breaks off":  {strings.NewReader(`[{"identity":"a"}, {"iden`), io.ErrUnexpectedEOF, ""},
		"unfinished":  {strings.NewReader(`[{"identity":"a"}`), io.ErrUnexpectedEOF, ""},
		"cut":         {io.MultiReader(strings.NewReader(`[{"identity":`), iotest.ErrReader(broken)), broken, ""},
		"no list":     {strings.NewReader(`{}`), nil, "at byte 0: want a list"},
		"no object":   {strings.NewReader(`[1]`), nil, "at byte 1: want an object"},
		"no string":   {strings.NewReader(`[{"identity":7}]`), nil, "at byte 13: want a string"},
		"more":        {strings.NewReader(`[] []`), nil, "want the end"},
		"no JSON":     {strings.NewReader(`[{"other":tree}]`), nil, "at byte 12: want valid JSON"},
		"deep inside": {strings.NewReader(strings.Repeat(" ", 100_000) + "x"), nil, "at byte 100000: want valid JSON"},
	}
	for name, tt := range tests {
		_, err := identities(tt.in)
		var syntax *jsonstream.SyntaxError
		switch {
		case tt.want != nil && !errors.Is(err, tt.want):
			t.Errorf("%s: error %v, want %v", name, err, tt.want)
		case tt.want == nil && (!errors.As(err, &syntax) || !strings.Contains(err.Error(), tt.text)):
			t.Errorf("%s: error %v, want %s", name, err, tt.text)
		}
	}
}

// TestRawIsWhatIsWritten, white space and all.
func TestRawIsWhatIsWritten(t *testing.T) {
	for how, in := range readers(` [ {"a" : 1} , "b" ]`) {
		r := jsonstream.NewReader(in)
		var got [][]byte
		err := r.Each(func() error {
			raw, err := r.Raw()
			got = append(got, bytes.Clone(raw))
			return err
		})
		if err != nil || string(bytes.Join(got, []byte("|"))) != `{"a" : 1}|"b"` {
			t.Errorf("%s: %q, error %v", how, got, err)
		}
	}
}

// TestSkippingAllocatesLittle, however much is skipped: a buffer that grows a few times.
func TestSkippingAllocatesLittle(t *testing.T) {
	const growth = 8
	few, many := allocations(t, 10), allocations(t, 10_000)
	if many > few+growth {
		t.Errorf("%v allocations for 10 items, %v for 10,000", few, many)
	}
}

func allocations(t *testing.T, items int) float64 {
	t.Helper()
	text := "[" + strings.Repeat(`{"identity":"tga-1","machine":{"identity":"m-1","state":"running"}},`, items) + "{}]"
	in := strings.NewReader(text)
	return testing.AllocsPerRun(10, func() {
		in.Reset(text)
		if err := skip(in); err != nil {
			t.Fatal(err)
		}
	})
}
