// The page where somebody who has signed in makes keys, and the plain ones that say why that cannot be. They load nothing
// from elsewhere, run no script but their own file, and are kept by no cache. All are right behind /oauth/, and address what
// they need from there, so that they work below any path that a proxy puts before ours.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Session } from '../../sign-in/sign-in.ts';

export interface PageFile {
  type: string;
  bytes: Buffer;
  etag: string;
}

const scopesTold: Readonly<Record<string, string>> = {
  'speech:synthesize': 'speak whole texts',
  'speech:stream': 'speak while it is made',
  'voices:read': 'see the voices',
  'voices:write': 'change the voices',
  'jobs:read': 'see long jobs',
  'jobs:write': 'begin long jobs',
  'usage:read': 'see what was spoken',
  'keys:read': 'see keys',
  'keys:write': 'make keys',
  admin: 'manage the keys of all',
};

function readPageFile(name: string, type: string): PageFile {
  const bytes = readFileSync(new URL(`.//${name}`, import.meta.url));
  return { type, bytes, etag: `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 27)}"` };
}

/** By their names behind /oauth/. */
export const readPageFiles = (): Readonly<Record<string, PageFile>> => ({
  'key-page.css': readPageFile('key-page.css', 'text/css; charset=utf-8'),
  'key-page.js': readPageFile('key-page.js', 'text/javascript; charset=utf-8'),
});

export const pageHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join('; '),
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
} as const;

const escaped = (text: string) =>
  text.replace(/[&<>"]/g, (char) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[char]!);

const head = (title: string) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)} · Sonant</title>
<link rel="stylesheet" href="key-page.css">`;

export function toKeyPage({ holder, name, csrf }: Session, baseUrl: string): string {
  const checks = holder.grant.scopes.map(
    (scope) =>
      `<label><input type="checkbox" name="scope" value="${scope}"${
        /^(speech|voices:read)/.test(scope) ? ' checked' : ''
      }><span><code>${scope}</code> ${scopesTold[scope]}</span></label>`,
  );
  return `${head('API keys')}
<script type="module" src="key-page.js"></script>
</head>
<body data-csrf="${escaped(csrf)}" data-api="../api/auth/api-keys" data-speech="${escaped(baseUrl)}/api/audio/speech">
<header><span class="brand">Sonant</span><p>Signed in as ${escaped(name)}</p><button type="button" id="leave">Sign out</button></header>
<main>
<h1>API keys</h1>
<p class="lead">A key lets a program speak in your name. It is shown once, when it is made.</p>
<p id="said" role="status"></p>
<section id="made" aria-labelledby="made-title" hidden>
<h2 id="made-title" tabindex="-1">Your new key: <span id="made-name"></span></h2>
<code class="key" id="made-key"></code>
<div class="field actions"><button type="button" id="copy" class="main">Copy the key</button><button type="button" id="done">I have it</button></div>
<p class="hint">It cannot be shown again. Try it:</p>
<pre id="made-curl"></pre>
</section>
<section aria-labelledby="make-title">
<h2 id="make-title">Make a key</h2>
<form id="make" method="post">
<div class="field"><label for="name">Name</label><input type="text" id="name" name="name" maxlength="100" autocomplete="off" aria-describedby="name-hint"><p class="hint" id="name-hint">What it is for, such as the program that will use it.</p></div>
<fieldset><legend>It may</legend>
${checks.join('\n')}
</fieldset>
<div class="field"><label for="days">It ends</label><select id="days" name="days"><option value="30">in 30 days</option><option value="90" selected>in 90 days</option><option value="365">in a year</option><option value="0">never</option></select></div>
<button type="submit" id="make-button" class="main">Make the key</button>
</form>
</section>
<section aria-labelledby="keys-title">
<h2 id="keys-title">Your keys</h2>
<p id="none" hidden>You have no keys yet.</p>
<ul id="keys"></ul>
</section>
</main>
<dialog id="sure" aria-labelledby="sure-title" aria-describedby="sure-text">
<form method="dialog">
<h2 id="sure-title">Revoke this key?</h2>
<p id="sure-text"></p>
<div class="actions"><button value="yes" class="danger">Revoke it</button><button value="no" autofocus>Keep it</button></div>
</form>
</dialog>
</body>
</html>
`;
}

/** Why it cannot be, and a way to begin again where that can help. */
export const toTroublePage = (message: string, mayTryAgain: boolean): string => `${head('Sign-in')}
</head>
<body>
<header><span class="brand">Sonant</span></header>
<main>
<h1>That did not work</h1>
<p class="lead">${escaped(message)}</p>
${mayTryAgain ? '<p><a href="get-key">Start again</a></p>\n' : ''}</main>
</body>
</html>
`;
