// Generates a book of any length: chapters of paragraphs, all sentences different, with ordinary words that a
// recognizer knows. The same length gives the same book.

export interface BookText {
  chapters: { title: string; sentences: string[] }[];
  markdown: string;
}

const people =
  'the doctor|my sister|the old farmer|her brother|the teacher|our neighbor|the captain|a young lawyer|the baker|his uncle|the judge|a tired soldier|the painter|my grandfather|the little girl|the priest|a stranger|the widow|her oldest friend|the sailor';
const deeds =
  'carried|found|painted|forgot|borrowed|repaired|described|sold|watched|washed|remembered|followed|studied|ordered|lifted|covered|broke|admired|counted|opened';
const kinds =
  'heavy|brown|wooden|broken|silver|empty|yellow|narrow|famous|ancient|frozen|gentle|purple|crooked|golden|quiet|square|foreign|dusty|enormous';
const things =
  'table|letter|winter coat|bicycle|basket|window|mirror|ladder|picture|bottle|garden chair|blanket|suitcase|kettle|piano|lantern|carpet|newspaper|umbrella|cupboard';
const places =
  'behind the church|along the river|at the market|near the harbor|under the bridge|beside the road|in the village|on the balcony|at the station|across the valley|inside the barn|before the museum|by the fireplace|over the mountain|outside the school';
const times =
  'in the early morning|after dinner|during the storm|on Thursday afternoon|before the summer|for more than an hour|without a sound|every second winter|late in October|at half past nine|until it was dark|on the first Sunday|between two meetings|once again|with his own hands';
const joints = 'while|because|before|after|and';

const charsPerChapter = 25_000;

/** A generator of numbers below 1 (mulberry32). */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export function bookOf(chars: number): BookText {
  const random = createRandom(chars);
  const oneOf = (words: string): string => {
    const all = words.split('|');
    return all[Math.floor(random() * all.length)]!;
  };
  const clause = () => `${oneOf(people)} ${oneOf(deeds)} the ${oneOf(kinds)} ${oneOf(things)} ${oneOf(places)}`;
  const shapes = [
    () => `${clause()} ${oneOf(times)}.`,
    () => `${oneOf(times)}, ${clause()}.`,
    () => `${clause()} ${oneOf(joints)} ${clause()}.`,
    () => `"Was it true," asked ${oneOf(people)}, "that ${clause()}?"`,
  ];
  const said = new Set<string>();
  const sentence = (): string => {
    for (;;) {
      const made = shapes[Math.floor(random() * shapes.length)]!().replace(/[a-z]/, (first) => first.toUpperCase());
      if (!said.has(made)) {
        said.add(made);
        return made;
      }
    }
  };
  const chapters: BookText['chapters'] = [];
  let markdown = '';
  while (markdown.length < chars) {
    const title = `Chapter ${chapters.length + 1}`;
    const sentences: string[] = [];
    const end = Math.min(chars, markdown.length + charsPerChapter);
    markdown += `# ${title}\n\n`;
    while (markdown.length < end) {
      const paragraph = Array.from({ length: 3 + Math.floor(random() * 5) }, sentence);
      sentences.push(...paragraph);
      markdown += `${paragraph.join(' ')}\n\n`;
    }
    chapters.push({ title, sentences });
  }
  return { chapters, markdown };
}

/** `count` different items; the same items give the same sample. */
export function sampleOf<T>(items: readonly T[], count: number): T[] {
  const random = createRandom(items.length);
  const left = [...items];
  return Array.from(
    { length: Math.min(count, left.length) },
    () => left.splice(Math.floor(random() * left.length), 1)[0]!,
  );
}
