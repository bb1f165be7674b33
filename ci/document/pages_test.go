package document_test

// fill edits files of overlays as their comments describe.
const fill = `fill() {
	sed -i -e 's/^organisation: ""/organisation: my-organisation/' \
		-e 's/^vpcIdentity: ""/vpcIdentity: vpc-0123456789/' \
		-e 's/^cluster: ""/cluster: production/' -e 's/^networkName: ""/networkName: nodes/' \
		-e 's/^clusterName: ""/clusterName: production/' -e 's/^  name: ""/  name: cloud-controller-manager/' \
		-e 's/SET_NAMESPACE/production/' "$@"
}
cd kustomize/overlays
`

// installations are the documents about an empty cluster.
func installations() map[string]page {
	return map[string]page{
		// The stage test compiles src with the race detector and all else without it, so this does not compile more.
		"CONTRIBUTING.md": {checkout: true, before: "make | grep '^  make verify '",
			replace: []string{"go test ", "go test -trimpath -vet=off -count=1 ", "TRIAL_LIVES=100", "TRIAL_LIVES=1"},
			want:    []string{`^ok\s+\S+/src/thalassa\s`, `^[1-9]\d* passed, 0 failed`}},
		"README.md": {
			before: fill + `fill self-managed/cloud-config.yaml`,
			after:  "kubectl get daemonset thalassa-ccm --namespace kube-system",
			want:   []string{`^STATUS: deployed`, `^daemonset.apps/thalassa-ccm (created|configured)`},
		},
		"charts/thalassa-csi/README.md": {
			after: "kubectl get deployment thalassa-csi-controller --namespace thalassa-system",
			want:  []string{`^STATUS: deployed`},
		},
		"docs/guides/credentials.md": {after: "kubectl describe secret thalassa-credentials --namespace kube-system",
			want: []string{`clientID: +\d+ bytes`, `clientSecret: +\d+ bytes`}},
		"docs/guides/ironcore.md": {
			before: fill + `fill ironcore/cloud-config.yaml ironcore-permissions/subject.yaml
kubectl create namespace production`,
			after: "kubectl get role thalassa-ccm --namespace production",
			want:  []string{`^STATUS: deployed`},
		},
		"docs/guides/kustomize.md": {
			before: fill + `fill self-managed/cloud-config.yaml managed/cloud-config.yaml managed-tenant/subject.yaml
kubectl create namespace tenant-a`,
			want: []string{`successfully rolled out`, `^deployment.apps/thalassa-ccm created`,
				`^configmap/thalassa-ca created`},
		},
		"docs/guides/managed.md": {
			before: "kubectl create namespace cluster-production",
			after: `kubectl get deployment thalassa-ccm --namespace cluster-production
kubectl get clusterrolebinding thalassa-ccm --output wide`,
			want: []string{`^STATUS: deployed`, `cloud-controller-manager`},
		},
		"docs/guides/migrate-csi.md": {
			before: "kubectl apply -f csi.yaml\nkubectl create namespace thalassa-system",
			replace: []string{"<controller>", "csi-thalassa-controller", "<namespace>", "csi-thalassa",
				"<node plug-in>", "csi-thalassa-node"},
			after: "kubectl get csidriver csi.k8s.thalassa.cloud --show-labels",
			want: []string{`^worker-1 +thalassacloud://`, `--cluster=production`, `^tc-block .*"volume-type":"block"`,
				`^vol-0123456789 pv-ext2 Retain$`, `^pv-ext2 ext2$`, `csi-thalassa-node`,
				`^worker-1 +csi.k8s.thalassa.cloud`, `^STATUS: deployed`},
			never: []string{`^other `},
		},
		"docs/guides/volumes.md": {
			before: "kubectl apply -f csi.yaml\nkubectl delete csidriver,storageclass --all\n" + snapshots,
			after:  "kubectl get persistentvolumeclaim data --output jsonpath='{.spec.resources.requests.storage}'",
			want:   []string{`^STATUS: deployed`, `^volumesnapshots.snapshot.storage.k8s.io`, `^40Gi$`},
		},
		"docs/reference/cloud-config.md": {before: `mkdir credentials
cp token credentials/personalAccessToken
printf '%s\n' 'organisation: my-organisation' 'vpcIdentity: vpc-0123456789' 'cluster: production' \
  "cloudCredentials: {directory: $PWD/credentials}" >cloud-config.yaml`},
		"docs/reference/cloud-config-ironcore.md": {
			before: `printf '%s\n' 'networkName: nodes' 'clusterName: blue' >cloud-config.yaml`},
	}
}

