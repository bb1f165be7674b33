//go:build e2e

package e2etest

import (
	"bytes"
	"fmt"
	"image/png"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/loopback"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/proxy"
)

const (
	// pictureFile is the picture in the README, newPicture the variable that makes TestPage take it.
	pictureFile = "docs/emulator.png"
	newPicture  = "PICTURE"
	// switch503 is the button of a fault.
	switch503 = `#switches button[title*="status 503"]`
)

// TestPage looks at the emulator's page in a browser.
func TestPage(t *testing.T) {
	root := checkout.Path(t, checkout.Everything)
	report := newReport(t, root)
	plane, err := loopback.New(loopback.Options{Proxy: proxy.Options{Second: healthSecond}})
	if err != nil {
		t.Fatal(err)
	}
	seed, err := emulator.LoopbackSeed(plane.Network())
	if err != nil {
		t.Fatal(err)
	}
	v := visit(t, emulator.Config{Seed: seed, DataPlane: plane})
	v.saysWhatToDo(t)
	v.populate(t)
	for _, one := range []struct {
		name  string
		prove func(*visited, *testing.T)
	}{
		{"it shows what there is, and traffic", (*visited).showsObjects},
		{"calls appear as they end", (*visited).showsCalls},
		{"a fault is turned on by keyboard and off by a click", (*visited).turnsFaults},
		{"faults that others set are shown", (*visited).showsFaultsOfOthers},
		{"both themes can be read", (*visited).hasThemes},
		{"narrow and wide windows", (*visited).fits},
	} {
		t.Run(one.name, func(t *testing.T) {
			one.prove(v, t)
			v.silent(t)
			if t.Failed() {
				v.picture(t, report.file(filepath.Base(t.Name())+".png"))
			}
		})
	}
	v.takePicture(t, report, root)
	v.silent(t)
	v.cloud.EndEvents()
	v.server.Close()
	v.shows(t, "#connection", "Disconnected")
}

// saysWhatToDo checks what the page of an empty cloud says.
func (v *visited) saysWhatToDo(t *testing.T) {
	t.Helper()
	v.until(t, `document.querySelector('#connection').innerText === 'Live'`)
	v.shows(t, "main", "Create a Service of type LoadBalancer", "--machines=3", "Create a PersistentVolumeClaim",
		"POST /v1/reserved-ips", "No fault is on", "Authorization: Token")
}

func (v *visited) showsObjects(t *testing.T) {
	t.Helper()
	v.shows(t, "#machines", "worker-1", "worker-2", "worker-3", "running", "stopped", "nl-01a", "pgp-small")
	v.shows(t, "#network", emulator.DefaultRegion, "10.244.1.0/24", "pods")
	v.shows(t, "#volumes", "data", "Attached", "20 GiB", "worker-1")
	v.shows(t, "#addresses", "ingress", "available")
	v.shows(t, "#groups", "web", "8080/tcp")
	v.shows(t, "#balancers", "shop", "80/tcp", "2 of 2 healthy")
	v.click(t, "#balancers summary")
	v.shows(t, "#balancers .inside", "to web, port 8080", "worker-1", "worker-2", "healthy", "6 connections")
	if got := ask[int](t, v.browser, `document.querySelectorAll('#balancers .inside tbody tr').length`); got != 2 {
		t.Errorf("the listener shows %d targets, want 2", got)
	}
	v.until(t, `[...document.querySelectorAll('#balancers .inside tbody tr')].every(
		(row) => row.cells[2].innerText === 'healthy' && row.cells[3].innerText === '3' &&
				row.cells[5].innerText !== '0 B')`)
}

