package balancer

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
)

// service returns a Service of type LoadBalancer with TCP ports; node ports are 30000 above.
func service(name string, ports ...int32) *corev1.Service {
	s := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID("0a1b2c3d-" + name),
			Annotations: map[string]string{label.AnnotationPrefix + "type": "public"}},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer},
	}
	for _, port := range ports {
		s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{
			Name: fmt.Sprintf("p%d", port), Protocol: corev1.ProtocolTCP, Port: port, NodePort: 30000 + port,
			TargetPort: intstr.FromInt32(8080),
		})
	}
	return s
}

// many returns as many ports from 1000 on.
func many(count int) []corev1.ServicePort {
	var ports []corev1.ServicePort
	for i := range int32(count) {
		ports = append(ports, corev1.ServicePort{Name: fmt.Sprintf("p%d", i), Protocol: corev1.ProtocolTCP,
			Port: 1000 + i, NodePort: 30000 + i})
	}
	return ports
}

// annotated returns what puts annotations of this cloud, name and value in turn, on a Service.
func annotated(pairs ...string) func(*corev1.Service) {
	return func(s *corev1.Service) {
		for pair := range slices.Chunk(pairs, 2) {
			s.Annotations[label.AnnotationPrefix+pair[0]] = pair[1]
		}
	}
}
