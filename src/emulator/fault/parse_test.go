package fault

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// everything has every setting that Refuse can have.
func everything() Rule {
	return Rule{
		ID: "my.fault-1", Operation: "POST *", Path: "/v1/machines*", Skip: 2, Count: 3, Probability: 0.25,
		Seed: 1<<64 - 1, From: time.Second, Until: 90 * time.Second,
		Effect: Effect{Kind: Refuse, Status: 429, Message: `slow, down\`, RetryAfter: 1500 * time.Millisecond},
	}
}

func TestParse(t *testing.T) {
	tests := map[string]struct {
		text string
		want Rule
	}{
		"everything": {
			`id=my.fault-1,operation=POST *,path=/v1/machines*,skip=2,count=3,probability=0.25,seed=18446744073709551615,` +
				`from=1s,until=1m30s,kind=status,status=429,message=slow\, down\\,retryAfter=1.5s`,
			everything(),
		},
		"little": {"kind=hang", Rule{Effect: Effect{Kind: Hang}}},
		"spaces": {" kind = latency , delay = 1.5s ",
			Rule{Effect: Effect{Kind: Latency, Delay: 1500 * time.Millisecond}}},
		"equals sign": {"kind=status,status=503,message=a=b",
			Rule{Effect: Effect{Kind: Refuse, Status: 503, Message: "a=b"}}},
		"path parameter": {"operation=* /v1/vpcs/{id},kind=reset", Rule{Operation: "* /v1/vpcs/{id}",
			Effect: Effect{Kind: Reset}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := Parse(test.text)
			if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
				t.Errorf("Parse(%s): %v (-want +got):\n%s", test.text, err, diff)
			}
		})
	}
}

func TestParseErrors(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"nothing":      {"", `"" is not key=value`},
		"no value":     {"kind=status,status", `"status" is not key=value; write \, for a comma`},
		"unknown key":  {"knd=hang", `unknown key "knd": did you mean "kind"?`},
		"other key":    {"somethingelse=1", `unknown key "somethingelse": use one of kind, status,`},
		"twice":        {"kind=hang,kind=reset", "kind is given twice"},
		"number":       {"kind=hang,count=many", `count is "many": it must be a whole number`},
		"fraction":     {"kind=hang,probability=often", `probability is "often": it must be a number from 0 to 1`},
		"seed":         {"kind=hang,seed=-1", `seed is "-1": it must be a whole number, 0 or more`},
		"duration":     {"kind=latency,delay=3", `delay is "3": it must be a duration such as "1.5s"`},
		"does not fit": {"kind=latency", "effect.delay is 0s"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := Parse(test.text); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("Parse(%s): %v, want %s", test.text, err, test.want)
			}
		})
	}
}

func TestJSONRoundTrip(t *testing.T) {
	for _, rule := range []Rule{everything(), {Effect: Effect{Kind: Stale, Delay: time.Minute}}} {
		text, err := json.Marshal(rule)
		if err != nil {
			t.Fatal(err)
		}
		var got Rule
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if diff := cmp.Diff(rule, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

func TestJSON(t *testing.T) {
	text, err := json.Marshal(Status{Rule: Rule{ID: "a", Effect: Effect{Kind: Latency, Delay: 1500 * time.Millisecond}},
		Matched: 2, Fired: 1, Spent: true})
	const want = `{"rule":{"id":"a","effect":{"kind":"latency","delay":"1.5s"}},"matched":2,"fired":1,"spent":true}`
	if err != nil || string(text) != want {
		t.Errorf("Marshal = %s, %v, want %s", text, err, want)
	}
}

func TestJSONErrors(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"no object":     {`[]`, "a rule and its effect are JSON objects"},
		"unknown":       {`{"operatoin": "*"}`, `unknown key "operatoin": did you mean "operation"?`},
		"in effect":     {`{"effect": {"knid": "hang"}}`, `effect: unknown key "knid": did you mean "kind"?`},
		"too high":      {`{"status": 503}`, `key "status" belongs into "effect"`},
		"too low":       {`{"effect": {"count": 3}}`, `key "count" belongs into the rule, beside "effect"`},
		"object":        {`{"count": {}}`, "count must be text or a number"},
		"no number":     {`{"count": true}`, `count is "true": it must be a whole number`},
		"effect a text": {`{"effect": "hang"}`, "effect: a rule and its effect are JSON objects"},
		"seconds":       {`{"effect": {"delay": 3}}`, `delay is "3": it must be a duration`},
		"zero":          {`{"from": 0}`, `from must be a text, not 0: add quotes`},
		"quotes":        {`{"count": "3"}`, `count must be a number, not "3": remove the quotes`},
		"message":       {`{"effect": {"message": true}}`, `message must be a text, not true: add quotes`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var r Rule
			if err := json.Unmarshal([]byte(test.text), &r); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: %v, want %s", test.text, err, test.want)
			}
		})
	}
}

func TestJSONNull(t *testing.T) {
	var r Rule
	if err := json.Unmarshal([]byte(`{"id": null, "count": null, "effect": null}`), &r); err != nil || r != (Rule{}) {
		t.Errorf("null must read as absent: %+v, %v", r, err)
	}
}

func TestReadRules(t *testing.T) {
	const text = `
# The cloud is slow in the morning.
- operation: GET *
  until: 10m
  effect: {kind: latency, delay: 250ms}
- {seed: 7, probability: 0.5, effect: {kind: status, status: 503, message: "later, please"}}
`
	want := []Rule{
		{Operation: "GET *", Until: 10 * time.Minute, Effect: Effect{Kind: Latency, Delay: 250 * time.Millisecond}},
		{Seed: 7, Probability: 0.5, Effect: Effect{Kind: Refuse, Status: 503, Message: "later, please"}},
	}
	got, err := ReadRules(strings.NewReader(text))
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("ReadRules: %v (-want +got):\n%s", err, diff)
	}
	if none, err := ReadRules(strings.NewReader("")); len(none) != 0 || err != nil {
		t.Errorf("an empty file has %v, %v, want no rules", none, err)
	}
}

func TestReadRulesErrors(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"no list": {"kind: hang", "must be a list of rules"},
		"unknown": {"- effect: {kind: hang}\n- {efect: {kind: hang}}",
			`reading fault 2: unknown key "efect": did you mean "effect"?`},
		"invalid":      {"- effect: {kind: hagn}", `reading fault 1: effect.kind is "hagn": did you mean "hang"?`},
		"not a number": {"- {count: .nan}", "reading fault 1"},
		"documents":    {"[]\n---\n[]", "more than one YAML document"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := ReadRules(strings.NewReader(test.text)); err == nil ||
				!strings.Contains(err.Error(), test.want) {
				t.Errorf("%q: %v, want %s", test.text, err, test.want)
			}
		})
	}
}

// Whatever Parse accepts survives JSON.
func FuzzParse(f *testing.F) {
	f.Add("operation=POST *,kind=status,status=503,count=3")
	f.Add(`kind=quota,message=a\,b\\,retryAfter=1.5s,probability=1e-3`)
	f.Add("kind=latency,delay=1h,from=1s,until=2s,id=x,seed=18446744073709551615")
	f.Fuzz(func(t *testing.T, text string) {
		rule, err := Parse(text)
		if err != nil {
			return
		}
		encoded, err := json.Marshal(rule)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		var again Rule
		if err := json.Unmarshal(encoded, &again); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if strings.ToValidUTF8(text, "") == text && again != rule {
			t.Errorf("%q is %+v, and %+v after JSON", text, rule, again)
		}
	})
}
