package emulator_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/thalassa-cloud/client-go/filters"
	"github.com/thalassa-cloud/client-go/iaas"
	vendor "github.com/thalassa-cloud/client-go/pkg/client"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

// What the real client, cloud controller managers and CSI drivers need of an
// API to run unchanged, line by line, over a real connection.
func TestCompatibilityChecklist(t *testing.T) {
	for _, line := range []struct {
		name string
		test func(*testing.T)
	}{
		{"1 every body is JSON, and what has none is 204", checkBodies},
		{"2 slashes and the alias of the path", checkPaths},
		{"3 all forms of authentication, no redirect", checkAuthentication},
		{"4 organisations and projects by identity or slug", checkTenancy},
		{"5 label filters are decoded", checkLabelFilters},
		{"6 identity and slug in paths", checkReferences},
		{"7 no empty timestamps, nested objects are there", checkShapes},
		{"8 target groups know their listeners", checkReferencesOfGroups},
		{"9 attachments are replaced", checkAttachments},
		{"10 an address only when ready", checkAddresses},
		{"11 quotas, conflicts and counters", checkRefusals},
		{"12 the spelling of statuses", checkSpelling},
		{"13 large lists in one answer", checkLargeLists},
		{"14 what no source documents is a switch", checkUnknowns},
	} {
		t.Run(line.name, line.test)
	}
}

func checkBodies(t *testing.T) {
	t.Helper()
	c := populated(t)
	c.call(t, "POST", "/v1/machines", `{"name":"two","subnet":"emulator","machineType":"pgp-small"}`)
	for _, request := range [][3]string{
		{"GET", "/v1/machines", ""}, {"GET", "/v1/machines/x", ""}, {"PUT", "/v1/machines/two", "{"},
		{"GET", "/v1/nonsense", ""},
		{"POST", "/v1/loadbalancers", `{}`}, {"POST", "/v1/machines/two/stop", ""}, {"DELETE", "/v1/machines/two", ""},
		{"POST", "/oidc/token", ""}, {"DELETE", "/v1/loadbalancers/web", ""},
	} {
		status, header, body := c.call(t, request[0], request[1], request[2])
		switch {
		case status == http.StatusNoContent && body != "":
			t.Errorf("%v: 204 with a body %q", request, body)
		case status != http.StatusNoContent && (header.Get("Content-Type") != "application/json" ||
			!json.Valid([]byte(body))):
			t.Errorf("%v = %d %q of type %q, want JSON", request, status, body, header.Get("Content-Type"))
		}
		if status >= 400 && request[1] != "/oidc/token" && !strings.HasPrefix(body, `{"message":"`) {
			t.Errorf("%v = %d %s, want a message", request, status, body)
		}
	}
}

func checkPaths(t *testing.T) {
	t.Helper()
	c := newCloud(t)
	for _, path := range []string{"/v1/vpcs", "//v1//vpcs", "/v1/vpcs/", "/api/v1/vpcs", "//api/v1/vpcs//emulator/"} {
		if status, _, body := c.call(t, "GET", path, ""); status != 200 {
			t.Errorf("GET %s = %d %s, want 200", path, status, body)
		}
	}
}

