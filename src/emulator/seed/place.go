package seed

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// placed is an error about a place in a seed.
type placed struct {
	// path leads to the place, such as organisations[0].vpcs[1].cidrs.
	path string
	// about is the kind and the name of the object there.
	about string
	text  string
	err   error
}

// Error implements error.
func (p *placed) Error() string {
	if p.about != "" {
		return p.path + " (" + p.about + "): " + p.text
	}
	return p.path + ": " + p.text
}

// Unwrap returns what is wrong at the place.
func (p *placed) Unwrap() error { return p.err }

// At is an error about what is at a place, such as settings or vpcs[0]. If the error names a field, that is a part of
// the place.
func At(place string, err error) error { return at(place, "", err) }

func at(place, about string, err error) error {
	if err == nil {
		return nil
	}
	if inner, found := errors.AsType[*placed](err); found {
		outer := *inner
		outer.path = place + "." + inner.path
		if outer.about == "" {
			outer.about = about
		}
		return &outer
	}
	path, text := place, err.Error()
	if field, rest, found := cutField(text); found {
		path, text = place+"."+key(field), rest
	}
	return &placed{path, about, text, err}
}

// Each adds the objects of a list up to one that is refused. The error says which one that is.
func Each[T any](list, kind string, items []T, add func(*T) (name string, err error)) error {
	return EachIndexed(list, kind, items, func(_ int, item *T) (string, error) { return add(item) })
}

// EachIndexed is Each for a function that needs the place in the list.
func EachIndexed[T any](list, kind string, items []T, add func(int, *T) (name string, err error)) error {
	identities := map[string]bool{}
	for i := range items {
		name, err := add(i, &items[i])
		if err == nil {
			err = check(reflect.ValueOf(items[i]), identities)
		}
		if err != nil {
			about := kind
			if name != "" {
				about = fmt.Sprintf("%s %q", kind, name)
			}
			return at(fmt.Sprintf("%s[%d]", list, i), about, err)
		}
	}
	return nil
}

// cutField splits an error about a field, which all begin in the same way: `field "name" must be …` or
// `field "name": it is …`.
func cutField(text string) (field, rest string, found bool) {
	if text, found = strings.CutPrefix(text, `field "`); !found {
		return "", "", false
	}
	field, rest, found = strings.Cut(text, `"`)
	return field, strings.TrimPrefix(strings.TrimPrefix(rest, ":"), " "), found
}

// key is what seeds call a field that requests call differently.
func key(field string) string {
	switch first, last := cutRule(field); {
	case strings.HasPrefix(field, "target."):
		return "plan." + field
	case strings.HasPrefix(field, "apiServerACL."):
		return "settings." + field
	case last == "remoteAddress":
		return first + ".remote"
	case last == "portRangeMin", last == "portRangeMax":
		return first + ".ports"
	}
	switch field {
	case "cidr", "vpcCidrs":
		return "cidrs"
	case "bucketName":
		return "name"
	case "machineImage":
		return "image"
	case "securityGroupAttachments":
		return "securityGroups"
	case "kubernetesVersionIdentity":
		return "version"
	case "providerIssuer":
		return "issuer"
	case "providerSubject":
		return "subject"
	case "audienceMatchMode":
		return "audienceMatch"
	case "allowedScopes":
		return "scopes"
	case "keepCount", "schedule", "timezone":
		return "plan." + field
	case "kubeProxyMode", "kubeProxyDeployment", "serviceCidr", "podCidr":
		return "networking." + field
	case "podSecurityStandardsProfile", "auditLogProfile", "defaultNetworkPolicy", "autoUpgradePolicy":
		return "settings." + field
	}
	return field
}

// cutRule splits a field of a rule of a security group, if it is in the short form that only seeds have.
func cutRule(field string) (rule, last string) {
	if !strings.HasPrefix(field, "ingress[") && !strings.HasPrefix(field, "egress[") {
		return "", ""
	}
	rule, last, _ = strings.Cut(field, ".")
	return rule, last
}
