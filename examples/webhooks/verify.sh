#!/bin/sh
# Verifies one webhook with openssl: succeeds if a signature in the header was made with the secret. Also check that the
# timestamp is at most a few minutes old.
#     WEBHOOK_SECRET=whsec_... ./verify.sh ID TIMESTAMP SIGNATURES < BODY
set -eu
key=$(printf %s "${WEBHOOK_SECRET#whsec_}" | openssl base64 -d -A | od -An -v -tx1 | tr -d ' \n')
expected=$({ printf '%s.%s.' "$1" "$2"; cat; } | openssl dgst -sha256 -mac HMAC -macopt "hexkey:$key" -binary | openssl base64 -A)
for one in $3; do
  if [ "$one" = "v1,$expected" ]; then
    echo "$1 is signed with this secret"
    exit 0
  fi
done
echo "$1 is not signed with this secret" >&2
exit 1
