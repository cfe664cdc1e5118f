// Finds the programs that some tests run, and the libraries that they compile with. Tests that need a missing one are
// skipped, which skipped-tests.ts summarises. `.ci/run all` installs them all.
import { existsSync, globSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Debian package of each program or library file. */
const packages = {
  '/usr/include/grpcpp': 'libgrpc++-dev',
  '/usr/lib/python3/dist-packages/grpc': 'python3-grpcio',
  '/usr/share/doc/ruby-grpc/copyright': 'ruby-grpc',
  '/usr/share/gocode/src/google.golang.org/grpc': 'golang-google-grpc-dev golang-google-genproto-dev',
  '/usr/share/java/geronimo-annotation-1.3-spec.jar': 'libgeronimo-annotation-1.3-spec-java',
  '/usr/share/java/grpc-stub.jar': 'libgrpc-java libguava-java libprotobuf-java',
  '/usr/share/java/netty-codec-http2.jar': 'libnetty-java',
  '/usr/share/java/perfmark-api.jar': 'libperfmark-java',
  buildah: 'buildah',
  bzip2: 'bzip2',
  cargo: 'rustup',
  ceph: 'ceph-common',
  'ceph-mon': 'ceph-mon',
  'ceph-osd': 'ceph-osd',
  chromium: 'chromium',
  crun: 'crun',
  'espeak-ng': 'espeak-ng',
  faketime: 'faketime',
  exiftool: 'libimage-exiftool-perl',
  ffmpeg: 'ffmpeg',
  ffprobe: 'ffmpeg',
  fish: 'fish',
  'g++': 'g++',
  go: 'golang-go',
  grpc_cpp_plugin: 'protobuf-compiler-grpc',
  grpc_java_plugin: 'protobuf-compiler-grpc-java-plugin',
  grpc_php_plugin: 'protobuf-compiler-grpc',
  grpc_python_plugin: 'protobuf-compiler-grpc',
  grpc_ruby_plugin: 'protobuf-compiler-grpc',
  javac: 'default-jdk-headless',
  jq: 'jq',
  kubectl: 'kubernetes-client',
  mediainfo: 'mediainfo',
  mvn: 'maven',
  openssl: 'openssl',
  haproxy: 'haproxy',
  parec: 'pulseaudio-utils',
  pgbouncer: 'pgbouncer',
  pocketsphinx_batch: 'pocketsphinx pocketsphinx-en-us',
  php: 'php-cli',
  podman: 'podman',
  postgres: 'postgresql',
  promtool: 'prometheus',
  protoc: 'protobuf-compiler',
  'protoc-gen-go': 'protoc-gen-go',
  'protoc-gen-go-grpc': 'protoc-gen-go-grpc',
  pulseaudio: 'pulseaudio',
  python3: 'python3',
  radosgw: 'radosgw',
  script: 'bsdutils',
  sox: 'sox',
  'spd-say': 'speech-dispatcher',
  'speech-dispatcher': 'speech-dispatcher',
  zsh: 'zsh',
} as const;

export type Program = keyof typeof packages;

/** Folders of servers that Debian keeps out of the path, newest version first. */
const beside = ['/usr/sbin', ...globSync('/usr/lib/postgresql/*/bin').sort(byVersion)];

/** The folder that contains the program. */
export const findProgram = (program: Program): string | undefined =>
  [...beside, ...(process.env.PATH ?? '').split(delimiter)].find((folder) => existsSync(join(folder, program)));

export const isInstalled = (program: Program): boolean =>
  program.startsWith('/') ? existsSync(program) : findProgram(program) !== undefined;

function byVersion(one: string, other: string): number {
  const [first, second] = [one, other].map((path) => Number(/\d+/.exec(path)));
  return second! - first!;
}

/** The missing programs and libraries, with their Debian packages. */
export function missingPrograms(): { programs: string[]; packages: string[] } {
  const programs = (Object.keys(packages) as Program[]).filter((program) => !isInstalled(program));
  return { programs, packages: [...new Set(programs.flatMap((program) => packages[program].split(' ')))] };
}
