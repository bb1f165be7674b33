package secret

import (
	"fmt"
	"strings"
	"testing"
)

func TestCredentialsAreNeverPrinted(t *testing.T) {
	c := Credentials{PersonalAccessToken: "s3cret", ClientID: "id", ClientSecret: "s3cret"}
	s := Secrets{Credentials: c}
	for _, text := range []string{fmt.Sprint(c), fmt.Sprintf("%+v", c), fmt.Sprintf("%#v", c), fmt.Sprint(s),
		fmt.Sprintf("%+v", s), fmt.Sprintf("%#v", s)} {
		if strings.Contains(text, "s3cret") {
			t.Errorf("printed as %s", text)
		}
	}
	exchange := Credentials{Exchange: &Exchange{ServiceAccount: "sa-1"}}
	if got := fmt.Sprint(exchange); !strings.HasPrefix(got, `service account "sa-1"`) {
		t.Errorf("printed as %s", got)
	}
}
