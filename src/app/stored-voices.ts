// Opens the voices and the lexicons in the database, and with engines, the management that creates and changes voices.

import { findDataDirSecret, readDataDirSecret } from '../access/data-dir-secret.ts';
import type { Engine } from '../engines/engine.ts';
import { openLexiconCache } from '../lexicons/lexicon-cache.ts';
import { createLexiconManagement } from '../lexicons/lexicon-management.ts';
import type { Lexicons } from '../speech/lexicons.ts';
import { createLexiconRows } from '../store/lexicon-rows.ts';
import type { RowStore } from '../store/row-store.ts';
import { createVoiceRows } from '../store/voice-rows.ts';
import { createCloneMaking } from '../voices/clone-making.ts';
import { createVault } from '../voices/clone-vault.ts';
import { readSamples } from '../voices/sample-reader.ts';
import { openVoiceCache, type VoiceCacheOptions } from '../voices/voice-cache.ts';
import { createVoiceManagement } from '../voices/voice-management.ts';
import type { Config } from './config.ts';
import type { OpenedSpeech } from './open-speech.ts';

export type StoredVoices = Awaited<ReturnType<typeof openStoredVoices>>;

const masterKeyFile = 'master-key';
/** The caller under which clones are tested; engines are shared fairly between callers. */
const callerId = 'cloning';

export async function openStoredVoices(
  config: Pick<Config, 'masterKey' | 'dataDir' | 'lexiconsPerAccount' | 'voicesPerAccount'>,
  store: RowStore,
  callbacks: Pick<VoiceCacheOptions, 'purge' | 'onFault'>,
) {
  const rows = createVoiceRows(store);
  const vault = createVault(
    async (mayMake) =>
      config.masterKey || (mayMake ? readDataDirSecret : findDataDirSecret)(config.dataDir, masterKeyFile),
  );
  const lexiconRows = createLexiconRows(store);
  const lexiconCache = await openLexiconCache({ rows: lexiconRows, onFault: callbacks.onFault });
  // A voice is there no sooner than the lexicons that are bound to it.
  const listChanged: typeof rows.listChanged = async (...asked) => {
    const changed = await rows.listChanged(...asked);
    if (changed.some(({ lexiconIds }) => lexiconIds !== null)) await lexiconCache.refresh();
    return changed;
  };
  const voiceCache = await openVoiceCache({ rows: { ...rows, listChanged }, vault, ...callbacks });
  const { lexiconsPerAccount, voicesPerAccount } = config;
  return {
    rows,
    vault,
    voiceCache,
    lexiconCache,
    lexicons: createLexiconManagement({ rows: lexiconRows, cache: lexiconCache, lexiconsPerAccount }),
    /** Where voices come from besides engines, their other names, and lexicons. */
    sources: {
      stored: voiceCache.stored,
      lexicons: lexiconCache as Lexicons,
      readChanges: () => Promise.all([voiceCache.refresh(), lexiconCache.refresh()]),
    },
    createManagement({ engines, voices, guards }: Pick<OpenedSpeech, 'engines' | 'voices' | 'guards'>) {
      const speak = (engine: Engine, ...[segment, signal]: Parameters<Engine['speak']>) =>
        guards(engine).speak(segment, callerId, signal);
      const makeClones = createCloneMaking({ engines, readSamples, speak });
      return createVoiceManagement({
        rows,
        voiceCache,
        voices,
        lexicons: lexiconCache,
        engines,
        making: { makeClones, vault, voicesPerAccount },
      });
    },
    async close() {
      await voiceCache.close();
      await lexiconCache.close();
    },
  };
}
