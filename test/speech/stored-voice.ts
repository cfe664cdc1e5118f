// A stored voice, as speech gets it from the database.
import { noTexts } from '../../src/library/voices/voice-rows.ts';
import type { StoredVoice } from '../../src/speech/stored-voices.ts';

export const storedVoice = (more: Partial<StoredVoice> = {}): StoredVoice => ({
  ...noTexts,
  ...{
    voiceId: 'ada',
    name: 'Ada',
    description: '',
    kind: 'stock',
    status: 'ready',
    languageCodes: ['en'],
    labels: {},
  },
  ...{ version: '1', bindings: [], consent: undefined, ownerId: undefined, access: 'everyone', lexiconIds: [] },
  ...{ createdAt: new Date(0), updatedAt: new Date(0), ended: new AbortController().signal, ...more },
});
