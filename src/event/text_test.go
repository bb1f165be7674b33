package event

import (
	"testing"
	"unicode/utf8"
)

// TestNames writes all of a few names, and the number of those for which there is no room.
func TestNames(t *testing.T) {
	ten := []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"}
	for want, names := range map[string][]string{
		"":                             nil,
		"a":                            {"a"},
		"a, b":                         {"a", "b"},
		"a, b, c, d, e, f, g, h, i, j": ten,
		"a, b, c, d, e, f, g, h, i, j and 2 more": append(ten, "k", "l"),
	} {
		if got := Names(names); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestSentences: no text runs into the next one, and none has two full stops.
func TestSentences(t *testing.T) {
	for _, tt := range []struct {
		texts []string
		want  string
	}{
		{nil, ""},
		{[]string{"", " "}, ""},
		{[]string{"quota exceeded"}, "quota exceeded."},
		{[]string{"quota exceeded", "It is retried."}, "quota exceeded. It is retried."},
		{[]string{"It is full.", " ", " Remove one."}, "It is full. Remove one."},
		{[]string{"It is full. See https://a.test/x.md"}, "It is full. See https://a.test/x.md"},
		{[]string{"did you mean port?", "One of: a", "too long…"}, "did you mean port? One of: a. too long…"},
		{[]string{`the answer is "no"`, `the answer is "No."`, "(see the log)", "(It is full.)"},
			`the answer is "no". the answer is "No." (see the log). (It is full.)`},
	} {
		if got := Sentences(tt.texts...); got != tt.want {
			t.Errorf("%q become %q, want %q", tt.texts, got, tt.want)
		}
	}
}

// TestShortened: what is shortened has whole characters.
func TestShortened(t *testing.T) {
	tests := []struct {
		text  string
		limit int
		want  string
	}{{"", 8, ""}, {"12345678", 8, "12345678"}, {"123456789", 8, "1234 …"}, {"ééééé", 8, "éé …"}, {"aéééé", 8, "aé …"}}
	for _, tt := range tests {
		if got := Shortened(tt.text, tt.limit); got != tt.want || !utf8.ValidString(got) {
			t.Errorf("%q cut to %d bytes: %q, want %q", tt.text, tt.limit, got, tt.want)
		}
	}
}
