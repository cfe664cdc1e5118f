// Tests the overlays of deploy/kubernetes, rendered by kubectl. The result matches the types of Kubernetes' API, and
// all names in it exist. deploy.test.ts checks the grace periods.
import { execFileSync } from 'node:child_process';
import { cpSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { parse, parseAllDocuments, stringify } from 'yaml';
import { allSettings } from '../src/app/config.ts';
import { registry } from '../src/engines/registry.ts';
import { isInstalled } from './programs.ts';
import { toolFile } from './tool-packages.ts';

const root = join(import.meta.dirname, '..');
const source = join(root, 'deploy/kubernetes');

interface Resource {
  apiVersion: string;
  kind: string;
  metadata: { name: string };
  // biome-ignore lint/suspicious/noExplicitAny: its form depends on the kind
  [member: string]: any;
}

function temporaryFolder(inside: string): string {
  const made = mkdtempSync(join(inside, 'sonant-kubernetes-'));
  onTestFinished(() => rmSync(made, { recursive: true }));
  return made;
}

const kubectl = (...args: string[]) => execFileSync('kubectl', args, { encoding: 'utf8', timeout: 30_000 });

/** Debian 12's kubectl has Kustomize 2, which has other names for folders among the resources, and for patches. */
function toKustomize2(folder: string): void {
  for (const file of globSync('*/kustomization.yaml', { cwd: folder })) {
    const { resources, patches = [], ...rest } = parse(readFileSync(join(folder, file), 'utf8'));
    const isFolder = (name: string) => name.startsWith('../');
    const old = {
      ...rest,
      bases: resources.filter(isFolder),
      resources: resources.filter((name: string) => !isFolder(name)),
      patchesStrategicMerge: patches.map(({ path }: { path: string }) => path),
    };
    writeFileSync(join(folder, file), stringify(old));
  }
}

function render(overlay: string): Resource[] {
  const folder = temporaryFolder(tmpdir());
  cpSync(source, folder, { recursive: true });
  const { clientVersion } = JSON.parse(kubectl('version', '--client', '--output', 'json'));
  const isOld = Number.parseInt(clientVersion.minor, 10) < 21;
  if (isOld) toKustomize2(folder);
  const rendered: Resource[] = parseAllDocuments(kubectl('kustomize', join(folder, overlay))).map((each) =>
    each.toJS(),
  );
  // Kustomize 2 does not know autoscaling/v2, so keda/without-autoscaling.yaml does not delete the autoscaler.
  return isOld && overlay === 'keda' ? rendered.filter(({ kind }) => kind !== 'HorizontalPodAutoscaler') : rendered;
}

const types = join(toolFile('kubernetes-types/package.json'), '..');

/** Returns the errors of tsc for the resources as literals of the API's types, including errors for unknown members. */
function findFaults(resources: readonly Resource[]): string {
  const folder = temporaryFolder(join(root, 'test'));
  const lines = resources.map((resource, position) => {
    const path = resource.apiVersion.includes('/') ? resource.apiVersion : `core/${resource.apiVersion}`;
    const type = `import('${types}/${path}.d.ts').${resource.kind}`;
    return `export const resource${position}: ${type} = ${JSON.stringify(resource)};\n`;
  });
  writeFileSync(join(folder, 'resources.ts'), lines.join(''));
  const options = ['--ignoreConfig', '--noEmit', '--strict', '--module', 'nodenext', '--allowImportingTsExtensions'];
  try {
    execFileSync(join(root, 'node_modules/.bin/tsc'), [...options, join(folder, 'resources.ts')], { encoding: 'utf8' });
    return '';
  } catch (error) {
    return (error as { stdout: string }).stdout;
  }
}

const find = (resources: readonly Resource[], kind: string, name = 'sonant') =>
  resources.find((each) => each.kind === kind && each.metadata.name.replace(/-[a-z0-9]{10}$/, '') === name)!;

describe.skipIf(!isInstalled('kubectl'))('kubectl renders the overlay', () => {
  test.each([
    { overlay: 'single', kinds: 'ConfigMap Deployment PersistentVolumeClaim Service Service' },
    { overlay: 'replicas', kinds: 'ConfigMap Deployment HorizontalPodAutoscaler PodDisruptionBudget Service Service' },
    {
      overlay: 'gpu',
      kinds:
        'ConfigMap Deployment Deployment HorizontalPodAutoscaler PodDisruptionBudget PodDisruptionBudget Service Service Service',
    },
    {
      overlay: 'keda',
      kinds:
        'ConfigMap Deployment Deployment PodDisruptionBudget PodDisruptionBudget ScaledObject ScaledObject Service Service Service',
    },
  ])('$overlay', ({ overlay, kinds }) => {
    const resources = render(overlay);
    expect(
      resources
        .map(({ kind }) => kind)
        .sort()
        .join(' '),
    ).toBe(kinds);
    expect(findFaults(resources.filter(({ kind }) => kind !== 'ScaledObject'))).toBe('');

    const { data } = find(resources, 'ConfigMap');
    const known = new Set<string>(allSettings(registry).map(({ name }) => name));
    expect(Object.keys(data).filter((name) => !known.has(name) && name !== 'AWS_REGION')).toEqual([]);
    const { spec } = find(resources, 'Deployment').spec.template;
    const [container] = spec.containers;
    const [configured, secret] = container.envFrom;
    expect(configured.configMapRef.name).toBe(find(resources, 'ConfigMap').metadata.name);
    expect(secret.secretRef).toEqual({ name: 'sonant', ...(overlay === 'single' && { optional: true }) });
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    expect(container.image.split('/').at(-1)).toBe(`sonant:${version}`);
    const volumes = Object.fromEntries(spec.volumes.map(({ name, ...kind }: { name: string }) => [name, kind]));
    const place = overlay === 'single' ? { persistentVolumeClaim: { claimName: 'sonant' } } : { emptyDir: {} };
    expect(volumes).toEqual({ data: place, tmp: { emptyDir: {} } });
    expect(container.volumeMounts.map(({ name }: { name: string }) => name).sort()).toEqual(['data', 'tmp']);

    for (const { kind, metadata, spec: scaled } of resources.filter((each) => each.spec?.scaleTargetRef)) {
      expect([kind, metadata.name, find(resources, 'Deployment', scaled.scaleTargetRef.name).kind]).toEqual([
        kind,
        metadata.name,
        'Deployment',
      ]);
    }
    if (overlay === 'gpu' || overlay === 'keda') {
      const { hostname, port } = new URL(data.SONANT_OPENAI_URL.replace('dns+', ''));
      const service = find(resources, 'Service', hostname);
      expect(service.spec).toMatchObject({ clusterIP: 'None', ports: [{ port: Number(port) }] });
    }
  });

  test('a misspelt member is a fault', () => {
    const deployment = find(render('single'), 'Deployment');
    deployment.spec.template.spec.containers[0].enviromentFrom = [];
    expect(findFaults([deployment])).toContain(`'"enviromentFrom"' does not exist in type 'Container'`);
  });
});
