// Tags in plain text. Everything else is plain text.
//     pauses: [pause:1.5s] or [pause:300ms], without white space
//     tags of vendors' APIs: <break time="1s"/>, <phoneme alphabet="ipa" ph="hɛˈləʊ">hello</phoneme>,
//         <spell>A4B</spell> and <<h|ɛ|l|oʊ>>. These have no effect: <emotion value="..."/>, <speed ratio="..."/>,
//         <volume ratio="..."/>, and tags for how to speak, such as [whispers]
import { type MarkedText, MarkedTextBuilder, MarkupFault, plainStyle, type Said } from './marked-text.ts';
import { readBreak, readSaid } from './ssml-elements.ts';

/** Maximum length of a single pause, and of all pauses of one text. */
const pauseMsMax = 20_000;
export const pausesMsMax = 600_000;

const pausePattern = /\[pause:(\d{1,9}(?:\.\d{1,9})?)(ms|s)\]/gi;
const attributesSource = String.raw`((?:\s+[a-z]{1,20}\s?=\s?(?:"[^"<>]{0,200}"|'[^'<>]{0,200}')){0,4})`;
const emptyTags = 'break|emotion|speed|volume';
const tagsAroundText = 'phoneme|spell';
/** The names of the vendors' tags, as alternatives of a pattern. */
export const vendorTagNames = `${emptyTags}|${tagsAroundText}`;
/** Words in brackets that are no text. Other words in brackets are spoken, because a text may contain them. */
const mannerTags =
  'angry|applause|breathes|calm(?:ly)?|cheerful(?:ly)?|chuckles?|clears throat|coughs?|crying|cries|curious(?:ly)?|deadpan|excited(?:ly)?|exhales|frustrated|gasps?|giggles?|groans?|gulps|happily|happy|hesitates|inhales|laughs?(?: harder)?|laughing|laughter|mischievously|mumbles|nervous(?:ly)?|pauses|playful(?:ly)?|sad(?:ly)?|sarcastic(?:ally)?|screams|serious(?:ly)?|short pause|long pause|shouts?|shouting|sighs?|sings?|singing|sniffs|snorts|sobs|surprised|tired|warmly|whispers?|whispering|yawns|yells';
const vendorPattern = new RegExp(
  String.raw`\[(${mannerTags})\]|<(${emptyTags})${attributesSource}\s?/?>|<(${tagsAroundText})${attributesSource}\s?>([^<>]{1,500})</\4>|<<([^<>\s|]{1,20}(?:\|[^<>\s|]{1,20}){1,40})>>`,
  'gi',
);
const attributePattern = /\s([a-z]{1,20})\s?=\s?(?:"([^"]*)"|'([^']*)')/gi;

/** Reads pause tags. Throws a MarkupFault if a pause is too long. */
export const readPauseTags = (source: string): MarkedText =>
  readTags(source, pausePattern, ({ 1: number, 2: unit }, tags) =>
    tags.pause(Number(number) * (unit!.toLowerCase() === 's' ? 1000 : 1)),
  );

/** Reads the tags that texts for vendors' APIs contain. Throws a MarkupFault if a pause is too long. */
export const readVendorTags = (source: string): MarkedText =>
  readTags(source, vendorPattern, (found, tags) => {
    const { 1: manner, 2: alone, 3: ofAlone, 4: around, 5: ofAround, 6: inner, 7: sounds, index: at } = found;
    if (manner) return tags.ignore(manner.toLowerCase());
    const pairs = [...(ofAlone ?? ofAround ?? '').matchAll(attributePattern)];
    const attributes = Object.fromEntries(pairs.map(([, name, double, single]) => [name, double ?? single!]));
    const name = (alone ?? around ?? 'phoneme').toLowerCase();
    if (name === 'break') return tags.pause(readBreak({ name, attributes, at }, tags.ignore));
    if (alone) return tags.ignore(name);
    if (name === 'spell') return tags.say(inner!, inner!, { kind: 'say-as', as: 'characters', format: '' });
    if (sounds) attributes.ph = sounds.replaceAll('|', '');
    const said = readSaid({ name, attributes, at }, tags.ignore);
    if (said || inner) tags.say(inner ?? sounds!, inner ?? attributes.ph!, said);
  });

const innerStart = (tag: string) => (tag.startsWith('<<') ? 2 : tag.indexOf('>') + 1);

/** The code points of a text. Those of the vendors' tags are empty strings, but not the text inside them. */
export function withoutVendorTags(text: string): string[] {
  const chars: string[] = [];
  let end = 0;
  const add = (to: number) => chars.push(...text.slice(end, to));
  for (const { 0: tag, 6: inner, 7: sounds, index } of text.matchAll(vendorPattern)) {
    add(index);
    const from = innerStart(tag);
    const isMark = (char: string, at: number) =>
      sounds ? '<|>'.includes(char) : at < from || at >= from + (inner?.length ?? 0);
    let at = 0;
    for (const char of tag) {
      chars.push(isMark(char, at) ? '' : char);
      at += char.length;
    }
    end = index + tag.length;
  }
  add(text.length);
  return chars;
}

interface Tags {
  pause(ms: number): void;
  /** Adds a text of the tag. `as` is the text without marks. */
  say(written: string, as: string, said: Said | undefined): void;
  ignore(what: string): void;
}

function readTags(source: string, pattern: RegExp, read: (found: RegExpExecArray, tags: Tags) => void): MarkedText {
  const builder = new MarkedTextBuilder(source, { isLiteral: false });
  builder.setStyle(plainStyle);
  const ignored = new Set<string>();
  const addText = (from: number, to: number) => {
    if (to > from) builder.add({ text: source.slice(from, to), from, to });
  };
  const addPause = createPauses(source, (ms) => builder.pause(ms));
  let end = 0;
  for (const found of source.matchAll(pattern)) {
    const { 0: tag, index } = found;
    addText(end, index);
    read(found, {
      pause: (ms) => addPause(ms, index),
      say(written, as, said) {
        const from = index + innerStart(tag);
        builder.add({ text: as, from, to: from + written.length, ...(said && { said }) });
      },
      ignore: (what) => ignored.add(what),
    });
    end = index + tag.length;
  }
  addText(end, source.length);
  return builder.build([...ignored]);
}

/** Returns a function that adds the pauses of a text, and checks their limits. */
export function createPauses(source: string, add: (ms: number) => void): (ms: number, at: number) => void {
  let sumMs = 0;
  return (ms, at) => {
    sumMs += ms;
    if (ms > pauseMsMax) throw new MarkupFault(source, at, `a pause can last at most ${pauseMsMax / 1000} s`);
    if (sumMs > pausesMsMax)
      throw new MarkupFault(source, at, `the pauses of a text can last at most ${pausesMsMax / 1000} s in total`);
    add(ms);
  };
}
