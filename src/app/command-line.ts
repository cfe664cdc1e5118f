// Opens the parts of Sonant that commands use. The service itself is not started.
import { createUsageRows, openKeys as openKeysOf } from '../accounts.ts';
import { openCommandApi } from '../api.ts';
import { openProvenance } from '../clips.ts';
import type { EngineDefinition } from '../engines.ts';
import { openLibrary } from '../library.ts';
import { isStoreThere, openStore } from '../platform/store/open-store.ts';
import { type Lexicons, type OfferedLexicon, openSpeech, type Voices } from '../speech.ts';
import type { Config } from './config.ts';

export type App = Awaited<ReturnType<typeof openApp>>;

/** Opens speech synthesis, including the stored voices if the database exists. */
export async function openApp(config: Config, definitions: readonly EngineDefinition[]) {
  await using opened = new AsyncDisposableStack();
  const store = isStoreThere(config) ? await openStore(config) : undefined;
  opened.defer(async () => store?.close());
  const stored = store && (await openLibrary({ settings: config, opened, onFault() {} }, store));
  const added = new Map<string, OfferedLexicon>();
  const lexicons: Lexicons = {
    find: (lexiconId, user) => added.get(lexiconId) ?? stored?.sources.lexicons.find(lexiconId, user),
  };
  const { voices, speech, close } = await openSpeech({ config, definitions, ...stored?.sources, lexicons });
  opened.defer(close);
  const kept = opened.move();
  /** Adds a lexicon that is not stored. */
  const addLexicon = (lexicon: OfferedLexicon) => void added.set(lexicon.lexiconId, lexicon);
  const { openSigner } = openProvenance(config, store);
  return { voices, speech, addLexicon, openSigner, close: () => kept.disposeAsync() };
}

export type OpenedVoiceManagement = Awaited<ReturnType<typeof openVoiceManagement>>;

export async function openVoiceManagement(config: Config, definitions: readonly EngineDefinition[]) {
  await using opened = new AsyncDisposableStack();
  const store = await openStore(config);
  opened.defer(() => store.close());
  // The service purges the audio of a deleted voice when it reads the change.
  const storedVoices = await openLibrary({ settings: config, opened, onFault() {} }, store);
  const speech = await openSpeech({ config, definitions, ...storedVoices.sources });
  opened.defer(speech.close);
  const kept = opened.move();
  const { voices, engines } = speech;
  const management = storedVoices.createManagement(speech);
  const { callRpc } = openCommandApi({ voices: { voices, engines, management } });
  return { ...storedVoices, voices, callRpc, close: () => kept.disposeAsync() };
}

export type Keys = Awaited<ReturnType<typeof openKeys>>;

export async function openKeys(config: Config) {
  await using opened = new AsyncDisposableStack();
  const store = await openStore(config);
  opened.defer(() => store.close());
  const { management, webhookSecrets } = await openKeysOf(config, store);
  const kept = opened.move();
  /** Calls RPCs of keys. `voices` are those that new keys may name. */
  const callFor = (voices?: Voices) =>
    openCommandApi({ keys: { keys: management, voices, secrets: webhookSecrets } }).callRpc;
  return { management, webhookSecrets, callFor, close: () => kept.disposeAsync() };
}

export type OpenedUsage = Awaited<ReturnType<typeof openUsage>>;

export async function openUsage(config: Config) {
  const store = await openStore(config);
  return { usage: createUsageRows(store), close: () => store.close() };
}

export type OpenedInspection = Awaited<ReturnType<typeof openInspection>>;

/** Opens the inspection of files. Stored audio is recognised if there is a database. */
export async function openInspection(config: Config) {
  const store = isStoreThere(config) ? await openStore(config) : undefined;
  return { inspect: openProvenance(config, store).inspect, close: async () => store?.close() };
}
