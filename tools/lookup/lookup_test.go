package lookup

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// records are those that the name server of tests has, with the names as clients ask for them.
func records() map[string][]dnsmessage.ResourceBody {
	four := func(text string) *dnsmessage.AResource {
		return &dnsmessage.AResource{A: netip.MustParseAddr(text).As4()}
	}
	return map[string][]dnsmessage.ResourceBody{
		"both.test.": {four("192.0.2.9"), four("192.0.2.1"),
			&dnsmessage.AAAAResource{AAAA: netip.MustParseAddr("2001:db8::1").As16()}},
		"_web._tcp.both.test.": {
			&dnsmessage.SRVResource{Port: 80, Target: dnsmessage.MustNewName("both.test.")},
			&dnsmessage.SRVResource{Port: 443, Target: dnsmessage.MustNewName("both.test.")}},
	}
}

// answer is what the name server says to a question: the records of its type, or that the name does not exist.
func answer(t *testing.T, packet []byte) []byte {
	t.Helper()
	var message dnsmessage.Message
	if err := message.Unpack(packet); err != nil {
		t.Error(err)
	}
	question := message.Questions[0]
	all, known := records()[question.Name.String()]
	message.Response, message.Additionals = true, nil
	if !known {
		message.RCode = dnsmessage.RCodeNameError
	}
	for _, body := range all {
		header := dnsmessage.ResourceHeader{Name: question.Name, Class: question.Class}
		kind := "dnsmessage." + strings.TrimPrefix(question.Type.String(), "Type") + "Resource{"
		if strings.HasPrefix(body.GoString(), kind) {
			message.Answers = append(message.Answers, dnsmessage.Resource{Header: header, Body: body})
		}
	}
	packed, err := message.Pack()
	if err != nil {
		t.Error(err)
	}
	return packed
}

// resolver asks a name server of its own, until the test ends.
func resolver(t *testing.T) *net.Resolver {
	t.Helper()
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		buffer := make([]byte, 4<<10)
		for {
			n, from, err := server.ReadFrom(buffer)
			if err != nil {
				return
			}
			if _, err := server.WriteTo(answer(t, buffer[:n]), from); err != nil {
				t.Error(err)
			}
		}
	}()
	t.Cleanup(func() {
		_ = server.Close()
		<-ended
	})
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", server.LocalAddr().String())
	}}
}

func TestPrint(t *testing.T) {
	r := resolver(t)
	for name, want := range map[string]string{
		"both.test.":           "192.0.2.1\n192.0.2.9\n2001:db8::1\n",
		"_web._tcp.both.test.": "443 both.test.\n80 both.test.\n",
	} {
		var text strings.Builder
		if err := Print(t.Context(), r, name, &text); err != nil || text.String() != want {
			t.Errorf("%s: %q and %v, want %q", name, text.String(), err, want)
		}
	}
	for _, name := range []string{"nothing.test.", "_web._tcp.nothing.test."} {
		var text strings.Builder
		err := Print(t.Context(), r, name, &text)
		if err == nil || !strings.Contains(err.Error(), "resolving "+name) ||
			!strings.Contains(err.Error(), "no such host") || text.Len() > 0 {
			t.Errorf("%s: %q and %v, want that there is no such host", name, text.String(), err)
		}
	}
}
