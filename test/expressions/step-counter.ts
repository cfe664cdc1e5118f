// Counts the steps of a backtracking matcher. V8 matches regular expressions in the same order, so its time grows as
// this number does; unlike time, the number is the same in every run.
import { type Node, parseExpression } from './syntax.ts';

type Of<Kind extends Node['kind']> = Extract<Node, { kind: Kind }>;
type RepeatedSet = Of<'repeat'> & { item: Of<'set'> };

interface Instruction {
  code: 'set' | 'run' | 'choose' | 'split' | 'jump' | 'save' | 'edge' | 'look' | 'back' | 'mark' | 'progress' | 'end';
  node?: Node;
  /** Targets of a jump or a split, the preferred one first; or the number of a capture or register. */
  to: number;
  other: number;
  isBehind: boolean;
  program?: Instruction[];
  /** The starts of a choice's alternatives, and those that may match a character. */
  targets?: number[];
  chosen?: Map<string | undefined, readonly number[]>;
}

/** In place of the number of further positions: the instruction has not been tried. */
const fresh = -1;

/** Thrown when the count exceeds the limit. */
class TooManySteps extends Error {}

export class StepCounter {
  readonly #program: Instruction[];
  readonly #isUnicode: boolean;
  #registers = 0;
  #values: number[] = [];
  #undo: number[] = [];
  #chars: readonly string[] = [];
  #steps = 0;
  #stepsMax = Infinity;

  constructor(expression: Pick<RegExp, 'source' | 'flags'>, tree: Node = parseExpression(expression)) {
    this.#isUnicode = /[uv]/.test(expression.flags);
    this.#registers = 2 * 100;
    this.#program = this.#compile(tree, false);
  }

  /**
   * The steps of a search for all matches in the text. A sticky expression is tried at every place, as rules are.
   * Returns `stepsMax` if there are more. If `isOnce` is true, the first place without a match is the last.
   */
  count(text: string, stepsMax = Infinity, isOnce = false): number {
    this.#chars = this.#isUnicode ? [...text] : text.split('');
    this.#steps = 0;
    this.#stepsMax = stepsMax;
    this.#values = new Array<number>(this.#registers).fill(-1);
    try {
      for (let at = 0; at <= this.#chars.length; ) {
        this.#undo = [];
        const end = this.#run(this.#program, at);
        at = Math.max(at + 1, end);
        if (isOnce && end < 0) break;
      }
    } catch (error) {
      if (!(error instanceof TooManySteps)) throw error;
      return stepsMax;
    }
    return this.#steps;
  }

  #compile(node: Node, isBehind: boolean): Instruction[] {
    const program: Instruction[] = [];
    const put = (code: Instruction['code'], to = 0, other = 0, more: Partial<Instruction> = {}) =>
      program.push({ code, to, other, isBehind, ...more }) - 1;
    const write = (each: Node): void => {
      switch (each.kind) {
        case 'set':
        case 'edge':
        case 'back':
          put(each.kind, 0, 0, { node: each });
          break;
        case 'sequence':
          for (const item of isBehind ? each.items.toReversed() : each.items) write(item);
          break;
        case 'choice': {
          const choose = program[put('choose', 0, 0, { node: each, targets: [], chosen: new Map() })]!;
          const jumps = each.items.map((item) => {
            choose.targets!.push(program.length);
            write(item);
            return put('jump');
          });
          for (const jump of jumps) program[jump]!.to = program.length;
          break;
        }
        case 'group':
          if (each.capture > 0) put('save', 2 * each.capture + Number(isBehind));
          write(each.item);
          if (each.capture > 0) put('save', 2 * each.capture + Number(!isBehind));
          break;
        case 'look':
          put('look', 0, 0, { node: each, program: this.#compile(each.item, each.isBehind) });
          break;
        case 'repeat':
          writeRepeat(each);
      }
    };
    const writeRepeat = (each: Of<'repeat'>): void => {
      const { item, min, max, isLazy } = each;
      if (item.kind === 'set') {
        put('run', 0, 0, { node: each });
        return;
      }
      for (let i = 0; i < min; i++) write(item);
      const splits: number[] = [];
      const direct = (split: number, inside: number, after: number) => {
        [program[split]!.to, program[split]!.other] = isLazy ? [after, inside] : [inside, after];
      };
      const writeOnce = (): number => {
        const split = put('split');
        const register = this.#registers++;
        put('mark', register);
        write(item);
        put('progress', register);
        return split;
      };
      if (max === Infinity) {
        const split = writeOnce();
        put('jump', split);
        direct(split, split + 1, program.length);
        return;
      }
      for (let i = min; i < max; i++) splits.push(writeOnce());
      for (const split of splits) direct(split, split + 1, program.length);
    };
    write(node);
    put('end');
    return program;
  }

  #set(register: number, value: number): void {
    this.#undo.push(register, this.#values[register]!);
    this.#values[register] = value;
  }