func (v *visited) showsCalls(t *testing.T) {
	t.Helper()
	v.list(t, "machines")
	v.shows(t, "#calls tr:first-child", "GET", "/v1/machines", "200", "s", "personal-access-token")
	if _, err := v.api.GetMachine(t.Context(), "none"); err == nil {
		t.Error("a machine is found that does not exist")
	}
	v.shows(t, "#calls tr:first-child", "/v1/machines/none", "404")
	v.until(t, `Number(document.querySelector('#calls-rate').innerText) >= 2 &&
		Number(document.querySelector('#errors-rate').innerText) >= 1`)
	v.do(t, chromedp.SendKeys(chromedp.CSS("#calls-filter"), "none"))
	v.until(t, `document.querySelectorAll('#calls tr').length === 1`)
	v.do(t, chromedp.SendKeys(chromedp.CSS("#calls-filter"), strings.Repeat(kb.Backspace, len("none"))))
	v.click(t, "#writes-only")
	v.until(t, `document.querySelectorAll('#calls tr').length > 1 &&
		document.querySelectorAll('#calls tr:not(.write)').length === 0`)
	v.click(t, "#writes-only")
}

func (v *visited) turnsFaults(t *testing.T) {
	t.Helper()
	if got := v.list(t, "machines"); got != http.StatusOK {
		t.Fatalf("without a fault the API answers %d", got)
	}
	v.do(t, chromedp.Reload(), chromedp.WaitVisible(chromedp.CSS("#balancers summary")),
		chromedp.WaitVisible(chromedp.CSS(switch503)))
	way := v.tabTo(t, switch503)
	for _, want := range []string{"A# Skip", "BUTTON#theme", "INPUT#balancers-filter", "SUMMARY#", "SELECT#operation"} {
		if !strings.Contains(strings.Join(way, "\n"), want) {
			t.Errorf("the Tab key does not reach %s, only %q", want, way)
		}
	}
	v.shows(t, "#fault-help", "Calls are refused with status 503.")
	v.do(t, chromedp.KeyEvent(" "))
	v.until(t, `document.querySelector('`+switch503+`').ariaPressed === 'true'`)
	v.shows(t, "#news", "faults: 1")
	if got := v.list(t, "machines"); got != http.StatusServiceUnavailable {
		t.Errorf("with the fault the API answers %d", got)
	}
	v.shows(t, "#calls tr:first-child", "503, fault")
	v.shows(t, "#rules", "status 503", "1 of 1")
	v.click(t, switch503)
	v.until(t, `document.querySelector('`+switch503+`').ariaPressed === 'false'`)
	if got := v.list(t, "machines"); got != http.StatusOK {
		t.Errorf("after the fault the API answers %d", got)
	}
}

func (v *visited) showsFaultsOfOthers(t *testing.T) {
	t.Helper()
	_, err := v.cloud.Inject(fault.Rule{ID: "others", Operation: "POST *", Effect: fault.Effect{Kind: fault.Latency,
		Delay: time.Second}})
	if err != nil {
		t.Fatal(err)
	}
	v.until(t, `document.querySelector('#switches button').ariaPressed === 'true'`)
	v.shows(t, "#rules", "latency 1s", "POST *")
	v.click(t, `#rules button[aria-label="Turn off others"]`)
	v.shows(t, "#rules-empty", "No fault is on")
	if left := v.cloud.Faults(); len(left) > 0 {
		t.Errorf("there are still the faults %+v", left)
	}
}

// unreadable are the elements whose text has less contrast than level AA of the guidelines for accessibility demands.
const unreadable = `(() => {
	const channels = (color) => color.match(/[\d.]+/g).map(Number);
	const luminance = ([r, g, b]) => [r, g, b].map((c) => c / 255).map((c) => c <= 0.04045 ? c / 12.92 :
		((c + 0.055) / 1.055) ** 2.4).reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
	const background = (e) => {
		for (; e; e = e.parentElement) {
			const color = channels(getComputedStyle(e).backgroundColor);
			if (color.length < 4 || color[3] === 1) return color;
		}
		return [255, 255, 255];
	};
	const bad = [];
	for (const e of document.querySelectorAll('body *')) {
		const own = [...e.childNodes].some((n) => n.nodeType === Node.TEXT_NODE && n.textContent.trim());
		if (!own || !e.checkVisibility() || e.closest('noscript')) continue;
		const [a, b] = [luminance(channels(getComputedStyle(e).color)), luminance(background(e))];
		const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
		if (contrast < 4.5) bad.push(contrast.toFixed(2) + ' ' + e.tagName + '.' + e.className + ' ' + e.textContent);
	}
	return bad;
})()`

