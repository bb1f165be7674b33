package emulator_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thalassa-cloud/client-go/iaas"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
)

// walker does random things to a cloud. Most requests make sense; the rest
// must fail without leaving a trace.
type walker struct {
	*testing.T
	random *rand.Rand
	cloud  *emulator.Emulator
	serial int
	// The objects seen last, some of them gone by now.
	machines, groups, balancers []string
	networkWalk
	volumeWalk
}

func (w *walker) do(method, path, body string) (int, []byte) {
	request := newRequest(w.T, method, path, body)
	request.Header.Set("Authorization", "Token "+emulator.DefaultToken)
	answer := serve(w.cloud, request)
	if answer.Code >= http.StatusInternalServerError {
		w.Errorf("%s %s %s = %d %s", method, path, body, answer.Code, answer.Body)
	}
	return answer.Code, answer.Body.Bytes()
}

// read decodes a list with the vendor's types.
func read[T any](w *walker, path string) []T {
	w.Helper()
	var items []T
	if _, body := w.do("GET", path, ""); json.Unmarshal(body, &items) != nil {
		w.Fatalf("GET %s: %s is not a list", path, body)
	}
	return items
}

func (w *walker) pick(from []string) string {
	if len(from) == 0 {
		return "nothing"
	}
	// Most of the older ones are gone.
	recent := from[max(0, len(from)-6):]
	return recent[w.random.IntN(len(recent))]
}

func (w *walker) name(kind string) string {
	w.serial++
	return fmt.Sprintf("%s-%d", kind, w.serial)
}

// create records the identity of what it created.
func (w *walker) create(into *[]string, path, body string) {
	var object struct{ Identity string }
	if status, answer := w.do("POST", path, body); status == http.StatusCreated &&
		json.Unmarshal(answer, &object) == nil {
		*into = append(*into, object.Identity)
	}
}

func (w *walker) step() {
	const groups, balancers = "/v1/loadbalancer-target-groups/", "/v1/loadbalancers/"
	protocol := []string{"tcp", "udp"}[w.random.IntN(2)]
	listener := fmt.Sprintf(`{"name":"l","port":%d,"protocol":%q,"targetGroup":%q}`, 1+w.random.IntN(5), protocol,
		w.pick(w.groups))
	steps := []func(){
		func() {
			w.create(&w.machines, "/v1/machines",
				fmt.Sprintf(`{"name":%q,"subnet":"emulator","machineType":"pgp-small"}`, w.name("vm")))
		},
		func() {
			w.create(&w.groups, groups,
				fmt.Sprintf(`{"name":%q,"vpc":"emulator","targetPort":80,"protocol":%q}`, w.name("tg"), protocol))
		},
		func() {
			w.create(&w.balancers, balancers,
				fmt.Sprintf(`{"name":%q,"subnet":"emulator","internalLoadbalancer":%t,"listeners":[%s]%s}`,
					w.name("lb"), w.random.IntN(2) == 0, listener, w.attachments()))
		},
		func() { w.do("POST", balancers+w.pick(w.balancers)+"/listeners", listener) },
		func() { w.do("PUT", w.someListener(), listener) },
		func() { w.do("DELETE", w.someListener(), "") },
		func() { w.do("DELETE", balancers+w.pick(w.balancers), "") },
		func() { w.do("DELETE", groups+w.pick(w.groups), "") },
		func() { w.do("DELETE", "/v1/machines/"+w.pick(w.machines), "") },
		func() { w.do("POST", "/v1/machines/"+w.pick(w.machines)+"/stop", "") },
		func() { w.do("POST", groups+w.pick(w.groups)+"/attachments", w.batch()) },
		func() {
			w.do("POST", groups+w.pick(w.groups)+"/attach", fmt.Sprintf(`{"serverIdentity":%q}`, w.pick(w.machines)))
		},
		func() { w.do("DELETE", groups+w.pick(w.groups)+"/detach/"+w.pick(w.machines), "") },
		func() { <-time.After(time.Duration(w.random.IntN(20)) * time.Second) },
	}
	steps = append(append(steps, w.networkSteps()...), w.volumeSteps()...)
	steps[w.random.IntN(len(steps))]()
}

func (w *walker) batch() string {
	var targets []string
	for range w.random.IntN(4) {
		targets = append(targets, fmt.Sprintf(`{"serverIdentity":%q}`, w.pick(w.machines)))
	}
	return `{"attachments":[` + strings.Join(targets, ",") + `]}`
}

// someListener is the path of a listener that exists, if there is one.
func (w *walker) someListener() string {
	path := "/v1/loadbalancers/" + w.pick(w.balancers) + "/listeners"
	status, body := w.do("GET", path, "")
	var listeners []struct{ Identity string }
	if status != http.StatusOK || json.Unmarshal(body, &listeners) != nil || len(listeners) == 0 {
		return path + "/nothing"
	}
	return path + "/" + listeners[w.random.IntN(len(listeners))].Identity
}

