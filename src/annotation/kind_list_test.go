package annotation

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"
)

// rewritten is what a kind makes of a text: how it writes the value, "-" when it takes none.
func rewritten[T any](kind Kind[T], text string) string {
	value, err := kind.Parse(text)
	if err != nil {
		return "-"
	}
	return written(value)
}

// written is a value as a user would write it.
func written(value any) string {
	var elements []string
	switch value := value.(type) {
	case []string:
		elements = value
	case []netip.Prefix:
		for _, prefix := range value {
			elements = append(elements, prefix.String())
		}
	case map[string]string:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			elements = append(elements, key+"="+value[key])
		}
	default:
		return fmt.Sprint(value)
	}
	return strings.Join(elements, ",")
}

func TestSources(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "10.0.0.0/8": "10.0.0.0/8", "10.1.2.3/8": "10.0.0.0/8", "10.1.2.3": "10.1.2.3/32",
		"2001:db8::1": "2001:db8::1/128", "2001:DB8::1/32": "2001:db8::/32",
		" 192.168.0.0/16 ,\n10.0.0.0/8": "10.0.0.0/8,192.168.0.0/16", "10.0.0.0/8,10.0.0.5/8,::1": "10.0.0.0/8,::1/128",
		",": "-", " , ": "-", "10.0.0.0/8,": "10.0.0.0/8", "10.0.0.0/8,,::1": "10.0.0.0/8,::1/128", "10.0.0.0/8,x": "-",
		"10.0.0.0/33": "-", "10.0.0/8": "-", "10.0.0.0/08": "-", "010.0.0.1": "-",
		"::ffff:10.0.0.1": "-", "::ffff:10.0.0.0/104": "-", "fe80::1%eth0": "-", "fe80::%eth0/64": "-",
		"10.0.0.0/8 10.0.0.0/16": "-", "localhost": "-",
		strings.Repeat("::1,", 4095) + "::1": "::1/128", strings.Repeat("::1,", 4096) + "::1": "-",
	} {
		if got := rewritten(Sources(), text); got != want {
			t.Errorf("%.80q gives %q, want %q", text, got, want)
		}
	}
}

func TestNames(t *testing.T) {
	for text, want := range map[string]string{
		"": "", ",": "", " , ": "", "sg-1": "sg-1", " sg-2 ,, sg-1,sg-2 ,": "sg-2,sg-1", "a.b_c-": "a.b_c-",
		"a,b,c": "a,b,c", "a,b,c,d": "-", "a,b,a,b": "-",
		"-a": "-", "a b": "-", "a/b": "-", "\u00e4": "-", "a;b": "-", strings.Repeat("x", 8192): strings.Repeat("x",
			8192), strings.Repeat("x", 8193): "-",
	} {
		if got := rewritten(Names(3), text); got != want {
			t.Errorf("%.80q gives %.80q, want %.80q", text, got, want)
		}
	}
}

func TestPairs(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "a=b": "a=b", " c=d , a=b ,": "a=b,c=d", "a=": "a=", "example.com/a=b": "example.com/a=b",
		"a=b,A=c": "A=c,a=b",
		"a":       "-", "=b": "-", "a=b=c": "-", "a=b,a=b": "-", "a = b": "-", "ours.example/a=b": "-",
		"ours.examples/a=b": "ours.examples/a=b", "a=-": "-", "/a=b": "-",
		strings.Repeat("k", 63) + "=" + strings.Repeat("v", 63): strings.Repeat("k", 63) + "=" +
			strings.Repeat("v", 63), strings.Repeat("k", 64) + "=": "-", "a=" + strings.Repeat("v", 64): "-",
	} {
		if got := rewritten(Pairs("ours.example/"), text); got != want {
			t.Errorf("%q gives %q, want %q", text, got, want)
		}
	}
}

