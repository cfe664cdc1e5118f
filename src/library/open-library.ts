// Opens what users bring: stored voices, lexicons, and the models that can be installed. Fetches a natural voice for a
// service that has none.
import type { Delivery } from '../clips.ts';
import type { Engine, EngineDefinition } from '../engines.ts';
import { freeBytesMin } from '../platform/runtime/files.ts';
import type { RowStore } from '../platform/store/row-store.ts';
import { findSecretFile, readSecretFile } from '../platform/store/secret-file.ts';
import type { storeSettings } from '../platform/store/settings.ts';
import type { Log } from '../platform/telemetry/log.ts';
import type { Tools } from '../platform/telemetry/tools.ts';
import type { Lexicons, Speech, StoredVoice, Voices } from '../speech.ts';
import { openLexiconCache } from './lexicons/lexicon-cache.ts';
import { createLexiconManagement } from './lexicons/lexicon-management.ts';
import { createLexiconRows } from './lexicons/lexicon-rows.ts';
import { createModelInstalls, type ModelInstalls, type ModelInstallsOptions } from './models/model-installs.ts';
import { firstModelOf, loadModels, modelEngines } from './models/model-table.ts';
import type { librarySettings } from './settings.ts';
import { createCloneMaking } from './voices/clone-making.ts';
import { createVault } from './voices/clone-vault.ts';
import { readSamples } from './voices/sample-reader.ts';
import { openVoiceCache, type VoiceCacheOptions } from './voices/voice-cache.ts';
import { exportVoice, importVoiceFile } from './voices/voice-file.ts';
import { createVoiceManagement } from './voices/voice-management.ts';
import { createVoicePreview } from './voices/voice-preview.ts';
import { createVoiceRows } from './voices/voice-rows.ts';

const masterKeyFile = 'master-key';

type LibraryTools = Tools<typeof librarySettings & typeof storeSettings>;

interface OpenedSpeech {
  engines: readonly Engine[];
  voices: Voices;
  speech: Pick<Speech, 'plan' | 'turnToClone' | 'speakClone'>;
}

const refusePreview = () => Promise.reject(new Error('voices are previewed only by the service'));

/** Opens the stored voices and lexicons. */
export async function openLibrary(
  { settings, onFault, opened }: Pick<LibraryTools, 'settings' | 'onFault' | 'opened'>,
  store: RowStore,
  purge: VoiceCacheOptions['purge'] = async () => {},
) {
  const rows = createVoiceRows(store);
  const vault = createVault(
    async (mayMake) =>
      settings.masterKey || (mayMake ? readSecretFile : findSecretFile)(settings.dataDir, masterKeyFile),
  );
  const lexiconRows = createLexiconRows(store);
  const lexiconCache = await openLexiconCache({ rows: lexiconRows, onFault });
  opened.defer(() => lexiconCache.close());
  // Lexicons bound to a voice must be loaded before the voice.
  const listChanged: typeof rows.listChanged = async (...asked) => {
    const changed = await rows.listChanged(...asked);
    if (changed.some(({ lexiconIds }) => lexiconIds !== null)) await lexiconCache.refresh();
    return changed;
  };
  const voiceCache = await openVoiceCache({ rows: { ...rows, listChanged }, vault, purge, onFault });
  opened.defer(() => voiceCache.close());
  const { lexiconsPerAccount, voicesPerAccount } = settings;
  return {
    /** The entries of the audit log of voices. */
    readRecord: rows.readRecord,
    exportVoice: (voiceId: string) => exportVoice(rows, voiceId),
    /** Stores a voice that was exported. Returns its id. */
    importVoiceFile: (text: string, access?: StoredVoice['access']) => importVoiceFile(text, { rows, vault, access }),
    /** Checks that the master key decrypts every clone. Returns the number of stored voices. */
    async checkStored(): Promise<number> {
      const stored = (await rows.listChanged(0)).filter(({ status }) => status !== 'deleted');
      for (const { voiceId } of stored) {
        for (const { cloneId, sealed } of await rows.listClones(voiceId)) {
          const message = `voice ${voiceId} cannot be decrypted: SONANT_MASTER_KEY has changed since the voice was created`;
          await vault.open(sealed, cloneId).catch(() => Promise.reject(new Error(message)));
        }
      }
      return stored.length;
    },
    voiceCache,
    lexiconCache,
    lexicons: createLexiconManagement({ rows: lexiconRows, cache: lexiconCache, lexiconsPerAccount }),
    /** The stored voices and lexicons, for `openSpeech`. */
    sources: {
      stored: voiceCache.stored,
      lexicons: lexiconCache as Lexicons,
      readChanges: () => Promise.all([voiceCache.refresh(), lexiconCache.refresh()]),
    },
    /** Without a delivery, no voice can be previewed. */
    createManagement({ engines, voices, speech }: OpenedSpeech, delivery?: Delivery) {
      return createVoiceManagement({
        rows,
        voiceCache,
        voices,
        lexicons: lexiconCache,
        engines,
        making: { cloneMaking: createCloneMaking({ engines, readSamples, speech }), vault, voicesPerAccount },
        preview: delivery ? createVoicePreview({ speech, voices, delivery }) : refusePreview,
      });
    },
    /**
     * Opens the installation of models. If `first` is given, also fetches a first natural voice in the background, while
     * there is none.
     */
    openModels: (options: ModelsOptions, first?: FirstVoiceOptions) => openModels(settings, options, first),
  };
}

