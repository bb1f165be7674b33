// Package workload finds the cloud controller manager in a cluster, and reads what its process has: its flags,
// environment variables and mounted files.
//
// It reads objects when they are needed. So a user needs permissions only for those that the configuration refers to.
package workload

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Program is the name of the executable in the image.
const Program = "thalassa-cloud-controller-manager"

// ErrNotFound is the error if the cluster has no workload with the program.
var ErrNotFound = errors.New("no cloud controller manager was found in this cluster")

// ErrUnproven is the error if it is not known whether an administrator made a workload.
var ErrUnproven = errors.New("it is not proven that an administrator made it")

// Workload is the Deployment or DaemonSet of the cloud controller manager.
type Workload struct {
	Kind, Namespace, Name string
	// Desired and Ready are numbers of pods. Updated are those of the latest revision.
	Desired, Ready, Updated int32
	Selector                *metav1.LabelSelector
	ServiceAccount          string
	Container               corev1.Container
	// Proven means that an administrator made it: it is in kube-system, or its account may do what tenants may not do.
	// Everybody who may create a Deployment in any namespace can make one that looks like it.
	Proven bool

	pod    corev1.PodSpec
	labels map[string]string
	client kubernetes.Interface
}

// String is "Deployment kube-system/thalassa-ccm".
func (w *Workload) String() string { return fmt.Sprintf("%s %s/%s", w.Kind, w.Namespace, w.Name) }

// Find returns the workload of the cloud controller manager. Name is NAMESPACE/NAME; if it is empty, all namespaces are
// searched, or kube-system if the user may not list all. Proven workloads take precedence, and among these those with
// ready pods. The error wraps ErrNotFound if there is none. If several are left, it names them, and wraps ErrUnproven
// if none is proven.
func Find(ctx context.Context, client kubernetes.Interface, name string) (*Workload, error) {
	namespace, one, named := strings.Cut(name, "/")
	if name != "" && (!named || namespace == "" || one == "") {
		return nil, fmt.Errorf("--ccm=%s: want NAMESPACE/NAME of a Deployment or DaemonSet", name)
	}
	found, err := search(ctx, client, namespace, runsProgram)
	switch {
	case apierrors.IsForbidden(err) && !named:
		return nil, fmt.Errorf("looking for the cloud controller manager (name its workload with --ccm=NAMESPACE/NAME "+
			"if you may read only its namespace): %w", err)
	case err != nil:
		return nil, fmt.Errorf("looking for the cloud controller manager: %w", err)
	}
	if named {
		found = slices.DeleteFunc(found, func(w *Workload) bool { return w.Name != one })
	} else {
		found = prefer(ready, prove(ctx, found, serves()))
	}
	switch {
	case len(found) == 0 && named:
		return nil, fmt.Errorf("%w: %s has no container that runs %s", ErrNotFound, name, Program)
	case len(found) == 0:
		return nil, ErrNotFound
	case len(found) == 1:
		return found[0], nil
	}
	err = fmt.Errorf("the cluster has several cloud controller managers (%s): choose one with --ccm=NAMESPACE/NAME",
		Names(found))
	if !found[0].Proven {
		err = fmt.Errorf("%w; of each of them, %w", err, ErrUnproven)
	}
	return nil, err
}

func ready(w *Workload) bool { return w.Ready > 0 }

// prefer returns the workloads with a property, or all if none has it.
func prefer(property func(*Workload) bool, all []*Workload) []*Workload {
	if some := with(all, property); len(some) > 0 {
		return some
	}
	return all
}

// serves is what tenants may not do: write the addresses of the Services of all namespaces.
func serves() *authorizationv1.ResourceAttributes {
	return &authorizationv1.ResourceAttributes{Verb: "patch", Resource: "services", Subresource: "status"}
}

// prove returns the workloads that an administrator made: those of kube-system, and those whose account may do what
// tenants may not do. If there are none, it returns all. Accounts are asked about only if those of kube-system have no
// ready pod.
func prove(ctx context.Context, all []*Workload, may *authorizationv1.ResourceAttributes) []*Workload {
	proven := func(w *Workload) bool { return w.Proven }
	for _, one := range all {
		one.Proven = one.Namespace == metav1.NamespaceSystem
	}
	if slices.ContainsFunc(all, func(w *Workload) bool { return w.Proven && ready(w) }) {
		return prefer(proven, all)
	}
	permitted := map[string]bool{} // by the account
	for _, one := range all {
		account := one.account()
		if _, asked := permitted[account]; !one.Proven && !asked {
			permitted[account] = one.permitted(ctx, may)
		}
		one.Proven = one.Proven || permitted[account]
	}
	return prefer(proven, all)
}