func checkAuthentication(t *testing.T) {
	t.Helper()
	c := newCloud(t)
	exchange := vendor.OIDCTokenExchangeConfig{
		TokenURL: c.url + "//oidc/token", SubjectToken: c.subjectToken(t, "", "", 0),
		OrganisationID: emulator.DefaultOrganisation, ServiceAccountID: emulator.DefaultServiceAccount,
	}
	for name, option := range map[string]vendor.Option{
		"Token": vendor.WithAuthPersonalToken(emulator.DefaultToken),
		"Basic": vendor.WithAuthBasic(emulator.DefaultClientID, emulator.DefaultClientSecret),
		"client credentials": vendor.WithAuthOIDC(emulator.DefaultClientID, emulator.DefaultClientSecret, c.url+
			"//oidc/token"),
		"token exchange": vendor.WithAuthOIDCTokenExchange(exchange),
	} {
		if err := works(t, c.client(t, option)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	// In the body, and without a redirect that would turn POST into GET.
	client := &http.Client{CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		return fmt.Errorf("redirected to %s", r.URL)
	}}
	form := url.Values{"grant_type": {"client_credentials"}, "client_id": {emulator.DefaultClientID},
		"client_secret": {emulator.DefaultClientSecret}}
	response, err := client.PostForm(c.url+"//oidc//token/", form)
	if err != nil {
		t.Fatal(err)
	}
	var token granted
	if err := json.NewDecoder(response.Body).Decode(&token); err != nil || response.Body.Close() != nil {
		t.Fatal(err)
	}
	if err := works(t, c.client(t, vendor.WithToken(token.AccessToken))); err != nil {
		t.Errorf("Bearer: %v", err)
	}
}

func checkTenancy(t *testing.T) {
	t.Helper()
	c := newCloud(t, withProject, neighbour)
	for name, test := range map[string]struct {
		options []vendor.Option
		want    string // the one VPC, or the status
	}{
		"identity": {[]vendor.Option{vendor.WithOrganisation(emulator.DefaultOrganisation)},
			emulator.DefaultVPC},
		"slug":                {[]vendor.Option{vendor.WithOrganisation("emulator")}, emulator.DefaultVPC},
		"project by identity": {[]vendor.Option{vendor.WithProject("prj-shop")}, "vpc-shop"},
		"project by slug":     {[]vendor.Option{vendor.WithProject("shop")}, "vpc-shop"},
		"neighbour": {[]vendor.Option{vendor.WithOrganisation("next"),
			vendor.WithAuthPersonalToken("next-token")}, "vpc-next"},
		"wrong organisation": {[]vendor.Option{vendor.WithOrganisation("o-next")}, "403"},
		"wrong project":      {[]vendor.Option{vendor.WithProject("x")}, "403"},
		"bad token":          {[]vendor.Option{vendor.WithAuthPersonalToken("x")}, "401"},
	} {
		vpcs, err := c.client(t, test.options...).ListVpcs(t.Context(), nil)
		if err != nil && (!strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), `{"message":"`)) {
			t.Errorf("%s: %v, want %s with a message", name, err, test.want)
		}
		if err == nil && (len(vpcs) != 1 || vpcs[0].Identity != test.want) {
			t.Errorf("%s: VPCs %+v, want %s", name, vpcs, test.want)
		}
	}
}

func checkLabelFilters(t *testing.T) {
	t.Helper()
	c := newCloud(t)
	labels := map[string]string{"k8s.thalassa.cloud/kubernetes-cluster": "k8s-1", "plain": "x"}
	if _, err := c.AddMachine(emulator.MachineSpec{Name: "labelled", Labels: labels}); err != nil {
		t.Fatal(err)
	}
	c.machine(t, "bare")
	for want, filter := range map[int]map[string]string{
		1: labels, 2: nil, 0: {"k8s.thalassa.cloud/kubernetes-cluster": "k8s-1", "plain": "y"},
	} {
		request := &iaas.ListMachinesRequest{Filters: []filters.Filter{&filters.LabelFilter{MatchLabels: filter}}}
		if got, err := c.api.ListMachines(t.Context(), request); err != nil || len(got) != want {
			t.Errorf("labels %v: %d machines, %v, want %d", filter, len(got), err, want)
		}
	}
}

