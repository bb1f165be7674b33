package fault

import (
	"encoding/json"
	"testing"
)

func TestPart(t *testing.T) {
	tests := map[string]struct {
		body        string
		least, most int
	}{
		"one":   {`[1]`, 0, 0},
		"two":   {`[1,2]`, 1, 1},
		"three": {`[1,2,3]`, 2, 2},
		"nine":  {`[1,2,3,4,5,6,7,8,9]`, 5, 8},
	}
	for name, test := range tests {
		sizes := map[int]bool{}
		for seed := range uint64(200) {
			var kept []int
			part := (&hit{seed: seed}).part([]byte(test.body))
			if err := json.Unmarshal(part, &kept); err != nil {
				t.Fatalf("%s: %s: %v", name, part, err)
			}
			if len(kept) < test.least || len(kept) > test.most {
				t.Errorf("%s: %v is left, want %d to %d items", name, kept, test.least, test.most)
			}
			for i := 1; i < len(kept); i++ {
				if kept[i-1] >= kept[i] {
					t.Errorf("%s: %v is out of order", name, kept)
				}
			}
			sizes[len(kept)] = true
		}
		if want := test.most - test.least + 1; len(sizes) != want {
			t.Errorf("%s: %d sizes, want every one of %d", name, len(sizes), want)
		}
	}
	for _, body := range []string{`[]`, `{"message":"no"}`, ``, `<html>`} {
		if got := string((&hit{}).part([]byte(body))); got != body {
			t.Errorf("%s became %s", body, got)
		}
	}
}

func TestMalform(t *testing.T) {
	for _, body := range []string{``, `1`, `[]`, `{}`, `[{"a":1}]`, `{"a":1}`, `"text"`, `12`, `{`} {
		if got := malform([]byte(body)); json.Valid(got) {
			t.Errorf("%q became %q, which is JSON", body, got)
		}
	}
}
