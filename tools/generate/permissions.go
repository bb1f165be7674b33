package generate

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chartutil"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/cloud-provider/names"

	"github.com/thalassa-cloud/thalassa-ccm/src/rbac"
	"github.com/thalassa-cloud/thalassa-ccm/tools/chart"
)

// Files with the permissions of the chart's roles, for the program itself.
const (
	permissionFile         = "src/permission/permissions.json"
	ironcorePermissionFile = "src/ironcore/permissions.json"
)

// releaseName is the name of the roles' account.
const releaseName = "thalassa-ccm"

// permissionValues are the values of the chart with nothing but the process.
const permissionValues = `
cloudConfig: {organisation: a, vpcIdentity: vpc-1, cluster: a, clusterCIDR: 10.0.0.0/8}
credentials: {existingSecret: a}
useServiceAccountCredentials: {enabled: ACCOUNTS, createAccounts: true}
controllers: {cloud-node-controller: false, cloud-node-lifecycle-controller: false, service-lb-controller: false}
`

// permissionParts are the values that turn parts of the program on, by their names in permission.Permission.
func permissionParts() map[string]string {
	return map[string]string{
		names.CloudNodeController:          "controllers: {cloud-node-controller: true}",
		names.CloudNodeLifecycleController: "controllers: {cloud-node-lifecycle-controller: true}",
		names.ServiceLBController:          "controllers: {service-lb-controller: true}",
		names.NodeRouteController:          "cloudConfig: {routes: {enabled: true}}",
		rbac.NodeIPAM:                      "allocateNodeCIDRs: {enabled: true}",
		rbac.RemoveOrphans: "controllers: {service-lb-controller: true}\n" +
			"cloudConfig: {loadBalancer: {removeOrphans: true}}",
	}
}

// permissions makes the list of what the program needs to be permitted from the chart's roles, so that a program that
// checks permissions has no list of its own.
func permissions() Generator {
	return Generator{Name: "permissions", Files: func(ctx context.Context, root string) (map[string][]byte, error) {
		made := map[string][]byte{}
		var all []rbac.Permission
		opened, err := chart.Open(filepath.Join(root, filepath.FromSlash(chartFolder("thalassa-ccm"))))
		if err != nil {
			return nil, err
		}
		for _, accounts := range []bool{false, true} {
			found, err := programPermissions(ctx, opened, accounts)
			if err != nil {
				return nil, err
			}
			all = append(all, found...)
		}
		ironcore, err := rolePermissions(ctx, opened, "cloud: ironcore\npart: cloud\nironcore: {namespace: cluster, "+
			"subject: {kind: User, name: "+releaseName+"}}")
		if err != nil {
			return nil, err
		}
		for i := range ironcore { // the namespace is that of the kubeconfig
			one := &ironcore[i]
			one.Account, one.Namespaced, one.Namespace = "", one.Namespace != "", ""
		}
		if made[permissionFile], err = encodePermissions(all); err != nil {
			return nil, err
		}
		made[ironcorePermissionFile], err = encodePermissions(ironcore)
		return made, err
	}}
}

// programPermissions returns what each part of the program needs.
func programPermissions(ctx context.Context, opened *chart.Opened, accounts bool) ([]rbac.Permission, error) {
	values := strings.ReplaceAll(permissionValues, "ACCOUNTS", fmt.Sprint(accounts))
	process, err := rolePermissions(ctx, opened, values)
	if err != nil {
		return nil, err
	}
	service, err := rolePermissions(ctx, opened, values, permissionParts()[names.ServiceLBController])
	if err != nil {
		return nil, err
	}
	all := slices.Clone(process)
	for part, more := range permissionParts() {
		found, err := rolePermissions(ctx, opened, values, more)
		if err != nil {
			return nil, err
		}
		for _, one := range found {
			known := slices.Contains(process, one) || part == rbac.RemoveOrphans && slices.Contains(service, one)
			if one.Part = part; !known {
				all = append(all, one)
			}
		}
	}
	for i := range all {
		all[i].Accounts = accounts
	}
	return all, nil
}

// rolePermissions returns what the chart's roles permit with these values, which are merged. Without accounts of its
// cloud: their names depend on the cloud, and they only create events.
func rolePermissions(ctx context.Context, opened *chart.Opened, values ...string) ([]rbac.Permission, error) {
	merged := chartutil.Values{}
	for _, text := range values {
		more, err := chartutil.ReadValues([]byte(text))
		if err != nil {
			return nil, fmt.Errorf("reading values: %w", err)
		}
		merged = chartutil.MergeTables(more, merged)
	}
	manifest, _, err := opened.Render(ctx, chart.Release{Name: releaseName, Namespace: "kube-system",
		Values: merged})
	if err != nil {
		return nil, err
	}
	found, err := permissionsIn(manifest)
	return slices.DeleteFunc(found, func(p rbac.Permission) bool {
		return strings.HasPrefix(cmp.Or(p.Account, p.Name), "cloud-provider-")
	}), err
}

// permissionsIn returns what the roles in a manifest permit. The name of a role ends with that of its account.
func permissionsIn(manifest string) ([]rbac.Permission, error) {
	var found []rbac.Permission
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(manifest), len(manifest))
	for {
		var one rbacv1.ClusterRole // or a Role, which has the same fields
		switch err := decoder.Decode(&one); {
		case errors.Is(err, io.EOF):
			return found, nil
		case err != nil:
			return nil, fmt.Errorf("reading the roles of the chart: %w", err)
		}
		if one.Kind != "ClusterRole" && one.Kind != "Role" {
			continue
		}
		account := strings.TrimPrefix(strings.TrimPrefix(one.Name, releaseName), "-")
		for _, rule := range one.Rules {
			found = append(found, expandRule(rule, account, one.Namespace)...)
		}
	}
}

func expandRule(rule rbacv1.PolicyRule, account, namespace string) []rbac.Permission {
	var found []rbac.Permission
	objects := rule.ResourceNames
	if len(objects) == 0 {
		objects = []string{""}
	}
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				for _, name := range objects {
					found = append(found, rbac.Permission{Account: account, Verb: verb, Group: group,
						Resource: resource, Namespace: namespace, Name: name})
				}
			}
		}
	}
	return found
}

// encodePermissions writes one permission on each line, sorted.
func encodePermissions(all []rbac.Permission) ([]byte, error) {
	lines := make([]string, len(all))
	for i, one := range all {
		line, err := json.Marshal(one)
		if err != nil {
			return nil, fmt.Errorf("writing permissions: %w", err)
		}
		lines[i] = "  " + string(line)
	}
	slices.Sort(lines)
	var made bytes.Buffer
	fmt.Fprintf(&made, "[\n%s\n]\n", strings.Join(slices.Compact(lines), ",\n"))
	return made.Bytes(), nil
}
