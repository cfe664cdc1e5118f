// The voices that are kept in the database, and, once there are engines, the desk where they are made.
import { findOwnSecret, readOwnSecret } from '../access/own-secret.ts';
import type { Config } from '../config.ts';
import type { Engine } from '../engines/engine.ts';
import type { EngineGuards } from '../speech/engine-guard.ts';
import type { Voices } from '../speech/voice.ts';
import type { RowStore } from '../store/row-store.ts';
import { createVoiceRows, type VoiceRows } from '../store/voice-rows.ts';
import { createCloneMaking } from '../voices/clone-making.ts';
import { readSamples } from '../voices/sample-reader.ts';
import { createVault, type Vault } from '../voices/vault.ts';
import { createVoiceDesk, type VoiceDesk } from '../voices/voice-desk.ts';
import { openVoiceShelf, type VoiceShelf, type VoiceShelfOptions } from '../voices/voice-shelf.ts';

export interface VoiceKeeping {
  rows: VoiceRows;
  vault: Vault;
  shelf: VoiceShelf;
  createDesk(heart: { engines: readonly Engine[]; voices: Voices; guards: EngineGuards }): VoiceDesk;
  close(): Promise<void>;
}

type Ends = Pick<VoiceShelfOptions, 'purge' | 'onFault'>;

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
    mayMake ? readOwnSecret(config.dataDir, masterKeyFile) : findOwnSecret(config.dataDir, masterKeyFile);
  const vault = createVault(async (mayMake) => config.masterKey || own(mayMake));
  const shelf = await openVoiceShelf({ rows, vault, ...ends });
  return {
    rows,
    vault,
    shelf,
    createDesk({ engines, voices, guards }) {
      const speak = (engine: Engine, ...[segment, signal]: Parameters<Engine['speak']>) =>
        guards(engine).speak(segment, callerId, signal);
      const makeClones = createCloneMaking({ engines, readSamples, speak });
      return createVoiceDesk({ rows, shelf, voices, engines, making: { makeClones, vault } });
    },
    close: () => shelf.close(),
  };
}