func (v *visited) hasThemes(t *testing.T) {
	t.Helper()
	const background = "getComputedStyle(document.body).backgroundColor"
	v.click(t, switch503)
	v.until(t, `document.querySelector('`+switch503+`').ariaPressed === 'true'`)
	backgrounds := map[string]string{}
	for _, theme := range []string{"dark", "light"} {
		v.prefer(t, theme)
		backgrounds[theme] = ask[string](t, v.browser, background)
		if bad := ask[[]string](t, v.browser, unreadable); len(bad) > 0 {
			t.Errorf("in the %s theme, these have too little contrast: %q", theme, bad)
		}
	}
	v.click(t, switch503)
	if backgrounds["dark"] == backgrounds["light"] {
		t.Errorf("both themes have the background %s", backgrounds["dark"])
	}
	v.do(t, chromedp.Click(chromedp.CSS("#theme")), chromedp.Reload())
	v.until(t, `document.documentElement.dataset.theme === 'dark'`)
	v.do(t, chromedp.WaitVisible(chromedp.CSS("#balancers summary")), chromedp.Click(chromedp.CSS("#theme")),
		chromedp.Evaluate[chromedp.Void]("localStorage.clear()"), chromedp.Reload(),
		chromedp.WaitVisible(chromedp.CSS("#balancers summary")))
}

func (v *visited) fits(t *testing.T) {
	t.Helper()
	v.click(t, "#balancers summary")
	v.shows(t, "#balancers .inside", "worker-1")
	for _, width := range []int64{375, 1400} {
		v.do(t, chromedp.EmulateViewport(width, 800))
		if got := ask[int64](t, v.browser, "document.documentElement.scrollWidth"); got > width {
			t.Errorf("at a width of %d the page is %d wide", width, got)
		}
	}
	v.do(t, chromedp.EmulateViewport(1280, 800))
}

// takePicture takes pictures of the page, into the repository if that is asked for, and checks the one that is there.
func (v *visited) takePicture(t *testing.T, report *report, root string) {
	t.Helper()
	kept := filepath.Join(root, pictureFile)
	if os.Getenv(newPicture) != "" {
		v.busy(t)
		v.picture(t, kept)
	}
	for _, width := range []int64{375, 1280} {
		v.do(t, chromedp.EmulateViewport(width, 800))
		for _, theme := range []string{"dark", "light"} {
			v.prefer(t, theme)
			v.picture(t, report.file(fmt.Sprintf("%s-%d.png", theme, width)))
		}
	}
	content, err := os.ReadFile(kept)
	if err != nil {
		t.Fatal(err)
	}
	size, err := png.DecodeConfig(bytes.NewReader(content))
	if err != nil || len(content) > 300<<10 || size.Width > 1280 || size.Height > 800 {
		t.Errorf("%s has %d bytes, %d by %d pixels (%v); want at most 300 KiB, 1280 by 800", pictureFile, len(content),
			size.Width, size.Height, err)
	}
}

// TestPageOfLargeCloud uses the page while the cloud is as large as it gets: it shows parts of lists.
func TestPageOfLargeCloud(t *testing.T) {
	v := visit(t, emulator.Config{Seed: emulator.DefaultSeed()})
	v.populateLarge(t)
	v.shows(t, ".tiles", "5,000", "1,000")
	v.shows(t, "#balancers-more", "980 of 1000")
	if rows := ask[int](t, v.browser, "document.querySelectorAll('tr, details').length"); rows > 250 {
		t.Errorf("the page has %d rows", rows)
	}
	v.click(t, "#balancers summary")
	v.shows(t, "#balancers .inside", "machine-00001", "4980 of 5000 targets")
	began := time.Now()
	v.do(t, chromedp.SendKeys(chromedp.CSS("#balancers-filter"), "0999"))
	v.until(t, `document.querySelectorAll('#balancers details').length === 1`)
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("a filter takes effect after %s", took)
	}
	v.silent(t)
}