// account is the user that the pods are.
func (w *Workload) account() string {
	return "system:serviceaccount:" + w.Namespace + ":" + cmp.Or(w.ServiceAccount, "default")
}

// permitted reports whether the account may do something in all namespaces. It reports false if the user may not ask.
func (w *Workload) permitted(ctx context.Context, may *authorizationv1.ResourceAttributes) bool {
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: w.account(),
		Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + w.Namespace,
			"system:authenticated"},
		ResourceAttributes: may}}
	answer, err := w.client.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
	return err == nil && answer.Status.Allowed
}

// mostNamed is the number of workloads that a message names: everybody who may create Deployments can make many.
const mostNamed = 3

// Names names some workloads, and counts the others.
func Names(all []*Workload) string {
	var names []string
	for _, one := range all {
		names = append(names, one.String())
	}
	slices.Sort(names)
	if more := len(names) - mostNamed; more > 0 {
		names = append(names[:mostNamed], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}

// Former is what a cloud controller manager is called that this program replaces.
type Former struct {
	// Cloud is its --cloud-provider.
	Cloud string
	// Programs are the names of its executable and its images, without registry and tag.
	Programs []string
}

// is reports whether a container runs it: by its executable, its image, or the cloud that it is for.
func (f Former) is(c corev1.Container) bool {
	if len(c.Command) > 0 && slices.Contains(f.Programs, path.Base(c.Command[0])) {
		return true
	}
	image, _, _ := strings.Cut(c.Image, "@")
	for part := range strings.SplitSeq(image, "/") {
		if name, _, _ := strings.Cut(part, ":"); slices.Contains(f.Programs, name) {
			return true
		}
	}
	return !runsProgram(c) && slices.Contains(slices.Concat(c.Command, c.Args), "--cloud-provider="+f.Cloud)
}

// FindFormer returns the workloads of a program that this one replaces, those with ready pods first, and whether each
// is proven. It searches all namespaces, or kube-system if the user may not list all.
func FindFormer(ctx context.Context, client kubernetes.Interface, former Former) ([]*Workload, error) {
	found, err := search(ctx, client, metav1.NamespaceAll, former.is)
	if err != nil {
		return nil, fmt.Errorf("looking for the existing cloud controller manager of %s: %w", former.Cloud, err)
	}
	prove(ctx, found, serves())
	slices.SortStableFunc(found, func(a, b *Workload) int { return cmp.Compare(min(b.Ready, 1), min(a.Ready, 1)) })
	return found, nil
}

// CSIProgram is the name of the executable in the image of the CSI driver.
const CSIProgram = "thalassa-csi-driver"

// CSI is the CSI driver in a cluster.
type CSI struct {
	// Controller, and Node in its namespace, are proven; nil is that there is none.
	Controller, Node *Workload
	// Unproven look like parts of a driver. They are not used.
	Unproven []*Workload
}

// FindCSI returns the CSI driver. Among several proven controllers, those with ready pods take precedence.
func FindCSI(ctx context.Context, client kubernetes.Interface) (CSI, error) {
	found, err := search(ctx, client, metav1.NamespaceAll, func(c corev1.Container) bool {
		return len(c.Command) > 0 && path.Base(c.Command[0]) == CSIProgram
	})
	if err != nil {
		return CSI{}, fmt.Errorf("looking for the CSI driver: %w", err)
	}
	controllers, nodes := with(found, runs("controller")), with(found, runs("node"))
	prove(ctx, controllers, &authorizationv1.ResourceAttributes{Verb: "create", Resource: "persistentvolumes"})
	prove(ctx, nodes, &authorizationv1.ResourceAttributes{Verb: "get", Resource: "nodes"})
	proven := func(w *Workload) bool { return w.Proven }
	controller := first(prefer(ready, with(controllers, proven)))
	node := first(with(nodes, func(w *Workload) bool {
		return w.Proven && (controller == nil || w.Namespace == controller.Namespace)
	}))
	unproven := with(slices.Concat(controllers, nodes), func(w *Workload) bool { return !w.Proven })
	return CSI{Controller: controller, Node: node, Unproven: unproven}, nil
}

// runs returns a property of workloads: that the container has a command of the program.
func runs(command string) func(*Workload) bool {
	return func(w *Workload) bool {
		return slices.Contains(slices.Concat(w.Container.Command, w.Container.Args), command)
	}
}

// with returns the workloads with a property.
func with(all []*Workload, property func(*Workload) bool) []*Workload {
	return slices.DeleteFunc(slices.Clone(all), func(w *Workload) bool { return !property(w) })
}

// first returns the first workload; nil if there is none.
func first(all []*Workload) *Workload {
	if len(all) == 0 {
		return nil
	}
	return all[0]
}

// search returns the workloads of a namespace that have such a container. Without a namespace, it searches all, or
// kube-system if the user may not list all.
func search(ctx context.Context, client kubernetes.Interface, namespace string,
	chosen func(corev1.Container) bool) ([]*Workload, error) {
	found, err := list(ctx, client, namespace, chosen)
	if apierrors.IsForbidden(err) && namespace == "" {
		return list(ctx, client, metav1.NamespaceSystem, chosen)
	}
	return found, err
}

// list returns the workloads of a namespace, "" for all, that have such a container.
func list(ctx context.Context, client kubernetes.Interface, namespace string,
	chosen func(corev1.Container) bool) ([]*Workload, error) {
	deployments, err := client.AppsV1().Deployments(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	sets, err := client.AppsV1().DaemonSets(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	var found []*Workload
	for i := range deployments.Items {
		found = append(found, fromDeployment(&deployments.Items[i]))
	}
	for i := range sets.Items {
		found = append(found, fromDaemonSet(&sets.Items[i]))
	}
	found = slices.DeleteFunc(found, func(w *Workload) bool { return !w.chooseContainer(chosen) })
	for _, one := range found {
		one.client = client
	}
	return found, nil
}

func fromDeployment(d *appsv1.Deployment) *Workload {
	desired := int32(1)
	if d.Spec.Replicas != nil {
		desired = *d.Spec.Replicas
	}
	return &Workload{Kind: "Deployment", Namespace: d.Namespace, Name: d.Name, Desired: desired,
		Ready: d.Status.ReadyReplicas, Updated: d.Status.UpdatedReplicas, Selector: d.Spec.Selector,
		ServiceAccount: d.Spec.Template.Spec.ServiceAccountName, pod: d.Spec.Template.Spec, labels: d.Labels}
}

func fromDaemonSet(d *appsv1.DaemonSet) *Workload {
	return &Workload{Kind: "DaemonSet", Namespace: d.Namespace, Name: d.Name, Desired: d.Status.DesiredNumberScheduled,
		Ready: d.Status.NumberReady, Updated: d.Status.UpdatedNumberScheduled, Selector: d.Spec.Selector,
		ServiceAccount: d.Spec.Template.Spec.ServiceAccountName, pod: d.Spec.Template.Spec, labels: d.Labels}
}

// runsProgram reports whether a container runs the program.
func runsProgram(c corev1.Container) bool {
	return len(c.Command) > 0 && path.Base(c.Command[0]) == Program
}

// chooseContainer sets the first such container, and reports whether there is one.
func (w *Workload) chooseContainer(chosen func(corev1.Container) bool) bool {
	i := slices.IndexFunc(w.pod.Containers, chosen)
	if i >= 0 {
		w.Container = w.pod.Containers[i]
	}
	return i >= 0
}

// labelVersion is the label of the version that Kubernetes recommends. The chart and the overlays set it.
const labelVersion = "app.kubernetes.io/version"

// Version returns the version in the tag of the image. If the image has only a digest, it is that of the label of the
// workload, and "" without the label.
func (w *Workload) Version() string {
	image, _, _ := strings.Cut(w.Container.Image, "@")
	_, tag, tagged := strings.Cut(image[strings.LastIndex(image, "/")+1:], ":")
	if !tagged {
		return w.labels[labelVersion]
	}
	return tag
}
