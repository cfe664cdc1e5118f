// Collects every regular expression of the service: literals from the syntax of its files, and expressions that are
// made at run time, by a RegExp that records them while the modules load and the tables of all languages are read.
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSync, Visitor } from 'vite';

const root = join(import.meta.dirname, '../..');
const languages = {
  en: 'english',
  de: 'german',
  fr: 'french',
  es: 'spanish',
  it: 'italian',
  pt: 'portuguese',
  nl: 'dutch',
  sv: 'swedish',
  pl: 'polish',
};

export interface Expression {
  source: string;
  flags: string;
  /** The file that has the literal or makes the expression. */
  file: string;
}

export interface Expressions {
  expressions: Expression[];
  /** Files that make expressions at run time, but made none here. */
  silent: string[];
}

export async function collectExpressions(): Promise<Expressions> {
  const found = new Map<string, Expression>();
  const add = (expression: Expression) => {
    const key = `/${expression.source}/${expression.flags}`;
    if (!found.has(key)) found.set(key, expression);
  };
  const makers = new Set<string>();
  for (const file of globSync('src/**/*.{ts,js}', { cwd: root, exclude: ['**/*.d.ts'] })) {
    const { program } = parseSync(file, readFileSync(join(root, file), 'utf8'));
    new Visitor({
      Literal(node) {
        if ('regex' in node && node.regex) add({ source: node.regex.pattern, flags: node.regex.flags, file });
      },
      NewExpression({ callee }) {
        if (callee.type === 'Identifier' && callee.name === 'RegExp') makers.add(file);
      },
    }).visit(program);
  }
  for (const file of globSync('proto/**/*.proto', { cwd: root })) {
    for (const [, , source] of readFileSync(join(root, file), 'utf8').matchAll(/pattern(?::| =)\s*(['"])(.*?)\1/g))
      add({ source: source!.replaceAll('\\\\', '\\'), flags: 'u', file: 'src/contract/rules.ts' });
  }
  const active = new Set<string>();
  const made = await recordExpressions(async () => {
    for (const file of makers) if (file.endsWith('.ts')) await import(join(root, file));
    const { segmentText } = await import('../../src/text/segment.ts');
    for (const [languageCode, name] of Object.entries(languages)) {
      const table = readFileSync(join(root, `test/text/spoken/${name}.txt`), 'utf8').replace(/ =>.*/g, '');
      for (const _ of segmentText(table, { languageCode, spellOut: true, segmentCharsMax: 1000 }));
    }
  });
  for (const expression of made) {
    add(expression);
    for (const file of makers) if (expression.file.includes(file)) active.add(file);
  }
  return { expressions: [...found.values()], silent: [...makers].filter((file) => !active.has(file)) };
}

async function recordExpressions(run: () => Promise<void>): Promise<Expression[]> {
  const made: Expression[] = [];
  const Original = RegExp;
  globalThis.RegExp = new Proxy(Original, {
    construct(target, given, newTarget) {
      const expression = Reflect.construct(target, given, newTarget) as RegExp;
      // The first frame is this function, and the second one makes the expression, unless it is of a package.
      const frames = (new Error().stack ?? '').split('\n    at ').slice(2);
      const makers = frames.flatMap((frame) => /\/(src\/[\w/.-]+\.ts):/.exec(frame)?.[1] ?? []);
      if (makers.length > 0 && !frames[0]!.includes('node_modules'))
        made.push({ source: expression.source, flags: expression.flags, file: makers.join(' ') });
      return expression;
    },
  });
  try {
    await run();
  } finally {
    globalThis.RegExp = Original;
  }
  return made;
}
