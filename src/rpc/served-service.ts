// A service of the protos with its implementation.
import type { DescService } from '@bufbuild/protobuf';
import type { ServiceImpl } from '@connectrpc/connect';

export interface ServedService {
  service: DescService;
  implementation: Partial<ServiceImpl<DescService>>;
}

export const serve = <S extends DescService>(service: S, implementation: ServiceImpl<S>): ServedService => ({
  service,
  implementation: implementation as ServedService['implementation'],
});
