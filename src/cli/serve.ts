// `sonant serve`: the service, until it is told to stop. The first start prints a key and a line that works with it, but
// only to who sits at the machine: where others can reach the service, it prints where the key is kept.

import type { Service } from '../app.ts';
import type { Config } from '../config.ts';
import { type Command, type CommandLine, parseCommandArgs } from './command.ts';

const options = { 'single-port': { type: 'boolean' } } as const;

export const serveCommand: Command = {
  name: 'serve',
  summary: 'serve gRPC, REST and SSE',
  options,
  help: () => `Usage: sonant serve [--single-port]

Serves HTTP on SONANT_HTTP_ADDR and gRPC on SONANT_GRPC_ADDR until it gets SIGTERM or SIGINT; then it says that it is
not ready for SONANT_LEAVE_SECONDS, takes nothing new, lets what runs finish for SONANT_DRAIN_SECONDS, and ends. A second
signal ends it at once.

  --single-port   serve both on SONANT_HTTP_ADDR
`,
  async run(line) {
    const { values } = parseCommandArgs({ args: line.args, options });
    const config = line.loadConfig();
    const service = await line.openService({ isSinglePort: values['single-port'] ?? false });
    greet(line, config, service);
    const { signal } = line;
    // It may have come while the service was opening.
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    line.print(toFarewell(config));
    await service.drain();
    return 0;
  },
};

function toFarewell({ leaveSeconds, drainSeconds }: Config): string {
  const leaving = leaveSeconds > 0 ? `requests are taken for ${leaveSeconds} s more, then ` : '';
  return `Stopping: ${leaving}what runs may finish for ${drainSeconds} s. Interrupt again to end at once.`;
}

const isLoopback = (host: string) => host === 'localhost' || host === '::1' || host.startsWith('127.');

function greet({ print }: CommandLine, config: Config, { httpPort, grpcPort, baseUrl, firstKey }: Service): void {
  const { httpAddr } = config;
  const isSinglePort = grpcPort === httpPort;
  const grpcHost = (isSinglePort ? httpAddr : config.grpcAddr).host;
  const isLocal = isLoopback(httpAddr.host) && isLoopback(grpcHost);
  print(
    isSinglePort
      ? `Sonant serves HTTP and gRPC on ${httpAddr.host}:${httpPort}.`
      : `Sonant serves HTTP on ${httpAddr.host}:${httpPort} and gRPC on ${grpcHost}:${grpcPort}.`,
  );
  if (!isLocal && config.baseUrl === '') {
    print(`Links to audio begin with ${baseUrl}: set SONANT_BASE_URL to where others reach it.`);
  }
  if (!isLocal && config.tlsCert === '' && !config.isBehindProxy) {
    print('Warning: others can reach it, and nothing is encrypted. Set SONANT_TLS_CERT and SONANT_TLS_KEY, or put a');
    print('proxy that does TLS in front and set SONANT_BEHIND_PROXY=1.');
  }
  if (!firstKey) return;
  print(`\nThere was no API key, so one was made. It is kept in ${firstKey.file}.`);
  if (!isLocal) return;
  print(`\n  ${firstKey.key}\n\nIt is shown only now. Try it:\n`);
  print(`curl -sSf ${baseUrl}/api/audio/speech -H 'X-API-Key: ${firstKey.key}' -H 'Content-Type: application/json' \\
  -d '{"voice_id":"arthur","text":"Hello. This is Sonant.","return_format":"buffer"}' -o hello.wav\n`);
}
