package balancer

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/cloudconfig"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// Parts of the cases of recognition: the default name of the Service's load balancer, the name that it asks for, and
// the address that it publishes.
const (
	defaultName = "a0a1b2c3dweb"
	askedName   = "shop"
	publishedIP = "198.18.0.1"
)

// recognition returns the configuration and the Service of the cases. It publishes the address, or none if it is "".
func recognition(published string, annotations ...string) (Config, *corev1.Service) {
	of := cloudconfig.Default()
	of.Cluster = "k8s-test"
	web := service("web", 80)
	annotated(annotations...)(web)
	if published != "" {
		web.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: published}}
	}
	return NewConfig(of), web
}

// labelsWith returns the labels of the Service's objects with one of them changed; "" removes it.
func labelsWith(key, value string) resource.Labels {
	c, web := recognition("")
	labels := ownerLabels(cloud.OwnerOf(c.Cluster, web), nil)
	if labels[key] = value; value == "" {
		delete(labels, key)
	}
	return labels
}

// unlabelledOne returns a load balancer that lacks labels.
func unlabelledOne(id, name, address string, labels resource.Labels) resource.LoadBalancer {
	return resource.LoadBalancer{ID: id, Name: name, Labels: labels, Status: "ready", Subnet: "subnet-1",
		ExternalAddresses: []string{address}}
}

// comparedText describes what is done about the Service, given the load balancers with its labels and those like it:
// the first write, the notices, and which load balancers a refusal names.
func comparedText(c Config, web *corev1.Service, owned, like []resource.LoadBalancer) string {
	recognised := c.TraitsOf(web).Recognise(like)
	balancers := recognised.Take(owned)
	o := Observed{Balancers: balancers, Recognised: recognised}
	vpc := Lookup[resource.VPC]{Found: true,
		Object: resource.VPC{ID: "vpc-1", Subnets: []resource.Subnet{{ID: "subnet-1"}}}}
	found := c.Request(web, o).Compare(Input{Candidates: NewCandidates(cloud.Targets{}),
		References: References{VPC: vpc}})
	var said []string
	for _, write := range found.Plan {
		if write.Kind == kindBalancer {
			said = append(said, write.String())
		}
	}
	for _, notice := range found.Notices {
		if slices.Contains([]string{reasonLabelsLost, reasonUncertain, reasonAnotherCluster}, notice.Reason) {
			said = append(said, notice.Reason)
		}
	}
	if found.Refused != nil {
		said = append(said, "refused")
		for _, one := range like {
			if strings.Contains(found.Refused.Error(), "("+one.ID+")") {
				said = append(said, one.ID)
			}
		}
	}
	return strings.Join(said, ", ")
}

