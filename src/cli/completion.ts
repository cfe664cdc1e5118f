// `sonant completion bash|zsh|fish`: prints a script that completes commands, actions, options, option values and voice
// ids. The script is generated from the option tables, and calls `sonant completion voices` for the ids.
import { type Command, parseCommandArgs, UsageError, withOpened } from './command.ts';

const writers: Readonly<Record<string, (commands: readonly Command[]) => string>> = {
  bash: toBash,
  zsh: toZsh,
  fish: toFish,
};
const shells = Object.keys(writers);

export const createCompletionCommand = (commands: () => Promise<readonly Command[]>): Command => ({
  name: 'completion',
  summary: 'print a completion script for a shell',
  examples: ['source <(sonant completion bash)'],
  options: {},
  actions: shells,
  usage: () => `Usage: sonant completion ${shells.join('|')}

Prints a script for the shell to read when it starts:

  bash   source <(sonant completion bash)                          in ~/.bashrc
  zsh    source <(sonant completion zsh)                           in ~/.zshrc, after compinit
  fish   sonant completion fish > ~/.config/fish/completions/sonant.fish`,
  async run({ args, openApp, print }) {
    const { positionals } = parseCommandArgs({ args, options: {}, allowPositionals: true });
    const [shell = '', ...rest] = positionals;
    if (shell === 'voices') {
      const ids = await withOpened(await openApp(), async ({ voices }) =>
        voices.list().flatMap(({ voice, aliases }) => [voice.voiceId, ...aliases]),
      );
      // bash expands the words that it offers, so an id may not contain its special characters.
      print(ids.filter((id) => /^[\w.:+/()@-]+$/.test(id)).join('\n'));
      return 0;
    }
    const write = Object.hasOwn(writers, shell) ? writers[shell] : undefined;
    if (!write || rest.length > 0) throw new UsageError(`usage: sonant completion ${shells.join(', ')}`);
    print(write(await commands()).trimEnd());
    return 0;
  },
});

/** The spellings of an option, such as `--output` and `-o`. */
const spellingsOf = ({ options }: Command, flag: string): string[] => {
  const { short } = options[flag]!;
  return [`--${flag}`, ...(short ? [`-${short}`] : [])];
};

const flagsOf = (command: Command): string[] => [
  ...Object.keys(command.options).flatMap((flag) => spellingsOf(command, flag)),
  '--help',
];

/** Lists the voice ids in bash and zsh. In fish, command substitution has no `$`. */
const voiceIds = '$(sonant completion voices 2>/dev/null)';

/** Allowed option values and voice ids, by `COMMAND OPTION` or `COMMAND ACTION`. */
const choicesOf = (commands: readonly Command[]): { after: string[]; words: readonly string[] }[] =>
  commands.flatMap((command) => {
    const place = (word: string) => `${command.name} ${word}`;
    const ofOptions = Object.entries(command.options).flatMap(([flag, { choices }]) =>
      choices ? [{ after: spellingsOf(command, flag).map(place), words: choices }] : [],
    );
    const { beforeVoice } = command;
    return [...ofOptions, ...(beforeVoice ? [{ after: beforeVoice.map(place), words: [voiceIds] }] : [])];
  });

const cases = (commands: readonly Command[], words: (words: readonly string[]) => string): string =>
  choicesOf(commands)
    .map(
      ({ after, words: chosen }) => `    ${after.map((place) => `'${place}'`).join('|')}) ${words(chosen)}; return ;;`,
    )
    .join('\n');

const tables = (commands: readonly Command[], array: (name: string, words: readonly string[]) => string): string =>
  commands
    .map(
      (command) =>
        `    ${command.name}) ${array('flags', flagsOf(command))}; ${array('actions', command.actions ?? [])} ;;`,
    )
    .join('\n');

function toBash(commands: readonly Command[]): string {
  const offer = (words: readonly string[]) => `COMPREPLY=($(compgen -W "${words.join(' ')}" -- "$word"))`;
  return `_sonant() {
  local word=\${COMP_WORDS[COMP_CWORD]} command=\${COMP_WORDS[1]} flags='' actions=''
  if [ "$COMP_CWORD" = 1 ]; then ${offer(commands.map(({ name }) => name))}; return; fi
  case "$command \${COMP_WORDS[COMP_CWORD-1]}" in
${cases(commands, offer)}
  esac
  case $command in
${tables(commands, (name, words) => `${name}='${words.join(' ')}'`)}
  esac
  case $word in -*) actions=$flags ;; *) [ "$COMP_CWORD" = 2 ] || actions='' ;; esac
  COMPREPLY=($(compgen -W "$actions" -- "$word"))
}
complete -o default -F _sonant sonant`;
}

function toZsh(commands: readonly Command[]): string {
  const described = commands.map(({ name, summary }) => `'${name}:${summary}'`).join(' ');
  return `#compdef sonant
_sonant() {
  local -a flags actions commands=(${described})
  if (( CURRENT == 2 )); then _describe command commands; return; fi
  case "$words[2] $words[CURRENT-1]" in
${cases(commands, (words) => `compadd -- ${words.join(' ')}`)}
  esac
  case $words[2] in
${tables(commands, (name, words) => `${name}=(${words.join(' ')})`)}
  esac
  if [[ $words[CURRENT] == -* ]]; then compadd -- $flags
  elif (( CURRENT == 3 && $#actions )); then compadd -- $actions
  else _files; fi
}
compdef _sonant sonant`;
}

function toFish(commands: readonly Command[]): string {
  return commands.flatMap(toFishLines).join('\n');
}

function toFishLines({ name, summary, options, actions, beforeVoice = [] }: Command): string[] {
  const within = `__fish_seen_subcommand_from ${name}`;
  const ids = voiceIds.slice(1);
  const flags = Object.entries(options).map(([flag, { type, short, choices }]) => {
    const words = beforeVoice.includes(`--${flag}`) ? [ids] : choices;
    const value = words ? ` -x -a '${words.join(' ')}'` : type === 'string' ? ' -r' : '';
    return `complete -c sonant -n '${within}' -l ${flag}${short ? ` -s ${short}` : ''}${value}`;
  });
  const acts = actions?.join(' ');
  const voiced = beforeVoice.filter((word) => !word.startsWith('-')).join(' ');
  return [
    `complete -c sonant -f -n __fish_use_subcommand -a ${name} -d '${summary}'`,
    ...(acts ? [`complete -c sonant -f -n '${within}; and not __fish_seen_subcommand_from ${acts}' -a '${acts}'`] : []),
    ...(voiced ? [`complete -c sonant -f -n '${within}; and __fish_seen_subcommand_from ${voiced}' -a '${ids}'`] : []),
    ...flags,
  ];
}
