package balancer

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// step is a change of a Service or of the cloud, and the plan that follows from it. In texts, "web" is the default name
// of the load balancer, "own" is the name of the Service's security group, annotations have no prefix, health checks
// lack the default times. "…" stands for any text, two spaces continue a line, and "(closes)" marks a write that is
// made even if an earlier one fails.
type step struct {
	ask  string // all annotations: "max-connections=7 acl-port-80=10.0.0.0/8"
	spec func(*corev1.Service)
	hand func(*world) // what somebody changes in the cloud
	end  bool         // the Service is deleted
	want string       // one line for each write, refusal, wait, notice and change of the published addresses
}

// life is a series of steps. The first one follows the creation of a Service without annotations, with the ports 80 and
// 443, unless new is set.
type life struct {
	name     string
	new      bool
	defaults string // of the cloud-config, as step.ask
	steps    []step
	// keeps means that the load balancer keeps something that the Service does not ask for any more, so that a new one
	// would have other values.
	keeps bool
}

// plain returns the Service of all lives.
func plain() *corev1.Service {
	web := service("web", 80, 443)
	delete(web.Annotations, label.AnnotationPrefix+nameType)
	return web
}

// asking returns the Service with the annotations.
func asking(s step) *corev1.Service {
	web := plain()
	for name, value := range asked(s.ask) {
		if !strings.Contains(name, "/") {
			name = label.AnnotationPrefix + name
		}
		web.Annotations[name] = value
	}
	if s.spec != nil {
		s.spec(web)
	}
	return web
}

// asked reads the annotations of a step.
func asked(text string) map[string]string {
	all := map[string]string{}
	for pair := range strings.FieldsSeq(text) {
		name, value, _ := strings.Cut(pair, "=")
		all[name] = value
	}
	return all
}

// shown returns a comparison as text.
func shown(found cloud.Comparison, before string) string {
	var lines []string
	for _, operation := range found.Plan {
		line := operation.String()
		if operation.Closes {
			line += " (closes)"
		}
		lines = append(lines, line)
	}
	if found.Refused != nil {
		lines = append(lines, "refused: "+found.Refused.Error())
	}
	if found.Wait != nil && len(found.Plan) == 0 && found.Refused == nil {
		lines = append(lines, "waits: "+found.Wait.Message)
	}
	if now := addressesOf(found); now != before && found.Balancer.State != "" {
		lines = append(lines, "serves "+now)
	}
	if found.Retains != "" {
		lines = append(lines, "retains: "+found.Retains)
	}
	for _, notice := range found.Notices {
		lines = append(lines, notice.Reason+": "+notice.Message)
	}
	return strings.NewReplacer("a0a1b2c3dweb", "web", "a0a1b2c3dsecond", "second",
		groupName("0a1b2c3d-web"), "own", label.AnnotationPrefix, "",
		" every 5s, timeout 3s, 1 good, 3 bad", "").Replace(strings.TrimSpace(strings.Join(lines, "\n")))
}

// addressesOf returns the addresses that are published.
func addressesOf(found cloud.Comparison) string {
	var all []string
	for _, ingress := range found.Balancer.Status.Ingress {
		all = append(all, strings.Trim(ingress.IP+" "+ingress.Hostname, " "))
	}
	return strings.Join(all, ", ")
}

// matches reports whether the text is the one that is wanted.
func matches(text, want string) bool {
	want = strings.ReplaceAll(strings.TrimSpace(want), "\n  ", " ")
	pattern := strings.ReplaceAll(regexp.QuoteMeta(want), "…", ".*")
	return regexp.MustCompile("^" + pattern + "$").MatchString(text)
}

