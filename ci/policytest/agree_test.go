package policytest

import (
	"math/rand/v2"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"

	"github.com/thalassa-cloud/thalassa-ccm/src/annotation"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa"
)

// values are those that people and programs write, and those that parsers disagree about.
func values() []string {
	return []string{
		"", " ", "\t", "\n", "\u00a0", "\u2003", "\u200b", "\ufeff",
		"true", "false", "True", "FALSE", "tRUE", "t", "F", "yes", "no", "on", "null", " true ", "true\n", "\u00a0true\u2003", "\u200btrue", "true,false",
		"0", "1", "-1", "+1", "5", " 5", "5 ", "+5", "-5", "05", "0005", "+05", "--5", "+ 5", "5s", "5m", "1e3", "1E3", "1.0", "1.", ".5", "1_000", "1,000", "0x10", "0b1", "0o7",
		"-0", "+0", "00", "-00", "+", "-", "NaN", "Infinity", "10", "-10", "-11", "11",
		"86399", "86400", "86401", "0086400", "1073741823", "1073741824", "1073741825", "2147483647", "2147483648", "4294967295", "4294967296",
		"999999999999999999", "-999999999999999999", "1000000000000000000", "9223372036854775807", "9223372036854775808", "-9223372036854775808",
		"-9223372036854775809", "18446744073709551615", "18446744073709551616",
		strings.Repeat("9", 400), "1" + strings.Repeat("0", 400), strings.Repeat("0", 400) + "5", "-" + strings.Repeat("0", 400) + "5",
		"\u0665", "\uff15", "\u09eb", "\u00b2", "\u2460", "5\u0000", "5\r\n", "\\5", `"5"`, "'5'", "5\n6", "\n5",
		"public", "Public", "PUBLIC", "internal", "public ", "publi\u0441", "ROUND_ROBIN", "round_robin", "RANDOM", "MAGLEV", "MAGLEV\u00a0", "ROUND_ROBIN, RANDOM",
		`a"b`, `a\b`, `a\"b`, "\u00e4\u20ac\U0001f642", "e\u0301", "\u00e9", "$", "(", "[", ".*", "{{ . }}", "%d",
	}
}

// random are texts of the characters that decide about numbers and words, the same in every run.
func random(count int) []string {
	alphabet := []rune(" \t+-__0123456789eEx.,truefalsTRUEFALS\u00a0\u0665")
	source := rand.New(rand.NewPCG(7, 11))
	texts := make([]string, 0, count)
	for range count {
		text := make([]rune, source.IntN(7))
		for i := range text {
			text[i] = alphabet[source.IntN(len(alphabet))]
		}
		texts = append(texts, string(text))
	}
	return texts
}

// kinds is a registry of what the kinds can be told, beyond what our annotations need.
func kinds() *annotation.Registry {
	registry := annotation.NewRegistry("kinds.example.com/")
	define := func(name string) annotation.Definition { return annotation.Definition{Name: name} }
	annotation.Register(registry, define("bool"), annotation.Bool(), false)
	annotation.Register(registry, define("around-zero"), annotation.Int(-10, 10, ""), 0)
	annotation.Register(registry, define("negative"), annotation.Int(-86400, -5, "metres"), -5)
	annotation.Register(registry, define("one"), annotation.Int(5, 5, ""), 5)
	annotation.Register(registry, define("huge"), annotation.Int(-999999999999999999, 999999999999999999, ""), 0)
	annotation.Register(registry, define("word"), annotation.Enum("5"), "5")
	annotation.Register(registry, define("strange"), annotation.Enum(`a"b`, `a\b`, "\u00e4\u20ac\U0001f642", "\u00e9", ".*", "{{ . }}", "%d"), ".*")
	return registry
}

// TestPolicyAgreesWithParser asks both about the same values of every annotation.
func TestPolicyAgreesWithParser(t *testing.T) {
	client, namespace := cluster(t)
	install(t, client, namespace, rendered(t, "thalassa-ccm"), thalassa.Annotations().Prefix())
	install(t, client, namespace, generated(t, "kinds", kinds()), kinds().Prefix())
	for _, registry := range []*annotation.Registry{thalassa.Annotations(), kinds()} {
		for _, entry := range registry.Entries() {
			t.Run(registry.Prefix()+entry.Name, func(t *testing.T) {
				accepted, refused := 0, 0
				for _, value := range append(append(values(), random(60)...), entry.Default) {
					if agree(t, client, namespace, registry, registry.Prefix()+entry.Name, value) {
						accepted++
					} else {
						refused++
					}
				}
				if accepted == 0 || refused == 0 {
					t.Errorf("accepted %d, refused %d: these values test nothing", accepted, refused)
				}
			})
		}
	}
}

