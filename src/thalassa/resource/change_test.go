package resource

import (
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestChangedBalancer: of a load balancer that somebody changed since the plan was made, only what the plan changes
// is changed.
func TestChangedBalancer(t *testing.T) {
	from := LoadBalancer{
		Name: "web", Subnet: "one", ReservedIP: "ip", Labels: Labels{"a": "1", "b": "1"},
		Annotations: Labels{"x": "1"}, SecurityGroups: []string{"p", "q"},
	}
	to := from
	to.Name, to.ReservedIP, to.DeleteProtection = "shop", "", true
	to.Labels, to.SecurityGroups = Labels{"a": "2", "c": "1"}, []string{"q", "r"}
	latest := LoadBalancer{
		ID: "lb", Name: "renamed", Subnet: "two", ReservedIP: "ip", InstanceSize: "large",
		Labels:      Labels{"a": "1", "b": "1", "theirs": "1"},
		Annotations: Labels{"x": "2"}, SecurityGroups: []string{"p", "q", "theirs"}, Status: "ready",
	}
	want := LoadBalancer{
		ID: "lb", Name: "shop", Subnet: "two", InstanceSize: "large", DeleteProtection: true,
		Labels:      Labels{"a": "2", "c": "1", "theirs": "1"},
		Annotations: Labels{"x": "2"}, SecurityGroups: []string{"q", "r", "theirs"}, Status: "ready",
	}
	if diff := cmp.Diff(want, Changed(latest, from, to)); diff != "" {
		t.Errorf("changed (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(to, Changed(from, from, to)); diff != "" {
		t.Errorf("when nobody changed it (-want +got):\n%s", diff)
	}
}

// TestChangedListener: who is let in stays as somebody has set it since, unless the plan changes exactly that.
func TestChangedListener(t *testing.T) {
	from := Listener{
		ID: "l", Name: "web", IdleTimeout: 10, TargetGroup: "one", AllowedSources: []string{"192.0.2.0/24"},
	}
	latest := from
	latest.AllowedSources, latest.MaxConnections = []string{"198.51.100.0/24"}, 5
	to := from
	to.IdleTimeout, to.TargetGroup = 20, "two"
	want := latest
	want.IdleTimeout, want.TargetGroup = 20, "two"
	if diff := cmp.Diff(want, Changed(latest, from, to)); diff != "" {
		t.Errorf("a change of something else (-want +got):\n%s", diff)
	}
	to.AllowedSources = nil
	want.AllowedSources = nil
	if diff := cmp.Diff(want, Changed(latest, from, to)); diff != "" {
		t.Errorf("a change of who is let in (-want +got):\n%s", diff)
	}
}

// TestSets: a list either changes element by element, or as a whole. One that is added must be named here.
func TestSets(t *testing.T) {
	sets := map[string]bool{"SecurityGroups": true, "AllowedSources": false, "ExternalAddresses": false,
		"InternalAddresses": false}
	for _, of := range []reflect.Type{reflect.TypeFor[LoadBalancer](), reflect.TypeFor[Listener]()} {
		for field := range of.Fields() {
			want, known := sets[field.Name]
			if field.Type == reflect.TypeFor[[]string]() && (!known || want != (field.Tag.Get("change") == "set")) {
				t.Errorf("%s.%s: decide whether others may add elements; name it here and set its tag", of, field.Name)
			}
		}
	}
}

// TestEveryFieldChanges: an update forgets no field of an object, not even one that was just added.
func TestEveryFieldChanges(t *testing.T) {
	everyFieldChanges[LoadBalancer](t)
	everyFieldChanges[Listener](t)
}

func everyFieldChanges[T LoadBalancer | Listener](t *testing.T) {
	t.Helper()
	var from, to T
	value := reflect.ValueOf(&to).Elem()
	for i := range value.NumField() {
		field := value.Field(i)
		switch field.Kind() {
		case reflect.String:
			field.SetString("changed")
		case reflect.Bool:
			field.SetBool(true)
		case reflect.Int:
			field.SetInt(1)
		case reflect.Uint32:
			field.SetUint(1)
		case reflect.Map:
			field.Set(reflect.ValueOf(Labels{"key": "value"}))
		case reflect.Slice:
			field.Set(reflect.MakeSlice(field.Type(), 1, 1))
		case reflect.Struct:
			field.Set(reflect.ValueOf(time.Unix(1, 0)))
		default:
			t.Errorf("no value for the field %s", value.Type().Field(i).Name)
		}
	}
	if diff := cmp.Diff(to, Changed(from, from, to)); diff != "" {
		t.Errorf("fields that do not change (-want +got):\n%s", diff)
	}
}
