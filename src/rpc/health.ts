// grpc.health.v1 (https://github.com/grpc/grpc/blob/master/doc/health-checking.md): whether the service as a whole ("")
// and each service by name accepts calls. They always have the same state.

import type { DescService } from '@bufbuild/protobuf';
import { Health as HealthService, HealthCheckResponse_ServingStatus as Status } from '../../gen/health/v1/health_pb.ts';
import { Failure } from '../errors.ts';
import { type ServedService, serve } from './calls.ts';

export interface Health {
  served: ServedService;
  /** Reports NOT_SERVING to all watchers, and then ends their streams. */
  close(): void;
}

export function openHealth(services: readonly DescService[]): Health {
  const names = new Set(['', ...services.map(({ typeName }) => typeName)]);
  const watchers = new Set<() => void>();
  let isServing = true;

  const statusOf = (name: string) =>
    names.has(name) ? (isServing ? Status.SERVING : Status.NOT_SERVING) : Status.SERVICE_UNKNOWN;

  const changed = (signal: AbortSignal) =>
    new Promise<void>((resolve) => {
      const wake = () => {
        watchers.delete(wake);
        signal.removeEventListener('abort', wake);
        resolve();
      };
      watchers.add(wake);
      signal.addEventListener('abort', wake);
      if (signal.aborted) wake();
    });

  async function* watch(name: string, signal: AbortSignal) {
    let reported: Status | undefined;
    while (!signal.aborted) {
      const status = statusOf(name);
      if (status !== reported) {
        reported = status;
        yield { status };
      } else if (!isServing) throw new Failure('overloaded', { message: 'The service is stopping.' });
      else await changed(signal);
    }
  }

  const served = serve(HealthService, {
    check({ service }) {
      if (!names.has(service)) throw new Failure('not_found', { message: 'There is no such service here.' });
      return { status: statusOf(service) };
    },
    list: () => ({ statuses: Object.fromEntries([...names].map((name) => [name, { status: statusOf(name) }])) }),
    watch: ({ service }, { signal }) => watch(service, signal),
  });

  return {
    served,
    close() {
      isServing = false;
      for (const wake of watchers) wake();
    },
  };
}
