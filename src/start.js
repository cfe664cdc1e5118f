// Prepares the process for a fast start: checks the version of Node, keeps compiled code between starts, and makes imports cheap.
// Imported before everything large. Plain JavaScript, so that an old Node can read it and Node need not strip types.
import { mkdirSync } from 'node:fs';
import module from 'node:module';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const oldestNode = 24;
if (Number(process.versions.node.split('.')[0]) < oldestNode) {
  process.stderr.write(
    `sonant: Node ${oldestNode} or newer is needed, but this is ${process.version}; see https://nodejs.org (in a checkout, npm ci installs it, and npm start uses it)\n`,
  );
  process.exit(1);
}

function findCacheFolder() {
  const folder = fileURLToPath(new URL('../node_modules/.cache/sonant', import.meta.url));
  try {
    mkdirSync(folder, { recursive: true });
    return folder;
  } catch {
    // The administrator has installed the package.
    return join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'sonant');
  }
}

// Compiled code halves the time of a start. Worker threads find the folder in their environment, and child processes get it
// passed on. Node ignores a folder that cannot be written.
process.env.NODE_COMPILE_CACHE ??= findCacheFolder();
module.enableCompileCache?.();

const own = new URL('..', import.meta.url).href;
/** Files of a checkout are TypeScript, those of the npm package JavaScript. */
const ownFormats = { '.ts': 'module-typescript', '.js': 'module' };

/**
 * Resolves a relative import with a file extension, or returns undefined. Node itself would look up each file several times:
 * whether it exists, where its links lead, and the type of its package.
 */
function resolveKnown(specifier, parentURL = '') {
  if (!specifier.startsWith('.')) return undefined;
  const url = () => new URL(specifier, parentURL).href;
  const isOwn = parentURL.startsWith(own) && !parentURL.startsWith('node_modules/', own.length);
  const format = isOwn && ownFormats[specifier.slice(-'.js'.length)];
  if (format) return { url: url(), format, shortCircuit: true };
  // By convention, every file in such a folder of a package is an ECMAScript module.
  if (parentURL.includes('/node_modules/') && parentURL.includes('/dist/esm/') && specifier.endsWith('.js'))
    return { url: url(), format: 'module', shortCircuit: true };
  return undefined;
}

module.registerHooks?.({
  resolve: (specifier, context, next) => resolveKnown(specifier, context.parentURL) ?? next(specifier, context),
});

// The first import of node:http reads all its exports, some of which load Node's WebSocket and fetch. Hide them meanwhile.
const http = process.getBuiltinModule?.('node:http') ?? {};
const lazy = ['CloseEvent', 'MessageEvent', 'WebSocket'].flatMap((name) => {
  const property = Object.getOwnPropertyDescriptor(http, name);
  return property?.get && property.configurable ? [[name, property]] : [];
});
for (const [name] of lazy) delete http[name];
await import('node:http');
for (const [name, property] of lazy) Object.defineProperty(http, name, property);
