package inventory

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/go-resty/resty/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/thalassa-cloud/client-go/iaas"
	official "github.com/thalassa-cloud/client-go/pkg/client"
	thalassacloud "github.com/thalassa-cloud/client-go/thalassa"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/secret"
)

// recorder is a cloud that writes down what it is sent, and says yes.
type recorder struct{ sent []map[string]any }

func (r *recorder) RoundTrip(request *http.Request) (*http.Response, error) {
	content, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, err
	}
	body := map[string]any{"": request.Method + " " + request.URL.Path}
	if err := json.Unmarshal(content, &body); err != nil {
		return nil, err
	}
	r.sent = append(r.sent, body)
	answer := httptest.NewRecorder()
	answer.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(answer, `{"identity": "x-1", "objectVersion": 8}`)
	return answer.Result(), nil
}

// bodies is an inventory and the official client in front of a recorder.
func bodies(t *testing.T) (*Inventory, *iaas.Client, *recorder) {
	t.Helper()
	record := &recorder{}
	api, err := client.New(client.Options{
		Endpoint: "http://cloud.test", Organisation: "acme", Network: record,
		Secrets: secret.Secrets{Credentials: secret.Credentials{PersonalAccessToken: "pat"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	direct := func(http *resty.Client, _ *resty.Request) error { // it has no option for a transport
		http.SetTransport(record)
		return nil
	}
	theirs, err := thalassacloud.NewClient(official.WithBaseURL("http://cloud.test"), official.WithOrganisation("acme"),
		official.WithAuthPersonalToken("pat"), official.WithMiddleware(direct))
	if err != nil {
		t.Fatal(err)
	}
	return New(api, Scope{VPC: "vpc-1"}), theirs.IaaS(), record
}

// bodyTest is one write, made by us and by the official client.
type bodyTest struct {
	ours, theirs func() error
	more         string // what only we say, as JSON
}

func second[T any](_ T, err error) error { return err }

// bodyListener is a listener as we have it, and as the official client has it.
func bodyListener() (resource.Listener, iaas.CreateListener) {
	labels, size := resource.Labels{"a": "b"}, uint32(7)
	return resource.Listener{ID: "l-1", Name: "n", Description: "d", Labels: labels, Annotations: labels,
			Protocol: "tcp",
			Port:     80, TargetGroup: "tg-1", MaxConnections: 7, IdleTimeout: 7, AllowedSources: []string{"s"}},
		iaas.CreateListener{Name: "n", Description: "d", Labels: labels, Annotations: labels, Protocol: "tcp", Port: 80,
			TargetGroup: "tg-1", MaxConnections: &size, ConnectionIdleTimeout: &size, AllowedSources: []string{"s"}}
}

func balancerBodies(t *testing.T, i *Inventory, api *iaas.Client) map[string]bodyTest {
	t.Helper()
	ctx, labels, text := t.Context(), resource.Labels{"a": "b"}, func(text string) *string { return &text }
	listener, theirListener := bodyListener()
	old := resource.LoadBalancer{ID: "lb-1", Name: "n", Subnet: "s-0", ReservedIP: "rip-0", InstanceSize: "small"}
	full := resource.LoadBalancer{Name: "n", Description: "d", Labels: labels, Annotations: labels, Subnet: "s-1",
		DeleteProtection: true, SecurityGroups: []string{"sg-1"}, ReservedIP: "rip-1",
		Listeners: []resource.Listener{listener}}
	return map[string]bodyTest{
		"new load balancer": {
			func() error {
				return second(i.CreateLoadBalancer(ctx,
					resource.NewLoadBalancer{LoadBalancer: full, Internal: true}))
			},
			func() error {
				return second(api.CreateLoadbalancer(ctx, iaas.CreateLoadbalancer{Name: "n", Description: "d",
					Labels: labels, Annotations: labels, Subnet: "s-1", InternalLoadbalancer: true,
					DeleteProtection: true, SecurityGroupAttachments: []string{"sg-1"}, ReservedIpID: text("rip-1"),
					Listeners: []iaas.CreateListener{theirListener}}))
			}, `{}`,
		},
		"new bare load balancer": {
			func() error {
				return second(i.CreateLoadBalancer(ctx,
					resource.NewLoadBalancer{LoadBalancer: resource.LoadBalancer{Name: "n", Subnet: "s"}}))
			},
			func() error {
				return second(api.CreateLoadbalancer(ctx, iaas.CreateLoadbalancer{Name: "n", Subnet: "s"}))
			}, `{}`,
		},
		"instance size": {
			func() error {
				return second(i.CreateLoadBalancer(ctx,
					resource.NewLoadBalancer{LoadBalancer: resource.LoadBalancer{Name: "n", Subnet: "s",
						InstanceSize: "large"}}))
			},
			func() error {
				return second(api.CreateLoadbalancer(ctx, iaas.CreateLoadbalancer{Name: "n", Subnet: "s"}))
			}, `{"instanceSize": "large"}`,
		},
		"load balancer": {
			func() error { return i.UpdateLoadBalancer(ctx, old, full) },
			func() error {
				return second(api.UpdateLoadbalancer(ctx, "lb-1", iaas.UpdateLoadbalancer{Name: "n", Description: "d",
					Labels: labels, Annotations: labels, DeleteProtection: true,
					Subnet: text("s-1"), ReservedIpID: text("rip-1"), SecurityGroupAttachments: []string{"sg-1"}}))
			}, `{"instanceSize": ""}`,
		},
		"load balancer as it is": {
			func() error { return i.UpdateLoadBalancer(ctx, old, old) },
			func() error {
				return second(api.UpdateLoadbalancer(ctx, "lb-1", iaas.UpdateLoadbalancer{Name: "n"}))
			},
			`{"labels": {}, "annotations": {}, "securityGroupAttachments": []}`,
		},
		"reserved IP away": {
			func() error {
				without := old
				without.ReservedIP = ""
				return i.UpdateLoadBalancer(ctx, old, without)
			},
			func() error {
				return second(api.UpdateLoadbalancer(ctx, "lb-1", iaas.UpdateLoadbalancer{Name: "n",
					ReservedIpID: text("")}))
			},
			`{"labels": {}, "annotations": {}, "securityGroupAttachments": []}`,
		},
	}
}

func listenerBodies(t *testing.T, i *Inventory, api *iaas.Client) map[string]bodyTest {
	t.Helper()
	ctx, labels, size := t.Context(), resource.Labels{"a": "b"}, uint32(7)
	listener, theirListener := bodyListener()
	return map[string]bodyTest{
		"new listener": {
			func() error { return i.CreateListener(ctx, "lb-1", listener) },
			func() error { return second(api.CreateListener(ctx, "lb-1", theirListener)) }, `{}`,
		},
		"new bare listener": {
			func() error {
				return i.CreateListener(ctx, "lb-1",
					resource.Listener{Name: "n", Protocol: "tcp", Port: 80, TargetGroup: "tg-1",
						Labels: resource.Labels{}, AllowedSources: []string{}})
			},
			func() error {
				return second(api.CreateListener(ctx, "lb-1", iaas.CreateListener{Name: "n", Protocol: "tcp", Port: 80,
					TargetGroup: "tg-1"}))
			}, `{}`,
		},
		"listener": {
			func() error { return i.UpdateListener(ctx, "lb-1", listener) },
			func() error {
				return second(api.UpdateListener(ctx, "lb-1", "l-1", iaas.UpdateListener{Name: "n", Description: "d",
					Labels: labels, Annotations: labels, Protocol: "tcp", Port: 80,
					TargetGroup: "tg-1", MaxConnections: &size, ConnectionIdleTimeout: &size,
					AllowedSources: []string{"s"}}))
			}, `{}`,
		},
		"bare listener": {
			func() error {
				return i.UpdateListener(ctx, "lb-1", resource.Listener{ID: "l-1", Name: "n", Protocol: "tcp", Port: 80,
					TargetGroup: "tg-1"})
			},
			func() error {
				return second(api.UpdateListener(ctx, "lb-1", "l-1", iaas.UpdateListener{Name: "n", Protocol: "tcp",
					Port: 80, TargetGroup: "tg-1"}))
			}, `{"labels": {}, "annotations": {}, "allowedSources": []}`,
		},
		"target group": {
			func() error {
				return i.UpdateTargetGroup(ctx, resource.TargetGroup{ID: "tg-1"},
					resource.TargetGroup{ID: "tg-1", Name: "n",
						Protocol: "tcp", Port: 80, Policy: "MAGLEV"})
			},
			func() error {
				off, policy := false, iaas.LoadbalancingPolicyMagLev
				return second(api.UpdateTargetGroup(ctx, iaas.UpdateTargetGroupRequest{Identity: "tg-1",
					UpdateTargetGroup: iaas.UpdateTargetGroup{
						Name: "n", Protocol: "tcp", TargetPort: 80, EnableProxyProtocol: &off,
						LoadbalancingPolicy: &policy}}))
			}, `{"labels": {}, "annotations": {}, "healthCheck": null, "targetSelector": null}`,
		},
	}
}

func securityGroupBodies(t *testing.T, i *Inventory, api *iaas.Client) map[string]bodyTest {
	t.Helper()
	ctx, labels, text := t.Context(), resource.Labels{"a": "b"}, func(text string) *string { return &text }
	rule := resource.Rule{Name: "r", IPVersion: "ipv4", Protocol: "tcp", Priority: 1, RemoteType: "address",
		RemoteAddress: "a",
		PortMin:       1, PortMax: 2, Policy: "allow"}
	theirRule := iaas.SecurityGroupRule{Name: "r", IPVersion: "ipv4", Protocol: "tcp", Priority: 1,
		RemoteType: "address", RemoteAddress: text("a"), PortRangeMin: 1, PortRangeMax: 2, Policy: "allow"}
	group := resource.SecurityGroup{ID: "sg-1", Name: "n", Description: "d", Labels: labels, Annotations: labels,
		Version:          3,
		SameGroupTraffic: true, Ingress: []resource.Rule{rule}, Egress: []resource.Rule{rule}}
	return map[string]bodyTest{
		"new security group": {
			func() error { return second(i.CreateSecurityGroup(ctx, group)) },
			func() error {
				return second(api.CreateSecurityGroup(ctx, iaas.CreateSecurityGroupRequest{Name: "n", Description: "d",
					Labels: labels, Annotations: labels, VpcIdentity: "vpc-1",
					AllowSameGroupTraffic: true, IngressRules: []iaas.SecurityGroupRule{theirRule},
					EgressRules: []iaas.SecurityGroupRule{theirRule}}))
			}, `{}`,
		},
		"security group": {
			func() error { return i.UpdateSecurityGroup(ctx, group, group) },
			func() error {
				return second(api.UpdateSecurityGroup(ctx, "sg-1", iaas.UpdateSecurityGroupRequest{Name: "n",
					Description: "d", Labels: labels, Annotations: labels, ObjectVersion: 3,
					AllowSameGroupTraffic: true, IngressRules: []iaas.SecurityGroupRule{theirRule},
					EgressRules: []iaas.SecurityGroupRule{theirRule}}))
			}, `{}`,
		},
		"bare security group": {
			func() error { return i.UpdateSecurityGroup(ctx, group, resource.SecurityGroup{Name: "n"}) },
			func() error {
				return second(api.UpdateSecurityGroup(ctx, "sg-1", iaas.UpdateSecurityGroupRequest{Name: "n",
					ObjectVersion: 3}))
			},
			`{"labels": {}, "annotations": {}, "ingressRules": [], "egressRules": []}`,
		},
	}
}

// TestBodiesAreTheOfficialClients: what is sent is what the official client would send, and where it leaves out what is
// empty, or does not know it, exactly so much more.
func TestBodiesAreTheOfficialClients(t *testing.T) {
	i, api, record := bodies(t)
	tests := balancerBodies(t, i, api)
	maps.Copy(tests, listenerBodies(t, i, api))
	maps.Copy(tests, securityGroupBodies(t, i, api))
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			record.sent = nil
			if err := errors.Join(tt.theirs(), tt.ours()); err != nil {
				t.Fatal(err)
			}
			var more map[string]any
			if err := json.NewDecoder(strings.NewReader(tt.more)).Decode(&more); err != nil {
				t.Fatal(err)
			}
			theirs, ours := record.sent[0], record.sent[1]
			for field, said := range more {
				if value, known := theirs[field]; known && !isEmpty(value) {
					t.Errorf("the official client says %s, too: %v", field, value)
				}
				theirs[field] = said
			}
			if diff := cmp.Diff(theirs, ours); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// isEmpty says that a field says nothing.
func isEmpty(value any) bool {
	return value == nil || reflect.ValueOf(value).IsZero()
}
