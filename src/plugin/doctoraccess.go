package plugin

import (
	"context"
	"fmt"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/event"
	"github.com/thalassa-cloud/thalassa-ccm/src/rbac"
)

// checkCloud checks what the credentials permit, and returns whether the cloud can be read.
func (d *doctor) checkCloud(ctx context.Context) bool {
	d.section = sectionCloud
	offered := d.session.inspection.Cloud
	if offered.CheckAccess == nil {
		d.add("cloud-access", NotChecked, "The cloud does not tell what the credentials permit.", "")
	} else {
		for _, one := range offered.CheckAccess(ctx) {
			d.checkAccess(one.Action, one.OnlyFor, one.Err, one.Unknown)
		}
	}
	failed := slices.ContainsFunc(d.checks, func(one Check) bool {
		return one.Section == sectionCloud && one.Status == CheckProblem
	})
	if failed {
		return false
	}
	if err := d.session.observe(ctx); err != nil {
		next := "Check the address of the cloud in the configuration, and the network."
		if apierrors.IsUnauthorized(err) {
			next = "Check the credentials of the cloud in the configuration."
		}
		d.add("cloud", CheckProblem, err.Error(), next)
		return false
	}
	return true
}

// checkAccess adds the answer about one action in the cloud.
func (d *doctor) checkAccess(action, onlyFor string, err error, unknown string) {
	switch {
	case unknown != "":
		d.addOf("cloud-access", action, NotChecked, unknown+".", "")
	case err != nil && onlyFor != "":
		d.addOf("cloud-access", action, CheckWarning, event.Sentences(err.Error(), "Only "+onlyFor+" need it"),
			"If you use them, extend the permissions of the credentials.")
	case err != nil:
		d.addOf("cloud-access", action, CheckProblem, err.Error(), "Check the credentials and their permissions. See "+
			d.Build.Document("docs/guides/credentials.md"))
	default:
		d.addOf("cloud-access", action, CheckOK, "It is permitted.", "")
	}
}

// serviceAccounts begins the names of users that are service accounts.
const serviceAccounts = "system:serviceaccount:"

// checkPermissions checks what the accounts of the cloud controller manager may do in Kubernetes.
func (d *doctor) checkPermissions(ctx context.Context) {
	d.section = sectionPermissions
	inspection, found := d.session.inspection, d.session.workload
	if found == nil {
		d.add("permissions", NotChecked, "The account of the cloud controller manager is not known, because it is not "+
			"in this cluster.", "")
		return
	}
	needed, err := rbac.Needed(inspection.OwnAccounts, d.runs)
	if err != nil {
		d.add("permissions", NotChecked, err.Error(), "")
		return
	}
	users, byUser := []string{}, map[string][]rbac.Permission{}
	for _, one := range needed {
		user := d.userOf(one)
		if !slices.Contains(users, user) {
			users = append(users, user)
		}
		byUser[user] = append(byUser[user], one)
	}
	slices.Sort(users)
	for _, user := range users {
		d.checkUser(ctx, user, byUser[user])
	}
}

// runs reports whether a part of the program runs.
func (d *doctor) runs(part string) bool {
	inspection := d.session.inspection
	if part == rbac.RemoveOrphans {
		return inspection.Cloud.LoadBalancers != nil && inspection.Cloud.LoadBalancerBehaviour.RemoveOrphans
	}
	return inspection.Runs(part)
}

// ownUser stands for the user of the kubeconfig that the cloud controller manager uses.
const ownUser = "the user of its kubeconfig"

// userOf returns the user that needs a permission.
func (d *doctor) userOf(needed rbac.Permission) string {
	account := d.session.workload.ServiceAccount
	if account == "" {
		account = "default"
	}
	switch {
	case needed.Account != "":
		return serviceAccounts + metav1.NamespaceSystem + ":" + needed.Account
	case d.session.inspection.Kubeconfig != "" && !d.process.Environment.Own():
		return ownUser // the session uses it, too
	}
	return serviceAccounts + d.session.workload.Namespace + ":" + account
}

// checkUser checks what one user may do.
func (d *doctor) checkUser(ctx context.Context, user string, needed []rbac.Permission) {
	var missing []string
	for _, one := range needed {
		one = d.adapt(one)
		if one.Resource == "" {
			continue
		}
		allowed, err := d.allowed(ctx, user, one)
		if err != nil {
			next := ""
			if apierrors.IsForbidden(err) {
				next = "Ask for the permission to create subjectaccessreviews."
			}
			d.addOf("permissions", user, NotChecked, err.Error(), next)
			return
		}
		if text := one.String(); !allowed && !slices.Contains(missing, text) {
			missing = append(missing, text)
		}
	}
	if len(missing) > 0 {
		d.addOf("permissions", user, CheckProblem, "It may not "+strings.Join(missing, "; ")+".", "Install the roles "+
			"of the chart of its version. See "+d.Build.Document("docs/reference/rbac.md"))
		return
	}
	d.addOf("permissions", user, CheckOK, "It may do everything that the controllers need.", "")
}

// adapt returns a permission with the names of this installation. It has no resource if it is not needed here.
func (d *doctor) adapt(one rbac.Permission) rbac.Permission {
	inspection := d.session.inspection
	if one.Resource != "leases" {
		return one
	}
	if !inspection.LeaderElection {
		return rbac.Permission{}
	}
	one.Namespace = inspection.LeaseNamespace
	if one.Name != "" {
		one.Name = inspection.LeaseName
	}
	return one
}

// allowed asks whether a user may do something.
func (d *doctor) allowed(ctx context.Context, user string, one rbac.Permission) (bool, error) {
	resource, subresource, _ := strings.Cut(one.Resource, "/")
	asked := &authorizationv1.ResourceAttributes{Namespace: one.Namespace, Verb: one.Verb, Group: one.Group,
		Resource: resource, Subresource: subresource, Name: one.Name}
	reviews := d.session.client.AuthorizationV1()
	if user == ownUser {
		answer, err := reviews.SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
			Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: asked}}, metav1.CreateOptions{})
		if err != nil {
			return false, fmt.Errorf("asking what %s may do: %w", user, err)
		}
		return answer.Status.Allowed, nil
	}
	answer, err := reviews.SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{ResourceAttributes: asked, User: user, Groups: groupsOf(user)}},
		metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("asking what %s may do: %w", user, err)
	}
	return answer.Status.Allowed, nil
}

// groupsOf returns the groups that a service account has.
func groupsOf(user string) []string {
	namespace, _, _ := strings.Cut(strings.TrimPrefix(user, serviceAccounts), ":")
	return []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"}
}
