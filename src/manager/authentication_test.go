package manager

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestWhoMayReadTheSecuredPort(t *testing.T) {
	api, cloud := newAPIServer(t), newTestCloud()
	r := start(t, api, cloud)
	cloud.wait(t, "Initialize")
	tests := map[string]struct {
		path, token string
		want        int
	}{
		"probes need nothing":            {"/livez", "", 200},
		"nor do the others":              {"/healthz", "", 200},
		"metrics need a token":           {"/metrics", "", 403},
		"a good one":                     {"/metrics", "reader", 200},
		"a wrong token is turned away":   {"/metrics", "stranger", 401},
		"single checks are not for all":  {"/livez/leaderElection", "", 403},
		"but for those who may see them": {"/livez/leaderElection", "reader", 200},
		"settings":                       {"/configz", "reader", 200},
		"settings need a token":          {"/configz", "", 403},
		"service level of checks":        {"/metrics/slis", "reader", 200},
		"profiles":                       {"/debug/pprof/goroutine", "reader", 200},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if status, body := r.get(test.path, test.token); status != test.want {
				t.Errorf("%s: %d, want %d\n%s", test.path, status, test.want, body)
			}
		})
	}
}

func TestMetricsAndSettings(t *testing.T) {
	api, cloud := newAPIServer(t), newTestCloud()
	r := start(t, api, cloud)
	r.waitFor("/readyz", 200)
	cloud.wait(t, "Initialize")
	_, metrics := r.get("/metrics", "reader")
	for _, name := range []string{
		`leader_election_master_status{name="cloud-controller-manager"} 1`,
		`workqueue_adds_total{name="service"}`,
		`rest_client_requests_total{`,
		`kubernetes_build_info{`,
		`test_cloud_metric 0`,
		`running_managed_controllers{manager="cloud-controller-manager",name="service"}`,
	} {
		if !strings.Contains(metrics, name) {
			t.Errorf("/metrics lacks %s", name)
		}
	}
	if _, levels := r.get("/metrics/slis", "reader"); !strings.Contains(levels,
		`kubernetes_healthcheck{name="informer-sync",type="readyz"} 1`) {
		t.Errorf("/metrics/slis lacks the readiness of the caches:\n%s", levels)
	}
	_, settings := r.get("/configz", "reader")
	for _, want := range []string{`"cloudcontrollermanager.config.k8s.io"`, `"ConcurrentServiceSyncs":10`} {
		if !strings.Contains(settings, want) {
			t.Errorf("/configz lacks %s:\n%s", want, settings)
		}
	}
	_, checks := r.get("/healthz?verbose", "")
	for _, want := range []string{"leaderElection", "cloud-node-controller", "cloud-node-lifecycle-controller",
		"service-lb-controller"} {
		if !strings.Contains(checks, "[+]"+want+" ok\n") {
			t.Errorf("/healthz lacks the check %s:\n%s", want, checks)
		}
	}
}

func TestServiceAccountsOfControllers(t *testing.T) {
	api, cloud := newAPIServer(t), newTestCloud()
	r := start(t, api, cloud, "--use-service-account-credentials")
	r.waitFor("/readyz", 200)
	cloud.wait(t, "Initialize")
	api.put(loadBalancer("web"))
	cloud.wait(t, "ensure web")
	want := []string{"node-controller", "service-controller"}
	if got := namesOf[*corev1.ServiceAccount](api); strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("service accounts: %q, want %q", got, want)
	}
}

// TestOneAccountIsForbidden, as where an older chart does not know it: the others work, and it follows when it may.
func TestOneAccountIsForbidden(t *testing.T) {
	api, cloud := newAPIServer(t), newTestCloud()
	api.forbid("serviceaccounts/node-controller", true)
	r := start(t, api, cloud, "--use-service-account-credentials")
	api.put(loadBalancer("web"))
	cloud.wait(t, "ensure web")
	const check = "[+]cloud-node-controller ok\n"
	if _, checks := r.get("/healthz?verbose", ""); strings.Contains(checks, check) {
		t.Errorf("a controller without an account runs:\n%s", checks)
	}
	api.forbid("serviceaccounts/node-controller", false)
	eventually(t, func() error {
		if _, checks := r.get("/healthz?verbose", ""); !strings.Contains(checks, check) {
			return notYetError("the controller: " + checks)
		}
		return nil
	})
}

// TestStopWithoutAnAccount: a controller that waits for its credentials keeps the process from nothing.
func TestStopWithoutAnAccount(t *testing.T) {
	api, cloud := newAPIServer(t), newTestCloud()
	api.forbid("serviceaccounts", true)
	r := start(t, api, cloud, "--use-service-account-credentials")
	cloud.wait(t, "Initialize")
	r.stop()
	if err := r.wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
}

func TestAlwaysAllowedPaths(t *testing.T) {
	api, cloud := newAPIServer(t), newTestCloud()
	r := start(t, api, cloud, "--authorization-always-allow-paths=/metrics")
	cloud.wait(t, "Initialize")
	if status, body := r.get("/metrics", ""); status != 200 {
		t.Errorf("/metrics: %d %s", status, body)
	}
	if status, _ := r.get("/livez", ""); status != 403 {
		t.Errorf("/livez: %d, want 403", status)
	}
}
