//go:build e2e

package e2etest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/thalassa-cloud/thalassa-ccm/tools/poll"
)

// pageTimeout bounds every wait for the page.
const pageTimeout = 30 * time.Second

// browser is a tab of Chromium.
type browser struct {
	//nolint:containedctx // the tab of chromedp is a context
	tab    context.Context
	origin string

	mu sync.Mutex
	// complaints are errors and warnings of the console, foreign are requests to other hosts.
	complaints, foreign []string
}

// openBrowser opens a page in Chromium until the test ends. Chromium finds no host but this machine.
func openBrowser(t *testing.T, page string) *browser {
	t.Helper()
	program, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatalf("%v: it is in the package chromium; ci/e2e-setup.sh installs it", err)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program), chromedp.Flag("headless", "new"), chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"),
		chromedp.WSURLReadTimeout(pageTimeout))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	// The context of a test ends before its cleanup, which ends Chromium in good order.
	all, stop := chromedp.NewExecAllocator(context.WithoutCancel(t.Context()), options...)
	t.Cleanup(stop)
	tab, closeTab := chromedp.NewContext(all)
	t.Cleanup(closeTab)
	at, err := url.Parse(page)
	if err != nil {
		t.Fatal(err)
	}
	b := &browser{tab: tab, origin: at.Scheme + "://" + at.Host + "/"}
	// This starts Chromium, which lives as long as the context of its start.
	if err := chromedp.Listen(tab, b.observe); err != nil {
		t.Fatalf("starting Chromium: %v", err)
	}
	call(t, b, log.Enable, cdp.Empty{})
	call(t, b, network.Enable, network.EnableParams{})
	b.do(t, chromedp.EmulateViewport(1280, 800), chromedp.Navigate(page))
	return b
}

// observe records what a page should not do.
func (b *browser) observe(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch event := event.(type) {
	case *log.EventEntryAdded:
		if event.Entry.Level == log.EntryLevelError || event.Entry.Level == log.EntryLevelWarning {
			b.complaints = append(b.complaints, event.Entry.Text+" "+event.Entry.URL)
		}
	case *runtime.EventExceptionThrown:
		b.complaints = append(b.complaints, fmt.Sprintf("exception: %+v", event.ExceptionDetails))
	case *runtime.EventConsoleAPICalled:
		if event.Type == runtime.ConsoleAPICalledTypeError || event.Type == runtime.ConsoleAPICalledTypeWarning {
			b.complaints = append(b.complaints, fmt.Sprintf("console: %s", event.Args[0].Value))
		}
	case *network.EventRequestWillBeSent:
		if !strings.HasPrefix(event.Request.URL, b.origin) {
			b.foreign = append(b.foreign, event.Request.URL)
		}
	}
}

// silent checks that the console has no error, and that no other host was asked for anything.
func (b *browser) silent(t *testing.T) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.complaints)+len(b.foreign) > 0 {
		t.Errorf("the console says %q, and these requests were sent elsewhere: %q", b.complaints, b.foreign)
	}
}

// do carries out actions in the tab.
func (b *browser) do(t *testing.T, actions ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	ctx, cancel := context.WithTimeout(b.tab, pageTimeout)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		t.Fatal(err)
	}
}

// get is the value of an action in the tab.
func get[T any](t *testing.T, b *browser, action chromedp.Action[T]) T {
	t.Helper()
	ctx, cancel := context.WithTimeout(b.tab, pageTimeout)
	defer cancel()
	value, err := chromedp.Run(ctx, action)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// ask is the value of an expression in the page.
func ask[T any](t *testing.T, b *browser, expression string) T {
	t.Helper()
	return get(t, b, chromedp.Evaluate[T](expression))
}

// call carries out a command of Chromium's protocol.
func call[P, R any](t *testing.T, b *browser, command cdp.Command[P, R], parameters P) {
	t.Helper()
	if _, err := chromedp.Call(b.tab, command, parameters); err != nil {
		t.Fatalf("%s: %v", command.Method, err)
	}
}

// until waits until a condition holds in the page. The page's policy does not allow chromedp.Poll.
func (b *browser) until(t *testing.T, condition string) {
	t.Helper()
	limits := poll.Limits{Every: time.Second / 20, For: pageTimeout}
	err := limits.Until(t.Context(), condition, func(context.Context) error {
		if !ask[bool](t, b, "Boolean("+condition+")") {
			return errors.New("it does not hold")
		}
		return nil
	})
	if err != nil {
		t.Fatalf("%v; the page has\n%s", err, ask[string](t, b, "document.body.innerText"))
	}
}

// click clicks on an element.
func (b *browser) click(t *testing.T, selector string) {
	t.Helper()
	b.do(t, chromedp.Click(chromedp.CSS(selector)))
}

// shows waits until an element can be seen and has texts.
func (b *browser) shows(t *testing.T, selector string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		b.until(t, fmt.Sprintf("((e) => e?.checkVisibility() && e.innerText.includes(%q))(document.querySelector(%q))",
			text, selector))
	}
}

// prefer makes the browser prefer a theme.
func (b *browser) prefer(t *testing.T, theme string) {
	t.Helper()
	call(t, b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: theme}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}})
	b.until(t, fmt.Sprintf("document.documentElement.dataset.theme === %q", theme))
}

// tabTo presses the Tab key until an element has the focus. Every element on the way must show that it has it.
func (b *browser) tabTo(t *testing.T, selector string) (visited []string) {
	t.Helper()
	const focus = `(() => { const e = document.activeElement; const style = getComputedStyle(e);
		return { found: e.matches(%q), name: e.tagName + '#' + e.id + ' ' + e.textContent.slice(0, 20),
			visible: style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0 }; })()`
	for range 200 {
		b.do(t, chromedp.KeyEvent(kb.Tab))
		at := ask[struct {
			Name           string
			Found, Visible bool
		}](t, b, fmt.Sprintf(focus, selector))
		if !at.Visible {
			t.Errorf("%s does not show that it has the focus", at.Name)
		}
		if visited = append(visited, at.Name); at.Found {
			return visited
		}
	}
	t.Fatalf("the Tab key does not lead to %s, but to %q", selector, slices.Compact(visited))
	return nil
}

// picture takes a picture of what the browser shows.
func (b *browser) picture(t *testing.T, path string) {
	t.Helper()
	png := get(t, b, chromedp.CaptureScreenshot())
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, png, 0o644); err != nil {
		t.Fatal(err)
	}
}