  #restore(length: number): void {
    while (this.#undo.length > length) {
      const value = this.#undo.pop()!;
      this.#values[this.#undo.pop()!] = value;
    }
  }

  /** Returns the end of the match, or -1. */
  #run(program: readonly Instruction[], start: number): number {
    const chars = this.#chars;
    // Each entry has four numbers: instruction, position, length of the undo list, and how many more positions follow.
    const stack: number[] = [];
    let pc = 0;
    let at = start;
    for (;;) {
      if (++this.#steps > this.#stepsMax) throw new TooManySteps();
      const { code, to, other, node, isBehind, program: inner, targets: all, chosen } = program[pc]!;
      let isGood = true;
      switch (code) {
        case 'end':
          return at;
        case 'set': {
          const char = chars[isBehind ? at - 1 : at];
          isGood = char !== undefined && (node as Of<'set'>).isChar(char);
          at += isBehind ? -1 : 1;
          break;
        }
        case 'run': {
          const { item, min, max, isLazy } = node as RepeatedSet;
          const step = isBehind ? -1 : 1;
          const limit = isLazy ? min : max;
          let count = 0;
          for (let char = chars[isBehind ? at - 1 : at]; count < limit && char !== undefined && item.isChar(char); ) {
            count++;
            at += step;
            char = chars[isBehind ? at - 1 : at];
          }
          this.#steps += count;
          isGood = count >= min;
          if (isGood && isLazy && max > min) stack.push(pc, at, this.#undo.length, max - min);
          if (isGood && !isLazy && count > min) stack.push(pc, at - step, this.#undo.length, count - min);
          break;
        }
        case 'choose': {
          const char = chars[isBehind ? at - 1 : at];
          let targets = chosen!.get(char);
          if (!targets) {
            const { items } = node as Of<'choice'>;
            targets = all!.filter((_, i) => isBehind || mayBegin(items[i]!, char));
            chosen!.set(char, targets);
          }
          // V8 also looks at the next character before it tries an alternative.
          for (let i = targets.length - 1; i > 0; i--) stack.push(targets[i]!, at, this.#undo.length, fresh);
          isGood = targets.length > 0;
          pc = (targets[0] ?? 0) - 1;
          break;
        }
        case 'split':
          stack.push(other, at, this.#undo.length, fresh);
          pc = to - 1;
          break;
        case 'jump':
          pc = to - 1;
          break;
        case 'save':
        case 'mark':
          this.#set(to, at);
          break;
        case 'progress':
          isGood = this.#values[to] !== at;
          break;
        case 'edge':
          isGood = (node as Of<'edge'>).isAt(chars[at - 1] ?? '', chars[at] ?? '');
          break;
        case 'look': {
          const { isNegative } = node as Of<'look'>;
          const before = this.#undo.length;
          const found = this.#run(inner!, at) >= 0;
          if (!found || isNegative) this.#restore(before);
          isGood = found !== isNegative;
          break;
        }
        case 'back': {
          const { captures, ignoresCase } = node as Of<'back'>;
          for (const capture of captures) {
            const [from, end] = [this.#values[2 * capture]!, this.#values[2 * capture + 1]!];
            if (from < 0 || end < 0) continue;
            const same = (text: readonly string[]) => (ignoresCase ? text.join('').toLowerCase() : text.join(''));
            const size = end - from;
            const next = isBehind ? chars.slice(at - size, at) : chars.slice(at, at + size);
            this.#steps += size;
            isGood = same(chars.slice(from, end)) === same(next);
            at += isBehind ? -size : size;
          }
        }
      }
      if (isGood) {
        pc++;
        continue;
      }
      for (;;) {
        if (stack.length === 0) return -1;
        const kept = stack.pop()!;
        const left = kept - 1;
        const undo = stack.pop()!;
        at = stack.pop()!;
        pc = stack.pop()!;
        this.#restore(undo);
        if (kept === fresh) break;
        // A repetition of a set ends at another place.
        const resumed = program[pc]!;
        const { item, isLazy } = resumed.node as RepeatedSet;
        const step = resumed.isBehind ? -1 : 1;
        if (isLazy) {
          this.#steps++;
          const char = chars[resumed.isBehind ? at - 1 : at];
          if (char === undefined || !item.isChar(char)) continue;
          at += step;
        }
        if (left > 0) stack.push(pc, isLazy ? at : at - step, undo, left);
        pc++;
        break;
      }
    }
  }
}

/** Whether the node may match text that begins with the character. */
function mayBegin(node: Node, char: string | undefined): boolean {
  switch (node.kind) {
    case 'set':
      return char !== undefined && node.isChar(char);
    case 'sequence': {
      const first = node.items.find((item) => item.kind !== 'look' && item.kind !== 'edge');
      return first === undefined || mayBegin(first, char);
    }
    case 'choice':
      return node.items.some((item) => mayBegin(item, char));
    case 'group':
      return mayBegin(node.item, char);
    case 'repeat':
      return node.min === 0 || mayBegin(node.item, char);
    default:
      return true;
  }
}
