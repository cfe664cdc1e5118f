// Offers blends as voices of the models. The blends of a model fill pages: a page is a separate model with its own
// processes, in which each blend takes the place of a speaker. A blend keeps its place while it is in use, so a page is
// replaced only when a blend is added. The processes of a replaced page end after its running requests.
import { createHash } from 'node:crypto';
import { type Blend, type Blending, type Voice, voiceOfBlend } from '../engine.ts';
import type { BlendedSpeakers, BlendedStyle, Model } from './model.ts';
import type { Speaker } from './model-voices.ts';
import type { FoundVoice, OfferedModel } from './offered-models.ts';

type BlendPage = Model & { blended: BlendedSpeakers };

/** A blend whose parts all exist. */
interface Recipe {
  offered: OfferedModel;
  style: BlendedStyle;
  /** The parts in the given order. */
  parts: readonly { speaker: Speaker; weight: number }[];
}

const versionChars = 16;

export class BlendedVoices {
  /** Called when pages were added, removed or replaced. */
  readonly #onChange: () => void;
  readonly #found = new WeakMap<Voice, FoundVoice>();
  #offered: readonly OfferedModel[] = [];
  /** All voices that can be part of a blend, by id. */
  #parts = new Map<string, { offered: OfferedModel; position: number }>();
  #places = new Map<string, { page: BlendPage; sid: number }>();
  #blends: readonly Blend[] = [];
  #pages: BlendPage[] = [];
  #blending: Blending;

  constructor(onChange: () => void) {
    this.#onChange = onChange;
    this.#blending = this.#createBlending();
  }

  get pages(): readonly BlendPage[] {
    return this.#pages;
  }

  /** The object is replaced after each change; undefined while no model has styles to blend. */
  get blending(): Blending | undefined {
    return this.#parts.size > 0 ? this.#blending : undefined;
  }

  /** Finds a voice as it was when it was returned, even if it has changed or is no longer used. */
  find(voice: Voice): FoundVoice | undefined {
    return this.#found.get(voice);
  }

  /** Sets the offered models. The pages of all other models are dropped. */
  setModels(offered: readonly OfferedModel[]): void {
    this.#offered = offered.filter(({ model, speakers }) => model.styles !== undefined && speakers.length > 1);
    this.#parts = new Map(
      this.#offered.flatMap((each) =>
        each.speakers.map(({ voice }, position) => [voice.voiceId, { offered: each, position }]),
      ),
    );
    this.#arrange();
    this.#blending = this.#createBlending();
  }

  #createBlending(): Blending {
    return {
      groupOf: (voiceId) => this.#parts.get(voiceId)?.offered.model.modelId,
      blend: (blends) => {
        if (JSON.stringify(blends) !== JSON.stringify(this.#blends)) {
          this.#blends = blends;
          if (this.#arrange()) this.#onChange();
        }
        return blends.map((blend) => this.#toVoice(blend));
      },
    };
  }

  #recipeOf(blend: Blend): Recipe | undefined {
    const found = blend.map(({ voiceId, weight }) => ({ ...this.#parts.get(voiceId), weight }));
    const offered = found[0]?.offered;
    if (!offered || found.some((each) => each.offered !== offered)) return undefined;
    const parts = found.map(({ position, weight }) => ({ speaker: offered.speakers[position!]!, weight }));
    const summed = parts
      .map(({ speaker: { sid }, weight }) => ({ sid, weight }))
      .filter(({ weight }) => weight > 0)
      .sort((one, other) => one.sid - other.sid);
    const key = summed.map(({ sid, weight }) => `${sid}:${weight}`).join('+');
    return { offered, style: { key, parts: summed }, parts };
  }

  /** Assigns a place to every style in use. Returns whether a page was replaced. */
  #arrange(): boolean {
    const before = this.#pages;
    const recipes = this.#blends.flatMap((blend) => this.#recipeOf(blend) ?? []);
    this.#pages = this.#offered.flatMap(({ model }) => {
      const styles = recipes.flatMap((recipe) => (recipe.offered.model === model ? recipe.style : []));
      const own = before.filter((page) => page.blended.source === model);
      return arrangePages(model, own, new Map(styles.map((style) => [style.key, style])));
    });
    this.#places = new Map(
      this.#pages.flatMap((page) =>
        page.blended.styles.flatMap((style, sid) =>
          style ? [[placeOf(page.blended.source, style), { page, sid }]] : [],
        ),
      ),
    );
    return this.#pages.length !== before.length || this.#pages.some((page) => !before.includes(page));
  }

  #toVoice(blend: Blend): Voice | undefined {
    const recipe = this.#recipeOf(blend);
    if (!recipe) return undefined;
    const { offered, style, parts } = recipe;
    const { page, sid } = this.#places.get(placeOf(offered.model, style))!;
    const [first] = parts;
    const version = hash([offered.model.version, style.key, first!.speaker.voice.voiceId]);
    const spoken = parts.map(({ speaker, weight }) => ({ voice: speaker.voice, weight }));
    const voice = { ...voiceOfBlend(`${offered.model.modelId}-blend-${version}`, spoken), version };
    // Everything except the style comes from the first part.
    const speaker = { ...first!.speaker, sid, voice };
    this.#found.set(voice, { model: page, speaker });
    return voice;
  }
}

const placeOf = ({ modelId }: Model, { key }: BlendedStyle): string => `${modelId}\0${key}`;

const hash = (facts: readonly unknown[]): string =>
  createHash('sha256').update(JSON.stringify(facts)).digest('hex').slice(0, versionChars);

/** The pages of a model, in which each style has a place. Pages without styles are dropped. */
function arrangePages(
  source: Model,
  before: readonly BlendPage[],
  wanted: ReadonlyMap<string, BlendedStyle>,
): BlendPage[] {
  const isWanted = (style: BlendedStyle | undefined) => style !== undefined && wanted.has(style.key);
  const pages = before.filter(({ blended }) => blended.styles.some(isWanted));
  const placed = new Set(pages.flatMap(({ blended }) => blended.styles.map((style) => style?.key)));
  const waiting = [...wanted.values()].filter(({ key }) => !placed.has(key));
  const filled = pages.map((page): BlendPage => {
    const styles = [...page.blended.styles];
    const free = [...styles.keys()].filter((place) => !isWanted(styles[place]));
    const added = fill(styles, free, waiting);
    return added ? toPage(source, styles) : page;
  });
  while (waiting.length > 0) {
    const styles: (BlendedStyle | undefined)[] = Array.from({ length: source.speakers }, () => undefined);
    fill(styles, [...styles.keys()], waiting);
    filled.push(toPage(source, styles));
  }
  return filled;
}

/** Moves each style into a free place. */
function fill(styles: (BlendedStyle | undefined)[], free: number[], waiting: BlendedStyle[]): boolean {
  const count = waiting.length;
  while (free.length > 0 && waiting.length > 0) {
    styles[free.shift()!] = waiting.shift();
  }
  return waiting.length < count;
}

function toPage(source: Model, styles: readonly (BlendedStyle | undefined)[]): BlendPage {
  const version = `${source.version} blends ${hash(styles.map((style) => style?.key ?? ''))}`;
  return { ...source, version, blended: { source, styles } };
}
