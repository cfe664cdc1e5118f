// Stands in for the package clients pip and npm on the PATH: two programs that speak their command lines, copy files from
// a folder, record how they were called, and misbehave on demand.
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished, vi } from 'vitest';

const parse = {
  pip: `
for each in "$@"; do
  [ "$last" = --dest ] && dest=$each
  [ "$last" = --requirement ] && list=$each
  last=$each
done
read -r spec hash <"$list"
echo "$spec $hash" >>"$0.wanted"
name=$(echo "\${spec%==*}" | tr - _)
file=$(cd FILES && ls "$name-\${spec#*==}"*.whl)`,
  npm: `
for each in "$@"; do
  [ "$last" = --pack-destination ] && dest=$each
  last=$each
done
echo "$2" >>"$0.wanted"
file=\${2%@*}-\${2##*@}.tgz`,
};

/** What a client does with \`$file\`, which it is to write into \`$dest\`. */
export const behaviours = {
  works: 'cp "FILES/$file" "$dest"',
  'another file': 'echo other >"$dest/$file"',
  'a part of the file': 'head -c 100 "FILES/$file" >"$dest/$file"',
  'no file': 'true',
  'an error': 'echo "ERROR: no access to user:password@registry" >&2; exit 7',
  'endless words': 'head -c 20000000 /dev/zero | tr "\\0" x >&2; exit 9',
  'a hang': 'sleep 600 & echo $! >"$0.child"; wait',
  'too much': 'head -c 90000000 /dev/zero >"$dest/large"; sleep 600',
};
export type Behaviour = keyof typeof behaviours;

/** Creates the clients in a folder and makes it the PATH. `files` is the folder with the files of all packages. */
export function placeClients(folder: string, files: string, does: { pip?: Behaviour; npm?: Behaviour }) {
  const bin = join(folder, 'bin');
  mkdirSync(bin, { recursive: true });
  const write = (client: 'pip' | 'npm', behaviour: Behaviour) => {
    const script = `${parse[client]}\n${behaviours[behaviour]}`.replaceAll('FILES', files);
    const path = join(bin, client);
    const record = 'echo "$@" >>"$0.calls"; env >"$0.env"';
    writeFileSync(path, `#!/bin/sh\nPATH=/usr/bin:/bin\n${record}\n${script}\n`);
    chmodSync(path, 0o755);
  };
  for (const client of ['pip', 'npm'] as const) if (does[client]) write(client, does[client]);
  vi.stubEnv('PATH', bin);
  onTestFinished(() => void vi.unstubAllEnvs());
  const read = (name: string) => (existsSync(join(bin, name)) ? readFileSync(join(bin, name), 'utf8') : '');
  return {
    write,
    /** The arguments of each call. */
    calls: (client: 'pip' | 'npm') => read(`${client}.calls`).split('\n').slice(0, -1),
    /** The packages that were asked for, with their hashes. */
    wanted: (client: 'pip' | 'npm') => read(`${client}.wanted`).split('\n').slice(0, -1),
    environment: (client: 'pip' | 'npm') => read(`${client}.env`),
    child: (client: 'pip' | 'npm') => Number(read(`${client}.child`)),
  };
}
