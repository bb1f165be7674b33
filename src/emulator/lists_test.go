package emulator_test

import (
	"slices"
	"testing"

	"github.com/thalassa-cloud/client-go/filters"
	"github.com/thalassa-cloud/client-go/iaas"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

func TestListFilters(t *testing.T) {
	label := func(key, value string) filters.Filter {
		return &filters.LabelFilter{MatchLabels: map[string]string{key: value}}
	}
	is := func(key, value string) filters.Filter {
		return &filters.FilterKeyValue{Key: filters.FilterKey(key), Value: value}
	}
	tests := map[string]struct {
		filters []filters.Filter
		ignored []string
		want    []string
	}{
		"none":         {nil, nil, []string{"a", "b"}},
		"name":         {[]filters.Filter{is("name", "b")}, nil, []string{"b"}},
		"name ignored": {[]filters.Filter{is("name", "b")}, []string{"name"}, []string{"a", "b"}},
		"VPC":          {[]filters.Filter{is("vpc", emulator.DefaultVPC)}, nil, []string{"a", "b"}},
		"VPC by slug":  {[]filters.Filter{is("vpc", "emulator")}, nil, []string{"a", "b"}},
		"another VPC":  {[]filters.Filter{is("vpc", "vpc-x")}, nil, nil},
		"subnet":       {[]filters.Filter{is("subnet", emulator.DefaultSubnet)}, nil, []string{"a", "b"}},
		"region":       {[]filters.Filter{is("region", "nl-02")}, nil, nil},
		"status":       {[]filters.Filter{is("status", "ready")}, nil, []string{"a", "b"}},
		"unknown key":  {[]filters.Filter{is("dbCluster", "x")}, nil, []string{"a", "b"}},
		"label":        {[]filters.Filter{label("k8s.thalassa.cloud/x", "a")}, nil, []string{"a"}},
		"label ignored": {[]filters.Filter{label("k8s.thalassa.cloud/x", "a")}, []string{"matchLabels"},
			[]string{"a", "b"}},
		"label and name":  {[]filters.Filter{label("k8s.thalassa.cloud/x", "a"), is("name", "b")}, nil, nil},
		"label not there": {[]filters.Filter{label("other", "")}, nil, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := newCloud(t, func(cfg *emulator.Config) { cfg.Switches.IgnoredFilters = test.ignored })
			for _, name := range []string{"a", "b"} {
				_, err := c.api.CreateLoadbalancer(t.Context(), iaas.CreateLoadbalancer{
					Name: name, Subnet: emulator.DefaultSubnet, Labels: iaas.Labels{"k8s.thalassa.cloud/x": name},
				})
				if err != nil {
					t.Fatal(err)
				}
			}
			lbs, err := c.api.ListLoadbalancers(t.Context(), &iaas.ListLoadbalancersRequest{Filters: test.filters})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, lb := range lbs {
				got = append(got, lb.Name)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}
