// Opens the parts of Sonant that the commands work on, without the service.
import type { Config } from '../config.ts';
import type { EngineDefinition } from '../engines/engine.ts';
import { type ChangedKey, createKeyManagement, type KeyManagement } from '../keys/key-management.ts';
import type { ListStored, Voices } from '../speech/voice.ts';
import { createApiKeyRows } from '../store/api-key-rows.ts';
import { isStoreThere, openStore } from '../store/open-store.ts';
import { createUsageRows, type UsageRows } from '../store/usage-rows.ts';
import type { VoiceManagement } from '../voices/voice-management.ts';
import { type OpenedSpeech, openSpeech } from './open-speech.ts';
import { pepperOf } from './pepper.ts';
import { tellReplicas } from './sharing.ts';
import { openVoiceKeeping, type VoiceKeeping } from './voice-keeping.ts';

/** Speech alone, with the voices of the database if there is one. */
export interface App extends Pick<OpenedSpeech, 'voices' | 'speech'> {
  close(): Promise<void>;
}

export async function openApp(config: Config, definitions: readonly EngineDefinition[]): Promise<App> {
  await using opened = new AsyncDisposableStack();
  let listStored: ListStored | undefined;
  if (isStoreThere(config)) {
    const keeping = await openKeeping(config, opened);
    listStored = keeping.voiceCache.list;
  }
  const { voices, speech, close } = await openSpeech({ config, definitions, listStored });
  opened.defer(close);
  const kept = opened.move();
  return { voices, speech, close: () => kept.disposeAsync() };
}

/** The management of voices. */
export interface OpenedVoiceManagement extends Pick<VoiceKeeping, 'rows' | 'vault'> {
  voices: Voices;
  desk: VoiceManagement;
  close(): Promise<void>;
}

export async function openVoiceManagement(
  config: Config,
  definitions: readonly EngineDefinition[],
): Promise<OpenedVoiceManagement> {
  await using opened = new AsyncDisposableStack();
  const keeping = await openKeeping(config, opened);
  const heart = await openSpeech({ config, definitions, listStored: keeping.voiceCache.list });
  opened.defer(heart.close);
  const kept = opened.move();
  const { rows, vault } = keeping;
  return { rows, vault, voices: heart.voices, desk: keeping.createManagement(heart), close: () => kept.disposeAsync() };
}

/** Stored audio of a voice that has ended is removed by the service. */
async function openKeeping(config: Config, opened: AsyncDisposableStack): Promise<VoiceKeeping> {
  const store = await openStore(config);
  opened.defer(() => store.close());
  const keeping = await openVoiceKeeping(config, store, { purge: async () => {}, onFault() {} });
  opened.defer(keeping.close);
  return keeping;
}

/** The keys alone. */
export interface Keys {
  desk: KeyManagement;
  close(): Promise<void>;
}

export async function openKeys(config: Config): Promise<Keys> {
  await using opened = new AsyncDisposableStack();
  const store = await openStore(config);
  opened.defer(() => store.close());
  const onChange = (changed: ChangedKey) => tellReplicas(config, changed);
  const desk = createKeyManagement({ rows: createApiKeyRows(store), pepper: pepperOf(config), onChange });
  const kept = opened.move();
  return { desk, close: () => kept.disposeAsync() };
}

/** The usage rows alone. */
export async function openUsage(config: Config): Promise<{ usage: UsageRows; close(): Promise<void> }> {
  const store = await openStore(config);
  return { usage: createUsageRows(store), close: () => store.close() };
}
