// `npm run gen:stubs` generates client code for each language from Sonant's protos into stubs/LANGUAGE; `npm run
// gen:stubs -- go java` only for these languages. The plugins are installed programs; nothing is downloaded. A language
// without its plugins is skipped, and the missing Debian packages are named.
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

interface Language {
  /** Generators that are built into protoc. */
  builtIn: readonly string[];
  /** Programs that generate further code. */
  plugins: readonly string[];
  /** Folder in stubs/ for the code. */
  out: string;
  debian: string;
  /** Whether to generate Google's error messages too, because no package provides them for this language. */
  writesErrors?: boolean;
}

const languages: Record<string, Language> = {
  python: {
    builtIn: ['python', 'pyi'],
    plugins: ['grpc_python_plugin'],
    out: 'python',
    debian: 'protobuf-compiler protobuf-compiler-grpc',
    writesErrors: true,
  },
  go: {
    builtIn: [],
    plugins: ['protoc-gen-go', 'protoc-gen-go-grpc'],
    out: 'go/src',
    debian: 'protoc-gen-go protoc-gen-go-grpc',
  },
  java: {
    builtIn: ['java'],
    plugins: ['grpc_java_plugin'],
    out: 'java',
    debian: 'protobuf-compiler protobuf-compiler-grpc-java-plugin',
    writesErrors: true,
  },
  cpp: {
    builtIn: ['cpp'],
    plugins: ['grpc_cpp_plugin'],
    out: 'cpp',
    debian: 'protobuf-compiler protobuf-compiler-grpc',
    writesErrors: true,
  },
  ruby: {
    builtIn: ['ruby'],
    plugins: ['grpc_ruby_plugin'],
    out: 'ruby',
    debian: 'protobuf-compiler protobuf-compiler-grpc',
  },
  php: {
    builtIn: ['php'],
    plugins: ['grpc_php_plugin'],
    out: 'php',
    debian: 'protobuf-compiler protobuf-compiler-grpc',
  },
};

const errorProtos = ['status', 'error_details'].map(
  (name) => `tools/node_modules/google-proto-files/google/rpc/${name}.proto`,
);
const ours = { directory: 'proto' };
const errors = { directory: 'tools/node_modules/google-proto-files', paths: errorProtos };

function write({ builtIn, plugins, out, writesErrors }: Language): void {
  const template = {
    version: 'v2',
    clean: true,
    inputs: writesErrors ? [ours, errors] : [ours],
    plugins: [
      ...builtIn.map((name) => ({ protoc_builtin: name, out: `stubs/${out}` })),
      ...plugins.map((name) => ({ local: name, out: `stubs/${out}` })),
    ],
  };
  execFileSync('buf', ['generate', '--template', JSON.stringify(template)], { stdio: 'inherit' });
}

const isHere = (program: string) =>
  (process.env.PATH ?? '').split(delimiter).some((folder) => existsSync(join(folder, program)));

const names = process.argv.slice(2);
let count = 0;
process.chdir(join(import.meta.dirname, '..'));
for (const name of names.length ? names : Object.keys(languages)) {
  const language = languages[name];
  if (!language) {
    console.error(`no such language: ${name}; there are ${Object.keys(languages).join(', ')}`);
    process.exitCode = 2;
    continue;
  }
  const missing = [...(language.builtIn.length ? ['protoc'] : []), ...language.plugins].filter((name) => !isHere(name));
  if (missing.length) {
    console.error(`${name} is left out, without ${missing.join(', ')}: apt-get install ${language.debian}`);
    if (names.length) process.exitCode = 1;
    continue;
  }
  write(language);
  count++;
  console.log(`stubs/${language.out}`);
}
if (count === 0) process.exitCode ||= 1;
