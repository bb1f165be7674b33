package main

import (
	"encoding/json"
	"strings"

	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/client"
)

// plant applies the load balancer of a Service as the existing cloud controller manager of IronCore does, with the
// selector that is its default. It uses only the client of this one.
func (r *ironRig) plant(s *corev1.Service) {
	r.Helper()
	api, err := client.New(r.iron.Config(), ironNamespace)
	if err != nil {
		r.Fatal(err)
	}
	protocol := corev1.ProtocolTCP
	one := &networkingv1alpha1.LoadBalancer{
		TypeMeta: metav1.TypeMeta{APIVersion: networkingv1alpha1.SchemeGroupVersion.String(), Kind: "LoadBalancer"},
		ObjectMeta: metav1.ObjectMeta{Namespace: ironNamespace, Name: strings.ReplaceAll(string(s.UID), "-", ""),
			Annotations: map[string]string{"cluster-name": "blue", "service-name": s.Name,
				"service-namespace": s.Namespace, "service-uid": string(s.UID)}},
		Spec: networkingv1alpha1.LoadBalancerSpec{Type: networkingv1alpha1.LoadBalancerTypePublic,
			IPFamilies: s.Spec.IPFamilies, NetworkRef: corev1.LocalObjectReference{Name: ironNetwork},
			Ports: []networkingv1alpha1.LoadBalancerPort{{Port: 80, Protocol: &protocol}},
			NetworkInterfaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{
				"kubernetes.io/cluster": "blue"}}},
	}
	data, err := json.Marshal(one)
	if err != nil {
		r.Fatal(err)
	}
	force := true
	if _, err := api.LoadBalancers.Patch(r.Context(), one.Name, types.ApplyPatchType, data, metav1.PatchOptions{
		FieldManager: "cloud-provider.ironcore.dev/loadbalancer", Force: &force}); err != nil {
		r.Fatal(err)
	}
}