// TestRecognition: exactly one load balancer with the Service's name and without a label of another owner is the
// Service's. Any other with its name, UID or address keeps the Service from getting another one.
func TestRecognition(t *testing.T) {
	const (
		again = ": it lost labels of the Service and gets them again, LabelsLost"
		taken = "update load balancer " + defaultName + again
		asked = "update load balancer " + askedName + again
		makes = "create load balancer " + defaultName
		named = "create load balancer " + askedName
		no    = "LoadBalancerUncertain, refused, lb-1"
	)
	one := func(name, at string, labels resource.Labels) []resource.LoadBalancer {
		return []resource.LoadBalancer{unlabelledOne("lb-1", name, at, labels)}
	}
	two := func(name, at string) []resource.LoadBalancer {
		return append(one(defaultName, publishedIP, nil), unlabelledOne("lb-2", name, at, nil))
	}
	deleting := one(defaultName, "", nil)
	deleting[0].Status = resource.StatusDeleting
	at := func(key, value string) []resource.LoadBalancer {
		return one(defaultName, publishedIP, labelsWith(key, value))
	}
	const other = "203.0.113.9"
	theirs := resource.Labels{"team": "shop"}
	tests := map[string]struct {
		published string
		asks      bool // for the other name
		like      []resource.LoadBalancer
		want      string
	}{
		"none":                            {publishedIP, false, nil, makes},
		"its name":                        {"", false, one(defaultName, publishedIP, nil), taken},
		"its name, and a person's label":  {"", false, one(defaultName, publishedIP, theirs), taken},
		"its name and address":            {publishedIP, false, one(defaultName, publishedIP, nil), taken},
		"the name it asks for":            {"", true, one(askedName, publishedIP, nil), no},
		"that name, and the address":      {publishedIP, true, one(askedName, publishedIP, nil), asked},
		"a name it does not ask for":      {"", false, one(askedName, publishedIP, nil), makes},
		"its name, another address":       {other, false, one(defaultName, publishedIP, nil), no},
		"its address, another name":       {publishedIP, false, one("theirs", publishedIP, nil), no},
		"another address and name":        {other, false, one("theirs", publishedIP, nil), makes},
		"its UID, another name":           {"", false, one("theirs", "", labelsWith(label.Managed, "")), no},
		"two of its name":                 {"", false, two(defaultName, "198.18.0.2"), no + ", lb-2"},
		"two, one with the address":       {publishedIP, false, two(defaultName, "198.18.0.2"), no + ", lb-2"},
		"two, one of another name":        {"", false, two("theirs", "198.18.0.2"), taken},
		"without the cluster":             {publishedIP, false, at(label.Cluster, ""), taken},
		"without the UID":                 {publishedIP, false, at(label.ServiceUID, ""), taken},
		"without that it is managed":      {publishedIP, false, at(label.Managed, ""), taken},
		"another cluster":                 {publishedIP, false, at(label.Cluster, "k8s-new"), no},
		"another cluster, elsewhere":      {"", false, at(label.Cluster, "k8s-new"), makes},
		"another Service":                 {publishedIP, false, at(label.ServiceUID, "u-2"), no},
		"another Service, elsewhere":      {"", false, at(label.ServiceUID, "u-2"), makes},
		"released":                        {publishedIP, false, at(label.Managed, "false"), no},
		"being deleted":                   {"", false, deleting, ""},
		"its address in another spelling": {"2001:db8::1", false, one(defaultName, "2001:DB8:0:0::1", nil), taken},
		"another cluster, another name": {publishedIP, false, one("theirs", publishedIP,
			labelsWith(label.Cluster, "k8s-new")), no},
		"another Service with the name": {"", true, one(askedName, publishedIP, labelsWith(label.ServiceUID, "u-2")),
			named},
		"the UID of another cluster": {"", false, one("theirs", "", labelsWith(label.Cluster, "k8s-test#u-2")),
			"LoadBalancerOfAnotherCluster, refused, lb-1"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var annotations []string
			if tt.asks {
				annotations = []string{"name", askedName}
			}
			c, web := recognition(tt.published, annotations...)
			if got := comparedText(c, web, nil, tt.like); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// TestLoadBalancerBesideUnlabelledOnes: a Service that has a load balancer keeps it, and reports the others once each.
// At its end, these stay and are named.
func TestLoadBalancerBesideUnlabelledOnes(t *testing.T) {
	c, web := recognition(publishedIP)
	owned := unlabelledOne("lb-0", defaultName, publishedIP, labelsWith("", ""))
	like := []resource.LoadBalancer{unlabelledOne("lb-1", defaultName, "198.18.0.2", nil),
		unlabelledOne("lb-2", defaultName, "198.18.0.3", labelsWith(label.Cluster, "k8s-new"))}
	got := comparedText(c, web, []resource.LoadBalancer{owned}, like)
	if !strings.HasSuffix(got, "LoadBalancerUncertain") || strings.Contains(got, "refused") {
		t.Errorf("it says %s", got)
	}
	recognised := c.TraitsOf(web).Recognise(like)
	o := Observed{Balancers: recognised.Take(nil), Recognised: recognised}
	left := c.Request(web, o).PlanDelete(Ending{})
	if len(o.Balancers) > 0 || len(left.Plan) > 0 || !strings.Contains(left.Left, "(lb-1) remains") {
		t.Errorf("plan %v, left %q", left.Plan, left.Left)
	}
}

// TestTargetGroupsWithoutLabels: those that the Service's load balancer uses are the Service's if they have its name
// and no label of another owner, and no other load balancer uses them. They get their labels before it is deleted.
func TestTargetGroupsWithoutLabels(t *testing.T) {
	for name, tt := range map[string]struct {
		group  resource.TargetGroup
		served bool // the listener is that of a port of the Service
		is     bool
	}{
		"its name":                {resource.TargetGroup{Name: defaultName + "-p80"}, true, true},
		"its name, a port before": {resource.TargetGroup{Name: defaultName + "-p443"}, false, true},
		"another name":            {resource.TargetGroup{Name: "theirs"}, true, false},
		"another cluster": {resource.TargetGroup{Name: defaultName + "-p80",
			Labels: labelsWith(label.Cluster, "k8s-new")}, true, false},
		"another load balancer uses": {resource.TargetGroup{Name: defaultName + "-p80",
			Listeners: []string{"l-9"}}, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			c, web := recognition(publishedIP)
			listener := resource.Listener{ID: "l-1", Name: tt.group.Name, Port: 443, Protocol: "tcp",
				TargetGroup: "tg-1"}
			if tt.served {
				listener.Port = 80
			}
			lb := unlabelledOne("lb-1", defaultName, publishedIP, labelsWith("", ""))
			lb.Listeners = []resource.Listener{listener}
			tt.group.ID = "tg-1"
			o := Observed{Balancers: []resource.LoadBalancer{lb}}
			for range c.GroupsWithoutLabels(web, o) {
				c.AddGroup(web, &o, tt.group, true)
			}
			plan := c.Request(web, o).PlanDelete(Ending{}).Plan.String()
			restored := "update target group " + tt.group.Name +
				": it lost labels of the Service, which is being removed\n"
			if want := "delete load balancer " + defaultName; plan != want && !tt.is || plan != restored+want && tt.is {
				t.Errorf("plan %q", plan)
			}
		})
	}
}

// TestSecurityGroupsWithoutLabels: one that is attached to the Service's load balancer is the Service's if its name is
// made from the UID, or if a label of the Service is left. A user's own may have the name that the existing CCM gives.
func TestSecurityGroupsWithoutLabels(t *testing.T) {
	c, web := recognition(publishedIP)
	own := groupName(string(web.UID))
	for name, tt := range map[string]struct {
		group resource.SecurityGroup
		is    bool
	}{
		"its name": {resource.SecurityGroup{Name: own}, true},
		"its name, another cluster": {resource.SecurityGroup{Name: own,
			Labels: labelsWith(label.Cluster, "other")}, false},
		"the existing CCM's": {resource.SecurityGroup{Name: "sg-web"}, false},
		"the existing CCM's, without UID": {resource.SecurityGroup{Name: "sg-web",
			Labels: labelsWith(label.ServiceUID, "")}, true},
		"the existing CCM's, with only UID": {resource.SecurityGroup{Name: "sg-web",
			Labels: resource.Labels{label.ServiceUID: string(web.UID)}}, true},
	} {
		if got := c.TraitsOf(web).OwnsGroup(tt.group); got != tt.is {
			t.Errorf("%s: %t, want %t", name, got, tt.is)
		}
	}
	nameless := web.DeepCopy() // an orphan whose labels lost the name
	nameless.Namespace, nameless.Name = "", ""
	if c.TraitsOf(nameless).OwnsGroup(resource.SecurityGroup{Name: "theirs"}) {
		t.Error("a group without labels is that of an orphan without a name")
	}
}
