package command

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestFlagsFromTheEnvironment(t *testing.T) {
	for name, tt := range map[string]struct {
		environment, args []string
		delay             time.Duration
		plain             bool
		problem           string
	}{
		"nothing": {nil, nil, 2 * time.Second, false, ""},
		"variables": {[]string{"THALASSA_EMULATOR_ALLOW_PLAIN_HTTP=true", "THALASSA_EMULATOR_LB_CREATE_DELAY=5s"}, nil,
			5 * time.Second, true, ""},
		"flags win": {[]string{"THALASSA_EMULATOR_LB_CREATE_DELAY=5s"}, []string{"--lb-create-delay=3s"},
			3 * time.Second, false, ""},
		"of a Service of Kubernetes": {[]string{"THALASSA_EMULATOR_PORT=tcp://10.0.0.1:80",
			"THALASSA_EMULATOR_PORT_80_TCP_ADDR=10.0.0.1", "THALASSA_EMULATOR_SERVICE_HOST=10.0.0.1"}, nil,
			2 * time.Second, false, ""},
		"of others": {[]string{"THALASSA_EMULATORS=1", "thalassa_emulator_x=1", "="}, nil, 2 * time.Second, false, ""},
		"wrong value": {[]string{"THALASSA_EMULATOR_LB_CREATE_DELAY=soon"}, nil, 0, false,
			"environment variable THALASSA_EMULATOR_LB_CREATE_DELAY: invalid"},
		"no flag": {[]string{"THALASSA_EMULATOR_PLAIN_HTTP=true"}, nil, 2 * time.Second, false,
			"environment variable THALASSA_EMULATOR_PLAIN_HTTP: there is no such flag"},
	} {
		t.Run(name, func(t *testing.T) {
			flags := New("").Flags()
			if err := flags.Parse(tt.args); err != nil {
				t.Fatal(err)
			}
			err := setFromEnvironment(flags, tt.environment)
			if (err == nil) != (tt.problem == "") || err != nil && !strings.Contains(err.Error(), tt.problem) {
				t.Errorf("%v, want %q", err, tt.problem)
			}
			delay, _ := flags.GetDuration("lb-create-delay")
			if plain, _ := flags.GetBool("allow-plain-http"); plain != tt.plain || delay != tt.delay {
				t.Errorf("--lb-create-delay=%s --allow-plain-http=%t, want %s and %t", delay, plain, tt.delay, tt.plain)
			}
		})
	}
}

// The command reads the environment, before it checks which flags need each other.
func TestCommandReadsTheEnvironment(t *testing.T) {
	t.Setenv("THALASSA_EMULATOR_TLS_CERT_FILE", "cert.pem")
	var output, log bytes.Buffer
	if err := execute(t.Context(), t, &output, &log, "--listen=127.0.0.1:0"); err == nil ||
		!strings.Contains(err.Error(), "tls-key-file") {
		t.Errorf("a certificate without a key: %v", err)
	}
}

func TestHealthCommand(t *testing.T) {
	certFile, keyFile, _ := certificate(t)
	s := start(t, "--tls-cert-file="+certFile, "--tls-key-file="+keyFile)
	health := func(args ...string) error {
		var output, log bytes.Buffer
		return execute(t.Context(), t, &output, &log, append([]string{"health"}, args...)...)
	}
	if err := health("--endpoint="+s.Endpoint+"/", "--ca-file="+certFile); err != nil {
		t.Error(err)
	}
	for problem, args := range map[string][]string{
		"is it running there? See --endpoint":     {"--endpoint=" + s.Endpoint},
		"501 Not Implemented; is it an emulator?": {"--endpoint=" + s.Endpoint + "/none", "--ca-file=" + certFile},
		"no PEM certificate":                      {"--ca-file=" + keyFile},
		"--endpoint=:":                            {"--endpoint=:"},
	} {
		if err := health(args...); err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("health %q: %v, want %q", args, err, problem)
		}
	}
}
