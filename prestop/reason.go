package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

const (
	maxBytes = 1024     // of a reason
	maxRead  = 16 << 10 // of any file or answer
)

// reasonFrom asks Vacate, and reads the file where it does not answer in time. It never fails.
func reasonFrom(folder string, limit time.Duration) string {
	type answer struct {
		reason string
		err    error
	}
	asked := make(chan answer, 1)
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	go func() {
		defer func() {
			if broken := recover(); broken != nil {
				asked <- answer{err: fmt.Errorf("internal error: %v", broken)}
			}
		}()
		reason, err := ask(ctx, folder)
		asked <- answer{reason, err}
	}()
	var err error
	select {
	case found := <-asked:
		if found.err == nil {
			return clean(found.reason)
		}
		err = found.err
	case <-ctx.Done():
		err = ctx.Err()
	}
	fmt.Fprintf(os.Stderr, "%s: the reason cannot be read from Vacate, so it is read from the downward API file: %v\n", program, err)
	text, err := read(folder, "reason")
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: the hook runs without a reason: %v\n", program, err)
	}
	return clean(text)
}

// ask sends the pod's token, which is valid for this request only. The file `service` has its URL and the IP
// address of its name, since not every pod can resolve names of the cluster.
func ask(ctx context.Context, folder string) (string, error) {
	service, err := read(folder, "service")
	if err != nil {
		return "", err
	}
	words := strings.Fields(service)
	if len(words) == 0 || !strings.HasPrefix(words[0], "https://") {
		return "", errors.New("the pod has no address of Vacate")
	}
	token, err := read(folder, "token")
	if err != nil {
		return "", err
	}
	authorities, err := read(folder, "ca.crt")
	if err != nil {
		return "", err
	}
	trusted := x509.NewCertPool()
	if !trusted.AppendCertsFromPEM([]byte(authorities)) {
		return "", errors.New("ca.crt has no certificate")
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, words[0], nil)
	if err != nil {
		return "", err
	}
	request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(token))
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted}, DisableKeepAlives: true}
	if len(words) > 1 {
		transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			_, port, err := net.SplitHostPort(address)
			if err != nil {
				return nil, err
			}
			return (&net.Dialer{}).DialContext(ctx, network, net.JoinHostPort(words[1], port))
		}
	}
	refuse := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	response, err := (&http.Client{Transport: transport, CheckRedirect: refuse}).Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxRead))
	if err != nil {
		return "", err
	}
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s answered %s", words[0], response.Status)
	}
	return string(body), nil
}

func read(folder, name string) (string, error) {
	file, err := os.Open(filepath.Join(folder, name))
	if err != nil {
		return "", err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxRead))
	return string(text), err
}

// clean makes any text a reason: one line of printable characters with a limit, which no command takes for an
// option. It is only ever a value.
func clean(text string) string {
	printable := strings.Map(func(char rune) rune {
		if char == utf8.RuneError || !unicode.IsPrint(char) {
			return ' '
		}
		return char
	}, text)
	cut := strings.TrimLeft(printable, "- ")
	if len(cut) > maxBytes {
		cut = cut[:maxBytes]
		for !utf8.ValidString(cut) {
			cut = cut[:len(cut)-1]
		}
	}
	return strings.TrimSpace(cut)
}
