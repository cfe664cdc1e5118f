// `sonant serve`: runs the service until SIGTERM or SIGINT. On loopback, the first run prints a curl command. The key
// itself is printed only to a terminal, because logs may be collected.
import { flushCompileCache } from 'node:module';
import { isLoopbackHost } from '../../platform/net/client-addresses.ts';
import { freeMemory } from '../../platform/runtime/free-memory.ts';
import { shellWord } from '../../platform/runtime/shell-word.ts';
import type { Config } from '../config.ts';
import type { Service } from '../service.ts';
import { type Command, type CommandLine, flag, parseCommandArgs } from './command.ts';

const options = {
  'single-port': flag('serve HTTP and gRPC on SONANT_HTTP_ADDR'),
  'print-key': flag('print the key that the first start creates, even if the output is not a terminal'),
};

export const serveCommand: Command = {
  name: 'serve',
  summary: 'serve gRPC, REST and SSE',
  examples: ['SONANT_HTTP_ADDR=0.0.0.0:8080 sonant serve'],
  options,
  usage: () => `Usage: sonant serve [--single-port] [--print-key]

Serves HTTP on SONANT_HTTP_ADDR and gRPC on SONANT_GRPC_ADDR until SIGTERM or SIGINT. Then it reports not ready for
SONANT_LEAVE_SECONDS, accepts no new requests, gives running ones SONANT_DRAIN_SECONDS to finish, and exits. A second
signal ends it at once.`,
  async run(line) {
    const { values } = parseCommandArgs({ args: line.args, options });
    const config = line.loadConfig();
    const service = await line.openService({ isSinglePort: values['single-port'] ?? false });
    greet(line, config, service, values['print-key'] ?? false);
    // Writes the compile cache now, because a process that is killed later would not write it.
    flushCompileCache();
    freeStartMemory(service.isIdle);
    const { signal } = line;
    // The signal may arrive while the service is opening.
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    line.print(toFarewell(config));
    await service.drain();
    return 0;
  },
};

function toFarewell({ leaveSeconds, drainSeconds }: Config): string {
  const leaving = leaveSeconds > 0 ? `requests are accepted for ${leaveSeconds} s more, then ` : '';
  return `Stopping: ${leaving}running requests have ${drainSeconds} s to finish. Interrupt again to stop at once.`;
}

function greet({ print, asTyped }: CommandLine, config: Config, service: Service, printsKey: boolean): void {
  const { httpPort, grpcPort, adminPort, wyomingPort, baseUrl, firstKey, defaultVoiceId } = service;
  const { httpAddr, wyomingAddr } = config;
  const isSinglePort = grpcPort === httpPort;
  const grpcHost = (isSinglePort ? httpAddr : config.grpcAddr).host;
  const isLocal = isLoopbackHost(httpAddr.host) && isLoopbackHost(grpcHost);
  print(
    isSinglePort
      ? `Sonant serves HTTP and gRPC on ${httpAddr.host}:${httpPort}.`
      : `Sonant serves HTTP on ${httpAddr.host}:${httpPort} and gRPC on ${grpcHost}:${grpcPort}.`,
  );
  if (config.adminAddr !== '') print(`Health and metrics are at ${config.adminAddr.host}:${adminPort}.`);
  if (wyomingPort !== undefined) {
    print(`Home Assistant (Wyoming) is served on ${String(wyomingAddr).replace(/\d+$/, String(wyomingPort))}.`);
  }
  const files = new Set(config.inForce.map(({ source }) => source));
  for (const other of ['environment', 'default']) files.delete(other);
  if (files.size > 0) print(`Settings were read from ${[...files].join(' and ')}.`);
  print(`Open ${baseUrl}/console to try it; the API is documented at ${baseUrl}/docs.`);
  if (!isLocal && config.baseUrl === '') {
    print(`Links to audio begin with ${baseUrl}. If clients use another URL, set SONANT_BASE_URL.`);
  }
  if (!isLocal && config.tlsCert === '' && !config.isBehindProxy) {
    print(
      'Warning: Sonant accepts connections from other machines without TLS. Set SONANT_TLS_CERT and SONANT_TLS_KEY,',
    );
    print('or put a proxy that terminates TLS in front of it and set SONANT_BEHIND_PROXY=1.');
  }
  if (!firstKey) {
    print(asTyped('Calls need an API key; sonant key create makes another.'));
    return;
  }
  print(`\nThere was no API key, so one was created. It is stored in ${firstKey.file}.`);
  const showsKey = printsKey || (isLocal && process.stdout.isTTY);
  if (showsKey) print(`\n  ${firstKey.key}`);
  if (!isLocal || defaultVoiceId === undefined) return;
  const header = showsKey ? `'X-API-Key: ${firstKey.key}'` : `"X-API-Key: $(cat ${shellWord(firstKey.file)})"`;
  print(`\nTry it:\n
curl -sSf ${shellWord(`${baseUrl}/api/audio/speech`)} -H ${header} -H 'Content-Type: application/json' \\
  -d ${shellWord(JSON.stringify({ voice_id: defaultVoiceId, text: 'Hello. This is Sonant.', return_format: 'buffer' }))} -o hello.wav\n`);
}

const everyMs = 3000;

/** Frees about 30 MiB left over from module loading, while no request is running. */
export function freeStartMemory(isIdle: () => boolean): void {
  const timer = setInterval(() => {
    if (!isIdle()) return;
    clearInterval(timer);
    freeMemory();
  }, everyMs);
  timer.unref();
}
