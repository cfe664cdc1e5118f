// Makes the imports of a start cheap, which are most of its work. Imported before all that is large, as plain JavaScript.
import module from 'node:module';

const own = new URL('..', import.meta.url).href;

/**
 * The address of a file that is imported by its relative path with its ending; undefined for all others. Node looks up each
 * of them in the file system several times: whether it is there, where its links lead, what kind of package it is in.
 */
function knownFile(specifier, parentURL = '') {
  if (!specifier.startsWith('.')) return undefined;
  const url = () => new URL(specifier, parentURL).href;
  const isOwn = parentURL.startsWith(own) && !parentURL.includes('/node_modules/');
  if (isOwn && specifier.endsWith('.ts')) return { url: url(), format: 'module-typescript', shortCircuit: true };
  // By convention, all that is in such a folder of a package are ECMAScript modules.
  if (parentURL.includes('/node_modules/') && parentURL.includes('/dist/esm/') && specifier.endsWith('.js'))
    return { url: url(), format: 'module', shortCircuit: true };
  return undefined;
}

// Node versions that are refused do not have it.
module.registerHooks?.({
  resolve: (specifier, context, next) => knownFile(specifier, context.parentURL) ?? next(specifier, context),
});

// The first import of node:http reads all that it exports, and some of that loads the whole of Node's WebSocket and fetch.
const http = process.getBuiltinModule?.('node:http') ?? {};
const lazy = ['CloseEvent', 'MessageEvent', 'WebSocket'].flatMap((name) => {
  const property = Object.getOwnPropertyDescriptor(http, name);
  return property?.get && property.configurable ? [[name, property]] : [];
});
for (const [name] of lazy) delete http[name];
await import('node:http');
for (const [name, property] of lazy) Object.defineProperty(http, name, property);
