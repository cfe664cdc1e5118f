// A certificate for localhost, signed by itself, and its key: for tests of TLS, and secret to nobody. Valid for a century.

export const testCertificate = {
  cert: `-----BEGIN CERTIFICATE-----
MIIBmzCCAUGgAwIBAgIUPcUwKpTBZO+eQZaQqHHSG6jhY9QwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMTAwNDEzNFoYDzIxMjYxMDI4
MDA0MTM0WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAATbKprh9k7eMWtk77UTHhlGlv17FpxXMw2C0M+3+BpIKllqrGu1hbEN
OHmYEffyGqqAtLHh2OOoSbwIkWhwoQD1o28wbTAdBgNVHQ4EFgQUmF4kxqZCojnx
xh9HOgKo0e2hOuEwHwYDVR0jBBgwFoAUmF4kxqZCojnxxh9HOgKo0e2hOuEwDwYD
VR0TAQH/BAUwAwEB/zAaBgNVHREEEzARgglsb2NhbGhvc3SHBH8AAAEwCgYIKoZI
zj0EAwIDSAAwRQIhAKHlhDtpqmrdDJOLq+Ne0tZX7s5MFwvuyvMJTemuPeElAiAq
KXsNB46h6y7e4kkqXQwMlYHqRJ0a39ir3aorCnS/DQ==
-----END CERTIFICATE-----`,
  key: `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgqSWv8wZuU85diw+c
4MHPMgiGcOKQrI37F+gGxDTU1cahRANCAATbKprh9k7eMWtk77UTHhlGlv17FpxX
Mw2C0M+3+BpIKllqrGu1hbENOHmYEffyGqqAtLHh2OOoSbwIkWhwoQD1
-----END PRIVATE KEY-----`,
};
