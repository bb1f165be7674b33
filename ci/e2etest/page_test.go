//go:build e2e

package e2etest

import (
	"bytes"
	"context"
	"fmt"
	"image/png"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/thalassa-cloud/client-go/iaas"
	"github.com/thalassa-cloud/client-go/pkg/client"
	"github.com/thalassa-cloud/client-go/thalassa"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/loopback"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/proxy"
	"github.com/thalassa-cloud/thalassa-ccm/tools/repo"
)

const (
	// pictureFile is the picture in the README, newPicture the variable that makes TestPage take it.
	pictureFile = "docs/emulator.png"
	newPicture  = "PICTURE"
	// switch503 is the button of a fault.
	switch503 = `#switches button[title*="status 503"]`
)

// visited is an emulator whose page is open in a browser.
type visited struct {
	*browser
	cloud  *emulator.Emulator
	server *httptest.Server
	api    *iaas.Client
}

// TestPage looks at the emulator's page in a browser.
func TestPage(t *testing.T) {
	root, err := repo.Root()
	if err != nil {
		t.Fatal(err)
	}
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

// visit starts an emulator and opens its page.
func visit(t *testing.T, config emulator.Config) *visited {
	t.Helper()
	cloud, err := emulator.New(config)
	if err != nil {
		t.Fatal(err)
	}
	v := &visited{cloud: cloud, server: httptest.NewServer(cloud)}
	t.Cleanup(func() {
		cloud.EndEvents()
		v.server.Close()
		if err := cloud.Close(); err != nil {
			t.Error(err)
		}
	})
	customer, err := thalassa.NewClient(client.WithBaseURL(v.server.URL),
		client.WithOrganisation(emulator.DefaultOrganisation), client.WithAuthPersonalToken(emulator.DefaultToken))
	if err != nil {
		t.Fatal(err)
	}
	v.api = customer.IaaS()
	v.browser = openBrowser(t, v.server.URL+"/_emulator/")
	return v
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
		(row) => row.cells[2].innerText === 'healthy' && row.cells[3].innerText === '3' && row.cells[5].innerText !== '0 B')`)
}

// populate makes objects of every kind that the page shows, and sends requests through a load balancer.
func (v *visited) populate(t *testing.T) {
	t.Helper()
	var machines []*iaas.Machine
	for i, zone := range []string{"nl-01a", "nl-01b", "nl-01c"} {
		identity, err := v.cloud.AddMachine(emulator.MachineSpec{Name: fmt.Sprintf("worker-%d", i+1), Zone: zone})
		wanted(t, err)
		machine, err := v.api.GetMachine(t.Context(), identity)
		wanted(t, err)
		machines = append(machines, machine)
	}
	wanted(t, v.cloud.StopMachine("worker-3"))
	v.addBalancer(t, machines)
	v.addRoute(t, machines[0])
	v.addVolume(t, machines[0])
	_, err := v.api.CreateReservedIP(t.Context(), iaas.CreateReservedIpRequest{Name: "ingress",
		Region: emulator.DefaultRegion})
	wanted(t, err)
	v.send(t, 6)
}

// wanted ends the test if an error happened while it made what it needs.
func wanted(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// addBalancer adds a load balancer in front of machines, and servers on all but the last.
func (v *visited) addBalancer(t *testing.T, machines []*iaas.Machine) {
	t.Helper()
	group, err := v.api.CreateTargetGroup(t.Context(), iaas.CreateTargetGroup{
		Name: "web", Vpc: emulator.DefaultVPC, TargetPort: 8080, Protocol: iaas.ProtocolTCP,
		HealthCheck: &iaas.BackendHealthCheck{Protocol: iaas.ProtocolTCP, Port: 8080, PeriodSeconds: 5,
			TimeoutSeconds: 3, UnhealthyThreshold: 2, HealthyThreshold: 1},
	})
	wanted(t, err)
	for i, machine := range machines {
		if i < len(machines)-1 {
			greet(t, net.JoinHostPort(machine.Interfaces[0].IPAddresses[0], "8080"))
		}
		_, err := v.api.AttachServerToTargetGroup(t.Context(), iaas.AttachTargetGroupRequest{
			TargetGroupID: group.Identity, AttachTarget: iaas.AttachTarget{ServerIdentity: machine.Identity}})
		wanted(t, err)
	}
	v.balance(t, "shop", group.Identity)
}

// balance adds a load balancer with one listener.
func (v *visited) balance(t *testing.T, name, group string) {
	t.Helper()
	balancer, err := v.api.CreateLoadbalancer(t.Context(), iaas.CreateLoadbalancer{Name: name,
		Subnet: emulator.DefaultSubnet})
	wanted(t, err)
	_, err = v.api.CreateListener(t.Context(), balancer.Identity, iaas.CreateListener{Name: "http", Port: 80,
		Protocol: iaas.ProtocolTCP, TargetGroup: group})
	wanted(t, err)
}

func (v *visited) addRoute(t *testing.T, to *iaas.Machine) {
	t.Helper()
	table, err := v.api.CreateRouteTable(t.Context(), iaas.CreateRouteTable{Name: "pods",
		VpcIdentity: emulator.DefaultVPC})
	wanted(t, err)
	_, err = v.api.CreateRouteTableRoute(t.Context(), table.Identity, iaas.CreateRouteTableRoute{
		DestinationCidrBlock: "10.244.1.0/24", GatewayAddress: to.Interfaces[0].IPAddresses[0]})
	wanted(t, err)
}

func (v *visited) addVolume(t *testing.T, to *iaas.Machine) {
	t.Helper()
	volume, err := v.api.CreateVolume(t.Context(), iaas.CreateVolume{Name: "data", Size: 20,
		CloudRegionIdentity: emulator.DefaultRegion, VolumeTypeIdentity: "block"})
	wanted(t, err)
	_, err = v.api.AttachVolume(t.Context(), volume.Identity, iaas.AttachVolumeRequest{
		ResourceType: "cloud_virtual_machine", ResourceIdentity: to.Identity})
	wanted(t, err)
}

// greet serves HTTP at an address until the test ends.
func greet(t *testing.T, address string) {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: http.HandlerFunc(
		func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "hello") })}}
	server.Start()
	t.Cleanup(server.Close)
}

// send sends requests through the load balancer, after all of its targets are healthy.
func (v *visited) send(t *testing.T, requests int) {
	t.Helper()
	var served string
	eventually(t, "the load balancer has healthy targets", func(context.Context) error {
		listener := v.cloud.State().LoadBalancers[0].Listeners[0]
		for _, target := range listener.Targets {
			if target.Health != "healthy" {
				return fmt.Errorf("the listener is %+v", listener)
			}
		}
		served = listener.Served[0]
		return nil
	})
	visitor := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for range requests {
		if got := fetch(t, visitor, "http://"+served+"/"); got != http.StatusOK {
			t.Errorf("through the load balancer, the status is %d", got)
		}
	}
}

// list is the status of a list of the API.
func (v *visited) list(t *testing.T, kind string) int {
	t.Helper()
	return fetch(t, v.server.Client(), v.server.URL+"/v1/"+kind)
}

// fetch reads a page as the customer, and returns its status.
func fetch(t *testing.T, customer *http.Client, url string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	wanted(t, err)
	request.Header.Set("Authorization", "Token "+emulator.DefaultToken)
	answer, err := customer.Do(request)
	wanted(t, err)
	defer answer.Body.Close()
	_, err = io.Copy(io.Discard, answer.Body)
	wanted(t, err)
	return answer.StatusCode
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

// busy uses the API for some seconds, and sets a fault, so that a picture shows something.
func (v *visited) busy(t *testing.T) {
	t.Helper()
	_, err := v.cloud.Inject(fault.Rule{ID: "busy", Operation: "POST /v1/loadbalancers",
		Effect: fault.Effect{Kind: fault.Refuse, Status: http.StatusServiceUnavailable}})
	wanted(t, err)
	every := time.NewTicker(time.Second / 5)
	defer every.Stop()
	for i := range 80 {
		<-every.C
		for _, kind := range []string{"machines", "loadbalancers", "volumes", "route-tables"}[:1+i%4] {
			v.list(t, kind)
		}
		if i%4 == 2 {
			_, err := v.api.UpdateVolume(t.Context(), "data", iaas.UpdateVolume{Name: "data", Size: 20})
			wanted(t, err)
		}
		if i%12 == 6 {
			_, err := v.api.CreateLoadbalancer(t.Context(), iaas.CreateLoadbalancer{Name: "second",
				Subnet: emulator.DefaultSubnet})
			if err == nil {
				t.Error("a load balancer is created despite the fault")
			}
		}
	}
	v.send(t, 20)
	v.shows(t, "#balancers", "26 connections")
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
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("a filter takes effect after %s", took)
	}
	v.silent(t)
}

// populateLarge adds 5,000 machines, which are the targets of 1,000 load balancers.
func (v *visited) populateLarge(t *testing.T) {
	t.Helper()
	machines, err := v.cloud.AddMachines(5000)
	wanted(t, err)
	group, err := v.api.CreateTargetGroup(t.Context(), iaas.CreateTargetGroup{Name: "web", Vpc: emulator.DefaultVPC,
		TargetPort: 80, Protocol: iaas.ProtocolTCP})
	wanted(t, err)
	var targets []iaas.AttachTarget
	for _, identity := range machines {
		targets = append(targets, iaas.AttachTarget{ServerIdentity: identity})
	}
	wanted(t, v.api.SetTargetGroupServerAttachments(t.Context(), iaas.TargetGroupAttachmentsBatch{
		TargetGroupID: group.Identity, Attachments: targets}))
	for i := range 1000 {
		v.balance(t, fmt.Sprintf("balancer-%04d", i), group.Identity)
	}
}