// snapshots lets git have the repository that defines snapshots, without the internet.
const snapshots = `kubectl apply -f snapshots.yaml
git init --quiet snapshotter
mkdir -p snapshotter/client/config/crd
cp snapshots.yaml snapshotter/client/config/crd/
printf 'resources: [snapshots.yaml]\n' >snapshotter/client/config/crd/kustomization.yaml
cd snapshotter
git add --all
git -c user.name=Test -c user.email=test@example.com commit --quiet --message=all
git tag v8.7.0
git config --global "url.file://$PWD.insteadOf" https://github.com/kubernetes-csi/external-snapshotter
`

// running are the documents about a cluster in which the chart is installed that need more than their world.
func running() map[string]page {
	return map[string]page{
		"docs/guides/internal.md":        {want: []string{`^internal +LoadBalancer .* 127\.`}},
		"docs/guides/expose-publicly.md": {want: []string{`^public +LoadBalancer .* 127\.`}},
		"docs/guides/reserved-ip.md":     {want: []string{`^reserved-ip +LoadBalancer .* 127\.`}},
		"docs/guides/proxy-protocol.md":  {want: []string{`^proxy-protocol +LoadBalancer .* 127\.`}},
		"docs/guides/source-ranges.md":   {replace: []string{"curl --max-time 5", "refused curl --max-time 5"}},
		"docs/guides/keep-and-adopt.md": {before: `kubectl apply -f examples/services/keep.yaml
kubectl wait --for=condition=LoadBalancerProvisioned service/keep --timeout=1m`},
		"docs/guides/services.md": {want: []string{`^LoadBalancerProvisioned=True`, `^pod: web-`,
			`LoadBalancerOrphaned`}},
		"docs/guides/lost-labels.md": {want: []string{`^a[0-9a-f]{31}$`}},
		"docs/guides/routes.md":      {want: []string{`^worker-1 +\[?10\.244\.`, `^worker-1 RouteCreated$`}},
		"docs/guides/node-removal.md": {want: []string{`^worker-7$`, `^node/worker-7 annotated`},
			never: []string{`^worker-1$`}},
		"docs/guides/nodes.md": {want: []string{`^Name: +worker-7`}},
		"docs/guides/monitoring.md": {replace: []string{"--user=me",
			"--user=system:serviceaccount:default:default", "<node>", "$(kubectl get node control-plane --output " +
				"jsonpath='{.status.addresses[?(@.type==\"InternalIP\")].address}')"}, want: []string{`^# HELP `}},
		"docs/guides/kubectl.md": {checkout: true, before: archive,
			replace: []string{"/usr/local/bin", "$BIN", "sha256sum --check", `cd "$BIN/archive" && sha256sum --check`,
				"make bin/", "cd - && make bin/"},
			after: "kubectl thalassa plan --all-namespaces",
			want:  []string{`^No changes: the cloud agrees with 1 Service`}},
		"docs/guides/troubleshoot.md": {replace: []string{"thalassa doctor", "thalassa doctor || [[ $? == 1 ]]"},
			want: []string{`^ +Problem +node/worker-7: MachineNotFound`}},
		"docs/guides/admission-policy.md": {want: []string{`validatingadmissionpolicybinding.* created`}},
		"docs/guides/migrate.md": {
			before: "kubectl apply -f migrate.yaml\n" +
				"kubectl wait --for=condition=LoadBalancerConfigValid=False service/mistaken --timeout=1m",
			want: []string{`^default/ranges 192.0.2.0/24$`, `^default/beta-ranges 198.51.100.0/24$`,
				`^default/single loadbalancer.k8s.thalassa.cloud/acl-port-http=192.0.2.10$`,
				`^default/addressed 203.0.113.10$`,
				`^default/mistaken loadbalancer.k8s.thalassa.cloud/max-connection=1$`,
				`^default/ported acl-allowed-sources.http=192.0.2.0/24$`, `^default/both$`, `^default/named$`,
				`^default/mistaken .*max-connection`},
			never: []string{`^default/plain`},
		},
	}
}

// archive makes an archive of the plug-in of kubectl as a release has it.
const archive = `mkdir "$BIN/archive"
cd "$BIN/archive"
cp "$BIN/thalassa-cloud-controller-manager" kubectl-thalassa
cp kubectl-thalassa kubectl_complete-thalassa
tar -czf kubectl-thalassa_1.2.3_linux_amd64.tar.gz kubectl-thalassa kubectl_complete-thalassa
rm kubectl-thalassa kubectl_complete-thalassa
sha256sum kubectl-thalassa_1.2.3_linux_amd64.tar.gz >SHA256SUMS
`

// removal is the page of the document that is executed last.
func removal() page {
	return page{
		before: `helm uninstall thalassa-ccm --namespace kube-system
kubectl wait --for=delete pod --selector k8s-app=cloud-controller-manager --namespace kube-system --timeout=1m`,
		after: "kubectl get service web --output json",
		want:  []string{`^default +web +LoadBalancer`, `"ingress"`}, never: []string{`"LoadBalancerProvisioned"`},
		keep: true,
	}
}
