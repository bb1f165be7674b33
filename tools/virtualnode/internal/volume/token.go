package volume

import (
	"context"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// tokenSeconds is the lifetime of a token when its volume does not say: the API's default.
	tokenSeconds = 3600

	// tokenMaxAge is when a token is replaced at the latest, as kubelet does.
	tokenMaxAge = 24 * time.Hour
)

// tokenKey is what one token of a pod differs from another in.
type tokenKey struct {
	audience string
	seconds  int64
}

// token is a ServiceAccount token and when to replace it.
type token struct {
	value   string
	refresh time.Time
}

// token returns a token for the pod's ServiceAccount, bound to the pod, that is not due for
// replacement.
func (s *Set) token(ctx context.Context, p *corev1.ServiceAccountTokenProjection) (string, error) {
	key := tokenKey{p.Audience, tokenSeconds}
	if p.ExpirationSeconds != nil {
		key.seconds = *p.ExpirationSeconds
	}
	now := time.Now()
	if t, ok := s.tokens[key]; ok && now.Before(t.refresh) {
		return t.value, nil
	}
	pod := s.options.Pod()
	account := pod.Spec.ServiceAccountName
	if account == "" {
		account = "default"
	}
	answer, err := s.options.Client.CoreV1().ServiceAccounts(pod.Namespace).CreateToken(ctx, account, request(pod, key),
		metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("requesting a token for ServiceAccount %q: %w", account, err)
	}
	s.tokens[key] = token{answer.Status.Token, refreshAt(now, answer.Status.ExpirationTimestamp.Time)}
	return answer.Status.Token, nil
}

func request(pod *corev1.Pod, key tokenKey) *authenticationv1.TokenRequest {
	r := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		ExpirationSeconds: &key.seconds,
		BoundObjectRef: &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: pod.Name,
			UID: pod.UID},
	}}
	if key.audience != "" {
		r.Spec.Audiences = []string{key.audience}
	}
	return r
}

// refreshAt is kubelet's rule: after 80% of the lifetime, or a day.
func refreshAt(issued, expires time.Time) time.Time {
	return issued.Add(min(expires.Sub(issued)*8/10, tokenMaxAge))
}
