package emulator

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/state"
)

// filled is a cloud with objects of every kind that refer to each other.
func filled(t *testing.T) *Emulator {
	t.Helper()
	seed := DefaultSeed()
	seed.Organisations[0].Projects = []ProjectSeed{{Identity: "prj-1", Name: "shop", VPCs: []VPCSeed{{
		Identity: "vpc-shop", Name: "shop", Region: DefaultRegion,
		CIDRs: []netip.Prefix{netip.MustParsePrefix("10.9.0.0/16")},
	}}}, {Identity: "prj-2", Name: "left"}}
	seed.Organisations[0].Invites = []InviteSeed{{Email: "new@emulator.invalid"}}
	seed.Organisations[0].Clients = append(seed.Organisations[0].Clients,
		ClientSeed{ID: "of-left", Secret: "secret-of-left", Project: "left", Scopes: []string{"api:read"}})
	account := &seed.Organisations[0].ServiceAccounts[0]
	account.FederatedIdentities = append(account.FederatedIdentities, FederatedIdentitySeed{Subject: "of-left",
		Audiences: []string{DefaultAudience}, Project: "prj-2"})
	e, err := NewDescribed(t, Config{Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.AddMachine(MachineSpec{Identity: "vm-1", Name: "one"}); err != nil {
		t.Fatal(err)
	}
	send := func(path, body string) {
		t.Helper()
		request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(body))
		request.Header.Set("Authorization", "Token "+DefaultToken)
		recorder := httptest.NewRecorder()
		if e.ServeHTTP(recorder, request); recorder.Code >= 300 {
			t.Fatalf("POST %s: %d %s", path, recorder.Code, recorder.Body)
		}
	}
	send("/v1/security-groups", `{"name":"web","vpcIdentity":"emulator","ingressRules":[]}`)
	send("/v1/reserved-ips", `{"name":"in","region":"nl-01"}`)
	send("/v1/loadbalancer-target-groups", `{"name":"tg","vpc":"emulator","targetPort":80,"protocol":"tcp"}`)
	send("/v1/loadbalancer-target-groups/tg/attach", `{"serverIdentity":"vm-1"}`)
	send("/v1/loadbalancers",
		`{"name":"lb","subnet":"emulator","securityGroupAttachments":["web"],"reservedIpId":"in"}`)
	var group string
	for org := range e.api.Store.Organisations.All() {
		for g := range org.TargetGroups.All() {
			group = g.Identity
		}
	}
	send("/v1/loadbalancers/lb/listeners",
		fmt.Sprintf(`{"name":"l","port":80,"protocol":"tcp","targetGroup":%q}`, group))
	send("/v1/projects", `{"name":"below","parentProjectIdentity":"prj-1"}`)
	send("/v1/cloudinits", `{"name":"x","content":"c"}`)
	send("/v1/tfs", `{"name":"x","size":1,"cloudRegionIdentity":"nl-01","vpcIdentity":"emulator","subnetIdentity":"emulator"}`)
	send("/v1/volumes", `{"name":"v","size":1,"cloudRegionIdentity":"nl-01","volumeTypeIdentity":"block"}`)
	send("/v1/volumes/v/attach", `{"resourceType":"cloud_virtual_machine","resourceIdentity":"vm-1"}`)
	send("/v1/snapshots", `{"name":"s","volumeIdentity":"v"}`)
	send("/v1/volumes", `{"name":"w","size":1,"cloudRegionIdentity":"nl-01","volumeTypeIdentity":"block",`+
		`"restoreFromSnapshotId":"s"}`)
	send("/v1/snapshot-policies", `{"name":"p","region":"nl-01","ttl":"168h","schedule":"0 2 * * *","timezone":"UTC",`+
		`"target":{"type":"explicit","volumeIdentities":["v"]}}`)
	send("/v1/vpc-firewall-rules/emulator", `{"name":"x","protocols":{"any":true},"direction":"inbound","action":"drop","priority":1,"sourceSubnetIdentity":"emulator"}`)
	send("/v1/vpc-peering-connections",
		`{"name":"x","requesterVpcIdentity":"emulator","accepterVpcIdentity":"vpc-shop"}`)
	send("/v1/quotas/increase-requests", `{"name":"machines","newMaxUsage":200000}`)
	send("/v1/nat-gateways", `{"name":"out","subnetIdentity":"emulator","configureDefaultRoute":true,"securityGroupAttachments":["web"]}`)
	send("/v1/kubernetes/clusters",
		`{"name":"k","subnet":"emulator","kubernetesVersionIdentity":"1.34.1","securityGroupAttachments":["web"]}`)
	send("/v1/kubernetes/clusters/k/nodepools",
		`{"name":"p","machineType":"pgp-small","replicas":2,"securityGroupAttachments":["web"]}`)
	send("/v1/object-storage/buckets", `{"bucketName":"bin","region":"nl-01"}`)
	send("/v1/teams", `{"name":"ops"}`)
	send("/v1/teams/ops/members", fmt.Sprintf(`{"userIdentity":%q}`, DefaultOwner))
	send("/v1/iam/roles", `{"name":"reader"}`)
	send("/v1/iam/roles/reader/rules", `{"resources":["vpc"],"permissions":["read"]}`)
	send("/v1/iam/roles/reader/bindings", `{"name":"b","teamIdentity":"ops"}`)
	send("/v1/route-tables/default/routes", `{"destinationCidrBlock":"10.244.0.0/24","gatewayAddress":"10.0.0.9"}`)
	return e
}

// references walks over everything that can be reached and names the way to
// each pointer and map that may be changed in place: those of the store's own
// types and the bookkeeping of collections.
func references(v reflect.Value, way string, found map[uintptr]string) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Map:
		if v.IsNil() || found[v.Pointer()] != "" {
			return
		}
		if changeable(v.Type()) {
			found[v.Pointer()] = way
		}
		if v.Kind() == reflect.Pointer {
			references(v.Elem(), way, found)
			return
		}
		for entries := v.MapRange(); entries.Next(); {
			references(entries.Key(), way+"[key]", found)
			references(entries.Value(), way+"[value]", found)
		}
	case reflect.Interface:
		references(v.Elem(), way, found)
	case reflect.Struct:
		for i := range v.NumField() {
			references(v.Field(i), way+"."+v.Type().Field(i).Name, found)
		}
	case reflect.Slice:
		for i := range v.Len() {
			references(v.Index(i), fmt.Sprintf("%s[%d]", way, i), found)
		}
	default:
		// Nothing else leads further.
	}
}

