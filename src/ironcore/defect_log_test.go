package ironcore

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/controller/workerpool/workerpooltest"
)

// logs records what is logged. It is the sink of a logger.
type logs struct {
	mu      sync.Mutex
	entries []logEntry
	values  []any // of all entries of a logger that was made from this one
	parent  *logs
}

type logEntry struct {
	message string
	values  []any // keys and values in turn
}

// Init implements logr.LogSink.
func (l *logs) Init(logr.RuntimeInfo) {}

// Enabled implements logr.LogSink.
func (l *logs) Enabled(int) bool { return true }

// Info implements logr.LogSink.
func (l *logs) Info(_ int, message string, values ...any) {
	if l.parent != nil {
		l.parent.Info(0, message, slices.Concat(l.values, values)...)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = append(l.entries, logEntry{message, values})
}

// Error implements logr.LogSink.
func (l *logs) Error(err error, message string, values ...any) {
	l.Info(0, message, append([]any{"err", err}, values...)...)
}

// WithValues implements logr.LogSink.
func (l *logs) WithValues(values ...any) logr.LogSink { return &logs{parent: l, values: values} }

// WithName implements logr.LogSink.
func (l *logs) WithName(string) logr.LogSink { return l }

// check returns what is wrong with the keys of an entry; "" if nothing is.
func (e logEntry) check() string {
	if len(e.values)%2 != 0 {
		return "a value has no key, or a key has no value"
	}
	for i := 0; i < len(e.values); i += 2 {
		key, is := e.values[i].(string)
		switch {
		case !is:
			return fmt.Sprintf("the key %v is no text", e.values[i])
		case strings.Trim(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" || key == "":
			return fmt.Sprintf("the key %q is no word", key)
		}
	}
	return ""
}

// value returns the value of a key, as text.
func (e logEntry) value(key string) string {
	for i := 0; i+1 < len(e.values); i += 2 {
		if e.values[i] == key {
			return fmt.Sprint(e.values[i+1])
		}
	}
	return ""
}

// wantKeys checks all entries, and that each of the messages was logged, with the values of its keys.
func (l *logs) wantKeys(t *testing.T, messages map[string]map[string]string) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, entry := range l.entries {
		if problem := entry.check(); problem != "" {
			t.Errorf("the entry %q with %v: %s", entry.message, entry.values, problem)
		}
	}
	for message, keys := range messages {
		i := slices.IndexFunc(l.entries, func(e logEntry) bool { return strings.HasPrefix(e.message, message) })
		if i < 0 {
			t.Errorf("nothing was logged with %q: %v", message, l.entries)
			continue
		}
		for key, value := range keys {
			wantText(t, key+" of "+message, l.entries[i].value(key), value)
		}
	}
}

// TestDefect28_LogValuesHaveKeys: a deletion that fails at first is logged with a key for each value, such as the
// Service. The same is true of the other entries of the process, and of those about labels.
func TestDefect28_LogValuesHaveKeys(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.selector = true
		r.addMachine("a")
		recorded := &logs{}
		c := r.withControllers(logr.New(recorded), node("a"))
		c.addService()
		r.refuse("loadbalancers", "not permitted")
		deleted := c.service()
		deleted.DeletionTimestamp = &metav1.Time{Time: time.Now()}
		if _, err := c.CoreV1().Services("shop").Update(r.ctx, deleted, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		workerpooltest.Pass(time.Minute)
		want(r, "load balancers", len(r.server.LoadBalancers()), 1)
		r.refuse("networkinterfaces", "not permitted")
		workerpooltest.ChangeNode(t, c, "a", func(n *corev1.Node) {
			n.Labels = map[string]string{corev1.LabelNodeExcludeBalancers: ""}
		})
		synctest.Wait()
		workerpooltest.Pass(10 * time.Minute)
		want(r, "load balancers", len(r.server.LoadBalancers()), 0)
		recorded.wantKeys(t, map[string]map[string]string{
			"Syncing a Service failed": {"service": "shop/web", "err": "not permitted"},
			"The network interface keeps the label of the cluster": {
				"networkInterface": interfaceOf("a"), "node": "a"},
		})
	})
}

// TestDefect28_IsFound: the check finds what it is for.
func TestDefect28_IsFound(t *testing.T) {
	for title, tt := range map[string]struct {
		log  func(logr.Logger)
		want string
	}{
		"correct":       {func(l logr.Logger) { l.WithValues("a", 1).Info("x", "b", 2) }, ""},
		"no key":        {func(l logr.Logger) { l.Info("x", "shop/web") }, "a value has no key"},
		"no text":       {func(l logr.Logger) { l.Info("x", 1, 2) }, "is no text"},
		"key and value": {func(l logr.Logger) { l.Error(nil, "x", "shop/web", "b") }, "is no word"},
	} {
		t.Run(title, func(t *testing.T) {
			recorded := &logs{}
			tt.log(logr.New(recorded))
			got := recorded.entries[0].check()
			wantText(t, "problem", got, tt.want)
			want(t, "is one", got != "", tt.want != "")
		})
	}
}
