// The voices that are kept in the database, and, once there are engines, the desk where they are made.

import type { Config } from '../config.ts';
import type { Engine } from '../engines/engine.ts';
import { findDataDirSecret, readDataDirSecret } from '../secrets/data-dir-secret.ts';
import type { EngineGuards } from '../speech/engine-guard.ts';
import type { Voices } from '../speech/voice.ts';
import type { RowStore } from '../store/row-store.ts';
import { createVoiceRows, type VoiceRows } from '../store/voice-rows.ts';
import { createCloneMaking } from '../voices/clone-making.ts';
import { createVault, type Vault } from '../voices/clone-vault.ts';
import { readSamples } from '../voices/sample-reader.ts';
import { openVoiceCache, type VoiceCache, type VoiceCacheOptions } from '../voices/voice-cache.ts';
import { createVoiceManagement, type VoiceManagement } from '../voices/voice-management.ts';

export interface VoiceKeeping {
  rows: VoiceRows;
  vault: Vault;
  voiceCache: VoiceCache;
  createManagement(heart: { engines: readonly Engine[]; voices: Voices; guards: EngineGuards }): VoiceManagement;
  close(): Promise<void>;
}

type Ends = Pick<VoiceCacheOptions, 'purge' | 'onFault'>;

const masterKeyFile = 'master-key';
/** Whose turn it is at an engine when a clone is tried out. */
const callerId = 'cloning';

export async function openVoiceKeeping(
  config: Pick<Config, 'masterKey' | 'dataDir'>,
  store: RowStore,
  ends: Ends,
): Promise<VoiceKeeping> {
  const rows = createVoiceRows(store);
  const own = (mayMake: boolean) =>
    mayMake ? readDataDirSecret(config.dataDir, masterKeyFile) : findDataDirSecret(config.dataDir, masterKeyFile);
  const vault = createVault(async (mayMake) => config.masterKey || own(mayMake));
  const voiceCache = await openVoiceCache({ rows, vault, ...ends });
  return {
    rows,
    vault,
    voiceCache,
    createManagement({ engines, voices, guards }) {
      const speak = (engine: Engine, ...[segment, signal]: Parameters<Engine['speak']>) =>
        guards(engine).speak(segment, callerId, signal);
      const makeClones = createCloneMaking({ engines, readSamples, speak });
      return createVoiceManagement({ rows, voiceCache, voices, engines, making: { makeClones, vault } });
    },
    close: () => voiceCache.close(),
  };
}