// changeable types are written to after their objects were made. Machine types,
// images and keys never change, and maps of texts are replaced as a whole.
func changeable(t reflect.Type) bool {
	if t.Kind() == reflect.Map {
		return t.Elem().Kind() != reflect.String
	}
	fixed := []reflect.Type{reflect.TypeFor[*state.MachineType](), reflect.TypeFor[*state.Image](),
		reflect.TypeFor[*state.VolumeType](), reflect.TypeFor[*state.KubernetesVersion]()}
	name := t.Elem().PkgPath()
	return strings.HasPrefix(name, "github.com/thalassa-cloud/") && !strings.HasSuffix(name, "/wire") &&
		!slices.Contains(fixed, t)
}

// Whoever adds a kind of object learns here that it must be copied.
func TestCopySharesNothing(t *testing.T) {
	e := filled(t)
	live, copied := map[uintptr]string{}, map[uintptr]string{}
	twin := e.api.Store.Copy()
	references(reflect.ValueOf(&twin.Organisations).Elem(), "organisations", copied)
	references(reflect.ValueOf(&twin.Regions).Elem(), "regions", copied)
	references(reflect.ValueOf(e.api.Store), "store", live)
	if len(copied) < 30 {
		t.Errorf("only %d references were found", len(copied))
	}
	machineTypes := map[uintptr]string{}
	references(reflect.ValueOf(&e.api.Store.MachineTypes).Elem(), "machineTypes", machineTypes)
	references(reflect.ValueOf(&e.api.Store.Images).Elem(), "images", machineTypes)
	references(reflect.ValueOf(&e.api.Store.VolumeTypes).Elem(), "volumeTypes", machineTypes)
	references(reflect.ValueOf(&e.api.Store.KubernetesVersions).Elem(), "kubernetesVersions", machineTypes)
	for pointer, way := range copied {
		if shared, found := live[pointer]; found && machineTypes[pointer] == "" {
			t.Errorf("%s of the copy is %s of the original: copy it in a rewire method", way, shared)
		}
	}
}

// everything is what the lists of a cloud say.
func everything(t *testing.T, e *Emulator) string {
	t.Helper()
	var out strings.Builder
	for _, path := range []string{"regions", "vpcs", "subnets", "machines", "loadbalancers",
		"loadbalancers/lb/listeners", "loadbalancer-target-groups",
		"projects", "cloudinits", "tfs", "volumes", "volume-types", "snapshots", "snapshot-policies",
		"vpc-firewall-rules/emulator", "vpc-peering-connections", "quotas", "images",
		"security-groups", "reserved-ips", "nat-gateways", "route-tables", "route-tables/default/routes",
		"memberships", "teams", "iam/roles", "object-storage/buckets", "kubernetes/versions", "kubernetes/clusters",
		"kubernetes/clusters/k/nodepools", "kubernetes/clusters/k/nodepools/p/machines"} {
		request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/"+path, nil)
		request.Header.Set("Authorization", "Token "+DefaultToken)
		recorder := httptest.NewRecorder()
		e.ServeHTTP(recorder, request)
		out.WriteString(recorder.Body.String())
	}
	return out.String()
}

func TestCopyIsTheSame(t *testing.T) {
	e, other := filled(t), filled(t)
	before := everything(t, e)
	other.api.Store = e.api.Store.Copy()
	if got := everything(t, other); got != before {
		t.Errorf("the copy says %s, its original %s", got, before)
	}
	remove := func(path string) {
		request := httptest.NewRequestWithContext(t.Context(), http.MethodDelete, path, nil)
		request.Header.Set("Authorization", "Token "+DefaultToken)
		recorder := httptest.NewRecorder()
		if e.ServeHTTP(recorder, request); recorder.Code >= 300 {
			t.Errorf("DELETE %s: %d %s", path, recorder.Code, recorder.Body)
		}
	}
	for _, path := range []string{
		"kubernetes/clusters/k/nodepools/p", "kubernetes/clusters/k",
		"object-storage/buckets/bin", "loadbalancers/lb", "nat-gateways/out", "loadbalancer-target-groups/tg",
		"machines/one", "tfs/x", "security-groups/web", "reserved-ips/in", "vpc-firewall-rules/emulator/x",
		"vpc-peering-connections/x", "cloudinits/x",
		"projects/below",
	} {
		remove("/v1/" + path)
	}
	if err := e.SetQuota("", "machines", 300_000); err != nil {
		t.Fatal(err)
	}
	if got := everything(t, other); got != before || everything(t, e) == before {
		t.Error("the copy changed with its original")
	}
}
