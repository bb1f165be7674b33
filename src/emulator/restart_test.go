package emulator

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// cluttered adds settings that are not the standard ones to a filled cloud: those of clusters, buckets and identities.
func cluttered(t *testing.T, e *Emulator) {
	t.Helper()
	post := func(path, body string) { t.Helper(); send(t, e, http.MethodPost, path, "", body) }
	put := func(path, body string) { t.Helper(); send(t, e, http.MethodPut, path, "", body) }
	post("/v1/kubernetes/clusters", `{"name":"hosted","clusterType":"hosted-control-plane","regionIdentity":"nl-01",`+
		`"kubernetesVersionIdentity":"1.33.5","deleteProtection":true,"maintenanceDay":3,"networking":{"cni":"custom",`+
		`"serviceCidr":"10.97.0.0/16","podCidr":"10.245.0.0/16"},"apiServerACL":{"allowedCIDRs":["192.0.2.1"]},`+
		`"autoscalerConfig":{"scaleDownUtilizationThreshold":0.5}}`)
	post("/v1/kubernetes/clusters/k/nodepools", `{"name":"big","description":"d","machineType":"pgp-large",`+
		`"replicas":3,"availabilityZone":"nl-01b","kubernetesVersionIdentity":"1.33.5",`+
		`"enableAutoscaling":true,"minReplicas":2,"maxReplicas":4,"nodeSettings":{"nodeLabels":{"a":"b"},"nodeTaints":[{"key":"k","effect":"NoSchedule"}]}}`)
	put("/v1/kubernetes/clusters/k/nodepools/big", `{"replicas":2}`)
	post("/v1/object-storage/buckets", `{"bucketName":"logs","region":"nl-01","labels":{"a":"b"},"public":true,`+
		`"versioning":"Enabled","objectLockEnabled":true,"policy":{"Version":"2012-10-17",`+
		`"Statement":[{"Effect":"Deny","Principal":{"AWS":"*"},"Action":["s3:Get*"],"Resource":["r"],"Condition":{"Bool":{"x":"true"}}}]},`+
		`"lifecycle":{"rules":[{"id":"old","expiration":{"days":3},"filter":{"prefix":"p","objectSizeLessThan":9}}]}}`)
	put("/v1/teams/ops", `{"name":"ops","description":"d","labels":{"a":"b"}}`)
	put("/v1/memberships/"+DefaultOwner, `{"role":"OWNER"}`)
	post("/v1/iam/roles/reader/rules",
		`{"resources":["*"],"resourceIdentities":["vpc-1"],"permissions":["list","*"],"note":"n"}`)
	post("/v1/iam/roles/reader/bindings", fmt.Sprintf(`{"name":"person","userIdentity":%q}`, DefaultOwner))
	post("/v1/iam/roles/reader/bindings", `{"name":"program","serviceAccountIdentity":"robot","labels":{"a":"b"}}`)
	// A client and a federated identity are bound to this project.
	send(t, e, http.MethodDelete, "/v1/projects/left", "", "")
}

// answers are the answers to all GET requests about what exists, for the organisation and a project, by the pattern of
// the operation and then by the project and the path.
func answers(t *testing.T, e *Emulator) map[string]map[string]any {
	t.Helper()
	all := map[string]map[string]any{}
	for _, operation := range e.api.OperationNames() {
		method, pattern, _ := strings.Cut(operation, " ")
		if method != http.MethodGet {
			continue
		}
		all[pattern] = map[string]any{}
		for _, project := range []string{"", "shop"} {
			for _, path := range paths(t, e, project, pattern) {
				all[pattern][project+" "+path] = answer(t, e, project, path)
			}
		}
	}
	return all
}

// paths are those of a pattern with all objects in place of its parts in braces.
func paths(t *testing.T, e *Emulator, project, pattern string) []string {
	t.Helper()
	before, after, nested := strings.Cut(pattern, "{")
	if !nested {
		return []string{pattern}
	}
	_, after, _ = strings.Cut(after, "}")
	parent := strings.TrimSuffix(before, "/")
	if parent == "/v1/vpc-firewall-rules" {
		parent = "/v1/vpcs" // has the rules of a VPC, which are not listed without it
	}
	items, listed := answer(t, e, project, parent).([]any)
	if !listed {
		t.Errorf("GET %s is no list: say here what %s is about", parent, pattern)
	}
	var all []string
	for _, item := range items {
		ref := item.(map[string]any)["identity"]
		if parent == "/v1/quotas" {
			ref = item.(map[string]any)["name"]
		}
		all = append(all, paths(t, e, project, before+url.PathEscape(ref.(string))+after)...)
	}
	return all
}

// answer is the body of an answer, also of one that is an error.
func answer(t *testing.T, e *Emulator, project, path string) any {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
	request.Header.Set("Authorization", "Token "+DefaultToken)
	request.Header.Set("X-Project-Identity", project)
	recorder := httptest.NewRecorder()
	e.ServeHTTP(recorder, request)
	var body any
	if err := json.Unmarshal(recorder.Body.Bytes(), &body); err != nil {
		t.Fatalf("GET %s: %v: %s", path, err, recorder.Body)
	}
	return body
}

