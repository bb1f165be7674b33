package document

// Exceptions are the commands of all documents that no test executes, with the reason. There are at most ten.
func Exceptions() map[string]string {
	const cosign = "needs the program cosign, whose 500 further packages compile for minutes; TestPublished in " +
		"ci/releasetest does the same with cosign's library, of the same version"
	return map[string]string{
		`docker cp "$(docker create IMAGE)":/thalassa-cloud-controller-manager kubectl-thalassa`: "needs Docker",
		"docker load --input ARCHIVE": "needs Docker",
		"make pin-packages":           "changes what images contain, and needs a mirror of Debian",
		"make announce VERSION=v1.2.3": "needs the page of this repository on GitHub, and an account that may write " +
			"to it",
		"docker compose --file examples/emulator/compose.yaml up --detach --wait": "needs Docker",
		"terraform init && terraform apply": "needs the program terraform, and its registry of " +
			"providers",
		"cosign generate-key-pair": cosign,
		"cosign verify --key cosign.pub --insecure-ignore-tlog -a artifact=cloud-controller-manager -a version=1.2.3 " +
			"ghcr.io/thalassa-cloud/thalassa-ccm/cloud-controller-manager:1.2.3": cosign,
		"cosign verify --key cosign.pub --insecure-ignore-tlog -a artifact=charts/thalassa-ccm -a version=1.2.3 " +
			"ghcr.io/thalassa-cloud/thalassa-ccm/charts/thalassa-ccm:1.2.3": cosign,
		"cosign verify-blob --key cosign.pub --insecure-ignore-tlog --signature SHA256SUMS.sig SHA256SUMS": cosign,
	}
}
