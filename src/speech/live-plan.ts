// Plans live speech: the voice is found once, when it starts; the text of each turn is cut as it arrives.
import type { ReadingState } from '../text/paragraphs.ts';
import { inspectScripts } from '../text/scripts.ts';
import type { LivePart, LiveText } from './live-text.ts';
import {
  createChunkCutter,
  findVoice,
  type PlannedCut,
  planFrom,
  type SpeechPlan,
  type SpokenFields,
  unsupportedText,
} from './plan.ts';
import type { Caller } from './request.ts';
import type { Binding, OfferedVoice, Voices } from './voice.ts';

/** What the whole of live speech is spoken with. */
export type LiveFields = Omit<SpokenFields, 'captions'>;

export interface PlannedLive {
  request: SpokenFields;
  voice: OfferedVoice;
  /** The best first, at least one. */
  bindings: readonly Binding[];
  /** Plans a turn; `take` is awaited before a part of its text is spoken. */
  planTurn(binding: Binding, text: LiveText, take: TakePart): SpeechPlan;
}

type TakePart = (index: number, chars: number) => Promise<void>;

/** What a caller holds and is charged while live speech is spoken. */
export interface LivePlace {
  /** Charges the characters of a part, and takes a place if none is held. */
  take(chars: number): Promise<void>;
  /** Nothing is spoken for now: gives the place back. */
  rest(): void;
}

/** A Failure where the caller has no such voice, or the voice does not speak the language. */
export function planLive(voices: Voices, fields: LiveFields, caller: Caller): PlannedLive {
  // Where an interrupted turn was cut off is told by its words.
  const given = { ...fields, timestamps: true, captions: [] };
  const { request, voice, bindings } = findVoice(voices, given, caller);
  return {
    request,
    voice,
    bindings,
    planTurn(binding, text, take) {
      const cuts = cutTurn(text, { binding, request, take });
      return { ...planFrom(request, voice, binding), chunkCount: 0, chars: 0, warnings: [], cuts };
    },
  };
}

interface Cutting {
  binding: Binding;
  request: SpokenFields;
  take: TakePart;
}

/** The cuts of each part as soon as it is complete and may be spoken. */
async function* cutTurn(text: LiveText, { binding, request, take }: Cutting): AsyncGenerator<PlannedCut, undefined> {
  const { languageCode } = request;
  const cutChunk = createChunkCutter(binding, languageCode);
  const state: ReadingState = { fence: '', within: false };
  for (let i = 0; ; i++) {
    const part = await text.part(i);
    checkScripts(text, part, request);
    await take(i, part.chars);
    yield* cutChunk(part.text, { endsRequest: part.isLast, state });
    if (part.isLast) return;
    state.within = !/\n[^\S\n]*$/.test(part.text);
  }
}

/** A foreign phrase is spoken as well as the voice can; a turn that is mostly foreign is refused. */
function checkScripts(text: LiveText, part: LivePart, request: SpokenFields): void {
  if (!inspectScripts(part.text, request.languageCode).mostlyForeign) return;
  const { mostlyForeign, foreign } = inspectScripts(text.received.slice(0, part.end), request.languageCode);
  if (mostlyForeign) throw unsupportedText(request, 'text', foreign);
}
