// `npm run gen:stubs` generates client code for each language from Sonant's protos into stubs/LANGUAGE; `npm run
// gen:stubs -- go java` only for these languages. The plugins are installed programs; nothing is downloaded. A language
// without its plugins is skipped, with a line that says how to install them.
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
  /** Command that installs the generators. */
  install: string;
  /** Whether to generate Google's error messages and options too, because no package provides them for this language. */
  writesGoogle?: boolean;
}

const languages: Record<string, Language> = {
  python: {
    builtIn: ['python', 'pyi'],
    plugins: ['grpc_python_plugin'],
    out: 'python',
    install: 'apt-get install protobuf-compiler protobuf-compiler-grpc',
    writesGoogle: true,
  },
  go: {
    builtIn: [],
    plugins: ['protoc-gen-go', 'protoc-gen-go-grpc'],
    out: 'go/src',
    install: 'apt-get install protoc-gen-go protoc-gen-go-grpc',
  },
  java: {
    builtIn: ['java'],
    plugins: ['grpc_java_plugin'],
    out: 'java',
    install: 'apt-get install protobuf-compiler protobuf-compiler-grpc-java-plugin',
    writesGoogle: true,
  },
  cpp: {
    builtIn: ['cpp'],
    plugins: ['grpc_cpp_plugin'],
    out: 'cpp',
    install: 'apt-get install protobuf-compiler protobuf-compiler-grpc',
    writesGoogle: true,
  },
  csharp: {
    builtIn: ['csharp'],
    plugins: ['grpc_csharp_plugin'],
    out: 'csharp',
    install: 'the NuGet package Grpc.Tools contains the plugin; the stubs also need Google.Api.CommonProtos',
  },
  kotlin: {
    builtIn: ['java', 'kotlin'],
    plugins: ['grpc_java_plugin'],
    out: 'kotlin',
    install: 'apt-get install protobuf-compiler protobuf-compiler-grpc-java-plugin',
    writesGoogle: true,
  },
  ruby: {
    builtIn: ['ruby'],
    plugins: ['grpc_ruby_plugin'],
    out: 'ruby',
    install: 'apt-get install protobuf-compiler protobuf-compiler-grpc',
  },
  php: {
    builtIn: ['php'],
    plugins: ['grpc_php_plugin'],
    out: 'php',
    install: 'apt-get install protobuf-compiler protobuf-compiler-grpc',
  },
  rust: {
    builtIn: [],
    plugins: ['protoc-gen-prost', 'protoc-gen-tonic'],
    out: 'rust',
    install: 'cargo install protoc-gen-prost protoc-gen-tonic',
  },
  swift: {
    builtIn: [],
    plugins: ['protoc-gen-swift', 'protoc-gen-grpc-swift-2'],
    out: 'swift',
    install: 'the Swift packages swift-protobuf and grpc-swift-protobuf contain the plugins',
  },
};

const googleProtos = ['api/annotations', 'api/http', 'rpc/error_details', 'rpc/status'].map(
  (name) => `tools/node_modules/google-proto-files/google/${name}.proto`,
);
const ours = { directory: 'proto' };
const google = { directory: 'tools/node_modules/google-proto-files', paths: googleProtos };

function write({ builtIn, plugins, out, writesGoogle }: Language): void {
  const template = {
    version: 'v2',
    clean: true,
    inputs: writesGoogle ? [ours, google] : [ours],
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
    console.error(`${name} is left out, without ${missing.join(', ')}: ${language.install}`);
    if (names.length) process.exitCode = 1;
    continue;
  }
  write(language);
  count++;
  console.log(`stubs/${language.out}`);
}
if (count === 0) process.exitCode ||= 1;
