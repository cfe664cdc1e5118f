// The HTML page where a signed-in user manages API keys, and the error page of sign-in. They are never cached and load
// no third-party resources. Their URLs are relative to /oauth/, so that they work behind a proxy with any path prefix.
import { readFileSync } from 'node:fs';
import { extname } from 'node:path';
import type { Session } from '../../access/sign-in.ts';
import { contentTypes, type StaticFile, toStaticFile } from '../../net/static-file.ts';

const escaped = (text: string): string =>
  text.replace(/[&<>"]/g, (char) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[char]!);

const scopeDescriptions: Readonly<Record<string, string>> = {
  'speech:synthesize': 'synthesize whole files',
  'speech:stream': 'stream speech',
  'voices:read': 'list voices',
  'voices:write': 'create, clone and change voices',
  'jobs:read': 'read long jobs',
  'jobs:write': 'start long jobs',
  'usage:read': 'read usage',
  'keys:read': 'list keys',
  'keys:write': 'create and revoke keys',
  admin: 'manage all keys',
};

/** Files by name below /oauth/. */
export const readPageFiles = (): [string, StaticFile][] =>
  ['key-page.css', 'key-page.js'].map((name) => [
    name,
    toStaticFile(contentTypes[extname(name)]!, readFileSync(new URL(`./${name}`, import.meta.url))),
  ]);

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

const head = (title: string) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)} · Sonant</title>
<link rel="stylesheet" href="../console/console.css">
<link rel="stylesheet" href="key-page.css">`;

export function toKeyPage({ holder, name, csrf }: Session, baseUrl: string): string {
  const checks = holder.grant.scopes.map(
    (scope) =>
      `<label><input type="checkbox" name="scope" value="${scope}"${
        /^(speech|voices:read)/.test(scope) ? ' checked' : ''
      }><span><code>${scope}</code> ${scopeDescriptions[scope]}</span></label>`,
  );
  return `${head('API keys')}
<script type="module" src="key-page.js"></script>
</head>
<body data-csrf="${escaped(csrf)}" data-api="../api/auth/api-keys" data-speech="${escaped(baseUrl)}/api/audio/speech">
<header><span class="brand">Sonant</span><p>Signed in as ${escaped(name)}</p><button type="button" id="sign-out">Sign out</button></header>
<main>
<h1>API keys</h1>
<p class="lead">An API key lets a program act in your name. The key is shown once, when it is created.</p>
<p><button type="button" class="main" id="open-console">Open the console</button></p>
<p id="status" role="status"></p>
<section class="card" id="new-key" aria-labelledby="new-key-title" hidden>
<h2 id="new-key-title" tabindex="-1">Your new key: <span id="new-key-name"></span></h2>
<code class="key" id="new-key-secret"></code>
<div class="field row"><button type="button" id="copy" class="main">Copy the key</button><button type="button" id="done">Done</button></div>
<p class="hint">It cannot be shown again. To try it:</p>
<pre id="new-key-curl"></pre>
</section>
<section class="card" aria-labelledby="create-title">
<h2 id="create-title">Create a key</h2>
<form id="create" method="post">
<div class="field"><label for="name">Name</label><input type="text" id="name" name="name" maxlength="100" autocomplete="off" aria-describedby="name-hint"><p class="hint" id="name-hint">What the key is for, such as the program that uses it.</p></div>
<fieldset><legend>Scopes</legend>
${checks.join('\n')}
</fieldset>
<div class="field"><label for="days">Expires</label><select id="days" name="days"><option value="30">in 30 days</option><option value="90" selected>in 90 days</option><option value="365">in a year</option><option value="0">never</option></select></div>
<button type="submit" id="create-button" class="main">Create the key</button>
</form>
</section>
<section class="card" aria-labelledby="keys-title">
<h2 id="keys-title">Your keys</h2>
<p id="none" hidden>You have no keys yet.</p>
<ul id="keys"></ul>
</section>
</main>
<dialog id="confirm" aria-labelledby="confirm-title" aria-describedby="confirm-text">
<form method="dialog">
<h2 id="confirm-title">Revoke this key?</h2>
<p id="confirm-text"></p>
<div class="row"><button value="yes" class="danger">Revoke</button><button value="no" autofocus>Cancel</button></div>
</form>
</dialog>
</body>
</html>
`;
}

/** The error page of sign-in, with a link to start again if a retry can help. */
export const toErrorPage = (message: string, canRetry: boolean): string => `${head('Sign-in')}
</head>
<body>
<header><span class="brand">Sonant</span></header>
<main>
<h1>Sign-in failed</h1>
<p class="lead">${escaped(message)}</p>
${canRetry ? '<p><a href="get-key">Start again</a></p>\n' : ''}</main>
</body>
</html>
`;
