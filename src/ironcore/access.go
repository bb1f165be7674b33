package ironcore

import (
	"context"
	_ "embed" // for the list
	"fmt"
	"strings"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/rbac"
)

//go:embed permissions.json
var permissions []byte

// checkAccess implements cloud.Cloud: the API of IronCore answers what the user of the kubeconfig may do. There is one
// result for each resource. An API that does not answer is asked once.
func (c *Cloud) checkAccess(ctx context.Context) []cloud.Access {
	needed, err := rbac.Parse(permissions)
	if err != nil {
		return []cloud.Access{{Action: "use the API of IronCore", Err: err}}
	}
	var all []cloud.Access
	for begin := 0; begin < len(needed); {
		end := begin + 1
		for end < len(needed) && needed[end].Resource == needed[begin].Resource {
			end++
		}
		one := c.accessTo(ctx, needed[begin:end])
		if all = append(all, one); one.Unknown != "" {
			break
		}
		begin = end
	}
	return all
}

// accessTo asks about the verbs for one resource.
func (c *Cloud) accessTo(ctx context.Context, needed []rbac.Permission) cloud.Access {
	var verbs, denied []string
	found := cloud.Access{}
	for _, one := range needed {
		verbs = append(verbs, one.Verb)
		allowed, err := c.client.Allowed(ctx, one.Group, one.Resource, one.Verb, one.Namespaced)
		if err != nil {
			found.Unknown = err.Error()
			break
		}
		if !allowed {
			denied = append(denied, one.Verb)
		}
	}
	resource := needed[0].Resource + "." + needed[0].Group
	found.Action = strings.Join(verbs, ", ") + " " + resource
	if len(denied) > 0 {
		found.Unknown, found.Err = "", fmt.Errorf("the user of the kubeconfig may not %s %s in namespace %s of "+
			"IronCore: install the part cloud of the chart in IronCore, or grant its "+
			"permissions", strings.Join(denied, ", "),
			resource, c.client.Namespace)
	}
	return found
}
