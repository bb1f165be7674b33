package policytest

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"

	"github.com/thalassa-cloud/thalassa-ccm/src/annotation"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa"
)

// values are those that people and programs write, and those that parsers disagree about.
func values() []string {
	return []string{
		"", " ", "\t", "\n", "\u00a0", "\u2003", "\u200b", "\ufeff",
		"true", "false", "True", "FALSE", "tRUE", "t", "F", "yes", "no", "on", "null", " true ", "true\n",
		"\u00a0true\u2003", "\u200btrue", "true,false",
		"0", "1", "-1", "+1", "5", " 5", "5 ", "+5", "-5", "05", "0005", "+05", "--5", "+ 5", "5s", "5m", "1e3", "1E3",
		"1.0", "1.", ".5", "1_000", "1,000", "0x10", "0b1", "0o7",
		"-0", "+0", "00", "-00", "+", "-", "NaN", "Infinity", "10", "-10", "-11", "11",
		"86399", "86400", "86401", "0086400", "1073741823", "1073741824", "1073741825", "2147483647", "2147483648",
		"4294967295", "4294967296",
		"999999999999999999", "-999999999999999999", "1000000000000000000", "9223372036854775807",
		"9223372036854775808", "-9223372036854775808",
		"-9223372036854775809", "18446744073709551615", "18446744073709551616",
		strings.Repeat("9", 400), "1" + strings.Repeat("0", 400), strings.Repeat("0", 400) + "5",
		"-" + strings.Repeat("0", 400) + "5",
		"\u0665", "\uff15", "\u09eb", "\u00b2", "\u2460", "5\u0000", "5\r\n", "\\5", `"5"`, "'5'", "5\n6", "\n5",
		"public", "Public", "PUBLIC", "internal", "public ", "publi\u0441", "ROUND_ROBIN", "round_robin", "RANDOM",
		"MAGLEV", "MAGLEV\u00a0", "ROUND_ROBIN, RANDOM",
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

// listed are texts of the kinds with commas and of those with a grammar, right and wrong.
func listed() []string {
	long, domain := strings.Repeat("x", 63), strings.Repeat("d", 253)
	return []string{
		"10.0.0.0/8", "10.1.2.3/8", "10.1.2.3", " 10.0.0.0/8 , 192.168.0.0/16 ", "10.0.0.0/8,", ",10.0.0.0/8", ",",
		", ,", "10.0.0.0/8;10.1.0.0/16", "10.0.0.0/8 10.1.0.0/16",
		"0.0.0.0/0", "::/0", "::", "2001:db8::/32", "2001:db8::1", "2001:DB8::1/64", "::ffff:10.0.0.1",
		"::ffff:10.0.0.0/104", "::10.0.0.1", "fe80::1%eth0", "fe80::%eth0/64", "fe80::1/64%eth0",
		"10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/+8", "10.0.0.0/08", "10.0.0.0/8/8", "10.0.0.0/", "/8", "10.0.0/8",
		"10.0.0.256", "010.0.0.1", "10.0.0.01/8", "1.2.3.4.5", "2001:db8::/129",
		"2001:db8:::1", "1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8:9", "1:2:3:4:5:6:7::", "[::1]", "localhost",
		"10.0.0.0/8\n10.1.0.0/16", "10.0.0.0/8,\n\t192.168.0.0/16\n", "10.0.0.0/8,\u00a0::1",
		"sg-1", "sg-1,sg-2", "sg-1, sg-2 ,", "sg_1.a-", "-sg", ".sg", "sg 1", "sg/1", "s\u00e4",
		strings.Repeat("sg,", 3), strings.Repeat("sg,", 100), strings.Repeat(",", 100), strings.Repeat("a,", 5000),
		strings.Repeat(" ", 9000) + "a",
		"a=b", "a=b,c=d", " a=b , c=d ,", "a=", "=b", "a", "a=b=c", "a=b,a=b", "a=b,a=c", "a=b,,c=d", "example.com/a=b",
		"Example.com/a=b", "/a=b", "a/=b", "a/b/c=d", "ours.example/a=b", "ours.example/=", "xours.example/a=b",
		"a =b", "a= b", "-a=b", "a-=b", "a=-b", "a=b-", "a=b c", long + "=" + long, long + "x=a", "a=" + long + "x",
		domain + "/a=b", domain + "d/a=b", strings.Repeat("a=b,", 65), "a..b/c=d",
		"a==b", "a!=b", "!a", "! a", "!a=b", "a in (b,c)", "a notin (b, c)", "a in()", "a in ( )", "a in (,)",
		"a in (b,,c)", "a in (b", "a in b", "a in", "in in (in)", "notin", "in=in", "a,b", "a,,b", ",a", "a,", "a b",
		"a>5", "a<5", "a > 5", "a>-5", "a>+5", "a>b", "a>", "a>5,a<9", "a>999999999999999999", "a>9223372036854775807",
		"a>=5", "a=>5", "a = b", "a == b", "a\t!=\nb", "a=b, c in (d,e), !f, g>1",
		"example.com/a in (b)", "Example.com/a", "a..b/c", "a/b/c", "-a.b/c", "a in (-b)", "a in (b-)", long + " in (" +
			long + ")", long + "x", "a=" + long + "x", "a in (" + long + "x)", domain + "/a", domain + "d/a", "(a=b)",
		"a=(b)", "a!b",
		"a\u00a0=b", "a=b\u00a0", "a=b\x00", strings.Repeat("a,", 1000) + "a", strings.Repeat("a,", 1100) + "a",
		"a in (" + strings.Repeat("b,", 500) + ")",
		"/", "/ready", "ready", "/a b", "/" + strings.Repeat("x", 254), "/" + strings.Repeat("x", 255), "/\u00e4",
		"lb-1", "lb 1", "2001:db8::5", "203.0.113.9", strings.Repeat("n", 62), strings.Repeat("n", 63), "a name",
		" a name",
	}
}

// changed are texts that differ from right ones by one character or two, the same in every run.
func changed(count int) []string {
	right := []string{
		"10.0.0.0/8, 2001:db8::/32,192.0.2.1,::1", "sg-1, sg-2,my-group", "a=b, example.com/c=d.e,f=",
		"a=b, c in (d,e), !f, x.example/g>1, h notin (), i!=j",
	}
	alphabet := []rune(" \t,=!()<>/:.-_%+0159afxzAFZ\u00a0\u0665in")
	source := rand.New(rand.NewPCG(3, 5))
	texts := make([]string, 0, count)
	for i := range count {
		text := []rune(right[i%len(right)])
		for range 1 + source.IntN(2) {
			at, letter := source.IntN(len(text)), alphabet[source.IntN(len(alphabet))]
			switch source.IntN(3) {
			case 0:
				text[at] = letter
			case 1:
				text = slices.Insert(text, at, letter)
			default:
				text = slices.Delete(text, at, at+1)
			}
		}
		texts = append(texts, string(text))
	}
	return texts
}

// kinds is a registry of all that annotations of these kinds may be, beyond what our annotations need.
func kinds() *annotation.Registry {
	registry := annotation.NewRegistry("kinds.example.com/")
	define := func(name string) annotation.Definition { return annotation.Definition{Name: name} }
	annotation.Register(registry, define("bool"), annotation.Bool(), false)
	annotation.Register(registry, define("around-zero"), annotation.Int(-10, 10, ""), 0)
	annotation.Register(registry, define("negative"), annotation.Int(-86400, -5, "metres"), -5)
	annotation.Register(registry, define("one"), annotation.Int(5, 5, ""), 5)
	annotation.Register(registry, define("huge"), annotation.Int(-999999999999999999, 999999999999999999, ""), 0)
	annotation.Register(registry, define("word"), annotation.Enum("5"), "5")
	annotation.Register(registry, define("special"),
		annotation.Enum(`a"b`, `a\b`, "\u00e4\u20ac\U0001f642", "\u00e9", ".*", "{{ . }}", "%d"), ".*")
	annotation.Register(registry, define("pattern"),
		annotation.Word(`[a-z.]+|"|\\`, "small letters, a quote or a backslash"), "a")
	annotation.Register(registry, define("sources"), annotation.Sources(), nil)
	annotation.Register(registry, define("names"), annotation.Names(3), nil)
	annotation.Register(registry, define("many-names"), annotation.Names(5000), nil)
	annotation.Register(registry, define("pairs"), annotation.Pairs(), nil)
	annotation.Register(registry, define("own-pairs"), annotation.Pairs("ours.example/", `x"`), nil)
	annotation.Register(registry, define("selector"), annotation.Selector(), labels.Everything())
	annotation.RegisterFamily(registry, define("for-"), annotation.Int(1, 5, ""))
	return registry
}

// TestPolicyAgreesWithParser asks both about the same values of every annotation.
func TestPolicyAgreesWithParser(t *testing.T) {
	client, namespace := cluster(t)
	install(t, client, namespace, rendered(t, "thalassa-ccm"), thalassa.Annotations().Prefix())
	install(t, client, namespace, generated(t, "kinds", kinds()), kinds().Prefix())
	words, lists := append(values(), random(tier.Pick(6, 60))...), append(listed(), changed(tier.Pick(16, 160))...)
	for _, registry := range []*annotation.Registry{kinds(), thalassa.Annotations()} {
		for i, entry := range registry.Entries() {
			t.Run(registry.Prefix()+entry.Name, func(t *testing.T) {
				texts := slices.Concat(words, some(lists, 9, i))
				if registry.Prefix() != kinds().Prefix() || !tier.Full() {
					texts = append(some(words, 9, i), some(lists, 9, i)...)
				} else if slices.Contains([]string{"sources", "names", "many-names", "pairs", "own-pairs", "selector"},
					entry.Name) {
					texts = slices.Concat(lists, some(words, 9, i))
				}
				accepted, refused := 0, 0
				for _, value := range append([]string{entry.Default, entry.Example, "\u00e9"}, texts...) {
					if agree(t, client, namespace, registry, registry.Prefix()+example(entry), value) {
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

// some are every nth text, from the given one on: what a kind takes is asked of all its values, and an annotation is of
// a kind.
func some(texts []string, nth, from int) []string {
	var found []string
	for i := from % nth; i < len(texts); i += nth {
		found = append(found, texts[i])
	}
	return found
}

// example is a name of the annotation that may be on the tests' Service.
func example(entry annotation.Entry) string {
	if entry.IsFamily() {
		return entry.Name + "http"
	}
	return entry.Name
}

// agree wants the API server's verdict to be the parser's, in the parser's words, and returns it.
func agree(t *testing.T, client kubernetes.Interface, namespace string, registry *annotation.Registry, name,
	value string) bool {
	t.Helper()
	s := service(namespace, map[string]string{name: value})
	_, problems := registry.Parse(s.Annotations, annotation.PortsOf(s))
	err := create(t.Context(), client, s)
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
	accepted := func(name, value string) {
		all[registry.Prefix()+name] = value
		if err := create(t.Context(), client,
			service(namespace, map[string]string{registry.Prefix() + name: value})); err != nil {
			t.Errorf("%s: %q: %v", name, value, err)
		}
	}
	for _, entry := range registry.Entries() {
		if entry.Without == "" {
			accepted(entry.Name, entry.Default)
		}
		accepted(example(entry), entry.Example)
		if entry.PerPort {
			accepted(entry.Name+".http", entry.Example)
			accepted(entry.Name+".53", entry.Example)
		}
	}
	if err := create(t.Context(), client, service(namespace, all)); err != nil {
		t.Errorf("all of them: %v", err)
	}
}

// TestNames has the API server and the parser judge names.
func TestNames(t *testing.T) {
	client, namespace := cluster(t)
	registry := thalassa.Annotations()
	install(t, client, namespace, rendered(t, "thalassa-ccm"), registry.Prefix())
	const lacks = "is for a port that the Service does not have; it has http (80), dns (53), dns-tcp (53), 443 (8443)"
	for name, want := range map[string]string{
		"certification": "is not known and has no effect; known are acl-allowed-sources, acl-port-<port>, adopt, " +
			"create-security-group, ",
		"Type":               "is not known and has no effect; known are ",
		"acl-anything":       "is not known and has no effect; known are ",
		"certification.http": "is not known and has no effect; known are ",
		"tls-ports":          "is not supported: load balancers of Thalassa Cloud do not terminate TLS",
		"target-type.http":   "is not supported: the targets are nodes",
		"tls":                "is not known and has no effect; known are ",
		"certificate":        "is not supported: load balancers of Thalassa Cloud do not terminate TLS",
		"reserved-ip.http": "is for one port, but " + registry.Prefix() +
			"reserved-ip holds for the whole Service; write it without .http",
		"reserved-ip.nope": "is for one port, but " + registry.Prefix() +
			"reserved-ip holds for the whole Service; write it without .nope",
		"max-connections": "", "max-connections.http": "", "max-connections.53": "", "max-connections.443": "",
		"max-connections.8443": "", "acl-port-dns-tcp": "", "acl-port-80": "",
		"max-connections.nope": lacks, "max-connections.080": lacks, "max-connections.http.x": lacks,
		"max-connections.TCP": lacks, "max-connections.81": lacks,
		"acl-port-nope": lacks, "acl-port-http.x": "is not known and has no effect; known are ",
		"acl-port-.http": lacks, "acl-port": "is not known and has no effect; ", "health-check-port.nowhere": lacks,
	} {
		s := service(namespace, map[string]string{registry.Prefix() + name: "5"})
		if strings.HasPrefix(name, "acl-port") {
			s.Annotations[registry.Prefix()+name] = "::1"
		}
		_, problems := registry.Parse(s.Annotations, annotation.PortsOf(s))
		err := create(t.Context(), client, s)
		if (err == nil) != (want == "") || (err == nil) != (len(problems) == 0) {
			t.Errorf("%s: the parser says %v, the API server %v, want %q", name, problems, err, want)
			continue
		}
		if err != nil && !strings.Contains(err.Error(), "denied request: annotation "+registry.Prefix()+name+": "+
			want) {
			t.Errorf("%s: the API server says %v, want %q", name, err, want)
		}
		if guess := "did you mean"; err != nil && !strings.Contains(problems[0].String(), guess) &&
			!strings.HasSuffix(err.Error(), "denied request: "+problems[0].String()) {
			t.Errorf("%s: the parser says %v, the API server %v", name, problems, err)
		}
	}
}

// TestForeignNames: names that only look like ours are not checked.
func TestForeignNames(t *testing.T) {
	client, namespace := cluster(t)
	install(t, client, namespace, rendered(t, "thalassa-ccm"), thalassa.Annotations().Prefix())
	for _, name := range []string{"loadbalancer.k8s.thalassa.clou/x", "xloadbalancer.k8s.thalassa.cloud/x",
		"service.beta.kubernetes.io/x", "type"} {
		if err := create(t.Context(), client, service(namespace, map[string]string{name: "x"})); err != nil {
			t.Errorf("%s is refused: %v", name, err)
		}
	}
}

// TestServicesWithoutPorts: a name at the end of an annotation is none of theirs.
func TestServicesWithoutPorts(t *testing.T) {
	client, namespace := cluster(t)
	registry := thalassa.Annotations()
	install(t, client, namespace, rendered(t, "thalassa-ccm"), registry.Prefix())
	s := service(namespace, map[string]string{registry.Prefix() + "max-connections.http": "5"})
	s.Spec = corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "example.com"}
	_, problems := registry.Parse(s.Annotations, annotation.PortsOf(s))
	if err := create(t.Context(), client, s); err == nil || len(problems) != 1 ||
		!strings.HasSuffix(err.Error(), "denied request: "+problems[0].String()) {
		t.Errorf("the parser says %v, the API server %v", problems, err)
	}
}

// TestUnnamedPort: a Service's only port needs no name.
func TestUnnamedPort(t *testing.T) {
	client, namespace := cluster(t)
	registry := thalassa.Annotations()
	install(t, client, namespace, rendered(t, "thalassa-ccm"), registry.Prefix())
	for _, name := range []string{"max-connections.80", "max-connections.nope", "acl-port-80", "max-connections.TCP"} {
		s := service(namespace, map[string]string{registry.Prefix() + name: "5"})
		s.Spec.Ports = []corev1.ServicePort{{Port: 80}}
		if strings.HasPrefix(name, "acl") {
			s.Annotations[registry.Prefix()+name] = "10.0.0.0/8"
		}
		_, problems := registry.Parse(s.Annotations, annotation.PortsOf(s))
		err := create(t.Context(), client, s)
		if (err == nil) != (len(problems) == 0) || err != nil && !strings.HasSuffix(err.Error(), "denied request: "+
			problems[0].String()) {
			t.Errorf("%s: the parser says %v, the API server %v", name, problems, err)
		}
	}
}

// TestAllProblemsAreReportedAtOnce: a file with five problems is not applied five times.
func TestAllProblemsAreReportedAtOnce(t *testing.T) {
	client, namespace := cluster(t)
	prefix := thalassa.Annotations().Prefix()
	install(t, client, namespace, rendered(t, "thalassa-ccm"), prefix)
	err := create(t.Context(), client, service(namespace, map[string]string{
		prefix + "max-connections": "many\n", prefix + "max-connections.http": "more", prefix + "one": "1", prefix +
			"two": "2",
		prefix + "publish.80": "ip", prefix + "acl-port-99": "::1",
	}))
	if !apierrors.IsInvalid(err) {
		t.Fatalf("error %v", err)
	}
	for _, want := range []string{
		`annotation ` + prefix +
			`max-connections: "many\n" is not a whole number of connections from 1 to 1073741824; `,
		`annotation ` + prefix +
			`max-connections.http: "more" is not a whole number of connections from 1 to 1073741824; `,
		`annotation ` + prefix + `one: is not known and has no effect; `,
		`annotation ` + prefix + `two: is not known and has no effect; `,
		`annotation ` + prefix + `publish.80: is for one port, but `,
		`annotation ` + prefix + `acl-port-99: is for a port that the Service does not have; `,
		"; known are acl-allowed-sources, ",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

// TestLongValuesAreShortened: a message has room for the beginning.
func TestLongValuesAreShortened(t *testing.T) {
	client, namespace := cluster(t)
	prefix := thalassa.Annotations().Prefix()
	install(t, client, namespace, rendered(t, "thalassa-ccm"), prefix)
	err := create(t.Context(), client,
		service(namespace, map[string]string{prefix + "type": strings.Repeat("\u00fc", 101)}))
	want := `annotation ` + prefix + `type: "` + strings.Repeat("\u00fc", 100) + "…\" is not one of public, internal"
	if !apierrors.IsInvalid(err) || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("error %v, want one with %q", err, want)
	}
}
