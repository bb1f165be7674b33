package manager

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authentication/request/headerrequest"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	apiserveroptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	ccmconfig "k8s.io/cloud-provider/app/config"
	"k8s.io/klog/v2"
)

// The ConfigMap in which every API server publishes the certificate authorities
// of client certificates, for servers that delegate authentication to it.
const (
	authenticationNamespace = metav1.NamespaceSystem
	authenticationConfigMap = "extension-apiserver-authentication"
)

// The library's values for delegated authentication and authorisation: they must not limit the answers of our own
// server.
const (
	delegatedQPS   = 200 // requests per second
	delegatedBurst = 400 // requests
)

// authenticate configures access to the secured port, with the same flags and the same permissions as the library. The
// library reads the ConfigMap while it starts, and ends the process if the API server does not answer. This program
// only watches it, so that the port serves /livez at once, and accepts client certificates as soon as the API server
// answers. Before that, no additional access is permitted.
func authenticate(o *apiserveroptions.DelegatingAuthenticationOptions, config *ccmconfig.Config) error {
	client, err := delegatedClient(o)
	if err != nil {
		return err
	}
	delegation := authenticatorfactory.DelegatingAuthenticatorConfig{
		Anonymous:                &apiserver.AnonymousAuthConfig{Enabled: true},
		CacheTTL:                 o.CacheTTL,
		WebhookRetryBackoff:      o.WebhookRetryBackoff,
		TokenAccessReviewTimeout: o.TokenRequestTimeout,
	}
	if client != nil {
		delegation.TokenAccessReviewClient = client.AuthenticationV1()
	}
	if err := addClientCertificates(o, client, &delegation, config); err != nil {
		return err
	}
	if err := addRequestHeaders(o, client, &delegation, config); err != nil {
		return err
	}
	config.Authentication.Authenticator, _, err = delegation.New()
	if err != nil {
		return fmt.Errorf("setting up authentication of the secured port: %w", err)
	}
	return nil
}

// delegatedClient returns nil if there is neither --authentication-kubeconfig nor a service account; then tokens are
// not accepted.
func delegatedClient(o *apiserveroptions.DelegatingAuthenticationOptions) (kubernetes.Interface, error) {
	config, err := delegatedConfig(o.RemoteKubeConfigFile)
	if err != nil && o.RemoteKubeConfigFile != "" {
		return nil, fmt.Errorf("reading --authentication-kubeconfig=%s: %w", o.RemoteKubeConfigFile, err)
	}
	if err != nil {
		klog.InfoS("The secured port accepts no tokens and no client certificates of the cluster", "reason", err)
		return nil, nil
	}
	config.QPS, config.Burst = delegatedQPS, delegatedBurst
	return kubernetes.NewForConfig(config)
}

func delegatedConfig(path string) (*rest.Config, error) {
	if path == "" {
		return rest.InClusterConfig()
	}
	return clientcmd.BuildConfigFromFlags("", path)
}

// addClientCertificates accepts client certificates of the authority in --client-ca-file, or of the one that the
// cluster publishes.
func addClientCertificates(o *apiserveroptions.DelegatingAuthenticationOptions, client kubernetes.Interface,
	delegation *authenticatorfactory.DelegatingAuthenticatorConfig, config *ccmconfig.Config,
) error {
	authority, err := o.ClientCert.GetClientCAContentProvider()
	if err != nil {
		return fmt.Errorf("reading --client-ca-file: %w", err)
	}
	if authority == nil && client != nil && !o.SkipInClusterLookup {
		authority, err = publishedAuthority("client-ca-file", client)
		if err != nil {
			return err
		}
	}
	if authority == nil {
		return nil
	}
	delegation.ClientCertificateCAContentProvider = authority
	return config.Authentication.ApplyClientCert(authority, config.SecureServing)
}

// addRequestHeaders accepts users in headers of a proxy with a certificate of the authority in
// --requestheader-client-ca-file, or of the one that the cluster publishes.
func addRequestHeaders(o *apiserveroptions.DelegatingAuthenticationOptions, client kubernetes.Interface,
	delegation *authenticatorfactory.DelegatingAuthenticatorConfig, config *ccmconfig.Config,
) error {
	headers, err := o.RequestHeader.ToAuthenticationRequestHeaderConfig()
	if err != nil {
		return fmt.Errorf("reading --requestheader-client-ca-file: %w", err)
	}
	if headers == nil && client != nil && !o.SkipInClusterLookup {
		headers, err = publishedHeaders(client)
		if err != nil {
			return err
		}
	}
	if headers == nil {
		return nil
	}
	delegation.RequestHeaderConfig = headers
	config.Authentication.RequestHeaderConfig = headers
	return config.Authentication.ApplyClientCert(headers.CAContentProvider, config.SecureServing)
}

func publishedAuthority(key string, client kubernetes.Interface) (*dynamiccertificates.ConfigMapCAController, error) {
	authority, err := dynamiccertificates.NewDynamicCAFromConfigMapController(
		"client-ca", authenticationNamespace, authenticationConfigMap, key, client)
	if err != nil {
		return nil, fmt.Errorf("watching ConfigMap %s/%s: %w", authenticationNamespace, authenticationConfigMap, err)
	}
	return authority, nil
}

func publishedHeaders(client kubernetes.Interface) (*authenticatorfactory.RequestHeaderConfig, error) {
	authority, err := publishedAuthority("requestheader-client-ca-file", client)
	if err != nil {
		return nil, err
	}
	names := headerrequest.NewRequestHeaderAuthRequestController(authenticationConfigMap, authenticationNamespace,
		client,
		"requestheader-username-headers", "requestheader-uid-headers", "requestheader-group-headers",
		"requestheader-extra-headers-prefix", "requestheader-allowed-names")
	return &authenticatorfactory.RequestHeaderConfig{
		CAContentProvider: watchedHeaders{&apiserveroptions.DynamicRequestHeaderController{
			ConfigMapCAController:              authority,
			RequestHeaderAuthRequestController: names,
		}},
		UsernameHeaders:     headerrequest.StringSliceProviderFunc(names.UsernameHeaders),
		UIDHeaders:          headerrequest.StringSliceProviderFunc(names.UIDHeaders),
		GroupHeaders:        headerrequest.StringSliceProviderFunc(names.GroupHeaders),
		ExtraHeaderPrefixes: headerrequest.StringSliceProviderFunc(names.ExtraHeaderPrefixes),
		AllowedClientNames:  headerrequest.StringSliceProviderFunc(names.AllowedClientNames),
	}, nil
}

// watchedHeaders is the library's controller without its first, blocking read: the server calls RunOnce before it
// listens, so an API server that does not answer would delay /livez.
type watchedHeaders struct {
	*apiserveroptions.DynamicRequestHeaderController
}

// RunOnce does nothing, because the ConfigMap is watched.
func (watchedHeaders) RunOnce(context.Context) error { return nil }
