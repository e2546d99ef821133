import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { tempFolder } from '../../store/temp-folder.js';

export const shells = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof shells)[number];

export const isHere = (shell: Shell): boolean => spawnSync(shell, ['--version']).status === 0;

/** Each script reads lines from stdin and prints `line:…`, then one `offer:…` for each word that Tab would offer. */
const programs: Readonly<Record<Shell, readonly string[]>> = {
  bash: ['--noprofile', '--norc', 'ask'],
  zsh: ['-f', 'ask'],
  fish: ['--no-config', 'ask'],
};

const asking: Readonly<Record<Shell, string>> = {
  bash: String.raw`
source ./script
while IFS= read -r line; do
  read -ra COMP_WORDS <<< "$line"
  [[ $line == *' ' ]] && COMP_WORDS+=('')
  COMP_CWORD=$(( \${#COMP_WORDS[@]} - 1 )) COMPREPLY=()
  _rosterd
  printf 'line:%s\n' "$line"
  for offer in "\${COMPREPLY[@]}"; do printf 'offer:%s\n' "$offer"; done
done`.replaceAll('\\${', '${'),
  fish: String.raw`
source ./script
while read -l line
  echo "line:$line"
  for offer in (complete -C "$line")
    echo "offer:"(string split -f 1 \t -- $offer)
  end
end`,
  // zsh completes on Tab only in an interactive shell on a terminal with its completion system loaded.
  zsh: String.raw`
zmodload zsh/zpty
zpty inner zsh -f -i
zpty -w inner 'PROMPT= LISTMAX=0; unsetopt auto_list auto_menu; autoload -U compinit && compinit -u -D; source ./script'
zpty -w inner 'compadd() { local -a hits; builtin compadd -A hits "$@"; print -rl -- "" offer:\${^hits}; builtin compadd "$@" }'
zpty -w inner 'finished() { print -r -- "" end-of-offers; comppostfuncs=(finished) }; comppostfuncs=(finished)'
zpty -w inner "bindkey '^I' complete-word; print typing'' begins"
zpty -r inner seen '*typing begins*'
while IFS= read -r line; do
  zpty -w -n inner "$line"$'\t'
  zpty -r inner seen '*end-of-offers*'
  print -r -- "line:$line"
  print -r -- "$seen"
  zpty -w -n inner $'\x15'
done`.replaceAll('\\${', '${'),
};

/** Returns what the shell offers after each line, in a folder where a file and a folder begin with `report`. */
export function offersOf(
  shell: Shell,
  script: string,
  lines: readonly string[],
): ReadonlyMap<string, readonly string[]> {
  const folder = tempFolder();
  mkdirSync(join(folder, 'reports'));
  writeFileSync(join(folder, 'report.csv'), '');
  writeFileSync(join(folder, 'script'), script);
  writeFileSync(join(folder, 'ask'), asking[shell]);
  const { status, stdout, stderr } = spawnSync(shell, [...programs[shell]], {
    cwd: folder,
    encoding: 'utf8',
    input: lines.map((line) => `${line}\n`).join(''),
    env: { PATH: process.env.PATH, HOME: folder, TERM: 'dumb', LC_ALL: 'C.UTF-8' },
  });
  expect([status, stderr]).toEqual([0, '']);
  const offers = new Map<string, string[]>();
  let line = '';
  for (const text of stdout.replaceAll('\r', '').split('\n')) {
    if (text.startsWith('line:')) line = text.slice('line:'.length);
    if (text.startsWith('offer:'))
      offers.set(line, [...(offers.get(line) ?? []), text.slice('offer:'.length).replace(/\/$/, '')]);
  }
  return new Map(lines.map((typed) => [typed, [...new Set(offers.get(typed))].sort()]));
}
