// The cookies of signing in (RFC 6265bis): only for this very host, only over TLS or on this machine, hidden from scripts,
// and not sent by pages of other sites. They hold sealed texts and nothing else.

export const loginCookie = '__Host-sonant-login';
export const sessionCookie = '__Host-sonant-session';

/** The cookie with this name among those that came. */
export function cookieOf(header: string | undefined, name: string): string | undefined {
  const own = header?.split(';').find((pair) => pair.trimStart().startsWith(`${name}=`));
  return own?.slice(own.indexOf('=') + 1).trim();
}

/** For `Set-Cookie`; 0 seconds takes it back. */
export const toCookie = (name: string, value: string, seconds: number): string =>
  `${name}=${value}; Path=/; Max-Age=${seconds}; Secure; HttpOnly; SameSite=Lax`;
