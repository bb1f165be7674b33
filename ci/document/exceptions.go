package document

// Exceptions are the commands of all documents that no test executes, with the reason. There are at most ten.
func Exceptions() map[string]string {
	const cosign = "needs the program cosign, which no module here contains; TestPublished in ci/releasetest " +
		"verifies signatures with cosign's library"
	return map[string]string{
		`docker cp "$(docker create IMAGE)":/thalassa-cloud-controller-manager kubectl-thalassa`: "needs Docker",
		"kubectl krew install --manifest-url=https://github.com/thalassa-cloud/thalassa-ccm/releases/download/v1.2.3/" +
			"thalassa.yaml": "needs krew, and a release on GitHub",
		"make pin-packages": "changes what images contain, and needs a mirror of Debian",
		"cosign verify --key cosign.pub --insecure-ignore-tlog -a artifact=cloud-controller-manager -a version=1.2.3 " +
			"ghcr.io/thalassa-cloud/thalassa-ccm/cloud-controller-manager:1.2.3": cosign,
		"cosign verify --key cosign.pub --insecure-ignore-tlog -a artifact=charts/thalassa-ccm -a version=1.2.3 " +
			"ghcr.io/thalassa-cloud/thalassa-ccm/charts/thalassa-ccm:1.2.3": cosign,
		"cosign verify-blob --key cosign.pub --insecure-ignore-tlog --signature SHA256SUMS.sig SHA256SUMS": cosign,
	}
}