func TestSelector(t *testing.T) {
	match := labels.Set{"disk": "ssd", "zone": "a", "cores": "8", "example.com/x": ""}
	for text, want := range map[string]bool{
		"": true, "disk=ssd": true, "disk == ssd , zone in (a, b)": true, "disk!=ssd": false, "!gpu": true,
		"zone notin (a)": false, "cores>4,cores<9": true,
		"example.com/x": true, "example.com/x in ()": true, "disk in (hdd,,nvme)": false,
	} {
		selector, err := Selector().Parse(text)
		if err != nil || selector.Matches(match) != want {
			t.Errorf("%q: %v, matches %v, want %v", text, err, err == nil && selector.Matches(match), want)
		}
	}
	for _, text := range []string{
		",", "a,", "a=b c", "a in b", "a in (b", "!a=b", "a>b", "a>1000000000000000000", "-a", "a=-b", "A.b/c", "a b",
		"a&b", strings.Repeat("a,", 1024) + "a", strings.Repeat("d", 254) + "/a",
	} {
		if selector, err := Selector().Parse(text); err == nil {
			t.Errorf("%.80q gives %v, want an error", text, selector)
		}
	}
}

func TestWord(t *testing.T) {
	kind := Word("a|bc", "a or bc")
	for text, want := range map[string]string{"a": "a", "bc": "bc", "abc": "-", "": "-", "a\n": "-", "ac": "-"} {
		if got := rewritten(kind, text); got != want {
			t.Errorf("%q gives %q, want %q", text, got, want)
		}
	}
}

// TestRefusalsSayWhatIsAllowed: a limit that is not documented cannot be kept.
func TestRefusalsSayWhatIsAllowed(t *testing.T) {
	for allowed, parts := range map[string][]string{
		Names(3).Allowed: {"at most 3 identities or slugs"}, Pairs("ours.example/").Allowed: {"at most 64 labels",
			"no key beginning with ours.example/"},
		Sources().Allowed: {"at most 16384 characters"}, Selector().Allowed: {"at most 2048 characters"},
		Word("a", "an a").Allowed: {"an a"},
	} {
		for _, part := range parts {
			if !strings.Contains(allowed, part) {
				t.Errorf("%q lacks %q", allowed, part)
			}
		}
	}
}

// settles fails when a kind does not take what it writes, as the same value.
func settles[T any](t *testing.T, kind Kind[T], text string) {
	t.Helper()
	value, err := kind.Parse(text)
	if err != nil {
		return
	}
	again, err := kind.Parse(written(value))
	if err != nil {
		t.Fatalf("%q is written %q, which gives %v", text, written(value), err)
	}
	if diff := cmp.Diff(written(value), written(again)); diff != "" {
		t.Errorf("%q is written (-once +twice):\n%s", text, diff)
	}
}

// FuzzKinds: no text makes a kind panic, and what it writes it reads.
func FuzzKinds(f *testing.F) {
	for _, text := range []string{"10.0.0.0/8, ::1", "sg-1,sg-2", "a=b,c=d", "a in (b, c), !d, e>5", "true", "-7",
		"/healthz", "\u00a0"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		settles(t, Bool(), text)
		settles(t, Int(-10, 1000, "things"), text)
		settles(t, Enum("a", "b"), text)
		settles(t, Word("/[!-~]{0,9}", "a path"), text)
		settles(t, Names(5), text)
		settles(t, Pairs("ours.example/"), text)
		settles(t, Sources(), text)
		settles(t, Selector(), text)
	})
}

// FuzzSelectorGrammar: the regular expression says what the parser of Kubernetes says, but for what is documented.
func FuzzSelectorGrammar(f *testing.F) {
	for _, text := range []string{
		"a", "!a", "! a", "a=b", "a==b", "a != b", "a in (b,c)", "a notin(b, ,)", "a in ()", "a>5", "a<0", "x.y/z=",
		" a , b ", "a in (in,notin)", "in in (in)", "notin", "a,!b,c=d,e in (f)", "a=", "a\t\n=\rb",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		_, err := Selector().Parse(text)
		_, theirs := labels.Parse(text)
		numbers := strings.ContainsAny(text, "<>") // with at most 18 digits
		if err == nil && theirs != nil || err != nil && theirs == nil && !numbers && len(text) <= selectorLength &&
			!strings.Contains(text, "\x00") {
			t.Errorf("%q: %v, Kubernetes says %v", text, err, theirs)
		}
	})
}
