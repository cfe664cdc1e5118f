// Prints the software bill of materials of a production install, as CycloneDX 1.6 in JSON: `npm run -s sbom`. Packages
// are from package-lock.json, as `npm ci --omit=dev` installs them. bundled.json adds works that packages contain, such
// as LAME as WebAssembly, and corrects wrong licences. (`npm sbom --omit=dev` omits packages that development
// dependencies also need.)
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join, matchesGlob } from 'node:path';
import bundled from './bundled.json' with { type: 'json' };

interface LockedPackage {
  version: string;
  name?: string;
  license?: string;
  integrity?: string;
  dev?: boolean;
  optional?: boolean;
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
}

export interface Work {
  name: string;
  version?: string;
  license: string;
}

/** A package of a production install. */
export interface InstalledPackage extends Work {
  /** Path relative to the folder of the lock file. */
  path: string;
  /** Empty if no licence is stated. */
  license: string;
  version: string;
  integrity: string | undefined;
  isOptional: boolean;
  /** Other works inside the package; undefined if bundled.json does not name the package. */
  contains: readonly Work[] | undefined;
  /** Paths of the packages that this package loads. */
  dependencies: readonly string[];
}

interface Bundle {
  license?: string;
  contains: readonly Work[];
}

const bundles = Object.entries(bundled as Readonly<Record<string, Bundle>>);
const bundleOf = (name: string): Bundle | undefined => bundles.find(([pattern]) => matchesGlob(name, pattern))?.[1];

/** Lists the packages that `npm ci --omit=dev` installs in a folder, for all platforms. */
export function readInstalled(folder: string): InstalledPackage[] {
  const lock = JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, LockedPackage>;
  };
  const kept = Object.entries(lock.packages).filter(([path, { dev }]) => path !== '' && !dev);
  const isKept = new Set(kept.map(([path]) => path));
  return kept.map(([path, locked]) => {
    const name = locked.name ?? path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
    const bundle = bundleOf(name);
    const needed = { ...locked.dependencies, ...locked.optionalDependencies, ...locked.peerDependencies };
    return {
      path,
      name,
      version: locked.version,
      license: bundle?.license ?? locked.license ?? '',
      integrity: locked.integrity,
      isOptional: locked.optional ?? false,
      contains: bundle?.contains,
      dependencies: Object.keys(needed).flatMap((each) => findInstalled(each, path, isKept) ?? []),
    };
  });
}

/** Finds a package like Node: in the package's own folder, or in a folder above. */
function findInstalled(name: string, from: string, isKept: ReadonlySet<string>): string | undefined {
  const path = `${from === '' ? '' : `${from}/`}node_modules/${name}`;
  if (isKept.has(path)) return path;
  return from === ''
    ? undefined
    : findInstalled(name, from.slice(0, Math.max(0, from.lastIndexOf('/node_modules/'))), isKept);
}

const toLicenses = (license: string) =>
  license === '' ? [] : [/[\s()]/.test(license) ? { expression: license } : { license: { id: license } }];

function toHashes(integrity: string | undefined) {
  const [algorithm = '', digest = ''] = integrity?.split('-') ?? [];
  const names: Record<string, string> = { sha1: 'SHA-1', sha256: 'SHA-256', sha512: 'SHA-512' };
  const alg = names[algorithm];
  return alg ? [{ alg, content: Buffer.from(digest, 'base64').toString('hex') }] : [];
}

const toWork = (owner: string, { name, version, license }: Work) => ({
  type: 'library',
  'bom-ref': `${owner}#${name}`,
  name,
  ...(version !== undefined && { version }),
  licenses: toLicenses(license),
});

const toComponent = ({ path, name, version, license, integrity, isOptional, contains }: InstalledPackage) => ({
  type: 'library',
  'bom-ref': path,
  name,
  version,
  scope: isOptional ? 'optional' : 'required',
  hashes: toHashes(integrity),
  licenses: toLicenses(license),
  purl: `pkg:npm/${name.replace('@', '%40')}@${version}`,
  ...(contains && { components: contains.map((work) => toWork(path, work)) }),
});

export function toSbom(folder: string) {
  const own = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const installed = readInstalled(folder);
  const direct = Object.keys({ ...own.dependencies, ...own.optionalDependencies }).map(
    (name) => `node_modules/${name}`,
  );
  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    serialNumber: `urn:uuid:${randomUUID()}`,
    version: 1,
    metadata: {
      timestamp: new Date().toISOString(),
      lifecycles: [{ phase: 'pre-build' }],
      component: {
        type: 'application',
        'bom-ref': own.name,
        name: own.name,
        version: own.version,
        description: own.description,
        licenses: toLicenses(own.license),
      },
    },
    components: installed.map(toComponent),
    dependencies: [
      { ref: own.name, dependsOn: direct },
      ...installed.map(({ path, dependencies }) => ({ ref: path, dependsOn: dependencies })),
    ],
  };
}

if (import.meta.main) console.log(JSON.stringify(toSbom(join(import.meta.dirname, '..')), null, 2));
