package volume

import (
	"context"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// tokenMaxAge is when a token is replaced at the latest, as kubelet does.
const tokenMaxAge = 24 * time.Hour

// token is a ServiceAccount token and when to replace it.
type token struct {
	value   string
	refresh time.Time
}

// token returns a token for the pod's ServiceAccount, bound to the pod, that is not due for
// replacement.
func (s *Set) token(ctx context.Context, p *corev1.ServiceAccountTokenProjection) (string, error) {
	now := time.Now()
	if t := s.tokens[p]; now.Before(t.refresh) {
		return t.value, nil
	}
	pod := s.options.Pod()
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		ExpirationSeconds: p.ExpirationSeconds,
		BoundObjectRef: &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: pod.Name,
			UID: pod.UID},
	}}
	if p.Audience != "" {
		request.Spec.Audiences = []string{p.Audience}
	}
	account := pod.Spec.ServiceAccountName
	answer, err := s.options.Client.CoreV1().ServiceAccounts(pod.Namespace).CreateToken(ctx, account, request,
		metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("requesting a token for ServiceAccount %q: %w", account, err)
	}
	s.tokens[p] = token{answer.Status.Token, refreshAt(now, answer.Status.ExpirationTimestamp.Time)}
	return answer.Status.Token, nil
}

// refreshAt is kubelet's rule: after 80% of the lifetime, or a day.
func refreshAt(issued, expires time.Time) time.Time {
	return issued.Add(min(expires.Sub(issued)*8/10, tokenMaxAge))
}