// run goes through a life.
func (l life) run(t *testing.T) {
	w, last := newWorld(asked(l.defaults)), step{}
	if !l.new {
		w.settle(t, plain(), w.compare)
	}
	for i, s := range l.steps {
		web := asking(s)
		if s.hand != nil {
			s.hand(&w)
		}
		before, compare := w.clone(), w.compare
		served := addressesOf(w.compare(asking(last)))
		if s.end {
			compare = w.ending
		}
		found := compare(web)
		if text := shown(found, served); !matches(text, s.want) {
			t.Errorf("step %d, %q:\n%s\nwant\n%s", i, s.ask, text, strings.TrimSpace(s.want))
		}
		pure(t, &w, s, found)
		w.carryOut(t, found.Plan, -1)
		rounds := s.end || strings.HasSuffix(s.want, "it is adopted")
		if more := compare(web).Plan; len(more) > 0 && !rounds {
			t.Errorf("step %d, %q: after the plan was carried out another one is needed:\n%s", i, s.ask, more)
		}
		l.interrupted(t, *before, s, asking(last), found.Plan)
		if !s.end && !l.keeps && found.Refused == nil && len(found.Notices) == 0 {
			anew(t, &w, s)
		}
		last = s
	}
}

// pure checks that the comparison depends on its inputs only, not on the order of lists that have none, and that it
// changes none of them.
func pure(t *testing.T, w *world, s step, found cloud.Comparison) {
	t.Helper()
	other, web, targets := w.reversed(), asking(s), len(w.targets(asking(s)).Serving)
	compare := other.compare
	if s.end {
		compare = other.ending
	}
	again := compare(web)
	byPort := cmpopts.SortSlices(func(a, b resource.Listener) bool { return a.Name+a.ID < b.Name+b.ID })
	diff := cmp.Diff(found.Plan, again.Plan, byPort, cmpopts.EquateEmpty())
	if diff != "" || shown(found, "") != shown(again, "") {
		t.Errorf("%q: in another order it is\n%s\nplan (-first +again):\n%s", s.ask, shown(again, ""), diff)
	}
	unchanged := cmp.Diff(w.reversed(), other, cmp.AllowUnexported(world{}), cmpopts.IgnoreFields(world{}, "config"))
	if diff = unchanged + cmp.Diff(asking(s), web); diff != "" || len(w.targets(web).Serving) != targets {
		t.Errorf("%q: its inputs changed (-before +after):\n%s", s.ask, diff)
	}
}

// compareValues compares what two worlds have.
func compareValues(t *testing.T, what string, want, got *world) {
	t.Helper()
	if diff := cmp.Diff(want.values(), got.values(), cmp.AllowUnexported(world{}),
		cmpopts.IgnoreFields(world{}, "config"), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// interrupted checks that a plan of which any write fails, or after which the process ends, is completed by later ones;
// that it is also undone if the Service is changed back, or deleted; and that no port is open to everybody meanwhile
// that is not so before and after.
func (l life) interrupted(t *testing.T, before world, s step, previous *corev1.Service, plan cloud.Plan) {
	t.Helper()
	after, compare := before.clone(), (*world).compare
	if s.end {
		compare = (*world).ending
	}
	settle := func(w *world, service *corev1.Service) {
		w.settle(t, service, func(s *corev1.Service) cloud.Comparison { return compare(w, s) })
	}
	settle(after, asking(s))
	for i := range plan {
		for name, writes := range map[string]cloud.Plan{"refused": plan, "the last one": plan[:i+1]} {
			what := fmt.Sprintf("%q, write %d %s", s.ask, i, name)
			now := before.clone()
			now.carryOut(t, writes, i)
			if ports := now.exposed(); len(ports) > 0 && len(before.exposed())+len(after.exposed()) == 0 {
				t.Errorf("%s: ports %v are open to everybody", what, ports)
			}
			again, gone := now.clone(), now.clone()
			settle(now, asking(s))
			compareValues(t, what, after, now)
			if s.end {
				continue
			}
			if !l.keeps && s.hand == nil {
				settle(again, previous)
				settle(again, asking(s))
				compareValues(t, what+", changed back and forth", after, again)
			}
			unprotected := asking(step{ask: "delete-protection=false", spec: s.spec})
			gone.settle(t, unprotected, gone.ending)
			if left := append(gone.observed(unprotected, true).GroupIDs(), gone.unused()...); len(left) > 0 {
				t.Errorf("%s, deleted: left are %v", what, left)
			}
		}
	}
}

// anew checks that a Service that is created with its annotations has the same as one that gets them later.
func anew(t *testing.T, w *world, s step) {
	t.Helper()
	fresh := newWorld(nil)
	fresh.nodes = w.nodes
	fresh.settle(t, asking(s), fresh.compare)
	compareValues(t, fmt.Sprintf("%q from the beginning", s.ask), w, &fresh)
}
