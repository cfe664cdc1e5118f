// grpc.health.v1 (https://github.com/grpc/grpc/blob/master/doc/health-checking.md): reports whether Sonant as a whole
// ("") and each service by name accept calls. All services have the same state.
import { once } from 'node:events';
import type { DescService } from '@bufbuild/protobuf';
import {
  Health as HealthService,
  HealthCheckResponse_ServingStatus as Status,
} from '../../../gen/health/v1/health_pb.ts';
import { Failure } from '../../platform/errors.ts';
import { serve } from './calls.ts';

export type Health = ReturnType<typeof openHealth>;

export function openHealth(services: readonly DescService[]) {
  const names = new Set(['', ...services.map(({ typeName }) => typeName)]);
  const stopping = new AbortController();

  const statusOf = (name: string) => {
    if (!names.has(name)) return Status.SERVICE_UNKNOWN;
    return stopping.signal.aborted ? Status.NOT_SERVING : Status.SERVING;
  };

  async function* watch(name: string, signal: AbortSignal) {
    const first = statusOf(name);
    yield { status: first };
    if (!stopping.signal.aborted) await once(stopping.signal, 'abort', { signal }).catch(() => {});
    if (signal.aborted) return;
    const last = statusOf(name);
    if (last !== first) yield { status: last };
    throw new Failure('overloaded', { message: 'The service is stopping.' });
  }

  const served = serve(HealthService, {
    check({ service }) {
      if (!names.has(service)) throw new Failure('not_found', { message: 'Service not found.' });
      return { status: statusOf(service) };
    },
    list: () => ({ statuses: Object.fromEntries([...names].map((name) => [name, { status: statusOf(name) }])) }),
    watch: ({ service }, { signal }) => watch(service, signal),
  });

  return {
    served,
    /** Reports NOT_SERVING to all watchers, and then ends their streams. */
    close: (): void => stopping.abort(),
  };
}
