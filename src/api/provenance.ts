// Reports whether this installation made an audio file, and whether the file is unchanged.
import type { InspectAudioRequest, ProvenanceService } from '../../gen/sonant/v1/provenance_pb.ts';
import type { Provenance } from '../clips.ts';
import type { Call } from './call.ts';
import type { Handlers } from './service-handlers.ts';

export const createProvenanceHandlers = ({ inspect }: Pick<Provenance, 'inspect'>) =>
  ({
    inspectAudio: ({ file, audioId }: InspectAudioRequest, { caller: { accountId }, signal }: Call) =>
      inspect({ file, audioId, accountId }, signal),
  }) satisfies Handlers<typeof ProvenanceService>;
