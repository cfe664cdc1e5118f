// Reports whether this installation made an audio file, and whether the file is unchanged. Returns the receipts of audio.
import type {
  GetAudioReceiptRequest,
  InspectAudioRequest,
  ProvenanceService,
} from '../../gen/sonant/v1/provenance_pb.ts';
import type { OpenedDelivery, Provenance } from '../clips.ts';
import type { Call } from './call.ts';
import type { Handlers } from './service-handlers.ts';

type ProvenanceOptions = Pick<Provenance, 'inspect'> & Pick<OpenedDelivery, 'readReceipt'>;

export const createProvenanceHandlers = ({ inspect, readReceipt }: ProvenanceOptions) =>
  ({
    inspectAudio: ({ file, audioId }: InspectAudioRequest, { caller: { accountId }, signal }: Call) =>
      inspect({ file, audioId, accountId }, signal),
    getAudioReceipt: ({ audioId }: GetAudioReceiptRequest, { caller, signal }: Call) =>
      readReceipt(audioId, caller.callerId, signal),
  }) satisfies Handlers<typeof ProvenanceService>;
