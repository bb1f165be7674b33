package paths

import "testing"

func TestRewrite(t *testing.T) {
	table := Table{
		"/etc/ccm":        "/run/x/etc/ccm",
		"/etc/ccm/config": "/run/x/config",
		"/tmp":            "/tmp/y",
	}
	tests := []struct{ name, in, want string }{
		{"alone", "/etc/ccm", "/run/x/etc/ccm"},
		{"in a flag", "--cloud-config=/etc/ccm/config/cloud.yaml", "--cloud-config=/run/x/config/cloud.yaml"},
		{"longest first", "/etc/ccm/config /etc/ccm/other", "/run/x/config /run/x/etc/ccm/other"},
		{"not again in its own result", "/etc/ccm/a", "/run/x/etc/ccm/a"},
		{"result that starts with another mount", "/tmp/a", "/tmp/y/a"},
		{"longer element", "/etc/ccm.d /etc/ccms /etc/ccm-x /etc/ccm_x", "/etc/ccm.d /etc/ccms /etc/ccm-x /etc/ccm_x"},
		{"inside another path", "/opt/etc/ccm /var/tmp", "/opt/etc/ccm /var/tmp"},
		{"inside a URL", "http://host/etc/ccm", "http://host/etc/ccm"},
		{"file URL", "file:///etc/ccm/a", "file:///run/x/etc/ccm/a"},
		{"quoted", `{"file":"/etc/ccm","dir":'/tmp'}`, `{"file":"/run/x/etc/ccm","dir":'/tmp/y'}`},
		{"list", "/tmp:/etc/ccm,/tmp", "/tmp/y:/run/x/etc/ccm,/tmp/y"},
		{"lines", "a: /tmp\nb: /etc/ccm\n", "a: /tmp/y\nb: /run/x/etc/ccm\n"},
		{"trailing slash", "/etc/ccm/", "/run/x/etc/ccm/"},
		{"letters beyond ASCII", "/etc/ccmé é/tmp", "/etc/ccmé é/tmp"},
		{"empty", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := table.Rewrite(tt.in); got != tt.want {
				t.Errorf("Rewrite(%q) = %q, want %q", tt.in, got, tt.want)
			}
		})
	}
}

func FuzzRewrite(f *testing.F) {
	f.Add("--a=/etc/ccm/b")
	f.Add("//tmp/../etc/ccm")
	f.Fuzz(func(t *testing.T, text string) {
		if got := (Table{}).Rewrite(text); got != text {
			t.Errorf("an empty table changed %q to %q", text, got)
		}
		if got := (Table{"/tmp": "/tmp", "/etc/ccm": "/etc/ccm"}).Rewrite(text); got != text {
			t.Errorf("an identical mapping changed %q to %q", text, got)
		}
	})
}
