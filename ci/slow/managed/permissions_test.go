package managed

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplanetest"
)

// wantNoPermissions wants the pods' account to be allowed what every new account is, and nothing else.
func (c *cluster) wantNoPermissions(t *testing.T, namespace string) {
	t.Helper()
	c.makeAccount(t, namespace, "fresh")
	for _, where := range []string{namespace, metav1.NamespaceSystem, metav1.NamespaceDefault} {
		want, got := c.rules(t, namespace, "fresh", where), c.rules(t, namespace, "thalassa-ccm", where)
		if diff := cmp.Diff(want, got); diff != "" || len(want) == 0 {
			t.Errorf("in namespace %s of the hosting cluster (-a new account +the pods'):\n%s", where, diff)
		}
	}
}

// TestPermissionsAreSeen: what one role more permits an account makes it different from a new one, in that namespace
// only, or in all.
func TestPermissionsAreSeen(t *testing.T) {
	c := hostingCluster(t)
	namespace := controlplanetest.Namespace(t)
	for _, name := range []string{"fresh", "local", "everywhere"} {
		c.makeAccount(t, namespace, name)
	}
	subject := func(name string) []rbacv1.Subject {
		return []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name}}
	}
	view := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"}
	local := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "local"}, Subjects: subject("local"),
		RoleRef: view}
	if _, err := c.client.RbacV1().RoleBindings(namespace).Create(t.Context(), local,
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	everywhere := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: namespace},
		Subjects: subject("everywhere"), RoleRef: view}
	if _, err := c.client.RbacV1().ClusterRoleBindings().Create(t.Context(), everywhere,
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.client.RbacV1().ClusterRoleBindings().Delete(context.WithoutCancel(t.Context()), namespace,
			metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	controlplanetest.Eventually(t, waitTimeout, "the bindings count", func(context.Context) error {
		fresh := c.rules(t, namespace, "fresh", namespace)
		if slices.Equal(c.rules(t, namespace, "local", namespace), fresh) ||
			slices.Equal(c.rules(t, namespace, "everywhere", namespace), fresh) {
			return errors.New("an account with a binding has the rules of one without")
		}
		return nil
	})
	fresh := c.rules(t, namespace, "fresh", metav1.NamespaceDefault)
	if got := c.rules(t, namespace, "local", metav1.NamespaceDefault); !slices.Equal(got, fresh) {
		t.Errorf("what is permitted in one namespace is so in another: %v", got)
	}
	if got := c.rules(t, namespace, "everywhere", metav1.NamespaceDefault); slices.Equal(got, fresh) {
		t.Errorf("what is permitted everywhere is not seen in namespace default: %v", got)
	}
}

func (c *cluster) makeAccount(t *testing.T, namespace, name string) {
	t.Helper()
	made := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := c.client.CoreV1().ServiceAccounts(namespace).Create(t.Context(), made,
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// rules asks, as an account, what it may do in a namespace; they are sorted.
func (c *cluster) rules(t *testing.T, namespace, name, where string) []string {
	t.Helper()
	token, err := c.client.CoreV1().ServiceAccounts(namespace).CreateToken(t.Context(), name,
		&authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	config := rest.AnonymousClientConfig(c.plane.Config())
	config.BearerToken = token.Status.Token
	account, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	review :=
		&authorizationv1.SelfSubjectRulesReview{Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: where}}
	if review, err = account.AuthorizationV1().SelfSubjectRulesReviews().Create(t.Context(), review,
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, rule := range review.Status.ResourceRules {
		found = append(found, fmt.Sprintf("%s %s.%s %s", rule.Verbs, strings.Join(rule.Resources, ","),
			strings.Join(rule.APIGroups, ","), rule.ResourceNames))
	}
	for _, rule := range review.Status.NonResourceRules {
		found = append(found, fmt.Sprintf("%s %s", rule.Verbs, rule.NonResourceURLs))
	}
	slices.Sort(found)
	return found
}
