// Checks the version of Node, caches compiled code, and speeds up imports. Must be imported before large modules.
// Written in plain JavaScript, so that old versions of Node can parse it and no type stripping is needed.
import { mkdirSync } from 'node:fs';
import module from 'node:module';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const oldestNode = 24;
if (Number(process.versions.node.split('.')[0]) < oldestNode) {
  process.stderr.write(
    `sonant: Node ${oldestNode} or newer is needed, but this is ${process.version}; see https://nodejs.org (in a checkout, npm ci installs it on most systems, and npm start uses it)\n`,
  );
  process.exit(1);
}

function findCacheFolder() {
  const folder = fileURLToPath(new URL('../node_modules/.cache/sonant', import.meta.url));
  try {
    mkdirSync(folder, { recursive: true });
    return folder;
  } catch {
    // The package folder is not writable if an administrator has installed the package.
    return join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'sonant');
  }
}

// The compile cache halves the startup time. Worker threads inherit NODE_COMPILE_CACHE, and Sonant passes it to child
// processes. Node ignores a folder that is not writable.
process.env.NODE_COMPILE_CACHE ??= findCacheFolder();
module.enableCompileCache?.();

const own = new URL('..', import.meta.url).href;
/** Module formats by file extension: a checkout has TypeScript files, and the npm package has JavaScript files. */
const ownFormats = { '.ts': 'module-typescript', '.js': 'module' };

const isOwn = (url) => url.startsWith(own) && !url.includes('node_modules/', own.length);

/**
 * Resolves a relative import with a file extension, or returns undefined. Node itself would access each file several
 * times, to check that the file exists, to resolve links and to find the type of the package.
 */
function resolveKnown(specifier, parentURL) {
  if (!specifier.startsWith('.')) return undefined;
  const url = () => new URL(specifier, parentURL).href;
  const format = isOwn(parentURL) && ownFormats[specifier.slice(-'.js'.length)];
  if (format) return { url: url(), format, shortCircuit: true };
  // By convention, every file in the folder dist/esm of a package is an ECMAScript module.
  if (parentURL.includes('/node_modules/') && parentURL.includes('/dist/esm/') && specifier.endsWith('.js'))
    return { url: url(), format: 'module', shortCircuit: true };
  return undefined;
}

/** Packages and parts of Node, by the name and the conditions with which Sonant's files import them. */
const packages = new Map();

function resolve(specifier, context, next) {
  const { parentURL = '' } = context;
  const known = resolveKnown(specifier, parentURL);
  if (known) return known;
  if (specifier.startsWith('.') || !isOwn(parentURL)) return next(specifier, context);
  const key = `${specifier} ${context.conditions}`;
  const found = packages.get(key) ?? { ...next(specifier, context), shortCircuit: true };
  packages.set(key, found);
  return found;
}

module.registerHooks?.({ resolve });

// Importing node:http reads all its exports. Exports that load WebSocket and fetch are hidden during the import.
const http = process.getBuiltinModule?.('node:http') ?? {};
const lazy = ['CloseEvent', 'MessageEvent', 'WebSocket'].flatMap((name) => {
  const property = Object.getOwnPropertyDescriptor(http, name);
  return property?.get && property.configurable ? [[name, property]] : [];
});
for (const [name] of lazy) delete http[name];
await import('node:http');
for (const [name, property] of lazy) Object.defineProperty(http, name, property);