// Whoever adds a kind of object learns here that a seed must have it.
func TestRestartKeepsEverything(t *testing.T) {
	e := overfilled(t)
	next := restarted(t, e, Config{})
	before, after := answers(t, e), answers(t, next)
	for _, pattern := range slices.Sorted(maps.Keys(before)) {
		if !answered(before[pattern]) {
			t.Errorf("no answer of GET %s has an object, so that nothing is compared: add one to overfilled", pattern)
		}
		if diff := cmp.Diff(before[pattern], after[pattern]); diff != "" {
			t.Errorf("GET %s differs after a restart (-before +after):\n%s", pattern, diff)
		}
	}
	all, numbers := Content(e)
	again, _ := Content(next)
	for field, number := range numbers {
		if number == 0 {
			t.Errorf("%s has no object, so that nothing is compared: add one to overfilled", field)
		}
	}
	if diff := cmp.Diff(all, again); diff != "" {
		t.Errorf("the store differs after a restart (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(printed(t, e), printed(t, next)); diff != "" {
		t.Errorf("the second seed differs from the first one (-first +second):\n%s", diff)
	}
}

// answered returns whether there is something in the answers.
func answered(answers map[string]any) bool {
	for _, body := range answers {
		if list, is := body.([]any); !is || len(list) > 0 {
			return true
		}
	}
	return false
}

// granted asks for a bearer token, and returns it, or the status of the refusal.
func granted(t *testing.T, e *Emulator, form url.Values) string {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/oidc/token",
		strings.NewReader(form.Encode()))
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	recorder := httptest.NewRecorder()
	e.ServeHTTP(recorder, request)
	var body struct {
		Token string `json:"access_token"`
	}
	if err := json.Unmarshal(recorder.Body.Bytes(), &body); err != nil || body.Token == "" {
		return fmt.Sprint(recorder.Code)
	}
	return body.Token
}

// status is that of the answer to a request with an Authorization header.
func status(t *testing.T, e *Emulator, method, authorization string) int {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), method, "/v1/vpcs", nil)
	request.Header.Set("Authorization", authorization)
	recorder := httptest.NewRecorder()
	e.ServeHTTP(recorder, request)
	return recorder.Code
}

func TestRestartKeepsCredentials(t *testing.T) {
	e := overfilled(t)
	secret := e.Seed().Organisations[0].ServiceAccounts[1].Credentials[0]
	client := url.Values{"grant_type": {"client_credentials"}, "client_id": {DefaultClientID},
		"client_secret": {"changed"}}
	credential := url.Values{"grant_type": {"client_credentials"}, "client_id": {secret.Key},
		"client_secret": {secret.Secret}}
	subject, err := e.SubjectToken("", "", "", 0)
	if err != nil {
		t.Fatal(err)
	}
	exchange := url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:token-exchange"},
		"subject_token_type": {"urn:ietf:params:oauth:token-type:jwt"}, "subject_token": {subject},
		"organisation_id": {DefaultOrganisation}, "service_account_id": {DefaultServiceAccount}}
	if err := e.SetClientSecret(DefaultClientID, "changed"); err != nil {
		t.Fatal(err)
	}
	if err := e.AddToken("", "revoked"); err != nil {
		t.Fatal(err)
	}
	e.RevokeTokens("revoked")
	expired := granted(t, e, client)
	e.ExpireBearers()
	bearers := map[string]url.Values{"client": client, "access credential": credential, "subject token": exchange}
	issued := map[string]string{}
	for name, form := range bearers {
		issued[name] = granted(t, e, form)
	}
	next := restarted(t, e, Config{})
	for name, form := range bearers {
		// The access credential has no scopes, so that it may do nothing.
		want := map[string]int{"access credential": http.StatusForbidden}[name]
		for what, token := range map[string]string{"issued before": issued[name], "new": granted(t, next, form)} {
			if got := status(t, next, http.MethodGet, "Bearer "+token); got != max(want, http.StatusOK) {
				t.Errorf("%s bearer token for the %s %q: status %d", what, name, token, got)
			}
		}
	}
	for authorization, want := range map[string]int{
		"Token " + DefaultToken: http.StatusOK, "Token reader": http.StatusOK,
		"Token revoked": http.StatusUnauthorized, "Bearer " + expired: http.StatusUnauthorized,
	} {
		if got := status(t, next, http.MethodGet, authorization); got != want {
			t.Errorf("%s: status %d, want %d", authorization, got, want)
		}
	}
	if got := status(t, next, http.MethodPost, "Token reader"); got != http.StatusForbidden {
		t.Errorf("a token with scope api:read may write: status %d", got)
	}
	// A bearer token ends with what it was issued for, also after a restart.
	send(t, next, http.MethodDelete, "/v1/service-accounts/robot/access-credentials/"+secret.Identity, "", "")
	if got := status(t, next, http.MethodGet, "Bearer "+issued["access credential"]); got != http.StatusUnauthorized {
		t.Errorf("the bearer token of a deleted access credential: status %d", got)
	}
}

// Whoever prints a seed learns that it has secrets.
func TestSeedSaysThatItHasSecrets(t *testing.T) {
	text := printed(t, overfilled(t))
	if first, _, _ := strings.Cut(text, "version: 1\n"); !strings.HasPrefix(first, "# ") ||
		!strings.Contains(first, "all credentials in plain text") {
		t.Errorf("the seed begins with %q", first)
	}
	for _, secret := range []string{DefaultToken, DefaultClientSecret, "accessSecret: ", "code: ",
		"BEGIN PRIVATE KEY"} {
		if !strings.Contains(text, secret) {
			t.Errorf("the seed lacks %q, so that something does not work with it", secret)
		}
	}
}