func checkReferences(t *testing.T) {
	t.Helper()
	c := populated(t)
	lb, err := c.api.GetLoadbalancer(t.Context(), "web")
	if err != nil {
		t.Fatal(err)
	}
	for path, refs := range map[string][]string{
		"/v1/vpcs/": {emulator.DefaultVPC, "emulator"}, "/v1/subnets/": {emulator.DefaultSubnet, "emulator"},
		"/v1/regions/": {"nl-01"}, "/v1/machine-types/": {"pgp-small", "mt-emulator000000000001"},
		"/v1/volume-types/": {"block", "vt-emulator000000000001"},
		"/v1/images/":       {"debian-12", "img-emulator000000000003"}, "/v1/loadbalancers/": {lb.Identity, "web"},
		"/v1/machines/": {"one"},
	} {
		for _, ref := range refs {
			if status, _, body := c.call(t, "GET", path+ref, ""); status != 200 {
				t.Errorf("GET %s%s = %d %s, want 200", path, ref, status, body)
			}
		}
		if _, _, body := c.call(t, "GET", path+"nothing", ""); !strings.Contains(body, `\"nothing\" not found`) {
			t.Errorf("GET %snothing: %s, want not found", path, body)
		}
	}
	// As Terraform updates.
	if status, _, body := c.call(t, "PUT", "/v1/loadbalancers/web", `{"name":"web"}`); status != 200 {
		t.Errorf("PUT by slug = %d %s", status, body)
	}
}

func checkShapes(t *testing.T) {
	t.Helper()
	TestNoEmptyTimestamps(t)
	TestNestedObjectsAreThere(t)
}

func checkReferencesOfGroups(t *testing.T) {
	t.Helper()
	c := populated(t)
	list := func() int {
		groups, err := c.api.ListTargetGroups(t.Context(), nil)
		if err != nil || len(groups) != 1 {
			t.Fatalf("%+v, %v", groups, err)
		}
		return len(groups[0].LoadbalancerListeners)
	}
	if got := list(); got != 1 {
		t.Errorf("%d listeners while one uses the group", got)
	}
	if err := c.api.DeleteTargetGroup(t.Context(), iaas.DeleteTargetGroupRequest{Identity: "web"}); !refused(err,
		"409") {
		t.Errorf("deleting a group in use: %v, want 409", err)
	}
	if err := c.api.DeleteLoadbalancer(t.Context(), "web"); err != nil {
		t.Fatal(err)
	}
	if got := list(); got != 0 {
		t.Errorf("%d listeners after the load balancer", got)
	}
	if err := c.api.DeleteTargetGroup(t.Context(), iaas.DeleteTargetGroupRequest{Identity: "web"}); err != nil {
		t.Errorf("deleting a free group: %v", err)
	}
}

func checkAttachments(t *testing.T) {
	t.Helper()
	c := newCloud(t)
	group, a, b := c.group(t, "g", 80), c.machine(t, "a"), c.machine(t, "b")
	for _, set := range [][]string{{a, b}, {b}, {}} {
		if err := c.setTargets(t, group.Identity, set...); err != nil {
			t.Fatal(err)
		}
		got, err := c.api.GetTargetGroup(t.Context(), iaas.GetTargetGroupRequest{Identity: group.Identity})
		if err != nil || len(got.LoadbalancerTargetGroupAttachments) != len(set) {
			t.Errorf("%d attachments, %v, want %d", len(got.LoadbalancerTargetGroupAttachments), err, len(set))
		}
	}
	body := fmt.Sprintf(`{"TargetGroupID":"another","attachments":[{"serverIdentity":%q}]}`, a)
	if status, _, answer := c.call(t, "POST", "/v1/loadbalancer-target-groups/g/attachments", body); status != 204 ||
		answer != "" {
		t.Errorf("%d %q, want 204", status, answer)
	}
}

func checkAddresses(t *testing.T) {
	t.Helper()
	// The delay never ends here; virtual time proves the rest.
	c := newCloud(t, func(cfg *emulator.Config) { cfg.Delays.LoadbalancerCreate = time.Hour })
	if lb := c.loadbalancer(t, "a"); lb.Status != "creating" || len(lb.ExternalIpAddresses) > 0 {
		t.Errorf("new: %s with %v", lb.Status, lb.ExternalIpAddresses)
	}
	at := newCloud(t)
	if lb := at.loadbalancer(t, "a"); lb.Status != "ready" || len(lb.ExternalIpAddresses) != 1 {
		t.Errorf("ready: %s with %v", lb.Status, lb.ExternalIpAddresses)
	}
	for _, also := range []bool{false, true} {
		c := newCloud(t, func(cfg *emulator.Config) { cfg.Switches.InternalAddressAlsoExternal = also })
		lb, err := c.api.CreateLoadbalancer(t.Context(), iaas.CreateLoadbalancer{Name: "a", Subnet: "emulator",
			InternalLoadbalancer: true})
		if err != nil || len(lb.InternalIpAddresses) != 1 || (len(lb.ExternalIpAddresses) == 1) != also {
			t.Errorf("internal, also external %t: %+v, %v", also, lb, err)
		}
	}
}

