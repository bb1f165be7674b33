package cloud

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestExcludedFromRoutes by annotation or label, of this domain only, and by anything that is not false.
func TestExcludedFromRoutes(t *testing.T) {
	key := "k8s.example.com/" + ExcludeFromRoutes
	for name, tt := range map[string]struct {
		meta   metav1.ObjectMeta
		domain string
		want   bool
	}{
		"neither":        {metav1.ObjectMeta{}, "k8s.example.com", false},
		"label":          {metav1.ObjectMeta{Labels: map[string]string{key: ""}}, "k8s.example.com", true},
		"annotation":     {metav1.ObjectMeta{Annotations: map[string]string{key: "true"}}, "k8s.example.com", true},
		"neither of two": {metav1.ObjectMeta{Annotations: map[string]string{key: "perhaps"}}, "k8s.example.com", true},
		"false":          {metav1.ObjectMeta{Annotations: map[string]string{key: "False"}}, "k8s.example.com", false},
		"other domain":   {metav1.ObjectMeta{Labels: map[string]string{key: "true"}}, "example.com", false},
		"no domain":      {metav1.ObjectMeta{Labels: map[string]string{"/" + ExcludeFromRoutes: "true"}}, "", false},
	} {
		if got := ExcludedFromRoutes(&corev1.Node{ObjectMeta: tt.meta}, tt.domain); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}
