// What tells browsers to be careful with every reply (OWASP, REST Security Cheat Sheet): to believe its type, to put it
// into no frame, to load nothing for it and to say nowhere where its reader came from; and, once they have come by TLS, to
// come by nothing else. A page that needs more says so itself.

const always = {
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Referrer-Policy': 'no-referrer',
} as const;

const yearSeconds = 365 * 24 * 3600;

export const safetyHeaders = (isSecure: boolean): Readonly<Record<string, string>> =>
  isSecure ? { ...always, 'Strict-Transport-Security': `max-age=${yearSeconds}` } : always;