interface ModelsOptions extends Pick<ModelInstallsOptions, 'onEvent'> {
  definitions: readonly EngineDefinition[];
  /** The engines that are open. */
  opened: readonly Engine[];
}

/** Opens the model table, including the operator's models, and the model folder. */
async function openModels(
  settings: LibraryTools['settings'],
  { definitions, opened, onEvent }: ModelsOptions,
  first?: FirstVoiceOptions,
): Promise<ModelInstalls> {
  const { dataDir, modelsFile, modelsUrl, modelsOffline: isOffline } = settings;
  const engines = modelEngines(definitions);
  const installs = createModelInstalls({
    offered: await loadModels(modelsFile, engines),
    engines,
    dataDir,
    modelsUrl,
    isOffline,
    // The minimum free disk space is the same for models as for stored audio.
    leaveFree: freeBytesMin,
    isOffered(engineName, voiceIds) {
      const voices = opened.find(({ name }) => name === engineName)?.voices ?? [];
      const offered = new Set(voices.map(({ voiceId }) => voiceId));
      return voiceIds.every((voiceId) => offered.has(voiceId));
    },
    onEvent,
  });
  if (!first) return installs;
  const openEngines = definitions.filter(({ name }) => opened.some((engine) => engine.name === name));
  const stop = fetchFirstVoice(firstModelOf(openEngines), installs, first);
  return {
    ...installs,
    close() {
      stop();
      return installs.close();
    },
  };
}

const retryMs = 3_600_000;

interface FirstVoiceOptions {
  voices: Voices;
  log: Log;
  onFault(fault: unknown): void;
}

/**
 * Fetches the model `name` in the background: once at the start, and then every hour until there is a natural voice.
 * Returns a function that ends the attempts. The installation itself ends with `installs`.
 */
function fetchFirstVoice(
  name: string | undefined,
  installs: ModelInstalls,
  { voices, log, onFault }: FirstVoiceOptions,
): () => void {
  const hasNatural = () => voices.list().some((voice) => voice.status === 'ready' && voice.isNatural);
  if (name === undefined || installs.isOffline || hasNatural()) return () => {};
  const attempt = async () => {
    if (hasNatural()) return clearInterval(timer);
    await installs.install(name, 'a service without a natural voice');
  };
  const timer = setInterval(() => void attempt().catch(onFault), retryMs).unref();
  log.info('there is no natural voice; it is fetched now, and a synthetic voice speaks until then', {
    model: name,
    toForbid: 'SONANT_FETCH_VOICE=off',
  });
  void attempt().catch(onFault);
  return () => clearInterval(timer);
}
