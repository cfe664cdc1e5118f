// The row of a stored voice.
import { noTexts, type VoiceRow } from '../../../src/library/voices/voice-rows.ts';

type Row = Omit<VoiceRow, 'revision'>;

export const voiceRow = (voiceId: string, more: Partial<Row> = {}): Row => ({
  ...noTexts,
  ...{ voiceId, name: voiceId, description: '', kind: 'stock', status: 'ready', version: 1, languageCodes: 'en' },
  ...{ labels: '{}', bindings: '[]', consent: null, ownerId: null, access: 'everyone', lexiconIds: null },
  ...{ createdAtMs: 1, updatedAtMs: 1, ...more },
});
