// The sign-in cookies (RFC 6265bis): bound to this host, sent only over TLS or to localhost, hidden from scripts, and
// not sent with cross-site requests. Their values are encrypted.

export const loginCookie = '__Host-sonant-login';
export const sessionCookie = '__Host-sonant-session';

export function cookieOf(header: string | undefined, name: string): string | undefined {
  const own = header?.split(';').find((pair) => pair.trimStart().startsWith(`${name}=`));
  return own?.slice(own.indexOf('=') + 1).trim();
}

/** The value of a `Set-Cookie` header; 0 seconds deletes the cookie. */
export const toCookie = (name: string, value: string, seconds: number): string =>
  `${name}=${value}; Path=/; Max-Age=${seconds}; Secure; HttpOnly; SameSite=Lax`;