// check checks what must hold at any time.
func (w *walker) check() {
	w.Helper()
	machines := map[string]bool{}
	addresses := map[string]string{}
	claim := func(address, owner string) {
		if other, taken := addresses[address]; taken && other != owner {
			w.Errorf("address %s belongs to %s and %s", address, other, owner)
		}
		addresses[address] = owner
	}
	for _, m := range read[iaas.Machine](w, "/v1/machines") {
		machines[m.Identity] = true
		claim(m.Interfaces[0].IPAddresses[0], m.Identity)
	}
	// The listeners as the load balancers see them, and who uses which group.
	uses := map[string]string{}
	for _, lb := range read[iaas.VpcLoadbalancer](w, "/v1/loadbalancers") {
		for _, address := range append(lb.ExternalIpAddresses, lb.InternalIpAddresses...) {
			claim(address, cmp.Or(lb.ReservedIpIdentity, lb.Identity))
		}
		w.checkPorts(lb)
		for _, l := range lb.LoadbalancerListeners {
			uses[l.Identity] = l.TargetGroup.Identity
		}
	}
	w.checkNetwork(claim)
	w.checkVolumes(machines)
	for _, g := range read[iaas.VpcLoadbalancerTargetGroup](w, "/v1/loadbalancer-target-groups") {
		for _, l := range g.LoadbalancerListeners {
			if uses[l.Identity] != g.Identity {
				w.Errorf("group %s lists listener %s, which uses %q", g.Identity, l.Identity, uses[l.Identity])
			}
			delete(uses, l.Identity)
		}
		w.checkTargets(g, machines)
	}
	for listener, group := range uses {
		w.Errorf("listener %s uses group %s, which does not list it", listener, group)
	}
}

func (w *walker) checkPorts(lb iaas.VpcLoadbalancer) {
	w.Helper()
	taken := map[string]bool{}
	for _, l := range lb.LoadbalancerListeners {
		port := fmt.Sprint(l.Port, l.Protocol)
		if taken[port] || l.TargetGroup.Protocol != l.Protocol {
			w.Errorf("load balancer %s: listener %+v conflicts", lb.Identity, l)
		}
		taken[port] = true
	}
	hasAddress := len(lb.ExternalIpAddresses)+len(lb.InternalIpAddresses) > 0
	// A deleting one may have given its reserved IP back.
	if hasAddress == (lb.Status == "creating") && (hasAddress || lb.Status != "deleting") {
		w.Errorf("load balancer %s is %s and has addresses: %t", lb.Identity, lb.Status, hasAddress)
	}
	if lb.Status == "deleting" && len(lb.LoadbalancerListeners) > 0 {
		w.Errorf("load balancer %s is deleting and has listeners", lb.Identity)
	}
}

func (w *walker) checkTargets(g iaas.VpcLoadbalancerTargetGroup, machines map[string]bool) {
	w.Helper()
	attached := map[string]bool{}
	for _, a := range g.LoadbalancerTargetGroupAttachments {
		machine := a.VirtualMachineInstance.Identity
		if attached[machine] || !machines[machine] {
			w.Errorf("group %s: machine %s is attached twice, or gone", g.Identity, machine)
		}
		attached[machine] = true
	}
}

func TestInvariantsHoldUnderRandomRequests(t *testing.T) {
	for seed := range tier.Pick[uint64](1, 3) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e, err := emulator.NewDescribed(t, emulator.Config{Seed: emulator.DefaultSeed(),
					Delays: emulator.Delays{
						LoadbalancerCreate: 30 * time.Second, LoadbalancerDelete: 10 * time.Second,
						MachineDelete: 10 * time.Second,
						NetworkCreate: 5 * time.Second, NetworkDelete: 5 * time.Second, NetworkLinger: 5 * time.Second,
						ReservedIPCreate: 5 * time.Second, NATGatewayCreate: 10 * time.Second,
						VolumeCreate: 5 * time.Second, VolumeAttach: 5 * time.Second, VolumeDetach: 15 * time.Second,
						VolumeResize: 5 * time.Second, VolumeDelete: 5 * time.Second, VolumeLinger: 5 * time.Second,
						SnapshotCreate: 5 * time.Second, SnapshotDelete: 5 * time.Second,
					}})
				if err != nil {
					t.Fatal(err)
				}
				w := &walker{T: t, random: rand.New(rand.NewPCG(seed, 0)), cloud: e}
				for i := range 900 {
					w.step()
					if i%20 == 0 {
						w.check()
					}
					if i%60 == 0 {
						w.checkRestart()
					}
					if t.Failed() {
						t.Fatalf("after step %d", i)
					}
				}
				w.tearDown()
			})
		})
	}
}