func checkRefusals(t *testing.T) {
	t.Helper()
	c := newCloud(t)
	if err := c.SetQuota("", "loadbalancers", 0); err != nil {
		t.Fatal(err)
	}
	if _, err := c.api.CreateLoadbalancer(t.Context(), iaas.CreateLoadbalancer{Name: "a",
		Subnet: "emulator"}); !refused(err, "403") {
		t.Errorf("beyond the quota: %v, want 403", err)
	}
	if err := c.SetQuota("", "loadbalancers", 1); err != nil {
		t.Fatal(err)
	}
	group, lb := c.group(t, "g", 80), c.loadbalancer(t, "a")
	c.listener(t, lb.Identity, group.Identity, 80)
	if _, err := c.api.CreateListener(t.Context(), lb.Identity, listenerOn(80, group.Identity)); !refused(err, "409") {
		t.Errorf("a port twice: %v, want 409", err)
	}
	// Refused requests count.
	for operation, want := range map[string]int{"POST /v1/loadbalancers": 2, "POST /v1/loadbalancers/{id}/listeners": 2,
		"GET /v1/machines": 0} {
		if got := c.Counters()[operation]; got != want {
			t.Errorf("%s was counted %d times, want %d", operation, got, want)
		}
	}
}

func checkSpelling(t *testing.T) {
	t.Helper()
	c := populated(t)
	c.call(t, "POST", "/v1/tfs", `{"name":"f","size":1,"cloudRegionIdentity":"nl-01","vpcIdentity":"emulator","subnetIdentity":"emulator"}`)
	c.call(t, "POST", "/v1/machines",
		`{"name":"disk","subnet":"emulator","machineType":"pgp-small","rootVolume":{"size":1}}`)
	c.call(t, "POST", "/v1/volumes",
		`{"name":"spare","size":1,"cloudRegionIdentity":"nl-01","volumeTypeIdentity":"block"}`)
	for path, want := range map[string]string{
		"/v1/loadbalancers/web": `"status":"ready"`, "/v1/vpcs/emulator": `"status":"ready"`,
		"/v1/subnets/emulator": `"status":"ready"`,
		"/v1/machines/one":     `"state":"running"`, "/v1/tfs/f": `"status":"Available"`,
		"/v1/machines/disk": `"status":"Attached"`, "/v1/volumes/disk": `"status":"Attached"`,
		"/v1/volumes/spare": `"status":"Available"`,
	} {
		if _, _, body := c.call(t, "GET", path, ""); !strings.Contains(body, want) {
			t.Errorf("GET %s lacks %s: %s", path, want, body)
		}
	}
}

func checkLargeLists(t *testing.T) {
	t.Helper()
	c := newCloud(t)
	if _, err := c.AddMachines(1000); err != nil {
		t.Fatal(err)
	}
	machines, err := c.api.ListMachines(t.Context(), nil)
	if err != nil || len(machines) != 1000 {
		t.Fatalf("%d machines, %v, want 1,000", len(machines), err)
	}
	for _, query := range []string{"?page=2", "?limit=1", "?cursor=x"} {
		if _, _, body := c.call(t, "GET", "/v1/machines"+query, ""); strings.Count(body, `"interfaces"`) != 1000 {
			t.Errorf("%s changes the list; there is no pagination", query)
		}
	}
}