// agree wants the API server's verdict to be the parser's, in the parser's words, and returns it.
func agree(t *testing.T, client kubernetes.Interface, namespace string, registry *annotation.Registry, name, value string) bool {
	t.Helper()
	annotations := map[string]string{name: value}
	_, problems := registry.Parse(annotations)
	err := create(t.Context(), client, service(namespace, annotations))
	switch {
	case err != nil && !apierrors.IsInvalid(err):
		t.Fatalf("%s: %q gives %v", name, value, err)
	case (err == nil) != (len(problems) == 0):
		t.Errorf("%s: %q: the parser says %v, the API server %v", name, value, problems, err)
	case err != nil && plain(value) && !strings.HasSuffix(err.Error(), "denied request: "+problems[0].String()):
		t.Errorf("%s: %q: the parser says %v, the API server %v", name, value, problems, err)
	}
	return err == nil
}

// plain values are quoted by Go and CEL alike, and short enough to be shown.
func plain(value string) bool {
	return len(value) <= 100 && !strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' })
}

// TestDocumentedValuesAreAccepted: what the reference page shows must work.
func TestDocumentedValuesAreAccepted(t *testing.T) {
	client, namespace := cluster(t)
	registry := thalassa.Annotations()
	install(t, client, namespace, rendered(t, "thalassa-ccm"), registry.Prefix())
	all := map[string]string{}
	for _, entry := range registry.Entries() {
		all[registry.Prefix()+entry.Name] = entry.Example
		for _, value := range []string{entry.Example, entry.Default} {
			if err := create(t.Context(), client, service(namespace, map[string]string{registry.Prefix() + entry.Name: value})); err != nil {
				t.Errorf("%s: %q: %v", entry.Name, value, err)
			}
		}
	}
	for _, name := range registry.Reserved() {
		if annotation.Family(name) {
			name += "x"
		}
		all[registry.Prefix()+name] = "anything"
	}
	if err := create(t.Context(), client, service(namespace, all)); err != nil {
		t.Errorf("all of them, and reserved ones: %v", err)
	}
}

func TestUnknownNames(t *testing.T) {
	client, namespace := cluster(t)
	prefix := thalassa.Annotations().Prefix()
	install(t, client, namespace, rendered(t, "thalassa-ccm"), prefix)
	const known = "is not known and has no effect; known are enable-proxy-protocol, idle-connection-timeout, loadbalancing-policy, max-connections, type"
	for name, want := range map[string]string{
		prefix + "max-connection":           prefix + "max-connection: " + known,
		prefix + "Type":                     prefix + "Type: " + known,
		prefix + "type2":                    prefix + "type2: " + known,
		prefix + "acl":                      prefix + "acl: " + known,
		prefix + "internalx":                prefix + "internalx: " + known,
		prefix + "acl-anything":             prefix + "acl-anything: " + known,
		prefix + "acl-port-http":            "",
		prefix + "reserved-ip":              "",
		"loadbalancer.k8s.thalassa.clou/x":  "",
		"xloadbalancer.k8s.thalassa.cloud/": "",
		"service.beta.kubernetes.io/x":      "",
		"type":                              "",
	} {
		err := create(t.Context(), client, service(namespace, map[string]string{strings.TrimSuffix(name, "/"): "x"}))
		if want == "" && err != nil {
			t.Errorf("%s is refused: %v", name, err)
		}
		if want != "" && (!apierrors.IsInvalid(err) || !strings.HasSuffix(err.Error(), want)) {
			t.Errorf("%s gives %v, want %q", name, err, want)
		}
	}
}

// TestAllProblemsAreToldAtOnce: nobody wants to apply a file five times.
func TestAllProblemsAreToldAtOnce(t *testing.T) {
	client, namespace := cluster(t)
	prefix := thalassa.Annotations().Prefix()
	install(t, client, namespace, rendered(t, "thalassa-ccm"), prefix)
	err := create(t.Context(), client, service(namespace, map[string]string{
		prefix + "max-connections": "many\n", prefix + "type": strings.Repeat("ü", 101), prefix + "one": "1", prefix + "two": "2",
	}))
	if !apierrors.IsInvalid(err) {
		t.Fatalf("error %v", err)
	}
	for _, want := range []string{
		`annotation ` + prefix + `max-connections: "many\n" is not a whole number of connections from 1 to 1073741824; `,
		`annotation ` + prefix + `type: "` + strings.Repeat("ü", 100) + `…" is not public; `,
		`annotation ` + prefix + `one: is not known and has no effect; `, `annotation ` + prefix + `two: is not known and has no effect; `,
		"; known are enable-proxy-protocol, ",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}