// unknowns are what no public source documents about the API, and the switches and delays that choose.
func unknowns() map[string][]string {
	return map[string][]string{
		"the status of success":                                 {"CreateStatus", "DoneStatus"},
		"what is in an answer without content":                  {"DoneBody"},
		"the status of a conflict, also by objectVersion":       {"ConflictStatus"},
		"the status of missing permission":                      {"PermissionStatus"},
		"the status of a used-up quota":                         {"QuotaStatus"},
		"the status of attaching an unknown or foreign target":  {"TargetStatus"},
		"what PUT does to what it leaves out":                   {"Updates"},
		"what null means to a PUT":                              {"NullRemovesHealthCheck"},
		"whether a load balancer can be created with listeners": {"InlineListeners"},
		"whether names are unique":                              {"UniqueNames"},
		"which labels are accepted":                             {"StrictLabels"},
		"which security groups are accepted":                    {"StrictSecurityGroups", "UniqueRulePriorities"},
		"whether TCP and UDP share a port":                      {"OneProtocolPerPort"},
		"whether listeners share a target group":                {"ExclusiveTargetGroups"},
		"which protocols are accepted":                          {"ApplicationProtocols"},
		"where the address of an internal load balancer is":     {"InternalAddressAlsoExternal"},
		"whether load balancers have IPv6 addresses":            {"IPv4OnlyLoadbalancers"},
		"whether load balancers have a hostname":                {"LoadbalancerHostnames"},
		"when a deleted load balancer lets go":                  {"LateRelease"},
		"whether deleted machines are detached":                 {"KeepDeletedMachines"},
		"whether volumes of deleted machines are detached":      {"KeepAttachedVolumes"},
		"whether paths name volumes by name":                    {"VolumesByName"},
		"of which volumes there are snapshots":                  {"StrictSnapshots"},
		"how a duration reads":                                  {"DurationTexts"},
		"how many volumes a machine can have":                   {"VolumesPerMachine"},
		"the status of detaching what is not attached":          {"DetachStatus"},
		"whether there are projects":                            {"NoProjects"},
		"whether destinations of routes are unique":             {"DuplicateRoutes"},
		"what writing a route answers with":                     {"RouteAnswer"},
		"what lists of route tables show":                       {"BareRouteTables"},
		"what a subnet without a route table of its own shows":  {"DefaultRouteTables"},
		"what a policy that was not set reads back as":          {"DefaultPolicies"},
		"the status of a machine that runs":                     {"ReadyMachines"},
		"the status of a bucket":                                {"ActiveBuckets"},
		"whether a list is sent again":                          {"ConditionalRequests"},
		"which filters work":                                    {"IgnoredFilters"},
		"how late label filters are":                            {"LabelFilters"},
		"what rate of requests is too much":                     {"RequestsPerSecond"},
		"how long coming, changing and going take": {"LoadbalancerCreate", "LoadbalancerUpdate", "LoadbalancerDelete",
			"MachineCreate", "MachineDelete",
			"NetworkCreate", "NetworkDelete", "ReservedIPCreate", "NATGatewayCreate",
			"VolumeCreate", "VolumeAttach", "VolumeDetach", "VolumeResize", "VolumeDelete",
			"SnapshotCreate", "SnapshotDelete", "KubernetesCreate", "KubernetesDelete"},
		"whether what is gone is still shown": {"LoadbalancerLinger", "MachineLinger", "NetworkLinger", "VolumeLinger",
			"SnapshotLinger", "KubernetesLinger"},
		"how long tokens are good": {"TokenLifetime"},
	}
}

func checkUnknowns(t *testing.T) {
	t.Helper()
	answered := map[string]bool{}
	for what, names := range unknowns() {
		for _, name := range names {
			if answered[name] {
				t.Errorf("%s decides two things, %s is one", name, what)
			}
			answered[name] = true
		}
	}
	for _, group := range []reflect.Type{reflect.TypeFor[emulator.Switches](), reflect.TypeFor[emulator.Delays]()} {
		for field := range group.Fields() {
			if !answered[field.Name] {
				t.Errorf("nothing says which unknown %s.%s decides", group.Name(), field.Name)
			}
			delete(answered, field.Name)
		}
	}
	if len(answered) > 0 {
		t.Errorf("there are no switches and delays %v", answered)
	}
}
